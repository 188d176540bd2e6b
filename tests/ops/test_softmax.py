"""Softmax of rows with infinities and NaN, against SciPy, interpreted and in native code."""

import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from funcgrad.ops.softmax import log_softmax, softmax

INF, NAN = np.inf, np.nan
ROWS = np.array([[1, INF, 0.5], [INF, INF, 1], [-INF, 1, 2], [-INF, -INF, -INF], [1, NAN, 0.5]])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("ours", [softmax, log_softmax])
def test_infinite_rows(ours, axis, dtype):
    x = ROWS.astype(dtype) if axis == 1 else ROWS.T.astype(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, ours.__name__)(x, axis)
        for f in (ours, fg.jit(ours, static_argnums=1)):
            np.testing.assert_allclose(f(x, axis), expected, rtol=8 * np.finfo(dtype).eps)
