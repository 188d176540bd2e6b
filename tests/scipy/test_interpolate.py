"""`scipy.interpolate` on traced values: SciPy's bits, all arguments, its classes, and errors.

`test_rules` has both modes, second order and batching of each record.
"""

import numpy as np
import pytest
import scipy.interpolate as sp

import funcgrad as fg
import funcgrad.scipy.interpolate as ours
from funcgrad.testing import check_grads

RNG = np.random.default_rng(13)
X = np.array([0.0, 0.4, 1.3, 2.0, 2.6, 3.1])
Y = RNG.normal(size=(6, 2))
Q = np.array([[0.1, 0.9], [2.2, 3.0]])
WAVE = np.concatenate([Y[:-1], Y[:1]])
RISING = np.cumsum(RNG.uniform(0.1, 1.0, 6))

MAKE = {
    "CubicSpline": [
        (Y, {}),
        (Y[:, 0], {}),
        (Y.T, {"axis": 1}),
        (Y + 1j, {"bc_type": "natural"}),
        (Y, {"bc_type": "clamped", "extrapolate": False}),
        (Y, {"bc_type": ((1, np.ones(2)), "not-a-knot")}),
        (WAVE, {"bc_type": "periodic"}),
    ],
    "PchipInterpolator": [(Y, {}), (RISING, {}), (Y.T, {"axis": 1, "extrapolate": False})],
    "Akima1DInterpolator": [(Y, {}), (Y.T, {"axis": 1, "method": "makima"})],
    "make_interp_spline": [
        *((Y, {"k": k}) for k in (0, 1, 2, 3, 5)),
        (Y.T, {"axis": 1, "bc_type": "natural"}),
        (Y, {"bc_type": ([(1, np.ones(2))], [(2, np.zeros(2))])}),
        *((WAVE, {"k": k, "bc_type": "periodic"}) for k in (2, 3)),
    ],
    "interp1d": [
        *((Y, {"axis": 0, "kind": k}) for k in ("linear", "nearest", "nearest-up", "previous")),
        *((Y.T, {"kind": k}) for k in ("next", "zero", "slinear", "quadratic", "cubic")),
        (Y[:, 0], {"fill_value": (1.0, 2.0), "bounds_error": False}),
        (Y[:, 0], {"fill_value": "extrapolate"}),
    ],
}
CASES = [(name, y, keywords) for name, given in MAKE.items() for y, keywords in given]


def same(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("name", "y", "keywords"), CASES)
def test_values_are_scipys(name, y, keywords):
    theirs, mine = getattr(sp, name), getattr(ours, name)
    wanted = theirs(X, y, **keywords)(Q)
    f = lambda x, y, q: mine(x, y, **keywords)(q)
    same(f(X, y, Q), wanted)
    same(fg.vjp(f, X, y, Q)[0], wanted)
    np.testing.assert_allclose(fg.jit(f)(X, y, Q), wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("name", "y", "keywords"), CASES)
def test_derivatives_in_points_values_and_queries(name, y, keywords):
    mine = getattr(ours, name)
    q = Q[0]
    if keywords.get("bc_type") == "periodic":  # the ends of the values move together
        wave = lambda y: fg.numpy.concatenate([y[:-1], y[:1]])
        check_grads(lambda x, y, q: mine(x, wave(y), **keywords)(q), (X, y, q), order=1)
    else:
        check_grads(lambda x, y, q: mine(x, y, **keywords)(q), (X, y, q), order=1)


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "make_interp_spline"])
def test_derivatives_and_integrals_of_the_interpolant(name):
    theirs, mine = getattr(sp, name)(X, Y), getattr(ours, name)(X, Y)
    for nu in (1, 2, 3, 4):
        same(mine(Q, nu), theirs(Q, nu))
    for nu in (1, 2):
        np.testing.assert_allclose(mine.derivative(nu)(Q), theirs.derivative(nu)(Q), atol=1e-11)
        np.testing.assert_allclose(
            mine.antiderivative(nu)(Q), theirs.antiderivative(nu)(Q), atol=1e-12
        )
    np.testing.assert_allclose(mine.integrate(0.3, 2.5), theirs.integrate(0.3, 2.5), atol=1e-12)
    np.testing.assert_allclose(fg.jacfwd(mine)(1.1), theirs(1.1, 1), atol=1e-12)
    np.testing.assert_allclose(fg.jacrev(fg.jacfwd(mine))(1.1), theirs(1.1, 2), atol=1e-11)
    check_grads(lambda y, b: getattr(ours, name)(X, y).integrate(0.3, b), (Y, 2.5), order=1)
    check_grads(lambda y: getattr(ours, name)(X, y).derivative()(Q), (Y,), order=1)


def test_the_integral_over_periods():
    mine = ours.CubicSpline(X, WAVE, bc_type="periodic")
    theirs = sp.CubicSpline(X, WAVE, bc_type="periodic")
    for a, b in ((0.3, 9.4), (-2.0, 0.1), (5.0, 1.0)):
        np.testing.assert_allclose(mine.integrate(a, b), theirs.integrate(a, b), atol=1e-12)
    np.testing.assert_allclose(fg.jacfwd(lambda b: mine.integrate(0.3, b))(9.4), mine(9.4))


def test_given_pieces_and_knots():
    c = RNG.normal(size=(3, 2, 5))
    same(ours.PPoly(c, X, axis=1)(Q), sp.PPoly(c, X, axis=1)(Q))
    t = np.array([0.0, 0, 0, 0.7, 1.1, 2, 2, 2])
    c = RNG.normal(size=(2, 5))
    q = np.array([-0.3, 0.0, 0.7, 1.5, 2.0, 2.2, np.nan])
    for extrapolate in (True, False, "periodic"):
        given = {"extrapolate": extrapolate, "axis": 1}
        mine, theirs = ours.BSpline(t, c, 2, **given), sp.BSpline(t, c, 2, **given)
        same(mine(q), theirs(q))
        np.testing.assert_allclose(mine.integrate(0.1, 1.9), theirs.integrate(0.1, 1.9))
    check_grads(lambda t, c, q: ours.BSpline(t, c, 2, axis=1)(q), (np.arange(8.0), c, q[3:6]))


def test_hermite():
    slopes = RNG.normal(size=Y.shape)
    same(ours.CubicHermiteSpline(X, Y, slopes)(Q), sp.CubicHermiteSpline(X, Y, slopes)(Q))
    check_grads(lambda *a: ours.CubicHermiteSpline(*a[:3])(a[3]), (X, Y, slopes, Q), order=1)
    same(ours.pchip_interpolate(X, Y, Q, [0, 1])[1], sp.pchip_interpolate(X, Y, Q, [0, 1])[1])


def test_slopes_that_pchip_makes_zero_have_no_derivative():
    x, y = np.arange(3.0), np.array([0.0, 1.0, 0.0])
    slope = fg.grad(lambda y: ours.PchipInterpolator(x, y)(1.0, 1))(y)
    np.testing.assert_array_equal(slope, np.zeros(3))


def test_under_vmap():
    stacked, points = RNG.normal(size=(3, 6)), RNG.uniform(0, 3, 5)
    for make in (ours.CubicSpline, ours.PchipInterpolator, ours.make_interp_spline, ours.interp1d):
        found = fg.vmap(lambda y, make=make: make(X, y)(points))(stacked)
        np.testing.assert_allclose(found, [make(X, y)(points) for y in stacked], atol=1e-12)
        one = make(X, stacked[0])
        np.testing.assert_array_equal(fg.vmap(one)(points), one(points))
        slopes = fg.vmap(fg.grad(one))(points)
        np.testing.assert_allclose(slopes, [fg.grad(one)(p) for p in points], atol=1e-12)


# ------------------------------------------------------------------------------- regular grids

GRID = (np.array([0.0, 0.4, 1.3, 2.0, 2.1, 2.9]), np.array([0.0, 0.7, 1.0, 1.8, 2.5, 3.0]))
VALUES = RNG.normal(size=(6, 6))
POINTS = np.array([[0.3, 0.2], [1.7, 1.3], [1.0, 2.4]])


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic", "quintic", "pchip"])
def test_a_regular_grid(method):
    def f(v, q, *grid):
        return ours.RegularGridInterpolator(grid, v, method)(q)

    wanted = sp.RegularGridInterpolator(GRID, VALUES, method)(POINTS)
    same(f(VALUES, POINTS, *GRID), wanted)
    same(fg.vjp(f, VALUES, POINTS, *GRID)[0], wanted)
    rough = method in ("cubic", "quintic")  # SciPy solves for the coefficients by an iteration
    exact = fg.jit(f)
    np.testing.assert_allclose(
        exact(VALUES, POINTS, *GRID), wanted, **({"rtol": 1e-4} if rough else {"atol": 1e-12})
    )
    check_grads(exact if rough else f, (VALUES, POINTS, *GRID), order=1)
    for i in (0, 1):
        np.testing.assert_allclose(
            fg.jacobian(f, i)(VALUES, POINTS, *GRID),
            fg.jacobian(exact, i)(VALUES, POINTS, *GRID),
            rtol=1e-9,
            atol=1e-11,
        )


def test_grids_with_more_to_them():
    values = RNG.normal(size=(6, 6, 2))
    down = (GRID[0][::-1].copy(), GRID[1])
    far = np.array([[0.3, 0.2], [-1.0, 0.5], [np.nan, 0.1]])
    for grid, keywords in (
        (GRID, {"bounds_error": False}),
        (GRID, {"bounds_error": False, "fill_value": None}),
        (down, {"bounds_error": False, "fill_value": 7.0}),
    ):
        want = sp.RegularGridInterpolator(grid, values, **keywords)(far)
        f = lambda v, g=grid, k=keywords: ours.RegularGridInterpolator(g, v, **k)(far)
        same(fg.vjp(f, values)[0], want)
    same(
        ours.interpn(GRID, VALUES, (0.3, np.array([0.2, 1.0]))),
        sp.interpn(GRID, VALUES, (0.3, np.array([0.2, 1.0]))),
    )
    line = ours.RegularGridInterpolator((X,), Y[:, 0])
    same(
        line(np.array([0.3, 1.0])), sp.RegularGridInterpolator((X,), Y[:, 0])(np.array([0.3, 1.0]))
    )
    cube = RNG.normal(size=(3, 4, 3))
    axes = [np.arange(float(n)) for n in cube.shape]
    at = np.array([[0.3, 1.2, 1.9]])
    same(ours.interpn(axes, cube, at), sp.interpn(axes, cube, at))
    check_grads(lambda v, q: ours.interpn(axes, v, q), (cube, at), order=2)


# -------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [
        ("CubicSpline", (X[:3], Y), {}),
        ("CubicSpline", (X[::-1].copy(), Y), {}),
        ("CubicSpline", (X, Y), {"bc_type": "flat"}),
        ("CubicSpline", (X, Y), {"bc_type": "periodic"}),
        ("CubicSpline", (X, Y), {"bc_type": ((3, np.ones(2)), "natural")}),
        ("CubicSpline", (X, Y), {"bc_type": ((1, 0.0), "natural")}),
        ("CubicSpline", (X[:1], Y[:1]), {}),
        ("PchipInterpolator", (X, Y * 1j), {}),
        ("Akima1DInterpolator", (X, Y), {"method": "other"}),
        ("CubicHermiteSpline", (X, Y, Y[:2]), {}),
        ("PPoly", (np.ones((2, 3)), X), {}),
        ("PPoly", (np.ones(3), X), {}),
        ("BSpline", (X, Y, 4), {}),
        ("BSpline", (X[::-1].copy(), Y, 1), {}),
        ("make_interp_spline", (X[:4], Y), {}),
        ("make_interp_spline", (X[[0, 0, 1]], Y[:3]), {}),
        ("make_interp_spline", (X, Y), {"bc_type": "odd"}),
        ("make_interp_spline", (X, Y), {"t": X}),
        ("interp1d", (X[:3], Y), {}),
        ("interp1d", (X, Y.T), {"kind": "smooth"}),
        ("RegularGridInterpolator", (GRID, VALUES[:3]), {}),
        ("RegularGridInterpolator", (GRID, VALUES), {"method": "other"}),
        ("RegularGridInterpolator", ((X[[0, 2, 1]], X[:2]), VALUES[:3, :2]), {}),
    ],
)
def test_errors_are_scipys(name, args, keywords):
    with pytest.raises(Exception) as theirs:
        getattr(sp, name)(*args, **keywords)
    with pytest.raises(type(theirs.value)):
        fg.vjp(lambda y: getattr(ours, name)(args[0], y, *args[2:], **keywords), args[1])


def test_points_outside():
    with pytest.raises(ValueError, match="below the interpolation range"):
        ours.interp1d(X, Y[:, 0])(-1.0)
    with pytest.raises(ValueError, match="out of bounds in dimension 1"):
        ours.RegularGridInterpolator(GRID, VALUES)([[0.1, 9.0]])


# ------------------------------------------------------------------------- SciPy's own classes


@pytest.mark.parametrize(("name", "y", "keywords"), CASES)
def test_scipys_own_classes_take_traced_values_and_points(name, y, keywords):
    make = getattr(sp, name)
    wanted = make(X, y, **keywords)(Q)
    whole = lambda x, y, q: make(x, y, **keywords)(q)
    same(fg.vjp(whole, X, y, Q)[0], wanted)
    made = make(X, y, **keywords)
    same(fg.vjp(made, Q)[0], wanted)
    np.testing.assert_array_equal(
        fg.vjp(made, Q)[1](np.ones_like(wanted))[0],
        fg.vjp(getattr(ours, name)(X, y, **keywords), Q)[1](np.ones_like(wanted))[0],
    )


def test_what_scipys_own_splines_can():
    for make in (sp.CubicSpline, sp.make_interp_spline):
        spline = lambda y, make=make: make(X, y)
        np.testing.assert_allclose(
            fg.vjp(lambda y, f=spline: f(y).derivative()(Q), Y)[0], spline(Y).derivative()(Q)
        )
        area = lambda y, b, f=spline: f(y).integrate(0.2, b)
        np.testing.assert_allclose(fg.vjp(area, Y, 2.0)[0], spline(Y).integrate(0.2, 2.0))
        np.testing.assert_allclose(fg.jacfwd(lambda b: area(Y, b))(2.0), spline(Y)(2.0))
        same(fg.vjp(lambda y, f=spline: f(y).c, Y)[0], spline(Y).c)
    grid = lambda v: sp.RegularGridInterpolator(GRID, v)(POINTS)
    same(fg.vjp(grid, VALUES)[0], grid(VALUES))
    same(fg.vjp(lambda v: sp.interpn(GRID, v, POINTS), VALUES)[0], grid(VALUES))
    same(fg.vjp(sp.KroghInterpolator(X, Y), Q)[0], sp.KroghInterpolator(X, Y)(Q))
    with pytest.raises(fg.errors.UnsupportedCallError, match="BPoly is not supported"):
        fg.vjp(lambda c: sp.BPoly(c, [0.0, 1.0, 2.0]), np.ones((2, 2)))
