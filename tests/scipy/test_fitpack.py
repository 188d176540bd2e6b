"""FITPACK's interfaces, polynomials through points and rotations, called as SciPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads

ip = pytest.importorskip("scipy.interpolate")
nd = pytest.importorskip("scipy.ndimage")

draw = np.random.default_rng(9).uniform
T = np.arange(8.0) + draw(0.0, 0.3, 8)
X, Q = draw(0.5, 2, 8), draw(0.5, 6, 5)
IMAGE = draw(0.5, 2, (5, 6))
KNOTS = np.array([0.0, 0, 0, 0, 2, 3, 4, 5, 7, 7, 7, 7])

CALLS: dict[str, Any] = {
    "splev": (lambda c, q: ip.splev(q, (KNOTS, c, 3)), X, Q),
    "splrep": (lambda t, x, q: ip.splev(q, ip.splrep(t, x)), T, X, Q),
    "splrep, coefficients": (lambda x: ip.splrep(T, x, k=2)[1], X),
    "slope": (lambda x, q: ip.splev(q, ip.splrep(T, x), der=1), X, Q),
    "zero outside": (lambda x, q: ip.splev(2 * q, ip.splrep(T, x, k=2), ext=1), X, Q),
    "constant outside": (lambda x, q: ip.splev(2 * q, ip.splrep(T, x), ext=3), X, Q),
    "splint": (lambda a, x: ip.splint(a, 5.5, ip.splrep(T, x)), np.float64(1.2), X),
    "splder": (lambda x, q: ip.splev(q, ip.splder(ip.splrep(T, x))), X, Q),
    "splantider": (lambda x, q: ip.splev(q, ip.splantider(ip.splrep(T, x))), X, Q),
    "a class": (lambda t, x, q: ip.InterpolatedUnivariateSpline(t, x)(q), T, X, Q),
    "a class, slope": (lambda x, q: ip.InterpolatedUnivariateSpline(T, x, k=2)(q, 1), X, Q),
    "a class, integral": (lambda x: ip.InterpolatedUnivariateSpline(T, x).integral(1, 5.5), X),
    "a class, points alone": (ip.UnivariateSpline(T, X), Q),
    "krogh": (lambda x, q: ip.KroghInterpolator(T[:5], x)(q), X[:5], Q[:3]),
    "krogh, slope": (lambda x, q: ip.KroghInterpolator(T[:5], x).derivative(q), X[:5], Q[:3]),
    "krogh_interpolate": (lambda x: ip.krogh_interpolate(T[:4], x, 1.3), X[:4]),
    "rotate": (lambda x: nd.rotate(x, 30.0), IMAGE),
    "rotate, angle": (
        lambda x, a: nd.rotate(x, a, reshape=False, order=2, mode="nearest"),
        *(IMAGE, np.float64(27.0)),
    ),
    "rotate a stack": (lambda x: nd.rotate(x, 25.0, axes=(0, 2), order=1), draw(0, 1, (4, 2, 3))),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", CALLS)
def test_values_are_scipys_and_derivatives_those_of_the_values(name: str) -> None:
    call, *args = CALLS[name]
    wanted = np.asarray(call(*args))
    found = np.asarray(fg.vjp(call, *args)[0])
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    check_grads(call, tuple(args), order=2)
    np.testing.assert_allclose(fg.jit(call)(*args), wanted, rtol=1e-11, atol=1e-11)
    stacks = [np.stack([1.01 * a, a]) for a in args]
    np.testing.assert_allclose(fg.vmap(call)(*stacks)[1], wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["KroghInterpolator", "BarycentricInterpolator"])
def test_polynomials_through_points_that_move(kind: str) -> None:
    call = lambda t, x, q: getattr(ip, kind)(t, x)(q)
    check_grads(call, (T[:5], X[:5], Q[:3]), order=2)


def test_polynomials_have_derivatives_at_the_points_themselves() -> None:
    at, more = np.append(T[:5], 2.6), np.stack([X[:5], X[:5] ** 2], 1)
    # SciPy goes through the points in an order that it draws, which shows in the last bit
    call = lambda t, x, q: ip.BarycentricInterpolator(t, x, rng=0)(q)
    other = lambda t, x, q: ip.KroghInterpolator(t, x)(q)
    found = np.asarray(fg.vjp(call, T[:5], more, at)[0])
    np.testing.assert_array_equal(found, call(T[:5], more, at))
    for k in range(3):
        jacobians = [fg.jacrev(f, k)(T[:5], more, at) for f in (call, other)]
        np.testing.assert_allclose(*jacobians, rtol=1e-9, atol=1e-9)
    slopes = fg.grad(lambda q: np.sum(ip.BarycentricInterpolator(T[:5], X[:5]).derivative(q)))
    np.testing.assert_allclose(slopes(at), ip.KroghInterpolator(T[:5], X[:5]).derivative(at, 2))
    check_grads(lambda q: call(T[:5], X[:5], q), (at,), order=2)
    points = np.cos(np.pi * np.arange(60) / 59)  # of a polynomial that does not overflow
    curve = lambda q: np.sum(ip.BarycentricInterpolator(points, np.sin(3 * points))(q))
    np.testing.assert_allclose(fg.grad(curve)(points), 3 * np.cos(3 * points), atol=1e-11)


def test_the_shape_of_a_rotation_needs_its_angle() -> None:
    with pytest.raises(fg.errors.AbstractValueError, match=r"the shape of rotate\(\)"):
        fg.jit(lambda a: nd.rotate(IMAGE, a))(30.0)
