"""Parts of a tensor as views of it: entries, slices, pieces, diagonals, windows, any strides."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import index
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nodes import node_class
from funcgrad.torch.operations.common import (
    axis_of,
    boxed,
    check_int,
    install,
    method,
    named,
    shape_of,
    told,
)
from funcgrad.torch.operations.promotion import content
from funcgrad.torch.operations.reshaping import content_shape
from funcgrad.torch.python_values import UNBIND
from funcgrad.torch.remembered import remembered
from funcgrad.torch.root import RootTracer
from funcgrad.torch.views import make_view

__all__ = [
    "chunk", "diagonal", "dsplit", "hsplit", "narrow", "narrow_copy", "select",
    "split", "split_with_sizes", "tensor_split", "unbind", "vsplit",
]  # fmt: skip


def part(x: Tensor, items: tuple[Any, ...], name: str, refusal: str | None = None) -> Tensor:
    """A view by a basic index."""
    whole = (*items, Ellipsis)  # a view also of one element
    return make_view(x, lambda v: v[whole], lambda c: index.getitem(c, items), name, refusal)


def positioned(x: Array, read: Callable[[Any], Any]) -> Array:
    """The elements of `x` that `read` takes from an array of its shape."""
    shape = shape_of(x)
    if not shape:
        return x
    flat = np.arange(int(np.prod(shape))).reshape(shape)
    return index.gather(x, *np.unravel_index(read(flat), shape))


@functools.partial(remembered, layout=True)
def select(input: Tensor, dim: int, index: Any, refusal: str | None = None) -> Tensor:
    """One entry along a dimension."""
    shape = shape_of(content_shape(input, "select"))
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    k = axis_of(dim, len(shape))
    i = check_int("select", "index", 2, index)
    if not -shape[k] <= i < shape[k]:
        raise IndexError(
            f"select(): index {i} out of range for tensor of size {list(shape)} at dimension {k}"
        )
    return part(input, (slice(None),) * k + (i,), "SelectBackward0", refusal)


install(select=select)


@method()
@functools.partial(remembered, layout=True)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` entries along a dimension from `start`."""
    shape = shape_of(content_shape(input, "narrow"))
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    k = axis_of(dim, len(shape))
    first = check_int("narrow", "start", 2, start)
    length = check_int("narrow", "length", 3, length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -shape[k] <= first <= shape[k]:
        raise IndexError(
            f"start out of range (expected to be in range of [{-shape[k]}, {shape[k]}], but got "
            f"{first})"
        )
    first += shape[k] if first < 0 else 0
    if first + length > shape[k]:
        raise RuntimeError(
            f"start ({first}) + length ({length}) exceeds dimension size ({shape[k]})."
        )
    return part(input, (slice(None),) * k + (slice(first, first + length),), "SliceBackward0")


@method()
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`narrow` in memory of its own."""
    narrow(input.detach(), dim, start, length)
    k = axis_of(dim, input.ndim)
    first = start % max(shape_of(input)[k], 1) if start < 0 else start
    items = (slice(None),) * k + (slice(first, first + length),)
    return boxed(NARROW_COPY(content(input, "narrow_copy"), items=index.encode(items)),
                 named("NarrowCopyBackward0"))  # fmt: skip


def _copied_part(x: Array, items: Any) -> Array:
    found = index.getitem(x, index.decode(items))
    return np.array(found) if isinstance(found, np.ndarray) else found


NARROW_COPY = Composite("narrow_copy", _copied_part, linear=True)


# ----------------------------------------------------------------------------- several parts


@method()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The entries along a dimension."""
    shape = shape_of(content_shape(input, "unbind"))
    k = axis_of(dim, len(shape))
    if not shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return views_of(input, [(slice(None),) * k + (i,) for i in range(shape[k])], "UnbindBackward0")


UNBIND.append(unbind)


def views_of(x: Tensor, parts: Sequence[tuple[Any, ...]], name: str) -> tuple[Tensor, ...]:
    """Several views that are the outputs of one node."""
    out = [part(x, items, name, "several") for items in parts]
    first = out[0]._t if out else None
    if type(first) is RootTracer and first.node is not None:
        made = PARTS(x._t, parts=tuple(map(index.encode, parts)))
        made[0].node.parents[0].become(node_class(name))
        for o, piece in zip(out, made, strict=True):
            o._t.node = piece.node
    return tuple(out)


def _parts(x: Array, parts: Any) -> tuple[Array, ...]:
    return tuple(index.getitem(x, index.decode(p)) for p in parts)


PARTS = Composite("parts", _parts, linear=True, multiple=True)


@method()
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces along a dimension, of one size or of given sizes."""
    shape = shape_of(content_shape(tensor, "split"))
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    k = axis_of(dim, len(shape))
    if isinstance(split_size_or_sections, (tuple, list)):
        sizes = [int(n) for n in split_size_or_sections]
        name = "SplitWithSizesBackward0"
        if sum(sizes) != shape[k]:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {shape[k]} (input "
                f"tensor's size at dimension {k}), but got split_sizes={sizes}"
            )
    else:
        step = check_int("split", "split_size", 1, split_size_or_sections)
        name = "SplitBackward0"
        if step < 0 or (step == 0 and shape[k]):
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={step}"
            )
        sizes = [min(step, shape[k] - i) for i in range(0, shape[k], step or 1)] or [0]
    lead, start, parts = (slice(None),) * k, 0, []
    for n in sizes:
        parts.append((*lead, slice(start, start + n)))
        start += n
    return views_of(tensor, parts, name)


@method()
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Any:
    """Pieces of given sizes."""
    return split(input, list(split_sizes), dim)


@method()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size."""
    shape = shape_of(content_shape(input, "chunk"))
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    chunks = check_int("chunk", "chunks", 1, chunks)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    k = axis_of(dim, len(shape))
    if not shape[k]:
        return split(input, [0] * chunks, k)
    return split(input, -(-shape[k] // chunks), k)


@method()
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces along a dimension: a number of nearly equal ones, or cut at given places."""
    shape = shape_of(content_shape(input, "tensor_split"))
    if not shape:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    k = axis_of(dim, len(shape))
    n = shape[k]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        sizes = [n // count + (i < n % count) for i in range(count)]
        cuts = np.cumsum([0, *sizes]).tolist()
    else:
        cuts = [0, *indices_or_sections, n]
    lead = (slice(None),) * k
    return tuple(
        part(input, (*lead, slice(a, b)), "SliceBackward0") for a, b in itertools.pairwise(cuts)
    )


def _along(name: str, rank: int, axis: Callable[[int], int]) -> Any:
    def function(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        shape = shape_of(content_shape(input, name))
        if len(shape) < rank:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {rank} dimension, but got a tensor "
                f"with {len(shape)} dimensions!"
            )
        k = axis(len(shape))
        if isinstance(indices_or_sections, int):
            count = indices_or_sections
            if count <= 0 or shape[k] % count:
                raise RuntimeError(
                    f"torch.{name} attempted to split along dimension {k}, but the size of the "
                    f"dimension {shape[k]} is not divisible by the split_size {count}!"
                )
        return tensor_split(input, indices_or_sections, k)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`tensor_split` along one dimension, as NumPy's `{name}`."
    install(**{name: function})
    return function


hsplit = _along("hsplit", 1, lambda n: 0 if n == 1 else 1)
vsplit = _along("vsplit", 2, lambda n: 0)
dsplit = _along("dsplit", 3, lambda n: 2)


# ------------------------------------------------------------------- diagonals, windows, strides


@method()
@functools.partial(remembered, layout=True)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last one."""
    n = len(shape_of(content_shape(input, "diagonal")))
    i, j = axis_of(dim1, n), axis_of(dim2, n)
    offset = check_int("diagonal", "offset", 1, offset)
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    made = make_view(
        input, lambda v: _writable(np.diagonal(v, offset, i, j)),
        lambda c: positioned(c, lambda v: np.diagonal(v, offset, i, j)), "DiagonalBackward0",
    )  # fmt: skip
    return told(made, offset=offset, dim1=i, dim2=j)


def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices."""
    return diagonal(A, offset, dim1, dim2)


def _writable(v: Any) -> Any:
    """NumPy gives diagonals for reading only."""
    v.flags.writeable = True
    return v


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` entries along a dimension, `step` apart, as a last dimension."""
    shape = shape_of(self)
    k = axis_of(dimension, len(shape))
    n = shape[k] if shape else 1
    size, step = check_int("unfold", "size", 2, size), check_int("unfold", "step", 3, step)
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {k} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")

    def windows(v: Any) -> Any:
        found = np.lib.stride_tricks.sliding_window_view(v, size, k, writeable=True)
        return found[(slice(None),) * k + (slice(None, None, step),)]

    made = make_view(self, windows, lambda c: positioned(c, windows), "UnfoldBackward0")
    return told(made, dimension=k, size=size, step=step)


install(unfold=unfold)
