"""What has written into an array of an outer transform is not run a second time."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import LaterTransformError
from funcgrad.transforms import deferred

X = np.array([1.0, 2.0, 3.0])


def long(c, a, steps=60):
    for _ in range(steps):
        c = np.sin(c * a) + 0.1
    return c


def program(compiled, first):
    """A compiled function whose gradient is long, and which writes before or after it."""

    def run(x):
        y = x * 1.0

        def inner(v):
            if first:
                y[0] += 1.0
            slope = fg.grad(lambda c: long(c, x[1]))(v)
            if not first:
                y[0] += 1.0
            return slope

        f = fg.jit(inner) if compiled else inner
        return f(x[2]) + f(x[0]), y

    return run


@pytest.mark.parametrize("first", [True, False])
def test_a_long_function_writes_once(first, monkeypatch):
    monkeypatch.setattr(deferred, "LONG", 100)
    for transform in (
        lambda f: fg.vjp(f, X)[0],
        lambda f: fg.jvp(f, (X,), (X,))[0],
        lambda f: [v[0] for v in fg.vmap(f)(X[None])],
        lambda f: fg.jit(f)(X),
    ):
        found, expected = transform(program(True, first)), transform(program(False, first))
        np.testing.assert_array_equal(found[1], [3.0, 2.0, 3.0])
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)


@pytest.mark.parametrize(
    "make", [lambda x: x * 1.0, lambda x: fnp.zeros(3)], ids=["traced", "made"]
)
def test_forward_mode_calls_no_function_twice_that_has_written(make):
    def f(x, at):
        y = make(x)

        def g(v):
            y[1] += 1.0
            return np.sqrt(v) * 0.0

        fg.jvp(g, (at,), (1.0,))
        return y + x

    np.testing.assert_array_equal(fg.jvp(lambda x: f(x, 4.0), (X,), (X,))[0], f(X, 4.0))
    with pytest.raises(LaterTransformError, match="a second time"):
        fg.jvp(lambda x: f(x, 0.0), (X,), (X,))


def test_forward_mode_may_write_into_what_is_its_own():
    def g(v):
        y = fnp.zeros(2)
        y[1] = v
        y += 1.0
        return np.sum(np.where(y > 5.0, np.sqrt(y - 1.0), 0.0))

    value, slope = fg.jvp(g, (0.0,), (1.0,))
    assert value == 0.0
    assert slope == 0.0
