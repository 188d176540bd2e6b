"""Least-squares splines and sums of radial functions, fitted to traced points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads

ip = pytest.importorskip("scipy.interpolate")

draw = np.random.default_rng(8).uniform
T = np.linspace(0.0, 5.0, 12) + draw(0, 0.2, 12)
Y, PAIRS, W = draw(-1, 1, 12), draw(-1, 1, (12, 2)), draw(1, 2, 12)
KNOTS = np.array([-0.1, -0.1, -0.1, -0.1, 1.8, 3.3, 5.5, 5.5, 5.5, 5.5])
Q = draw(0.5, 4.5, 4)
PLACES, VALUES, AT = draw(-1, 1, (9, 2)), draw(-1, 1, 9), draw(-1, 1, (4, 2))

CALLS: dict[str, Any] = {
    "spline": (lambda t, y, q: ip.make_lsq_spline(t, y, KNOTS)(q), T, Y, Q),
    "weights": (lambda y, w: ip.make_lsq_spline(T, y, KNOTS, w=w)(Q), Y, W),
    "knots": (
        lambda t: ip.make_lsq_spline(T, Y, np.concatenate([KNOTS[:4], t, KNOTS[-4:]])).c,
        KNOTS[4:6],
    ),
    "pairs": (lambda y: ip.make_lsq_spline(T, y.T, KNOTS, axis=1)(Q), PAIRS),
    **{
        kernel: (lambda p, v, x, k=kernel: ip.RBFInterpolator(p, v, kernel=k, epsilon=0.9)(x),
                 PLACES, VALUES, AT)
        for kernel in ("linear", "thin_plate_spline", "cubic", "quintic", "multiquadric",
                       "inverse_multiquadric", "inverse_quadratic", "gaussian")
    },
    "smoothed": (lambda v, s: ip.RBFInterpolator(PLACES, v, smoothing=s)(AT), VALUES, 0.3),
    "width": (lambda e: ip.RBFInterpolator(PLACES, VALUES, kernel="gaussian", epsilon=e)(AT), 0.9),
    "columns": (lambda y: ip.RBFInterpolator(T[:, None], y, degree=2)(Q[:, None]), PAIRS),
    "neighbours": (
        lambda p, v, x: ip.RBFInterpolator(p, v, neighbors=5, smoothing=0.1)(x),
        *(PLACES, VALUES, AT),
    ),
    "neighbours, points alone": (ip.RBFInterpolator(PLACES, np.stack([VALUES] * 2, 1), 6), AT),
    "points alone": (ip.RBFInterpolator(PLACES, VALUES, degree=2), AT),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_are_scipys_and_derivatives_those_of_the_values(name: str) -> None:
    call, *args = CALLS[name]
    try:
        wanted = np.asarray(call(*args))
    except ValueError as error:  # SciPy 1.15 wants rows in C order
        pytest.skip(f"SciPy itself: {error}")
    np.testing.assert_array_equal(np.asarray(fg.vjp(call, *args)[0]), wanted)
    check_grads(call, tuple(args), order=1)
    np.testing.assert_allclose(fg.jit(call)(*args), wanted, rtol=1e-7, atol=1e-9)


def test_a_width_is_asked_for_where_the_function_has_one() -> None:
    with pytest.raises(ValueError, match="`epsilon` must be specified"):
        fg.vjp(lambda v: ip.RBFInterpolator(PLACES, v, kernel="gaussian")(AT), VALUES)
