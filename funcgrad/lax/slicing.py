"""`lax`'s slices, gathers and scatters. Starts of dynamic slices may be traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import funcgrad.numpy as fnp
from funcgrad.core.tracer import concrete, type_of, value
from funcgrad.core.tracer import operand as content
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.at import (
    At,
    GatherScatterMode,
    apply_at,
    mode_of,
    read_at,
)
from funcgrad.ops import index as indices
from funcgrad.ops.segment import segment_reduce
from funcgrad.ops.shape import broadcast_to
from funcgrad.ops.storage import boxed

__all__ = [
    "GatherDimensionNumbers",
    "ScatterDimensionNumbers",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "gather",
    "index_in_dim",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
    "slice",
    "slice_in_dim",
]

cut = slice  # Python's own


def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """``operand[start:limit:stride]`` along every axis.

    Raises
    ------
    ValueError
        There are not as many numbers as axes, or they are out of bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.slice(np.arange(5), (1,), (5,), (2,))
    array([1, 3])
    """
    shape = type_of(content(operand)).shape
    steps = (1,) * len(shape) if strides is None else tuple(strides)
    bounds = list(zip(start_indices, limit_indices, steps, strict=False))
    fits = len(bounds) == len(shape) == len(start_indices) == len(limit_indices) == len(steps)
    if not fits or not all(
        0 <= a <= b <= n and s > 0 for (a, b, s), n in zip(bounds, shape, strict=True)
    ):
        raise ValueError(
            located(
                f"slice: starts {tuple(start_indices)}, limits {tuple(limit_indices)} and strides "
                f"{steps} do not fit an operand of shape {shape}"
            )
        )
    return fnp.asarray(operand)[tuple(cut(a, b, s) for a, b, s in bounds)]


def slice_in_dim(
    operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Array:
    """``operand[start:limit:stride]`` along one axis.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.slice_in_dim(np.arange(5), 1, -1)
    array([1, 2, 3])
    """
    axis = normalize_axis_index(axis, type_of(content(operand)).ndim)
    part = cut(start_index, limit_index, stride)
    return fnp.asarray(operand)[(cut(None),) * axis + (part,)]


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """``operand[index]`` along one axis, which is kept with extent 1 unless told otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.index_in_dim(np.arange(3), -1)
    array([2])
    """
    rank = type_of(content(operand)).ndim
    axis = normalize_axis_index(axis, rank)
    found = fnp.asarray(operand)[(cut(None),) * axis + (index,)]
    return fnp.expand_dims(found, axis) if keepdims else found


# -------------------------------------------------------------------------- dynamic slices


def _starts(given: Any, shape: Sequence[int], sizes: Sequence[int], what: str) -> list[Any]:
    """Where a slice begins along each axis: so that it lies inside."""
    starts = list(given) if isinstance(given, (tuple, list)) else list(fnp.asarray(given))
    if len(starts) != len(shape) or len(sizes) != len(shape):
        raise TypeError(
            located(f"{what}: {len(starts)} starts and sizes {tuple(sizes)} for the shape {shape}")
        )
    if any(not 0 <= k <= n for k, n in zip(sizes, shape, strict=True)):
        raise TypeError(
            located(
                f"{what}: a slice of shape {tuple(sizes)} does not fit the shape {tuple(shape)}"
            )
        )
    return [_inside(i, n, k) for i, n, k in zip(starts, shape, sizes, strict=True)]


def _inside(i: Any, extent: int, size: int) -> Any:
    i = content(i)
    if type_of(i).dtype.kind not in "iu":
        raise TypeError(located(f"the start of a slice is an integer, not {type_of(i)}"))
    if concrete(i):
        i = int(value(i))
        return min(max(i + extent if i < 0 else i, 0), extent - size)
    return fnp.clip(fnp.where(i < 0, i + extent, i), 0, extent - size)


def _window(starts: Sequence[Any], sizes: Sequence[int]) -> tuple[Any, ...]:
    """The index of a slice: a view where all starts are known."""
    if all(isinstance(i, int) for i in starts):
        return tuple(cut(i, i + k) for i, k in zip(starts, sizes, strict=True))
    rank = len(sizes)
    return tuple(
        i + np.arange(k).reshape((1,) * a + (k,) + (1,) * (rank - a - 1))
        for a, (i, k) in enumerate(zip(starts, sizes, strict=True))
    )


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """The part of an array that begins at indices which may be traced.

    Parameters
    ----------
    operand : array
    start_indices : sequence of integer, one for each axis, or an array of them
        Negative ones count from the end. They are moved so that the part lies inside.
    slice_sizes : sequence of int

    Raises
    ------
    TypeError
        The numbers are not as many as the axes, no integers, or the part is too large.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.jit(lambda x, i: lax.dynamic_slice(x, (i,), (2,)))(np.arange(5.0), 9)
    array([3., 4.])
    """
    shape = type_of(content(operand)).shape
    starts = _starts(start_indices, shape, slice_sizes, "dynamic_slice")
    window = _window(starts, slice_sizes)
    if not all(isinstance(i, cut) for i in window):  # a plain array does not take traced ones
        return boxed(indices.read(content(operand), window))
    found = fnp.asarray(operand)[window]
    return fnp.copy(found) if isinstance(found, np.ndarray) else found


def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """A copy of an array with `update` written at indices which may be traced.

    They are moved as by `dynamic_slice`. It is linear in `operand` and `update` together.

    Raises
    ------
    TypeError
        The update has not as many axes as the array, or is larger.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.dynamic_update_slice(np.zeros(4), np.ones(2), (1,))
    array([0., 1., 1., 0.])
    """
    x, new = content(operand), content(update)
    sizes = type_of(new).shape
    starts = _starts(start_indices, type_of(x).shape, sizes, "dynamic_update_slice")
    return At(x, _window(starts, sizes)).set(new)


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """`dynamic_slice` along one axis.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.dynamic_slice_in_dim(np.arange(4.0), 1, 2)
    array([1., 2.])
    """
    shape = type_of(content(operand)).shape
    axis = normalize_axis_index(axis, len(shape))
    starts: list[Any] = [0] * len(shape)
    starts[axis] = start_index
    return dynamic_slice(operand, starts, (*shape[:axis], slice_size, *shape[axis + 1 :]))


def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """One slice along an axis, which is kept with extent 1 unless told otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.dynamic_index_in_dim(np.arange(4.0), 7, keepdims=False)
    array(3.)
    """
    found = dynamic_slice_in_dim(operand, index, 1, axis)
    return found if keepdims else fnp.squeeze(found, axis)


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """`dynamic_update_slice` along one axis.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.dynamic_update_slice_in_dim(np.zeros(3), np.ones(2), 5, 0)
    array([0., 1., 1.])
    """
    rank = type_of(content(operand)).ndim
    starts: list[Any] = [0] * rank
    starts[normalize_axis_index(axis, rank)] = start_index
    return dynamic_update_slice(operand, update, starts)


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """A copy of an array with one slice along an axis replaced.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.dynamic_update_index_in_dim(np.zeros(3), 1.0, 1, 0)
    array([0., 1., 0.])
    """
    rank = type_of(content(operand)).ndim
    axis = normalize_axis_index(axis, rank)
    new = content(update)
    if type_of(new).ndim == rank - 1:
        new = content(fnp.expand_dims(new, axis))
    return dynamic_update_slice_in_dim(operand, new, index, axis)


# ------------------------------------------------------------------- gathers and scatters


class GatherDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and result belong together, as XLA's gather has it.

    Attributes
    ----------
    offset_dims : tuple of int
        The axes of the result along which a slice lies.
    collapsed_slice_dims : tuple of int
        The axes of the operand along which slices have extent 1, and which the result has not.
    start_index_map : tuple of int
        Of which axis of the operand each component of an index is the start.
    operand_batching_dims, start_indices_batching_dims : tuple of int
        Axes that both have, each with its own slices.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> columns = lax.GatherDimensionNumbers((0,), (1,), (1,))
    >>> lax.gather(np.eye(3), np.array([[2]]), columns, (3, 1)).ravel()
    array([0., 0., 1.])
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """As `GatherDimensionNumbers`, for updates in the place of results.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_add(np.zeros(3), np.array([[2], [2]]), np.ones(2), numbers)
    array([0., 0., 2.])
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


def _gathering(d: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    return GatherDimensionNumbers(*(tuple(part) for part in d))


def _slice_positions(
    shape: Sequence[int], starts: Any, d: GatherDimensionNumbers, sizes: Sequence[int], mode: Any
) -> Array:
    """Where the elements of the result lie in the flat operand; its size for what is dropped."""
    starts = content(starts)
    lead = type_of(starts).shape[:-1]
    offset, rank = tuple(d.offset_dims), len(lead) + len(d.offset_dims)
    batch = [a for a in range(rank) if a not in offset]
    windows = [
        a for a in range(len(shape))
        if a not in d.collapsed_slice_dims and a not in d.operand_batching_dims
    ]  # fmt: skip

    def along(v: Any, axes: Sequence[int]) -> Any:
        """An array as one of the rank of the result, with its axes in these places."""
        wide = [1] * rank
        for n, a in zip(type_of(content(v)).shape, axes, strict=True):
            wide[a] = n
        return fnp.reshape(v, wide)

    how = mode_of(GatherScatterMode.FILL_OR_DROP if mode is None else mode)
    index: list[Any] = []
    dropped: Any = False
    for a, n in enumerate(shape):
        at: Any = 0
        if a in d.start_index_map:
            at = along(fnp.asarray(starts)[..., d.start_index_map.index(a)], batch)
            most = n - sizes[a]
            if how == "drop":  # the whole slice, where part of it would lie outside
                dropped = dropped | (at < 0) | (at > most)
            at = fnp.clip(at, 0, most)
        elif a in d.operand_batching_dims:
            axis = d.start_indices_batching_dims[d.operand_batching_dims.index(a)]
            at = along(np.arange(n), [batch[axis]])
        if a in windows:
            at = at + along(np.arange(sizes[a]), [offset[windows.index(a)]])
        index.append(at)
    found: Any = 0
    for at, n in zip(index, shape, strict=True):
        found = found * n + at
    if dropped is not False:
        found = fnp.where(dropped, int(np.prod(shape)), found)
    whole = [1] * rank
    for k, a in enumerate(batch):
        whole[a] = lead[k]
    for k, a in enumerate(offset):
        whole[a] = sizes[windows[k]]
    return broadcast_to(content(found), tuple(whole))


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Array:
    """Slices of an array that begin at many places, as XLA's gather. ``x[index]`` is simpler.

    Parameters
    ----------
    operand : array
    start_indices : array of integers
        Its last axis has the components of one index.
    dimension_numbers : GatherDimensionNumbers
    slice_sizes : sequence of int
        The extents of a slice, one for each axis of the operand.
    mode : optional
        "clip" moves a slice inside; otherwise one that is not inside is `fill_value`, or NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    >>> lax.gather(np.array([1.0, 2.0, 3.0]), np.array([[2], [0]]), numbers, (1,))
    array([3., 1.])
    """
    x = content(operand)
    at = _slice_positions(
        type_of(x).shape, start_indices, dimension_numbers, tuple(slice_sizes), mode
    )
    fill = fill_value if fill_value is None else content(fill_value)
    how = mode_of(GatherScatterMode.FILL_OR_DROP if mode is None else mode)
    return read_at(x, at, how, fill)


def _scattered(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    numbers: ScatterDimensionNumbers,
    mode: Any,
    update: Callable[..., Array],
) -> Array:
    x, new = content(operand), content(updates)
    d = _gathering(numbers)
    shape, given = type_of(x).shape, type_of(new).shape
    windows = [
        a for a in range(len(shape))
        if a not in d.collapsed_slice_dims and a not in d.operand_batching_dims
    ]  # fmt: skip
    sizes = [1] * len(shape)
    for k, a in enumerate(windows):
        sizes[a] = given[d.offset_dims[k]]
    at = _slice_positions(shape, scatter_indices, d, sizes, mode)
    if type_of(at).shape != given:
        raise TypeError(
            located(f"scatter: updates have the shape {given}; it has to be {type_of(at).shape}")
        )
    how = mode_of(GatherScatterMode.FILL_OR_DROP if mode is None else mode)
    return apply_at(x, at, how, new, update)


def _scatter(update: Callable[..., Array], what: str, example: str) -> Callable[..., Array]:
    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Array:
        return _scattered(operand, scatter_indices, updates, dimension_numbers, mode, update)

    function.__doc__ = f"""A copy of an array into which slices {what} at many places.

    As XLA's scatter; ``x.at[index]`` is simpler. A slice that is not inside is dropped, with
    ``mode="clip"`` moved inside. It is differentiable by `operand` and `updates`.

    Parameters
    ----------
    operand : array
    scatter_indices : array of integers
        Its last axis has the components of one index.
    updates : array
        The slices.
    dimension_numbers : ScatterDimensionNumbers

    Raises
    ------
    TypeError
        The updates have another shape than indices and slices together.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> at, new = np.array([[1], [1]]), np.array([2.0, 3.0])
    >>> {example}
    """
    return function


def _named(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    function.__name__ = function.__qualname__ = name
    return function


def _reducing(reduce: str) -> Callable[..., Array]:
    return lambda x, at, v: segment_reduce(x, at, v, reduce)


scatter = _named(
    "scatter",
    _scatter(
        indices.set_positions,
        "are written",
        "lax.scatter(np.ones(3), at[:1], new[:1], numbers)\n    array([1., 2., 1.])",
    ),
)
scatter_add = _named(
    "scatter_add",
    _scatter(
        indices.add_at,
        "are added",
        "lax.scatter_add(np.ones(3), at, new, numbers)\n    array([1., 6., 1.])",
    ),
)
scatter_sub = _named(
    "scatter_sub",
    _scatter(
        lambda x, at, v: indices.add_at(x, at, fnp.negative(v)),
        "are subtracted",
        "lax.scatter_sub(np.ones(3), at, new, numbers)\n    array([ 1., -4.,  1.])",
    ),
)
scatter_mul = _named(
    "scatter_mul",
    _scatter(
        _reducing("prod"),
        "are multiplied",
        "lax.scatter_mul(np.ones(3), at, new, numbers)\n    array([1., 6., 1.])",
    ),
)
scatter_min = _named(
    "scatter_min",
    _scatter(
        _reducing("min"),
        "are taken where they are smaller",
        "lax.scatter_min(np.full(3, 9.0), at, new, numbers)\n    array([9., 2., 9.])",
    ),
)
scatter_max = _named(
    "scatter_max",
    _scatter(
        _reducing("max"),
        "are taken where they are larger",
        "lax.scatter_max(np.ones(3), at, new, numbers)\n    array([1., 3., 1.])",
    ),
)


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """A copy of an array in which a function of elements was applied at many places.

    `update_shape` is that of the slices together, as `scatter` takes them; no place may be named
    twice.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_apply(
    ...     np.ones(3), np.array([[1]]), lambda x: 5 * x, numbers, update_shape=(1,)
    ... )
    array([1., 5., 1.])
    """
    blank = np.zeros(tuple(update_shape), type_of(content(operand)).dtype)
    update = lambda x, at, _: indices.set_positions(x, at, content(func(indices.gather(x, at))))
    return _scattered(operand, scatter_indices, blank, dimension_numbers, mode, update)


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Array:
    """The slices at an index along each of these axes, with the new axis in front.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.index_take(np.arange(6.0).reshape(2, 3), (np.array([1, 0]), np.array([2, 0])), (0, 1))
    array([5., 0.])
    """
    rank = type_of(content(src)).ndim
    first = [normalize_axis_index(a, rank) for a in axes]
    turned = fnp.transpose(src, (*first, *(a for a in range(rank) if a not in first)))
    places = tuple(content(fnp.asarray(i)) for i in idxs)
    return (
        turned[places]
        if all(map(concrete, places))
        else boxed(indices.read(content(turned), places))
    )
