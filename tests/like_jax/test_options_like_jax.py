"""Options and unusual arguments of the transforms: the same text with JAX's modules and ours."""

import numpy
import pytest
from like_jax.swapped import agree, evaluate, ours, theirs

pytestmark = pytest.mark.peers

SETUP = """
import dataclasses, functools
@tu.register_dataclass
@dataclasses.dataclass(frozen=True)
class Layer:
    w: object
    b: object = None
    act: str = dataclasses.field(default="tanh", metadata=dict(static=True))
def applied(l, x):
    return np.sum(getattr(np, l.act)(l.w * x)) + (0.0 if l.b is None else l.b)
V = np.arange(1.0, 4.0)
E = np.zeros((0, 3))
F = np.asarray([1.0, 2.0], "float32")
f = m.custom_jvp(lambda x, y: np.sin(x) * y)
@f.defjvp
def _(primals, tangents):
    x, y = primals
    s, t = tangents
    return f(x, y), np.cos(x) * s * y * 3 + np.sin(x) * t
scaled = m.custom_jvp(lambda x, k=2.0: x * k)
scaled.defjvp(lambda p, t: (p[0] * p[1], t[0] * p[1] * 9))
ruled = m.custom_vjp(lambda x, k=2.0: x * k)
ruled.defvjp(lambda x, k: (x * k, (x, k)), lambda r, g: (g * r[1] * 5, g * r[0]))
by_text = m.custom_vjp(lambda x, n="sin": getattr(np, n)(x), nondiff_argnames=("n",))
by_text.defvjp(lambda x, n: (getattr(np, n)(x), x), lambda n, r, g: (g * len(n) * r,))
"""
PROGRAMS = """
m.grad(lambda x, *, w: np.sum(x**2 * w["a"]))(V, w={"a": 2.0})
m.value_and_grad(lambda x, k=2: (x**k, {"k": k, "x": x}), has_aux=True)(3.0, k=4)
m.grad(lambda x, *a, **k: x * a[0] * k["z"], argnums=(0, 1))(2.0, 3.0, z=4.0)
m.grad(lambda x: x.sum())(E), m.hessian(lambda x: np.sum(x**2))(np.zeros(0))
m.jacrev(lambda x: np.sum(x, keepdims=True))(np.zeros(0)), m.jacfwd(lambda x: x * 2)(np.zeros(0))
m.jit(m.vmap(m.grad(lambda x: np.sum(x**2))))(E)
m.vmap(lambda d, e: {"x": d["a"] + e, "y": e}, in_axes=({"a": 1}, None), out_axes={"x": 1, "y": None})({"a": np.ones((2, 3))}, np.arange(2.0))
m.vmap(lambda t: t[0] * t[1][0], in_axes=((0, [None]),))((V, [2.0]))
m.vmap(lambda t: (t[0] + 1, None), in_axes=((0, None),))((V, None))
m.vmap(lambda x, *, k: x * k)(V, k=V), m.vmap(lambda x: (x, 1.0, True, 3))(V)
m.jit(lambda x: (x, None, {}, (), 1.0, True, 3, 2j))(1.0)
m.grad(lambda x: np.sum(x.astype("float64") ** 2))(F), m.grad(lambda x: np.sum(F * x))(2.0)
m.jvp(lambda x: x.astype("float64") ** 2, (F,), (F,)), m.jvp(lambda x: F * x, (2.0,), (1.0,))
m.jvp(lambda x, n: x * n, (2.0, 3), (1.0, numpy.zeros((), m.float0)))
m.vjp(lambda x: (x * 2, x > 1), V)[1]((V, numpy.zeros(3, m.float0)))
m.vjp(lambda x: {"a": x, "b": [x * 2, (), None]}, 2.0)[1]({"a": 1.0, "b": [2.0, (), None]})
m.grad(lambda z: np.abs(z) ** 2)(1 + 2j), m.grad(lambda z: np.real(z * np.conj(z)))(np.asarray(1 + 2j, "complex64"))
m.jacfwd(lambda x: x * (1 + 2j))(V), m.jacrev(lambda z: z**2, holomorphic=True)(V + 1j)
m.hessian(lambda p: p["a"] * p["b"][0] ** 2)({"a": 2.0, "b": [3.0, None]})
m.hessian(lambda x: {"s": np.sum(x**3), "v": x**2})(V)
m.jacobian(lambda p: p[0] * p[1], allow_int=True)((V, 2.0))[0]
m.jit(lambda x, n: x * len(n), static_argnums=1)(2.0, n="abc")
m.jit(lambda x, n, k: x * len(n) + k, static_argnums=(1,))(2.0, k=1, n="abc")
m.jit(lambda x, n: x * len(n), static_argnums=1).lower(V, "abc").compile()(V)
m.jit(lambda x, *, n: x * n, static_argnames="n").lower(V, n=2).compile()(V)
m.jit(lambda x: x * 2).trace(V).lower().compile()(V), m.jit(lambda x: x, inline=True, keep_unused=True)(V)
m.ShapeDtypeStruct((2, 3), "float32").size, m.ShapeDtypeStruct((2,), int).update(shape=(3, 4)).ndim, len(m.ShapeDtypeStruct((5, 1), int))
(lambda g: (g.w, g.b, g.act))(m.jit(m.grad(applied))(Layer(V, 1.0, "sin"), 2.0))
(lambda g: (g.w, g.act))(m.vmap(lambda l, x: Layer(l.w * x, None, l.act), in_axes=(Layer(0, None, "sin"), None))(Layer(V, None, "sin"), 2.0))
(lambda c: (c[0].w, c[0].act, c[1]))(lax.scan(lambda l, x: (Layer(l.w * x, None, l.act), l.w), Layer(np.asarray(1.5), None, "cos"), V))
(lambda h: (h.act, h.w.act, h.w.w))(m.jacrev(lambda l: Layer(l.w**2, None, l.act))(Layer(V, None, "q")))
m.grad(lambda x: lax.scan(lambda c, t: (c * t["a"] + t["b"], None), x, {"a": V, "b": np.arange(3)})[0])(2.0)
m.vmap(lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2.0), (0, 1.0))[1])(np.arange(4))
m.vmap(lambda p, x: lax.cond(p, lambda x: x * 2, lambda x: -x, x), in_axes=(0, None))(np.asarray([True, False]), V)
lax.switch(7, [np.sin, np.cos], 3.0), lax.switch(-1, [np.sin, np.cos], operand=3.0), lax.cond(True, np.sin, np.cos, operand=V)
m.jit(m.grad(lambda x: lax.cond(x > 1, lambda _: x**2, lambda _: x**3, operand=None)))(2.0)
m.grad(f)(2.0, 3.0), m.grad(f, 1)(2.0, 3.0), m.grad(m.grad(f), 1)(2.0, 3.0), m.grad(m.grad(f))(2.0, 3.0)
m.jit(m.vmap(m.grad(f)))(V, V), m.hessian(lambda x: f(x, 2.0) ** 2)(0.7), m.jacrev(lambda x: f(x, V))(V)
m.linear_transpose(lambda t: m.jvp(lambda x: f(x, x), (V,), (t,))[1], V)(V)
m.grad(scaled)(2.0), m.grad(lambda x: scaled(k=3.0, x=x))(2.0), m.jit(m.vmap(m.grad(scaled)))(V)
m.grad(ruled)(2.0), m.grad(lambda x: ruled(k=3.0, x=x))(2.0), m.grad(ruled, (0, 1))(2.0, 4.0)
m.grad(by_text)(2.0), m.grad(lambda x: by_text(x, n="arctan"))(2.0), m.jit(m.vmap(m.grad(by_text)))(V)
m.vmap(lambda x: lax.psum(x, "i") * 1.0, axis_name="i")(np.asarray([True, False, True]))
m.vmap(lambda x: lax.pmean({"a": x, "b": (x * 2,)}, "i"), axis_name="i")(np.arange(4))
m.vmap(lambda x: lax.psum({"a": x, "b": 2}, "i"), axis_name="i", axis_size=3)(V)
m.grad(m.checkpoint(lambda x: np.sum(np.sin(x @ x)), policy=m.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")))(np.ones((2, 2)))
m.vmap(lambda x: m.pure_callback(lambda x: numpy.asarray(numpy.sin(x)), m.ShapeDtypeStruct((), float), x, sharding=None, vmap_method="sequential"))(V)
m.fwd_and_bwd(lambda x, y: (x * y, {"aux": x}), argnums=(0, 1), has_aux=True)[0](2.0, 3.0)[2]
m.eval_shape(m.vmap(m.grad(lambda x: np.sum(x**2))), m.ShapeDtypeStruct((3, 2), "float32")).dtype.name
""".strip().split("\n")


@pytest.mark.parametrize("program", PROGRAMS)
def test_options_like_jax(program):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        mine, other = (
            evaluate(SETUP + program, names | {"numpy": numpy}) for names in (ours(), theirs())
        )
        agree(mine, other, rtol=1e-7)


REFUSED = """
m.jvp(lambda x: x, 2.0, 1.0)
m.jvp(lambda x: x, (2.0,), (1.0, 2.0))
m.vmap(lambda x, y: x, in_axes=(0,))(V, V)
m.vmap(lambda x: x, out_axes=None)(V)
m.grad(lambda x, y: x * y, argnums=2)(2.0, 3.0)
m.grad(lambda x: x * 1j)(2.0)
m.jit(lambda x, n: x * n, static_argnums=1)(2.0, [3])
m.jit(lambda x, n: x * len(n), static_argnums=1).lower(V, "abc").compile()(V, "abc")
ruled(1.0, 2.0, 3.0)
ruled(1.0, j=2.0)
lax.cond(True, np.sin, np.cos, 1.0, operand=V)
lax.switch(0, [np.sin, np.cos], 1.0, operand=V)
len(m.ShapeDtypeStruct((), int))
m.jit(lambda x: lax.scan(lambda c, x: ((c, c), x), 0.0, x))(V)
""".strip().split("\n")


@pytest.mark.parametrize("program", REFUSED)
def test_options_refused_like_jax(program):
    jax = pytest.importorskip("jax")
    for names in (ours(), theirs()):
        with jax.enable_x64(True), pytest.raises((TypeError, ValueError)):
            evaluate(SETUP + program, names)
