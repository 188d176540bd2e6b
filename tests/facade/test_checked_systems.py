"""`inv_ex`, `solve_ex`, `cholesky_ex`: what they say of matrices that have no result."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs

REGULAR = [[3.0, 1.0, 0.5], [1.0, 4.0, 0.0], [0.5, 0.0, 2.0]]
STACK = {
    "regular": REGULAR,
    "rank 2": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]],
    "zero": [[0.0] * 3] * 3,
    "indefinite": [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
}
CALLS = {
    "inv_ex": lambda t, a: t.linalg.inv_ex(a),
    "solve_ex": lambda t, a: t.linalg.solve_ex(a, t.ones_like(a)[..., :2]),
    "solve_ex of vectors": lambda t, a: t.linalg.solve_ex(a, t.ones_like(a)[..., 0]),
    "solve_ex from the right": lambda t, a: t.linalg.solve_ex(a, a.mT[..., :2, :], left=False),
    "cholesky_ex": lambda t, a: t.linalg.cholesky_ex(a),
    "upper cholesky_ex": lambda t, a: t.linalg.cholesky_ex(a, upper=True),
}


def results(torch, call, array):
    """The result, what is said of it, and the gradient."""
    a = torch.tensor(array, requires_grad=True)
    found, info = call(torch, a)
    weights = torch.arange(found.numel()).reshape(found.shape)
    (found.abs() ** 2 * weights).sum().backward()
    return found.detach().resolve_conj().numpy(), info.numpy(), a.grad.resolve_conj().numpy()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_singular_matrices_tell_and_the_others_are_right(call, dtype):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    stack = np.array(list(STACK.values()), dtype)
    if dtype is np.complex128:
        turn = np.array([[0, 1j, 0], [-1j, 0, 0], [0, 0, 0]])
        stack[0] += turn
    expected = results(theirs, CALLS[call], stack)
    got = results(ours, CALLS[call], stack)
    np.testing.assert_array_equal(got[1], expected[1])
    assert got[1].dtype == np.int32
    failed = got[1] != 0
    assert failed.any() and not failed.all()
    tolerance = 1e-4 if dtype is np.float32 else 1e-12
    for g, e in ((got[0], expected[0]), (got[2], expected[2])):
        assert g.dtype == e.dtype
        np.testing.assert_allclose(g[~failed], e[~failed], rtol=tolerance, atol=tolerance)
        assert np.isnan(g[failed]).all()


@pytest.mark.parametrize("name", STACK)
@pytest.mark.parametrize("call", CALLS)
def test_one_matrix_is_as_in_a_stack(name, call):
    for torch in (ours, *([theirs] if theirs else [])):
        stack = torch.tensor(list(STACK.values()), dtype=torch.float64)
        k = list(STACK).index(name)
        whole, alone = CALLS[call](torch, stack), CALLS[call](torch, stack[k])
        assert whole[1][k] == alone[1]
        np.testing.assert_allclose(whole[0][k].numpy(), alone[0].numpy(), rtol=1e-12, atol=1e-12)


def test_transforms_and_compiled_programs_tell_too():
    stack = ours.tensor(list(STACK.values()))
    for call in CALLS.values():
        found, info = call(ours, stack)
        mapped = ours.vmap(lambda a, call=call: tuple(call(ours, a)))(stack)
        compiled = ours.compile(lambda a, call=call: tuple(call(ours, a)))(stack)
        for made in (mapped, compiled):
            np.testing.assert_array_equal(made[1].numpy(), info.numpy())
            np.testing.assert_allclose(made[0].numpy(), found.numpy(), rtol=1e-5, atol=1e-6)


def test_second_derivatives():
    a = ours.tensor(REGULAR, dtype=ours.float64, requires_grad=True)
    for call in CALLS.values():
        ours.autograd.gradgradcheck(lambda a, call=call: call(ours, (a + a.mT) / 2)[0], a)


def said(torch, say):
    linalg = torch.linalg
    zero, some = torch.zeros(2, 2), torch.stack([torch.eye(2), torch.ones(2, 2)])
    for call in (
        lambda: linalg.inv_ex(zero, check_errors=True),
        lambda: linalg.inv_ex(some, check_errors=True),
        lambda: linalg.solve_ex(zero, zero, check_errors=True),
        lambda: linalg.solve_ex(some, some, check_errors=True),
        lambda: linalg.solve_ex(some, torch.ones(3, 1)),
        lambda: linalg.cholesky_ex(some, check_errors=True),
        lambda: linalg.cholesky_ex(-some, check_errors=True),
        lambda: linalg.inv_ex(torch.ones(2, 3)), lambda: linalg.cholesky_ex(zero.int()),
        lambda: linalg.inv(some), lambda: linalg.solve(some, some), lambda: linalg.inv_ex(),
        lambda: linalg.cholesky(some), lambda: linalg.inv_ex(zero, out=(zero,)),
        lambda: linalg.inv_ex(zero, True), lambda: linalg.qr(zero, out=(zero,)),
    ):  # fmt: skip
        try:
            say(call())
        except (RuntimeError, TypeError) as error:
            say(type(error).__name__, error)
    out = (torch.empty(0), torch.empty(0, dtype=torch.int32))
    found = linalg.inv_ex(torch.eye(2), out=out)
    say(*found, found[0] is out[0], found[1] is out[1], out)
    say(linalg.inv_ex(torch.zeros(0, 0)), linalg.inv_ex(torch.zeros(0, 2, 2)))
    say(linalg.cholesky_ex(torch.zeros(2, 0, 0)), linalg.solve_ex(zero[:0, :0], zero[:0]))


def test_refusals_empty_matrices_and_out():
    same(said)


def without_q(torch, say):
    a = torch.eye(3, 2, requires_grad=True)
    for mode in ("r", "complete"):
        found = torch.linalg.qr(a, mode)
        say([x.requires_grad for x in found], [x.shape for x in found], found.R.grad_fn.name())
        try:
            found.R.sum().backward()
        except RuntimeError as error:
            say(error)
    say(torch.linalg.qr(torch.eye(2), "r"), a.grad)
    with torch.no_grad():
        say(torch.linalg.qr(a, "r"))


def test_qr_without_a_derivative_refuses_on_the_way_back():
    same(without_q)
