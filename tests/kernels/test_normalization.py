"""Kernels of normalisations: values have NumPy's bits, gradients are those of the rule."""

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad.torch as torch
from funcgrad.core.types import type_of_raw
from funcgrad.kernels import normalization
from funcgrad.kernels.choice import entries
from funcgrad.ops.channels import BATCH_NORM, GROUP_NORM
from funcgrad.ops.normalization import LAYER_NORM
from funcgrad.transforms.node import OpNode

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30]
DTYPES = [np.float64, np.float32]
# whose cotangents are asked for: of the operand, the weight and the bias
WANTED = [(True, True, True), (False, True, True), (True, False, False)]


@pytest.fixture(autouse=True)
def any_size(monkeypatch, always):
    monkeypatch.setattr(normalization, "FEWEST", 1)


def calls(name):
    return sum(e.calls for e in entries.values() if e.name == name)


def node_of(prim, xs, params, wanted):
    """A node as a tape records it."""
    node = OpNode()
    node.prim, node.params, node.seq = prim, params, 0
    node.parents = tuple(OpNode() if w else None for w in wanted)
    node.avals = tuple(map(type_of_raw, xs))
    node.saved = (None, *xs)
    return node


def same(found, expected):
    """Bit for bit, but that a NaN is a NaN."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    clean = [np.where(np.isnan(x), np.nan, x).astype(x.dtype).tobytes() for x in (found, expected)]
    assert clean[0] == clean[1]


def near(found, expected, terms):
    """To the rounding of sums of so many terms as large as the largest of the results."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    eps = np.finfo(expected.dtype).eps
    largest = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    slack = 64 * eps * largest * max(terms, 1) ** 0.5
    np.testing.assert_allclose(found, expected, rtol=64 * eps, atol=slack)


def check_pull(node, g, terms):
    pull = node.prim.backward_kernel.pull
    with np.errstate(all="ignore"):
        expected = node.prim.vjp(node, g)
        found, own = pull(node, g)
    assert own
    for e, f in zip(expected, found, strict=True):
        assert (e is None) == (f is None)
        if e is not None:
            near(f, e, terms)


def drawn(data, shape, dtype, special=True):
    x = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=shape).astype(dtype)
    for _ in range(data.draw(st.integers(0, 3)) if special and x.size else 0):
        place = data.draw(st.integers(0, x.size - 1))
        x.reshape(-1)[place] = data.draw(st.sampled_from(SPECIAL))
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 7, 8, 9, 127, 128, 129, 136, 257, 1000, 5001])
def test_sums_have_the_bits_of_numpy(columns, dtype):
    from funcgrad.kernels.pairwise import DEPTH, row_total

    x = np.random.default_rng(columns).normal(3, 1, columns).astype(dtype)
    room = np.empty(DEPTH, dtype), np.empty(DEPTH, np.int64)
    assert row_total(x, None, *room) == np.add.reduce(x)
    away = x - dtype(2.5)
    assert row_total(x, dtype(2.5), *room) == np.add.reduce(away * away)
    nothing = -np.zeros(columns, dtype)
    assert np.signbit(row_total(nothing, None, *room)) == np.signbit(np.add.reduce(nothing))


@settings(max_examples=examples(80), deadline=None)
@given(data=st.data())
def test_layer_norm_is_the_primitive(data):
    lead = tuple(data.draw(st.lists(st.integers(1, 4), max_size=2)))
    last = data.draw(st.sampled_from([(1,), (5,), (8,), (37,), (3, 4), (300,)]))
    dtype = data.draw(st.sampled_from(DTYPES))
    wanted = data.draw(st.sampled_from(WANTED))
    scaled, moved = wanted[1] or data.draw(st.booleans()), wanted[2]
    x, g = drawn(data, (*lead, *last), dtype), drawn(data, (*lead, *last), dtype)
    w = drawn(data, last, dtype) if scaled else dtype(1)
    b = drawn(data, last, dtype) if moved else dtype(0)
    axes = tuple(range(len(lead), x.ndim))
    params = {"axes": axes, "eps": 1e-5, "scaled": scaled, "moved": moved}
    before = calls("layer_norm_value")
    with np.errstate(all="ignore"):
        found = LAYER_NORM.impl(x, w, b, **params)
        same(found, LAYER_NORM.impl.args[0](x, w, b, **params))
    assert calls("layer_norm_value") == before + 1
    g = data.draw(st.sampled_from([g, np.asfortranarray(g), np.repeat(g, 2, -1)[..., ::2]]))
    check_pull(node_of(LAYER_NORM, (x, w, b), params, wanted), g, x.size)


def test_layer_norm_over_two_axes_gives_cotangents_of_their_operands_shapes():
    x = torch.randn(60, 28, 28, dtype=torch.float64)
    scale, move = (torch.randn(28, 28, dtype=torch.float64) for _ in range(2))
    leaves = [t.clone().requires_grad_() for t in (x, scale, move)]
    (torch.nn.functional.layer_norm(leaves[0], (28, 28), *leaves[1:]) ** 2).sum().backward()
    assert [tuple(t.grad.shape) for t in leaves] == [(60, 28, 28), (28, 28), (28, 28)]
    one = [t.clone().requires_grad_() for t in (x, scale, move)]
    flat = torch.nn.functional.layer_norm(
        one[0].reshape(60, 784), (784,), *(t.reshape(784) for t in one[1:])
    )
    (flat**2).sum().backward()
    for a, b in zip(leaves, one, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-12)


@settings(max_examples=examples(80), deadline=None)
@given(data=st.data())
def test_norms_of_channels_are_the_primitives(data):
    prim = data.draw(st.sampled_from([BATCH_NORM, GROUP_NORM]))
    rest = data.draw(st.sampled_from([(4,), (37,), (3, 3), (2, 5, 20)]))
    if prim is BATCH_NORM:
        rest = data.draw(st.sampled_from([(), (1, 1), rest]))
    groups, each = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    shape = (data.draw(st.sampled_from([1, 2, 5, 140])), groups * each, *rest)
    dtype = data.draw(st.sampled_from(DTYPES))
    wanted = data.draw(st.sampled_from(WANTED))
    scaled, moved = wanted[1] or data.draw(st.booleans()), wanted[2]
    x, g = drawn(data, shape, dtype), drawn(data, shape, dtype)
    w = drawn(data, shape[1:2], dtype) if scaled else dtype(1)
    b = drawn(data, shape[1:2], dtype) if moved else dtype(0)
    params = {"eps": 1e-5, "scaled": scaled, "moved": moved}
    params |= {} if prim is BATCH_NORM else {"groups": groups}
    before = calls("channels_value")
    with np.errstate(all="ignore"):
        found, expected = prim.impl(x, w, b, **params), prim.impl.args[-1](x, w, b, **params)
    for f, e in zip(*((v if prim.multiple else (v,)) for v in (found, expected)), strict=True):
        same(f, e)
    assert calls("channels_value") == before + 1
    node = node_of(prim, (x, w, b), params, wanted)
    if prim.multiple:
        node.outputs = tuple(type_of_raw(v) for v in found)
        check_pull(node, [g, None, None], x.size)
    else:
        check_pull(node, data.draw(st.sampled_from([g, np.asfortranarray(g)])), x.size)


def test_cotangents_of_the_statistics_go_to_the_rule():
    x = np.random.default_rng(0).normal(size=(4, 3, 5))
    params = {"eps": 1e-5, "scaled": False, "moved": False}
    node = node_of(BATCH_NORM, (x, 1.0, 0.0), params, (True, False, False))
    node.outputs = tuple(type_of_raw(v) for v in BATCH_NORM.impl(x, 1.0, 0.0, **params))
    (found, *_), own = BATCH_NORM.backward_kernel.pull(node, [None, np.ones(3), None])
    assert not own
    np.testing.assert_allclose(found, np.full(x.shape, 1 / 20))


def test_what_has_gaps_goes_to_numpy():
    x = np.random.default_rng(0).normal(size=(6, 8))
    params = {"axes": (1,), "eps": 1e-5, "scaled": False, "moved": False}
    before = calls("layer_norm_value")
    found = LAYER_NORM.impl(x[:, ::2], 1.0, 0.0, **params)
    same(found, LAYER_NORM.impl(np.ascontiguousarray(x[:, ::2]), 1.0, 0.0, **params))
    assert LAYER_NORM.impl(x[:0], 1.0, 0.0, **params).shape == (0, 8)
    assert calls("layer_norm_value") == before + 1


def test_the_bits_do_not_depend_on_the_threads(monkeypatch):
    monkeypatch.setattr("funcgrad.kernels.threads.PARALLEL", 1)
    monkeypatch.setattr("funcgrad.kernels.threads.PIECE", 512)
    rng = np.random.default_rng(0)
    x, g = (rng.normal(size=(90, 70)).astype(np.float32) for _ in range(2))
    w, b = (rng.normal(size=70).astype(np.float32) for _ in range(2))
    params = {"axes": (1,), "eps": 1e-5, "scaled": True, "moved": True}
    node = node_of(LAYER_NORM, (x, w, b), params, (True, True, True))
    found = []
    for count in (1, 3, 3):
        monkeypatch.setattr(normalization.config, "threads", count)
        parts = [LAYER_NORM.impl(x, w, b, **params), *LAYER_NORM.backward_kernel.pull(node, g)[0]]
        found.append([part.tobytes() for part in parts])
    assert found[0] == found[1] == found[2]


def test_tensors_have_code_of_their_own(monkeypatch):
    x = torch.randn(300, 200, dtype=torch.float64).requires_grad_()
    layer = torch.nn.LayerNorm(200, dtype=torch.float64)

    def step():
        x.grad = layer.weight.grad = layer.bias.grad = None
        y = layer(x)
        (y**3).sum().backward()
        return [y.detach().numpy(), *(p.grad.numpy() for p in (x, layer.weight, layer.bias))]

    count = lambda: (calls("layer_norm_value"), calls("layer_norm_backward"))
    before = count()
    found = step()
    monkeypatch.setattr(normalization.config, "kernels", False)
    for f, e in zip(found, step(), strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-9, atol=1e-9)
    assert count() == before
