"""Attention: weighted means of values, with the weights of a softmax of products."""

from __future__ import annotations

import math
import warnings
from typing import Any

import funcgrad.torch as torch
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn.functional.attended import ATTENTION, MASKED_ATTENTION
from funcgrad.torch.nn.functional.distance import pad
from funcgrad.torch.nn.functional.linear import linear
from funcgrad.torch.nn.functional.normalization import dropout
from funcgrad.torch.nn.functional.softmax import softmax
from funcgrad.torch.operations.common import boxed, computed, lacking, told
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.requirements import requirements, requires

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def _bias_of(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """What is added to the scores: minus infinity where a mask of booleans is false."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    found: Tensor = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, -math.inf)
    return found


PRODUCTS = """
    min(rank(query), rank(key), rank(value)) >= 2: Expected query, key, and value to all be  at
        least 2 dimensional, but got query.dim: {rank(query)} key.dim: {rank(key)} and value.dim:
        {rank(value)} instead.
    query.dtype is key.dtype is value.dtype: Expected query, key, and value to have the same dtype,
        but got query.dtype: {c_name(query)} key.dtype: {c_name(key)} and value.dtype:
        {c_name(value)} instead.
    attn_mask is None or scalar_name(attn_mask) in ("Bool", "Float", scalar_name(query)): Expected
        attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype:
        {c_name(attn_mask)} and  query.dtype: {c_name(query)} instead.
    not is_causal or attn_mask is None: _scaled_dot_product_attention: Explicit attn_mask should not
        be set when is_causal=True
"""


@operation(
    "scaled_dot_product_attention",
    "query, key, value, Tensor attn_mask=None, float dropout_p=0., bool is_causal=False, *, "
    "float scale=None, bool enable_gqa=False",
    variants="",
)
@requires(PRODUCTS)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float,
    is_causal: bool, scale: float | None, enable_gqa: bool,
) -> Tensor:  # fmt: skip
    """Means of the values, weighted by the softmax of the scaled products of queries and keys.

    Parameters
    ----------
    query : Tensor
        (…, queries, size)
    key, value : Tensor
        (…, keys, size), (…, keys, values)
    attn_mask : Tensor, optional
        Added to the products; of booleans, True for the pairs that count.
    dropout_p : float, optional
        The share of weights set to zero.
    is_causal : bool, optional
        Whether a query sees only the keys up to its own place.
    scale : float, optional
        What the products are multiplied with; one over the root of `size`.
    enable_gqa : bool, optional
        Whether several heads of queries share one of keys and values.

    Returns
    -------
    Tensor
        (…, queries, values); 0 for a query that sees no key.

    Raises
    ------
    RuntimeError
        Dtypes that differ, a mask of integers, or `is_causal` beside a mask.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> q, k, v = torch.zeros(2, 4), torch.ones(3, 4), torch.tensor([[0.0], [3.0], [6.0]])
    >>> torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    tensor([[0.0000],
            [1.5000]])
    """
    if is_causal:
        attn_mask = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    scale = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    bias = _bias_of(attn_mask, query)
    if dropout_p == 0.0 and _is_one(query, key, value, bias):
        return _attended(query, key, value, bias, is_causal, scale)
    factor = math.sqrt(abs(scale))
    scores = (query * math.copysign(factor, scale)) @ (key.transpose(-2, -1) * factor)
    weights = softmax(scores, -1) if bias is None else _of_seen(scores + bias)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    found: Tensor = weights @ value
    return found


def _of_seen(scores: Tensor) -> Tensor:
    """The weights of scores with a bias: 0 for a query without keys."""
    alone = (scores == -math.inf).all(-1, keepdim=True)
    weights: Tensor = softmax(scores.masked_fill(alone, 0.0), -1).masked_fill(alone, 0.0)
    return weights


def _is_one(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> bool:
    """Whether it is one operation, as in PyTorch: of batches of heads that fit together."""
    q, k, v = query.shape, key.shape, value.shape
    if len(q) != 4 or q[:2] != k[:2] or k != v or q[3] != k[3] or 0 in (*q, *k):
        return False
    if query.dtype not in (torch.float32, torch.float64):
        return False
    if bias is None:
        return True
    full = (*q[:3], k[2])
    fits = all(n in (1, m) for n, m in zip(bias.shape[::-1], full[::-1], strict=False))
    return 2 <= bias.dim() <= 4 and fits and not bias.requires_grad


def _attended(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, is_causal: bool, scale: float
) -> Tensor:
    contents = [x.content() for x in (query, key, value)]
    if bias is None:
        kind: Any = NODE
        made = computed(ATTENTION, *contents, scale=scale)
        found = boxed(made, lacking(kind, "attn_mask"))
    else:
        contents.append(bias.to(query.dtype).content())
        found = boxed(computed(MASKED_ATTENTION, *contents, scale=scale), NODE)
    return told(found, dropout_p=0.0, is_causal=is_causal, scale=scale)


NODE = node(
    "ScaledDotProductFlashAttentionForCpu", saves="query key value attn_mask",
    tells="dropout_p is_causal scale",
)  # fmt: skip


# ------------------------------------------------------------------------------- several heads


_check_ranks = requirements(
    "query, key, value, padding, mask, rank, kind",
    """
    rank in (2, 3): AssertionError: query should be unbatched 2D or batched 3D tensor but received
        {rank}-D query tensor
    key.dim() == rank == value.dim(): AssertionError: For {kind} `query`, expected `key` and `value`
        to be {rank}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively
    padding is None or padding.dim() == rank - 1: AssertionError: For {kind} `query`, expected
        `key_padding_mask` to be `None` or {rank - 1}-D but found {padding.dim()}-D tensor instead
    mask is None or mask.dim() in (2, 3): AssertionError: For {kind} `query`, expected `attn_mask`
        to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead
    """,
)


@requires("""
    mask is None or kind(mask) in "bf": AssertionError: only bool and floating types of {name} are
        supported
""")
def as_bias(mask: Tensor | None, name: str, dtype: Any, other: Tensor | None = None) -> Any:
    """A mask as what is added: of booleans, minus infinity where it is True."""
    if mask is None:
        return None
    if other is not None and mask.dtype != other.dtype:
        warnings.warn(
            f"Support for mismatched {name} and attn_mask is deprecated. Use same type for both "
            "instead.",
            stacklevel=outside(),
        )
    if mask.dtype == torch.bool:
        return torch.zeros_like(mask, dtype=dtype).masked_fill(mask, -math.inf)
    return mask


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weights: Any, bias: Tensor | None
) -> list[Tensor]:
    """Queries, keys and values; those of one tensor by one product, if the weights are one."""
    if isinstance(weights, Tensor):
        size = query.size(-1)
        if query is key is value:
            return _parted(linear(query, weights, bias), 3)
        if key is value:
            own, others = weights.split([size, 2 * size])
            first, second = (None, None) if bias is None else bias.split([size, 2 * size])
            return [linear(query, own, first), *_parted(linear(key, others, second), 2)]
        weights = weights.chunk(3)
    biases = [None] * 3 if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]


def _parted(x: Tensor, count: int) -> list[Tensor]:
    """The parts of the last dimension, each in C order."""
    wide = x.unflatten(-1, (count, x.size(-1) // count)).unsqueeze(0)
    apart = wide.transpose(0, -2).squeeze(-2).contiguous()
    return [apart[k] for k in range(count)]


@requires("""
    padding is None or padding.shape[0] == batch: AssertionError: Expected key_padded_mask.shape[0]
        to be {batch}, but got {padding.shape[0]}
    padding is None or padding.shape[1] == keys: AssertionError: Expected key_padded_mask.shape[1]
        to be {keys}, but got {padding.shape[1]}
""")
def _merged(mask: Any, padding: Any, batch: int, heads: int, keys: int) -> Any:
    """One bias of both masks, (batch × heads or 1, queries or 1, keys)."""
    if padding is None:
        return mask
    wide = padding.reshape(batch, 1, 1, keys).expand(-1, heads, -1, -1)
    wide = wide.reshape(batch * heads, 1, keys)
    return wide if mask is None else mask + wide


_check_mask = requirements(
    "mask, wanted",
    """
    shape(mask) == wanted: The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be
        {wanted}.
    """,
)
_check_heads = requirements(
    "lost, embed, wanted, size, heads, key, value, separate",
    """
    not lost: Need attn_mask if specifying the is_causal hint. You may use the Transformer module
        method `generate_square_subsequent_mask` to create this mask.
    embed == wanted: AssertionError: was expecting embedding dimension of {wanted}, but got {embed}
    size * heads == embed: AssertionError: embed_dim {embed} not divisible by num_heads {heads}
    not separate or key.shape[:2] == value.shape[:2]: AssertionError: key's sequence and batch dims
        {key.shape[:2]} do not match value's {value.shape[:2]}
    separate or key.shape == value.shape: AssertionError: key shape {key.shape} does not match value
        shape {value.shape}
    """,
)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `MultiheadAttention` computes, of weights that are given."""
    batched = query.dim() == 3
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    _check_ranks(query, key, value, key_padding_mask, attn_mask, query.dim(), kind)
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    queries, batch, embed = query.shape
    padding = as_bias(key_padding_mask, "key_padding_mask", query.dtype, attn_mask)
    hinted = is_causal and padding is None and not need_weights
    mask = None if hinted else as_bias(attn_mask, "attn_mask", query.dtype)
    size = embed // num_heads
    lost = is_causal and attn_mask is None
    _check_heads(
        lost, embed, embed_dim_to_check, size, num_heads, key, value, use_separate_proj_weight
    )
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    weights: Any = separate if use_separate_proj_weight else in_proj_weight
    q, k, v = _projected(query, key, value, weights, in_proj_bias)
    lines = batch * num_heads
    if mask is not None:
        wanted = (queries, key.size(0)) if mask.dim() == 2 else (lines, queries, key.size(0))
        _check_mask(mask, wanted)
        mask = mask.unsqueeze(0) if mask.dim() == 2 else mask
    if bias_k is not None and bias_v is not None:
        k, v = (torch.cat([x, b.repeat(1, batch, 1)]) for x, b in ((k, bias_k), (v, bias_v)))
    q, k, v = (_of_heads(x, lines, size) for x in (q, k, v))
    k, v = k if static_k is None else static_k, v if static_v is None else static_v
    if add_zero_attn:
        zero = torch.zeros(lines, 1, size, dtype=k.dtype)
        k, v = torch.cat([k, zero], 1), torch.cat([v, zero], 1)
    more = (bias_k is not None and bias_v is not None) + add_zero_attn
    mask, padding = (x if x is None or not more else pad(x, (0, more)) for x in (mask, padding))
    mask = _merged(mask, padding, batch, num_heads, k.size(1))
    share = dropout_p if training else 0.0
    if need_weights:
        out, seen = _seen(q, k, v, mask, share)
    else:
        out = _unseen(q, k, v, mask, share, hinted, num_heads)
    out = linear(out.transpose(0, 1).reshape(queries, batch, embed), out_proj_weight, out_proj_bias)
    if not need_weights:
        return (out if batched else out.squeeze(1)), None
    seen = seen.reshape(batch, num_heads, queries, -1)
    if average_attn_weights:
        seen = seen.mean(1)
    return (out, seen) if batched else (out.squeeze(1), seen.squeeze(0))


def _of_heads(x: Tensor, lines: int, size: int) -> Tensor:
    """Projections as (batch × heads, places, size)."""
    found: Tensor = x.reshape(-1, lines, size).transpose(0, 1)
    return found


def _seen(q: Tensor, k: Tensor, v: Tensor, mask: Any, share: float) -> tuple[Tensor, Tensor]:
    """The means of the values, and their weights."""
    products = (q * math.sqrt(1.0 / q.size(-1))) @ k.transpose(-2, -1)
    seen = softmax(products if mask is None else products + mask, -1)
    if share > 0.0:
        seen = dropout(seen, share)
    return seen @ v, seen


def _unseen(
    q: Tensor, k: Tensor, v: Tensor, mask: Any, share: float, causal: bool, heads: int
) -> Tensor:
    """The means of the values."""
    lines, queries, size = q.shape
    batch = lines // heads
    if mask is not None:
        lead = (1, 1) if mask.size(0) == 1 else (batch, heads)
        mask = mask.reshape(*lead, -1, k.size(1))
    q, k, v = (x.reshape(batch, heads, -1, size) for x in (q, k, v))
    found: Tensor = scaled_dot_product_attention(q, k, v, mask, share, causal)
    found = found.reshape(lines, queries, size)
    return found
