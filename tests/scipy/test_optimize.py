"""`minimize`: SciPy's minimum, with the derivatives of an implicit function."""

import numpy as np
import pytest
import scipy.optimize

import funcgrad as fg
from funcgrad.scipy.optimize import minimize


def well(x, a):
    return np.sum((x - a) ** 2) + np.sum(x**4)


A, START = np.array([0.4, 3.0]), np.zeros(2)


def found(a, **settings):
    return minimize(well, START, (a,), method="BFGS", **({"tol": 1e-10} | settings))


def exact(a):
    """The root of 2 (x - a) + 4 x³ by Cardano's formula, which is differentiated as it is."""
    root = np.sqrt(a**2 / 16 + 1.0 / 216)
    return np.cbrt(a / 4 + root) + np.cbrt(a / 4 - root)


def test_the_steps_are_those_of_scipy():
    ours = minimize(well, START, (A,), method="bfgs")
    theirs = scipy.optimize.minimize(
        lambda x: fg.value_and_grad(well)(x, A), START, jac=True, method="BFGS"
    )
    for name in ours._fields:
        np.testing.assert_array_equal(getattr(ours, name), theirs[name])


WAYS = {"as it is": lambda f: f, "jit": fg.jit, "closed over": lambda f: lambda a: f(a * 1.0)}


@pytest.mark.parametrize("way", WAYS)
def test_derivatives_of_the_minimum(way):
    f = WAYS[way](lambda a: found(a).x)
    for derivative in (fg.jacrev, fg.jacfwd):
        np.testing.assert_allclose(derivative(f)(A), fg.jacobian(exact)(A), rtol=1e-8, atol=1e-12)
    second = fg.hessian(lambda a: f(a)[1])(A)
    np.testing.assert_allclose(second, fg.hessian(lambda a: exact(a)[1])(A), rtol=1e-7, atol=1e-12)


def test_derivatives_of_the_value():
    value = lambda a: found(a).fun
    best = lambda a: well(exact(a), a)
    np.testing.assert_allclose(fg.grad(value)(A), fg.grad(best)(A), rtol=1e-8)
    np.testing.assert_allclose(fg.hessian(value)(A), fg.hessian(best)(A), rtol=1e-7, atol=1e-12)


def test_what_it_closes_over_is_followed():
    def best(p):
        f = lambda x: np.sum((x - p["a"] * p["b"]) ** 2)
        return np.sum(minimize(f, START, method="BFGS").x)

    p = {"a": A, "b": 2.0}
    got = fg.jit(fg.grad(best))(p)
    np.testing.assert_allclose(got["a"], [2.0, 2.0], rtol=1e-8)
    np.testing.assert_allclose(got["b"], A.sum(), rtol=1e-8)


def test_examples():
    rows = np.stack([A, A + 1.0, -A])
    np.testing.assert_allclose(fg.vmap(lambda a: found(a).x)(rows), exact(rows), rtol=1e-7)
    slopes = fg.vmap(fg.jacobian(lambda a: found(a).x))(rows)
    np.testing.assert_allclose(slopes, fg.vmap(fg.jacobian(exact))(rows), rtol=1e-7, atol=1e-12)


def test_where_it_begins_and_the_report_have_no_derivative():
    begin = lambda z: np.sum(minimize(well, z, (A,), method="BFGS").x)
    assert not fg.grad(begin)(START).any()
    assert not fg.grad(lambda a: np.sum(found(a).hess_inv))(A).any()


@pytest.mark.parametrize("derivative", [fg.jacrev, fg.jacfwd])
def test_a_search_that_did_not_end_has_no_derivative(derivative):
    early = lambda a: found(a, options={"maxiter": 1})
    assert early(A).status == 1
    assert np.isnan(derivative(lambda a: early(a).x)(A)).any()


WRONG = {
    "method": (lambda: minimize(well, START, (A,), method="Powell"), "the method is 'BFGS'"),
    "args": (lambda: minimize(well, START, A, method="BFGS"), "args is a tuple, not ndarray"),
    "x0": (lambda: minimize(well, 0.0, (A,), method="BFGS"), r"x0 is a vector, .* shape \(\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors(case):
    call, text = WRONG[case]
    with pytest.raises((ValueError, TypeError), match=text):
        call()
