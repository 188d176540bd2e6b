"""Whole programs in the words that JAX and funcgrad share, each an expression.

What they are about stands at the edge of what the other files draw: axes counted from the end,
trees with None and with nothing in them, whole numbers and bools beside what is differentiated,
keywords and defaults, functions that close over values of the transforms around them, rules of
the program in loops.
"""

SHARED = """
from collections import OrderedDict, defaultdict, namedtuple
from functools import partial
P = namedtuple("P", "w b")
x = np.array([0.3, -0.7, 1.1])
m = np.array([[0.5, -1.2, 0.8], [1.4, 0.2, -0.6]])
c3 = np.arange(24.0).reshape(2, 3, 4) / 10 - 1.0
i3 = np.array([2, 0, 1])

import copy
import functools
import importlib
A = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.1]])
def rule(fun, fwd, bwd, **kw):
    f = jax.custom_vjp(fun, **kw); f.defvjp(fwd, bwd); return f
def pair(fun, jvp, **kw):
    f = jax.custom_jvp(fun, **kw); f.defjvp(jvp); return f
class Model:
    def __init__(self, w): self.w = w
    def loss(self, a): return (self.w * a ** 2).sum()
    def __call__(self, a): return self.loss(a) * 2
"""

PROGRAMS = {
    "vmap in -1 out -1": "jax.vmap(lambda r: jnp.sin(r) * r.sum(), in_axes=-1, out_axes=-1)(c3)",
    "vmap in 1 out 2": "jax.vmap(lambda a: jnp.stack([a, a**2]), in_axes=1, out_axes=2)(c3)",
    "vmap out -2 of matrix": "jax.vmap(lambda a: a.T * 2.0, in_axes=2, out_axes=-2)(c3)",
    "vmap dict axes": (
        "jax.vmap(lambda d: d['a'] @ d['b'], in_axes=({'a': 0, 'b': None},))({'a': m, 'b': x})"
    ),
    "vmap dict out axes": (
        "jax.vmap(lambda r: {'s': r.sum(), 'v': r}, in_axes=1, out_axes={'s': 0, 'v': 1})(m)"
    ),
    "vmap None leaf": "jax.vmap(lambda t: (t[0] * 2, t[1]), in_axes=0)((m, None))",
    "vmap None in tree of axes": (
        "jax.vmap(lambda p, s: p['w'] * s + p['b'], in_axes=({'w': 0, 'b': None}, "
        "None))({'w': m, 'b': 1.5}, 2.0)"
    ),
    "vmap kwargs": "jax.vmap(lambda a, *, k: a * k)(m, k=np.array([2.0, 3.0]))",
    "vmap default": "jax.vmap(lambda a, s=3.0: a * s)(m)",
    "vmap out None": "jax.vmap(lambda a: (a, 7.0), out_axes=(0, None))(m)",
    "vmap int and bool": (
        "jax.vmap(lambda i, b: jnp.where(b, i + 1, i * 2))(i3, np.array([True, False, True]))"
    ),
    "vmap empty tree": "jax.vmap(lambda t, a: (t, a))({}, m)",
    "vmap of vmap crossed": (
        "jax.vmap(jax.vmap(lambda a, b: a * b, in_axes=(0, None)), in_axes=(None, 0))(x, x)"
    ),
    "vmap zero sized": "jax.vmap(lambda r: r.sum())(np.zeros((0, 3)))",
    "vmap axis_size": "jax.vmap(lambda: jnp.ones(2), axis_size=3)()",
    "vmap int result under grad": (
        "jax.grad(lambda v: jax.vmap(lambda a, i: a ** i, in_axes=(0, 0))(v, i3).sum())(x)"
    ),
    "vmap psum of tree": (
        "jax.vmap(lambda t: jax.lax.psum(t, 'i'), axis_name='i')({'a': m, 'b': (x[:2], None)})"
    ),
    "vmap axis_index odd": (
        "jax.vmap(lambda a: a * lax.axis_index('k'), in_axes=1, axis_name='k')(m)"
    ),
    "grad through pmean": (
        "jax.grad(lambda v: jax.vmap(lambda a: (a - lax.pmean(a, 'b'))**2, "
        "axis_name='b')(v).sum())(x)"
    ),
    "all_gather of inner": "jax.vmap(lambda a: lax.all_gather(a, 'i', axis=1), axis_name='i')(m)",
    "grad argnums tuple": "jax.grad(lambda a, b: (a * b).sum(), argnums=(1, 0))(x, x + 1)",
    "grad argnums -1": "jax.grad(lambda a, b: (a * b**2).sum(), argnums=-1)(x, x + 1)",
    "grad aux tree None": (
        "jax.grad(lambda a: (a.sum(), {'aux': None, 'n': a * 2, 'k': 3}), has_aux=True)(x)"
    ),
    "vg aux nested": (
        "jax.value_and_grad(lambda a: (jax.grad(lambda b: (b**3).sum())(a).sum(), (a > 0, "
        "i3)), has_aux=True)(x)"
    ),
    "grad None arg": "jax.grad(lambda t: t[0].sum() * 2)((x, None))",
    "grad namedtuple": "jax.grad(lambda p: (m @ p.w).sum() + p.b)(P(x, 0.5))",
    "grad OrderedDict": "jax.grad(lambda d: (d['z'] * d['a']).sum())(OrderedDict(z=x, a=x * 2))",
    "grad defaultdict": (
        "dict(jax.grad(lambda d: (d['z'] * d['a']).sum())(defaultdict(float, z=x, a=x * 2)))"
    ),
    "grad empty dict": "jax.grad(lambda d: 1.0 + 0 * x.sum())({})",
    "grad zero-size": "jax.grad(lambda a: a.sum() + 1.0)(np.zeros((0, 2)))",
    "grad allow_int": (
        "[g.dtype.kind for g in jax.tree.leaves(jax.grad(lambda t: (t[0] * t[1]).sum(), "
        "allow_int=True)((x, i3)))]"
    ),
    "grad kwargs kept": "jax.grad(lambda a, *, p=2: (a ** p).sum())(x, p=3)",
    "grad kwarg traced tree": "jax.grad(lambda a, *, q: (a * q['k']).sum())(x, q={'k': x})",
    "grad where int mask": "jax.grad(lambda a: jnp.where(i3 > 0, a * i3, 0.0).sum())(x)",
    "grad closure outer": "jax.grad(lambda a: jax.grad(lambda b: (b**2 * a).sum())(a).sum())(x)",
    "grad closure two deep": (
        "jax.grad(lambda a: jax.grad(lambda b: jax.grad(lambda c: (c**2 * b * a).sum())(b * "
        "a).sum())(a * 1.5).sum())(x)"
    ),
    "jit closes outer": "jax.grad(lambda a: jax.jit(lambda b: (b * a).sum())(a * 2))(x)",
    "vmap closes outer": "jax.grad(lambda a: jax.vmap(lambda b: (b * a).sum())(m).prod())(x)",
    "jvp closes outer": "jax.grad(lambda a: jax.jvp(lambda b: b * a, (a,), (a ** 2,))[1].sum())(x)",
    "scan closes outer": (
        "jax.grad(lambda a: lax.scan(lambda c, r: (c * a + r, (c * r).sum()), a, m)[1].sum())(x)"
    ),
    "cond closes outer": (
        "jax.grad(lambda a: lax.cond(a[0] > 0, lambda b: (a * b).sum(), lambda b: (a + "
        "b).sum(), a * 2))(x)"
    ),
    "vmap cond closes outer": (
        "jax.vmap(lambda s: jax.grad(lambda a: lax.cond(s > 0, lambda b: (a * b).sum() * s, "
        "lambda b: (a + b).sum(), a * 2))(x))(np.array([1.0, -1.0]))"
    ),
    "fori closes outer": "jax.jacfwd(lambda a: lax.fori_loop(0, 3, lambda i, c: c * a + i, a))(x)",
    "while under jvp": (
        "jax.jvp(lambda a: lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * "
        "a), (0, a))[1], (x,), (x,))"
    ),
    "vmap while": (
        "jax.vmap(lambda n, a: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] "
        "* a), (0, a))[1])(i3, x)"
    ),
    "switch vmapped grad": (
        "jax.vmap(lambda i, a: jax.grad(lambda b: lax.switch(i, [lambda v: v, lambda v: "
        "v**2, jnp.sin], b))(a))(i3, x)"
    ),
    "switch clamps": "[lax.switch(k, [lambda v: v, lambda v: v**2], x) for k in (-3, 9)]",
    "jvp tree": (
        "jax.jvp(lambda t: {'s': t['a'] * t['b'], 'n': None}, ({'a': x, 'b': x},), ({'a': x, "
        "'b': x * 0 + 1},))"
    ),
    "jvp aux": "jax.jvp(lambda a: (a**2, {'k': a > 0, 'q': a * 3}), (x,), (x,), has_aux=True)",
    "vjp aux": (
        "(lambda r: (r[0], r[1](x), r[2]))(jax.vjp(lambda a: (jnp.sin(a), (i3, a)), x, "
        "has_aux=True))"
    ),
    "vjp tree out": (
        "jax.vjp(lambda a, b: {'p': a * b, 'q': [a.sum()]}, x, x + 1)[1]({'p': x, 'q': [2.0]})"
    ),
    "vjp unused arg": "jax.vjp(lambda a, b: a * 2, x, m)[1](x)",
    "vjp vmapped": (
        "jax.vmap(jax.vjp(lambda a: jnp.stack([a.sum(), (a**2).sum()]), x)[1])(np.eye(2))"
    ),
    "linearize vmapped": "jax.vmap(jax.linearize(lambda a: jnp.sin(a) * a.sum(), x)[1])(np.eye(3))",
    "linearize tree": (
        "jax.linearize(lambda t: (t['a'] * t['b'], t['a']), {'a': x, 'b': x})[1]({'a': x, 'b': x})"
    ),
    "linear_transpose tree": (
        "jax.linear_transpose(lambda t: {'y': m @ t['x'], 'z': 3.0 * t['x']}, {'x': "
        "x})({'y': np.ones(2), 'z': x})"
    ),
    "linear_transpose add zero": (
        "jax.linear_transpose(lambda v: m @ v + 0.0 * v[:2], x)(np.ones(2))"
    ),
    "linear_transpose zeros": (
        "jax.linear_transpose(lambda v: at(jnp.zeros(2))[0].set(v[0] * 2), x)(np.ones(2))"
    ),
    "linear_transpose scan": (
        "jax.linear_transpose(lambda v: lax.scan(lambda c, r: (c + r @ v, r @ v), 0.0, "
        "m)[1], x)(np.ones(2))"
    ),
    "jacfwd argnums": "jax.jacfwd(lambda a, b: a * b.sum(), argnums=(0, 1))(x, x * 2)",
    "jacrev tree": (
        "jax.jacrev(lambda t: {'o': t['a'] * t['b'][0], 'k': t['a'].sum()})({'a': x, 'b': "
        "(x, None)})"
    ),
    "jacrev aux": "jax.jacrev(lambda a: (a**2, {'n': None, 'v': a}), has_aux=True)(x)",
    "jacfwd aux": "jax.jacfwd(lambda a: (a**2, (a, 1)), has_aux=True)(x)",
    "hessian tree": "jax.hessian(lambda t: (t['a'] ** 2 * t['b']).sum())({'a': x, 'b': x + 2})",
    "hessian argnums": "jax.hessian(lambda a, b: (a**2 * b).sum(), argnums=1)(x, x)",
    "hessian aux": "jax.hessian(lambda a: ((a**3).sum(), a), has_aux=True)(x)",
    "jacfwd of jacrev of vmap": "jax.jacfwd(jax.jacrev(jax.vmap(lambda a: jnp.sin(a) * a)))(x)",
    "jacrev of int out": "jax.jacfwd(lambda a: (a * 2, jnp.argsort(a)))(x)[0]",
    "hvp forward over reverse in vmap": (
        "jax.vmap(lambda t: jax.jvp(jax.grad(lambda a: (jnp.sin(a) * a[::-1]).sum()), (x,), "
        "(t,))[1])(np.eye(3))"
    ),
    "grad of jacobian norm": (
        "jax.grad(lambda a: (jax.jacfwd(lambda b: jnp.outer(b, b)[0] * b)(a) ** 2).sum())(x)"
    ),
    "custom_vjp nondiff": (
        "(lambda f: (f.defvjp(lambda k, a: (a * k, a), lambda k, r, g: (g * r * k,)), "
        "jax.grad(lambda a: f(3.0, a).sum())(x))[1])(jax.custom_vjp(lambda k, a: a * k, "
        "nondiff_argnums=(0,)))"
    ),
    "custom_vjp fun nondiff": (
        "(lambda f: (f.defvjp(lambda h, a: (h(a), a), lambda h, r, g: (g * r * 10,)), "
        "jax.jit(jax.grad(lambda a: f(jnp.sin, a).sum()))(x))[1])(jax.custom_vjp(lambda h, "
        "a: h(a), nondiff_argnums=(0,)))"
    ),
    "custom_vjp tree None": (
        "(lambda f: (f.defvjp(lambda t: (t['a'] * t['b'], t), lambda r, g: ({'a': g * 2, "
        "'b': None},)), jax.grad(lambda t: f(t).sum())({'a': x, 'b': "
        "x}))[1])(jax.custom_vjp(lambda t: t['a'] * t['b']))"
    ),
    "custom_vjp vmapped": (
        "(lambda f: (f.defvjp(lambda a: (a**2, a), lambda r, g: (g * r * 3,)), "
        "jax.vmap(jax.grad(lambda a: f(a).sum()), in_axes=1, "
        "out_axes=1)(m))[1])(jax.custom_vjp(lambda a: a**2))"
    ),
    "custom_vjp second order": (
        "(lambda f: jax.jacrev(jax.grad(lambda a: f(a).sum()))(x))(rule(lambda a: a**3, "
        "lambda a: (a**3, a), lambda r, g: (g * r**2 * 4,)))"
    ),
    "custom_vjp kwargs default": (
        "(lambda f: (f.defvjp(lambda a, s: (a * s, (a, s)), lambda r, g: (g * 7, (g * "
        "r[0]).sum())), jax.grad(lambda a: f(a).sum())(x), jax.grad(lambda a: f(a, "
        "s=3.0).sum())(x)))(jax.custom_vjp(lambda a, s=2.0: a * s))[1:]"
    ),
    "custom_jvp": (
        "(lambda f: (f.defjvp(lambda p, t: (f(*p), t[0] * 11 + t[1].sum())), jax.jacfwd(f, "
        "argnums=(0, 1))(x, x), jax.grad(lambda a: f(a, a).sum())(x)))(jax.custom_jvp(lambda "
        "a, b: a * b.sum()))[1:]"
    ),
    "custom_jvp nondiff": (
        "(lambda f: (f.defjvp(lambda k, p, t: (f(k, *p), t[0] * k * 2)), "
        "jax.vmap(jax.grad(lambda a: f(2, a)))(x)))(jax.custom_jvp(lambda k, a: a * k, "
        "nondiff_argnums=(0,)))[1]"
    ),
    "custom_jvp defjvps": (
        "(lambda f: (f.defjvps(lambda t, y, a, b: t * b, None), jax.grad(lambda a, b: f(a, "
        "b).sum(), argnums=(0, 1))(x, x)))(jax.custom_jvp(lambda a, b: a * b))[1]"
    ),
    "custom_gradient": (
        "jax.grad(lambda a: jax.custom_gradient(lambda b: (b**2, lambda g: (g * "
        "100,)))(a).sum())(x)"
    ),
    "jit static argnames": (
        "jax.jit(lambda a, mode, k=2: a * k if mode == 'x' else a, static_argnames=('mode', "
        "'k'))(x, mode='x', k=5)"
    ),
    "jit static argnums grad": (
        "jax.grad(jax.jit(lambda n, a: sum(a[i] ** n for i in range(3)), static_argnums=0), "
        "argnums=1)(3, x)"
    ),
    "jit kwargs tree": (
        "jax.jit(lambda a, **kw: {k: v * a for k, v in kw.items()})(x, p=2.0, q=m[0])"
    ),
    "jit None and ints": "jax.jit(lambda t, n: (t[0] is None, t[1] + n))((None, i3), 4)",
    "jit returns input": "jax.jit(lambda a, b: (b, a, a))(x, i3)",
    "jit empty": "jax.jit(lambda: ((), {}, None))()",
    "jit bool": (
        "jax.jit(lambda b: (~b, b & True, b.sum(), jnp.logical_not(b)))(np.array([True, False]))"
    ),
    "jit of vmap of jit out axes": (
        "jax.jit(jax.vmap(jax.jit(lambda a: a * 2), in_axes=-1, out_axes=0))(m)"
    ),
    "jit partial": "jax.jit(partial(lambda s, a: a * s, 3.0))(x)",
    "jit default arg": "jax.jit(lambda a, b=np.ones(3): a + b)(x)",
    "grad of jit aux": (
        "jax.grad(jax.jit(lambda a: (a.sum(), {'i': i3, 'b': a > 0})), has_aux=True)(x)"
    ),
    "scan None xs length": "lax.scan(lambda c, _: (c * 2, c), x, None, length=3)",
    "scan tree xs": (
        "lax.scan(lambda c, d: (c + d['a'].sum() + d['i'], {'k': c, 'n': None}), 0.0, {'a': "
        "m, 'i': np.array([1, 2])})"
    ),
    "scan reverse grad": (
        "jax.grad(lambda a: lax.scan(lambda c, r: (jnp.tanh(c + r * a), c.sum()), a * 0.1, "
        "m, reverse=True)[0].sum())(x)"
    ),
    "scan int carry": (
        "jax.grad(lambda a: lax.scan(lambda c, r: ((c[0] + 1, c[1] * r.sum() * c[0]), c[0]), "
        "(1, a.sum()), m)[0][1])(x)"
    ),
    "scan vmapped xs axis 1": (
        "jax.vmap(lambda s, xs: lax.scan(lambda c, r: (c * r + s, c), s, xs), in_axes=(0, 1))(x, m)"
    ),
    "scan empty carry": "lax.scan(lambda c, r: (c, r * 2), None, m)",
    "scan zero length": "lax.scan(lambda c, r: (c + r, c), x, np.zeros((0, 3)))",
    "scan of jit": "lax.scan(jax.jit(lambda c, r: (c + r, c * r)), x, m)",
    "scan unroll": "lax.scan(lambda c, r: (c + r, c * r), x, m, unroll=2)",
    "map of tree": "lax.map(lambda d: d['a'] * d['b'], {'a': m, 'b': np.array([1.0, 2.0])})",
    "associative_scan": (
        "lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (m, m + 1), axis=1)"
    ),
    "associative_scan reverse grad": (
        "jax.grad(lambda a: lax.associative_scan(jnp.multiply, a, reverse=True).sum())(x)"
    ),
    "at add repeated": (
        "jax.grad(lambda a: (jnp.zeros(3).at[jnp.array([0, 0, 2])].add(a) ** 2).sum())(x)"
    ),
    "at max mode drop": "at(x)[np.array([1, 7])].max(0.5, mode='drop')",
    "at get fill": "at(x)[np.array([1, 7, -1])].get(mode='fill', fill_value=-9.0)",
    "at set ellipsis": "at(c3)[..., 0].set(x)",
    "at power": "at(x + 1)[1].power(2.0)",
    "at apply": "at(x)[np.array([0, 1])].apply(jnp.sin)",
    "at set bool": "at(x)[x > 0].set(0.0)",
    "at divide min": "at(at(x)[0].divide(2.0))[1:].min(0.1)",
    "at add none": "at(m)[None, 1].add(1.0)",
    "vmap at": "jax.vmap(lambda i, a: at(a)[i].set(a.sum()))(np.array([2, 0]), m)",
    "tree map None": "jax.tree.map(lambda a, b: a + b, {'a': x, 'n': None}, {'a': x, 'n': None})",
    "tree map is_leaf": (
        "jax.tree.map(lambda a: 0 if a is None else 1, {'a': 1, 'n': None}, is_leaf=lambda "
        "a: a is None)"
    ),
    "tree prefix": (
        "jax.tree.map(lambda a, b: a + len(b), {'a': 1, 'b': 2}, {'a': (1, 2), 'b': [3]})"
    ),
    "tree leaves order": "jax.tree.leaves({'b': 1, 'a': (2, None, [3]), 'c': P(4, 5)})",
    "tree reduce": "jax.tree.reduce(lambda a, b: a + b.sum(), {'a': x, 'b': m}, 0.0)",
    "tree transpose": (
        "jax.tree.transpose(jax.tree.structure({'a': 0, 'b': 0}), jax.tree.structure((0, "
        "0)), {'a': (1, 2), 'b': (3, 4)})"
    ),
    "tree all": "(jax.tree.all({'a': True, 'b': (True, None)}), jax.tree.all([True, False]))",
    "tree path": (
        "[jax.tree_util.keystr(k) for k, v in jax.tree.leaves_with_path({'a': (1, P(2, 3)), "
        "'b': [None, 4]})]"
    ),
    "tree map_with_path": "jax.tree.map_with_path(lambda k, v: len(k) * v, {'a': (1, 2), 'b': 3})",
    "tree broadcast": "jax.tree.broadcast({'a': 1, 'b': 2}, {'a': (0, 0), 'b': [0]})",
    "tree unflatten in grad": (
        "jax.grad(lambda v: (lambda l, s: jax.tree.unflatten(s, [q * 2 for q in "
        "l])['k'].sum())(*jax.tree.flatten({'k': v, 'n': None})))(x)"
    ),
    "Partial through jit": (
        "jax.jit(lambda f, a: f(a))(jax.tree_util.Partial(lambda s, a: s * a, x), 2.0)"
    ),
    "grad of Partial": (
        "jax.grad(lambda f: f(2.0).sum())(jax.tree_util.Partial(lambda s, a: s**2 * a, x)).args[0]"
    ),
    "ravel_pytree": (
        "(lambda r: (r[0], r[1](r[0] * 2)))(importlib.import_module(jax.__name__ + "
        "'.flatten_util').ravel_pytree({'a': x, 'b': (m, None, 2.0)}))"
    ),
    "checkpoint kwargs": (
        "jax.grad(lambda a: jax.checkpoint(lambda b, *, k: (jnp.sin(b) * k).sum())(a, k=2.0))(x)"
    ),
    "checkpoint static": (
        "jax.grad(lambda a: jax.checkpoint(lambda b, n: (b ** n).sum(), "
        "static_argnums=(1,))(a, 3))(x)"
    ),
    "checkpoint closes outer": (
        "jax.grad(lambda a: jax.checkpoint(lambda b: (jnp.sin(b) * a).sum())(a * 2))(x)"
    ),
    "stop_gradient tree": (
        "jax.grad(lambda t: (lax.stop_gradient(t)['a'] * t['b']).sum())({'a': x, 'b': x})"
    ),
    "eval_shape": (
        "jax.tree.map(lambda s: s.shape, jax.eval_shape(lambda t: {'o': t['a'] @ t['b'], "
        "'n': None}, {'a': m, 'b': x}))"
    ),
    "closure_convert": "(lambda h: h[0](x, *h[1]))(jax.closure_convert(lambda a: a * 2, x))",
    "pure_callback vmap": (
        "jax.vmap(lambda a: jax.pure_callback(lambda b: np.sin(b), jax.ShapeDtypeStruct((), "
        "np.float64), a, vmap_method='sequential'))(x)"
    ),
    "complex grad holomorphic": "jax.grad(lambda z: (z**2).sum(), holomorphic=True)(x + 1j)",
    "complex grad real out": "jax.grad(lambda z: (jnp.abs(z)**2).sum())(x + 1j * x[::-1])",
    "complex jvp": "jax.jvp(lambda z: jnp.exp(1j * z), (x,), (x,))",
    "complex vjp": "jax.vjp(lambda z: (z.real * z.imag, jnp.conj(z)), x + 1j)[1]((x, x + 2j))",
    "numpy scalar leaf": (
        "jax.value_and_grad(lambda t: t['a'] * t['b'])({'a': np.float64(2.0), 'b': 3.0})"
    ),
    "python float and int args": "jax.grad(lambda a, n: a ** n)(2.0, 3)",
    "bool leaf grads": (
        "jax.grad(lambda a, t: (a * t['m']).sum())(x, {'m': np.array([True, False, True])})"
    ),
    "sort and take": "jax.grad(lambda a: (jnp.sort(a)[::-1] * jnp.arange(3.0)).sum())(x)",
    "top_k grad": "jax.grad(lambda a: lax.top_k(a, 2)[0].sum())(x)",
    "dynamic_slice clamp": "lax.dynamic_slice(x, (7,), (2,))",
    "dynamic_update_slice grad": (
        "jax.grad(lambda a: (lax.dynamic_update_slice(m, a[None, :2], (1, 1)) ** 2).sum())(x)"
    ),
    "dynamic_index_in_dim vmap": (
        "jax.vmap(lambda i: lax.dynamic_index_in_dim(c3, i, axis=2, keepdims=False))(i3)"
    ),
    "gather by take_along": (
        "jax.grad(lambda a: jnp.take_along_axis(a, np.array([[0, 0, 2], [1, 1, 1]]), "
        "axis=1).sum() * a.sum())(m)"
    ),
    "one_hot": "jax.nn.one_hot(np.array([0, 5, -1]), 3)",
    "logsumexp where": "jax.nn.logsumexp(m, axis=1, where=m > 0)",
    "logsumexp b": (
        "jax.grad(lambda a: jax.scipy.special.logsumexp(a, b=np.array([1.0, 2.0, 0.0])))(x)"
    ),
    "softmax where initial": "jax.nn.softmax(m, axis=-1, where=np.array([True, True, False]))",
    "einsum ints": "jnp.einsum('ij,j->i', np.arange(6).reshape(2, 3), i3)",
    "einsum grad ellipsis": (
        "jax.grad(lambda a: jnp.einsum('...i,ji->...j', a, m).sum() * a.sum())(c3[..., :3])"
    ),
    "cumsum reverse": "lax.cumsum(m, axis=1, reverse=True)",
    "sort multi": "lax.sort((np.array([2, 1, 1]), x, m[0]), num_keys=2)",
    "reduce": "lax.reduce(m, -np.inf, lax.max, (1,))",
    "reduce_window": "lax.reduce_window(m, 0.0, lax.add, (1, 2), (1, 1), 'VALID')",
    "select_n": "lax.select_n(np.array([0, 2, 1]), x, x * 10, x * 100)",
    "clamp": "jax.grad(lambda a: lax.clamp(-0.5, a, np.array([1.0, 1.0, 1.0])).sum())(x)",
    "dot_general": "lax.dot_general(c3, c3, (((2,), (2,)), ((0,), (0,))))",
    "rng split vmap": (
        "jax.vmap(lambda k: jax.random.key_data(k).shape[0] > "
        "0)(jax.random.split(jax.random.key(0), 3)).shape"
    ),
    "linalg solve vmapped grad": (
        "jax.vmap(jax.grad(lambda b: jnp.linalg.solve(np.eye(3) * 2 + 0.1, b).sum()), in_axes=0)(m)"
    ),
    "det of vmapped": "jax.grad(lambda a: jnp.linalg.det(a[:, None] * a[None] + np.eye(3)))(x)",
    "norm at axis": "jax.grad(lambda a: jnp.linalg.norm(a, axis=1).sum())(m)",
    "prod with zero": "jax.hessian(lambda a: jnp.prod(a))(np.array([0.0, 2.0, 3.0]))",
    "max ties": "jax.grad(lambda a: a.max())(np.array([1.0, 2.0, 2.0]))",
    "where nan safe": (
        "jax.grad(lambda a: jnp.where(a > 0, jnp.sqrt(jnp.where(a > 0, a, 1.0)), 0.0).sum())(x)"
    ),
    "vmap of grad aux out_axes": (
        "jax.vmap(jax.value_and_grad(lambda a: (a.sum() ** 2, {'k': a, 'n': None}), "
        "has_aux=True), in_axes=1, out_axes=0)(m)"
    ),
    "grad of vmap of scan int xs": (
        "jax.grad(lambda a: jax.vmap(lambda r: lax.scan(lambda c, i: (c * r[i], c), 1.0, "
        "i3)[0])(a).sum())(m)"
    ),
    "named_call": "jax.named_call(lambda a: a * 2, name='n')(x)",
    "optimization_barrier": "jax.grad(lambda a: lax.optimization_barrier(a).sum())(x)",
    "custom_root": (
        "jax.grad(lambda a: lax.custom_root(lambda y: y**3 - a, 1.0, lambda f, y0: "
        "lax.fori_loop(0, 60, lambda i, y: y - f(y) / (3 * y**2), y0), lambda g, y: y / "
        "g(1.0)))(2.0)"
    ),
    "linear_solve": (
        "jax.grad(lambda b: lax.custom_linear_solve(lambda v: 2.0 * v, b, lambda mv, v: v / "
        "2.0, symmetric=True).sum())(x)"
    ),
    "bwd None branch": (
        "jax.grad(lambda t: rule(lambda t: t['a'].sum() * t['b'][0], lambda t: (t['a'].sum() "
        "* t['b'][0], t), lambda r, g: ({'a': g * r['a'], 'b': None},))(t))({'a': x, 'b': "
        "(2.0, 3.0)})"
    ),
    "bwd None in list": (
        "jax.vmap(jax.grad(lambda v: rule(lambda t: t[0] * t[1], lambda t: (t[0] * t[1], t), "
        "lambda r, g: ([g * r[1], None],))([v, v])))(x)"
    ),
    "method grad": "jax.grad(Model(x).loss)(x)",
    "callable object jit vmap": "jax.jit(jax.vmap(Model(x)))(m)",
    "partial kwargs grad": (
        "jax.grad(functools.partial(lambda a, b, *, c: (a * b * c).sum(), c=x), argnums=1)(x, x)"
    ),
    "partial positional argnums": (
        "jax.grad(functools.partial(lambda a, b, c: (a * b**2 * c).sum(), x), argnums=(0, "
        "1))(x, x + 1)"
    ),
    "copy in grad": (
        "jax.grad(lambda d: sum(jax.tree.leaves(jax.tree.map(lambda v: (v**2).sum(), "
        "copy.copy(d)))))({'a': x})"
    ),
    "deepcopy in grad": "jax.grad(lambda d: (copy.deepcopy(d)['a'] ** 3).sum())({'a': x})",
    "vmap in_axes list": "jax.vmap(lambda a, b: a + b, in_axes=[0, None])(x, x)",
    "vmap of pytree axis int for tuple": "jax.vmap(lambda t: t[0] @ t[1], in_axes=(1,))((m, m))",
    "vmap negative in tree": (
        "jax.vmap(lambda t: t['a'].sum() + t['b'], in_axes=({'a': -2, 'b': 0},))({'a': c3, 'b': x})"
    ),
    "vmap over bool mask select": (
        "jax.vmap(lambda b, a: jnp.where(b, a, -a).sum())(np.array([True, False]), m)"
    ),
    "vmap grads wrt shared": (
        "jax.vmap(jax.grad(lambda w, a: jnp.tanh(w @ a), argnums=0), in_axes=(None, 0))(x, m)"
    ),
    "grad of vmap shared": "jax.grad(lambda w: jax.vmap(lambda a: jnp.tanh(w @ a))(m).sum())(x)",
    "nested axis names": (
        "jax.vmap(jax.vmap(lambda a: a / lax.psum(a, ('i', 'j')), axis_name='j'), axis_name='i')(m)"
    ),
    "psum of constant": "jax.vmap(lambda a: a * lax.psum(1, 'i'), axis_name='i')(x)",
    "ppermute": (
        "jax.vmap(lambda a: lax.ppermute(a, 'i', [(0, 1), (1, 2), (2, 0)]), axis_name='i')(x)"
    ),
    "all_to_all": "jax.vmap(lambda a: lax.all_to_all(a, 'i', 0, 0), axis_name='i')(A)",
    "psum_scatter": "jax.vmap(lambda a: lax.psum_scatter(a, 'i'), axis_name='i')(A)",
    "axis_size": "jax.vmap(lambda a: a * lax.axis_size('i'), axis_name='i')(x)",
    "psum jvp": "jax.jvp(jax.vmap(lambda a: lax.psum(a**2, 'i') * a, axis_name='i'), (x,), (x,))",
    "grad inside vmap of psum": (
        "jax.vmap(lambda a: jax.grad(lambda b: lax.psum(b**2, 'i'))(a), axis_name='i')(x)"
    ),
    "jacfwd int input": "jax.jacfwd(lambda a: a * 2.0)(x)",
    "jacrev out scalar tree": "jax.jacrev(lambda a: {'s': a.sum(), 't': (a[0], None)})(x)",
    "jacobian of vmapped scalar": "jax.jacfwd(jax.vmap(lambda a: a**2))(x)",
    "jacfwd in vmapped": (
        "jax.vmap(jax.jacfwd(lambda a: jnp.sin(a) * a.sum()), in_axes=1, out_axes=2)(m)"
    ),
    "hessian with closure": (
        "jax.grad(lambda s: jnp.trace(jax.hessian(lambda a: (a**3).sum() * s)(x)))(2.0)"
    ),
    "hessian of jit": "jax.hessian(jax.jit(lambda a: (jnp.exp(a) * a[::-1]).sum()))(x)",
    "third order": "jax.grad(jax.grad(jax.grad(lambda a: jnp.sin(a) * a)))(0.7)",
    "jvp of jvp": "jax.jvp(lambda a: jax.jvp(jnp.sin, (a,), (a,))[1], (x,), (x**2,))",
    "vjp of vjp": "jax.vjp(lambda g: jax.vjp(jnp.sin, x)[1](g)[0], x)[1](x)[0]",
    "grad through vjp fun": "jax.grad(lambda a: jax.vjp(lambda b: b**3, a)[1](a * 2)[0].sum())(x)",
    "linearize then grad": "jax.grad(lambda t: (jax.linearize(jnp.sin, x)[1](t) ** 2).sum())(x)",
    "vjp reused": "(lambda r: (r[1](x), r[1](2 * x)))(jax.vjp(jnp.sin, x))",
    "linear_transpose batched": "jax.vmap(jax.linear_transpose(lambda v: A @ v, x))(np.eye(3))",
    "linear_transpose of where": (
        "jax.linear_transpose(lambda v: jnp.where(np.array([True, False, True]), v, 0.0), x)(x)"
    ),
    "linear_transpose pad zero": (
        "jax.linear_transpose(lambda v: jnp.concatenate([v, jnp.zeros(2)]), x)(np.arange(5.0))"
    ),
    "linear_transpose plus zeros": "jax.linear_transpose(lambda v: jnp.zeros((3,)) + v, x)(x)",
    "linear_transpose sum zeros start": "jax.linear_transpose(lambda v: sum([v[0], v[1]]), x)(1.0)",
    "linear_transpose fori": (
        "jax.linear_transpose(lambda v: lax.scan(lambda c, r: (c + r * v, None), "
        "jnp.zeros(3), A)[0], x)(x)"
    ),
    "linear_transpose cond": (
        "jax.linear_transpose(lambda v: lax.cond(True, lambda u: 2 * u, lambda u: u, v), x)(x)"
    ),
    "linear_transpose set": "jax.linear_transpose(lambda v: at(jnp.zeros(3))[0].set(v[1]), x)(x)",
    "linear_transpose jit": "jax.jit(jax.linear_transpose(jax.jit(lambda v: 2 * v + 0), x))(x)",
    "linear_transpose complex": "jax.linear_transpose(lambda v: (1 + 2j) * v, x + 0j)(x + 1j)",
    "linear_transpose zero out": "jax.linear_transpose(lambda v: (v * 0.0, v), x)((x, x))",
    "linear_transpose unused": "jax.linear_transpose(lambda a, b: a * 2, x, m)(x)[0]",
    "cond vmapped both traced": (
        "jax.vmap(lambda p, a: lax.cond(p, lambda v: v * 2, lambda v: v - 1, a), in_axes=(0, "
        "1), out_axes=1)(np.array([True, False, True]), m)"
    ),
    "cond returns tree None": (
        "lax.cond(True, lambda a: (a, None, {'k': 1}), lambda a: (a * 2, None, {'k': 2}), x)"
    ),
    "cond operand none": "lax.cond(False, lambda: x, lambda: x * 2)",
    "cond jvp": "jax.jvp(lambda a: lax.cond(a[0] < 0, jnp.sin, jnp.cos, a), (x,), (x,))",
    "switch grad tree": (
        "jax.grad(lambda d: lax.switch(1, [lambda d: d['a'].sum(), lambda d: (d['a'] * "
        "d['b']).sum()], d))({'a': x, 'b': x})"
    ),
    "while cond traced outer": (
        "jax.jvp(lambda a: lax.while_loop(lambda c: (c < 10.0), lambda c: c * a, a), (2.0,), "
        "(1.0,))"
    ),
    "fori carry tree": (
        "lax.fori_loop(0, 4, lambda i, c: {'a': c['a'] + i, 'b': (c['b'][0] * c['a'], "
        "None)}, {'a': 1.0, 'b': (x, None)})"
    ),
    "fori vmapped bounds": "jax.vmap(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(i3)",
    "scan over dict of None": (
        "lax.scan(lambda c, d: (c + d['a'].sum(), d), 0.0, {'a': m, 'n': None})"
    ),
    "scan jvp": "jax.jvp(lambda a: lax.scan(lambda c, r: (jnp.sin(c * r), c), a, m), (x,), (x,))",
    "scan hessian": (
        "jax.hessian(lambda a: lax.scan(lambda c, r: (jnp.tanh(c * r + a), None), a, "
        "m)[0].sum())(x)"
    ),
    "scan vmapped carry only": (
        "jax.vmap(lambda s: lax.scan(lambda c, r: (c + r.sum() * s, c), s, m))(x)"
    ),
    "scan vmapped consts": (
        "jax.vmap(lambda w: lax.scan(lambda c, r: (jnp.tanh(r @ w + c), c), 0.0, m), in_axes=1)(A)"
    ),
    "scan of cond": (
        "jax.grad(lambda a: lax.scan(lambda c, r: (lax.cond(r.sum() > 0, lambda v: v * a, "
        "lambda v: v + a, c), None), a, m)[0].sum())(x)"
    ),
    "scan of scan": (
        "jax.grad(lambda a: lax.scan(lambda c, r: (lax.scan(lambda d, s: (d * s + a, None), "
        "c, r)[0], None), 1.0, m)[0])(0.3)"
    ),
    "scan with custom rule": (
        "jax.grad(lambda a: lax.scan(lambda c, r: (rule(lambda v: v**2, lambda v: (v**2, v), "
        "lambda q, g: (g * q,))(c * r), None), a, m)[0].sum())(x)"
    ),
    "scan int ys under grad": (
        "jax.grad(lambda a: (lambda c, y: (c * y.sum()).sum())(*lax.scan(lambda c, r: (c * "
        "r, (r > 0).astype(int)), a, m)))(x)"
    ),
    "scan bool carry": "lax.scan(lambda c, r: (jnp.logical_and(c, r.sum() > 0), c), True, m)",
    "map vmapped": "jax.vmap(lambda s: lax.map(lambda r: r.sum() * s, m))(x)",
    "map batch_size": "lax.map(lambda r: r * 2, A, batch_size=2)",
    "associative_scan tuple vmapped": (
        "jax.vmap(lambda a: lax.associative_scan(lambda p, q: (p[0] + q[0], p[1] * q[1]), "
        "(a, a)))(m)"
    ),
    "checkpoint policy": (
        "jax.grad(jax.checkpoint(lambda a: (jnp.sin(A @ a)).sum(), "
        "policy=jax.checkpoint_policies.dots_saveable))(x)"
    ),
    "checkpoint in scan": (
        "jax.grad(lambda a: lax.scan(jax.checkpoint(lambda c, r: (jnp.sin(c * r), None)), a, "
        "m)[0].sum())(x)"
    ),
    "checkpoint vmapped": (
        "jax.vmap(jax.grad(jax.checkpoint(lambda a: jnp.sin(a).sum())), in_axes=1)(m)"
    ),
    "checkpoint aux": (
        "jax.value_and_grad(jax.checkpoint(lambda a: (jnp.sin(a).sum(), {'n': None, 'v': "
        "a})), has_aux=True)(x)"
    ),
    "custom_jvp vmapped jit": (
        "jax.jit(jax.vmap(jax.grad(pair(lambda a: a**2, lambda p, t: (p[0]**2, 7.0 * t[0])))))(x)"
    ),
    "custom_jvp tree": (
        "jax.jvp(pair(lambda d: d['a'] * d['b'], lambda p, t: (p[0]['a'] * p[0]['b'], "
        "t[0]['a'] + 2 * t[0]['b'])), ({'a': x, 'b': x},), ({'a': x, 'b': x * 2},))"
    ),
    "custom_jvp int operand": (
        "jax.grad(lambda a: pair(lambda a, i: a[i], lambda p, t: (p[0][p[1]], 3 * "
        "t[0][p[1]]))(a, 1))(x)"
    ),
    "custom_jvp scan": (
        "jax.grad(lambda a: lax.scan(lambda c, r: (pair(lambda v: v * 2, lambda p, t: (p[0] "
        "* 2, t[0] * 5))(c) * r, None), a, m)[0].sum())(x)"
    ),
    "custom_vjp closure constant": (
        "jax.grad(lambda a: rule(lambda v: v * A[0], lambda v: (v * A[0], None), lambda r, "
        "g: (g * A[1],))(a).sum())(x)"
    ),
    "custom_vjp aux residual tree": (
        "jax.grad(lambda a: rule(lambda v: v**2, lambda v: (v**2, {'v': v, 'n': None, 'i': "
        "3}), lambda r, g: (g * r['v'] * r['i'],))(a).sum())(x)"
    ),
    "custom_vjp several outs": (
        "jax.grad(lambda a: (lambda o: o[0].sum() + (o[1]['k'] * 2).sum())(rule(lambda v: "
        "(v, {'k': v * 2}), lambda v: ((v, {'k': v * 2}), None), lambda r, g: (g[0] + 10 * "
        "g[1]['k'],))(a)))(x)"
    ),
    "custom_vjp unused out": (
        "jax.grad(lambda a: rule(lambda v: (v, v * 2), lambda v: ((v, v * 2), None), lambda "
        "r, g: (g[0] + 10 * g[1],))(a)[0].sum())(x)"
    ),
    "custom_vjp nondiff argnums last": (
        "jax.grad(lambda a: rule(lambda a, n: a**n, lambda a, n: (a**n, a), lambda n, r, g: "
        "(g * n * r * 10,), nondiff_argnums=(1,))(a, 3).sum())(x)"
    ),
    "custom_vjp in cond": (
        "jax.grad(lambda a: lax.cond(a[0] > 0, rule(lambda v: v, lambda v: (v, None), lambda "
        "r, g: (g * 4,)), lambda v: v, a).sum())(x)"
    ),
    "custom_vjp jacrev": (
        "jax.jacrev(rule(lambda v: v * 2, lambda v: (v * 2, None), lambda r, g: (g * 3,)))(x)"
    ),
    "stop_gradient int tree": (
        "jax.grad(lambda a: (a * lax.stop_gradient({'i': i3, 'a': a})['i']).sum())(x)"
    ),
    "grad wrt list arg": "jax.grad(lambda l: (l[0] * l[1][0]).sum())([x, (x, None)])",
    "grad wrt mixed int leaf allow": (
        "[g.shape for g in jax.tree.leaves(jax.grad(lambda d: (d['a'] * d['i']).sum(), "
        "allow_int=True)({'a': x, 'i': i3}))]"
    ),
    "value_and_grad argnums aux": (
        "jax.value_and_grad(lambda a, b: ((a * b).sum(), (a, None)), argnums=(0, 1), "
        "has_aux=True)(x, x)"
    ),
    "grad has_aux bool": "jax.grad(lambda a: (a.sum(), a.sum() > 0), has_aux=True)(x)",
    "vmap has aux None axes": (
        "jax.vmap(jax.grad(lambda a, c: ((a * c).sum(), None), has_aux=True), in_axes=(0, "
        "None))(m, x)"
    ),
    "float args": "jax.value_and_grad(lambda a, b: a * b, argnums=(0, 1))(2.0, 3.0)",
    "f32 leaf": (
        "jax.grad(lambda d: (d['a'] * d['b']).sum().astype(np.float64))({'a': "
        "x.astype(np.float32), 'b': x.astype(np.float32)})"
    ),
    "mixed f32 f64": (
        "jax.grad(lambda a, b: (a * b).sum(), argnums=(0, "
        "1))(jnp.asarray(x.astype(np.float32)), jnp.asarray(x))"
    ),
    "complex chain": "jax.grad(lambda a: jnp.real(jnp.sum(jnp.exp(1j * a) * (a + 2j))))(x)",
    "complex jacfwd holomorphic": "jax.jacfwd(lambda z: z**2, holomorphic=True)(x + 1j)",
    "complex jacrev holomorphic": (
        "jax.jacrev(lambda z: jnp.conj(z) * 0 + z**3, holomorphic=True)(x + 1j)"
    ),
    "complex fft grad": "jax.grad(lambda a: (jnp.abs(jnp.fft.fft(a)) ** 2).sum())(x)",
    "complex angle": "jax.grad(lambda z: jnp.angle(z).sum())(x + 1j)",
    "complex vmap grad": "jax.vmap(jax.grad(lambda z: jnp.abs(z) ** 3))(x + 1j)",
    "eigh values": "jax.grad(lambda a: (jnp.linalg.eigh(a)[0] * x).sum())(A)",
    "svd values": "jax.grad(lambda a: (jnp.linalg.svd(a, compute_uv=False) * x[:2]).sum())(m)",
    "cholesky": "jax.grad(lambda a: jnp.linalg.cholesky(a).sum())(A)",
    "inv vmapped": "jax.vmap(jnp.linalg.inv)(np.stack([A, A.T + 1]))",
    "qr grads": "jax.grad(lambda a: jnp.abs(jnp.linalg.qr(a)[1]).sum())(A)",
    "slogdet": "jax.grad(lambda a: jnp.linalg.slogdet(a)[1])(A)",
    "lstsq": "jax.grad(lambda b: jnp.linalg.lstsq(m.T, b)[0].sum())(x)",
    "pinv": "jax.grad(lambda a: jnp.linalg.pinv(a).sum())(m)",
    "matrix_power": "jax.grad(lambda a: jnp.linalg.matrix_power(a, 3).sum())(A)",
    "expm": "jax.grad(lambda a: jax.scipy.linalg.expm(a).sum())(A * 0.1)",
    "solve_triangular": (
        "jax.grad(lambda b: jax.scipy.linalg.solve_triangular(np.tril(A), b, lower=True).sum())(x)"
    ),
    "cho_solve": (
        "jax.grad(lambda b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(A), b).sum())(x)"
    ),
    "norm logpdf": "jax.grad(lambda a: jax.scipy.stats.norm.logpdf(a, 0.5, 2.0).sum())(x)",
    "beta logpdf": "jax.grad(lambda a: jax.scipy.stats.beta.logpdf(0.3, a, 2.0))(1.5)",
    "digamma": "jax.grad(lambda a: jax.scipy.special.digamma(a).sum())(x + 2)",
    "betainc": "jax.grad(lambda a: jax.scipy.special.betainc(1.5, 2.0, a))(0.3)",
    "xlogy zero": "jax.grad(lambda a: jax.scipy.special.xlogy(0.0, a))(0.5)",
    "map_coordinates": (
        "jax.grad(lambda a: jax.scipy.ndimage.map_coordinates(a, [np.array([0.5]), "
        "np.array([1.2])], order=1).sum())(m)"
    ),
    "convolve": "jax.grad(lambda a: (jnp.convolve(a, x) ** 2).sum())(x)",
    "interp": (
        "jax.grad(lambda a: jnp.interp(a, np.array([-1.0, 0.0, 2.0]), np.array([0.0, 1.0, "
        "4.0])).sum())(x)"
    ),
    "percentile": "jax.grad(lambda a: jnp.percentile(a, 30.0))(x)",
    "median even": "jax.grad(lambda a: jnp.median(a))(np.array([1.0, 4.0, 2.0, 3.0]))",
    "var ddof": "jax.grad(lambda a: jnp.var(a, ddof=1))(x)",
    "cov": "jax.grad(lambda a: jnp.cov(a).sum())(m)",
    "cumprod zero": "jax.grad(lambda a: jnp.cumprod(a).sum())(np.array([2.0, 0.0, 3.0]))",
    "searchsorted const": "jax.grad(lambda a: (a * jnp.searchsorted(a, 0.0)).sum())(np.sort(x))",
    "floor const": "jax.grad(lambda a: (jnp.floor(a) * a).sum())(x)",
    "mod": "jax.grad(lambda a: jnp.mod(a, 0.4).sum())(x)",
    "arctan2 sign": "jax.grad(lambda a: jnp.arctan2(a, a[::-1]).sum())(x)",
    "roll tile repeat": (
        "jax.grad(lambda a: (jnp.roll(jnp.tile(jnp.repeat(a, 2), 2), 3) * "
        "np.arange(12.0)).sum())(x)"
    ),
    "select": "jax.grad(lambda a: jnp.select([a > 1, a > 0], [a * 2, a * 3], 5.0).sum())(x)",
    "piecewise": (
        "jax.grad(lambda a: jnp.piecewise(a, [a < 0, a >= 0], [lambda v: -v, lambda v: "
        "v**2]).sum())(x)"
    ),
    "vectorize": (
        "jax.grad(lambda a: jnp.vectorize(lambda u, v: u @ v, signature='(n),(n)->()')(m, "
        "a).sum())(x)"
    ),
    "apply_along_axis": "jnp.apply_along_axis(lambda r: r / r.sum(), 1, m)",
    "block": "jax.grad(lambda a: jnp.block([a, a * 2]).sum())(x)",
    "nn attention": (
        "jax.nn.dot_product_attention(c3[:, :, None, :].astype(np.float32), c3[:, :, None, "
        ":].astype(np.float32), c3[:, :, None, :].astype(np.float32)).astype(float).round(5)"
    ),
    "nn gelu grads": (
        "[jax.grad(lambda a: jax.nn.gelu(a, approximate=k).sum())(x) for k in (True, False)]"
    ),
    "nn standardize": "jax.grad(lambda a: (jax.nn.standardize(a, axis=1) * m).sum())(m)",
    "nn glu celu": (
        "(jax.nn.celu(x, 0.5), jax.nn.glu(c3, axis=2), jax.nn.hard_tanh(x), "
        "jax.nn.squareplus(x), jax.nn.sparse_plus(x))"
    ),
    "lax conv": (
        "jax.grad(lambda w: (lax.conv(c3[None], w, (1, 1), 'SAME') ** 2).sum())(np.ones((1, "
        "2, 2, 2)))"
    ),
    "lax pad neg": "lax.pad(x, -1.0, [(1, -1, 1)])",
    "lax gather": (
        "lax.gather(m, np.array([[0], [1]]), lax.GatherDimensionNumbers(offset_dims=(1,), "
        "collapsed_slice_dims=(0,), start_index_map=(0,)), (1, 3))"
    ),
    "lax scatter_add": (
        "lax.scatter_add(m, np.array([[1]]), m[:1], "
        "lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), "
        "scatter_dims_to_operand_dims=(0,)))"
    ),
    "lax cumlogsumexp": "jax.grad(lambda a: lax.cumlogsumexp(a).sum())(x)",
    "lax argmax": "lax.argmax(m, 1, np.int32)",
    "lax betainc": "lax.igamma(2.0, x + 1.5)",
    "lax population": (
        "(lax.population_count(i3), lax.clz(i3.astype(np.int32)), lax.shift_left(i3, i3))"
    ),
    "lax rem div": "(lax.rem(-7, 3), lax.div(-7, 3), lax.rem(-7.5, 2.0))",
    "lax expand_dims": "lax.expand_dims(x, (0, -1)).shape",
    "lax broadcast_in_dim": (
        "jax.grad(lambda a: (lax.broadcast_in_dim(a, (2, 3), (1,)) * m).sum())(x)"
    ),
    "lax reduce_precision": "lax.reduce_precision(x, 5, 3)",
    "lax bitcast": "lax.bitcast_convert_type(np.float32(1.5), np.int32)",
    "lax full_like iota": (
        "(lax.full_like(x, 2), lax.broadcasted_iota(int, (2, 3), 1), lax.iota(int, 3))"
    ),
    "lax approx": "lax.approx_max_k(x, 2)[0]",
}
