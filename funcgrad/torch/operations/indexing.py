"""Indexing and writing by index.

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
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as core
from funcgrad.ops.shape import broadcast_to, reshape, transpose
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import no_grad
from funcgrad.torch.operations import axes, reshaping
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    inplace,
    install,
    method,
    named,
    shape_of,
    traced,
)
from funcgrad.torch.operations.comparison import selected
from funcgrad.torch.operations.converting import copy_, fill_
from funcgrad.torch.operations.parts import part, select
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of, number
from funcgrad.torch.remembered import remembered
from funcgrad.torch.root import RootTracer
from funcgrad.torch.staged import bounded

__all__ = ["index_put", "index_put_"]

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


def _items(index: Any) -> tuple[Any, ...]:
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
    return [_numbers(x) for x in item] if isinstance(item, (list, tuple)) else item


def _array(item: Any) -> Array:
    """A tensor, list or array that indexes, as an operand."""
    if isinstance(item, Tensor):
        kind = item.dtype
        if kind is dtypes.uint8:
            warnings.warn(BYTES, UserWarning, stacklevel=4)
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
    items = _items(index)
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
            array = _array(item)
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
    return part(x, (slice(None),) * dim + (slice(*bounds),), "SliceBackward0")


# ------------------------------------------------------------------------------------ reading


@functools.partial(remembered, layout=True)
def getitem(self: Tensor, index: Any) -> Tensor:
    """``self[index]``: a view for integers and slices, a copy for tensors, lists and masks."""
    out, arrays = sliced(self, index)
    if arrays:
        return _indexed(out, arrays)
    if out is self:
        whole = index is Ellipsis or index == (Ellipsis,) or index == ()
        return part(self, (), "AliasBackward0" if whole else "SliceBackward0")
    return out


def _integers(x: Tensor, arrays: dict[int, Array]) -> tuple[tuple[int, ...], list[Array]]:
    """The dimensions under arrays and integer arrays for them: masks become positions."""
    shape = shape_of(x)
    places: list[int] = []
    found: list[Array] = []
    _common_shape([i for i in arrays.values() if dtype_of(i).kind != "b"])
    for dim, array in arrays.items():
        if dtype_of(array).kind != "b":
            places.append(dim)
            found.append(_checked(array, shape, dim))
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


def _checked(array: Array, shape: tuple[int, ...], dim: int) -> Array:
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


def _common_shape(arrays: list[Array]) -> tuple[int, ...]:
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


def _read(x: Array, *arrays: Array, places: tuple[int, ...]) -> Array:
    rank = len(_common_shape(list(arrays)))
    order, back = _moved(shape_of(x), places, rank)
    out = core.gather(transpose(x, order), *arrays)
    return out if back is None else transpose(out, back)


@functools.cache
def _reader(count: int) -> Composite:
    """The operation with `count` arrays, by which it is not differentiated."""
    return Composite(f"index_{count}", _read, linear=True, fixed=count)


def _indexed(x: Tensor, arrays: dict[int, Array]) -> Tensor:
    places, found = _integers(x, arrays)
    _common_shape(found)
    names = ("", "", *("indices",) * len(found))
    node = named("IndexBackward0", *names, shown=(0,))
    c = x.content()
    if places == tuple(range(len(places))):
        return boxed(core.gather(c, *found), node)
    made = _reader(len(found))(c, *found, places=places)
    return boxed(np.ascontiguousarray(made) if isinstance(made, np.ndarray) else made, node)


# ------------------------------------------------------------------------------------ writing


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``, in place."""
    if not isinstance(value, Tensor):
        value = _constant(self, value)
    whole = index is Ellipsis or (isinstance(index, slice) and index == slice(None))
    if whole and not traced(self._t):
        _copy_to(self, value)
        return
    target, arrays = sliced(self, index)
    if not arrays and not traced(self._t):
        _copy_to(part(self, (), "SliceBackward0") if target is self else target, value)
        return
    if traced(self._t):
        _replace(self, index, value)
        return
    sizes = _without_leading_ones(shape_of(value))
    if sizes != shape_of(value):
        value = reshaping.view(value, sizes)
    CHANGE_INDEX_PUT(target, arrays, value, False)


def _constant(x: Tensor, given: Any) -> Tensor:
    if not isinstance(given, (int, float, complex, np.number, np.bool_)):
        raise TypeError(f"can't assign a {_shown_type(given)} to a {dtypes.type_name(x.dtype)}")
    with no_grad():
        return box(np.asarray(number(given, x.dtype.numpy)))


def _shown_type(given: Any) -> str:
    kind = type(given)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _without_leading_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    first = next((k for k, n in enumerate(shape) if n != 1), len(shape))
    return shape[first:]


def _copy_to(target: Tensor, source: Tensor) -> None:
    """Write a tensor into a view, as PyTorch does: 0-d ones by filling, others expanded."""
    if shape_of(target) == shape_of(source):
        copy_(target, source)
    elif not shape_of(source):
        fill_(target, source)
    else:
        flat = reshaping.view(source, _without_leading_ones(shape_of(source)))
        shape = shape_of(target)
        copy_(target, flat if shape_of(flat) == shape else axes.expand(flat, shape))


def _replace(x: Tensor, index: Any, value: Tensor) -> None:
    """Inside a transform there are no views: the whole content is replaced."""
    from funcgrad.torch.writing import check_writable, write

    check_writable(x)
    shape = shape_of(x)
    positions = box(np.arange(int(np.prod(shape))).reshape(shape))
    at = getitem(positions, index)._t
    at = at.value if type(at) is RootTracer else at
    made = core.set_positions(x.content(), at, a.cast(value.content(), dtype_of(x._t)))
    write(x, made)


# ---------------------------------------------------------------------------------- index_put


def _put(x: Array, v: Array, *arrays: Array, places: tuple[int, ...], adding: bool) -> Array:
    shape = shape_of(x)
    positions = np.arange(int(np.prod(shape))).reshape(shape)
    at = _read(positions, *arrays, places=places)
    v = broadcast_to(_without_extra(v, len(shape_of(at))), shape_of(at))
    return (core.add_at if adding else core.set_positions)(x, at, v)


def _without_extra(v: Array, rank: int) -> Array:
    shape = shape_of(v)
    return reshape(v, shape[len(shape) - rank :]) if len(shape) > rank else v


@functools.cache
def _writer(count: int) -> Composite:
    return Composite(f"index_put_{count}", _put, linear=True, fixed=count)


def _put_arrays(x: Tensor, arrays: dict[int, Array], source: Tensor, accumulate: bool) -> Tensor:
    places, found = _integers(x, arrays)
    c, v = x.content(), source.content()
    if dtype_of(v) != dtype_of(c):
        names = [dtypes.scalar_name(kind_of(k)) for k in (c, v)]
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{names[0]} for the destination and {names[1]} for the source."
        )
    names_ = ("", "", "", *("indices",) * len(found))
    node = named("IndexPutBackward0", *names_, shown=(0, 1))
    _check_value(shape_of(v), _shape_read(shape_of(c), places, found))
    made = computed(_writer(len(found)), c, v, *found, places=places, adding=accumulate)
    return boxed(made, node)


def _shape_read(
    shape: tuple[int, ...], places: tuple[int, ...], arrays: list[Array]
) -> tuple[int, ...]:
    at = _common_shape(arrays)
    probe = np.broadcast_to(np.int8(0), shape)
    dummies = [np.zeros(at, np.int64) for _ in arrays]
    if 0 in (shape[p] for p in places):
        return (*at, *(n for k, n in enumerate(shape) if k not in places))
    return shape_of(_read(probe, *dummies, places=places))


def _check_value(given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    try:
        fits = np.broadcast_shapes(given, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast to indexing "
            f"result of shape {list(wanted)}"
        )


CHANGE_INDEX_PUT = inplace(_put_arrays, "index_put_")


def _arrays_of(indices: Any) -> dict[int, Array]:
    """The arrays of ``index_put(indices, …)`` by dimension; None leaves a dimension out."""
    out: dict[int, Array] = {}
    dim = 0
    for i in indices:
        if i is None:
            dim += 1
            continue
        array = _array(i)
        out[dim] = array
        dim += max(len(shape_of(array)), 1) if dtype_of(array).kind == "b" else 1
    return out


@method()
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy in which values are written (or added) at tensors of positions."""
    content(input, "index_put")
    return _put_arrays(input, _arrays_of(indices), values, accumulate)


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """`index_put`, in place."""
    return CHANGE_INDEX_PUT(self, _arrays_of(indices), values, accumulate)


install(__getitem__=getitem, __setitem__=setitem, index_put_=index_put_)
