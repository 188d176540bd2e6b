"""Another shape for the same elements: a view where the memory allows it, else a copy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.ops import shape as shapes
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.narrow import refuse_bytes
from funcgrad.torch.operations.common import axis_of, boxed, shape_of, traced
from funcgrad.torch.operations.converting import contiguous
from funcgrad.torch.operations.record import Function, NodeClass, node, operation
from funcgrad.torch.root import RootTracer
from funcgrad.torch.tensor_arrays import layout
from funcgrad.torch.views import ALIAS, make_view

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "flatten", "ravel", "reshape", "unflatten",
]  # fmt: skip


VIEW = node("View", tells="self_sym_sizes", of="reshape")
RESHAPE_ALIAS = node("ReshapeAlias", tells="self_sym_sizes")
UNSAFE_VIEW = node("UnsafeView", tells="self_sym_sizes")


def reshape_sizes(shape: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """The sizes with -1 replaced; PyTorch's error when they do not fit."""
    size = math.prod(shape)
    for k, n in enumerate(sizes):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {k} of shape {list(sizes)}")
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = math.prod(n for n in sizes if n != -1)
    if -1 in sizes:
        if known == 0 and size == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(sizes)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
            )
        if known and size % known == 0:
            return tuple(size // known if n == -1 else n for n in sizes)
    if -1 in sizes or known != size:
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {size}")
    return tuple(sizes)


def fits_memory(x: Tensor, sizes: tuple[int, ...]) -> bool:
    """Whether the memory of `x` can be seen in another shape."""
    try:
        np.reshape(layout(x), sizes, copy=False)
    except ValueError:
        return False
    return True


def viewed(x: Tensor, shape: tuple[int, ...], node: NodeClass = VIEW) -> Tensor:
    """The memory of `x` in another shape, into which it fits."""
    copy = None if traced(x._t) else False  # where there is no memory, positions are read
    return make_view(
        x, partial(np.reshape, shape=shape, copy=copy), lambda c: shapes.reshape(c, shape), node
    )


def unsafe_viewed(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`x`, which nobody else will see, in another shape: no view for PyTorch."""
    c = x.content()
    made = ALIAS(c) if shape_of(c) == shape else shapes.reshape(c, shape)
    return boxed(made, UNSAFE_VIEW)


@operation(
    "view", "input, dtype dtype | input, ints size", variants="method", remembers=True,
)  # fmt: skip
def view(input: Tensor, dtype: Any, size: Any) -> Tensor:
    """The same memory in another shape, or read in another dtype of the same size."""
    if dtype is not None:
        return _reinterpreted(input, dtype)
    sizes = reshape_sizes(shape_of(input), size)
    if not fits_memory(input, sizes):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return viewed(input, sizes)


def _reinterpreted(x: Tensor, kind: dtypes.dtype) -> Tensor:
    """The bytes of `x` in another dtype, without a gradient."""
    if kind is x.dtype:
        return viewed(x, shape_of(x))
    refuse_bytes("view(dtype)", x.dtype, kind)
    if x.requires_grad or (isinstance(x.content(), Tracer) and type(x._t) is not RootTracer):
        x = x.detach()
    if kind.itemsize != x.element_size() and not x.ndim:
        raise RuntimeError(
            "self.dim() cannot be 0 to view "
            f"{dtypes.scalar_name(x.dtype)} as {dtypes.scalar_name(kind)} (different element sizes)"
        )
    return make_view(
        x, lambda v: v.view(kind.numpy), lambda c: shapes.reshape(c, shape_of(c)), VIEW
    )


@operation("reshape", "input, ints shape", variants="method", remembers=True)
def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """Another shape: a view where memory allows it, else a copy."""
    found = reshape_sizes(shape_of(input), shape)
    if not fits_memory(input, found):
        return unsafe_viewed(contiguous(input), found)
    return viewed(input, found, VIEW if input.is_contiguous() else RESHAPE_ALIAS)


def _in_shape_of_other(name: str, into: Function[Tensor]) -> None:
    def function(input: Tensor, other: Tensor) -> Tensor:
        return into(input, shape_of(other))

    function.__doc__ = f"`{name}` in the shape of another tensor."
    operation(f"{name}_as", "input, other", variants="method")(function)


_in_shape_of_other("view", view)
_in_shape_of_other("reshape", reshape)


@operation(
    "flatten", "input, int start_dim=0, int end_dim=-1", variants="method", remembers=True,
)  # fmt: skip
def flatten(input: Tensor, start_dim: int, end_dim: int) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one."""
    shape = shape_of(input)
    first, last = axis_of(start_dim, len(shape)), axis_of(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last and shape:
        return input
    return reshape(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


@operation("ravel", "input", variants="method")
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return view(contiguous(input), (math.prod(shape_of(input)),))


@operation("unflatten", "input, int dim, ints sizes", variants="method")
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension split into several."""
    shape = shape_of(input)
    k = axis_of(dim, len(shape))
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = math.prod(n for n in sizes if n != -1)
    if (-1 in sizes and (not known or shape[k] % known)) or (-1 not in sizes and known != shape[k]):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {k} "
            f"({shape[k]}) in the input tensor"
        )
    return view(input, (*shape[:k], *reshape_sizes((shape[k],), tuple(sizes)), *shape[k + 1 :]))


# --------------------------------------------------------------------- dimensions of extent one


def _each(function: Any, tensors: tuple[Any, ...]) -> Any:
    """`function` of one tensor, or of each of several."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    xs = tensors[0] if len(tensors) == 1 else tensors
    return tuple(function(x) for x in xs)


def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension."""
    return _each(lambda x: x if x.ndim else reshape(x, (1,)), tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions: vectors become rows."""
    return _each(
        lambda x: x if x.ndim > 1 else x.unsqueeze(0) if x.ndim else reshape(x, (1, 1)), tensors
    )


def _at_least_3d(x: Tensor) -> Tensor:
    if x.ndim == 0:
        return reshape(x, (1, 1, 1))
    if x.ndim == 1:
        return x.unsqueeze(0).unsqueeze(-1)
    return x.unsqueeze(-1) if x.ndim == 2 else x


def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions."""
    return _each(_at_least_3d, tensors)
