"""Attention by scaled dot products, of several heads, under JAX's name and layout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand, type_of
from funcgrad.errors import located
from funcgrad.numpy.function_calls import as_array
from funcgrad.ops import softmax as soft
from funcgrad.transforms.stop_gradient import stop_gradient

__all__ = ["dot_product_attention"]


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """``softmax(query @ key.T * scale + bias) @ value`` for each head.

    Parameters
    ----------
    query : array_like, shape ([B,] T, N, H)
        B examples, T places, N heads of H numbers.
    key, value : array_like, shape ([B,] S, K, H)
        N is a multiple of K: as many heads of the query share one of these.
    bias : array_like, broadcast to ([B,] N, T, S), optional
        Added to the products.
    mask : array_like of bool, broadcast to ([B,] N, T, S), optional
        Which places of the key a place of the query may see. One that sees none sees all alike.
    scale : float, optional
        By default 1 / sqrt(H).
    is_causal : bool, optional
        A place sees none behind it.
    query_seq_lengths, key_value_seq_lengths : array_like of int, shape (B,), optional
        How many places of each example count. The others of the query give 0.
    local_window_size : int or pair of int, optional
        How far to the left and to the right a place sees.
    implementation : optional
        JAX's choice of implementation; there is one here.
    return_residual : bool, optional
        Return ``(result, logsumexp of the products)``; the latter, of shape ([B,] T, N), has no
        gradient.

    Returns
    -------
    array, the shape of `query`

    Raises
    ------
    ValueError
        The shapes do not fit, or a mask is no array of bools.

    Notes
    -----
    Everything is computed in the dtype of the operands (JAX has single precision in the softmax).

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> q, k = np.ones((3, 1, 2)), np.ones((3, 1, 2))
    >>> v = np.arange(6.0).reshape(3, 1, 2)
    >>> fg.nn.dot_product_attention(q, k, v, is_causal=True)[:, 0]
    array([[0., 1.],
           [1., 2.],
           [2., 3.]])
    """
    q, k, v = (_four(x) for x in (query, key, value))
    bias, mask = (None if x is None else _four(x) for x in (bias, mask))
    _check(q, k, v, mask)
    (b, t, n, h), (_, s, groups, _) = q.shape, k.shape
    each = n // groups
    q = fnp.reshape(q, (b, t, groups, each, h))
    products = fnp.einsum("btgeh,bsgh->bgets", q, k) * (
        1 / math.sqrt(h) if scale is None else scale
    )
    if bias is not None:
        products = products + _grouped(bias, groups, each)
    seen = None if mask is None else _grouped(mask, groups, each)
    for part in _parts(
        t, s, is_causal, local_window_size, query_seq_lengths, key_value_seq_lengths
    ):
        seen = part if seen is None else fnp.logical_and(seen, part)
    if seen is not None:
        dtype = type_of(operand(products)).dtype
        least = -0.7 * float(min(np.finfo(dtype).max, np.finfo(np.float32).max))
        products = fnp.where(seen, products, least)
    weights = soft.softmax(operand(products))
    found = fnp.reshape(fnp.einsum("bgets,bsgh->btgeh", weights, v), (b, t, n, h))
    if query_seq_lengths is not None:
        rows = np.arange(t)[None, :, None, None]
        found = fnp.where(rows < _lengths(query_seq_lengths, 4), found, 0.0)
    found = fnp.reshape(found, fnp.shape(query))
    if not return_residual:
        return found
    total = fnp.reshape(soft.logsumexp(operand(products), -1), (b, n, t))
    total = fnp.reshape(fnp.swapaxes(total, 1, 2), fnp.shape(query)[:-1])
    return found, stop_gradient(total)


def _four(x: Any) -> Any:
    """`x` with four axes."""
    x = as_array(x)
    shape = type_of(x).shape
    return fnp.reshape(x, (1,) * (4 - len(shape)) + shape) if len(shape) < 4 else x


def _check(q: Any, k: Any, v: Any, mask: Any) -> None:
    fits = q.ndim == k.ndim == 4 and k.shape == v.shape
    if not fits or (q.shape[0], q.shape[3]) != (k.shape[0], k.shape[3]) or q.shape[2] % k.shape[2]:
        raise ValueError(
            located(
                f"dot_product_attention: a query of shape {q.shape}, a key of shape {k.shape} and "
                f"a value of shape {v.shape} do not fit; they have to be (B, T, N, H) and twice "
                "(B, S, K, H), where N is a multiple of K"
            )
        )
    if mask is not None and type_of(operand(mask)).dtype != np.bool_:
        raise ValueError(
            located(
                "dot_product_attention: the mask has to be of bools, which say what is seen; give "
                "numbers that are added as bias"
            )
        )


def _grouped(x: Any, groups: int, each: int) -> Any:
    """A bias or mask of heads, with their two axes."""
    b, n, t, s = x.shape
    return fnp.reshape(x, (b, 1, 1, t, s) if n == 1 else (b, groups, each, t, s))


def _lengths(x: Any, rank: int) -> Any:
    return fnp.reshape(as_array(x), (-1,) + (1,) * (rank - 1))


def _parts(t: int, s: int, causal: bool, window: Any, queries: Any, keys: Any) -> list[Any]:
    """What may be seen, by each of the restrictions."""
    rows, columns = np.arange(t)[:, None], np.arange(s)[None, :]
    found: list[Any] = []
    if causal:
        found.append(columns <= rows)
    if window is not None:
        left, right = window if isinstance(window, tuple) else (window, window)
        found.append((rows <= columns + left) & (rows >= columns - right))
    if queries is not None:
        found.append(rows < _lengths(queries, 5))
    if keys is not None:
        found.append(columns < _lengths(keys, 5))
    return found
