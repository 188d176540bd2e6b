"""Quantiles of the normal distribution in native code: those of NumPy's steps, at every corner."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.normal import erfinv, ndtri

NEAR_ONE = 1.0 - 10.0 ** -np.arange(1.0, 17.0)
CORNERS = np.array([0.0, -0.0, 1.0, -1.0, 1.5, -2.0, 0.85, -0.85, np.nan, np.inf, -np.inf])
TAILS = 10.0 ** -np.arange(1.0, 300.0)
POINTS = {
    "erfinv": (erfinv, np.concatenate([np.linspace(-1, 1, 2001), NEAR_ONE, -NEAR_ONE, CORNERS])),
    "ndtri": (ndtri, np.concatenate([np.linspace(0, 1, 2001), TAILS, CORNERS])),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", POINTS)
def test_native_quantiles(name, dtype):
    function, x = POINTS[name]
    x = x.astype(dtype)
    compiled = fg.jit(function)
    found, expected = compiled(x), function(x)
    assert "NumPy" not in str(compiled.explain(x))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[there]), np.signbit(expected[there]))


@pytest.mark.parametrize("name", POINTS)
def test_their_derivatives(name):
    function, x = POINTS[name]
    x = x[5:2000:100]
    slope = fg.grad(lambda x: np.sum(function(x)))
    np.testing.assert_allclose(fg.jit(slope)(x), slope(x), rtol=1e-13)
    np.testing.assert_allclose(fg.vmap(fg.jit(fg.grad(function)))(x), slope(x), rtol=1e-13)


def test_compiled_draws_call_numpy_for_bits_alone():
    draw = fg.jit(lambda k: fg.random.normal(k, (5,)))
    key = fg.random.key(0)
    lines = [line for line in str(draw.explain(key)).splitlines() if "NumPy" in line]
    assert not any("erfinv" in line for line in lines)
    np.testing.assert_allclose(draw(key), fg.random.normal(key, (5,)), rtol=1e-14)
