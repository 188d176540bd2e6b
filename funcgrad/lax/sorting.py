"""`lax`'s sorting: of several arrays by one or more of them, and the largest elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand as content
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import located

__all__ = ["approx_max_k", "approx_min_k", "sort", "sort_key_val", "top_k"]


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """An array in order along an axis, or several in the order of the first of them.

    Parameters
    ----------
    operand : array, or sequence of arrays of one shape
    dimension : int, optional
        The axis.
    is_stable : bool, optional
        Accepted; what is equal always stays in its order.
    num_keys : int, optional
        How many of the arrays decide, the first one before the others.

    Returns
    -------
    array or tuple of arrays
        NaN comes last. Derivatives go where the elements have gone.

    Raises
    ------
    ValueError
        The shapes differ, or there are not as many arrays as keys.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.sort((np.array([2, 1, 1]), np.array([0.1, 0.2, 0.0])), num_keys=2)
    (array([1, 1, 2]), array([0. , 0.2, 0.1]))
    """
    if not isinstance(operand, (tuple, list)):
        _check([operand], 1 if num_keys == 1 else num_keys)
        axis = normalize_axis_index(dimension, type_of(content(operand)).ndim)
        return fnp.sort(operand, axis, stable=True)
    arrays = list(operand)
    _check(arrays, num_keys)
    axis = normalize_axis_index(dimension, type_of(content(arrays[0])).ndim)
    order = fnp.argsort(arrays[num_keys - 1], axis, stable=True)
    for key in reversed(arrays[: num_keys - 1]):  # the least one first, as digits are sorted
        inner = fnp.argsort(fnp.take_along_axis(fnp.asarray(key), order, axis), axis, stable=True)
        order = fnp.take_along_axis(order, inner, axis)
    return tuple(fnp.take_along_axis(fnp.asarray(a), order, axis) for a in arrays)


def _check(arrays: Sequence[Any], num_keys: int) -> None:
    shapes = {type_of(content(a)).shape for a in arrays}
    if len(shapes) != 1 or not 1 <= num_keys <= len(arrays):
        raise ValueError(
            located(
                f"sort: {len(arrays)} arrays of shapes {sorted(shapes)} and num_keys={num_keys}; "
                "they need one shape, and at least one and at most all of them are keys"
            )
        )


def sort_key_val(
    keys: Any, values: Any, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Keys in order, and values in the order of their keys.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.sort_key_val(np.array([3, 1]), np.array([0.3, 0.1]))
    (array([1, 3]), array([0.1, 0.3]))
    """
    first, second = sort((keys, values), dimension)
    return first, second


def top_k(operand: Any, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """The `k` largest elements along an axis, the largest first, and where they are.

    Of equal elements the first comes first; NaN is larger than everything. Derivatives go where
    the elements were; the indices (int32) have none.

    Raises
    ------
    ValueError
        `k` is negative or larger than the extent.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> lax.top_k(np.array([1.0, 3.0, 2.0]), 2)
    (array([3., 2.]), array([1, 2], dtype=int32))
    >>> fg.grad(lambda x: lax.top_k(x, 2)[0].sum())(np.array([1.0, 3.0, 2.0]))
    array([0., 1., 1.])
    """
    shape = type_of(content(operand)).shape
    axis = normalize_axis_index(axis, len(shape))
    if not 0 <= k <= shape[axis]:
        raise ValueError(located(f"top_k: k={k} for axis {axis} of the shape {shape}"))
    x = fnp.asarray(operand)
    turned = fnp.argsort(fnp.flip(x, axis), axis, stable=True)
    best = (slice(None),) * axis + (slice(None, -k - 1, -1) if k else slice(0, 0),)
    places = (shape[axis] - 1 - turned)[best]
    return fnp.take_along_axis(x, places, axis), fnp.astype(places, np.dtype(np.int32))


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """`top_k`: all of the largest are found.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.approx_max_k(np.array([1.0, 3.0, 2.0]), 1)
    (array([3.]), array([1], dtype=int32))
    """
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The `k` smallest elements along an axis, the smallest first, and where they are.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.approx_min_k(np.array([1.0, 3.0, 2.0]), 1)
    (array([1.]), array([0], dtype=int32))
    """
    found, places = top_k(fnp.negative(operand), k, axis=reduction_dimension)
    return fnp.negative(found), places
