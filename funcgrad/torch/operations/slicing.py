"""Parts of a tensor as views of it: entries, slices, diagonals, windows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.core.types import Array
from funcgrad.ops import index as core
from funcgrad.ops.shape import reshape
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.memory_formats import dense
from funcgrad.torch.operations.common import axis_of, boxed, shape_of, told
from funcgrad.torch.operations.record import NodeClass, node, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.views import make_view

__all__ = [
    "diagonal", "narrow", "narrow_copy", "select",
]  # fmt: skip

SELECT = node("Select", tells="dim index self_sym_sizes")
SLICE = node("Slice", tells="dim start end step self_sym_sizes", of="getitem")
ALIAS = node("Alias")
DIAGONAL = node("Diagonal", tells="offset dim1 dim2 self_sym_sizes")
UNFOLD = node("Unfold", tells="dimension size step self_sym_sizes")


def part(
    x: Tensor, items: tuple[Any, ...], node: NodeClass = SLICE, refusal: str | None = None
) -> Tensor:
    """A view by a basic index."""
    read = partial(_read, whole=(*items, Ellipsis))  # a view also of one element
    return make_view(x, read, lambda c: core.getitem(c, items), node, refusal)


def _read(v: Any, whole: Any) -> Any:
    return v[whole]


def positioned(x: Array, read: Callable[[Any], Any]) -> Array:
    """The elements of `x` that `read` takes from an array of its shape."""
    shape = shape_of(x)
    if not shape:
        return x
    flat = np.arange(int(np.prod(shape))).reshape(shape)
    return core.gather(x, *np.unravel_index(read(flat), shape))


@operation("select", "input, int dim, int index", variants="method", remembers=True)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One entry along a dimension."""
    return part(input, entry_of(shape_of(input), dim, index), SELECT)


@requires("shape: IndexError: select() cannot be applied to a 0-dim tensor.")
def entry_of(shape: tuple[int, ...], dim: int, index: int) -> tuple[Any, ...]:
    k = axis_of(dim, len(shape))
    if not -shape[k] <= index < shape[k]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension "
            f"{k}"
        )
    return (slice(None),) * k + (index,)


@operation(
    "narrow",
    "input, int dim, Tensor start, int length | input, int dim, int start, int length",
    variants="method", remembers=True,
)  # fmt: skip
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` entries along a dimension from `start`."""
    if isinstance(start, Tensor):
        if start.ndim or start.dtype.is_floating_point or start.dtype.is_complex:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = start.item()
    return part(input, _narrowed(shape_of(input), dim, start, length))


@requires("shape: narrow() cannot be applied to a 0-dim tensor.")
def _narrowed(shape: tuple[int, ...], dim: int, start: int, length: int) -> tuple[Any, ...]:
    k = axis_of(dim, len(shape))
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -shape[k] <= start <= shape[k]:
        raise IndexError(
            f"start out of range (expected to be in range of [{-shape[k]}, {shape[k]}], but got "
            f"{start})"
        )
    start += shape[k] if start < 0 else 0
    if start + length > shape[k]:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({shape[k]})."
        )
    return (slice(None),) * k + (slice(start, start + length),)


NARROW_COPY_NODE = node("NarrowCopy", tells="dim start length self_sym_sizes")


@operation("narrow_copy", "input, int dim, int start, int length, *, out", variants="method")
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`narrow` in memory of its own."""
    items = _narrowed(shape_of(input), dim, start, length)
    return boxed(NARROW_COPY(input.content(), items=core.encode(items)), NARROW_COPY_NODE)


def _copied_part(x: Array, items: Any) -> Array:
    found = core.getitem(x, core.decode(items))
    return dense(found if isinstance(found, Tracer) else np.array(found))


NARROW_COPY = Composite("narrow_copy", _copied_part, linear=True)


# ---------------------------------------------------------------------------- diagonals, windows


@operation(
    "diagonal", "input, int offset=0, int dim1=0, int dim2=1", variants="method", remembers=True,
)  # fmt: skip
def diagonal(input: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """The diagonal of two dimensions, as the last one."""
    n = len(shape_of(input))
    i, j = axis_of(dim1, n), axis_of(dim2, n)
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    made = make_view(
        input, lambda v: _writable(np.diagonal(v, offset, i, j)),
        lambda c: positioned(c, lambda v: np.diagonal(v, offset, i, j)), DIAGONAL,
    )  # fmt: skip
    return told(made, offset=offset, dim1=i, dim2=j)


@operation("linalg_diagonal", "A, *, int offset=0, int dim1=-2, int dim2=-1", variants="")
def linalg_diagonal(A: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """The diagonals of matrices."""
    return diagonal(A, offset, dim1, dim2)


def _writable(v: Any) -> Any:
    """NumPy gives diagonals for reading only."""
    v.flags.writeable = True
    return v


@operation("unfold", "input, int dimension, int size, int step", variants="method")
def _unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` entries along a dimension, `step` apart, as a last dimension."""
    shape = shape_of(input)
    k = axis_of(dimension, len(shape))
    n = shape[k] if shape else 1
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {k} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")

    def windows(v: Any) -> Any:
        found = np.lib.stride_tricks.sliding_window_view(v, size, k, writeable=True)
        return found[(slice(None),) * k + (slice(None, None, step),)]

    def of_one(v: Any) -> Any:
        return v.reshape(1)[:size]

    if shape:
        made = make_view(input, windows, lambda c: positioned(c, windows), UNFOLD)
    else:
        made = make_view(
            input, of_one, lambda c: core.getitem(reshape(c, (1,)), slice(size)), UNFOLD
        )
    return told(made, dimension=k, size=size, step=step)
