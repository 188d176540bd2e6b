"""Sorting: permutations, partitions, and where numbers would go."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, known, numpy_function
from funcgrad.ops import arithmetic, index
from funcgrad.ops import shape as shapes
from funcgrad.ops import sort as sorting

__all__ = [
    "argpartition",
    "argsort",
    "digitize",
    "lexsort",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
]


def _without_fields(order: Any) -> None:
    if order is not None:  # in NumPy's words
        raise ValueError("Cannot specify order when the array has no fields.")


def _line(a: Any, axis: int | None) -> tuple[Array, int]:
    """The array that is sorted along an axis, and that axis."""
    x = as_array(a)
    if axis is None:
        return shapes.reshape(x, (type_of(x).size,)), 0
    return x, normalize_axis_index(axis, type_of(x).ndim)


def _largest_first(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Array:
    _without_fields(order)
    x, at = _line(a, axis)
    return shapes.flip(sorting.sort(x, at, "stable" if stable else kind), (at,))


def _places_of_largest(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Array:
    """Of the elements in reverse, so that equal ones come out as they stand."""
    _without_fields(order)
    x, at = _line(a, axis)
    found = shapes.flip(sorting.argsort(shapes.flip(x, (at,)), at, "stable"), (at,))
    return arithmetic.subtract(type_of(x).shape[at] - 1, found)


def _sort(*args: Any, descending: bool = False, **keywords: Any) -> Any:
    """NumPy's `sort`, which lacks a parameter of the standard."""
    return (_largest_first if descending else np.sort)(*args, **keywords)


def _argsort(*args: Any, descending: bool = False, **keywords: Any) -> Any:
    return (_places_of_largest if descending else np.argsort)(*args, **keywords)


@numpy_function(np.sort, run=_sort)
def sort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Array:
    """A sorted copy; its derivative follows the permutation.

    With ``descending=True``, which the array API standard has and NumPy not yet, the largest is
    first; NaN comes before it.

    Examples
    --------
    >>> import numpy as np
        >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sort(x)[0])(np.array([3.0, 1.0, 2.0]))
    array([0., 1., 0.])
    """
    if descending:
        return _largest_first(a, axis, kind, order, stable=stable)
    _without_fields(order)
    return sorting.sort(as_array(a), axis, "stable" if stable else kind)


@numpy_function(np.argsort, constant=True, run=_argsort)
def argsort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Array:
    """The permutation that sorts.

    With ``descending=True``, which the array API standard has and NumPy not yet, equal elements
    keep their order.

    Examples
    --------
    >>> import numpy as np
        >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.vmap(fnp.argsort)(np.array([[3.0, 1.0, 2.0]]))
    array([[1, 2, 0]])
    """
    if descending:
        return _places_of_largest(a, axis, kind, order, stable=stable)
    _without_fields(order)
    return sorting.argsort(as_array(a), axis, "stable" if stable else kind)


@numpy_function(np.lexsort, constant=True)
def lexsort(keys: Any, axis: int = -1) -> Array:
    """The permutation that sorts by several keys, the last one first; locally constant.

    Examples
    --------
    >>> import numpy as np
        >>> import funcgrad as fg
    >>> first = lambda x: x[np.lexsort((x, [1, 0, 0]))[0]]
    >>> fg.grad(first)(np.array([1.0, 3.0, 2.0]))
    array([0., 0., 1.])
    """
    parts = list(keys) if isinstance(keys, (tuple, list)) else list(as_array(keys))
    order: Any = None
    for key in map(as_array, parts):
        key = key if type_of(key).ndim else shapes.reshape(key, (1,))
        at = normalize_axis_index(axis, type_of(key).ndim)
        if order is None:
            order = sorting.argsort(key, at)
        else:
            again = sorting.argsort(index.take_along_axis(key, order, at), at)
            order = index.take_along_axis(order, again, at)
    if order is None:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    return order


@numpy_function(np.partition)
def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """A copy in which the elements `kth` stand where sorting would put them.

    Examples
    --------
    >>> import numpy as np
        >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.partition(x, 1)[1])(np.array([3.0, 1.0, 2.0]))
    array([0., 0., 1.])
    """
    _without_fields(order)
    return sorting.partition(as_array(a), known(kth, "a partition"), axis)


@numpy_function(np.argpartition, constant=True)
def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """The permutation that partitions.

    Examples
    --------
    >>> import numpy as np
        >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: x[fnp.argpartition(x, 0)[0]])(np.array([3.0, 1.0]))
    array([0., 1.])
    """
    _without_fields(order)
    return sorting.argpartition(as_array(a), known(kth, "a partition"), axis)


@numpy_function(np.sort_complex)
def sort_complex(a: Any) -> Array:
    """A sorted copy, as complex numbers.

    Examples
    --------
    >>> import numpy as np
        >>> import funcgrad.numpy as fnp
    >>> fnp.sort_complex(np.array([3.0, 1.0]))
    array([1.+0.j, 3.+0.j])
    """
    x = as_array(a)
    return arithmetic.cast(sort(x), np.result_type(type_of(x).dtype, np.complex64))


@numpy_function(np.searchsorted, constant=True)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Array:
    """Where the elements of `v` would go in the sorted vector `a`; locally constant.

    Examples
    --------
    >>> import numpy as np
        >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.vmap(lambda v: fnp.searchsorted(np.array([0.0, 1.0, 2.0]), v))(np.array([0.5, 1.5]))
    array([1, 2])
    """
    return sorting.searchsorted(as_array(a), as_array(v), side, sorter)


@numpy_function(np.digitize, constant=True)
def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """The bin that each element falls into; the order of the bins has to be known.

    Examples
    --------
    >>> import numpy as np
        >>> import funcgrad.numpy as fnp
    >>> fnp.digitize(np.array([0.5, 1.5]), [0.0, 1.0, 2.0])
    array([1, 2])
    """
    edges = as_array(bins)
    known_edges = known(edges, "digitize()")
    side = "left" if right else "right"
    if np.all(known_edges[:-1] <= known_edges[1:]):
        return sorting.searchsorted(edges, as_array(x), side)
    if not np.all(known_edges[:-1] >= known_edges[1:]):
        raise ValueError("bins must be monotonically increasing or decreasing")
    other = "right" if right else "left"
    found = sorting.searchsorted(shapes.flip(edges, (0,)), as_array(x), other)
    return arithmetic.subtract(type_of(edges).size, found)
