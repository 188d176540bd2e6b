"""Attention and transformers beside PyTorch: values, gradients, first weights, and refusals."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs


def numbers(torch, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.normal(size=shape)).requires_grad_()


def told(torch, out, inputs, second=True):
    """Values, gradients, and a gradient of them, of tensors."""
    outs = [x for x in (out if isinstance(out, tuple) else (out,)) if x is not None]
    loss = sum((o * o).sum() for o in outs)
    grads = torch.autograd.grad(loss, inputs, create_graph=second, allow_unused=True)
    found = [*outs, *(g for g in grads if g is not None)]
    if second:
        (h,) = torch.autograd.grad(sum((g * g).sum() for g in grads if g is not None), inputs[:1])
        found.append(h)
    return [x.detach().numpy() for x in found]


def agree(program, tolerance=1e-9):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    for e, g in zip(program(theirs), program(ours), strict=True):
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance)


MASKS = {
    "none": lambda t: {},
    "causal": lambda t: {"is_causal": True},
    "booleans": lambda t: {"attn_mask": t.tensor([[True, False, True, True]] * 3)},
    "added": lambda t: {"attn_mask": numbers(t, 3, 4, seed=9).detach()},
    "without a key": lambda t: {"attn_mask": t.tensor([[False] * 4, [True] * 4, [True] * 4])},
    "scaled": lambda t: {"scale": 0.3},
}


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("mask", MASKS)
def test_scaled_dot_product_attention(mask, shape):
    def program(torch):
        q, k = numbers(torch, *shape, 3, 5), numbers(torch, *shape, 4, 5, seed=1)
        v = numbers(torch, *shape, 4, 5, seed=2)
        f = torch.nn.functional.scaled_dot_product_attention
        return told(torch, f(q, k, v, **MASKS[mask](torch)), [q, k, v], second=False)

    agree(program)


def test_second_order_and_heads_that_are_shared():
    def program(torch):
        q, k, v = (numbers(torch, 2, h, 3, 4, seed=h) for h in (4, 2, 2))
        f = torch.nn.functional.scaled_dot_product_attention
        with kernel(torch):
            return told(torch, f(q, k, v, enable_gqa=True), [q, k, v])

    def kernel(torch):
        if torch is ours:
            return ours.enable_grad()
        from torch.nn.attention import SDPBackend, sdpa_kernel

        return sdpa_kernel(SDPBackend.MATH)

    agree(program)


ATTENTIONS = [
    {}, {"bias": False}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"kdim": 3, "vdim": 5},
    {"batch_first": True}, {"add_bias_kv": True, "add_zero_attn": True},
]  # fmt: skip


@pytest.mark.parametrize("weights", [True, False, "each"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("options", ATTENTIONS, ids=str)
def test_multi_head_attention(options, masked, weights):
    def program(torch):
        torch.manual_seed(0)
        layer = torch.nn.MultiheadAttention(8, 2, dtype=torch.float64, **options)
        first = options.get("batch_first", False)
        shape = (3, 5) if first else (5, 3)
        q = numbers(torch, *((3, 4) if first else (4, 3)), 8)
        k = numbers(torch, *shape, options.get("kdim", 8), seed=1)
        v = numbers(torch, *shape, options.get("vdim", 8), seed=2)
        more = {"need_weights": bool(weights), "average_attn_weights": weights != "each"}
        if masked:
            more["key_padding_mask"] = torch.tensor(
                [[False] * 4 + [True], [False] * 5, [False] * 3 + [True] * 2]
            )
            more["attn_mask"] = torch.zeros(4, 5, dtype=torch.bool).index_fill(
                1, torch.tensor([0]), True
            )
        inputs = [q, k, v, *layer.parameters()]
        return told(torch, layer(q, k, v, **more), inputs, second=bool(weights))

    agree(program)


def test_attention_of_a_single_example():
    def program(torch):
        torch.manual_seed(0)
        layer = torch.nn.MultiheadAttention(8, 2, dtype=torch.float64)
        q = numbers(torch, 4, 8)
        padding = torch.tensor([False, False, True, False])
        return told(torch, layer(q, q, q, key_padding_mask=padding), [q])

    agree(program)


def causal(torch, n):
    return torch.nn.Transformer.generate_square_subsequent_mask(n, dtype=torch.float64)


LAYERS = [{}, {"norm_first": True}, {"activation": "gelu", "bias": False}, {"batch_first": True}]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("options", LAYERS, ids=str)
def test_encoders_and_decoders(options, masked):
    def program(torch):
        nn = torch.nn
        torch.manual_seed(0)
        made = {"dim_feedforward": 6, "dropout": 0.0, "dtype": torch.float64, **options}
        encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, **made), 2, nn.LayerNorm(4, dtype=torch.float64)
        )
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, **made), 2)
        x, y = numbers(torch, 3, 3, 4), numbers(torch, 3, 3, 4, seed=1)
        padding = torch.tensor([[False, False, True]] * 3) if masked else None
        mask = causal(torch, 3) if masked else None
        float_padding = None if padding is None else torch.zeros(3, 3, dtype=torch.float64)
        if float_padding is not None:
            float_padding[:, 2] = -math.inf
        memory = encoder(x, mask, float_padding)
        out = decoder(y, memory, tgt_mask=mask, memory_key_padding_mask=padding)
        inputs = [x, y, *encoder.parameters(), *decoder.parameters()]
        return told(torch, out, inputs, second=False)

    agree(program, 1e-8)


def test_a_whole_transformer_starts_with_the_same_weights_and_trains_alike():
    def program(torch):
        torch.manual_seed(0)
        model = torch.nn.Transformer(4, 2, 1, 1, 6, dropout=0.0, batch_first=True)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        x, y = (numbers(torch, 2, 3, 4, seed=s).detach().float() for s in (0, 1))
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            mask = torch.nn.Transformer.generate_square_subsequent_mask(3)
            loss = (model(x, y, tgt_mask=mask) - y).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return [np.array(losses)]

    agree(program, 1e-4)


def reprs_and_names(torch, say):
    torch.manual_seed(0)
    for layer in (
        torch.nn.MultiheadAttention(4, 2), torch.nn.MultiheadAttention(4, 2, kdim=3, vdim=2),
        torch.nn.MultiheadAttention(4, 2, add_bias_kv=True, bias=False),
        torch.nn.TransformerEncoderLayer(4, 2, 6), torch.nn.TransformerDecoderLayer(4, 2, 6),
        torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), 2),
    ):  # fmt: skip
        if not isinstance(layer, torch.nn.TransformerEncoder | torch.nn.TransformerEncoderLayer):
            say(layer)
        say([(n, tuple(p.shape), round(p.sum().item(), 4)) for n, p in layer.named_parameters()])
        say(list(layer.state_dict()))


def refusals(torch, say):
    nn, x = torch.nn, torch.ones(3, 2, 4)
    f = nn.functional.scaled_dot_product_attention
    layer = nn.MultiheadAttention(4, 2)
    for call in (
        lambda: nn.MultiheadAttention(0, 2), lambda: nn.MultiheadAttention(4, 3),
        lambda: layer(torch.ones(3), x, x), lambda: layer(x, x[0], x),
        lambda: layer(x, x, x, key_padding_mask=torch.ones(3)),
        lambda: layer(x, x, x, attn_mask=torch.ones(3)),
        lambda: layer(x, x, x, attn_mask=torch.ones(2, 3)),
        lambda: layer(x, x, x, attn_mask=torch.ones(3, 3, 3)),
        lambda: layer(x, x, x, attn_mask=torch.ones(3, 3).long()),
        lambda: layer(x, x, x, is_causal=True), lambda: layer(x, x, x[:2]),
        lambda: layer(torch.ones(3, 2, 5), x, x),
        lambda: f(x, x, x, attn_mask=torch.ones(2, 2), is_causal=True),
        lambda: f(x, x, x, attn_mask=torch.ones(2, 2).long()), lambda: f(x[0, 0], x, x),
        lambda: f(x, x, x, attn_mask=torch.ones(2, 2).double()), lambda: f(x, x.double(), x),
        lambda: nn.TransformerEncoderLayer(4, 2, activation="no"),
        lambda: nn.Transformer(4, 2, 1, 1, 4, batch_first=True)(x, x[:1]),
        lambda: nn.Transformer(4, 2, 1, 1, 4, batch_first=True)(x, x[..., :2]),
    ):  # fmt: skip
        try:
            call()
        except (RuntimeError, AssertionError, ValueError) as error:
            say(type(error).__name__, error)


@pytest.mark.parametrize("program", [reprs_and_names, refusals], ids=lambda p: p.__name__)
def test_program_says_the_same(program):
    same(program)


def test_copies_and_compiled_steps():
    ours.manual_seed(0)
    layer = ours.nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0)
    x = ours.randn(3, 2, 4)
    ours.testing.assert_close(copy.deepcopy(layer)(x), layer(x))
    step = ours.compile(lambda v: layer(v).square().sum())
    for _ in range(3):
        ours.testing.assert_close(step(x), layer(x).square().sum())
