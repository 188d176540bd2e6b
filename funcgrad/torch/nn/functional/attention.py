"""Attention: weighted means of values, with the weights of a softmax of products."""

from __future__ import annotations

import math
import warnings
from typing import Any

import funcgrad.torch as torch
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn.functional.attended import ATTENTION, MASKED_ATTENTION
from funcgrad.torch.nn.functional.distance import pad
from funcgrad.torch.nn.functional.linear import linear
from funcgrad.torch.nn.functional.normalization import dropout
from funcgrad.torch.nn.functional.softmax import softmax
from funcgrad.torch.operations.common import boxed, computed, lacking, told
from funcgrad.torch.operations.record import node
from funcgrad.torch.saved import outside

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def _bias_of(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """What is added to the scores: minus infinity where a mask of booleans is false."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    found: Tensor = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, -math.inf)
    return found


def _check_products(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """PyTorch's errors for ranks and dtypes: numbers 0 and 1 are no mask of booleans."""
    named = {"query": query, "key": key, "value": value}
    if min(x.dim() for x in named.values()) < 2:
        found = [f"{name}.dim: {x.dim()}" for name, x in named.items()]
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"{found[0]} {found[1]} and {found[2]} instead."
        )
    kinds = {name: dtypes.c_name(x.dtype) for name, x in named.items()}
    if len(set(kinds.values())) > 1:
        found = [f"{name}.dtype: {kind}" for name, kind in kinds.items()]
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got "
            f"{found[0]} {found[1]} and {found[2]} instead."
        )
    if mask is not None and mask.dtype not in (torch.bool, torch.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {dtypes.c_name(mask.dtype)} and  query.dtype: {kinds['query']} "
            "instead."
        )


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
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
    _check_products(query, key, value, attn_mask)
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
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
    sign = -1.0 if scale < 0 else 1.0
    scores = (query * (sign * factor)) @ (key.transpose(-2, -1) * factor)
    if bias is not None:
        scores = scores + bias
        alone = (scores == -math.inf).all(-1, keepdim=True)  # a query without keys
        weights = softmax(scores.masked_fill(alone, 0.0), -1).masked_fill(alone, 0.0)
    else:
        weights = softmax(scores, -1)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    found: Tensor = weights @ value
    return found


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


def _check_ranks(query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Any) -> bool:
    """Whether there is a batch; PyTorch's errors for ranks that do not fit."""
    rank = query.dim()
    if rank not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor"
        )
    kind = "batched (3-D)" if rank == 3 else "unbatched (2-D)"
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {rank}-D but found "
            f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if padding is not None and padding.dim() != rank - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {rank - 1}-D but "
            f"found {padding.dim()}-D tensor instead"
        )
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{mask.dim()}-D tensor instead"
        )
    return rank == 3


def as_bias(mask: Tensor | None, name: str, dtype: Any, other: Tensor | None = None) -> Any:
    """A mask as what is added: of booleans, minus infinity where it is True."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
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


def _merged(mask: Any, padding: Any, batch: int, heads: int, keys: int) -> Any:
    """One bias of both masks, (batch × heads or 1, queries or 1, keys)."""
    if padding is None:
        return mask
    if padding.shape[0] != batch:
        raise AssertionError(
            f"Expected key_padded_mask.shape[0] to be {batch}, but got {padding.shape[0]}"
        )
    if padding.shape[1] != keys:
        raise AssertionError(
            f"Expected key_padded_mask.shape[1] to be {keys}, but got {padding.shape[1]}"
        )
    wide = padding.reshape(batch, 1, 1, keys).expand(-1, heads, -1, -1)
    wide = wide.reshape(batch * heads, 1, keys)
    return wide if mask is None else mask + wide


def _check_mask(mask: Tensor, queries: int, keys: int, lines: int) -> Tensor:
    wanted = (queries, keys) if mask.dim() == 2 else (lines, queries, keys)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


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
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask)
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    queries, batch, embed = query.shape
    padding = as_bias(key_padding_mask, "key_padding_mask", query.dtype, attn_mask)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    hinted = is_causal and padding is None and not need_weights
    mask = None if hinted else as_bias(attn_mask, "attn_mask", query.dtype)
    if embed != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed}"
        )
    size = embed // num_heads
    if size * num_heads != embed:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
        weights: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        weights = in_proj_weight
    q, k, v = _projected(query, key, value, weights, in_proj_bias)
    if mask is not None:
        mask = _check_mask(mask, queries, key.size(0), batch * num_heads)
    more = 0
    if bias_k is not None and bias_v is not None:
        k = torch.cat([k, bias_k.repeat(1, batch, 1)])
        v = torch.cat([v, bias_v.repeat(1, batch, 1)])
        more += 1
    lines = batch * num_heads
    q = q.reshape(queries, lines, size).transpose(0, 1)
    k = static_k if static_k is not None else k.reshape(-1, lines, size).transpose(0, 1)
    v = static_v if static_v is not None else v.reshape(-1, lines, size).transpose(0, 1)
    if add_zero_attn:
        zero = torch.zeros(lines, 1, size, dtype=k.dtype)
        k, v = torch.cat([k, zero], 1), torch.cat([v, zero], 1)
        more += 1
    if more:
        mask = None if mask is None else pad(mask, (0, more))
        padding = None if padding is None else pad(padding, (0, more))
    keys = k.size(1)
    mask = _merged(mask, padding, batch, num_heads, keys)
    share = dropout_p if training else 0.0
    if need_weights:
        products = (q * math.sqrt(1.0 / size)) @ k.transpose(-2, -1)
        seen = softmax(products if mask is None else products + mask, -1)
        if share > 0.0:
            seen = dropout(seen, share)
        out = seen @ v
    else:
        if mask is not None:
            lead = (1, 1) if mask.size(0) == 1 else (batch, num_heads)
            mask = mask.reshape(*lead, -1, keys)
        q, k, v = (x.reshape(batch, num_heads, -1, size) for x in (q, k, v))
        found = scaled_dot_product_attention(q, k, v, mask, share, hinted)
        out = found.reshape(lines, queries, size)
    out = linear(out.transpose(0, 1).reshape(queries, batch, embed), out_proj_weight, out_proj_bias)
    if not need_weights:
        return (out if batched else out.squeeze(1)), None
    seen = seen.reshape(batch, num_heads, queries, keys)
    if average_attn_weights:
        seen = seen.mean(1)
    return (out, seen) if batched else (out.squeeze(1), seen.squeeze(0))
