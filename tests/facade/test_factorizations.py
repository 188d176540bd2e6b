"""Factors, pseudoinverses, eigenvalues and systems between tensors, beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs

SHAPES = {"square": (3, 3), "tall": (4, 2), "wide": (2, 4), "batch": (2, 3, 3)}
CASES = {
    "qr": ("square tall batch", lambda t, a: tuple(t.linalg.qr(a))),
    "pinv": ("square tall wide batch", lambda t, a: (t.linalg.pinv(a),)),
    "pinv with a cutoff": ("square tall", lambda t, a: (t.linalg.pinv(a, rtol=0.4),)),
    "pinv with another": ("square tall", lambda t, a: (t.linalg.pinv(a, atol=0.7),)),
    "pinverse": ("tall", lambda t, a: (t.pinverse(a),)),
    "hermitian": ("square", lambda t, a: (t.linalg.pinv(a + a.mT, hermitian=True),)),
    "eigvals": ("square batch", lambda t, a: (sorted_(t, t.linalg.eigvals(a)),)),
    "eig": ("square batch", lambda t, a: (rebuilt(t, a),)),
    "inv_ex": ("square batch", lambda t, a: tuple(t.linalg.inv_ex(a))),
    "solve_ex": ("square batch", lambda t, a: tuple(t.linalg.solve_ex(a, a @ a))),
    "vander": ("square", lambda t, a: (t.linalg.vander(a[0]), t.linalg.vander(a, N=5))),
    "cond": ("square batch", lambda t, a: tuple(t.linalg.cond(a, p) for p in (None, 2, -2))),
    "cond by the inverse": (  # PyTorch writes over the inverse that its own gradient needs
        "square batch", lambda t, a: (a, *(t.linalg.cond(a.detach(), p) for p in NORMS)),
    ),
    "cond of any": ("tall wide", lambda t, a: (t.linalg.cond(a), t.linalg.cond(a, -2))),
    "tensorinv": ("square", lambda t, a: (t.linalg.tensorinv(a.reshape(3, 1, 3), ind=1),)),
    "tensorsolve": (
        "square", lambda t, a: (t.linalg.tensorsolve(a.reshape(3, 1, 3), a[0].reshape(3, 1)),)
    ),
}  # fmt: skip
NORMS = [None, 2, -2, 1, -1, float("inf"), -float("inf"), "fro", "nuc"]


def sorted_(torch, w):
    return torch.view_as_real(w).square().sum(-1).sort(-1).values


def rebuilt(torch, a):
    """What does not depend on the phases of eigenvectors."""
    w, v = torch.linalg.eig(a)
    return (v @ torch.diag_embed(w.square()) @ torch.linalg.inv(v)).real


def numbers(torch, function, shape, complex_):
    rng = np.random.default_rng(sum(shape))
    x = rng.normal(size=shape) + 2 * np.eye(*shape[-2:])
    if complex_:
        x = x + 1j * rng.normal(size=shape)
    a = torch.tensor(x, requires_grad=True)
    outs = function(torch, a)
    moving = [o for o in outs if o.requires_grad]
    loss = sum((o.abs() ** 2 * (1 + k)).sum() for k, o in enumerate(moving))
    (g,) = torch.autograd.grad(loss, a)
    return [o.detach().resolve_conj().numpy() for o in (*outs, g)]


@pytest.mark.parametrize(
    ("case", "shape"), [(c, s) for c, (shapes, _) in CASES.items() for s in shapes.split()]
)
@pytest.mark.parametrize("complex_", [False, True])
def test_values_and_gradients(case, shape, complex_):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    if complex_ and case in ("hermitian", "eig", "eigvals"):
        return
    function = CASES[case][1]
    expected = numbers(theirs, function, SHAPES[shape], complex_)
    got = numbers(ours, function, SHAPES[shape], complex_)
    for e, g in zip(expected, got, strict=True):
        assert e.dtype == g.dtype
        np.testing.assert_allclose(g, e, rtol=1e-8, atol=1e-8)


def refusals(torch, say):
    linalg, a = torch.linalg, torch.arange(6.0).reshape(3, 2)
    for call in (
        lambda: linalg.qr(a, "no"), lambda: linalg.qr(a[0]), lambda: linalg.eig(a),
        lambda: linalg.tensorinv(a, 0), lambda: linalg.tensorinv(a, 1),
        lambda: linalg.vander(a, N=0),
        lambda: linalg.qr(a.clone().requires_grad_(), "r")[1].sum().backward(),
    ):  # fmt: skip
        try:
            call()
        except RuntimeError as error:
            say(error)
    say([x.shape for x in linalg.qr(a, "complete")], [x.shape for x in linalg.qr(a, "r")])
    say(linalg.qr(torch.eye(2)), linalg.eig(torch.eye(2)))


def test_refusals_and_reprs():
    same(refusals)
