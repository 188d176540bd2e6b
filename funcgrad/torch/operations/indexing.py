"""Reading by an index: ``x[...]``.

As in PyTorch, integers, slices and new axes are applied first, one view after the other, then
tensors, lists and masks together: their result stays in place if they are adjacent, else it goes
first. (NumPy counts an integer next to a list as a list.)
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.errors import outside
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as core
from funcgrad.ops.shape import transpose
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.memory_formats import dense
from funcgrad.torch.operations import axes
from funcgrad.torch.operations.common import boxed, shape_of, traced
from funcgrad.torch.operations.comparison import selected
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import NodeClass, node
from funcgrad.torch.operations.slicing import ALIAS, SLICE, part, select
from funcgrad.torch.remembered import remembered
from funcgrad.torch.staged import bounded

BYTES = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
KINDS = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {name})"
)


LONG_LIST = 32


class Sliced(NamedTuple):
    """A tensor with the basic part of an index applied, and the arrays for its dimensions."""

    tensor: Tensor
    arrays: dict[int, Array]


# --------------------------------------------------------------------------- reading an index


def items_of(index: Any) -> tuple[Any, ...]:
    """The items of an index; a short list that holds more than numbers counts as a tuple."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) <= LONG_LIST and any(map(_not_a_number, index)):
        return tuple(index)
    return (index,)


def _not_a_number(item: Any) -> bool:
    return (
        item is None
        or item is Ellipsis
        or isinstance(item, (Tensor, np.ndarray, list, tuple, slice))
    )


def _ranks(item: Any) -> int:
    """How many dimensions an item takes."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and item.dtype in (dtypes.bool, dtypes.uint8):
        return item.ndim
    if isinstance(item, np.ndarray) and item.dtype == bool:
        return item.ndim
    if isinstance(item, list):
        array = np.asarray(_numbers(item))
        return array.ndim if array.dtype == bool else 1
    return 1


def _numbers(item: Any) -> Any:
    if isinstance(item, Tensor):
        return item.tolist()
    if not isinstance(item, (list, tuple)) or set(map(type, item)) == {int}:
        return item
    return [_numbers(x) for x in item]


def index_array(item: Any) -> Array:
    """A tensor, list or array that indexes, as an operand."""
    if isinstance(item, Tensor):
        kind = item.dtype
        if kind is dtypes.uint8:
            warnings.warn(BYTES, UserWarning, stacklevel=outside())
            return a.cast(item.content(), bool)
        if kind not in (dtypes.int64, dtypes.int32, dtypes.bool):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return item.content()
    if isinstance(item, range):
        return np.arange(item.start, item.stop, item.step)
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(item, (list, tuple, np.ndarray)):
        raise IndexError(KINDS.format(name=type(item).__name__))
    array = np.asarray(_numbers(item))
    if isinstance(item, np.ndarray) and array.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return array if array.dtype.kind in "iub" else array.astype(np.int64)


def sliced(x: Tensor, index: Any) -> Sliced:
    """Apply the basic part of an index as views; what is left are arrays."""
    items = items_of(index)
    rank = len(shape_of(x))
    used = sum(map(_ranks, items))
    if used > rank:
        if rank == 0 and len(items) == 1 and isinstance(items[0], slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        alone = rank == 0 and len(items) == 1 and _is_number(items[0])
        if alone and items[0] < 0:
            raise IndexError(f"index {items[0]} is out of bounds for dimension 0 with size 0")
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ to convert a 0-dim tensor to a number"
            if alone
            else f"too many indices for tensor of dimension {rank}"
        )
    arrays: dict[int, Array] = {}
    out, dim = x, 0
    for item in items:
        if item is None:
            out = axes.unsqueeze(out, dim)
            dim += 1
        elif item is Ellipsis:
            dim += rank - used
        elif isinstance(item, slice):
            out = _cut(out, dim, item)
            dim += 1
        elif isinstance(item, bool) or _is_flag(item):
            out = axes.unsqueeze(out, dim)
            arrays[dim] = np.array([bool(item)])
            dim += 1
        elif _is_number(item):
            out = select(out, dim, _bounded(out, dim, int(item)))
        else:
            array = index_array(item)
            arrays[dim] = array
            dim += max(len(shape_of(array)), 1) if dtype_of(array).kind == "b" else 1
    return Sliced(out, arrays)


def _is_number(item: Any) -> bool:
    if isinstance(item, Tensor):
        whole = not item.dtype.is_floating_point and not item.dtype.is_complex
        known_ = item.ndim == 0 and whole and not traced(item._t)
        return known_ and item.dtype not in (dtypes.bool, dtypes.uint8)
    return isinstance(item, (int, np.integer))


def _is_flag(item: Any) -> bool:
    """Whether an item is a tensor without dimensions that is true or false."""
    flags = (dtypes.bool, dtypes.uint8)
    return isinstance(item, Tensor) and item.ndim == 0 and item.dtype in flags


def _bounded(x: Tensor, dim: int, i: int) -> int:
    n = shape_of(x)[dim]
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {n}")
    return i


def _cut(x: Tensor, dim: int, s: slice) -> Tensor:
    bounds = [None if v is None else int(v.__index__()) for v in (s.start, s.stop, s.step)]
    if bounds[2] == 0:
        raise ValueError("slice step cannot be zero")
    if bounds[2] is not None and bounds[2] < 0:
        raise ValueError("step must be greater than zero")
    if bounds == [None, None, None]:
        return x
    return part(x, (slice(None),) * dim + (slice(*bounds),))


# ------------------------------------------------------------------------------------ reading


@functools.partial(remembered, positions="signed")
def getitem(self: Tensor, index: Any) -> Tensor:
    """``self[index]``: a view for integers and slices, a copy for tensors, lists and masks."""
    out, arrays = sliced(self, index)
    if arrays:
        return _indexed(out, arrays)
    if out is self:
        whole = index is Ellipsis or index == (Ellipsis,) or index == ()
        return part(self, (), ALIAS if whole else SLICE)
    return out


def index_arrays(x: Tensor, arrays: dict[int, Array]) -> tuple[tuple[int, ...], list[Array]]:
    """The dimensions under arrays and integer arrays for them: masks become positions."""
    shape = shape_of(x)
    places: list[int] = []
    found: list[Array] = []
    common_shape([i for i in arrays.values() if dtype_of(i).kind != "b"])
    for dim, array in arrays.items():
        if dtype_of(array).kind != "b":
            places.append(dim)
            found.append(checked_positions(array, shape, dim))
            continue
        extents = shape_of(array)
        covered = shape[dim : dim + max(len(extents), 1)]
        for k, (n, m) in enumerate(zip(extents, covered, strict=True)):
            if n != m:
                raise IndexError(
                    f"The shape of the mask {list(extents)} at index {k} does not match the "
                    f"shape of the indexed tensor {list(shape)} at index {dim + k}"
                )
        for k, where_ in enumerate(selected(array, "a mask")):
            places.append(dim + k)
            found.append(where_)
    return tuple(places), found


def checked_positions(array: Array, shape: tuple[int, ...], dim: int) -> Array:
    """Positions that lie inside; negative ones count from the end."""
    bounded(array, -shape[dim], shape[dim] - 1)
    if concrete(array):
        raw = np.asarray(value(array))
        bad = raw[(raw < -shape[dim]) | (raw >= shape[dim])]
        if bad.size and not shape[dim]:
            raise IndexError("index is out of bounds for dimension with size 0")
        if bad.size:
            raise IndexError(
                f"index {bad.flat[0]} is out of bounds for dimension {dim} with size {shape[dim]}"
            )
    return array


def common_shape(arrays: list[Array]) -> tuple[int, ...]:
    """The shape that arrays of positions broadcast to."""
    all_shapes = [shape_of(i) for i in arrays]
    try:
        return np.broadcast_shapes(*all_shapes)
    except ValueError:
        shown = ", ".join(str(list(s)) for s in all_shapes)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shown}"
        ) from None


def _moved(shape: tuple[int, ...], places: tuple[int, ...], rank: int) -> tuple[Any, Any]:
    """How to bring the dimensions under arrays to the front, and their result back.

    The second is None where the result stays in front.
    """
    rest = [k for k in range(len(shape)) if k not in places]
    order = (*places, *rest)
    adjacent = places[-1] - places[0] == len(places) - 1 and tuple(sorted(places)) == places
    first = places[0]
    if not adjacent or first == 0:
        return order, None
    back = (*range(rank, rank + first), *range(rank), *range(rank + first, rank + len(rest)))
    return order, back


def read(x: Array, *arrays: Array, places: tuple[int, ...]) -> Array:
    """What arrays choose, the axes that they index together at `places`."""
    rank = len(common_shape(list(arrays)))
    order, back = _moved(shape_of(x), places, rank)
    out = core.gather(transpose(x, order), *arrays)
    return dense(out if back is None else transpose(out, back))


@functools.cache
def _reader(count: int) -> Composite:
    """The operation with `count` arrays, by which it is not differentiated."""
    return Composite(f"index_{count}", read, linear=True, fixed=count)


@functools.cache
def _index_node(count: int) -> NodeClass:
    return node("Index", " ".join(["_", *["indices"] * count]), (0,), "indices self_sym_sizes")


def _indexed(x: Tensor, arrays: dict[int, Array]) -> Tensor:
    places, found = index_arrays(x, arrays)
    common_shape(found)
    kind, c = _index_node(len(found)), x.content()
    if places == tuple(range(len(places))):
        return boxed(core.gather(c, *found), kind)
    return boxed(_reader(len(found))(c, *found, places=places), kind)
