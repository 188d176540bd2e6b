"""Layers and losses as single nodes: the hot path of a linear layer, gradients and their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad.torch as torch
from funcgrad.torch import linear_recorder
from funcgrad.torch.nn import functional as F


def made(*shape: int, seed: int = 0, grad: bool = True, kind: Any = np.float32) -> Any:
    x = np.random.default_rng([seed, *shape]).normal(size=shape).astype(kind)
    return torch.from_numpy(x).requires_grad_(grad)


def general(x: Any, w: Any, b: Any) -> Any:
    """The same layer by operations that anybody may call."""
    return torch.addmm(b, x, w.t())


@pytest.mark.parametrize("wanted", range(1, 8))
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_hot_path_makes_the_nodes_of_the_general_one(wanted: int, kind: Any) -> None:
    found = []
    for layer in (F.linear, general):
        xs = [made(*s, grad=bool(wanted >> k & 1), kind=kind)
              for k, s in enumerate([(4, 3), (2, 3), (2,)])]  # fmt: skip
        out = layer(*xs)
        node = out.grad_fn
        names = [node.name(), *(p and p.name() for p, _ in node.next_functions)]
        saved = [None if m is None else m.detach().numpy() for m in (node._saved_mat1,
                                                                     node._saved_mat2)]  # fmt: skip
        (out * out).sum().backward()
        found.append((names, saved, out.detach().numpy(), [x.grad for x in xs]))
    hot, plain = found
    assert hot[0] == plain[0]
    for x, y in zip((*hot[1], hot[2], *hot[3]), (*plain[1], plain[2], *plain[3]), strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def test_the_hot_path_is_taken_and_left() -> None:
    x, w, b = made(4, 3), made(2, 3), made(2)
    assert linear_recorder.linear(x, w, b) is not None
    assert linear_recorder.linear(x[1:], w, b) is None  # a view
    assert linear_recorder.linear(made(4, 3, kind=np.float64), w, b) is None
    assert linear_recorder.linear(made(4, 5), w, b) is None  # which is refused
    with torch.no_grad():
        assert linear_recorder.linear(x, w, b) is None
    with torch.inference_mode():
        y = made(4, 3, grad=False)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        F.linear(y, w, b)


def test_a_weight_that_is_written_after_the_layer_is_noticed() -> None:
    x, w, b = made(4, 3), made(2, 3), made(2)
    out = F.linear(x, w, b)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_gradients_of_weights_lie_in_memory_as_the_weights_do() -> None:
    x, w, b = made(40, 30), made(20, 30), made(20)
    (F.linear(x, w, b) ** 2).sum().backward()
    assert w.grad.is_contiguous()
    before = w.grad.clone()
    (F.linear(x, w, b) ** 2).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), 2 * before.numpy())


def test_a_gradient_turned_back_shows_the_cotangent_as_in_pytorch() -> None:
    theirs = pytest.importorskip("torch")

    def program(torch: Any) -> list[Any]:
        x = torch.arange(6.0).reshape(3, 2).requires_grad_()
        given = torch.arange(6.0).reshape(3, 2)
        x.t().backward(given.t())
        x.t().backward(given.t())  # adds to what the cotangent shows
        return [given.tolist(), x.grad.tolist()]

    assert program(torch) == program(theirs)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_and_norms_are_single_nodes(reduction: str) -> None:
    x, y = made(4, 3), made(4, 3, seed=1)
    assert F.mse_loss(x, y, reduction=reduction).grad_fn.prim.name == "torch.mse_loss"
    node = F.nll_loss(x, torch.tensor([0, 2, 1, 1]), reduction=reduction).grad_fn
    assert node.prim.name == "nll_loss"
    assert F.layer_norm(x, (3,)).grad_fn.prim.name == "layer_norm"


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(128, 128, 10), (128, 64, 256), (300, 70, 9), (5, 200, 90)])
def test_prepared_layers_give_the_bits_of_the_general_one(
    sizes: tuple[int, int, int], kind: Any, monkeypatch: Any
) -> None:
    rows, width, out = sizes
    x, w, b = made(rows, width, kind=kind), made(out, width, kind=kind), made(out, kind=kind)
    found = [F.linear(x, w, b).detach().numpy() for _ in range(3)]
    assert len({id(y) for y in found}) == 3
    with monkeypatch.context() as patch:
        patch.setattr(linear_recorder, "_known", {})
        found += [general(x, w, b).detach().numpy(), F.linear(x, w, b).detach().numpy()]
    assert len({y.tobytes() for y in found}) == 1
    expected = x.detach().numpy().astype(np.float64) @ w.detach().numpy().T.astype(np.float64)
    tolerance = 1e-4 if kind is np.float32 else 1e-12
    np.testing.assert_allclose(found[0], expected + b.detach().numpy(), tolerance, tolerance)


def test_prepared_layers_of_other_memory_and_without_kernels() -> None:
    from funcgrad.config import config

    x, w, b = made(128, 128), made(128, 128), made(128)
    expected = F.linear(x, w, b).detach().numpy()
    memory = bytearray(b"0" + x.detach().numpy().tobytes())
    odd = torch.from_numpy(np.frombuffer(memory, np.float32, offset=1).reshape(128, 128))
    assert odd._t.value.flags.aligned is False
    np.testing.assert_array_equal(F.linear(odd, w, b).detach().numpy(), expected)
    same = F.linear(w, w, b).detach().numpy()
    np.testing.assert_allclose(same, general(w, w, b).detach().numpy())
    before = config.kernels
    config.kernels = False
    try:
        plain = F.linear(x, w, b)
    finally:
        config.kernels = before
    np.testing.assert_allclose(plain.detach().numpy(), expected, 1e-5, 1e-5)
