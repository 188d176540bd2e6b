"""Distributions whose formulas are SciPy's own programs, against differences of values."""

import functools

import numpy as np
import pytest
import scipy.stats as st
from older import older_may_refuse

import funcgrad as fg
from funcgrad.scipy.stats.distributions import record
from funcgrad.scipy.stats.hyperbolic import HYPERBOLIC
from funcgrad.scipy.stats.limits import LIMITS
from funcgrad.scipy.stats.noncentral import NONCENTRAL
from funcgrad.scipy.stats.stable import STABLE
from funcgrad.scipy.stats.written import WRITTEN
from funcgrad.testing import check_grads

TABLE = {**WRITTEN, **NONCENTRAL, **LIMITS, **HYPERBOLIC, "landau": STABLE["landau"]}

LEVELS = np.array([0.15, 0.4, 0.7, 0.95])
METHODS = [
    (name, method)
    for name in TABLE
    for method in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
    if record(name, method) is not None
]


def called(name, method, factor=1.0):
    """A method, a place, and the shapes, location and scale; `factor` is that of the shapes."""
    shapes = (np.float64(s * factor) for s in TABLE[name].shapes)
    rest = (*shapes, np.float64(0.3), np.float64(1.4))
    dist = getattr(st, name)
    place = LEVELS if method in ("ppf", "isf") else dist.ppf(LEVELS, *rest)
    return getattr(dist, method), (place, *rest)


@older_may_refuse
@pytest.mark.parametrize(("name", "method"), METHODS)
def test_values_are_scipys_and_derivatives_those_of_the_values(name, method):
    for factor in (1.0, 0.8):
        function, args = called(name, method, factor)
        wanted = function(*args)
        np.testing.assert_array_equal(fg.vjp(function, *args)[0], wanted)
        check_grads(function, args, order=1)
    np.testing.assert_allclose(fg.jit(function)(*args), wanted, rtol=1e-9, atol=1e-14)
    mapped = fg.vmap(function, in_axes=(0, *(None,) * (len(args) - 1)))
    np.testing.assert_array_equal(mapped(*args), wanted)


@older_may_refuse
@pytest.mark.parametrize("name", TABLE)
def test_outside_the_support_and_of_shapes_that_are_not_allowed(name):
    """Values and derivatives are those of a constant, or NaN: never those of the formula."""
    function, (x, *rest) = called(name, "logpdf")
    dist = getattr(st, name)
    low, high = dist.support(*rest)
    for place in (low - 1.0, high + 1.0):
        if np.isfinite(place):
            assert fg.grad(function)(place, *rest) == 0.0
    assert np.isnan(fg.vjp(lambda scale: function(x, *rest[:-1], scale), -1.0)[0]).all()


def test_second_order_and_arrays_of_shapes_and_scales():
    f = lambda x, c, d, scale: np.sum(st.burr12.logpdf(x[:, None], c, d, scale=scale) ** 2)
    args = np.array([0.7, 1.2]), np.array([2.5, 3.5, 1.5]), 1.7, np.array([0.9, 1.1, 2.0])
    check_grads(f, args, order=2)
    check_grads(lambda x, s: st.exponnorm.logpdf(x, 1.5, scale=s), (0.4, 1.3), order=2)


def test_the_noncentral_chi_square_distribution_is_the_central_one_at_zero():
    x, k = np.array([0.3, 2.0, 7.0]), 3.2
    for method in ("pdf", "logpdf", "cdf", "sf"):
        ours, central = (
            fg.jacobian(functools.partial(getattr(dist, method), x))(k, *nc)
            for dist, nc in ((st.ncx2, (0.0,)), (st.chi2, ()))
        )
        np.testing.assert_allclose(ours, central, rtol=1e-9)
