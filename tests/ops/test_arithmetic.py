"""Arithmetic where the rule has to choose: equal operands, NaN, powers of zero."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.arithmetic.power import power, ufunc_power
from funcgrad.transforms.recorders import quick_pull

both = [0, 1]


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_equal_operands_share_the_derivative(f):
    assert fg.grad(f, both)(2.0, 2.0) == (0.5, 0.5)


@pytest.mark.parametrize("f", [np.maximum, np.minimum])
def test_an_extremum_follows_the_nan_that_it_returns(f):
    assert fg.grad(f, both)(np.nan, 2.0) == (1.0, 0.0)
    assert fg.grad(f, both)(2.0, np.nan) == (0.0, 1.0)
    assert fg.grad(f, both)(np.nan, np.nan) == (0.5, 0.5)


@pytest.mark.parametrize("f", [np.fmax, np.fmin])
def test_fmax_and_fmin_pass_over_a_nan(f):
    assert fg.grad(f, both)(np.nan, 2.0) == (0.0, 1.0)
    assert fg.grad(f, both)(2.0, np.nan) == (1.0, 0.0)


@pytest.mark.parametrize("p", [0, 0.0, np.float64(0.0), np.array(0.0)])
def test_the_zeroth_power_is_constant_also_at_zero(p):
    np.testing.assert_array_equal(fg.grad(lambda x: (x**p).sum())(np.array([0.0, 2.0])), [0, 0])


def test_the_derivative_of_a_power_of_zero_by_its_exponent_is_zero():
    assert fg.grad(lambda p: np.power(0.0, p))(2.0) == 0.0


@pytest.mark.parametrize(
    ("x", "lo", "hi", "want"),
    [
        (0.5, 0.0, 1.0, (1.0, 0.0, 0.0)),
        (-1.0, 0.0, 1.0, (0.0, 1.0, 0.0)),
        (2.0, 0.0, 1.0, (0.0, 0.0, 1.0)),
        (0.0, 0.0, 1.0, (0.5, 0.5, 0.0)),
        (1.0, 0.0, 1.0, (0.5, 0.0, 0.5)),
        (-1.0, 0.0, 0.0, (0.0, 0.5, 0.5)),  # equal bounds share what is below them
        (2.0, 0.0, 0.0, (0.0, 0.0, 1.0)),
        (1.0, 2.0, 1.0, (0.0, 0.0, 1.0)),  # crossed bounds: NumPy returns the upper one
        (np.nan, 0.0, 1.0, (1.0, 0.0, 0.0)),
    ],
)
def test_clip_is_the_minimum_of_a_maximum(x, lo, hi, want):
    three = [0, 1, 2]
    composed = lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi)
    assert fg.grad(np.clip, three)(x, lo, hi) == want == fg.grad(composed, three)(x, lo, hi)


@pytest.mark.parametrize("two", [2, 2.0, np.float64(2.0), np.array(2.0), np.int64(2)])
@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "c8", "c16", "i4", ">f8"])
@pytest.mark.parametrize("shape", [(), (1,), (7, 3), (0,)])
def test_a_square_has_the_bits_of_numpys_power(two, kind, shape):
    random = np.random.default_rng(0)
    x = (random.normal(size=shape) * 3).astype(kind)
    if kind.startswith("c"):
        x = (x + 1j * random.normal(size=shape)).astype(kind)
    want = x**two
    for given in (x, x[()]):
        seen = []
        mapped = fg.vmap(lambda v: v**two)(np.stack([given]))
        fg.vjp(lambda v, seen=seen: seen.append(fg.value(v**two)) or v, given)
        np.testing.assert_array_equal(seen[0], want)
        assert seen[0].dtype == want.dtype
        compiled = fg.jit(lambda v: v**two)(given)
        for others in (mapped[0], compiled):  # NumPy itself rounds by the place in the array
            np.testing.assert_array_almost_equal_nulp(np.abs(others), np.abs(want), 4)


def test_the_square_of_an_array_has_every_derivative_at_zero():
    x = np.array([0.0, -0.0, 3.0])
    np.testing.assert_array_equal(fg.grad(lambda v: np.sum(v**2))(x), 2 * x)
    np.testing.assert_array_equal(fg.hessian(lambda v: np.sum(v**2))(x), 2 * np.eye(3))
    third = fg.jacfwd(fg.hessian(lambda v: np.sum(v**2)))(x)
    np.testing.assert_array_equal(third, np.zeros((3, 3, 3)))


def test_the_square_of_a_view_is_a_square():
    def f(x):
        y = np.stack([x, x])  # a new array
        y **= 2
        return x[1:] ** 2, x.reshape(2, 2) ** 2.0, y**2

    names = [e.prim.name for e in fg.make_graph(f)(np.arange(4.0)).equations]
    assert names.count("square") == 4 and "power" not in names
    x = np.array([0.1, 0.7, 1.3])
    value, slope = fg.value_and_grad(lambda x: np.sum(x[1:] ** 2))(x)
    assert value == np.sum(x[1:] ** 2)
    np.testing.assert_array_equal(slope, [0.0, 1.4, 2.6])


@pytest.mark.parametrize("op", [power, ufunc_power])
def test_the_slope_of_a_power_by_a_number_chooses_nothing(op):
    text, _ = quick_pull(op.primitive, 1)
    assert "where" not in text and text.count("g * ") == 1
    for p in (0, 1, 2, 3, 2.5, -1, 0.5):
        for dtype in (np.float64, np.float32):
            x = np.array([0.5, 1.5, 3.0], dtype)
            want = p * x ** (p - 1) if p else 0 * x
            slope = fg.grad(lambda x, p=p: np.sum(op(x, p)))(x)
            np.testing.assert_array_almost_equal_nulp(slope, want.astype(dtype), 2)
            assert slope.dtype == dtype
