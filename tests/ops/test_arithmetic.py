"""Arithmetic where the rule has to choose: equal operands, NaN, powers of zero."""

import numpy as np
import pytest

import funcgrad as fg

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
