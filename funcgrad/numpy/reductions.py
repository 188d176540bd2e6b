"""Reductions and running results: sum, mean, max, any, argmax, cumsum and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.calls import ABSENT, as_array, known, numpy_function, refuse
from funcgrad.numpy.ufuncs import METHODS
from funcgrad.ops import arithmetic, constant, cumulative, graded, index, sums
from funcgrad.ops import shape as shapes
from funcgrad.ops import sort as sorting

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "partition",
    "prod",
    "ptp",
    "searchsorted",
    "sort",
    "sort_complex",
    "std",
    "sum",
    "var",
]


def given(x: Any) -> Any:
    """None for a keyword that is absent."""
    return None if x is ABSENT or x is np._NoValue else x


@numpy_function(np.sum)
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = ABSENT,
    where: Any = True,
) -> Array:
    """The sum over some axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.sum)(np.array([1.0, 2.0]))
    array([1., 1.])
    """
    return sums.sum(as_array(a), axis, bool(keepdims), dtype, where, given(initial))


@numpy_function(np.prod)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = ABSENT,
    where: Any = True,
) -> Array:
    """The product over some axes; its derivatives are exact where factors are zero.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.prod)(np.array([2.0, 0.0, 3.0]))
    array([0., 6., 0.])
    """
    return graded.prod(as_array(a), axis, bool(keepdims), dtype, where, given(initial))


@numpy_function(np.mean)
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Array:
    """The mean over some axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.mean)(np.array([1.0, 2.0]))
    array([0.5, 0.5])
    """
    return sums.mean(as_array(a), axis, bool(keepdims), dtype, where)


@numpy_function(np.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = ABSENT,
    correction: Any = ABSENT,
) -> Array:
    """The variance over some axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.var)(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    refuse("var", mean=given(mean))
    return graded.var(as_array(a), axis, _freedom(ddof, correction), bool(keepdims), dtype, where)


@numpy_function(np.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = ABSENT,
    correction: Any = ABSENT,
) -> Array:
    """The standard deviation over some axes; its derivative is 0 where there is no spread.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.std)(np.array([1.0, 3.0]))
    array([-0.5,  0.5])
    >>> fg.grad(fnp.std)(np.array([2.0, 2.0]))
    array([0., 0.])
    """
    refuse("std", mean=given(mean))
    return graded.std(as_array(a), axis, _freedom(ddof, correction), bool(keepdims), dtype, where)


def _freedom(ddof: float, correction: Any) -> float:
    if given(correction) is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return float(correction)


@numpy_function(np.max, np.amax)
def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = ABSENT,
    where: Any = True,
) -> Array:
    """The largest element over some axes; equal ones share the derivative equally.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.max)(np.array([1.0, 3.0, 3.0]))
    array([0. , 0.5, 0.5])
    """
    return graded.max(as_array(a), axis, bool(keepdims), where, given(initial))


@numpy_function(np.min, np.amin)
def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = ABSENT,
    where: Any = True,
) -> Array:
    """The smallest element over some axes; equal ones share the derivative equally.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.min)(np.array([1.0, 3.0, 1.0]))
    array([0.5, 0. , 0.5])
    """
    return graded.min(as_array(a), axis, bool(keepdims), where, given(initial))


amax, amin = max, min


@numpy_function(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Array:
    """The largest less the smallest element over some axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.ptp)(np.array([1.0, 3.0, 2.0]))
    array([-1.,  1.,  0.])
    """
    return arithmetic.subtract(max(a, axis, None, keepdims), min(a, axis, None, keepdims))


@numpy_function(np.any)
def any(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Array:
    """Whether an element over some axes is true.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.vmap(fnp.any)(np.array([[True, False], [False, False]]))
    array([ True, False])
    """
    return constant.any(as_array(a), axis, bool(keepdims), where)


@numpy_function(np.all)
def all(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Array:
    """Whether all elements over some axes are true.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.vmap(fnp.all)(np.array([[True, True], [True, False]]))
    array([ True, False])
    """
    return constant.all(as_array(a), axis, bool(keepdims), where)


@numpy_function(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The number of elements that are not 0.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.vmap(fnp.count_nonzero)(np.array([[1.0, 2.0], [0.0, 3.0]]))
    array([2, 1])
    """
    return constant.count_nonzero(as_array(a), axis, keepdims)


@numpy_function(np.argmax)
def argmax(a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False) -> Array:
    """The position of the largest element.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: x[fnp.argmax(x)])(np.array([1.0, 3.0]))
    array([0., 1.])
    """
    return constant.argmax(as_array(a), axis, bool(keepdims))


@numpy_function(np.argmin)
def argmin(a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False) -> Array:
    """The position of the smallest element.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: x[fnp.argmin(x)])(np.array([1.0, 3.0]))
    array([1., 0.])
    """
    return constant.argmin(as_array(a), axis, bool(keepdims))


# ------------------------------------------------------------------------- running results


@numpy_function(np.cumsum)
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """The running sum along an axis, of the flattened array if it is None.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.jacobian(fnp.cumsum)(np.array([1.0, 2.0]))
    array([[1., 0.],
           [1., 1.]])
    """
    return cumulative.cumsum(as_array(a), axis, dtype)


@numpy_function(np.cumprod)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """The running product along an axis; its derivatives are exact where factors are zero.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.jacobian(fnp.cumprod)(np.array([0.0, 2.0]))
    array([[1., 0.],
           [2., 0.]])
    """
    return cumulative.cumprod(as_array(a), axis, dtype)


@numpy_function(np.cumulative_sum)
def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Array:
    """The running sum along an axis, on request with the 0 that it starts from.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.jacobian(lambda x: fnp.cumulative_sum(x, include_initial=True))(np.ones(2))
    array([[0., 0.],
           [1., 0.],
           [1., 1.]])
    """
    return _running(cumulative.cumsum, x, axis, dtype, 0 if include_initial else None)


@numpy_function(np.cumulative_prod)
def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Array:
    """The running product along an axis, on request with the 1 that it starts from.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.jacobian(fnp.cumulative_prod)(np.array([3.0, 2.0]))
    array([[1., 0.],
           [2., 3.]])
    """
    return _running(cumulative.cumprod, x, axis, dtype, 1 if include_initial else None)


def _running(function: Any, x: Any, axis: int | None, dtype: Any, first: int | None) -> Array:
    x = as_array(x)
    rank = type_of(x).ndim
    if axis is None:
        if rank > 1:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        axis = 0
    axis = normalize_axis_index(axis, rank)
    out = function(x, axis, dtype)
    if first is None:
        return out
    shape = type_of(out).shape
    front = np.full((*shape[:axis], 1, *shape[axis + 1 :]), first, type_of(out).dtype)
    return shapes.concatenate((front, out), axis)


METHODS.update(
    {
        (np.add, "reduce"): sum,
        (np.multiply, "reduce"): prod,
        (np.maximum, "reduce"): max,
        (np.minimum, "reduce"): min,
        (np.logical_and, "reduce"): all,
        (np.logical_or, "reduce"): any,
        (np.add, "accumulate"): cumsum,
        (np.multiply, "accumulate"): cumprod,
    }
)


# --------------------------------------------------------------------------------- sorting


@numpy_function(np.sort)
def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Array:
    """A sorted copy; its derivative follows the permutation.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sort(x)[0])(np.array([3.0, 1.0, 2.0]))
    array([0., 1., 0.])
    """
    refuse("sort", order=order)
    return sorting.sort(as_array(a), axis, "stable" if stable else kind)


@numpy_function(np.argsort)
def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Array:
    """The permutation that sorts.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.vmap(fnp.argsort)(np.array([[3.0, 1.0, 2.0]]))
    array([[1, 2, 0]])
    """
    refuse("argsort", order=order)
    return sorting.argsort(as_array(a), axis, "stable" if stable else kind)


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
    refuse("partition", order=order)
    return sorting.partition(as_array(a), known(kth, "a partition"), axis)


@numpy_function(np.argpartition)
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
    refuse("argpartition", order=order)
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


@numpy_function(np.searchsorted)
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


def take_slice(x: Array, axis: int, part: Any) -> Array:
    """``x[:, …, part]`` with `part` at `axis`."""
    return index.getitem(x, (slice(None),) * axis + (part,))
