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
from funcgrad.torch.operations.common import axis_of, boxed, computed, shape_of
from funcgrad.torch.operations.elements_at_positions import picked, without_node
from funcgrad.torch.operations.outermost_elements import outermost, pays
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import Function, node, operation, refuse
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
    if type(x) is np.ndarray:  # as below, without three more operations
        back = (slice(None),) * axis + (slice(None, None, -1),)
        return x.shape[axis] - 1 - core.argsort(x[back], axis)[back]
    turned = flip(core.argsort(flip(x, (axis,)), axis), (axis,))
    return a.subtract(shape_of(x)[axis] - 1, turned)


def _refuse_complex(name: str, x: Array) -> None:
    refuse({"c": RuntimeError(f" {name} does not support complex dtypes on CPU")}, x)


ORDER = "int dim=-1, bool descending=False"


@operation(
    "sort", f"input, *, bool? stable, {ORDER}, Tensors out | input, {ORDER}, *, Tensors out",
    variants="method", lies="first",
)  # fmt: skip
def sort(input: Tensor, stable: bool | None, dim: int, descending: bool) -> Any:
    """The elements in order along a dimension, and where they stood."""
    x = input.content()
    _refuse_complex("Sort", x)
    axis = axis_of(dim, len(shape_of(x)))
    kind = f"SortBackward{0 if stable is None else 1} self_sym_sizes"
    return picked(return_types.sort, x, permutation(without_node(x), axis, descending), axis, kind)


@operation(
    "argsort", f"input, *, bool stable, {ORDER}, out | input, {ORDER}", variants="method",
    lies="first",
)  # fmt: skip
def argsort(input: Tensor, stable: bool | None, dim: int, descending: bool) -> Tensor:
    """Where the elements in order along a dimension stand."""
    x = input.content()
    _refuse_complex("Sort", x)
    return box(permutation(x, axis_of(dim, len(shape_of(x))), descending))


@operation("msort", "input, *, out", variants="method")
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
    found: Tensor = sort(input, 0)[0]
    return found


def _part(positions: Array, axis: int, at: Any) -> Array:
    """Some of the positions along an axis."""
    if not shape_of(positions):
        return positions
    if type(positions) is np.ndarray:
        return positions[(slice(None),) * axis + (at,)]
    return getitem(positions, (slice(None),) * axis + (at,))


@operation(
    "topk", "input, int k, int dim=-1, bool largest=True, bool sorted=True, *, Tensors out",
    variants="method",
)  # fmt: skip
def topk(input: Tensor, k: int, dim: int, largest: bool, sorted: bool) -> Any:
    """The `k` largest (or smallest) elements along a dimension, and where they stand."""
    x = input.content()
    _refuse_complex("topk", x)
    if dtype_of(x).kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    if not 0 <= k <= (shape[axis] if shape else 1):
        raise RuntimeError("selected index k out of range")
    raw = x.value if type(x) is RootTracer else x
    if pays(raw, axis, k):
        at: Array = outermost(raw, axis, k, largest)
    else:
        at = _part(permutation(without_node(x), axis, largest), axis, slice(0, k))
    return picked(return_types.topk, x, at, axis, "TopkBackward0 self_sym_sizes")


@operation(
    "kthvalue", "input, int k, int dim=-1, bool keepdim=False, *, Tensors out", variants="method"
)  # fmt: skip
def kthvalue(input: Tensor, k: int, dim: int, keepdim: bool) -> Any:
    """The `k`-th smallest element along a dimension (counted from 1), and where it stands."""
    x = input.content()
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    if not 1 <= k <= (shape[axis] if shape else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    refuse({"bc": "kthvalue_cpu"}, x)
    at = _part(permutation(without_node(x), axis, False), axis, k - 1)
    kind = "KthvalueBackward0 self_sym_sizes"
    return picked(return_types.kthvalue, x, at, axis, kind, keepdim)


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


def _middle(name: str, ignore_nan: bool) -> Function[Any]:
    whole = node(name.capitalize(), "result self")
    doc = (
        "The median (the lower one of two) of all elements, or along a dimension with where it "
        f"stands; {'NaN is ignored' if ignore_nan else 'NaN if there is one'}."
    )

    @operation(
        name, "input | input, int dim, bool keepdim=False, *, Tensors out", variants="method",
        doc=doc,
    )  # fmt: skip
    def function(input: Tensor, dim: int | None, keepdim: bool) -> Any:
        x = input.content()
        refuse({"bc": "median_cpu" if dim is None else "median_out"}, x)
        if dim is None:
            return boxed(computed(order.lower_median, x, ignore_nan), whole)
        shape = shape_of(x)
        axis = axis_of(dim, len(shape))
        if shape and shape[axis] == 0:
            raise IndexError(f"median(): Expected reduction dim {axis} to have non-zero size.")
        at = _median_position(x, axis, ignore_nan)
        kind = f"{name.capitalize()}Backward1 self_sym_sizes"
        return picked(getattr(return_types, name), x, at, axis, kind, keepdim)

    return function


median = _middle("median", False)
nanmedian = _middle("nanmedian", True)


@operation("mode", "input, int dim=-1, bool keepdim=False, *, Tensors out", variants="method")
def mode(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The most frequent element along a dimension (the smallest of them), and where it is last."""
    x = input.content()
    refuse({"c": "mode_cpu"}, x)
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    if shape and shape[axis] == 0:
        raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
    at = order.mode_positions(x, axis) if shape else np.zeros((), np.int64)
    return picked(return_types.mode, x, at, axis, "ModeBackward0 self_sym_sizes", keepdim)
