"""`reduce`, `accumulate` and `reduceat` of any ufunc of two operands."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.random.default_rng(0).uniform(0.3, 2.0, 7)


def test_a_reduction_by_power_is_the_loop() -> None:
    # NumPy's own vector loop does not wait for the last result
    value, gradient = fg.value_and_grad(np.power.reduce)(X[:3])
    assert value == functools.reduce(np.power, X[:3])
    a, b, c = X[:3]
    whole = a ** (b * c)
    np.testing.assert_allclose(
        gradient,
        [whole * b * c / a, whole * np.log(a) * c, whole * np.log(a) * b],
        rtol=1e-13,
    )


def test_logaddexp_of_infinities_has_a_finite_gradient() -> None:
    x = np.array([-np.inf, 0.0, -np.inf, 1.0])
    found = fg.grad(np.logaddexp.reduce)(x)
    np.testing.assert_allclose(found, np.exp(x) / np.exp(x).sum(), rtol=1e-14)
    far = fg.grad(np.logaddexp.reduce)(np.array([1e4, -1e4, 1e4]))
    np.testing.assert_allclose(far, [0.5, 0.0, 0.5])


def test_running_extrema_hand_on_to_the_element_that_is_shown() -> None:
    jacobian = fg.jacobian(np.maximum.accumulate)(np.array([1.0, 3.0, 2.0]))
    np.testing.assert_array_equal(jacobian, [[1, 0, 0], [0, 1, 0], [0, 1, 0]])


def test_runs_that_overlap_or_go_back_add_up() -> None:
    starts = [0, 4, 2, 2, 6]
    jacobian = fg.jacobian(lambda x: fnp.add.reduceat(x, starts))(X)
    wanted = np.stack([np.add.reduceat(row, starts) for row in np.eye(7)], 1)
    np.testing.assert_array_equal(jacobian, wanted)
    np.testing.assert_array_equal(
        fg.jit(lambda x: np.add.reduceat(x, starts))(X), np.add.reduceat(X, starts)
    )


def test_what_numpy_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="not reorderable"):
        fg.grad(lambda x: np.subtract.reduce(np.outer(x, x), axis=(0, 1)))(X)
    with pytest.raises(ValueError, match="does not have an identity"):
        fg.grad(lambda x: np.subtract.reduce(x[:0]))(X)
    with pytest.raises(IndexError, match="out-of-bounds"):
        fg.grad(lambda x: np.add.reduceat(x, [7]).sum())(X)
