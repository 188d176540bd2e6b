"""`scipy.cluster.vq.vq` on traced observations and codes: SciPy's bits, slopes, errors.

`test_rules` has both modes, second order and batching of the record.
"""

import re

import numpy as np
import pytest
import scipy.cluster.vq as sp

import funcgrad as fg
import funcgrad.scipy.cluster.vq as ours
from funcgrad.testing import check_grads

RNG = np.random.default_rng(4)
X, CODES = RNG.normal(size=(6, 3)), RNG.normal(size=(4, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axes", [1, 2])
def test_values_are_scipys(dtype, axes):
    x, codes = (a.astype(dtype) if axes == 2 else a[:, 0].astype(dtype) for a in (X, CODES))
    wanted = sp.vq(x, codes)
    for module in (ours, sp):  # SciPy's own function comes here
        made = fg.vjp(module.vq, x, codes)[0]
        for a, b in zip(made, wanted, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    code, dist = fg.jit(ours.vq)(x, codes)
    assert (code.dtype, dist.dtype) == (wanted[0].dtype, wanted[1].dtype)
    np.testing.assert_array_equal(code, wanted[0])
    np.testing.assert_allclose(dist, wanted[1], rtol=4 * np.finfo(dtype).eps)


def test_slopes():
    check_grads(lambda x, c: np.sum(np.sin(ours.vq(x, c)[1])), (X, CODES), order=2)
    at_a_code = fg.grad(lambda x: np.sum(ours.vq(x, CODES)[1]))(CODES[:2])
    assert at_a_code.tolist() == np.zeros((2, 3)).tolist()


def test_examples_are_mapped():
    rows = np.stack([X, -X])
    code, dist = fg.vmap(lambda x: ours.vq(x, CODES))(rows)
    for k, x in enumerate(rows):
        np.testing.assert_array_equal(code[k], sp.vq(x, CODES)[0])
        np.testing.assert_array_equal(dist[k], sp.vq(x, CODES)[1])


@pytest.mark.parametrize("shapes", [((2, 3), (2, 2)), ((2, 3), (2,)), ((2, 2, 2), (2, 2, 2))])
def test_shapes_that_do_not_fit_are_refused_in_scipys_words(shapes):
    x, codes = map(np.ones, shapes)
    with pytest.raises(ValueError, match=r"should have|not supported") as theirs:
        sp.vq(x, codes)
    with pytest.raises(ValueError, match=re.escape(str(theirs.value))):
        fg.vjp(ours.vq, x, codes)


@pytest.mark.peers
def test_slopes_are_those_of_jax():
    jax = pytest.importorskip("jax")
    theirs = pytest.importorskip("jax.scipy.cluster.vq")
    with jax.enable_x64(True):
        wanted = jax.grad(lambda x, c: theirs.vq(x, c)[1].sum(), argnums=(0, 1))(X, CODES)
    found = fg.grad(lambda x, c: np.sum(ours.vq(x, c)[1]), argnums=(0, 1))(X, CODES)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
