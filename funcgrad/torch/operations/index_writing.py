"""Writing by an index: ``x[...] = v`` and index_put.

What slices and numbers choose is a view, which is copied into; what arrays choose is written by one
operation.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as core
from funcgrad.ops.shape import broadcast_to, reshape
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import no_grad
from funcgrad.torch.narrow import in_kind
from funcgrad.torch.operations import axes, reshaping
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    install,
    shape_of,
    traced,
    widened,
)
from funcgrad.torch.operations.converting import copy_, fill_
from funcgrad.torch.operations.indexing import (
    common_shape,
    getitem,
    index_array,
    index_arrays,
    read,
    sliced,
)
from funcgrad.torch.operations.promotion import dtype_of, kind_of, number
from funcgrad.torch.operations.record import NodeClass, in_place, node, operation
from funcgrad.torch.operations.slicing import part
from funcgrad.torch.root import RootTracer
from funcgrad.torch.writing import check_overlap, check_writable, write

__all__ = ["index_put", "index_put_"]


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``, in place."""
    try:
        if not isinstance(value, Tensor):
            value = _constant(self, value)
        whole = index is Ellipsis or (isinstance(index, slice) and index == slice(None))
        if whole and not traced(self._t):
            _copy_to(self, value)
            return
        target, arrays = sliced(self, index)
        if not arrays and not traced(self._t):
            _copy_to(part(self, ()) if target is self else target, value)
            return
        if traced(self._t):
            _replace(self, index, value)
            return
        sizes = _without_leading_ones(shape_of(value))
        if sizes != shape_of(value):
            value = reshaping.view(value, sizes)
        check_writable(target)
        check_overlap(target, value, True)
        write(target, _put_arrays(target, arrays, value, False)._t)
    except Exception as error:
        hide_frames(error)
        raise


def _constant(x: Tensor, given: Any) -> Tensor:
    if not isinstance(given, (int, float, complex, np.number, np.bool_)):
        raise TypeError(f"can't assign a {_shown_type(given)} to a {dtypes.type_name(x.dtype)}")
    with no_grad():
        kind = x.dtype.numpy
        return box(in_kind(np.asarray(number(given, kind)), kind))


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
    at = read(positions, *arrays, places=places)
    v = broadcast_to(_without_extra(v, len(shape_of(at))), shape_of(at))
    return (core.add_at if adding else core.set_positions)(x, at, v)


def _without_extra(v: Array, rank: int) -> Array:
    shape = shape_of(v)
    return reshape(v, shape[len(shape) - rank :]) if len(shape) > rank else v


@functools.cache
def _writer(count: int) -> Composite:
    return Composite(f"index_put_{count}", widened(_put), linear=True, fixed=count)


@functools.cache
def _node(count: int) -> NodeClass:
    saves = " ".join(["_ _", *["indices"] * count])
    return node("IndexPut", saves, (0, 1), "accumulate indices")


def _put_arrays(x: Tensor, arrays: dict[int, Array], source: Tensor, accumulate: bool) -> Tensor:
    places, found = index_arrays(x, arrays)
    c, v = x.content(), source.content()
    if dtype_of(v) != dtype_of(c):
        names = [dtypes.scalar_name(kind_of(k)) for k in (c, v)]
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{names[0]} for the destination and {names[1]} for the source."
        )
    _check_value(shape_of(v), _shape_read(shape_of(c), places, found))
    made = computed(_writer(len(found)), c, v, *found, places=places, adding=accumulate)
    return boxed(made, _node(len(found)))


def _shape_read(
    shape: tuple[int, ...], places: tuple[int, ...], arrays: list[Array]
) -> tuple[int, ...]:
    at = common_shape(arrays)
    probe = np.broadcast_to(np.int8(0), shape)
    dummies = [np.zeros(at, np.int64) for _ in arrays]
    if 0 in (shape[p] for p in places):
        return (*at, *(n for k, n in enumerate(shape) if k not in places))
    return shape_of(read(probe, *dummies, places=places))


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


def _arrays_of(indices: Any) -> dict[int, Array]:
    """The arrays of ``index_put(indices, …)`` by dimension; None leaves a dimension out."""
    out: dict[int, Array] = {}
    dim = 0
    for i in indices:
        if i is None:
            dim += 1
            continue
        array = index_array(i)
        out[dim] = array
        dim += max(len(shape_of(array)), 1) if dtype_of(array).kind == "b" else 1
    return out


@operation(
    "index_put", "input, indices indices, Tensor values, bool accumulate=False", overlap="none"
)
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool) -> Tensor:
    """A copy in which values are written (or added) at tensors of positions."""
    return _put_arrays(input, _arrays_of(indices), values, accumulate)


(index_put_,) = in_place(index_put)
install(__getitem__=getitem, __setitem__=setitem)
