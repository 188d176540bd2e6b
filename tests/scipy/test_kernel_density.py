"""`scipy.stats.gaussian_kde` of traced data, weights, bandwidths and points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads

st = pytest.importorskip("scipy.stats")

draw = np.random.default_rng(5).normal
ROW, TWO = draw(size=8), draw(size=(2, 9))
LINE, PLANE = np.linspace(-2, 2, 5), draw(size=(2, 4))
WEIGHTS = np.linspace(1.0, 2.0, 8)

CALLS = {
    "evaluate": (lambda x, p: st.gaussian_kde(x)(p), ROW, LINE),
    "plane": (lambda x, p: st.gaussian_kde(x).pdf(p), TWO, PLANE),
    "one point": (lambda x, p: st.gaussian_kde(x).evaluate(p), TWO, PLANE[:, 0]),
    "logpdf": (lambda x, p: st.gaussian_kde(x, "silverman").logpdf(p), TWO, PLANE),
    "weights": (lambda x, w, p: st.gaussian_kde(x, weights=w)(p), ROW, WEIGHTS, LINE),
    "bandwidth": (lambda x, h, p: st.gaussian_kde(x, h)(p), ROW, 0.4, LINE),
    "its own": (lambda h, p: st.gaussian_kde(ROW, h)(p), 0.4, LINE),
    "called": (lambda x, p: st.gaussian_kde(x, lambda k: k.n**-0.3)(p), ROW, LINE),
    "box": (lambda x, a: st.gaussian_kde(x).integrate_box_1d(a, 1.5), ROW, -0.3),
    "gaussian": (
        lambda x, m: st.gaussian_kde(x).integrate_gaussian(m, np.eye(2)),
        TWO,
        PLANE[:, 0],
    ),
    "two": (lambda x, y: st.gaussian_kde(x).integrate_kde(st.gaussian_kde(y)), ROW, LINE),
    "marginal": (lambda x, p: st.gaussian_kde(x).marginal(0)(p), TWO, LINE),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_scipys_and_derivatives_agree(name: str) -> None:
    call, *args = CALLS[name]
    wanted = call(*args)
    np.testing.assert_array_equal(fg.vjp(call, *args)[0], wanted)
    check_grads(call, tuple(args), order=2 if name in ("evaluate", "bandwidth") else 1)


@pytest.mark.parametrize("name", [n for n in CALLS if n != "marginal"])
def test_under_jit(name: str) -> None:
    call, *args = CALLS[name]
    np.testing.assert_allclose(fg.jit(call)(*args), call(*args), rtol=1e-12)
    wanted = fg.grad(lambda *xs: np.sum(call(*xs)))(*args)
    found = fg.jit(fg.grad(lambda *xs: np.sum(call(*xs))))(*args)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_points_of_an_estimate_made_before() -> None:
    made = st.gaussian_kde(ROW)
    slope = fg.grad(lambda p: made.logpdf(p)[0])(0.3)
    step = (made.logpdf(0.3 + 1e-6) - made.logpdf(0.3 - 1e-6)) / 2e-6
    assert slope == pytest.approx(step[0], rel=1e-7)
    assert np.asarray(made(LINE)).dtype == float  # it holds nothing traced afterwards


def test_far_points_have_the_slope_of_the_nearest_kernel() -> None:
    found: Any = fg.grad(lambda p: st.gaussian_kde(ROW, 0.1).logpdf(p)[0])(80.0)
    width = 0.1 * np.std(ROW, ddof=1)
    assert found == pytest.approx(-(80.0 - ROW.max()) / width**2, rel=1e-12)


def test_errors_are_scipys() -> None:
    with pytest.raises(ValueError, match="points have dimension 3"):
        fg.vjp(lambda x: st.gaussian_kde(x)(np.ones((3, 2))), TWO)
