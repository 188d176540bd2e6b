"""Cotangents of singular values of 0 are PyTorch's: U g Vᴴ."""

import numpy as np
import pytest

import funcgrad.torch as facade

torch = pytest.importorskip("torch")

MATRICES = {"rank one": [[1.0, 2.0], [2.0, 4.0]], "zero": [[0.0, 0.0], [0.0, 0.0]]}
PROGRAMS = {
    "svdvals": lambda t, a: t.linalg.svdvals(a).sum(),
    "svd": lambda t, a: t.linalg.svd(a)[1].sum(),
    "nuclear norm": lambda t, a: t.linalg.matrix_norm(a, "nuc"),
    "least value": lambda t, a: t.linalg.matrix_norm(a, -2),
}


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradient_at_a_singular_matrix(program, matrix):
    gradients = []
    for t in (torch, facade):
        a = t.tensor(MATRICES[matrix], dtype=t.float64, requires_grad=True)
        PROGRAMS[program](t, a).backward()
        gradients.append(a.grad.numpy())
    assert np.allclose(*gradients, atol=1e-12)
