"""`scipy.differentiate` on traced values: SciPy's bits, and the derivatives of its differences."""

import numpy as np
import pytest

import funcgrad as fg

sd = pytest.importorskip("scipy.differentiate")  # since SciPy 1.15

X = np.array([0.3, 0.7, 1.9])


def paired(y):
    return np.stack([np.sin(y[0]) * y[1], y[1] ** 2 * y[2]])


CALLS = {
    "derivative": (lambda x: sd.derivative(lambda t: np.sin(t) * t, x).df, 1e-7),
    "derivative with options": (
        lambda x: sd.derivative(np.exp, x, order=4, step_direction=1, maxiter=5).df,
        1e-5,
    ),
    "derivative of arguments": (
        lambda x: sd.derivative(lambda t, a: a * t**3, 1.5, args=(x,)).df,
        1e-7,
    ),
    "derivative of what is captured": (
        lambda x: sd.derivative(lambda t: np.sum(x**2) * t**2, X).df,
        1e-7,
    ),
    "jacobian": (lambda x: sd.jacobian(paired, x).df, 1e-7),
    "hessian": (lambda x: sd.hessian(lambda y: np.prod(y, axis=0) ** 2, x).ddf, 1e-3),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_scipys_and_both_modes_differentiate_the_differences(name):
    call, tolerance = CALLS[name]
    out, pull = fg.vjp(call, X)
    np.testing.assert_array_equal(out, call(X), strict=True)
    t, g = np.cos(np.arange(3.0)), np.sin(1 + np.arange(np.size(out))).reshape(np.shape(out))
    expected = np.sum(g * (call(X + 1e-4 * t) - call(X - 1e-4 * t))) / 2e-4
    (found,) = pull(g)
    moved = fg.jvp(call, (X,), (t,))[1]
    assert abs(np.sum(found * t) - expected) <= max(tolerance, 1e-5) * abs(expected)
    assert abs(np.sum(moved * g) - np.sum(found * t)) <= 1e-9 * abs(expected)
