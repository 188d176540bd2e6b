"""Tensors joined along a dimension: an existing one, a new one, or as blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.kernels.copies import PARTED, joined
from funcgrad.ops import shape as shapes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.memory_formats import dense, in_format, order_of_images
from funcgrad.torch.operations.common import axis_of, boxed, computed, shape_of
from funcgrad.torch.operations.promotion import promoted
from funcgrad.torch.operations.record import Function, alias, node, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.reshaping import atleast_1d, atleast_2d, atleast_3d, reshape
from funcgrad.torch.tensor_arrays import layout

__all__ = [
    "block_diag", "cat", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack",
    "stack", "vstack",
]  # fmt: skip

CAT, STACK_NODE = node("Cat", tells="dim", of="concatenate"), node("Stack", tells="dim")
BLOCK_DIAG_NODE = node("BlockDiag")

Order = tuple[int, ...] | None  # of the dimensions in memory; None is C order


def _concatenated(*xs: Array, axis: int) -> Array:
    return shapes.concatenate(xs, axis)


def _laid(*xs: Array, axis: int, order: Order) -> Array:
    return in_format(shapes.concatenate(xs, axis), order)


CAT_LAID = Composite("cat", _laid, linear=True)


def _joined(name: str, tensors: Sequence[Tensor], core: Any, laid: Any, axis: int) -> Array:
    """What `core` gives where that lies as in PyTorch, else `laid`: in C order, or as images."""
    xs, order = promoted(name, *tensors), order_of_images(*tensors)
    if order is None and layout(tensors[0]).flags.c_contiguous:
        return computed(core, *xs, axis=axis)
    return computed(laid, *xs, axis=axis, order=order)


def _check_joined(tensors: Sequence[Tensor], dim: int) -> int:
    """The axis along which tensors can be joined; vectors without elements are left aside."""
    for k, x in enumerate(tensors):
        if not shape_of(x):
            raise RuntimeError(f"zero-dimensional tensor (at position {k}) cannot be concatenated")
    useful = [x for x in tensors if shape_of(x) != (0,)] or list(tensors[:1])
    first = shape_of(useful[0])
    axis = axis_of(dim, len(first))
    for number, x in enumerate(tensors):
        shape = shape_of(x)
        if shape == (0,):
            continue
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for d in range(len(first)):
            if d != axis and first[d] != shape[d]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size "
                    f"{first[d]} but got size {shape[d]} for tensor number {number} in the list."
                )
    return axis


@operation(
    "cat", "Tensors tensors, int dim=0, *, out", variants="", remembers=True,
)  # fmt: skip
@requires("tensors: ValueError: torch.cat(): expected a non-empty list of Tensors")
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors joined along a dimension."""
    axis = _check_joined(tensors, dim)
    full = next((shape_of(x) for x in tensors if shape_of(x) != (0,)), None)
    empty = full is not None and len(full) > 1 and any(shape_of(x) == (0,) for x in tensors)
    if empty:
        kept = [x for x in tensors if shape_of(x) != (0,)]
        xs = promoted("cat", *tensors)
        order = order_of_images(*kept)
        return boxed(computed(CAT_WITH_EMPTY, *xs, axis=axis, order=order), CAT)
    return boxed(_joined("cat", tensors, _concatenated, CAT_LAID, axis), CAT)


def _without_empty(*xs: Array, axis: int, order: Order) -> Array:
    return _laid(*(x for x in xs if shape_of(x) != (0,)), axis=axis, order=order)


CAT_WITH_EMPTY = Composite("cat_with_empty", _without_empty, linear=True)
concat, concatenate = alias("concat", cat), alias("concatenate", cat)


def _stacked(*xs: Array, axis: int) -> Array:
    found = None
    if type(xs[0]) is np.ndarray and xs[0].size >= PARTED:
        found = joined([np.expand_dims(x, axis) for x in xs], axis)
    return shapes.stack(list(xs), axis) if found is None else found


STACK = Composite("stack", _stacked, linear=True)
STACK.hands_on = True
STACK_LAID = Composite("stack_laid", lambda *xs, axis, order: _stack_laid(xs, axis, order), True)


def _stack_laid(xs: Sequence[Array], axis: int, order: Order) -> Array:
    """As PyTorch, which joins along an axis that is there, and takes the new one out of it."""
    shape = shape_of(xs[0])
    if axis == len(shape):
        return dense(shapes.stack(list(xs), axis))
    found = _laid(*xs, axis=axis, order=order)
    return shapes.reshape(found, (*shape[:axis], len(xs), *shape[axis:]))


@operation(
    "stack", "Tensors tensors, int dim=0, *, out", variants="", remembers=True,
)  # fmt: skip
@requires("tensors: stack expects a non-empty TensorList")
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension."""
    first = shape_of(tensors[0])
    axis = axis_of(dim, len(first), extra=1)
    for k, x in enumerate(tensors):
        if shape_of(x) != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(shape_of(x))} at entry {k}"
            )
    return boxed(_joined("stack", tensors, STACK, STACK_LAID, axis), STACK_NODE)


def _along(name: str, dim: Callable[[int], int], raised: Any, doc: str) -> Function[Tensor]:
    """Join along the dimension that `dim` names, of tensors that are `raised` to enough of them."""

    def function(tensors: Sequence[Tensor]) -> Tensor:
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        xs = list(map(raised, tensors))
        return cat(xs, dim(xs[0].ndim))

    function.__doc__ = doc
    return operation(name, "Tensors tensors, *, out", variants="")(function)


hstack = _along("hstack", lambda n: min(n, 2) - 1, atleast_1d,
                "Joined along the second dimension (the first for vectors).")  # fmt: skip
vstack = _along("vstack", lambda n: 0, atleast_2d, "Joined along the first one, vectors as rows.")
row_stack = alias("row_stack", vstack)
dstack = _along("dstack", lambda n: 2, atleast_3d, "Joined along the third dimension.")
column_stack = _along(
    "column_stack", lambda n: 1, lambda x: x if x.ndim > 1 else reshape(x, (x.numel(), 1)),
    "Joined along the second dimension, vectors as columns.",
)  # fmt: skip


def _blocks(*xs: Array) -> Array:
    """The matrices on the diagonal of one, as a sum of matrices of its size."""
    sizes = [shape_of(x) for x in xs]
    rows, columns = (sum(s[k] for s in sizes) for k in (0, 1))
    bands, left = [], 0
    for x, (n, m) in zip(xs, sizes, strict=True):
        kind = x.dtype if isinstance(x, np.ndarray) else x.type.dtype
        zeros = [np.zeros((n, w), kind) for w in (left, columns - left - m)]
        bands.append(shapes.concatenate([zeros[0], x, zeros[1]], 1))
        left += m
    del rows
    return shapes.concatenate(bands, 0)


def _as_matrix(x: Array) -> Array:
    shape = shape_of(x)
    return x if len(shape) == 2 else shapes.reshape(x, (1, *(shape or (1,))))


BLOCK_DIAG = Composite("block_diag", lambda *xs: _blocks(*map(_as_matrix, xs)), linear=True)


def block_diag(*tensors: Any) -> Tensor:
    """Matrices on the diagonal of one; vectors are rows."""
    xs = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    for k, x in enumerate(xs):
        if len(shape_of(x)) > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{k} has {len(shape_of(x))} dimensions"
            )
    made = computed(BLOCK_DIAG, *promoted("block_diag", *xs))
    return boxed(made, BLOCK_DIAG_NODE)
