"""Softmax and its kin, standardisation, and one-hot vectors, under JAX's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.function_calls import as_array
from funcgrad.ops import softmax as soft
from funcgrad.ops.matrices import as_float
from funcgrad.ops.reduction import Axis, normalize_axes

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]


def _masked(x: Any, where: Any) -> Array:
    """What `where` leaves out counts for nothing."""
    x = as_float(as_array(x))
    return x if where is None else operand(fnp.where(where, x, -np.inf))


def _along(function: Callable[[Array, int], Array], x: Array, axis: Axis) -> Array:
    """A function along one axis, along several."""
    axes = normalize_axes(axis, type_of(x).ndim)
    if len(axes) == 1:
        return function(x, axes[0])
    if not axes:
        return fnp.reshape(function(fnp.reshape(x, (*type_of(x).shape, 1)), -1), type_of(x).shape)
    ends = tuple(range(-len(axes), 0))
    moved = fnp.moveaxis(x, axes, ends)
    shape = moved.shape
    flat = fnp.reshape(moved, (*shape[: -len(axes)], math.prod(shape[-len(axes) :])))
    return fnp.moveaxis(fnp.reshape(function(operand(flat), -1), shape), ends, axes)


def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Array:
    """``exp(x) / sum(exp(x))`` over `axis`, without overflow.

    Parameters
    ----------
    x : array_like
    axis : int, tuple of int or None, optional
        The axes over which the result sums to 1; None: all.
    where : array_like of bool, optional
        Which elements take part; the others are 0, and have no gradient.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.nn.softmax(np.array([1000.0, 1000.0, 0.0]))
    array([0.5, 0.5, 0. ])
    >>> fg.jacobian(fg.nn.softmax)(np.zeros(2))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    found = _along(soft.softmax, _masked(x, where), axis)
    return found if where is None else fnp.where(where, found, 0.0)


def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Array:
    """The logarithm of `softmax`, also where that underflows; -inf where `where` is False.

    Parameters
    ----------
    x, axis, where
        As of `softmax`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import nn
    >>> nn.log_softmax(np.array([0.0, -1000.0]))
    array([    0., -1000.])
    """
    found = _along(soft.log_softmax, _masked(x, where), axis)
    return found if where is None else fnp.where(where, found, -np.inf)


def logsumexp(
    a: Any,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """``log(sum(b * exp(a)))`` over `axis`, without overflow.

    Parameters
    ----------
    a : array_like
    axis : int, tuple of int or None, optional
        None: all axes.
    b : array_like, optional
        Weights; an element of weight 0 counts for nothing, also if it is infinite.
    keepdims : bool, optional
    return_sign : bool, optional
        The pair of the logarithm of the absolute value and the sign, which is locally constant.
    where : array_like of bool, optional
        Which elements take part.

    Notes
    -----
    Elements that are all -inf have the gradient 0.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(fg.nn.logsumexp)(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    x = _masked(a, where)
    if b is None and not return_sign:
        return soft.logsumexp(x, axis, keepdims)
    return soft.weighted_logsumexp(x, 1.0 if b is None else b, axis, keepdims, return_sign)


def logmeanexp(x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Array:
    """``log(mean(exp(x)))`` over `axis`, without overflow.

    Parameters
    ----------
    x, axis, where, keepdims
        As of `logsumexp`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import nn
    >>> nn.logmeanexp(np.array([1000.0, 1000.0]))
    np.float64(1000.0)
    """
    total = logsumexp(x, axis, keepdims=keepdims, where=where)
    taken = fnp.ones(fnp.shape(x)) if where is None else fnp.broadcast_to(where, fnp.shape(x))
    count = fnp.sum(taken, axis=axis, keepdims=keepdims)
    return total - fnp.log(fnp.astype(count, type_of(operand(total)).dtype))


def standardize(
    x: Any,
    axis: Axis = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """``(x - mean) / sqrt(variance + epsilon)`` with the mean and variance over `axis`.

    Parameters
    ----------
    x : array_like
    axis : int, tuple of int or None, optional
    mean, variance : array_like, optional
        By default those of `x`, with the axes kept.
    epsilon : float, optional
    where : array_like of bool, optional
        Which elements count in the mean and the variance.
    algorithm : {"fast", "stable"}
        The variance is ``mean(x**2) - mean**2``, not below 0, of which digits are lost where it is
        small beside the mean; or ``mean((x - mean)**2)``.

    Raises
    ------
    ValueError
        Another algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import nn
    >>> nn.standardize(np.array([1.0, 3.0]), epsilon=0.0)
    array([-1.,  1.])
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(
            located(f"standardize: the algorithm is 'fast' or 'stable', not {algorithm!r}")
        )
    x = as_float(as_array(x))
    taken: dict[str, Any] = {} if where is None else {"where": where}
    if mean is None:
        mean = fnp.mean(x, axis, keepdims=True, **taken)
    if variance is None and algorithm == "stable":
        variance = fnp.mean(fnp.square(x - mean), axis, keepdims=True, **taken)
    elif variance is None:
        squares = fnp.mean(fnp.square(x), axis, keepdims=True, **taken)
        variance = fnp.maximum(squares - fnp.square(mean), 0.0)
    return fnp.divide(x - mean, fnp.sqrt(variance + epsilon))


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Array:
    """For each index a vector that is 1 there and 0 elsewhere; of one out of range, 0 everywhere.

    Parameters
    ----------
    x : array_like of int
    num_classes : int
        The length of the vectors.
    dtype : dtype, optional
        float64 by default.
    axis : int, optional
        Where the vectors lie in the result.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import nn
    >>> nn.one_hot(np.array([0, 2, 3]), 3)
    array([[1., 0., 0.],
           [0., 0., 1.],
           [0., 0., 0.]])
    """
    x = as_array(x)
    rank = type_of(x).ndim + 1
    (place,) = normalize_axes(axis, rank)
    classes = np.arange(num_classes).reshape([-1 if k == place else 1 for k in range(rank)])
    found = fnp.equal(fnp.expand_dims(x, place), classes)
    return fnp.astype(found, np.float64 if dtype is None else dtype)
