"""`scipy.integrate.quad` and `quad_vec`: SciPy's values, and the rule of Leibniz in every mode."""

import math

import numpy as np
import pytest
import scipy.integrate as si

import funcgrad as fg
from funcgrad import errors
from funcgrad.testing import check_grads


def by_all(p):
    """A parameter in the integrand, in both limits, and in `args`."""
    return si.quad(lambda x, c: np.sum(np.exp(-p * x)) * c, p[0], p[1], args=(p[1],))[0]


P = np.array([0.5, 1.7])


def test_values_are_scipys_and_all_modes_agree():
    value, slope = fg.value_and_grad(by_all)(P)
    assert value == by_all(P)
    e = np.exp
    wanted = lambda p: p[1] * sum((e(-a * p[0]) - e(-a * p[1])) / a for a in p)
    np.testing.assert_allclose(slope, fg.grad(wanted)(P), rtol=1e-12)
    np.testing.assert_allclose(fg.hessian(by_all)(P), fg.hessian(wanted)(P), rtol=1e-12)
    for other in (fg.jacfwd(by_all), fg.grad(fg.jit(by_all)), fg.jit(fg.grad(by_all))):
        np.testing.assert_allclose(other(P), slope, rtol=4e-16)
    stacked = np.stack([P, P + 0.1])
    mapped = fg.vmap(fg.grad(by_all))(stacked)
    np.testing.assert_allclose(mapped, [fg.grad(by_all)(p) for p in stacked], rtol=4e-16)
    check_grads(by_all, (P,), order=2)


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda a: si.quad(lambda x: np.exp(-a * x * x), -np.inf, np.inf)[0],
         lambda a: -math.sqrt(math.pi) / 2 * a**-1.5),
        (lambda b: si.quad(lambda x: np.exp(-x), b, np.inf)[0], lambda b: -math.exp(-b)),
        (lambda b: si.quad(lambda x: np.exp(-x), 0, b, weight="cos", wvar=3.0)[0],
         lambda b: math.exp(-b) * math.cos(3 * b)),
        (lambda b: si.quad(math.exp, 0, b)[0], math.exp),
        (lambda b: si.quad(lambda x: 1.0 if x < 0.5 else 2.0, 0, b, points=[0.5])[0],
         lambda b: 2.0),
        (lambda b: si.quad(lambda x: np.exp(1j * b * x), 0, 1, complex_func=True)[0].real,
         lambda b: (b * math.cos(b) - math.sin(b)) / b**2),
        (lambda b: si.quad(lambda x: si.quad(lambda y: b * x * y, 0, x)[0], 0, b)[0],
         lambda b: 5 * b**4 / 8),
        (lambda b: si.fixed_quad(lambda x: np.exp(b * x), 0.0, b)[0],
         lambda b: 2 * math.exp(b**2) - (math.exp(b**2) - 1) / b**2),
        (lambda b: si.quad_vec(lambda x: np.sin(b * x) * np.ones(2), 0.0, b)[0].sum(),
         lambda b: 4 * math.sin(b**2) - 2 * (1 - math.cos(b**2)) / b**2),
    ],
)  # fmt: skip
def test_against_formulas(call, wanted):
    plain, (value, slope) = call(0.7), fg.value_and_grad(call)(0.7)
    assert value == plain
    np.testing.assert_allclose(slope, wanted(0.7), rtol=1e-6)
    assert fg.jvp(call, (0.7,), (1.0,))[1] == pytest.approx(slope, rel=1e-14)


def test_an_estimate_of_the_error_has_no_derivative():
    run = lambda b: si.quad(lambda x: np.exp(-b * x), 0.0, 1.0)
    (value, error), tangent = fg.jvp(run, (2.0,), (1.0,))
    assert (value, error) == run(2.0)
    assert tangent[1] == 0.0


def test_with_nothing_traced_it_is_scipys_own():
    found = fg.jit(lambda b: b * si.quad(math.exp, 0.0, 1.0)[0])(2.0)
    assert found == 2.0 * si.quad(math.exp, 0.0, 1.0)[0]


@pytest.mark.parametrize(
    "call, error, told",
    [
        (lambda b: si.quad(lambda x: b if x < 0.5 else 2 * b, 0, 1)[0], errors.AbstractValueError,
         "choose with np.where"),
        (lambda b: si.quad(lambda x: math.exp(b * x), 0, 1)[0], errors.AbstractValueError,
         "call np.exp"),
        (lambda b: si.quad(np.exp, 0, b, weight="cauchy", wvar=3.0)[0],
         errors.NotDifferentiableError,
         "no derivative here by its limits"),
        (lambda b: si.quad(np.exp, 0, b, full_output=1)[0], errors.UnsupportedCallError,
         "scipy.integrate.quad: the keyword full_output"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(call, error, told):
    with pytest.raises(error, match=told):
        fg.grad(call)(0.7)


# ------------------------------------------------------------------------- of several variables

NESTED = {
    "dblquad": lambda p: si.dblquad(lambda y, x: p[0] * np.exp(-x * y), 0.0, p[1], 0.0, 1.0),
    "dblquad between curves": lambda p: si.dblquad(
        lambda y, x, c: c * x * y**2, p[0], 2.0, lambda x: x * p[1], lambda x: x + 3.0, args=(p[0],)
    ),
    "tplquad": lambda p: si.tplquad(
        lambda z, y, x: np.cos(p[0] * x + y * z), 0.0, 1.0, 0.0, lambda x: x * p[1],
        lambda x, y: x - y, lambda x, y: p[0] + x,
        epsrel=1e-6,
    ),
    "nquad": lambda p: si.nquad(
        lambda x, y: p[0] * x + y * p[1],
        [lambda y: (0.0, y), (0.0, p[1])],
        opts=[{"epsrel": 1e-10}, {"limit": 20}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_integrals_of_several_variables(name):
    f = NESTED[name]
    want = f(P)
    for found in (fg.vjp(f, P)[0], fg.jvp(f, (P,), (P,))[0], fg.jit(f)(P)):
        np.testing.assert_allclose(found, want, rtol=1e-14)
    spread = fg.vmap(f)(np.stack([P, P]))
    np.testing.assert_allclose(spread, np.stack([want, want], 1), rtol=1e-14)
    check_grads(lambda p: f(p)[0], (P,), order=1)


def test_the_second_derivative_of_a_double_integral():
    f = lambda a: si.dblquad(lambda y, x: np.exp(a * x * y), 0.0, 1.0, 0.0, 1.0)[0]
    second = si.dblquad(lambda y, x: (x * y) ** 2 * np.exp(0.7 * x * y), 0.0, 1.0, 0.0, 1.0)[0]
    assert abs(fg.grad(fg.grad(f))(0.7) - second) < 1e-12


def test_integrals_of_several_variables_of_known_values_are_scipys_own():
    traced = {}

    def f(a):
        traced["all"] = si.nquad(lambda x, y: x * y, [(0, 1), (0, 1)], full_output=True)
        return a

    fg.grad(f)(1.0)
    assert len(traced["all"]) == 3
    for call in (
        lambda a: si.nquad(lambda x: a * x, [(0, 1)], full_output=True),
        lambda a: si.nquad(lambda x: x, [(0, a)], opts={"points": [0.5]}),
    ):
        with pytest.raises(errors.UnsupportedCallError, match="nquad"):
            fg.grad(lambda a: call(a)[0])(1.0)


def test_an_integrand_that_closes_over_traced_values_has_numpys_bits():
    """It was compiled, whose sines are some ulp from NumPy's."""
    f = lambda a: si.quad(lambda x: np.cos(a * x) * np.exp(-x) / 3, 0.0, 2.0)[0]
    points = np.linspace(0.1, 3.0, 25)
    assert [fg.vjp(f, a)[0] for a in points] == [f(a) for a in points]
