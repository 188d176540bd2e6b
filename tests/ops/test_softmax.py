"""Softmax of rows with infinities and NaN, beside SciPy's, interpreted and in native code."""

import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from funcgrad.ops.softmax import log_softmax, softmax
from funcgrad.scipy import special

INF, NAN = np.inf, np.nan
ROWS = np.array([[1, INF, 0.5], [INF, INF, 1], [-INF, 1, 2], [-INF, -INF, -INF], [1, NAN, 0.5]])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("ours", [softmax, log_softmax])
def test_an_infinite_maximum_makes_the_row_nan(ours, axis, dtype):
    x = ROWS.astype(dtype) if axis == 1 else ROWS.T.astype(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, ours.__name__)(x, axis)
        spoiled = ~np.isfinite(x.max(axis, keepdims=True)) & np.ones(x.shape, bool)
        expected[spoiled] = NAN  # where SciPy's logarithm has -inf beside it
        for f in (ours, fg.jit(ours, static_argnums=1)):
            np.testing.assert_allclose(f(x, axis), expected, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_the_logarithm_under_the_name_of_scipy_is_that_of_scipy(axis):
    with np.errstate(all="ignore"):
        expected = scipy.special.log_softmax(ROWS, axis)
        for f in (special.log_softmax, fg.jit(special.log_softmax, static_argnums=1)):
            np.testing.assert_allclose(f(ROWS, axis), expected, rtol=1e-14)
        traced = fg.vjp(lambda x: special.log_softmax(x, axis), ROWS)[0]
    np.testing.assert_allclose(traced, expected, rtol=1e-14)
