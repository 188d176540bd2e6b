"""The hot path of cross entropy gives what the general path gives, and PyTorch's answers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import funcgrad.torch as torch
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn.functional import classification

from .both import same


def given(n: int = 40, classes: int = 7, dtype: Any = np.float32) -> tuple[Any, Any]:
    source = np.random.default_rng(0)
    x = source.normal(size=(n, classes)).astype(dtype)
    return x, source.integers(0, classes, n)


def run(monkeypatch: Any, quick: bool, x: Any, y: Any, **options: Any) -> tuple[Any, Any]:
    with monkeypatch.context() as patch:
        if not quick:
            patch.setattr(classification, "_QUICK", lambda *_: None)
        z = torch.from_numpy(x.copy()).requires_grad_()
        loss = F.cross_entropy(z, torch.from_numpy(y), **options)
    node = loss.grad_fn
    told = [
        type(node).__name__, [type(n).__name__ for n, _ in node.next_functions],
        type(node.next_functions[0][0].next_functions[0][0]).__name__,
        node._saved_self.tolist(), node._saved_target.tolist(), node._saved_weight,
        node.next_functions[0][0]._saved_dim, node.next_functions[0][0]._saved_result.tolist(),
    ]  # fmt: skip
    loss.backward()
    return told, (loss.item(), z.grad.numpy().tobytes())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("ignore", [-100, 3])
@pytest.mark.parametrize("n", [10, 40, 5000])
def test_both_paths_agree(
    monkeypatch: Any, dtype: Any, reduction: str, ignore: int, n: int
) -> None:
    x, y = given(n, dtype=dtype)
    options = {"reduction": reduction, "ignore_index": ignore}
    assert run(monkeypatch, True, x, y, **options) == run(monkeypatch, False, x, y, **options)


def test_what_is_refused_and_ignored_beside_pytorch() -> None:
    def program(torch: Any, say: Any) -> None:
        f = torch.nn.functional
        x = torch.linspace(-1.0, 1.0, 80).reshape(16, 5)
        for target in (0, 4, 5, -1, -100, 2**40, -(2**62)):
            for ignore in (-100, 4, -1, 5):
                z = x.clone().requires_grad_()
                y = torch.arange(16) % 5
                y[3] = target
                try:
                    loss = f.cross_entropy(z, y, ignore_index=ignore)
                    loss.backward()
                    say(
                        target,
                        ignore,
                        round(loss.item(), 5),
                        [round(g, 6) for g in z.grad[3].tolist()],
                    )
                except IndexError as error:
                    say(target, ignore, error)
        z = x.clone().requires_grad_()
        loss = f.cross_entropy(z, torch.full((16,), 2), ignore_index=2)
        loss.backward()
        say(loss, z.grad)
        for reduction in ("none", "mean", "other", None, 3):
            try:
                say(
                    f.cross_entropy(
                        x.clone().requires_grad_(), torch.arange(16) % 5, reduction=reduction
                    ).shape
                )
            except (ValueError, TypeError) as error:
                say(type(error).__name__, error)
        y = torch.arange(16) % 5
        z = x.clone().requires_grad_() * 1
        loss = f.cross_entropy(z, y)
        y[0] = 3
        try:
            loss.backward()
        except RuntimeError as error:
            say(str(error)[:60])
        z = x.clone().requires_grad_()
        kept = []
        h = z * 1
        loss = f.cross_entropy(h, y)
        loss.grad_fn.register_hook(lambda i, o: kept.append((i[0].sum().item(), o)))
        loss.grad_fn.next_functions[0][0].register_prehook(lambda g: kept.append(g[0].shape))
        loss.backward(retain_graph=True)
        say(kept, round(z.grad.abs().sum().item(), 5))
        (g,) = torch.autograd.grad(loss, z, retain_graph=True)
        say(round(g.abs().sum().item(), 5))
        loss.backward()
        try:
            loss.backward()
        except RuntimeError as error:
            say(str(error)[:60])

    same(program)


def test_second_derivatives_and_copies() -> None:
    def program(torch: Any, say: Any) -> None:
        f = torch.nn.functional
        z = torch.linspace(-1.0, 1.0, 80, dtype=torch.float64).reshape(16, 5).requires_grad_()
        y = torch.arange(16) % 5
        loss = f.cross_entropy(z, y)
        (g,) = torch.autograd.grad(loss, z, create_graph=True)
        (h,) = torch.autograd.grad((g**2).sum(), z)
        say([round(v, 12) for v in h.flatten().tolist()])
        say(
            [
                round(v, 12)
                for v in torch.func.grad(lambda z: f.cross_entropy(z, y))(z.detach())[0].tolist()
            ]
        )
        batch = torch.stack([y, y.flip(0)])
        many = torch.func.vmap(lambda y: f.cross_entropy(z.detach(), y))(batch)
        say([round(v, 10) for v in many.tolist()])

    same(program)
    z = torch.ones(4, 3).requires_grad_()
    assert copy.deepcopy(F.cross_entropy(z, torch.tensor([0, 1, 2, 0])).detach()).item() > 1


def test_a_layer_and_its_hooks_beside_pytorch() -> None:
    def program(torch: Any, say: Any) -> None:
        layer = torch.nn.Linear(5, 3)
        with torch.no_grad():
            layer.weight.copy_(torch.linspace(-1.0, 1.0, 15).reshape(3, 5))
            layer.bias.copy_(torch.tensor([0.5, 0.25, 0.0]))
        x = torch.linspace(0.0, 1.0, 20).reshape(4, 5).requires_grad_()
        for hooked in (False, True):
            y = layer(x)
            node = y.grad_fn
            say(type(node).__name__, [type(n).__name__ for n, _ in node.next_functions])
            turned = node.next_functions[2][0]
            say(turned.next_functions[0][0].variable is layer.weight, node._saved_mat1.shape)
            if hooked:
                turned.register_hook(lambda i, o: say(i[0].shape, o[0].shape))
                node.register_prehook(lambda g: say(g[0].shape))
            y.backward(torch.ones(4, 3), retain_graph=True)
            say([[round(v, 4) for v in row] for row in layer.weight.grad.tolist()])
            say([round(v, 4) for v in layer.bias.grad.tolist()], layer.weight.grad.stride())
            if not hooked:
                with torch.no_grad():
                    layer.weight.mul_(1.0)
                try:
                    y.backward(torch.ones(4, 3))
                except RuntimeError as error:
                    say(str(error)[:70])

    same(program)


def test_prepared_losses_give_the_same_bits_and_errors_again() -> None:
    x, y = given(64)
    first: Any = None
    for k in range(6):
        z = torch.from_numpy(x.copy()).requires_grad_()
        loss = F.cross_entropy(z, torch.from_numpy(y), reduction="mean" if k % 2 else "sum")
        loss.backward()
        found = loss.item() / (1 if k % 2 else 64), z.grad.numpy() / (1 if k % 2 else 64)
        first = first or found
        np.testing.assert_allclose(found[0], first[0], 1e-6)
        np.testing.assert_allclose(found[1], first[1], 1e-5, 1e-7)
        bad = y.copy()
        bad[5] = 7
        with pytest.raises(IndexError, match="Target 7 is out of bounds"):
            F.cross_entropy(z, torch.from_numpy(bad))
        with pytest.raises(ValueError, match="batch_size"):
            F.cross_entropy(z, torch.from_numpy(y[1:]))


def test_hooks_on_a_loss_whose_rows_were_counted() -> None:
    def program(torch: Any, say: Any) -> None:
        for ignore in (3, -100):
            z = torch.linspace(-1.0, 1.0, 280).reshape(40, 7).requires_grad_()
            y = torch.arange(40) % 7
            loss = torch.nn.functional.cross_entropy(z, y, ignore_index=ignore)
            loss.grad_fn.register_hook(lambda a, b: say(len(a), b[0].item()))
            loss.backward(retain_graph=True)
            (again,) = torch.autograd.grad(loss, z, create_graph=True)
            say(f"{z.grad.abs().sum().item():.5f}", f"{again.square().sum().item():.5f}")
            again.square().sum().backward()
            say(f"{z.grad.abs().sum().item():.5f}")
        z = torch.linspace(-1.0, 1.0, 280).reshape(40, 7).requires_grad_()
        y = torch.full((40,), 2)
        loss = torch.nn.functional.cross_entropy(z, y, ignore_index=2)
        loss.backward()
        say(loss.isnan().item(), z.grad.isnan().sum().item(), z.grad.abs().nansum().item())

    same(program)
