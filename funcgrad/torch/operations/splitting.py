"""Tensors in several parts: splits and chunks, of which each part is a view."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.core.types import Array
from funcgrad.ops import index as core
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import axis_of, install, shape_of
from funcgrad.torch.operations.record import Function, NodeClass, node, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.slicing import part
from funcgrad.torch.python_values import UNBIND
from funcgrad.torch.root import RootTracer
from funcgrad.torch.storage import in_storage
from funcgrad.torch.versions import Version

__all__ = [
    "chunk", "dsplit", "hsplit", "split", "split_with_sizes", "tensor_split", "unbind",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "vsplit",
]  # fmt: skip

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


@requires("""
    step >= 0: split expects split_size be non-negative, but got split_size={step}
    step or not shape[k]: split_size can only be 0 if dimension size is 0, but got dimension size of
        {shape[k]}
""")
def _sizes_of(shape: tuple[int, ...], k: int, step: int) -> list[int]:
    return [min(step, shape[k] - i) for i in range(0, shape[k], step or 1)] or [0]


@requires("chunks > 0: chunk expects `chunks` to be greater than 0, got: {chunks}")
def _sizes_of_chunks(shape: tuple[int, ...], k: int, chunks: int) -> list[int]:
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
    try:
        if isinstance(split_size_or_sections, (int, Tensor, np.integer)):
            found = _pieces(tensor, _sizes_of, int(split_size_or_sections), dim, SPLIT)
        else:
            found = split_with_sizes(tensor, split_size_or_sections, dim)
        return tuple(found)
    except Exception as error:
        hide_frames(error)
        raise


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
@requires("""
    shape(input): tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0
        dims
""")
def tensor_split(
    input: Tensor, indices: Any, dim: int = 0, tensor_indices_or_sections: Tensor | None = None,
    sections: int | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Pieces along a dimension: a number of nearly equal ones, or cut at given places."""
    shape = shape_of(input)
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
