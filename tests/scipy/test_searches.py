"""SciPy's searches on traced values: its values to the bit, and the derivatives of what they find.

Differences of a search are as good as its tolerance, so calls ask for small ones.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import (
    AbstractValueError,
    NotDifferentiableError,
    UnsupportedCallError,
)

so = pytest.importorskip("scipy.optimize")

from funcgrad.scipy.optimize import __all__ as OURS  # noqa: E402
from funcgrad.scipy.reasons import REASONS  # noqa: E402
from funcgrad.scipy.watched import watched  # noqa: E402

draw = np.random.default_rng(3).normal
T, MATRIX = np.arange(6.0), draw(size=(6, 3))
Y = np.array([1.0, 2.5, 1.7, 3.9, 2.2, 4.4])
TIGHT = {"xtol": 1e-14, "ftol": 1e-14}
FREE = (None, None)
BOX = [(-3.0, 3.0), (-3.0, 2.0)]


def cube(p: Any) -> Any:
    return lambda x: x * x * x + 0.1 * x - p[0] * p[1]


def pair(p: Any) -> Any:
    return lambda x: np.stack([x[0] + 0.1 * x[1] ** 2 - p[0], x[1] - 0.2 * x[0] * p[1]])


def valley(p: Any) -> Any:
    return lambda x: np.cosh(x - p[0] * p[1]) + 0.3 * x


def bowl(p: Any) -> Any:
    return lambda x: np.sum((x - p) ** 2) + 0.1 * np.sum(x**4) + 0.4 * x[0] * x[1]


def model(t: Any, a: Any, b: Any) -> Any:
    return a * np.exp(-b * t) + 0.1 * a * t


def data(p: Any) -> Any:
    return Y + np.sin(p[0] * T) * p[1]


def slope(p: Any) -> Any:
    return fg.grad(bowl(p))


def slopes(p: Any) -> Any:
    return {"jac": slope(p), "hess": fg.hessian(bowl(p))}


def gaps(p: Any) -> Any:
    return lambda x: model(T, x[0], x[1]) - data(p)


def rows(p: Any) -> Any:
    return fg.jacobian(gaps(p))


def program(p: Any, **more: Any) -> Any:
    return so.linprog([-1, -2 * p[0]], [[1, 1], [p[1], 3]], [p[0], 2 * p[0] + 1], **more)


CALLS = """
so.brentq(cube(p), 0.0, 9.0)
so.brenth(cube(p), 0.0, 9.0)
so.bisect(cube(p), 0.0, 9.0)
so.ridder(cube(p), 0.0, 9.0)
so.toms748(cube(p), 0.0, 9.0)
so.brentq(lambda x, a, b: x * x - a * b, 0.0, 9.0, args=(p[0], p[1]))
so.brentq(cube(p), 0.0, 9.0, full_output=True)[1].root
so.newton(cube(p), 1.0)
so.newton(cube(p), 1.0, fprime=lambda x: 3 * x * x + 0.1)
so.newton(cube(p), 1.0, fprime=lambda x: 3 * x * x + 0.1, fprime2=lambda x: 6 * x)
so.newton(cube(p), 1.0, x1=2.0, full_output=True)[0]
so.newton(lambda x, c: x * x * x - c, np.ones(2), args=(p,))
so.root_scalar(cube(p), bracket=(0.0, 9.0)).root
so.root_scalar(cube(p), x0=1.0, x1=1.5).root
so.root_scalar(lambda x: (cube(p)(x), 3 * x * x + 0.1), x0=1.0, fprime=True).root
so.fixed_point(lambda x: np.cos(p[0] * x) / 2, 0.5)
so.fixed_point(lambda x: np.cos(p * x[::-1]) / 3, np.full(2, 0.5), method="iteration", maxiter=999)
so.fsolve(pair(p), np.ones(2))
so.fsolve(lambda x: [x[0] + 0.1 * x[1] ** 2 - p[0], x[1] - p[1]], np.ones(2))
so.fsolve(pair(p), np.ones(2), fprime=fg.jacobian(pair(p)))
so.root(pair(p), np.ones(2)).x
so.root(pair(p), np.ones(2)).fun
so.root(pair(p), np.ones(2), method="lm", jac=fg.jacobian(pair(p))).x
so.root(pair(p), np.ones(2), method="df-sane", options={"fatol": 1e-14}).x
so.root(lambda x: (pair(p)(x), fg.jacobian(pair(p))(x)), np.ones(2), jac=True).x
so.broyden1(pair(p), np.ones(2), f_tol=1e-13)
so.broyden2(pair(p), np.ones(2), f_tol=1e-13)
so.anderson(pair(p), np.ones(2), f_tol=1e-13)
so.diagbroyden(pair(p), np.ones(2), f_tol=1e-12)
so.linearmixing(pair(p), np.ones(2), f_tol=1e-12, alpha=-0.4, line_search=None)
so.excitingmixing(lambda x: -pair(p)(x), np.ones(2), f_tol=1e-12, alpha=0.4, line_search=None)
so.newton_krylov(pair(p), np.ones(2), f_tol=1e-12)
so.golden(valley(p), brack=(0.0, 1.0, 9.0))
so.golden(valley(p))
so.brent(valley(p), brack=(0.0, 1.0, 9.0))
so.fminbound(valley(p), 0.0, 9.0, xtol=1e-9)
so.fminbound(lambda x: x * p[0], p[1], 9.0, xtol=1e-10)
so.minimize_scalar(valley(p)).x
so.minimize_scalar(valley(p), method="golden").fun
so.minimize_scalar(valley(p), bounds=(0.0, 9.0), options={"xatol": 1e-9}).x
so.minimize(bowl(p), np.ones(2), method="Nelder-Mead", tol=1e-12).x
so.minimize(bowl(p), np.ones(2), method="Powell", tol=1e-12).x
so.minimize(bowl(p), np.ones(2), jac=slope(p), method="CG", tol=1e-9).x
so.minimize(bowl(p), np.ones(2), jac=slope(p), tol=1e-9).x
so.minimize(fg.value_and_grad(bowl(p)), np.ones(2), jac=True, method="L-BFGS-B", tol=1e-14).x
so.minimize(bowl(p), np.ones(2), jac=slope(p), method="TNC", tol=1e-13).x
so.minimize(bowl(p), np.ones(2), jac=slope(p), method="SLSQP", tol=1e-14).x
so.minimize(bowl(p), np.ones(2), method="COBYLA", tol=1e-10).x
so.minimize(bowl(p), np.ones(2), **slopes(p), method="dogleg").x
so.minimize(bowl(p), np.ones(2), **slopes(p), method="trust-exact").x
so.minimize(bowl(p), np.ones(2), **slopes(p), method="Newton-CG", tol=1e-10).x
so.minimize(bowl(p), np.ones(2), **slopes(p), method="trust-ncg").x
so.minimize(bowl(p), np.ones(2), **slopes(p), method="trust-krylov").x
so.minimize(bowl(p), np.ones(2), jac=slope(p), method="trust-constr", tol=1e-12).x
so.minimize(bowl(p), np.zeros(2), jac=slope(p), bounds=[FREE, (0, 0.4 * p[0])], tol=1e-14).x
so.minimize(bowl(p), np.zeros(2), jac=slope(p), bounds=so.Bounds(0, 0.4 * p[0])).fun
so.minimize(lambda x, c: np.sum((x - c) ** 2), np.ones(2), args=(p,)).fun
so.fmin(bowl(p), np.ones(2), xtol=1e-11, ftol=1e-14, disp=0)
so.fmin_powell(bowl(p), np.ones(2), xtol=1e-11, ftol=1e-14, disp=0)
so.fmin_cg(bowl(p), np.ones(2), slope(p), gtol=1e-9, disp=0)
so.fmin_bfgs(bowl(p), np.ones(2), slope(p), gtol=1e-9, disp=0)
so.fmin_ncg(bowl(p), np.ones(2), slope(p), avextol=1e-12, disp=0)
so.basinhopping(bowl(p), np.ones(2), niter=2, rng=1, minimizer_kwargs={"jac": slope(p)}).x
so.differential_evolution(bowl(p), BOX, rng=1, popsize=5, tol=1e-9).fun
so.dual_annealing(bowl(p), BOX, rng=1, maxiter=5).fun
so.shgo(bowl(p), BOX).fun
so.direct(bowl(p), BOX, maxiter=100, locally_biased=False).fun
so.brute(bowl(p), BOX, Ns=5, finish=None)[0] * 0
so.least_squares(gaps(p), np.ones(2), **TIGHT).x
so.least_squares(gaps(p), np.ones(2), **TIGHT).cost
so.least_squares(gaps(p), np.ones(2), **TIGHT).fun
so.least_squares(gaps(p), np.ones(2), jac=rows(p), loss="soft_l1", f_scale=0.7, **TIGHT).x
so.least_squares(gaps(p), np.ones(2), jac=rows(p), loss="cauchy", **TIGHT).cost
so.least_squares(gaps(p), [0.5, 0.05], bounds=([0, 0], [9, 0.1 * p[0]]), **TIGHT).x
so.leastsq(gaps(p), np.ones(2), **TIGHT)[0]
so.curve_fit(model, T, data(p), **TIGHT)[0]
so.curve_fit(model, T * p[0], Y, **TIGHT)[0]
so.curve_fit(model, T, data(p), sigma=1 + T * p[1], absolute_sigma=True, **TIGHT)[0]
so.curve_fit(model, T, data(p), sigma=np.diag(1 + T * p[1]) + 0.1, **TIGHT)[0]
so.curve_fit(lambda t, a, b: model(t, a, b) + 0.1 * p[0] * t, T, Y, p0=[1.0, 0.5], **TIGHT)[0]
so.nnls(MATRIX * p[0], data(p))[0]
so.nnls(MATRIX * p[0], data(p))[1]
so.lsq_linear(MATRIX * p[0], data(p)).x
so.lsq_linear(MATRIX, data(p), bounds=(-0.5 * p[0], 0.1 * p[1]), method="bvls").x
so.lsq_linear(MATRIX, data(p), bounds=(-0.5 * p[0], 0.1 * p[1]), method="bvls").cost
so.isotonic_regression(data(p)).x
so.isotonic_regression(data(p), weights=1 + p[0] * T, increasing=False).x
program(p, bounds=[(0.1 * p[0], None), (0, 9)]).x
program(p).fun
so.linprog([-1.0, -2 * p[0], 1.0], A_eq=[[1.0, 1.0, p[1]]], b_eq=[0.8 * p[0]], bounds=(0, 1)).x
program(p).slack
so.approx_fprime(p, lambda x: np.sum(x**3 * p), 1e-3)
so.check_grad(lambda x: np.sum(x**3 * p), lambda x: 3.1 * x**2 * p, np.ones(2), epsilon=1e-3)
so.rosen(p)
so.rosen_der(p)
so.rosen_hess(p)
so.rosen_hess_prod(p, np.ones(2))
""".strip().splitlines()
P = np.array([1.1, 0.8])
NAMES = {k: v for k, v in globals().items() if not k.startswith("_")}
ROUGH = ("differential", "annealing", "shgo", "direct", "fmin(", "Powell", "Nelder", "powell")
ROUGH += ("COBYLA",)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def made(call: str, p: Any) -> Any:
    return eval(call, {**NAMES, "p": p})


def total(call: str, p: Any) -> Any:
    y = made(call, p)
    return np.sum(y * np.cos(np.arange(float(np.size(y)))).reshape(np.shape(y)))


@pytest.mark.parametrize("call", CALLS)
def test_values_are_scipys_and_both_modes_agree_with_differences(call: str) -> None:
    seen: list[Any] = []

    def keep(p: Any) -> Any:
        y = made(call, p)
        seen.append(fg.value(y))
        return np.sum(y * np.cos(np.arange(float(np.size(y)))).reshape(np.shape(y)))

    gradient = fg.grad(keep)(P)
    np.testing.assert_array_equal(seen[0], made(call, P))
    expected, step = [], 1e-2
    for e in np.eye(2):
        ends = [total(call, P + s * step * e) for s in (1, -1, 2, -2)]
        expected.append((8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * step))
    loose = 3e-3 if any(name in call for name in ROUGH) else 2e-4
    np.testing.assert_allclose(gradient, expected, rtol=loose, atol=loose)
    forward = [fg.jvp(lambda p: total(call, p), (P,), (e,))[1] for e in np.eye(2)]
    np.testing.assert_allclose(forward, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("call", CALLS)
def test_under_jit_and_vmap_and_twice(call: str) -> None:
    gradient = fg.grad(lambda p: total(call, p))
    wanted = gradient(P)
    np.testing.assert_allclose(fg.jit(gradient)(P), wanted, rtol=1e-4, atol=1e-6)
    rows = np.stack([1.01 * P, P])
    np.testing.assert_allclose(fg.vmap(gradient)(rows)[1], wanted, rtol=1e-9, atol=1e-12)
    if any(name in call for name in ROUGH):
        return
    turn, step = np.array([0.6, -0.8]), 1e-3
    ends = [gradient(P + s * step * turn) for s in (1, -1)]
    found = fg.jvp(gradient, (P,), (turn,))[1]
    wanted = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(found, wanted, rtol=5e-3, atol=5e-3 * np.abs(wanted).max() + 1e-5)


REFUSED = {
    "bracket": lambda p: so.bracket(valley(p))[0],
    "line_search": lambda p: so.line_search(bowl(p), fg.grad(bowl(p)), np.ones(2), P)[0],
    "fmin_l_bfgs_b": lambda p: so.fmin_l_bfgs_b(bowl(p), P, approx_grad=True)[0],
    "fmin_tnc": lambda p: so.fmin_tnc(bowl(p), P, approx_grad=True, disp=0)[0],
    "fmin_slsqp": lambda p: so.fmin_slsqp(bowl(p), P, iprint=0),
    "fmin_cobyla": lambda p: so.fmin_cobyla(bowl(p), P, [lambda x: x[0]]),
    "milp": lambda p: so.milp(p).x,
    "quadratic_assignment": lambda p: so.quadratic_assignment(np.outer(p, p), np.eye(2)).fun,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_says_what_to_take(name: str) -> None:
    reason = REASONS[f"scipy.optimize.{name}"]
    with pytest.raises(UnsupportedCallError) as caught:
        fg.grad(lambda p: np.sum(REFUSED[name](p)))(P)
    assert f"scipy.optimize.{name} " in str(caught.value) and reason in str(caught.value)
    assert "test_searches.py" in str(caught.value)


def test_every_public_function_has_derivatives_or_a_reason() -> None:
    functions = [n for n in so.__all__ if callable(getattr(so, n))]
    functions = [n for n in functions if not isinstance(getattr(so, n), type)]
    called = " ".join(CALLS)
    for name in functions:
        answer = fg.supports(getattr(so, name))
        if answer:
            assert f"so.{name}(" in called, name
        else:
            assert f"scipy.optimize.{name}" in REASONS, name
            assert name in REFUSED or name in ("linear_sum_assignment",) or "print" in answer.reason
    assert set(OURS) - {"OptimizeResults"} <= set(functions)


def test_golden_section_has_no_silent_zero() -> None:
    """Its points depend on what is traced by comparisons alone."""
    best = lambda a: so.golden(lambda x: (x - a) ** 2, brack=(-10.0, 0.0, 10.0))
    assert fg.grad(best)(2.0) == pytest.approx(1.0)
    held = {"a": [0.0]}

    def hidden(a: Any) -> Any:
        held["a"][0] = a
        return so.golden(lambda x: (x - held["a"][0]) ** 2, brack=(-10.0, 0.0, 10.0))

    assert fg.grad(hidden)(2.0) == pytest.approx(1.0)


def test_a_search_that_closes_over_nothing_traced_is_scipys() -> None:
    plain = lambda x: x * x - 2.0 if x > 1.0 else x - 2.0  # it may branch
    wanted = so.brentq(plain, 0.0, 3.0)
    assert fg.value_and_grad(lambda a: a * so.brentq(plain, 0.0, 3.0))(1.0) == (wanted, wanted)
    r = fg.jvp(lambda a: (a, so.minimize(bowl(P), np.ones(2)).hess_inv)[1] * 0 + a, (1.0,), (1.0,))
    assert r[1].shape == (2, 2)


def test_a_function_that_branches_is_a_named_error() -> None:
    with pytest.raises(AbstractValueError, match=r"brentq differentiates .* np\.where"):
        fg.grad(lambda a: so.brentq(lambda x: x - a if x > 0 else x, -1.0, 9.0))(2.0)


def test_what_a_result_does_not_tell_of_traced_values() -> None:
    def told(p: Any) -> Any:
        return so.minimize(bowl(p), np.ones(2)).hess_inv

    with pytest.raises(AttributeError, match="no 'hess_inv'; of a search on traced"):
        fg.grad(told)(P)


def test_an_equation_that_does_not_determine_its_root_is_a_named_error() -> None:
    flat = lambda a: np.sum(so.fsolve(lambda x: np.stack([0 * x[0] + 0 * a, x[1] - a]), np.ones(2)))
    with pytest.raises(NotDifferentiableError, match="does not determine the point"):
        fg.grad(flat)(2.0)


def test_where_nothing_was_found_derivatives_are_nan() -> None:
    early = lambda p: so.minimize(bowl(p), 9 + P, method="Nelder-Mead", options={"maxiter": 3})
    assert np.isnan(fg.grad(lambda p: early(p).fun)(P)).all()
    many = so.linprog([-1.0], [[1.0], [2.0]], [1.0, 2.0])  # two constraints meet one unknown
    assert many.x == [1.0]
    corner = lambda b: so.linprog([-1.0], [[1.0], [2.0]], [1.0, b]).x[0]
    assert np.isnan(fg.grad(corner)(2.0))


def test_an_error_of_scipys_or_of_the_function_stays_what_it_is() -> None:
    with pytest.raises(ValueError, match=r"^f\(a\) and f\(b\) must have different signs$"):
        fg.grad(lambda a: so.brentq(lambda x: x - a, 5.0, 9.0))(2.0)
    with pytest.raises(RuntimeError, match="Failed to converge"):
        fg.grad(lambda a: so.newton(lambda x: x * x + a, 1.0, maxiter=4))(2.0)


def test_searches_within_searches() -> None:
    def outer(a: Any) -> Any:
        inner = lambda b: so.brentq(lambda x: x * x * x - a * b, 0.0, 9.0)
        return so.brentq(lambda y: inner(y + 1.0) - a, 0.0, 30.0)  # a**2 - 1

    assert fg.grad(outer)(2.0) == pytest.approx(4.0)
    assert fg.grad(fg.grad(outer))(2.0) == pytest.approx(2.0)
    assert fg.jit(fg.grad(outer))(2.0) == pytest.approx(4.0)


def lowest(x: Any) -> Any:
    return (x[0] - 1.0) ** 2


def test_what_is_watched_can_be_sent_to_workers() -> None:
    given: list[Any] = []
    watched(given.append, "scipy.optimize.brute", strict=True)(lowest)
    assert pickle.loads(pickle.dumps(given[0]))([3.0]) == 4.0
