"""Gradients in the memory of the cotangent that the user gave, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad.torch as ours

theirs = pytest.importorskip("torch")

# operations on two leaves of six elements
MOVES: dict[str, Any] = {
    "view": lambda t, x, z: x.view(-1, 1),
    "reshape": lambda t, x, z: x.reshape(2, 3),
    "unsqueeze": lambda t, x, z: x.unsqueeze(1),
    "squeeze": lambda t, x, z: x.view(1, 6).squeeze(),
    "unflatten": lambda t, x, z: x.unflatten(0, (2, 3)),
    "flatten": lambda t, x, z: x.view(2, 3).flatten(),
    "new axis": lambda t, x, z: x[None],
    "turned twice": lambda t, x, z: x.view(2, 3).t().t(),
    "turned row": lambda t, x, z: x.view(1, 6).t(),
    "moved": lambda t, x, z: t.movedim(x.view(1, 2, 3), 0, 2),
    "cat": lambda t, x, z: t.cat([x, z]),
    "cat of views": lambda t, x, z: t.cat([x.view(2, 3), z.view(2, 3)]),
    "hstack": lambda t, x, z: t.hstack([x, z]),
    "vstack": lambda t, x, z: t.vstack([x, z]),
    "stack": lambda t, x, z: t.stack([x, z]),
    "swapped": lambda t, x, z: x.view(2, 3).swapaxes(0, 1),
}
COPIES: dict[str, Any] = {
    "leaf itself": lambda t, x, z: x,
    "turned": lambda t, x, z: x.view(2, 3).t().reshape(6),
    "cat twice": lambda t, x, z: t.cat([x, x]),
    "cat beside": lambda t, x, z: t.cat([x.view(2, 3), z.view(2, 3)], 1),
    "stack beside": lambda t, x, z: t.stack([x, z], 1),
    "clone": lambda t, x, z: x.clone(),
    "add": lambda t, x, z: x + z,
    "expand": lambda t, x, z: x.expand(1, 6),
    "repeat": lambda t, x, z: x.repeat(2),
    "tile": lambda t, x, z: x.tile((1,)),
    "slice": lambda t, x, z: x[:],
    "ellipsis": lambda t, x, z: x[...],
    "narrow": lambda t, x, z: x.narrow(0, 0, 6),
    "unbind": lambda t, x, z: x.view(1, 6).unbind(0)[0],
    "split": lambda t, x, z: x.split(6)[0],
    "chunk": lambda t, x, z: x.chunk(1)[0],
    "select": lambda t, x, z: x.view(1, 6)[0],
    "sum of views": lambda t, x, z: x.view(6) + x.view(6),
    "flip": lambda t, x, z: x.flip(0),
    "roll": lambda t, x, z: x.roll(1),
    "contiguous": lambda t, x, z: x.contiguous(),
    "to": lambda t, x, z: x.to(t.float32),
    "double": lambda t, x, z: x.double(),
    "block_diag": lambda t, x, z: t.block_diag(x, z),
    "column_stack": lambda t, x, z: t.column_stack([x, z]),
    "broadcast": lambda t, x, z: t.broadcast_to(x, (6,)),
    "expanded cat": lambda t, x, z: t.cat([x.expand(2, 6), z.expand(2, 6)]),
    "diag": lambda t, x, z: t.diag(x),
    "vander": lambda t, x, z: t.atleast_3d(x).expand(1, 6, 2),
}


def pulled(torch: Any, f: Any, size: int = 6, passes: int = 1) -> tuple[Any, Any, Any]:
    x = torch.arange(float(size), requires_grad=True)
    z = torch.arange(float(size), requires_grad=True)
    with torch.no_grad():
        one = torch.ones_like(f(torch, x, z))
    for _ in range(passes):
        f(torch, x, z).backward(one)
    return x, z, one


def seen(x: Any, z: Any, one: Any) -> list[Any]:
    """What can be seen of memory: writes into the gradients and into the cotangent."""
    found: list[Any] = []
    grads = [y.grad for y in (x, z) if y.grad is not None]

    def look() -> None:
        found.append([one._version, one.tolist()])
        found.extend([g._version, g.tolist(), g._is_view()] for g in grads)

    look()
    for g in grads:
        g.mul_(2)
        look()
    one.add_(1)
    look()
    for g in grads:
        g[0] = 7.0
        look()
    for y in (x, z):
        if y.grad is not None:
            y.grad = None
    one.zero_()
    look()
    return found


@pytest.mark.parametrize("passes", [1, 2, 3])
@pytest.mark.parametrize("name", MOVES)
def test_a_view_of_the_cotangent_is_the_gradient(name: str, passes: int) -> None:
    mine, other = (pulled(t, MOVES[name], passes=passes) for t in (ours, theirs))
    storage = mine[2].untyped_storage().data_ptr()
    assert mine[0].grad.untyped_storage().data_ptr() == storage
    assert seen(*mine) == seen(*other)


@pytest.mark.parametrize("name", COPIES)
def test_what_pytorch_does_not_share_is_not_shared(name: str) -> None:
    mine, other = (pulled(t, COPIES[name]) for t in (ours, theirs))
    assert seen(*mine)[:1] == seen(*other)[:1]
    for torch in (ours, theirs):
        x, _, one = pulled(torch, COPIES[name])
        assert not np.may_share_memory(x.grad.numpy(), one.numpy())
        x.grad.add_(1)
        assert one._version == 0


@pytest.mark.parametrize("size", [6, 300_000])
@pytest.mark.parametrize("name", ["view", "new axis", "cat"])
def test_recipes_hand_on_as_the_first_call_does(name: str, size: int) -> None:
    for k in range(90):
        x, z, one = pulled(ours, MOVES[name], size)
        x.grad.add_(1)
        assert one._version == 1 and x.grad[0].item() == 2.0
        assert one.sum().item() == one.numel() + size
        y = MOVES[name](ours, x, z)
        if name != "cat":
            assert y._base is x and y.shape == one.shape and y.is_contiguous()
            with ours.no_grad():
                x.fill_(float(k))
            assert y.sum().item() == k * size


@pytest.mark.parametrize("size", [1, 6, 100_000])
@pytest.mark.parametrize("torch", [ours, theirs])
def test_passes_add_into_the_cotangent(torch: Any, size: int) -> None:
    x = torch.zeros(size, requires_grad=True)
    one = torch.ones(size, 1)
    found = []
    for _ in range(3):
        x.view(-1, 1).backward(one)
        found.append((x.grad[0].item(), one[0, 0].item(), one._version, x.grad._version))
    assert found == [(1.0, 1.0, 0, 0), (2.0, 2.0, 1, 1), (4.0, 4.0, 2, 2)]


def test_two_leaves_share_one_cotangent() -> None:
    def program(torch: Any) -> list[Any]:
        x, z = (torch.zeros(3, requires_grad=True) for _ in range(2))
        one = torch.ones(3, 1)
        torch.autograd.backward([x.view(3, 1), z.view(3, 1)], [one, one])
        x.grad.add_(1)
        found = [z.grad.tolist(), one.tolist(), z.grad._version]
        torch.autograd.backward([x.view(3, 1), z.view(3, 1)], [one, one])
        return [*found, x.grad.tolist(), z.grad.tolist(), one._version]

    assert program(ours) == program(theirs)


def test_what_saved_the_cotangent_sees_a_write_into_the_gradient() -> None:
    def program(torch: Any) -> str:
        x, w = torch.zeros(3, requires_grad=True), torch.ones(3, 1, requires_grad=True)
        one = torch.ones(3, 1)
        y = w * one
        x.view(3, 1).backward(one)
        x.grad.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
        return "told"

    assert program(ours) == program(theirs)


@pytest.mark.parametrize("make", [
    lambda t: t.ones(1).expand(6, 1),  # no steps
    lambda t: t.ones(12, 1)[::2],  # other steps
    lambda t: t.ones(6, 1, dtype=t.float64),  # another dtype
    lambda t: t.ones(8, 1)[1:7],  # a part of a larger tensor: shared
    lambda t: t.ones(6, 1, requires_grad=True),
])  # fmt: skip
def test_cotangents_that_lie_otherwise(make: Any) -> None:
    def program(torch: Any) -> list[Any]:
        x = torch.zeros(6, requires_grad=True)
        g = make(torch)
        x.view(6, 1).backward(g)
        x.grad.add_(1)
        return [g.tolist(), x.grad.tolist(), x.grad.stride(), x.grad.dtype == torch.float32]

    mine, other = program(ours), program(theirs)
    assert mine[1:] == other[1:]
    assert mine[0] in (other[0], make(ours).tolist())


def test_hooks_and_graphs_leave_the_cotangent_alone() -> None:
    kept = []
    x = ours.zeros(6, requires_grad=True)
    x.register_hook(kept.append)
    one = ours.ones(6, 1)
    x.view(6, 1).backward(one)
    x.grad.add_(1)
    assert one.tolist() == [[1.0]] * 6 and kept[0].tolist() == [1.0] * 6
    for torch in (ours, theirs):
        y = torch.zeros(6, requires_grad=True)
        one = torch.ones(6, 1)
        y.view(6, 1).backward(one, create_graph=True)
        y.grad.add_(1)
        assert one.tolist() == [[1.0]] * 6
        (g,) = torch.autograd.grad(y.view(6, 1), y, torch.ones(6, 1))
        assert g.tolist() == [1.0] * 6
        a = torch.zeros(2, 3, requires_grad=True)
        one = torch.ones(3, 2)
        a.t().backward(one)  # in the order of the leaf
        a.grad.add_(1)
        assert one.tolist() == [[1.0] * 2] * 3 and a.grad.stride() == (3, 1)


def test_a_transposed_leaf_keeps_a_transposed_cotangent() -> None:
    def program(torch: Any) -> list[Any]:
        a = torch.zeros(2, 3).t().requires_grad_()
        one = torch.ones(2, 3)
        a.t().backward(one)
        a.grad.add_(1)
        return [one.tolist(), a.grad.stride(), one._version]

    assert program(ours) == program(theirs)
