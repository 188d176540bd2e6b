"""Sorting, the largest and smallest k, the k-th, medians and modes.

NaN is larger than every number, as in PyTorch and NumPy. Equal elements keep their order, where
PyTorch promises none; the element that stands at a position gets its cotangent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import order
from funcgrad.ops import sort as core
from funcgrad.ops.index import getitem
from funcgrad.ops.shape import flip, reshape
from funcgrad.ops.sums import sum as sum_
from funcgrad.torch import return_types
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.dimensions import check_flag
from funcgrad.torch.operations.common import (
    axis_of,
    boxed,
    check_int,
    computed,
    install,
    into,
    method,
    named,
    numpy_names,
    shape_of,
)
from funcgrad.torch.operations.picking import delivered, picked
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.operations.selection import outermost, pays
from funcgrad.torch.root import RootTracer

__all__ = [
    "argsort", "kthvalue", "median", "mode", "msort", "nanmedian", "sort", "topk",
]  # fmt: skip


def permutation(x: Array, axis: int, descending: bool) -> Array:
    """The positions that sort `x` along an axis; equal elements keep their order."""
    if not shape_of(x):
        return np.zeros((), np.int64)
    if not descending:
        return core.argsort(x, axis)
    turned = flip(core.argsort(flip(x, (axis,)), axis), (axis,))
    return a.subtract(shape_of(x)[axis] - 1, turned)


def _refuse_complex(name: str, x: Array) -> None:
    if dtype_of(x).kind == "c":
        raise RuntimeError(f" {name} does not support complex dtypes on CPU")


@method()
@numpy_names
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """The elements in order along a dimension, and where they stood."""
    x = content(input, "sort")
    _refuse_complex("Sort", x)
    axis = axis_of(dim, len(shape_of(x)))
    check_flag("sort", "descending", 2, descending)
    name = "SortBackward0" if stable is None else "SortBackward1"
    found = picked(x, permutation(x, axis, descending), axis, False, name)
    return delivered(return_types.sort, found, out, "sort")


@method()
@numpy_names
def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Tensor:
    """Where the elements in order along a dimension stand."""
    x = content(input, "argsort")
    _refuse_complex("Sort", x)
    return box(permutation(x, axis_of(dim, len(shape_of(x))), bool(descending)))


@method()
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in order along the first dimension."""
    return into(out, sort(input, 0)[0], "msort")


def _part(positions: Array, axis: int, at: Any) -> Array:
    """Some of the positions along an axis."""
    if not shape_of(positions):
        return positions
    return getitem(positions, (slice(None),) * axis + (at,))


@method()
@numpy_names
def topk(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *,
    out: Any = None,
) -> Any:  # fmt: skip
    """The `k` largest (or smallest) elements along a dimension, and where they stand."""
    x = content(input, "topk")
    _refuse_complex("topk", x)
    if dtype_of(x).kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    k = check_int("topk", "k", 1, k)
    if not 0 <= k <= (shape[axis] if shape else 1):
        raise RuntimeError("selected index k out of range")
    raw = x.value if type(x) is RootTracer else x
    if pays(raw, axis, k):
        at: Array = outermost(raw, axis, k, bool(largest))
    else:
        at = _part(permutation(x, axis, largest), axis, slice(0, k))
    found = picked(x, at, axis, False, "TopkBackward0")
    return delivered(return_types.topk, found, out, "topk")


@method()
@numpy_names
def kthvalue(
    input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    """The `k`-th smallest element along a dimension (counted from 1), and where it stands."""
    x = content(input, "kthvalue")
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    k = check_int("kthvalue", "k", 1, k)
    check_flag("kthvalue", "keepdim", 3, keepdim)
    if not 1 <= k <= (shape[axis] if shape else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    refuse_kinds("kthvalue_cpu", "bc", x)
    at = _part(permutation(x, axis, False), axis, k - 1)
    found = picked(x, at, axis, keepdim, "KthvalueBackward0")
    return delivered(return_types.kthvalue, found, out, "kthvalue")


# --------------------------------------------------------------------------- medians and modes


def _median_position(x: Array, axis: int, ignore_nan: bool) -> Array:
    """Where the lower median stands; where there is a NaN, the first of them."""
    shape = shape_of(x)
    if not shape:
        return np.zeros((), np.int64)
    ordered = core.argsort(x, axis)
    n = shape[axis]
    if dtype_of(x).kind != "f":
        return _part(ordered, axis, (n - 1) // 2)
    unknown = a.isnan(x)
    known = a.subtract(n, sum_(a.cast(unknown, np.int64), axis))
    if ignore_nan:
        rank = a.floor_divide(a.where(a.equal(known, 0), 0, a.subtract(known, 1)), 2)
    else:
        rank = a.where(a.equal(known, n), (n - 1) // 2, known)
    place = np.arange(n).reshape((-1,) + (1,) * (len(shape) - axis - 1))
    here = a.equal(place, _kept(rank, axis))
    return sum_(a.where(here, ordered, 0), axis)


def _kept(x: Array, axis: int) -> Array:
    shape = shape_of(x)
    return reshape(x, (*shape[:axis], 1, *shape[axis:]))


def _middle(name: str, ignore_nan: bool) -> Any:
    node = named(f"{name.capitalize()}Backward0", "result", "self")

    @numpy_names
    def function(input: Tensor, dim: int | None = None, keepdim: bool = False, *,
                 out: Any = None) -> Any:  # fmt: skip
        x = content(input, name)
        refuse_kinds("median_cpu" if dim is None else "median_out", "bc", x)
        check_flag(name, "keepdim", 2, keepdim)
        if dim is None:
            return boxed(computed(order.lower_median, x, ignore_nan), node)
        shape = shape_of(x)
        axis = axis_of(dim, len(shape))
        if shape and shape[axis] == 0:
            raise IndexError(f"median(): Expected reduction dim {axis} to have non-zero size.")
        at = _median_position(x, axis, ignore_nan)
        found = picked(x, at, axis, keepdim, f"{name.capitalize()}Backward1")
        return delivered(getattr(return_types, name), found, out, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        "The median (the lower one of two) of all elements, or along a dimension with where it "
        f"stands; {'NaN is ignored' if ignore_nan else 'NaN if there is one'}."
    )
    install(**{name: function})
    return function


median = _middle("median", False)
nanmedian = _middle("nanmedian", True)


@method()
@numpy_names
def mode(input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent element along a dimension (the smallest of them), and where it is last."""
    x = content(input, "mode")
    refuse_kinds("mode_cpu", "c", x)
    check_flag("mode", "keepdim", 2, keepdim)
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    if shape and shape[axis] == 0:
        raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
    at = order.mode_positions(x, axis) if shape else np.zeros((), np.int64)
    found = picked(x, at, axis, keepdim, "ModeBackward0")
    return delivered(return_types.mode, found, out, "mode")
