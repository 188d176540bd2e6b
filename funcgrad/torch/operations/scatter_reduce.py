"""Reductions of groups: the elements that are sent to one place are reduced together.

They are sums at places and the reductions of segments of the core: ties of `amax` and `amin` share
the cotangent, the derivatives of `prod` are exact where factors are 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as core
from funcgrad.ops.segment import segment_reduce
from funcgrad.ops.shape import reshape
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, computed, shape_of, told
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.gathering import positions_along
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.scattering import TO, prepared, source
from funcgrad.torch.operations.writing_slices import flat_positions, index_along

__all__ = ["index_reduce", "scatter_reduce"]

REDUCTIONS = {"prod": "prod", "amax": "max", "amin": "min"}


def _neutral(reduce: str, dtype: np.dtype[Any]) -> Any:
    if reduce == "prod":
        return dtype.type(1)
    low = reduce == "amax"
    if dtype.kind == "f":
        return dtype.type(-np.inf if low else np.inf)
    if dtype.kind == "b":
        return not low
    limits = np.iinfo(dtype)
    return dtype.type(limits.min if low else limits.max)


def _grouped(x: Array, v: Array, positions: Array, reduce: str, include_self: bool) -> Array:
    """`x` with the elements of the flat `v` reduced into the places at flat `positions`."""
    shape, dtype = shape_of(x), dtype_of(x)
    size = math.prod(shape)
    at = reshape(positions, (math.prod(shape_of(positions)),))
    own = reshape(x, (size,))
    flat = reshape(v, (math.prod(shape_of(v)),))
    if reduce in ("sum", "mean"):
        return reshape(_added(own, flat, at, reduce, include_self), shape)
    if not include_self:
        own = a.where(_touched(at, size), _neutral(reduce, dtype), own)
    return reshape(segment_reduce(own, at, flat, REDUCTIONS[reduce]), shape)


def _touched(at: Array, size: int) -> Any:
    """The places to which something is sent."""
    found = np.zeros(size, bool)
    found[known(at, "scatter_reduce()")] = True
    return found


def _added(own: Array, flat: Array, at: Array, reduce: str, include_self: bool) -> Array:
    dtype, size = dtype_of(own), math.prod(shape_of(own))
    if not include_self:
        own = a.where(_touched(at, size), np.zeros((), dtype)[()], own)
    total = core.add_at(own, at, flat)
    if reduce == "sum":
        return total
    counts = np.bincount(known(at, "scatter_reduce()"), minlength=size) + (1 if include_self else 0)
    counts = np.maximum(counts, 1).astype(dtype)
    return a.divide(total, counts) if dtype.kind in "fc" else a.floor_divide(total, counts)


GROUPED = Composite("grouped", _grouped, fixed=1)


SYNONYMS = {"max": "amax", "min": "amin"}


def _checked_reduce(name: str, reduce: str, allowed: tuple[str, ...]) -> str:
    reduce = SYNONYMS.get(reduce, reduce)
    if reduce not in allowed:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
            if name == "scatter_reduce"
            else "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    return reduce


TOLD = "index dim reduce include_self"
SCATTER_REDUCE = node("ScatterReduce", "result self src", (0, 1), TOLD)
INDEX_REDUCE = node("IndexReduce", "result self source", (0, 1), TOLD)
HOW = "str reduce, *, bool include_self=True, out"


@operation("scatter_reduce", f"{TO}, Tensor src, {HOW}", overlap="none")
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool
) -> Tensor:
    """A copy in which entries of `src` are reduced into places along a dimension.

    `reduce` is ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``; the tensor's own
    element takes part with `include_self`.
    """
    reduce = _checked_reduce("scatter_reduce", reduce, ("sum", "prod", "mean", "amax", "amin"))
    x, at, axis = prepared("scatter_reduce", input, dim, index)
    v = source(x, src, at)
    if shape_of(x):
        positions = positions_along(shape_of(x), at, axis)
    else:
        positions = np.zeros(math.prod(shape_of(at)), np.int64)
    found = computed(PARTIAL, x, v, positions, reduce=reduce, include_self=include_self)
    return told(boxed(found, SCATTER_REDUCE), index=index.detach(), dim=axis)


def _partly(x: Array, v: Array, at: Array, reduce: str, include_self: bool) -> Array:
    where_ = shape_of(at)
    if shape_of(v) and shape_of(v) != where_ and len(where_) == len(shape_of(v)):
        v = core.getitem(v, tuple(slice(0, n) for n in where_))
    return _grouped(x, v, at, reduce, include_self)


PARTIAL = Composite("scatter_reduce", _partly, fixed=1)


@operation("index_reduce", f"{TO}, Tensor source, {HOW}")
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> Tensor:
    """A copy in which slices of `source` are reduced into positions along a dimension."""
    reduce = _checked_reduce("index_reduce", reduce, ("prod", "mean", "amax", "amin"))
    x, at, axis = index_along("index_reduce", input, dim, index, source)
    v = source.content()
    if dtype_of(v) != dtype_of(x):
        raise RuntimeError("index_reduce(): self and source must have the same scalar type")
    positions = flat_positions(shape_of(x), at, axis)
    found = computed(GROUPED, x, v, positions, reduce=reduce, include_self=include_self)
    return told(boxed(found, INDEX_REDUCE), index=index.detach(), dim=axis)
