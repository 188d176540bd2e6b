"""Attention as one operation: its node, its native code, and that of many weights."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad.torch as ours
from funcgrad.torch.nn.functional import attended

from .both import theirs

attention = ours.nn.functional.scaled_dot_product_attention
MASKS = ("none", "causal", "booleans", "added", "of each head")


def tensors(torch, rows=70, columns=90, size=12, dtype="float32", turned=False):
    rng = np.random.default_rng(0)
    found = []
    for length in (rows, columns, columns):
        numbers = rng.normal(size=(2, length, 3, size) if turned else (2, 3, length, size))
        x = torch.tensor(numbers, dtype=getattr(torch, dtype)).requires_grad_()
        found.append(x.transpose(1, 2) if turned else x)
        found[-1].retain_grad()
    return found


def options(torch, mask, rows=70, columns=90):
    rng = np.random.default_rng(1)
    if mask == "booleans":
        kept = rng.random((rows, columns)) < 0.5
        kept[3] = False  # a query without keys
        return {"attn_mask": torch.tensor(kept)}
    if mask == "added":
        return {"attn_mask": torch.tensor(rng.normal(size=(rows, columns)).astype("f4"))}
    if mask == "of each head":
        return {"attn_mask": torch.tensor(rng.normal(size=(2, 3, 1, columns)).astype("f4"))}
    return {"is_causal": True} if mask == "causal" else {}


def answers(torch, mask, **how):
    q, k, v = tensors(torch, **how)
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, **options(torch, mask))
    (out * out).sum().backward()
    return [x.detach().numpy() for x in (out, q.grad, k.grad, v.grad)]


@pytest.mark.skipif(theirs is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("mask", MASKS)
def test_values_and_gradients_are_those_of_pytorch(mask, turned):
    found, expected = (answers(t, mask, turned=turned) for t in (ours, theirs))
    for g, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=2e-4, atol=2e-5)


@pytest.mark.skipif(theirs is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("size", [12, 70])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3)])
def test_heads_are_read_between_others_and_results_lie_as_queries_do(order, size):
    """Values and gradients of operands in every order of places, examples and heads."""
    back = [order.index(k) for k in range(4)]
    found = []
    for torch in (ours, theirs):
        rng = np.random.default_rng(3)
        shape = [(2, 3, 130, size)[k] for k in order]
        leaves = [torch.tensor(rng.normal(size=shape), dtype=torch.float32) for _ in range(4)]
        q, k, v, g = (x.permute(*back) for x in leaves)
        operands = [x.requires_grad_() for x in (q, k, v)]
        out = torch.nn.functional.scaled_dot_product_attention(*operands)
        out.backward(g)
        assert [int(n) for n in out.stride()] == [int(n) for n in q.stride()]
        found.append([x.detach().numpy() for x in (out, *(x.grad for x in operands))])
    for g, e in zip(*found, strict=True):
        np.testing.assert_allclose(g, e, rtol=2e-4, atol=2e-5)


@pytest.mark.skipif(theirs is None, reason="PyTorch is not installed")
def test_the_node_is_that_of_pytorch():
    names = []
    for torch in (ours, theirs):
        f = torch.nn.functional.scaled_dot_product_attention
        q, k, v = tensors(torch)
        mask = options(torch, "added")["attn_mask"]
        outs = [f(q, k, v), f(q, k, v, mask), f(q, k, v, is_causal=True, scale=0.5)]
        names.append([x.grad_fn.name() for x in outs])
        names[-1] += [outs[2].grad_fn._saved_scale, outs[2].grad_fn._saved_is_causal]
    assert names[0] == names[1]


@pytest.mark.parametrize("mask", MASKS)
def test_weights_that_are_not_kept_give_the_same_bits(mask, monkeypatch):
    kept = answers(ours, mask)
    monkeypatch.setattr(attended, "KEPT", 0)
    for g, e in zip(answers(ours, mask), kept, strict=True):
        np.testing.assert_array_equal(g, e)


def test_heads_are_taken_together_without_another_bit(monkeypatch):
    together = answers(ours, "of each head")
    monkeypatch.setattr(attended, "TOGETHER", 1)
    for g, e in zip(answers(ours, "of each head"), together, strict=True):
        np.testing.assert_array_equal(g, e)


def test_the_value_has_the_same_bits_without_a_gradient():
    q, k, v = tensors(ours)
    with ours.no_grad():
        plain = attention(q, k, v)
    np.testing.assert_array_equal(plain.numpy(), attention(q, k, v).detach().numpy())


def test_single_cotangents_and_second_order_agree_with_the_steps():
    def steps(q, k, v):
        scores = (q @ k.transpose(-2, -1)) / q.size(-1) ** 0.5
        return ours.softmax(scores, -1) @ v

    q, k, v = tensors(ours, 3, 4, 5, "float64")
    for wanted in ([q], [k], [v], [q, v]):
        found, expected = [], []
        for f, kept in ((attention, found), (steps, expected)):
            first = ours.autograd.grad(f(q, k, v).pow(3).sum(), wanted, create_graph=True)
            kept += first
            kept += ours.autograd.grad(sum((g * g).sum() for g in first), wanted)
        for g, e in zip(found, expected, strict=True):
            ours.testing.assert_close(g, e)


def test_under_vmap_and_compile():
    q, k, v = tensors(ours, 3, 4, 5, "float64")
    stacked = [ours.stack([x.detach(), 2 * x.detach()]) for x in (q, k, v)]
    found = ours.func.vmap(attention)(*stacked)
    ours.testing.assert_close(found[0], attention(q, k, v).detach())
    ours.testing.assert_close(ours.compile(attention)(q, k, v), attention(q, k, v))


def of_heads(torch, sizes, dtype, mask):
    """Means of ragged heads and cotangents of all, between other heads and apart."""
    examples, heads, queries, keys, size = sizes
    rng = np.random.default_rng(5)

    def tensor(n):
        x = torch.tensor(rng.normal(size=(examples, n, heads, size)).astype(dtype))
        return x.requires_grad_()

    xs = [tensor(n) for n in (queries, keys, keys)]
    given = None
    if mask == "booleans":
        given = rng.random((examples, 1, queries, keys)) > 0.4
        given[0, 0, 0] = False  # a query without keys
    elif mask == "keys":
        given = rng.normal(size=(queries, keys)).astype(dtype)
        given[:, -1] = -np.inf
    elif mask == "queries":
        given = rng.normal(size=(examples, heads, queries, 1)).astype(dtype)
    given = None if given is None else torch.tensor(given)
    attend = torch.nn.functional.scaled_dot_product_attention
    out = attend(*(x.transpose(1, 2) for x in xs), attn_mask=given)
    grads = torch.autograd.grad(out.square().sum(), xs)
    (alone,) = torch.autograd.grad(attend(*(x.transpose(1, 2) for x in xs), given).sum(), xs[1])
    return [x.numpy() for x in (out.detach(), *grads, alone)]


@pytest.mark.parametrize("mask", ["none", "booleans", "keys", "queries"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "sizes", [(2, 3, 17, 33, 20), (5, 1, 1, 9, 7), (2, 2, 130, 70, 64), (1, 2, 60, 50, 12)]
)
def test_heads_have_the_same_bits_for_any_number_of_threads_and_whatever_is_kept(
    sizes, dtype, mask, monkeypatch
):
    before = ours.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            ours.set_num_threads(threads)
            found.append(of_heads(ours, sizes, dtype, mask))
    finally:
        ours.set_num_threads(before)
    monkeypatch.setattr(attended, "KEPT", 0)  # weights are computed again, some heads at a time
    monkeypatch.setattr(attended, "TOGETHER", 1)
    found.append(of_heads(ours, sizes, dtype, mask))
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))
    if theirs is not None:
        eps = np.finfo(dtype).eps
        for mine, other in zip(found[0], of_heads(theirs, sizes, dtype, mask), strict=True):
            np.testing.assert_allclose(mine, other, 0, 64 * eps * max(1, np.abs(other).max()))
