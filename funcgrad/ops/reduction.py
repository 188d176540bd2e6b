"""What reductions share: axes, masks, batching, the type of the result, and samples.

It imports operations on shapes, no reduction. Axes are a sorted tuple of non-negative numbers in
every record; a boolean mask (NumPy's `where=`) is a second operand, and what is not given is not
handed to NumPy, so that values stay NumPy's bit for bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad.core.forms import Samples
from funcgrad.core.primitive import PRIMITIVES, Params, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, dtype_meant
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, every_lane, reshape

Axis = int | Sequence[int] | None
Axes = tuple[int, ...]

# ----------------------------------------------------------------------------------- axes


def normalize_axes(axis: Axis, ndim: int) -> Axes:
    """`axis` as a tuple of non-negative axes; AxisError as in NumPy."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int:
        return (normalize_axis_index(axis, ndim),)
    if type(axis) is tuple and _in_order(axis, ndim):
        return axis
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def _in_order(axes: tuple[Any, ...], ndim: int) -> bool:
    """Whether they are what they shall become, as those of the house's own rules are."""
    last = -1
    for a in axes:
        if type(a) is not int or not last < a < ndim:
            return False
        last = a
    return True


def kept(shape: tuple[int, ...], axes: Axes) -> tuple[int, ...]:
    """The shape after a reduction with ``keepdims``."""
    return tuple(1 if a in axes else n for a, n in enumerate(shape))


def left(shape: tuple[int, ...], axes: Axes, keepdims: bool) -> tuple[int, ...]:
    """The shape after a reduction."""
    return kept(shape, axes) if keepdims else tuple(n for a, n in enumerate(shape) if a not in axes)


def broadcast_along(g: Array, shape: tuple[int, ...], axes: Axes) -> Array:
    """The result of a reduction, repeated along the axes that it reduced."""
    if len(axes) < len(shape):
        g = reshape(g, kept(shape, axes))
    return broadcast_to(g, shape)


def extent(shape: tuple[int, ...], axes: Axes) -> int:
    """How many elements `axes` have together."""
    count = 1
    for a in axes:
        count *= shape[a]
    return count


def operands(x: Any, mask: Any) -> tuple[Array, ...]:
    """The operands of a reduction: `x`, and the mask if there is one."""
    x = operand(x)
    if mask is None or mask is True:
        return (x,)
    mask = operand(mask)
    shape = type_of(x).shape
    if np.broadcast_shapes(shape, type_of(mask).shape) != shape:
        raise ValueError(
            f"the mask has shape {type_of(mask).shape}, which does not broadcast to {shape}"
        )
    return x, cast(mask, bool)


def mask_of(x: Array, mask: tuple[Array, ...]) -> Array | None:
    return broadcast_to(mask[0], type_of(x).shape) if mask else None


def keywords(mask: tuple[Any, ...], initial: Any = None) -> dict[str, Any]:
    """What is not given must not be handed to NumPy."""
    found: dict[str, Any] = {"where": mask[0]} if mask else {}
    return found if initial is None else {**found, "initial": initial}


@functools.lru_cache(maxsize=1024)
def dtype_of_result(f: Callable[..., Any], dtype: np.dtype[Any], wanted: Any = None) -> Any:
    """The dtype that NumPy's `f` gives for an operand of `dtype`, found by asking NumPy once."""
    one = np.ones(1, dtype)
    return np.asarray(f(one) if wanted is None else f(one, dtype=wanted)).dtype


def align(size: int, xs: Sequence[Array], batched: Sequence[bool]) -> list[Array]:
    """Array and mask so that the batch axis is axis 0 of the array."""
    (x,), mask = every_lane(size, xs[:1], batched[:1]), list(xs[1:])
    if mask and batched[1]:
        shape, ndim = type_of(mask[0]).shape, type_of(x).ndim
        mask[0] = reshape(mask[0], (size,) + (1,) * (ndim - len(shape)) + shape[1:])
    return [x, *mask]


def shift(name: str) -> Callable[..., Any]:
    """Batching of a reduction: every axis is one further."""

    def batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        axes = tuple(a + 1 for a in params["axes"])
        return bind(PRIMITIVES[name], align(size, xs, batched), {**params, "axes": axes})

    return batch


def reduced(f: Callable[..., Any]) -> Callable[..., ArrayType]:
    """The type rule of NumPy's reduction `f`."""

    def rule(
        x: ArrayType, *_: Any, axes: Axes, keepdims: bool, dtype: Any = None, **__: Any
    ) -> ArrayType:
        return ArrayType(left(x.shape, axes, keepdims), dtype_of_result(f, x.dtype, dtype))

    return rule


def given_dtype(dtype: Any) -> np.dtype[Any] | None:
    return None if dtype is None else dtype_meant(dtype)


def given_number(initial: Any) -> Any:
    """A start value as hashable data."""
    return initial if initial is None else np.asarray(initial)[()]


# ------------------------------------------------------------------------------- samples


def standard_samples(**more: Any) -> Samples:
    """Axes, strides, dtypes and masks that every differentiable reduction has to pass."""

    def samples() -> list[Sample]:
        x = draw((2, 3))
        mask = np.array([True, False, True])
        no = {"axes": (0, 1), "keepdims": False, **more}
        return [
            Sample((x,), no),
            Sample((x,), {**no, "axes": (1,), "keepdims": True}),
            Sample((x[:, ::-1],), {**no, "axes": (0,)}),
            Sample((draw((2, 3, 2)).T,), {**no, "axes": (0, 2)}),
            Sample((x.astype(np.float32),), {**no, "axes": (1,)}),
            Sample((x, mask), {**no, "axes": (1,)}),
            Sample((x, np.array([[True], [True]])), {**no, "keepdims": True}),
            Sample((draw((0, 2)),), {**no, "axes": (1,)}),
        ]

    return samples


def with_samples(base: Samples, more: Samples) -> Samples:
    """Both; they are made when they are asked for, since drawing imports numpy.random."""
    return lambda: [*base(), *more()]


def complex_rows() -> Any:
    """A complex operand of samples."""
    return draw((2, 3)) + 1j * draw((2, 3), seed=1)


ROWS = {"axes": (1,), "keepdims": False}
