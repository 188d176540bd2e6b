"""Taylor mode against nested forward mode, JAX's and series that are known."""

import math

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.array([0.4, 0.7, 1.2])
SERIES = [np.sin(np.arange(3.0) + k) for k in range(5)]

PROGRAMS = {
    "sin": "lambda x: jnp.sin(x)",
    "tanh": "lambda x: jnp.tanh(x)",
    "quotient": "lambda x: x / (1 + x * x)",
    "sqrt": "lambda x: jnp.sqrt(x)",
    "log": "lambda x: jnp.log(x)",
    "power": "lambda x: x**2.5",
    "powers of two": "lambda x: (1 + x) ** x",
    "product": "lambda x: jnp.outer(x, x) @ jnp.sin(x)",
    "where": "lambda x: jnp.where(x > 0.5, x * x, jnp.sin(x))",
    "moves": "lambda x: jnp.cumsum(x[::-1] * x[0])",
    "maximum": "lambda x: jnp.maximum(x, x * x)",
    "largest": "lambda x: jnp.max(x * x)",
    "sorted": "lambda x: jnp.sort(-x) * x",
    "determinant": "lambda x: jnp.linalg.det(jnp.outer(x, x) + np.eye(3))",
    "solve": "lambda x: jnp.linalg.solve(jnp.outer(x, x) + np.eye(3), x)",
    "einsum": "lambda x: jnp.einsum('i,j,k->ij', x, jnp.sin(x), x * x)",
    "complex": "lambda x: jnp.exp(1j * x) * x",
    "jit": "lambda x: jax.jit(lambda v: jnp.sin(v) * v)(x)",
    "cond": "lambda x: jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x)",
    "scan": "lambda x: jax.lax.scan(lambda c, v: (jnp.sin(c) * v, c), x[0], x)[1]",
    "jitted scan": "lambda x: jax.jit(lambda u: jax.lax.scan("
    "lambda c, v: (jnp.sin(c) * v, c), u[0], u)[1])(x)",
    "checkpoint": "lambda x: jax.checkpoint(lambda v: jnp.sin(v) * v)(x)",
    "gradient": "lambda x: jax.grad(lambda v: (jnp.sin(v) * v**2).sum())(x)",
    "map": "lambda x: jax.vmap(lambda v: v * jnp.sin(v))(x)",
}


def ours(source):
    return eval(source, {"jnp": fnp, "np": np, "jax": fg})


def nested(f, series):
    """The derivatives along the curve by forward mode in forward mode."""

    def along(t):
        x = X
        for k, h in enumerate(series, 1):
            x = x + h * t**k / math.factorial(k)
        return f(x)

    found = []
    for _ in series:
        along = (lambda g: lambda t: fg.jvp(g, (t,), (1.0,))[1])(along)
        found.append(along(0.0))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_forward_mode_in_forward_mode(name):
    f = ours(PROGRAMS[name])
    y, found = fg.jet(f, (X,), (SERIES[:4],))
    np.testing.assert_allclose(y, f(X), rtol=1e-15)  # those of `jit` in NumPy
    for one, other in zip(found, nested(f, SERIES[:4]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


@pytest.mark.peers
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_jax(name):
    jax = pytest.importorskip("jax")
    from jax.experimental.jet import jet

    jax.config.update("jax_enable_x64", True)
    f = eval(PROGRAMS[name], {"jnp": jax.numpy, "np": np, "jax": jax})
    try:
        _, expected = jet(f, (X,), (SERIES,))
    except (KeyError, NotImplementedError, TypeError):
        pytest.skip("JAX has no rule for an operation of it")
    _, found = fg.jet(ours(PROGRAMS[name]), (X,), (SERIES,))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_a_known_series():
    """The Taylor coefficients of the tangent: 1, 1/3, 2/15, 17/315, 62/2835."""
    series = [1.0] + [0.0] * 8
    _, found = fg.jet(fnp.tan, (0.0,), (series,), factorial_scaled=False)
    known = [1, 0, 1 / 3, 0, 2 / 15, 0, 17 / 315, 0, 62 / 2835]
    np.testing.assert_allclose(found, known, rtol=1e-14)


def test_in_every_transform():
    f = lambda x: fnp.sum(fnp.sin(x) * fnp.exp(-x))
    third = lambda x: fg.jet(f, (x,), ([np.ones(3), np.zeros(3), np.zeros(3)],))[1][2]
    expected = fg.jvp(
        lambda x: fg.jvp(lambda y: fg.jvp(f, (y,), (np.ones(3),))[1], (x,), (np.ones(3),))[1],
        (X,),
        (np.ones(3),),
    )[1]
    np.testing.assert_allclose(third(X), expected, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(third)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(third)(np.stack([X, X])), [expected] * 2, rtol=1e-12)
    gradient = fg.grad(third)(X)
    step = 1e-6 * np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(gradient[0], (third(X + step) - third(X - step)) / 2e-6, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.grad(third))(X), gradient, rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(fg.grad(third))(X[None]), gradient[None], rtol=1e-12)


def test_custom_rules_and_writes():
    @fg.custom_jvp
    def sine(x):
        return np.sin(x)

    sine.defjvp(lambda p, t: (sine(*p), np.cos(p[0]) * t[0]))

    @fg.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (square(x), x), lambda x, g: (2.0 * g * x,))

    def f(x):
        y = fnp.zeros(3)
        y[0] = sine(x[0])
        y[1:] = square(x[1:]) * x[0]
        return y

    def plain(x):
        return fnp.concatenate([fnp.sin(x[:1]), x[1:] * x[1:] * x[0]])

    found = fg.jet(f, (X,), (SERIES,))
    expected = fg.jet(plain, (X,), (SERIES,))
    for one, other in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_trees_and_constants():
    f = lambda p: {"s": p["a"] * p["b"], "n": 3, "c": np.ones(2)}
    out, series = fg.jet(f, ({"a": 2.0, "b": 3.0},), ([{"a": 1.0, "b": 0.0}],))
    assert (out["s"], out["n"]) == (6.0, 3)
    assert series["s"] == [3.0]
    np.testing.assert_array_equal(series["c"][0], np.zeros(2))


def test_the_work_is_no_power_of_the_order():
    def operations(order):
        series = [1.0] + [0.0] * (order - 1)
        f = lambda x: fg.jet(lambda v: fnp.tanh(v) / (1 + v), (x,), (series,))
        return len(fg.make_graph(f)(0.5).equations)

    few, more = operations(5), operations(10)
    assert more < 16 * few  # nested forward mode would take 32 times as many


@pytest.mark.parametrize(
    "primals, series, text",
    [
        ((1.0,), (), "1 primals and 0 series"),
        ((1.0, 2.0), ([1.0], [1.0, 2.0]), "all series need one length, not [1, 2]"),
        ((np.ones(2),), ([np.ones(3)],), "its primal has * and [(2,)]"),
    ],
)
def test_errors(primals, series, text):
    with pytest.raises(fg.errors.CotangentError) as caught:
        fg.jet(lambda *x: x[0], primals, series)
    assert text in str(caught.value)
