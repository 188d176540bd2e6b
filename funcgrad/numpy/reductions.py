"""Reductions: sum, mean, max, any, argmax and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import ABSENT, as_array, numpy_function
from funcgrad.numpy.ufuncs import METHODS
from funcgrad.ops import arithmetic, constant, index, nonlinear_reductions, sums
from funcgrad.ops import shape as shapes

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
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
    return nonlinear_reductions.prod(
        as_array(a), axis, bool(keepdims), dtype, where, given(initial)
    )


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
    x, freedom = as_array(a), freedom_of(ddof, correction)
    if given(mean) is not None:
        return _around(mean, x, axis, dtype, freedom, bool(keepdims), where)
    return nonlinear_reductions.var(x, axis, freedom, bool(keepdims), dtype, where)


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
    x, freedom = as_array(a), freedom_of(ddof, correction)
    if given(mean) is not None:
        return root(_around(mean, x, axis, dtype, freedom, bool(keepdims), where))
    return nonlinear_reductions.std(x, axis, freedom, bool(keepdims), dtype, where)


def _around(
    mean: Any, x: Array, axis: Any, dtype: Any, freedom: float, keepdims: bool, where: Any
) -> Array:
    """The variance around a mean that is given, by which it is differentiated, too."""
    if dtype is None and type_of(x).dtype.kind not in "fc":
        dtype = np.dtype(float)
    squares = squared(arithmetic.subtract(x, operand(mean)))
    total = sums.sum(squares, axis, keepdims, dtype, where)
    count = sums.sum(np.ones(type_of(x).shape, np.intp), axis, keepdims, None, where)
    divisor = arithmetic.maximum(arithmetic.subtract(count, freedom), 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return arithmetic.cast(arithmetic.divide(total, divisor), type_of(total).dtype)


def squared(away: Array) -> Array:
    """The squares of absolute values."""
    if type_of(away).dtype.kind == "c":
        return arithmetic.real(arithmetic.multiply(away, arithmetic.conjugate(away)))
    return arithmetic.multiply(away, away)


def root(variance: Array) -> Array:
    """The deviation of a variance; its derivative is 0 where there is no spread."""
    own, flat = type_of(variance).dtype.type, arithmetic.equal(variance, 0)
    return arithmetic.where(flat, own(0), arithmetic.sqrt(arithmetic.where(flat, own(1), variance)))


def freedom_of(ddof: float, correction: Any) -> float:
    """The divisor's correction, under either of its names."""
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
    return nonlinear_reductions.max(as_array(a), axis, bool(keepdims), where, given(initial))


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
    return nonlinear_reductions.min(as_array(a), axis, bool(keepdims), where, given(initial))


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


@numpy_function(np.any, constant=True)
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


@numpy_function(np.all, constant=True)
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


@numpy_function(np.count_nonzero, constant=True)
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


@numpy_function(np.argmax, constant=True)
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


@numpy_function(np.argmin, constant=True)
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


METHODS.update(
    {
        (np.add, "reduce"): sum,
        (np.multiply, "reduce"): prod,
        (np.maximum, "reduce"): max,
        (np.minimum, "reduce"): min,
        (np.logical_and, "reduce"): all,
        (np.logical_or, "reduce"): any,
    }
)


def take_slice(x: Array, axis: int, part: Any) -> Array:
    """``x[:, …, part]`` with `part` at `axis`."""
    return index.getitem(x, (slice(None),) * axis + (part,))


def weights_like(w: Array, shape: tuple[int, ...], axis: Any) -> Array:
    """The weights in the rank of the array, as NumPy reads them."""
    if type_of(w).shape == shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalize_axis_tuple(axis, len(shape))
    if type_of(w).shape != tuple(shape[k] for k in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    order = np.argsort(axes).tolist()
    w = shapes.transpose(w, order)
    return shapes.reshape(w, tuple(n if k in axes else 1 for k, n in enumerate(shape)))
