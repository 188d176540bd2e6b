"""Factors of indefinite matrices beside PyTorch: those of LAPACK, and what is solved with them."""

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs

needs_torch = pytest.mark.skipif(theirs is None, reason="needs torch")
RNG = np.random.default_rng(0)
SQUARE = RNG.normal(size=(5, 5))
SYMMETRIC = SQUARE + SQUARE.T
MATRICES = {
    "indefinite": (SYMMETRIC, False),
    "batch": (np.stack([SYMMETRIC, SYMMETRIC @ SYMMETRIC]), False),
    "empty": (SYMMETRIC[:0, :0], False),
    "single": (SYMMETRIC.astype(np.float32), False),
    "complex symmetric": (SYMMETRIC + 1j * SYMMETRIC, False),
    "Hermitian": (SYMMETRIC + 1j * (np.triu(SYMMETRIC, 1) - np.tril(SYMMETRIC, -1)), True),
}


@needs_torch
@pytest.mark.peers
@pytest.mark.parametrize("name", MATRICES)
def test_factors_and_solutions_are_pytorchs(name):
    pytest.importorskip("scipy")
    array, hermitian = MATRICES[name]
    b = RNG.normal(size=(*array.shape[:-1], 2)).astype(array.dtype)
    found = []
    for torch in (theirs, ours):
        factors = torch.linalg.ldl_factor_ex(torch.tensor(array), hermitian=hermitian)
        x = torch.linalg.ldl_solve(*factors[:2], torch.tensor(b), hermitian=hermitian)
        found.append([y.numpy() for y in (*factors, x)])
    for expected, got in zip(*found, strict=True):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        rtol = 1e-4 if array.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(got, expected, rtol, rtol)
    np.testing.assert_allclose(array @ found[1][-1], b, 1e-3, 1e-3)


def refused(torch, say):
    for call in (
        lambda: torch.linalg.ldl_factor(torch.ones(2, 3)),
        lambda: torch.linalg.ldl_factor(torch.ones(2)),
        lambda: torch.linalg.ldl_factor(torch.ones(2, 2, dtype=torch.int64)),
        lambda: torch.linalg.ldl_factor(torch.eye(2, requires_grad=True)).LD.sum().backward(),
        lambda: torch.linalg.ldl_factor(torch.ones(2, 2, dtype=torch.bfloat16)),
    ):
        try:
            call()
        except (RuntimeError, NotImplementedError) as error:
            say(type(error).__name__, error)


def test_refusals_are_pytorchs():
    same(refused)


def test_a_singular_matrix_is_named():
    pytest.importorskip("scipy")
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\): the diagonal block 1 of D"):
        ours.linalg.ldl_factor(ours.stack([ours.eye(2), ours.zeros(2, 2)]))
