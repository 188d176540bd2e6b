"""Distinct elements, and which are among others.

How many there are is a question of values. Under `jit` it is answered for the arguments at hand and
checked on every call; under `vmap` all examples need the same number (`ops.index.masks`).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.numpy.borrowed import program
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.numpy.sorting import argsort, lexsort
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import constant, cumulative, index
from funcgrad.ops import shape as shapes

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "trim_zeros",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

_FIRST_OF_EQUALS = (
    "keep all elements: after x = np.sort(x), the mask np.append(True, x[1:] != x[:-1]) marks each "
    "distinct one once"
)


@numpy_function(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    **keywords: Any,
) -> Any:
    """The distinct elements in order; the derivative is that of the first of equal ones.

    `jit` traces anew for another number of them, and under `vmap` all examples need the same one.
    There they are always in order, also where ``sorted=False``.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.unique(x)))(np.array([2.0, 2.0, 1.0]))
    array([1., 0., 1.])
    """
    x = as_array(ar)
    if not concrete(x):
        wanted = (True, return_index, return_inverse, return_counts)
        made = tuple(itertools.compress(_distinct(x, axis, equal_nan), wanted))
        return made if len(made) > 1 else made[0]
    found: Any = np.unique(  # type: ignore[call-overload]
        value(x),
        True,
        return_inverse,
        return_counts,
        axis,
        equal_nan=equal_nan,
        **keywords,
    )
    if axis is None:
        first = found[1]
        if not (keywords.get("sorted", True) or return_index or return_inverse or return_counts):
            first = _in_order_of_hashes(value(x), first, equal_nan, keywords)
        values = index.gather(shapes.reshape(x, (type_of(x).size,)), first)
    else:
        lines = index.gather(shapes.moveaxis(x, axis, 0), found[1])
        values = shapes.lying_as(shapes.moveaxis(lines, 0, axis), found[0])
    rest = found[1:] if return_index else found[2:]
    return (values, *rest) if rest else values


def _in_order_of_hashes(x: Any, first: Any, equal_nan: bool, keywords: Any) -> Any:
    """The places of the distinct elements as NumPy orders them where nobody asks for an order."""
    found = np.argsort(np.unique(x, equal_nan=equal_nan, **keywords), kind="stable")
    places = np.empty_like(first)
    places[found] = first
    return places


def _distinct(x: Array, axis: int | None, equal_nan: bool) -> tuple[Array, ...]:
    """What `unique` can return, of an array whose values are not known: they are sorted."""
    aval = type_of(x)
    if axis is None or aval.ndim == 1:
        axis = None
        lines = flat = shapes.reshape(x, (aval.size,))
        order = argsort(flat, kind="stable")
    else:
        lines = shapes.moveaxis(x, axis, 0)
        n = type_of(lines).shape[0]
        flat = shapes.reshape(lines, (n, aval.size // max(n, 1)))
        order = lexsort(shapes.transpose(flat, (1, 0))[::-1]) if aval.size else np.arange(n)
        equal_nan = False
    first = ops.logical_not(_same_as_before(index.gather(flat, order), equal_nan))
    (starts,) = index.positions(first, "the number of distinct elements", _FIRST_OF_EQUALS)
    values = index.gather(lines, index.gather(order, starts))
    if axis is not None:
        values = shapes.moveaxis(values, 0, axis)
    (n,) = type_of(first).shape
    numbers = ops.subtract(cumulative.cumsum(ops.cast(first, np.intp), 0), 1)
    inverse = index.index_set(np.zeros(n, np.intp), order, numbers)
    model = np.unique(np.zeros(aval.shape), return_inverse=True, axis=axis)[1]  # by the release
    counts = ops.subtract(shapes.concatenate([starts[1:], np.array([n])], 0), starts)
    return values, index.gather(order, starts), shapes.reshape(inverse, model.shape), counts


def _same_as_before(x: Array, equal_nan: bool) -> Array:
    """Of sorted elements, or lines of them, whether each is that in front of it."""
    later, before = x[1:], x[:-1]
    same = ops.equal(later, before)
    if equal_nan and type_of(x).dtype.kind in "fc":
        same = ops.logical_or(same, ops.logical_and(ops.isnan(later), ops.isnan(before)))
    if type_of(same).ndim > 1:
        same = constant.all(same, 1)
    start = np.zeros(min(type_of(x).shape[0], 1), bool)
    return shapes.concatenate([start, same], 0)


@numpy_function(np.isin, constant=True)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, **k: Any
) -> Array:
    """Whether each element is among others.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.isin(np.array([1, 2]), [2, 3])
    array([False,  True])
    """
    x, y = as_array(element), as_array(test_elements)
    column = shapes.reshape(x, (*type_of(x).shape, 1))
    found = constant.any(ops.equal(column, shapes.reshape(y, (type_of(y).size,))), -1)
    return shapes.in_c_order(ops.logical_not(found) if invert else found)


@numpy_function(np.intersect1d)
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The distinct elements of both arrays,

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.intersect1d(x, [2.0, 3.0]).sum())(np.array([1.0, 2.0]))
    array([0., 1.])
    """
    return program(np.intersect1d)(ar1, ar2, assume_unique, return_indices)


@numpy_function(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Array:
    """The distinct elements of either array,

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.union1d(x, [2.0, 3.0]).sum())(np.array([1.0, 2.0]))
    array([1., 1.])
    """
    return program(np.union1d)(ar1, ar2)


@numpy_function(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """The distinct elements of one array that are not in another.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.setdiff1d(x, [2.0, 3.0]).sum())(np.array([1.0, 2.0]))
    array([1., 0.])
    """
    return program(np.setdiff1d)(ar1, ar2, assume_unique)


@numpy_function(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """The distinct elements that are in one of two arrays only.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.setxor1d(x, [2.0, 3.0]).sum())(np.array([1.0, 2.0]))
    array([1., 0.])
    """
    return program(np.setxor1d)(ar1, ar2, assume_unique)


@numpy_function(np.unique_all)
def unique_all(x: Any) -> Any:
    """`unique` with the indices of the elements, what makes the array of them, and the counts.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.unique_all(x).values[0])(np.array([2.0, 1.0]))
    array([0., 1.])
    """
    return program(np.unique_all)(x)


@numpy_function(np.unique_counts)
def unique_counts(x: Any) -> Any:
    """`unique` with the counts.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.unique_counts(x).values[0])(np.array([2.0, 1.0]))
    array([0., 1.])
    """
    return program(np.unique_counts)(x)


@numpy_function(np.unique_inverse)
def unique_inverse(x: Any) -> Any:
    """`unique` with the indices that make the array of it.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.unique_inverse(x).values[0])(np.array([2.0, 1.0]))
    array([0., 1.])
    """
    return program(np.unique_inverse)(x)


@numpy_function(np.unique_values)
def unique_values(x: Any) -> Array:
    """The distinct elements, in NumPy's order.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.unique_values(x).sum())(np.array([2.0, 2.0, 1.0]))
    array([1., 0., 1.])
    """
    return program(np.unique_values)(x)


@numpy_function(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", *axis: Any, **keywords: Any) -> Array:
    """The array without the zeros at its ends; see `unique` for `jit` and `vmap`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.trim_zeros(x).prod())(np.array([0.0, 2.0, 3.0]))
    array([0., 3., 2.])
    """
    if concrete(operand(filt)):
        return program(np.trim_zeros)(filt, trim, *axis, **keywords)
    ones = np.ones(type_of(operand(filt)).shape)
    np.trim_zeros(ones, trim, *axis, **keywords)  # type: ignore[arg-type]  # NumPy's errors
    given = dict(zip(("axis",), axis), **keywords).get("axis")
    rank = np.ndim(ones)
    axes = range(rank) if given is None else normalize_axis_tuple(given, rank)
    x = as_array(filt)
    held = ops.not_equal(x, 0)
    ends = {k: _zeros_at_ends(held, k) for k in axes}
    cut = []
    for k, n in enumerate(ones.shape):
        front, back = ends.get(k, (0, 0))
        front, back = front * ("f" in trim.lower()), back * ("b" in trim.lower())
        empty = any(a == m for (a, _), m in ((ends[j], ones.shape[j]) for j in ends))
        cut.append(slice(0, 0) if empty and k in ends else slice(front, n - back))
    return x[tuple(cut)]


def _zeros_at_ends(held: Array, axis: int) -> tuple[int, int]:
    """How many slices at both ends along an axis hold nothing."""
    others = tuple(k for k in range(type_of(held).ndim) if k != axis)
    line = ops.cast(constant.any(held, others), np.intp)
    what = "the number of zeros at an end of an array"
    front, back = (cumulative.cumsum(a, 0) for a in (line, line[::-1]))
    return tuple(index.selected(ops.equal(a, 0), what) for a in (front, back))  # type: ignore
