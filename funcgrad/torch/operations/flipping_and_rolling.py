"""Elements repeated, turned round and moved. All copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import shape as shapes
from funcgrad.torch import lines
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.device import contiguous_format
from funcgrad.torch.operations import axes, gathering, reshaping
from funcgrad.torch.operations.common import axis_of, boxed, copied, shape_of, told
from funcgrad.torch.operations.converting import clone
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.results import lay, order_of
from funcgrad.torch.operations.slicing import positioned
from funcgrad.torch.staged import order_of_copy

__all__ = [
    "flip", "fliplr", "flipud", "repeat_interleave", "roll", "rot90", "tile",
]  # fmt: skip

# ------------------------------------------------------------------------------- repeating

REPEAT_NODE = node("Repeat", tells="repeats self_sym_sizes")


@operation("repeat", "input, ints repeats", variants="method")
def repeat(input: Tensor, repeats: Sequence[int]) -> Tensor:
    """The tensor repeated along each dimension."""
    counts, shape = tuple(repeats), shape_of(input)
    if len(counts) < len(shape):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    own = (1,) * (len(counts) - len(shape)) + shape
    full = [c * s for c, s in zip(counts, own, strict=True)]
    for n in full:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {full}")
    counts = tuple(max(c, 0) for c in counts)  # a negative one is left where there is nothing
    return boxed(REPEAT(input.content(), counts=counts), REPEAT_NODE)


def _repeated(x: Array, counts: tuple[int, ...]) -> Array:
    shape = (1,) * (len(counts) - len(shape_of(x))) + shape_of(x)
    spread = [n for pair in zip(counts, shape, strict=True) for n in pair]
    thin = [n for s in shape for n in (1, s)]
    wide = shapes.broadcast_to(shapes.reshape(x, thin), spread)
    found = shapes.reshape(wide, [c * s for c, s in zip(counts, shape, strict=True)])
    return np.array(found, order="C") if isinstance(found, np.ndarray) else found


REPEAT = Composite("repeat", _repeated, linear=True)


@operation("tile", "input, ints dims", variants="method")
def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """As `repeat`, with missing counts taken as 1."""
    return repeat(input, (1,) * (len(shape_of(input)) - len(dims)) + tuple(dims))


@operation(
    "repeat_interleave",
    "input, Tensor repeats, int dim=None, *, int output_size=None"
    " | Tensor repeats, *, int output_size=None"
    " | input, int repeats, int dim=None, *, int output_size=None",
    method_signature="input, Tensor repeats, int dim=None, *, int output_size=None"
    " | input, int repeats, int dim=None, *, int output_size=None",
    variants="method",
)  # fmt: skip
def repeat_interleave(
    input: Tensor | None, repeats: Any, dim: int | None, output_size: int | None = None
) -> Tensor:
    """Each element repeated, all by one count or each by its own."""
    if input is None:
        counts = repeats.tolist()
        return box(np.repeat(np.arange(len(counts)), counts))
    if dim is None:
        input, dim = reshaping.flatten(input), 0
    n = len(shape_of(input))
    axis = axis_of(dim, n)
    if isinstance(repeats, Tensor) and repeats.numel() != 1:
        extent = shape_of(input)[axis]
        if repeats.numel() != extent:
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{repeats.numel()} and input.size({axis}) = {extent}"
            )
        at = np.repeat(np.arange(extent), repeats.tolist())
        return gathering.index_select(input, axis, box(at))
    count = int(repeats)
    if count < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape = shape_of(input)
    wide = axes.expand(
        axes.unsqueeze(input, axis + 1), (*shape[: axis + 1], count, *shape[axis + 1 :])
    )
    final = (*shape[:axis], shape[axis] * count, *shape[axis + 1 :])
    return reshaping.view(clone(wide, memory_format=contiguous_format), final)


# ------------------------------------------------------------------------- turning and moving


FLIP_NODE = node("Flip", tells="dims")
ROT90 = node("Rot90", tells="k dims")
ROLL = node("Roll", tells="shifts dims")


@operation("flip", "input, ints dims", variants="method", remembers=True)
def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """The order along dimensions turned round."""
    n = len(shape_of(input))
    turned = tuple(axis_of(d, n) for d in dims)
    for d in turned:
        if turned.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return boxed(FLIP(input.content(), dims=turned if n else ()), FLIP_NODE)


def _flipped(x: Array, dims: tuple[int, ...]) -> Array:
    found = shapes.flip(x, dims)
    if isinstance(found, (np.ndarray, np.generic)):
        return np.array(found, order=order_of_copy(x))[()]
    return found


FLIP = Composite("flip", _flipped, linear=True)
lines.add_turning(FLIP)


@operation("fliplr", "input", variants="method")
@requires("rank(input) >= 2: Input must be >= 2-d.")
def fliplr(input: Tensor) -> Tensor:
    """The columns in reverse order."""
    return flip(input, (1,))


@operation("flipud", "input", variants="method")
@requires("rank(input) >= 1: Input must be >= 1-d.")
def flipud(input: Tensor) -> Tensor:
    """The rows in reverse order."""
    return flip(input, (0,))


@operation("rot90", "input, int k=1, ints dims=(0 1)", variants="method")
@requires("""
    len(dims) == 2: expected total rotation dims == 2, but got dims = {len(dims)}
    rank(input) >= 2: expected total dims >= 2, but got total dims = {rank(input)}
""")
def rot90(input: Tensor, k: int, dims: Sequence[int]) -> Tensor:
    """Turned by 90 degrees `k` times in the plane of two dimensions."""
    x = input.content()
    n = len(shape_of(x))
    plane = axis_of(dims[0], n), axis_of(dims[1], n)
    if plane[0] == plane[1]:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    made = boxed(positioned_copy(x, lambda v: np.rot90(v, k, plane)), ROT90)
    turned = {plane[0]: plane[1], plane[1]: plane[0]} if k % 2 else {}
    order = [turned.get(d, d) for d in order_of(input)] if k % 4 else range(n)
    return told(lay(made, order), k=k, dims=plane)


def positioned_copy(x: Array, read: Any) -> Array:
    """`positioned`, also of what has no dimensions."""
    return positioned(x, read) if shape_of(x) else copied(x)


@operation("roll", "input, dims shifts, dims dims=()", variants="method", remembers=True)
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Elements moved round along dimensions, or in the flat tensor."""
    x = input.content()
    n = len(shape_of(x))
    by = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    along = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not by:
        raise RuntimeError("`shifts` required")
    if len(by) != len(along) and (along or len(by) != 1):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(along)}"
        )
    if 0 in shape_of(x):
        return told(boxed(copied(x), ROLL), shifts=by, dims=along)
    if along and not n:
        raise IndexError(f"Dimension specified as {along[0]} but tensor has no dimensions")
    wrapped = tuple(axis_of(d, n) for d in along)
    moved = by if along else by[0]
    made = positioned_copy(x, lambda v: np.roll(v, moved, wrapped or None))
    return told(boxed(made, ROLL), shifts=by, dims=wrapped)
