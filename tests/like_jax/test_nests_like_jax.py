"""Nests of transforms, in words that both modules share: ours and JAX's give the same numbers."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nesting import DERIVATIVES, POOL, X, function, operators
from strategies import derandomized

import funcgrad as fg

pytestmark = pytest.mark.peers
jax = pytest.importorskip("jax")

OURS, THEIRS = operators(fg), operators(jax)
THEIRS["custom_vjp"] = lambda f: f  # JAX refuses forward mode of it; the rule is that of f


@derandomized(80)
@given(
    st.sampled_from(sorted(POOL)), st.lists(st.sampled_from(sorted(OURS)), min_size=2, max_size=4)
)
def test_nests(pool, names):
    assume(sum(DERIVATIVES.get(n, 0) for n in names) <= 3)
    with jax.enable_x64(True):
        mine = function(fg, pool, fg.at)
        theirs = function(jax, pool, lambda x: jax.numpy.asarray(x).at)
        for name in names:
            mine, theirs = OURS[name](mine), THEIRS[name](theirs)
        expected = np.asarray(jax.jit(theirs)(X))
    message = " < ".join([pool, *names])
    atol = 1e-9 * max(1.0, float(np.max(np.abs(expected))))
    np.testing.assert_allclose(mine(X), expected, rtol=1e-9, atol=atol, err_msg=message)
    np.testing.assert_allclose(fg.jit(mine)(X), expected, rtol=1e-9, atol=atol, err_msg=message)
