"""Images read at places that are computed: `grid_sample`, and grids of affine maps.

A place of the grid goes from -1 to 1 over an image. Around it a few elements are read, and weighed
by how near they are, so that there is a derivative by the image and by the grid, of every order;
where a place is beyond the image, or rounded, there is none by the grid.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.errors import outside
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as indexing
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import reshape, transpose
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.functional.common import constant
from funcgrad.torch.operations.common import Zeroing, boxed, computed, shape_of, widened
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of
from funcgrad.torch.operations.record import node
from funcgrad.torch.operations.recorded import refuse_kinds

__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "affine_grid", "grid_sample",
]  # fmt: skip

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}
CORNERS = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation of "
    "grid_sample for details."
)
Moved = Callable[[Array, int], Array]  # coordinates along an axis with some elements

# ------------------------------------------------------------------------------------ coordinates


def _unscaled(c: Array, n: int, align: bool) -> Array:
    """From -1 … 1 to the elements 0 … n - 1: their middles, or with their edges."""
    if align:
        return a.multiply(a.divide(a.add(c, 1), 2), n - 1)
    return a.divide(a.subtract(a.multiply(a.add(c, 1), n), 1), 2)


def _clipped(c: Array, n: int) -> Array:
    """The nearest place of the image, NaN at the first one; without derivative at its borders."""
    inside = a.logical_and(a.greater(c, 0), a.less(c, n - 1))
    return a.where(inside, c, a.where(a.greater(constant(c), 0), *_constants(c, n - 1, 0)))


def _constants(like: Array, *numbers: float) -> list[Any]:
    return [dtype_of(like).type(x) for x in numbers]


def _reflected(c: Array, n: int, align: bool) -> Array:
    """The place where a way that is turned back at both ends of the image leads."""
    low, span = (0.0, n - 1) if align else (-0.5, n)
    if span == 0:
        return constant(a.multiply(c, 0))
    far = a.subtract(c, low)
    far = a.where(a.less(far, 0), a.negative(far), far)
    turns = a.floor(a.divide(constant(far), span))
    rest = a.subtract(far, a.multiply(turns, span))
    even = a.equal(a.fmod(turns, dtype_of(c).type(2)), 0)
    return _clipped(a.add(a.where(even, rest, a.subtract(span, rest)), low), n)


def _moved(padding: str, align: bool) -> Moved:
    """What is done with coordinates beyond an image."""
    if padding == "border":
        return _clipped
    if padding == "reflection":
        return functools.partial(_reflected, align=align)
    return lambda c, n: c


# ------------------------------------------------------------------------------- elements read

Line = list[tuple[Array, Array, Any]]  # of an axis: places, whether they are inside, weights


def _place(at: Array, n: int, weight: Any) -> tuple[Array, Array, Any]:
    """A place that can be read, for whole coordinates that need not be inside of the image."""
    at = constant(at)
    inside = a.logical_and(a.greater_equal(at, 0), a.less_equal(at, n - 1))
    return a.cast(_clipped(at, n), np.dtype(np.int64)), inside, weight


def _lines(c: Array, n: int, mode: str, padding: str, align: bool) -> Line:
    """The elements along one axis that count, for coordinates of the grid."""
    move, at = _moved(padding, align), _unscaled(c, n, align)
    if mode == "bicubic":
        first = a.floor(constant(at))
        part = a.subtract(at, first)
        return [_place(move(a.add(first, float(k)), n), n, _cubic(part, k)) for k in (-1, 0, 1, 2)]
    at = move(at, n)
    if mode == "nearest":
        return [_place(a.rint(constant(at)), n, None)]
    first = a.floor(constant(at))
    part = a.subtract(at, first)
    after = a.subtract(a.add(first, 1), at)
    return [_place(first, n, after), _place(a.add(first, 1), n, part)]


def _cubic(part: Array, k: int) -> Array:
    """Keys 1981, with slope -0.75, at the distance from an element `k` places on."""
    d, s = (a.subtract(part, k) if k < 1 else a.subtract(k, part)), -0.75
    if k in (0, 1):
        inner = a.subtract(a.multiply(d, s + 2), s + 3)
        return a.add(a.multiply(a.multiply(inner, d), d), 1)
    inner = a.add(a.multiply(a.subtract(a.multiply(d, s), 5 * s), d), 8 * s)
    return a.subtract(a.multiply(inner, d), 4 * s)


def _sampled(x: Array, grid: Array, mode: str, padding: str, align: bool) -> Array:
    batch, channels, *size = shape_of(x)
    rank, places = len(size), shape_of(grid)[1:-1]
    count = math.prod(places)
    grid = reshape(grid, (batch, 1, count, rank))
    lines = [  # the last coordinate is that of the first axis
        _lines(indexing.getitem(grid, (..., rank - 1 - k)), size[k], mode, padding, align)
        for k in range(rank)
    ]
    flat, found = reshape(x, (batch, channels, math.prod(size))), None
    for taps in itertools.product(*lines):
        y = _read(flat, taps, size)
        found = y if found is None else a.add(found, y)
    return reshape(found, (batch, channels, *places))


def _read(flat: Array, taps: Sequence[tuple[Array, Array, Any]], size: Sequence[int]) -> Array:
    at = functools.reduce(
        lambda so_far, k: a.add(a.multiply(so_far, size[k]), taps[k][0]),
        range(1, len(size)), taps[0][0],
    )  # fmt: skip
    inside = functools.reduce(a.logical_and, [tap[1] for tap in taps])
    y = a.where(inside, indexing.take_along_axis(flat, at, 2), dtype_of(flat).type(0))
    weights = [tap[2] for tap in taps if tap[2] is not None]
    return a.multiply(y, functools.reduce(a.multiply, weights)) if weights else y


SAMPLED = Zeroing("grid_sampler", widened(_sampled))
NODES = {k: node(f"GridSampler{k}D", "input grid") for k in (2, 3)}


def _check_images(x: Array, g: Array, mode: str) -> None:
    shape, grid = shape_of(x), shape_of(g)
    sizes = f"input with sizes {list(shape)} and grid with sizes {list(grid)}"
    if shape[:1] != grid[:1]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}"
        )
    if grid[-1] != len(shape) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but "
            f"got grid with sizes {list(grid)}"
        )
    for k, n in enumerate(shape[2:], 2):
        if n == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(shape)} with dimension {k} being empty"
            )
    if len(shape) not in (4, 5) or len(shape) != len(grid):
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got {sizes}"
        )
    if len(shape) == 5 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    refuse_kinds(f"grid_sampler_{len(shape) - 2}d_cpu_kernel_impl", "biuc", x)
    if dtype_of(x) != dtype_of(g):
        raise RuntimeError(
            f"expected scalar type {dtypes.scalar_name(kind_of(x))} but found "
            f"{dtypes.scalar_name(kind_of(g))}"
        )


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images read at the places of a grid.

    Parameters
    ----------
    input : Tensor
        (n, channels, height, width), or with a depth before.
    grid : Tensor
        (n, …, 2), or 3: places (x, y) or (x, y, z), from -1 to 1 over the image.
    mode : {"bilinear", "nearest", "bicubic"}, optional
        From which elements around a place; "bicubic" for images without depth.
    padding_mode : {"zeros", "border", "reflection"}, optional
        What is beyond the image.
    align_corners : bool, optional
        Whether -1 and 1 are the middles of the outermost elements, not their edges.

    Returns
    -------
    Tensor
        (n, channels, …), differentiable in both any number of times. The derivative by a place that
        is beyond the image with another mode than "zeros", or at its border, is 0, and with
        "nearest" all of them are.

    Raises
    ------
    ValueError, RuntimeError, NotImplementedError
        Unknown modes, shapes and dtypes that do not fit.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x, places = torch.tensor([[[[0.0, 4.0]]]]), torch.tensor([[[[0.5, 0.0]]]])
    >>> torch.nn.functional.grid_sample(x, places, align_corners=True)
    tensor([[[[3.]]]])
    """
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(CORNERS, stacklevel=outside())
    x, g = content(input, "grid_sampler"), content(grid, "grid_sampler", "grid", 2)
    _check_images(x, g, mode)
    found = computed(SAMPLED, x, g, mode=mode, padding=padding_mode, align=bool(align_corners))
    return boxed(found, NODES[len(shape_of(x)) - 2])


# ------------------------------------------------------------------------------------ affine maps


def _mapped(theta: Array, places: Array, size: tuple[int, ...]) -> Array:
    batch, rank, _ = shape_of(theta)
    base = a.cast(places, dtype_of(theta))
    return reshape(matmul(base, transpose(theta, (0, 2, 1))), (batch, *size, rank))


MAPPED = Composite("affine_grid", widened(_mapped), linear=True, fixed=1)
MAPPED_NODE = node("AffineGridGenerator", "", shows=(0,))


def _base(size: tuple[int, ...], align: bool) -> Array:
    """The places of the elements of an image, with a 1 at the end: (elements, rank + 1)."""
    axes = []
    for n in size:
        line = np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(n)
        axes.append(line if align else line * (n - 1) / n)
    grid = np.stack(np.meshgrid(*axes, indexing="ij")[::-1], -1).reshape(-1, len(size))
    return np.concatenate([grid, np.ones((len(grid), 1))], 1)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places of the elements of images, moved by affine maps: a grid for `grid_sample`.

    Parameters
    ----------
    theta : Tensor
        (n, 2, 3) or (n, 3, 4): a matrix, and a translation in its last column.
    size : sequence of int
        (n, channels, height, width), or with a depth before the height.
    align_corners : bool, optional
        As for `grid_sample`.

    Returns
    -------
    Tensor
        (n, height, width, 2), or (n, depth, height, width, 3).

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> same = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> torch.nn.functional.affine_grid(same, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    if align_corners is None:
        warnings.warn(CORNERS, stacklevel=outside())
    t = content(theta, "affine_grid", "theta")
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    rank = len(size) - 2
    if rank not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if shape_of(t)[1:] != (rank, rank + 1):
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size "
            f"{size}. Got {theta.shape}."
        )
    if align_corners and min(size[-rank:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
            stacklevel=outside(),
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if shape_of(t)[0] != size[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, "
            f"{rank + 1}] but got: [{shape_of(t)[0]}, {rank + 1}]."
        )
    extents = tuple(int(n) for n in size[-rank:])
    places = _base(extents, bool(align_corners))
    return boxed(computed(MAPPED, t, places, size=extents), MAPPED_NODE)
