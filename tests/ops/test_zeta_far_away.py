"""The zeta function and its kin where operands are huge, infinite or no numbers."""

import numpy as np
import pytest
import scipy.special

from funcgrad.ops.gamma import polygamma, zeta

S = np.array([1.5, 2.0, 5.0, 50.0, 300.0, 329.0, 331.0, 400.0, 1e5])


@pytest.mark.parametrize("q", [0.3, 1.0, 2.0, 9.5, 10.5, 40.0])
def test_large_exponents(q):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(zeta(S, np.full(9, q)), scipy.special.zeta(S, q), rtol=1e-14)


def test_exponents_beyond_all_powers_end_at_once():
    found = zeta(np.array([1e38, 1e300, np.inf, np.nan]), np.full(4, 2.0))
    np.testing.assert_array_equal(found[:2], [0.0, 0.0])
    assert np.isnan(found[3])


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_polygamma_of_what_is_not_finite(order):
    x = np.array([np.nan, np.inf, 1.0])
    with np.errstate(all="ignore"):
        expected = scipy.special.polygamma(order, x)
    np.testing.assert_allclose(polygamma(order, x), expected, rtol=1e-14)
