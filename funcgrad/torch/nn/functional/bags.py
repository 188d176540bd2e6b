"""Sums, means and largest elements of bags of rows: `embedding_bag`."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import AbstractValueError, located, outside
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as indexing
from funcgrad.ops.index.gather import scatter_add
from funcgrad.ops.shape import reshape
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.functional.common import constant
from funcgrad.torch.nn.functional.linear import rows_of, shorten
from funcgrad.torch.operations.common import boxed, computed, shape_of, widened
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of
from funcgrad.torch.operations.record import node
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.staged import bounded

__all__ = ["embedding_bag"]

MODES = ("sum", "mean", "max")


def _bags(
    w: Array, *rest: Array, mode: str, bags: Any, count: int, pad: int, by_frequency: bool
) -> Array:
    """The reduced rows of `count` bags; `rest` ends with the indices, weights may come before."""
    at = rest[-1]
    rows = rows_of(w, at, pad, by_frequency)
    own = a.not_equal(at, pad)
    width = shape_of(w)[1]
    if mode == "max":
        return _largest(rows, own, bags, count)
    if len(rest) == 2:
        rows = a.multiply(rows, reshape(rest[0], (*shape_of(rest[0]), 1)))
    kind = dtype_of(rows)
    rows = a.where(reshape(own, (*shape_of(at), 1)), rows, kind.type(0))
    found = scatter_add(rows, ArrayType((count, width), kind), (bags,))
    if mode == "sum":
        return found
    many = scatter_add(a.cast(own, kind), ArrayType((count,), kind), (bags,))
    return a.divide(found, reshape(a.maximum(many, kind.type(1)), (count, 1)))


def _largest(rows: Array, own: Array, bags: Any, count: int) -> Array:
    """The largest elements of each bag, the first of equals; 0 for a bag without rows."""
    sizes = np.bincount(bags, minlength=count)
    begin = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    kind = dtype_of(rows)
    best: Any = constant(_at(rows, np.zeros(count, np.int64))) if len(bags) else None
    if best is None:
        return np.zeros((count, shape_of(rows)[1]), kind)
    best, where = a.multiply(a.cast(a.equal(best, best), kind), -np.inf), np.zeros(count, np.int64)
    found: Any = reshape(where, (count, 1))
    for j in range(int(sizes.max(initial=0))):
        spots = np.minimum(begin + j, len(bags) - 1)
        there = a.logical_and(_at(own, spots), j < sizes)
        y = constant(_at(rows, spots))
        better = a.logical_and(reshape(there, (count, 1)), a.greater(y, best))
        best, found = a.where(better, y, best), a.where(better, spots[:, None], found)
    picked = indexing.take_along_axis(rows, found, 0)
    return a.where(a.greater(best, -np.inf), picked, kind.type(0))


def _at(x: Array, spots: Any) -> Array:
    return indexing.gather(x, spots)


PLAIN = Composite("embedding_bag", widened(_bags), fixed=1)
NODE = node("EmbeddingBag", "", shows=(0,))


@requires("""
    weights is None or input.shape == weights.shape: ValueError: embedding_bag: If
        per_sample_weights ({weights.shape}) is not None, then it must have the same shape as the
        input ({input.shape})
    weights is None or weights.dtype is weight.dtype: Expected tensor for argument #1 'weight' to
        have the same type as tensor for argument #1 'per_sample_weights'; but type
        {scalar_name(weight)} does not equal {scalar_name(weights)} (while checking arguments for
        embedding_bag)
    rank(weight) == 2: ValueError: weight has to be a 2D Tensor, but got Tensor of dimension
        {rank(weight)}
""")
def _check(input: Tensor, weight: Tensor, offsets: Any, mode: str, weights: Any) -> None:
    """PyTorch's errors, before anything is computed."""
    if input.dim() == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
            f"fixed length sequences. However, found offsets of type {type(offsets)}"
        )
    if input.dim() not in (1, 2):
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if input.dim() == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if input.dim() == 1 and offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if mode not in MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )


def _bag_of_each(shape: tuple[int, ...], offsets: Any, include_last: bool) -> tuple[Any, int]:
    """The bag of each index, and how many bags there are."""
    if len(shape) == 2:
        return np.repeat(np.arange(shape[0]), shape[1]), shape[0]
    at = offsets.content()
    if not concrete(at):
        raise AbstractValueError(located("embedding_bag needs the numbers in its offsets"))
    begin, n = np.asarray(value(at)), shape[0]
    if include_last and not len(begin):
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if len(begin) and begin[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {begin[0]}"
        )
    if len(begin) and begin[-1] > n:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {n} but got offsets[-1] of "
            f"{begin[-1]}"
        )
    ends = begin if include_last else np.append(begin, n)
    sizes = np.diff(ends)
    if (sizes < 0).any():
        raise RuntimeError("offsets has to be ascending")
    bags = np.repeat(np.arange(len(sizes)), sizes)
    return bags, len(sizes)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sums, means or largest elements of the rows of `weight` in each bag of indices.

    Parameters
    ----------
    input : Tensor
        Indices: (bags, rows of each), or one after the other, with `offsets`.
    weight : Tensor
        (rows, features)
    offsets : Tensor, optional
        Where the bags begin in a one-dimensional `input`.
    max_norm, norm_type, scale_grad_by_freq, sparse
        As for `embedding`.
    mode : {"mean", "sum", "max"}, optional
    per_sample_weights : Tensor, optional
        A factor for each index, with "sum"; differentiable.
    include_last_offset : bool, optional
        Whether the last of `offsets` is where the last bag ends.
    padding_idx : int, optional
        The row that does not count.

    Returns
    -------
    Tensor
        (bags, features); 0 for a bag without rows.

    Raises
    ------
    ValueError, RuntimeError, NotImplementedError
        Shapes, offsets and modes that do not fit.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> w = torch.tensor([[1.0], [2.0], [4.0]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([0, 1, 2]), w, torch.tensor([0, 1]))
    tensor([[1.],
            [3.]])
    """
    if weight.dtype is dtypes.int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
            stacklevel=outside(),
        )
        input, weight = weight, input
    _check(input, weight, offsets, mode, per_sample_weights)
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    at, w = content(input, "embedding_bag", "indices", 2), content(weight, "embedding_bag")
    if dtype_of(at).kind not in "i":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {dtypes.type_name(kind_of(at))} instead (while checking arguments "
            "for embedding_bag)"
        )
    bags, count = _bag_of_each(shape_of(at), offsets, include_last_offset)
    rows = shape_of(w)[0]
    pad = _padding(padding_idx, rows)
    w = _bounded(weight, w, at, rows, max_norm, norm_type)
    given: list[Any] = [w]
    if per_sample_weights is not None:
        given.append(_first(content(per_sample_weights, "embedding_bag"), len(bags)))
    given.append(_first(at, len(bags)))
    found = computed(PLAIN, *given, mode=mode, bags=bags, count=count, pad=pad,
                     by_frequency=scale_grad_by_freq)  # fmt: skip
    return boxed(found, NODE)


def _first(x: Array, many: int) -> Array:
    """The first elements of `x` as a vector."""
    return indexing.getitem(reshape(x, (math.prod(shape_of(x)),)), slice(0, many))


def _padding(given: int | None, rows: int) -> int:
    if given is None:
        return -1
    if not -rows <= given < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but "
            f"got {given}"
        )
    return given % rows


def _bounded(weight: Tensor, w: Array, at: Array, rows: int, max_norm: Any, norm: float) -> Array:
    """The weight, shortened where that is wanted, for indices that are all in range."""
    bounded(at, 0, rows - 1)
    if not concrete(at):
        if max_norm is not None:
            raise AbstractValueError(
                located("embedding_bag with max_norm needs the numbers in its input")
            )
        return w
    given = np.asarray(value(at))
    wrong = given[(given < 0) | (given >= rows)]
    if wrong.size:
        raise RuntimeError(
            "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
            f"{wrong[0]}"
        )
    if max_norm is None:
        return w
    shorten(weight, np.unique(given), max_norm, norm)
    return weight.content()
