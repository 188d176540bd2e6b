"""`round` of Python's numbers and of NumPy's: the oracle is each of them."""

import math

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

DRAWN = np.random.default_rng(0)
FLOATS = [
    2.675, 1.005, 0.285, 2.345, 25.000000000000004, 15.0, -2.5, 1e300, -1e22, 0.0, -0.0, 1e-9,
    math.inf, -math.inf, 123456789.125, 0.375,
    *np.round(10.0 * DRAWN.normal(size=40), 3).tolist(),
    *(DRAWN.integers(0, 4000, 40) / 8).tolist(),
]  # fmt: skip
INTEGERS = [17, 25, -15, -25, 35, 2**62 + 7, -7, 0, 99, 100, 150, 250, -150]


def under(transform, x, decimals):
    if transform == "jit":
        return fg.jit(lambda x, d: round(x, d), static_argnums=1)(x, decimals)
    return fg.value_and_grad(lambda x: round(x, decimals) * 1.0)(x)[0]


@pytest.mark.parametrize("transform", ["jit", "grad"])
@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 2, 3, 22])
def test_floats_as_python_rounds_them(transform, decimals):
    """Half of the last decimal, which no product with a power of ten tells."""
    for x in FLOATS:
        found, want = under(transform, x, decimals), round(x, decimals)
        assert type(found) is float and found == want, (x, found, want)
        assert math.copysign(1.0, found) == math.copysign(1.0, want)


@pytest.mark.parametrize("decimals", [-25, -3, -2, -1, 0, 1])
def test_integers_as_python_rounds_them(decimals):
    for n in INTEGERS:
        found = under("jit", n, decimals)
        assert type(found) is int and found == round(n, decimals)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8])
@pytest.mark.parametrize("decimals", [-3, -1, 0, 1])
def test_integers_as_numpy_rounds_them(dtype, decimals):
    info = np.iinfo(dtype)
    ns = np.array([n for n in INTEGERS if info.min <= n <= info.max], dtype)
    for x in (ns, ns[0], ns[:4].reshape(2, 2)):
        found = fg.jit(lambda x: np.round(x, decimals))(x)
        want = np.round(x, decimals)
        np.testing.assert_array_equal(found, want)
        assert found.dtype == want.dtype


def test_truth_values_as_numpy_rounds_them():
    x = np.array([True, False])
    found = fg.jit(fnp.round)(x)
    assert found.dtype == np.round(x).dtype
    np.testing.assert_array_equal(found, np.round(x))
    with pytest.raises(TypeError):
        fg.jit(lambda x: np.round(x, 1))(x)


def test_more_decimals_than_are_known_of_a_traced_number():
    with pytest.raises(ValueError, match="22 decimals"):
        fg.jit(lambda x: round(x, 23))(0.5)
