"""Low-rank approximations, with the random numbers of PyTorch, and older names of factors."""

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs


def found(torch, function, array):
    torch.manual_seed(0)
    a = torch.tensor(array, requires_grad=True)
    u, s, v = function(torch, a)
    product = u @ torch.diag_embed(s).to(u.dtype) @ v.mH
    (g,) = torch.autograd.grad((product.abs() ** 2 * 0.5).sum() + s.sum(), a)
    return [x.detach().resolve_conj().numpy() for x in (s, product, g)]


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (2, 5, 4)])
@pytest.mark.parametrize("complex_", [False, True])
def test_singular_vectors(shape, complex_):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    rng = np.random.default_rng(0)
    a = rng.normal(size=shape) + (1j * rng.normal(size=shape) if complex_ else 0)
    for function in (
        lambda t, a: t.svd_lowrank(a, 2), lambda t, a: t.svd_lowrank(a, 2, niter=0),
        lambda t, a: t.svd_lowrank(a, 2, M=a.detach()[..., :1, :] * 0.5),
        lambda t, a: t.pca_lowrank(a, 2), lambda t, a: t.pca_lowrank(a, 2, center=False),
    ):  # fmt: skip
        for e, g in zip(found(theirs, function, a), found(ours, function, a), strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-6, atol=1e-8)


def said(torch, say):
    for call in (
        lambda: torch.pca_lowrank(torch.ones(3, 2), 5),
        lambda: torch.pca_lowrank(torch.ones(3, 2), -1),
        lambda: torch.pca_lowrank(torch.ones(3, 2), niter=-1),
    ):  # fmt: skip
        try:
            call()
        except ValueError as error:
            say(error)


def test_refusals():
    same(said)


def test_names_that_pytorch_wants_replaced():
    a = ours.tensor([[2.0, 1.0], [4.0, 5.0]])
    b = ours.ones(2, 1)
    lu, pivots = ours.lu(a)
    assert len(a.lu(get_infos=True)) == 3
    assert ours.equal(lu, ours.linalg.lu_factor(a).LU)
    assert ours.allclose(a @ b.lu_solve(lu, pivots), b)
    q, r = ours.qr(a)
    assert ours.equal(q, ours.linalg.qr(a).Q) and ours.equal(r, a.qr().R)
