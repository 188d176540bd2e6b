"""`lax`'s functions that make, cast, reshape and join arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.tracer import operand as content
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.ops.arithmetic import cast, real
from funcgrad.ops.bits import bits
from funcgrad.ops.index import PLACE, encode

__all__ = [
    "bitcast_convert_type",
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_to_rank",
    "broadcasted_iota",
    "collapse",
    "concatenate",
    "convert_element_type",
    "dtype",
    "empty",
    "expand_dims",
    "full",
    "full_like",
    "iota",
    "optimization_barrier",
    "pad",
    "reshape",
    "rev",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
]


def shape_of(x: Any) -> tuple[int, ...]:
    return type_of(content(x)).shape


def convert_element_type(operand: Any, new_dtype: Any) -> Array:
    """`operand` in another dtype; the derivative goes through between floats.

    A complex number loses its imaginary part on the way to a real one.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.convert_element_type(np.array([1, 2]), np.float32)
    array([1., 2.], dtype=float32)
    """
    x, wanted = content(operand), np.dtype(new_dtype)
    if type_of(x).dtype.kind == "c" and wanted.kind != "c":
        x = real(x)
    return cast(x, wanted)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Array:
    """The bits of an array, read in another dtype; their derivative is 0.

    Raises
    ------
    ValueError
        The last axis does not hold the parts of one larger number.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.bitcast_convert_type(np.float32(1.0), np.int32)
    np.int32(1065353216)
    """
    return bits(content(operand), new_dtype)


def dtype(x: Any) -> np.dtype[Any]:
    """The dtype of an array or number.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.dtype(1.0)
    dtype('float64')
    """
    return type_of(content(x)).dtype


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Array:
    """An array of one value, which may be traced.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.grad(lambda x: lax.full((2, 3), x).sum())(1.0)
    np.float64(6.0)
    """
    value = fill_value if dtype is None else convert_element_type(fill_value, dtype)
    return fnp.copy(fnp.broadcast_to(value, shape))


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Array:
    """An array of one value, with the shape and dtype of `x` unless others are given.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.full_like(np.zeros(2), 3)
    array([3., 3.])
    """
    own = type_of(content(x))
    return full(own.shape if shape is None else shape, fill_value, dtype or own.dtype)


def empty(shape: Any, dtype: Any) -> Array:
    """An array whose elements are to be written: zeros.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.empty((2,), float)
    array([0., 0.])
    """
    return fnp.zeros(shape, dtype)


def iota(dtype: Any, size: int) -> Array:
    """0, 1, …, as many as `size`.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.iota(float, 3)
    array([0., 1., 2.])
    """
    return fnp.arange(size, dtype=dtype)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Array:
    """The index along one axis, in an array of this shape.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.broadcasted_iota(int, (2, 2), 0)
    array([[0, 0],
           [1, 1]])
    """
    return broadcast_in_dim(iota(dtype, shape[dimension]), shape, (dimension,))


def broadcast(operand: Any, sizes: Sequence[int]) -> Array:
    """`operand` repeated along new leading axes of these extents.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.broadcast(1.0, (2,))
    array([1., 1.])
    """
    return fnp.broadcast_to(operand, (*sizes, *shape_of(operand)))


def broadcast_in_dim(
    operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> Array:
    """`operand` repeated to a shape; its axis `k` becomes axis ``broadcast_dimensions[k]``.

    Raises
    ------
    ValueError
        An extent is neither 1 nor that of its new axis, or the numbers do not rise.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.broadcast_in_dim(np.array([1.0, 2.0]), (2, 3), (0,))
    array([[1., 1., 1.],
           [2., 2., 2.]])
    """
    own, places = shape_of(operand), tuple(broadcast_dimensions)
    rising = all(a < b for a, b in itertools.pairwise(places))
    inside = all(0 <= k < len(shape) for k in places)
    if len(places) != len(own) or not rising or not inside:
        raise ValueError(
            located(
                f"broadcast_in_dim: broadcast_dimensions={places} has to name an axis of the shape "
                f"{tuple(shape)} for each axis of the operand of shape {own}, in order"
            )
        )
    wide = [1] * len(shape)
    for n, k in zip(own, places, strict=True):
        wide[k] = n
    return fnp.broadcast_to(fnp.reshape(operand, wide), tuple(shape))


def broadcast_like(arr: Any, like_arr: Any) -> Array:
    """`arr` repeated to the shape of `like_arr`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.broadcast_like(1.0, np.zeros(2))
    array([1., 1.])
    """
    return fnp.broadcast_to(arr, shape_of(like_arr))


def broadcast_to_rank(x: Any, rank: int) -> Array:
    """`x` with leading axes of extent 1, so many that it has `rank` axes.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.broadcast_to_rank(np.zeros(3), 2).shape
    (1, 3)
    """
    own = shape_of(x)
    return fnp.reshape(x, (1,) * (rank - len(own)) + own)


def reshape(operand: Any, new_sizes: Sequence[int], dimensions: Any = None) -> Array:
    """`operand` in another shape; its axes are first put in the order `dimensions`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.reshape(np.arange(4).reshape(2, 2), (4,), (1, 0))
    array([0, 2, 1, 3])
    """
    if dimensions is not None:
        operand = fnp.transpose(operand, tuple(dimensions))
    return fnp.reshape(operand, tuple(new_sizes))


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """`operand` with the axes from one up to another joined to one.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.collapse(np.zeros((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    own = shape_of(operand)
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(own))
    return fnp.reshape(operand, (*own[:start], math.prod(own[start:stop]), *own[stop:]))


def expand_dims(array: Any, dimensions: Sequence[int]) -> Array:
    """`array` with axes of extent 1 at these places of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.expand_dims(np.zeros(2), (0, 2)).shape
    (1, 2, 1)
    """
    return fnp.expand_dims(array, tuple(dimensions))


def squeeze(array: Any, dimensions: Sequence[int]) -> Array:
    """`array` without these axes, which have extent 1.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.squeeze(np.zeros((1, 2, 1)), (0,)).shape
    (2, 1)
    """
    return fnp.squeeze(array, tuple(dimensions))


def transpose(operand: Any, permutation: Sequence[int]) -> Array:
    """`operand` with its axes in another order.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.transpose(np.zeros((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return fnp.transpose(operand, tuple(permutation))


def rev(operand: Any, dimensions: Sequence[int]) -> Array:
    """`operand` turned round along these axes.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.rev(np.array([1, 2, 3]), (0,))
    array([3, 2, 1])
    """
    return fnp.flip(operand, tuple(dimensions))


def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """The arrays joined along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.concatenate([np.zeros(1), np.ones(2)], 0)
    array([0., 1., 1.])
    """
    return fnp.concatenate(operands, dimension)


def stack(operands: Sequence[Any], axis: int = 0) -> Array:
    """The arrays joined along a new axis.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.stack([1.0, 2.0])
    array([1., 2.])
    """
    return fnp.stack(operands, axis)


def unstack(x: Any, axis: int = 0) -> tuple[Array, ...]:
    """The slices of an array along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.unstack(np.array([1.0, 2.0]))
    (np.float64(1.0), np.float64(2.0))
    """
    return tuple(fnp.moveaxis(x, axis, 0))


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """`operand` in parts of these extents along an axis.

    Raises
    ------
    ValueError
        The extents do not add up to that of the operand.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.split(np.arange(3), (1, 2))
    [array([0]), array([1, 2])]
    """
    own = shape_of(operand)
    axis = normalize_axis_index(axis, len(own))
    if sum(sizes) != own[axis]:
        raise ValueError(
            located(
                f"split: sizes {tuple(sizes)} add up to {sum(sizes)}, but axis {axis} has {own}"
            )
        )
    return list(fnp.split(operand, [int(n) for n in np.cumsum(sizes)[:-1]], axis))


def tile(operand: Any, reps: Sequence[int]) -> Array:
    """`operand` repeated so many times along each axis.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.tile(np.array([1, 2]), (2,))
    array([1, 2, 1, 2])
    """
    return fnp.tile(operand, tuple(reps))


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """`operand` with a value before, behind and between its elements.

    Parameters
    ----------
    operand : array
    padding_value : scalar
        Of the same dtype.
    padding_config : sequence of (low, high, interior)
        For each axis: how many before, behind, and between two neighbours. Negative numbers take
        elements away.

    Returns
    -------
    array
        It is linear in `operand` and `padding_value` together.

    Raises
    ------
    ValueError
        There are not as many entries as axes, or an interior one is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.pad(np.array([1.0, 2.0]), 0.0, [(1, 0, 2)])
    array([0., 1., 0., 0., 2.])
    """
    x = content(operand)
    kind, config = type_of(x), [tuple(map(int, c)) for c in padding_config]
    if len(config) != kind.ndim or any(len(c) != 3 or c[2] < 0 for c in config):
        raise ValueError(
            located(
                f"pad: padding_config needs (low, high, interior) for each of {kind.ndim} axes, "
                f"interior ones not negative; got {config}"
            )
        )
    apart = [(n - 1) * (c[2] + 1) + 1 if n else 0 for n, c in zip(kind.shape, config, strict=True)]
    wide = tuple(max(c[0], 0) + n + max(c[1], 0) for n, c in zip(apart, config, strict=True))
    inside = tuple(
        slice(max(c[0], 0), max(c[0], 0) + n, c[2] + 1) for n, c in zip(apart, config, strict=True)
    )
    cut = tuple(slice(max(-c[0], 0), n - max(-c[1], 0)) for n, c in zip(wide, config, strict=True))
    placed = bind(PLACE, (x,), {"shape": wide, "index": encode(inside)})
    around = np.ones(wide, bool)
    around[inside] = False
    filled = fnp.where(around, cast(content(padding_value), kind.dtype), placed)
    return filled[cut] if kind.ndim else filled


def axes_of(dimensions: Any, rank: int) -> tuple[int, ...]:
    """Axes as non-negative numbers, none of them twice."""
    return normalize_axis_tuple(tuple(dimensions), rank)


def optimization_barrier(operand: Any) -> Any:
    """The arrays of a tree as they are.

    In JAX the compiler may move nothing past it. Here it need not be told: what `checkpoint`
    computes again is kept apart as it is, and no pass depends on the order of operations.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.optimization_barrier((np.ones(2), 1.0))
    (array([1., 1.]), np.float64(1.0))
    """
    return tree.map(lambda x: fnp.asarray(x)[()], operand)
