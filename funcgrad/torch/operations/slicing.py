"""Parts of a tensor as views of it: entries, slices, pieces, diagonals, windows.

A part is also replaced here: ``select_scatter`` and its kin.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.core.types import Array
from funcgrad.ops import index as core
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.shape import reshape
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import axis_of, boxed, computed, install, shape_of, told
from funcgrad.torch.operations.dense import dense
from funcgrad.torch.operations.memory import as_strided
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import Function, NodeClass, node, operation
from funcgrad.torch.python_values import UNBIND
from funcgrad.torch.root import RootTracer
from funcgrad.torch.storage import in_storage
from funcgrad.torch.versions import Version
from funcgrad.torch.views import make_view

__all__ = [
    "as_strided_scatter", "chunk", "diagonal", "diagonal_scatter", "dsplit", "hsplit", "narrow",
    "narrow_copy", "select", "select_scatter", "slice_scatter", "split", "split_with_sizes",
    "tensor_split", "unbind", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "vsplit",
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
    whole = (*items, Ellipsis)  # a view also of one element
    return make_view(x, lambda v: v[whole], lambda c: core.getitem(c, items), node, refusal)


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
    return part(input, _entry(shape_of(input), dim, index), SELECT)


def _entry(shape: tuple[int, ...], dim: int, index: int) -> tuple[Any, ...]:
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
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


def _narrowed(shape: tuple[int, ...], dim: int, start: int, length: int) -> tuple[Any, ...]:
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
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


# ----------------------------------------------------------------------------- several parts


UNBIND_NODE = node("Unbind", tells="dim")
SPLIT = node("Split", tells="dim split_size self_sym_sizes")
SPLIT_WITH_SIZES = node("SplitWithSizes", tells="dim split_sizes self_sym_sizes")
PIECES = "several"  # why what shares a node must not be written (see `views.FORBIDDEN`)


@operation("unbind", "input, int dim=0", variants="method")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The entries along a dimension."""
    shape = shape_of(input)
    k = axis_of(dim, len(shape))
    if not shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return views_of(input, [(slice(None),) * k + (i,) for i in range(shape[k])], UNBIND_NODE)


UNBIND.append(unbind)


def views_of(
    x: Tensor, parts: Sequence[tuple[Any, ...]], node: NodeClass, refusal: str | None = PIECES
) -> tuple[Tensor, ...]:
    """Several views that are the outputs of one node."""
    out = [part(x, items, node, refusal) for items in parts]
    first = out[0]._t if out else None
    if type(first) is RootTracer and first.node is not None:
        made = PARTS(x._t, parts=tuple(map(core.encode, parts)))
        made[0].node.parents[0].become(node)
        for o, piece in zip(out, made, strict=True):
            o._t.node = piece.node
    return tuple(out)


def _parts(x: Array, parts: Any) -> tuple[Array, ...]:
    return tuple(core.getitem(x, core.decode(p)) for p in parts)


PARTS = Composite("parts", _parts, linear=True, multiple=True, shows_operand=True)


def _sizes_given(shape: tuple[int, ...], k: int, sizes: Sequence[int]) -> list[int]:
    if sum(sizes) != shape[k] or any(n < 0 for n in sizes):
        if any(n < 0 for n in sizes):
            raise RuntimeError(
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={list(sizes)}"
            )
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {shape[k]} (input "
            f"tensor's size at dimension {k}), but got split_sizes={list(sizes)}"
        )
    return list(sizes)


def _sizes_of(shape: tuple[int, ...], k: int, step: int) -> list[int]:
    if step < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
    if not step and shape[k]:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {shape[k]}"
        )
    return [min(step, shape[k] - i) for i in range(0, shape[k], step or 1)] or [0]


def _sizes_of_chunks(shape: tuple[int, ...], k: int, chunks: int) -> list[int]:
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return _sizes_of(shape, k, -(-shape[k] // chunks)) if shape[k] else [0] * chunks


Sizes = Callable[[tuple[int, ...], int, Any], list[int]]


def _pieces(x: Tensor, sizes: Sizes, given: Any, dim: int, node: Any) -> Any:
    """Views of pieces along a dimension; of an unsafe split nobody says that they are views."""
    shape = shape_of(x)
    if not shape:
        name = "chunk" if sizes is _sizes_of_chunks else "split"
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    k = axis_of(dim, len(shape))
    lead, ends = (slice(None),) * k, list(itertools.accumulate(sizes(shape, k, given)))
    parts = [(*lead, slice(a, b)) for a, b in itertools.pairwise([0, *ends])]
    if sizes is _sizes_of_chunks and not shape[k]:
        node = {SPLIT: SPLIT_WITH_SIZES, UNSAFE_SPLIT: UNSAFE_WITH_SIZES}[node]
    if node in (SPLIT, SPLIT_WITH_SIZES):
        return views_of(x, parts, node)
    return tuple(_untracked(piece, x) for piece in views_of(x, parts, node, None))


def _untracked(piece: Tensor, x: Tensor) -> Tensor:
    """A view of `x` that is none for autograd: it shares the memory only."""
    t = piece._t
    if type(t) is RootTracer and piece._link is not None:
        t.version, piece._link = Version(), None
        return in_storage(piece, x, whole=False)
    return piece


def _splitting(name: str, argument: str, sizes: Sizes, node: NodeClass, doc: str) -> Any:
    def function(input: Tensor, given: Any, dim: int = 0) -> Any:
        return _pieces(input, sizes, given, dim, node)

    function.__doc__ = doc
    return operation(name, f"input, {argument}, int dim=0", variants="method")(function)


UNSAFE_SPLIT = node("UnsafeSplit", tells="dim split_size self_sym_sizes")
UNSAFE_WITH_SIZES = node("UnsafeSplitWithSizes", tells="dim split_sizes self_sym_sizes")
split_with_sizes = _splitting(
    "split_with_sizes", "ints split_sizes", _sizes_given, SPLIT_WITH_SIZES,
    "Pieces of given sizes.",
)  # fmt: skip
chunk = _splitting(
    "chunk", "int chunks", _sizes_of_chunks, SPLIT, "At most `chunks` pieces of equal size."
)
UNSAFE = "of which each may be written."
unsafe_split = _splitting(
    "unsafe_split", "int split_size", _sizes_of, UNSAFE_SPLIT, f"Pieces of one size, {UNSAFE}"
)
unsafe_split_with_sizes = _splitting(
    "unsafe_split_with_sizes", "ints split_sizes", _sizes_given, UNSAFE_WITH_SIZES,
    f"Pieces of given sizes, {UNSAFE}",
)  # fmt: skip
unsafe_chunk = _splitting(
    "unsafe_chunk", "int chunks", _sizes_of_chunks, UNSAFE_SPLIT,
    f"At most `chunks` pieces of equal size, {UNSAFE}",
)  # fmt: skip


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces along a dimension, of one size or of given sizes."""
    if isinstance(split_size_or_sections, (int, Tensor, np.integer)):
        found = _pieces(tensor, _sizes_of, int(split_size_or_sections), dim, SPLIT)
    else:
        found = split_with_sizes(tensor, split_size_or_sections, dim)
    return tuple(found)


def _split(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces along a dimension, of one size or of given sizes."""
    return split(self, split_size, dim)


install(split=_split)


@operation(
    "tensor_split",
    "input, ints indices, int dim=0 | input, Tensor tensor_indices_or_sections, int dim=0"
    " | input, int sections, int dim=0",
    variants="method",
)  # fmt: skip
def tensor_split(
    input: Tensor, indices: Any, dim: int = 0, tensor_indices_or_sections: Tensor | None = None,
    sections: int | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Pieces along a dimension: a number of nearly equal ones, or cut at given places."""
    shape = shape_of(input)
    if not shape:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    k = axis_of(dim, len(shape))
    n = shape[k]
    if tensor_indices_or_sections is not None:
        given = tensor_indices_or_sections.tolist()
        indices, sections = (None, given) if isinstance(given, int) else (given, None)
    if sections is not None:
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        sizes = [n // sections + (i < n % sections) for i in range(sections)]
        cuts = [0, *itertools.accumulate(sizes)]
    else:
        cuts = [0, *indices, n]
    lead = (slice(None),) * k
    return tuple(part(input, (*lead, slice(a, b))) for a, b in itertools.pairwise(cuts))


def _along(name: str, rank: int, axis: Callable[[int], int]) -> Function[tuple[Tensor, ...]]:
    def function(
        input: Tensor, sections: int | None, indices: Sequence[int] | None
    ) -> tuple[Tensor, ...]:
        shape = shape_of(input)
        if len(shape) < rank:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {rank} dimension, but got a tensor "
                f"with {len(shape)} dimensions!"
            )
        k = axis(len(shape))
        if sections is not None and (sections <= 0 or shape[k] % sections):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {k}, but the size of the "
                f"dimension {shape[k]} is not divisible by the split_size {sections}!"
            )
        return tensor_split(input, indices if sections is None else sections, k)

    function.__doc__ = f"`tensor_split` along one dimension, as NumPy's `{name}`."
    signature = "input, int sections | input, ints indices"
    return operation(name, signature, variants="method")(function)


hsplit = _along("hsplit", 1, lambda n: 0 if n == 1 else 1)
vsplit = _along("vsplit", 2, lambda n: 0)
dsplit = _along("dsplit", 3, lambda n: 2)


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


# ------------------------------------------------------------------------- parts that are replaced

SET_AT = Composite("set_at", lambda x, v, at: core.set_positions(x, at, v), linear=True, fixed=1)


def _replaced(input: Tensor, src: Tensor, read: Any, node: NodeClass, **shown: Any) -> Tensor:
    """`input` with `src` in the place of the part that `read` gives."""
    x, v = input.content(), cast(src.content(), dtype_of(input._t))
    shape = shape_of(x)
    at = read(np.arange(math.prod(shape)).reshape(shape))
    if np.shape(at) != shape_of(v):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(shape_of(v))}, slice size = {list(np.shape(at))}"
        )
    made = boxed(computed(SET_AT, x, v, np.ascontiguousarray(at).reshape(np.shape(at))), node)
    return told(made, **shown)


SELECT_SCATTER = node("SelectScatter", tells="dim index")
SLICE_SCATTER = node("SliceScatter", tells="dim start end step")
DIAGONAL_SCATTER = node("DiagonalScatter", tells="offset dim1 dim2")
AS_STRIDED_SCATTER = node("AsStridedScatter", tells="size stride storage_offset")


@operation("select_scatter", "input, src, int dim, int index", variants="method")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy in which one entry along a dimension is `src`."""
    items = _entry(shape_of(input), dim, index)
    return _replaced(
        input, src, lambda v: v[items], SELECT_SCATTER, dim=len(items) - 1, index=index
    )


@operation(
    "slice_scatter", "input, src, int dim=0, int start=None, int end=None, int step=1, *, out",
    variants="method",
)  # fmt: skip
def slice_scatter(
    input: Tensor, src: Tensor, dim: int, start: int | None, end: int | None, step: int
) -> Tensor:
    """A copy in which a slice along a dimension is `src`."""
    k = axis_of(dim, len(shape_of(input)))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    items = (slice(None),) * k + (slice(start, end, step),)
    return _replaced(
        input, src, lambda v: v[items], SLICE_SCATTER, dim=k, start=start, end=end, step=step
    )


@operation(
    "diagonal_scatter", "input, src, int offset=0, int dim1=0, int dim2=1", variants="method"
)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """A copy in which a diagonal is `src`."""
    return _replaced(
        input, src, lambda v: np.diagonal(v, offset, dim1, dim2), DIAGONAL_SCATTER,
        offset=offset, dim1=dim1, dim2=dim2,
    )  # fmt: skip


@operation(
    "as_strided_scatter", "input, src, ints size, ints stride, int storage_offset=None",
    variants="method",
)  # fmt: skip
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int],
    storage_offset: int | None,
) -> Tensor:  # fmt: skip
    """A copy in which what `as_strided` shows is `src`."""
    as_strided(input.detach(), size, stride, storage_offset)  # for its errors
    if input.requires_grad and not input.is_contiguous():
        raise RuntimeError("as_strided_scatter is currently only supported for contiguous inputs")
    own = input.storage_offset()
    places = _places(shape_of(input), input.stride(), own)
    start = own if storage_offset is None else storage_offset
    targets = _places(tuple(size), stride, start)
    if np.unique(targets).size < targets.size:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )
    if targets.shape != shape_of(src):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(shape_of(src))}, slice size = {list(targets.shape)}"
        )
    seen = np.isin(targets, places)  # the storage may be larger than the tensor
    order = np.argsort(places, axis=None)
    at = order[np.searchsorted(places.reshape(-1)[order], targets[seen])]
    v = positioned(cast(src.content(), dtype_of(input._t)), lambda v: v[seen])
    made = boxed(computed(SET_AT, input.content(), v, at.reshape(shape_of(v))), AS_STRIDED_SCATTER)
    return told(made, size=tuple(size), stride=tuple(stride), storage_offset=storage_offset)


def _places(shape: tuple[int, ...], strides: Sequence[int], start: int) -> np.ndarray[Any, Any]:
    """Where the elements lie in a storage."""
    grid: Any = np.full(shape, start)
    for k, step in enumerate(strides):
        grid = grid + (np.arange(shape[k]) * step).reshape(-1, *(1,) * (len(shape) - k - 1))
    return np.asarray(grid)
