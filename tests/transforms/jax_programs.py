"""Programs of one array with JAX's transforms, as text that runs with JAX's modules and ours."""

import numpy as np

V = np.array([0.6, -0.3, 0.8, 1.4])
M = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])
S = np.array(0.7)
Q = np.array([[2.0, 0.3], [0.1, 1.5]])

# Functions that the programs share: statements, run with either set of modules
SHARED = """
j = jax, jnp
def custom_square(jax, jnp):
    @jax.custom_vjp
    def f(x):
        return x**2
    f.defvjp(lambda x: (x**2, x), lambda x, g: (3.0 * g * jnp.sin(x),))
    return f

def custom_sine(jax, jnp):
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)
    @f.defjvp
    def _(primals, tangents):
        return f(primals[0]), 5.0 * jnp.cos(primals[0]) * tangents[0]
    return f

def scaled(jax, jnp):
    def f(n, x, m):
        return n * x * m
    g = jax.custom_vjp(f, nondiff_argnums=(0,))
    g.defvjp(lambda n, x, m: (n * x * m, (x, m)), lambda n, r, g: (g * n * r[1] * 2, g * n * r[0]))
    return g

def by_name(jax, jnp):
    def f(x, n):
        return n * x
    g = jax.custom_jvp(f, nondiff_argnames=("n",))
    @g.defjvp
    def _(n, primals, tangents):
        return n * primals[0], 7.0 * n * tangents[0]
    return g

def parts(jax, jnp):
    @jax.custom_jvp
    def f(x, y):
        return x * jnp.sin(y)
    f.defjvps(lambda t, out, x, y: t * jnp.sin(y) * 2, lambda t, out, x, y: t * x * jnp.cos(y))
    return f

def by_parts(jax, jnp):
    @jax.custom_jvp
    def f(x, y):
        return x * jnp.sin(y)
    f.defjvps(None, lambda t, out, x, y: t * out)
    return f

def symbolic(jax, jnp):
    @jax.custom_jvp
    def f(x, y):
        return x * y
    def rule(primals, tangents):
        x, y = primals
        s, t = tangents
        terms = []
        if "SymbolicZero" not in type(s).__name__:
            terms.append(2.0 * s * y)
        if "SymbolicZero" not in type(t).__name__:
            terms.append(3.0 * x * t)
        return x * y, terms[0] if len(terms) == 1 else terms[0] + terms[1]
    f.defjvp(rule, symbolic_zeros=True)
    return f

def perturbed(jax, jnp):
    @jax.custom_vjp
    def f(x, y):
        return x * y
    def fwd(x, y):
        assert x.perturbed and not isinstance(x.value, tuple)
        return x.value * y.value, (x.value, y.value)
    f.defvjp(fwd, lambda kept, g: (2.0 * g * kept[1], 3.0 * g * kept[0]), symbolic_zeros=True)
    return f

def gradient(jax, jnp):
    @jax.custom_gradient
    def f(x):
        kept = jnp.sin(x)
        return kept * x, lambda g: (g * 4.0 * kept,)
    return f

def of_two(jax, jnp):
    @jax.custom_gradient
    def f(x, y):
        return x * y, lambda g: (g * y * 2, g * x * 5)
    return f

def newton(jax, jnp, lax):
    def solve(f, x):
        for _ in range(12):
            x = x - f(x) / jax.jvp(f, (x,), (jnp.ones_like(x),))[1]
        return x
    return lambda a: lax.custom_root(lambda x: x**3 + x - a, jnp.ones_like(a), solve,
                                     lambda g, y: y / g(jnp.ones_like(y)))

def linear(jax, jnp, lax):
    def solve(matvec, b):
        return jnp.linalg.solve(jax.jacfwd(matvec)(jnp.zeros_like(b)), b)
    return lambda a, b: lax.custom_linear_solve(lambda x: a @ x, b, solve, solve)

def jacobi(jax, jnp, lax):
    def solve(matvec, b):
        x = jnp.zeros_like(b)
        for _ in range(60):
            x = x + 0.4 * (b - matvec(x))
        return x
    return lambda a, b: lax.custom_linear_solve(lambda x: a @ x, b, solve, symmetric=True)

def closed(jax, jnp):
    def g(y):
        f, consts = jax.closure_convert(lambda v: jnp.sin(v * y), y)
        return f(2.0 * y, *consts)
    return g

def named(jax, jnp, policy):
    name = getattr(jax, "checkpoint_name", None)
    if name is None:
        from jax.ad_checkpoint import checkpoint_name as name
    def f(x):
        h = name(jnp.sin(x), "hidden")
        return jnp.exp(h) * name(jnp.cos(x), "other")
    return jax.checkpoint(f, policy=policy)

def callback(jax, jnp, method):
    @jax.custom_jvp
    def f(x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda v: np.sin(np.asarray(v)), shape, x, vmap_method=method)
    @f.defjvp
    def _(primals, tangents):
        return f(*primals), jnp.cos(primals[0]) * tangents[0]
    return f

def batched(jax, jnp):
    custom_vmap = getattr(jax, "custom_vmap", None) or jax.custom_batching.custom_vmap
    @custom_vmap
    def f(x):
        return jnp.sin(x)
    @f.def_vmap
    def _(size, in_batched, x):
        return jnp.sin(x), in_batched[0]
    return f
"""

# name: (source, argument) or (source, argument, False) of what has no derivative
PROGRAMS = {
    # grad and its kin
    "grad": ("lambda x: jax.grad(lambda v: (v**3).sum())(x)", V),
    "grad of two": ("lambda x: jax.grad(lambda v, w: (v**3 * w).sum(), (0, 1))(x, jnp.sin(x))", V),
    "grad negative argnum": ("lambda x: jax.grad(lambda v, w: (v * w**2).sum(), -1)(x, x)", V),
    "grad of a tree": ("lambda x: jax.grad(lambda p: (p['a'] * p['b'][0]**2).sum())("
                       "{'a': x, 'b': [x * 2]})", V),
    "grad aux": ("lambda x: jax.grad(lambda v: ((v**3).sum(), {'k': v * 2}), has_aux=True)(x)", V),
    "value_and_grad": ("lambda x: jax.value_and_grad(lambda v: (v**3).sum())(x)", V),
    "value_and_grad aux": ("lambda x: jax.value_and_grad(lambda v: ((v**3).sum(), v), "
                           "has_aux=True)(x)", V),
    "grad keyword": ("lambda x: jax.grad(lambda v, w: (v**2 * w).sum())(x, w=x + 1)", V),
    "grad allow_int": ("lambda x: jax.grad(lambda p: (p[0]**2 * p[1]).sum(), allow_int=True)("
                       "(x, np.arange(4)))[0]", V),
    "grad of grad": ("lambda x: jax.grad(lambda v: (jax.grad(lambda w: (w**4).sum())(v)**2).sum())("
                     "x)", V),
    "grad in scalar": ("lambda x: jax.grad(jax.grad(jax.grad(jnp.sin)))(x)", S),
    "holomorphic": ("lambda x: jax.grad(lambda z: (z**3).sum(), holomorphic=True)(x + 1j * x)", V),
    "perturbations": ("lambda x: jax.grad(lambda v: v * jax.grad(lambda w: v * w * w)(2.0))(x)", S),
    # jacobians
    "jacfwd": ("lambda x: jax.jacfwd(lambda v: jnp.outer(v, v**2))(x)", V),
    "jacrev": ("lambda x: jax.jacrev(lambda v: jnp.outer(v, v**2))(x)", V),
    "jacobian": ("lambda x: jax.jacobian(lambda v: (v @ v.T)**2)(x)", M),
    "jacfwd aux": ("lambda x: jax.jacfwd(lambda v: (v**2, jnp.sin(v)), has_aux=True)(x)", V),
    "jacrev aux": ("lambda x: jax.jacrev(lambda v: (v**2, jnp.sin(v)), has_aux=True)(x)", V),
    "jacfwd trees": ("lambda x: jax.jacfwd(lambda p: {'u': p[0] * p[1], 'v': p[1]**2})((x, 2 * x))",
                     V),
    "jacrev two": ("lambda x: jax.jacrev(lambda a, b: a * b**2, (0, 1))(x, x + 1)", V),
    "hessian": ("lambda x: jax.hessian(lambda v: (v**3).sum() * v[0])(x)", V),
    "hessian aux": ("lambda x: jax.hessian(lambda v: ((v**3).sum(), v), has_aux=True)(x)", V),
    "hessian of a matrix": ("lambda x: jax.hessian(lambda v: jnp.sin(v).sum() * v[0, 1])(x)", M),
    "hessian by hand": ("lambda x: jax.jacrev(jax.jacfwd(lambda v: (v**3).sum() * v[0]))(x)", V),
    # vjp, jvp, linearize
    "jvp": ("lambda x: jax.jvp(lambda v: v**3, (x,), (jnp.cos(x),))", V),
    "jvp aux": ("lambda x: jax.jvp(lambda v: (v**3, v * 2), (x,), (x,), has_aux=True)", V),
    "jvp two": ("lambda x: jax.jvp(lambda a, b: a * jnp.sin(b), (x, 2 * x), (x, x**2))", V),
    "vjp": ("lambda x: jax.vjp(lambda v: v**3, x)[1](jnp.cos(x))", V),
    "vjp aux": ("lambda x: jax.vjp(lambda v: (v**3, v * 2), x, has_aux=True)[2]", V),
    "vjp two": ("lambda x: jax.vjp(lambda a, b: a * jnp.sin(b), x, 2 * x)[1](x)", V),
    "linearize": ("lambda x: jax.linearize(lambda v: v**3, x)[1](x)", V),
    "linearize aux": ("lambda x: jax.linearize(lambda v: (v**3, v + 1), x, has_aux=True)[2]", V),
    "linear_transpose": ("lambda x: jax.linear_transpose(lambda v: 3 * v[1:] - v[:-1], x)(x[1:])",
                         V),
    "linear_transpose matrix": ("lambda x: jax.linear_transpose(lambda v: v @ np.ones((3, 2)),"
                                      " x)(jnp.sin(x[:, :2]))", M),
    "linear_transpose of a tree": ("lambda x: jax.linear_transpose(lambda p: p[0] + 2 * p[1], "
                                   "(x, x))(x**2)", V),
    "linear_transpose closed": ("lambda x: jax.linear_transpose(lambda v: v * x, x)(x**2)", V),
    # vmap
    "vmap": ("lambda x: jax.vmap(lambda v: v.sum() * v)(x)", M),
    "vmap axes": ("lambda x: jax.vmap(lambda v, w: v * w, in_axes=(1, 0), out_axes=1)(x, x.T)", M),
    "vmap None": ("lambda x: jax.vmap(lambda v, w: v @ w, in_axes=(0, None))(x, x[0])", M),
    "vmap tree": ("lambda x: jax.vmap(lambda p: p['a'] * p['b'], in_axes=({'a': 0, 'b': None},))("
                  "{'a': x, 'b': x[0]})", M),
    "vmap size": ("lambda x: jax.vmap(lambda: x * 2, axis_size=3)()", V),
    "vmap of vmap": ("lambda x: jax.vmap(jax.vmap(lambda v: v**2 + v))(x)", M),
    "vmap of grad": ("lambda x: jax.vmap(jax.grad(lambda v: (v**3).sum()))(x)", M),
    "psum": ("lambda x: jax.vmap(lambda v: v / lax.psum(jnp.exp(v), 'i'), axis_name='i')(x)", M),
    "pmean": ("lambda x: jax.vmap(lambda v: v * lax.pmean(v**2, 'i'), axis_name='i')(x)", M),
    "pmax": ("lambda x: jax.vmap(lambda v: v * lax.pmax(v, 'i'), axis_name='i')(x)", M, False),
    "pmin": ("lambda x: jax.vmap(lambda v: v * lax.pmin(v, 'i'), axis_name='i')(x)", M, False),
    "psum of two axes": ("lambda x: jax.vmap(jax.vmap(lambda v: v * lax.psum(v**2, ('i', 'j')), "
                         "axis_name='j'), axis_name='i')(x)", M),
    "psum inner": ("lambda x: jax.vmap(jax.vmap(lambda v: v * lax.psum(v**2, 'i'), axis_name='j'), "
                   "axis_name='i')(x)", M),
    "psum of one": ("lambda x: jax.vmap(lambda v: v / lax.psum(1, 'i'), axis_name='i')(x)", M),
    "psum in grad": ("lambda x: jax.vmap(jax.grad(lambda v: lax.psum((v**2).sum(), 'i') * v[0]), "
                     "axis_name='i')(x)", M),
    "psum in jit": ("lambda x: jax.vmap(jax.jit(lambda v: v * lax.psum(v**2, 'i')), "
                    "axis_name='i')(x)", M),
    "axis_index": ("lambda x: jax.vmap(lambda v: v**2 * lax.axis_index('i'), axis_name='i')(x)", M),
    "all_gather": ("lambda x: jax.vmap(lambda v: lax.all_gather(v**2, 'i'), axis_name='i')(x)", M),
    "all_gather axis": ("lambda x: jax.vmap(lambda v: lax.all_gather(v**2, 'i', axis=1), "
                        "axis_name='i')(x)", M),
    "all_gather tiled": ("lambda x: jax.vmap(lambda v: lax.all_gather(v**2, 'i', tiled=True), "
                         "axis_name='i')(x)", M),
    "psum_scatter": ("lambda x: jax.vmap(lambda v: lax.psum_scatter(v**2, 'i'), axis_name='i')("
                     "x[:, :2])", M),
    "psum_scatter tiled": ("lambda x: jax.vmap(lambda v: lax.psum_scatter(v**2, 'i', tiled=True), "
                           "axis_name='i')(jnp.concatenate([x, x[:, :1]], 1))", M),
    "ppermute": ("lambda x: jax.vmap(lambda v: v * lax.ppermute(v**2, 'i', [(0, 1), (1, 0)]), "
                 "axis_name='i')(x)", M),
    "pshuffle": ("lambda x: jax.vmap(lambda v: v * lax.pshuffle(v**2, 'i', [1, 0]), "
                 "axis_name='i')(x)", M),
    "pswapaxes": ("lambda x: jax.vmap(lambda v: v * lax.pswapaxes(v**2, 'i', 0), axis_name='i')("
                  "x[:, :2])", M),
    "all_to_all": ("lambda x: jax.vmap(lambda v: lax.all_to_all(v**2, 'i', 0, 1), axis_name='i')("
                   "jnp.stack([x[:, :2], x[:, 1:]]))", M),
    # custom rules
    "custom_vjp": ("lambda x: custom_square(*j)(x)", V, False),
    "custom_vjp grad": ("lambda x: jax.grad(lambda v: custom_square(*j)(v).sum())(x)", V),
    "custom_vjp jit": ("lambda x: jax.jit(jax.grad(lambda v: custom_square(*j)(v).sum()))(x)",
                       V),
    "custom_vjp vmap": ("lambda x: jax.vmap(jax.grad(lambda v: custom_square(*j)(v).sum()))(x)",
                        M),
    "custom_vjp nondiff": ("lambda x: jax.grad(lambda v: scaled(*j)(3.0, v, 2.0 + v).sum())(x)",
                           V),
    "custom_jvp": ("lambda x: custom_sine(*j)(x)", V),
    "custom_jvp vmap": ("lambda x: jax.vmap(custom_sine(*j))(x)", M),
    "custom_jvp jit": ("lambda x: jax.jit(custom_sine(*j))(x)", V),
    "custom_jvp nondiff_argnames": ("lambda x: by_name(*j)(x, 2.0)", V),
    "defjvps": ("lambda x: parts(*j)(x, 2.0 * x)", V),
    "defjvps None": ("lambda x: by_parts(*j)(x, 2.0 * x)", V),
    "symbolic zeros forward": ("lambda x: symbolic(*j)(x, np.full(4, 2.0))", V),
    "symbolic zeros both": ("lambda x: symbolic(*j)(x, jnp.sin(x))", V),
    "symbolic zeros back": ("lambda x: jax.grad(lambda v: perturbed(*j)(v, jnp.sin(v)).sum())("
                            "x)", V),
    "custom_gradient": ("lambda x: jax.grad(lambda v: gradient(*j)(v).sum())(x)", V),
    "custom_gradient value": ("lambda x: gradient(*j)(x)", V, False),
    "custom_gradient vmap": ("lambda x: jax.vmap(jax.grad(lambda v: gradient(*j)(v).sum()))(x)",
                             M),
    "custom_gradient of two": ("lambda x: jax.grad(lambda v: of_two(*j)(v, jnp.sin(v)).sum())("
                               "x)", V),
    "custom_vmap": ("lambda x: jax.vmap(batched(*j))(x)", M, False),
    "closure_convert": ("lambda x: closed(*j)(x)", V),
    "custom_root": ("lambda x: newton(*j, lax)(x + 2.0)", S),
    "custom_root of vectors": ("lambda x: newton(*j, lax)(x + 2.0)", V),
    "custom_linear_solve": ("lambda x: linear(*j, lax)(x, x[0] * 2)", Q),
    "custom_linear_solve symmetric": ("lambda x: jacobi(*j, lax)(x + x.T, x[1])", Q / 2),
    "pure_callback": ("lambda x: callback(*j, 'sequential')(x)", V),
    "pure_callback broadcast": ("lambda x: callback(*j, 'broadcast_all')(x)", V),
    "pure_callback expand": ("lambda x: callback(*j, 'expand_dims')(x)", V),
    "stop_gradient": ("lambda x: x * lax.stop_gradient(jnp.sin(x))", V),
    # checkpoint
    "checkpoint": ("lambda x: jax.checkpoint(lambda v: jnp.sin(jnp.exp(v)))(x)", V),
    "remat": ("lambda x: jax.remat(lambda v: jnp.sin(jnp.exp(v)))(x)", V),
    "checkpoint everything": ("lambda x: jax.checkpoint(lambda v: jnp.tanh(v @ v.T), policy=jax."
                              "checkpoint_policies.everything_saveable)(x)", M),
    "checkpoint dots": ("lambda x: jax.checkpoint(lambda v: jnp.tanh(v @ v.T), policy=jax."
                        "checkpoint_policies.dots_saveable)(x)", M),
    "checkpoint dots without batches": ("lambda x: jax.checkpoint(lambda v: jnp.tanh(v @ v.T), "
                                        "policy=jax.checkpoint_policies."
                                        "checkpoint_dots_with_no_batch_dims)(x)", M),
    "checkpoint nothing": ("lambda x: jax.checkpoint(lambda v: jnp.tanh(v @ v.T), policy=jax."
                           "checkpoint_policies.nothing_saveable)(x)", M),
    "checkpoint names": ("lambda x: named(*j, jax.checkpoint_policies.save_only_these_names("
                         "'hidden'))(x)", V),
    "checkpoint other names": ("lambda x: named(*j, jax.checkpoint_policies."
                               "save_any_names_but_these('hidden'))(x)", V),
    "checkpoint except": ("lambda x: named(*j, jax.checkpoint_policies."
                          "save_anything_except_these_names('hidden'))(x)", V),
    "checkpoint both": ("lambda x: named(*j, jax.checkpoint_policies.save_from_both_policies("
                        "jax.checkpoint_policies.dots_saveable, jax.checkpoint_policies."
                        "save_only_these_names('hidden')))(x)", V),
    "checkpoint static": ("lambda x: jax.checkpoint(lambda v, n: v**n, static_argnums=(1,))(x, 3)",
                          V),
    # jit
    "jit static": ("lambda x: jax.jit(lambda v, n: v**n, static_argnums=1)(x, 3)", V),
    "jit static name": ("lambda x: jax.jit(lambda v, n: v**n, static_argnames='n')(x, n=3)", V),
    "jit of grad": ("lambda x: jax.jit(jax.grad(lambda v: (v**3).sum()))(x)", V),
    "grad of jit": ("lambda x: jax.grad(jax.jit(lambda v: (v**3).sum()))(x)", V),
    # control flow
    "cond": ("lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x)", V),
    "switch": ("lambda x: lax.switch((x[0] > 0).astype(int) + 1, [jnp.sin, jnp.cos, jnp.exp], x)",
               V),
    "scan": ("lambda x: lax.scan(lambda c, v: (c * v + 1, c), x[0], x)", V),
    "scan reverse": ("lambda x: lax.scan(lambda c, v: (jnp.sin(c) + v, c), x[0], x, reverse=True)",
                     V),
    "fori_loop": ("lambda x: lax.fori_loop(0, 4, lambda i, c: c * x + i, x)", V),
    "while_loop": ("lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), "
                   "(0, x))[1]", V, False),
    "map": ("lambda x: lax.map(lambda v: jnp.sin(v) * v, x)", M),
    "associative_scan": ("lambda x: lax.associative_scan(lambda a, b: a * b, x)", V),
}  # fmt: skip
