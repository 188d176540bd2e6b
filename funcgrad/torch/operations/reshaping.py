"""Another shape for the same elements: a view where the memory allows it, else a copy."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.ops import shape as shapes
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.contents import layout
from funcgrad.torch.operations.common import (
    axis_of,
    boxed,
    install,
    method,
    named,
    shape_of,
    traced,
)
from funcgrad.torch.operations.converting import contiguous
from funcgrad.torch.operations.promotion import content
from funcgrad.torch.remembered import remembered
from funcgrad.torch.root import RootTracer
from funcgrad.torch.views import ALIAS, make_view

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "flatten", "ravel", "reshape", "unflatten",
]  # fmt: skip


def given(function: str, argument: str, sizes: tuple[Any, ...], named: Any = None) -> Any:
    """Sizes or dimensions given as numbers, as one sequence, or by keyword."""
    if named is not None:
        sizes = tuple(named) if isinstance(named, (tuple, list)) else (named,)
    elif len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    for k, n in enumerate(sizes):
        if isinstance(n, (float, str, bool)) or not hasattr(n, "__index__"):
            raise TypeError(
                f"{function}(): argument '{argument}' must be tuple of ints, but found element of "
                f"type {type(n).__name__} at pos {k}"
            )
    return tuple(int(n.__index__()) for n in sizes)


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


def viewed(x: Tensor, shape: tuple[int, ...], name: str = "ViewBackward0") -> Tensor:
    """The memory of `x` in another shape, into which it fits."""
    copy = None if traced(x._t) else False  # where there is no memory, positions are read
    return make_view(
        x, lambda v: np.reshape(v, shape, copy=copy), lambda c: shapes.reshape(c, shape), name
    )


def unsafe_viewed(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`x`, which nobody else will see, in another shape: no view for PyTorch."""
    c = x.content()
    made = ALIAS(c) if shape_of(c) == shape else shapes.reshape(c, shape)
    return boxed(made, named("UnsafeViewBackward0"))


@functools.partial(remembered, layout=True)
def view(self: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """The same memory in another shape, or read in another dtype of the same size."""
    if dtype is None and len(shape) == 1 and isinstance(shape[0], dtypes.dtype):
        dtype = shape[0]
    if dtype is not None:
        return _reinterpreted(self, dtype)
    sizes = reshape_sizes(shape_of(self), given("view", "size", shape, size))
    if not fits_memory(self, sizes):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return viewed(self, sizes)


def _reinterpreted(x: Tensor, kind: dtypes.dtype) -> Tensor:
    """The bytes of `x` in another dtype, without a gradient."""
    if kind is x.dtype:
        return viewed(x, shape_of(x))
    if x.requires_grad or (isinstance(x.content(), Tracer) and type(x._t) is not RootTracer):
        x = x.detach()
    if kind.itemsize != x.element_size() and not x.ndim:
        raise RuntimeError(
            "self.dim() cannot be 0 to view "
            f"{dtypes.scalar_name(x.dtype)} as {dtypes.scalar_name(kind)} (different element sizes)"
        )
    return make_view(
        x, lambda v: v.view(kind.numpy), lambda c: shapes.reshape(c, shape_of(c)), "ViewBackward0"
    )


def view_as(self: Tensor, other: Tensor) -> Tensor:
    """`view` in the shape of another tensor."""
    return view(self, tuple(other.shape))


install(view=view, view_as=view_as)


@functools.partial(remembered, layout=True)
def reshape(input: Tensor, *sizes: Any, shape: Any = None) -> Tensor:
    """Another shape: a view where memory allows it, else a copy."""
    found = reshape_sizes(
        shape_of(content_shape(input, "reshape")), given("reshape", "shape", sizes, shape)
    )
    if not fits_memory(input, found):
        return unsafe_viewed(contiguous(input), found)
    name = "ViewBackward0" if input.is_contiguous() else "ReshapeAliasBackward0"
    return viewed(input, found, name)


def content_shape(x: Any, function: str) -> Tensor:
    """The tensor itself; PyTorch's TypeError for anything else."""
    if not isinstance(x, Tensor):
        content(x, function)
    return x  # type: ignore[no-any-return]


def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """`reshape` to the shape of another tensor."""
    return reshape(self, tuple(other.shape))


install(reshape=reshape, reshape_as=reshape_as)


@method()
@functools.partial(remembered, layout=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one."""
    shape = shape_of(content_shape(input, "flatten"))
    first, last = axis_of(start_dim, len(shape)), axis_of(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last and shape:
        return input
    return reshape(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


@method()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return view(contiguous(input), math.prod(shape_of(content_shape(input, "ravel"))))


@method()
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
    return _each(lambda x: x if x.ndim else reshape(x, 1), tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions: vectors become rows."""
    return _each(
        lambda x: x if x.ndim > 1 else x.unsqueeze(0) if x.ndim else reshape(x, (1, 1)), tensors
    )


def _at_least_3d(x: Tensor) -> Tensor:
    if x.ndim == 0:
        return reshape(x, (1, 1, 1))
    if x.ndim == 1:
        return x.unsqueeze(0).unsqueeze(-1)  # type: ignore[no-any-return]
    return x.unsqueeze(-1) if x.ndim == 2 else x


def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions."""
    return _each(_at_least_3d, tensors)
