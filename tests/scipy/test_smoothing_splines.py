"""FITPACK's smoothing splines on traced points, against the constrained problem solved anew."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import funcgrad as fg
from funcgrad.errors import AbstractValueError, UnsupportedCallError

ip = pytest.importorskip("scipy.interpolate")

draw = np.random.default_rng(12).uniform
T = np.arange(12.0) + draw(0, 0.3, 12)
Y, W, Q = np.sin(T) + draw(-0.3, 0.3, 12), np.linspace(1.0, 1.6, 12), np.linspace(0.5, 10.5, 7)
INNER = np.array([3.3, 6.1])

CALLS: dict[str, Any] = {
    "splrep": (lambda t, y: ip.splev(Q, ip.splrep(t, y, s=0.3)), T, Y),
    "weights": (lambda y, w: ip.splev(Q, ip.splrep(T, y, w, s=0.4)), Y, W),
    "weights alone": (lambda w: ip.splev(Q, ip.splrep(T, Y, w)), 4 * W),
    "factor": (lambda s: ip.splev(Q, ip.splrep(T, Y, s=s)), np.float64(0.3)),
    "ends": (lambda y: ip.splev(Q, ip.splrep(T, y, s=0.3, xb=-1, xe=13)), Y),
    "even degree": (lambda t, y: ip.splev(Q, ip.splrep(t, y, k=2, s=0.3), der=1), T, Y),
    "a polynomial": (lambda t, y: ip.splev(Q, ip.splrep(t, y, s=100.0)), T, Y),
    "knots": (lambda t, y: ip.splev(Q, ip.splrep(T, y, t=t)), INNER, Y),
    "full output": (lambda y: ip.splrep(T, y, s=0.3, full_output=1)[0][1], Y),
    "class": (lambda t, y: ip.UnivariateSpline(t, y)(Q), T, 3 * Y),
    "class, slope": (lambda t, y: ip.UnivariateSpline(t, y, s=0.4).derivative()(Q), T, Y),
    "class, integral": (lambda y: ip.UnivariateSpline(T, y, s=0.4).integral(1, 5), Y),
    "class, knots": (lambda t: ip.UnivariateSpline(t, Y, s=0.4).get_knots(), T),
    "class, weights": (lambda y, w: ip.UnivariateSpline(T, y, w, s=0.4, k=4)(Q), Y, W),
    "through": (lambda t, y: ip.InterpolatedUnivariateSpline(t, y, W)(Q), T, Y),
    "nearest": (lambda t, y, k: ip.LSQUnivariateSpline(t, y, k)(Q), T, Y, INNER),
    "residual": (lambda y: ip.LSQUnivariateSpline(T, y, INNER).get_residual(), Y),
}
if hasattr(ip, "make_splrep"):
    CALLS["make_splrep"] = (lambda t, y: ip.make_splrep(t, y, s=0.3)(Q), T, Y)
EXACT = {"a polynomial", "knots", "class, knots", "through", "nearest", "residual"}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_fitpacks_and_both_modes_agree(name: str) -> None:
    call, *args = CALLS[name]
    wanted = np.asarray(call(*args))
    found, pull = fg.vjp(call, *args)
    np.testing.assert_array_equal(found, wanted)
    assert np.asarray(found).dtype == wanted.dtype
    turn = [np.cos(np.arange(float(a.size)) + k).reshape(a.shape) for k, a in enumerate(args)]
    seed = np.sin(1.0 + np.arange(float(wanted.size))).reshape(wanted.shape)
    forward = np.sum(seed * fg.jvp(call, tuple(args), tuple(turn))[1])
    backward = sum(np.sum(c * t) for c, t in zip(pull(seed), turn, strict=True))
    np.testing.assert_allclose(forward, backward, rtol=1e-10)
    step = 1e-6
    above, below = (
        call(*(a + h * t for a, t in zip(args, turn, strict=True))) for h in (step, -step)
    )
    # the search for the multiplier ends within a thousandth of the residual
    near = 1e-6 if name in EXACT else 0.02
    expected = np.sum(seed * (np.asarray(above) - below)) / (2 * step)
    assert abs(forward - expected) <= near * abs(expected)


def exact(x: Any, y: Any, w: Any, s: float, t: Any, k: int) -> Any:
    """The coefficients for given knots, by another way: the multiplier is a root."""
    rows = w[:, None] * ip.BSpline.design_matrix(x, t, k).toarray()
    last = ip.BSpline(t, np.eye(len(t) - k - 1), k).derivative(k)
    jumps = np.diff(last((t[k : -k - 1] + t[k + 1 : -k]) / 2), axis=0)

    def solution(penalty: float) -> Any:
        stacked = np.concatenate([rows, np.sqrt(penalty) * jumps])
        right = np.concatenate([w * y, np.zeros(len(jumps))])
        return np.linalg.lstsq(stacked, right, rcond=None)[0]

    def excess(log: float) -> float:
        return float(np.sum((rows @ solution(np.exp(log)) - w * y) ** 2) - s)

    return solution(np.exp(brentq(excess, -25, 15, xtol=1e-13)))


@pytest.mark.parametrize("k", [3, 4])
def test_derivatives_are_those_of_the_constrained_problem(k: int) -> None:
    t, c, _ = ip.splrep(T, Y, W, k=k, s=0.4)
    s = float(np.sum((W * (Y - ip.splev(T, (t, c, k)))) ** 2))  # which FITPACK has found
    inner = slice(0, len(t) - k - 1)
    np.testing.assert_allclose(exact(T, Y, W, s, t, k), c[inner], rtol=1e-7, atol=1e-8)
    assert len(t) > 2 * k + 2
    which = [int(np.argmin(abs(T - v))) for v in t]

    def moved(x: Any) -> Any:
        return exact(x, Y, W, s, x[which], k)

    programs = {
        "y": (lambda y: exact(T, y, W, s, t, k), Y),
        "w": (lambda w: exact(T, Y, w, s, t, k), W),
        "x": (moved, T),
    }
    ours = {
        "y": lambda y: ip.splrep(T, y, W, k=k, s=0.4)[1],
        "w": lambda w: ip.splrep(T, Y, w, k=k, s=0.4)[1],
        "x": lambda x: ip.splrep(x, Y, W, k=k, s=0.4)[1],
    }
    for name, (program, at) in programs.items():
        turn = np.cos(np.arange(12.0))
        first, second = (
            fg.jvp(ours[name], (at,), (turn,))[1],
            fg.jvp(lambda z, f=ours[name]: fg.jvp(f, (z,), (turn,))[1], (at,), (turn,))[1],
        )
        h = 1e-3
        points = [program(at + j * h * turn) for j in (-2, -1, 0, 1, 2)]
        slope = (points[0] - 8 * points[1] + 8 * points[3] - points[4]) / (12 * h)
        bend = (-points[0] + 16 * points[1] - 30 * points[2] + 16 * points[3] - points[4]) / (
            12 * h * h
        )
        np.testing.assert_allclose(first[inner], slope, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(second[inner], bend, rtol=1e-3, atol=1e-2)


def test_knots_that_are_chosen_by_values_have_to_be_known() -> None:
    for run in (fg.jit, lambda f: lambda y: fg.vmap(f)(y[None])):
        with pytest.raises(AbstractValueError, match="the choice of knots depends on the values"):
            run(lambda y: ip.splrep(T, y, s=0.5)[1])(Y)


@pytest.mark.parametrize(
    "call",
    [
        lambda y: ip.splrep(T, y, s=0.5, per=1),
        lambda y: ip.UnivariateSpline(T, y, s=0.5).set_smoothing_factor(0.2),
    ],
)
def test_what_is_not_supported_says_so(call: Any) -> None:
    with pytest.raises(UnsupportedCallError, match="is not supported on traced values"):
        fg.grad(lambda y: (call(y), np.sum(y))[1])(Y)


def test_fitpacks_warnings_are_told_once() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fg.vjp(lambda y: ip.splrep(T, y, s=1e-9)[1], Y)
    assert len(told) <= 1
