"""Any index that NumPy takes (lists, bool masks, integer arrays anywhere): reading and writing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import AbstractValueError, located
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.index.basic import getitem
from funcgrad.ops.index.gather import gather
from funcgrad.ops.index.scatter import set_positions
from funcgrad.ops.shape import transpose

__all__ = ["index_set", "read", "reads_view", "static"]


def reads_view(index: Any) -> bool:
    """Whether NumPy gives a view for this index: it holds no arrays, lists or bools."""
    items = index if isinstance(index, tuple) else (index,)
    return all(
        i is None or i is Ellipsis or isinstance(i, (slice, int, np.integer))
        for i in items
        if not isinstance(i, (bool, np.bool_))
    ) and not any(isinstance(i, (bool, np.bool_)) for i in items)


def static(i: Any) -> Any:
    """A concrete integer or slice bounds of a tracer or NumPy integer, as plain data."""
    if isinstance(i, slice):
        return slice(
            *(None if v is None else int(v.__index__()) for v in (i.start, i.stop, i.step))
        )
    return int(i) if isinstance(i, np.integer) else i


def read(x: Array, index: Any) -> Array:
    """``x[index]`` for every index that NumPy takes."""
    items = index if isinstance(index, tuple) else (index,)
    if reads_view(items):
        return getitem(x, tuple(map(static, items)))
    x, arrays, order = _arrange(x, items)
    out = gather(x, *arrays)
    return out if order is None else transpose(out, order)


def _expand(items: Sequence[Any], ndim: int) -> list[Any]:
    """The items with lists made arrays, bool masks made integer arrays, Ellipsis filled in."""
    out: list[Any] = []
    for i in items:
        if i is None or i is Ellipsis or isinstance(i, slice):
            out.append(i)
            continue
        i = operand(i)
        kind = type_of(i)
        if kind.dtype.kind == "b":
            out.extend(_mask_positions(i))
        elif kind.dtype.kind in "iu":
            out.append(i)
        elif kind.size == 0 and not isinstance(i, Tracer):
            out.append(np.asarray(i).astype(np.intp))
        else:
            raise IndexError(
                located(f"arrays used as indices must be of integer or bool type, not {kind.dtype}")
            )
    used = sum(i is not None and i is not Ellipsis for i in out)
    if used > ndim:
        raise IndexError(
            located(f"too many indices: the array has {ndim} axes, {used} are indexed")
        )
    where_ = [k for k, i in enumerate(out) if i is Ellipsis]
    fill = [slice(None)] * (ndim - used)
    if not where_:
        return out + fill
    return out[: where_[0]] + fill + out[where_[0] + 1 :]


def _mask_positions(mask: Array) -> list[Any]:
    if isinstance(mask, Tracer):
        if not concrete(mask):
            raise AbstractValueError(
                located(
                    "a bool mask that is traced by jit or vmap selects an unknown number of "
                    "elements; use where(mask, x, other) instead"
                )
            )
        mask = value(mask)
    found = np.nonzero(np.asarray(mask))
    return list(found) if np.ndim(mask) else [np.zeros(int(bool(mask)), int)]


def _arrange(x: Array, items: Sequence[Any]) -> tuple[Array, list[Array], tuple[int, ...] | None]:
    """Bring the axes under integer arrays to the front: (array, indices, order of the result).

    The order says how to transpose the gathered array so that it stands as NumPy has it: the
    axes of the indices stay where they were if they are adjacent, else they go first.
    """
    plain = _expand(items, type_of(x).ndim)
    advanced = [k for k, i in enumerate(plain) if i is not None and not isinstance(i, slice)]
    # integers next to arrays count as arrays, as in NumPy
    basic = tuple(slice(None) if k in advanced else static(i) for k, i in enumerate(plain))
    if any(i != slice(None) for i in basic):
        x = getitem(x, basic)
    arrays = [plain[k] for k in advanced]
    rest = [k for k in range(len(plain)) if k not in advanced]
    x = transpose(x, (*advanced, *rest))
    rank = len(np.broadcast_shapes(*(type_of(a).shape for a in arrays)))
    adjacent = advanced[-1] - advanced[0] == len(advanced) - 1
    first = advanced[0]
    if not adjacent or first == 0:
        return x, arrays, None
    order = (*range(rank, rank + first), *range(rank), *range(rank + first, rank + len(rest)))
    return x, arrays, order


def index_set(x: Array, index: Any, v: Array) -> Array:
    """A copy of `x` in which ``copy[index] = v`` has been done; the last of equal indices wins."""
    kind, kv = type_of(x), type_of(v)
    dtype = kind.dtype
    if isinstance(v, Tracer) and dtype.kind in "biu" and kv.dtype.kind in "fc":
        raise TypeError(
            located(
                f"a traced value of dtype {kv.dtype} cannot be stored in an array of dtype "
                f"{dtype}: the gradient would be cut; make the array floating point"
            )
        )
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, Tracer) for i in items) and not all(
        concrete(i) for i in items if isinstance(i, Tracer)
    ):
        positions = read(np.arange(kind.size).reshape(kind.shape), items)
    else:
        known = tuple(value(i) if isinstance(i, Tracer) else i for i in items)
        positions = np.arange(kind.size).reshape(kind.shape)[known]
    return set_positions(x, positions, cast(v, dtype))
