"""Histograms: sums of weights, and edges that depend on the data.

Counts are locally constant. What is not is the sum of the weights in each bin, the edges that NumPy
takes from the smallest and the largest element, and with them a density.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.borrowed import program
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.numpy.ranges import linspace
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import index, sort, sums
from funcgrad.ops import shape as shapes
from funcgrad.ops.nonlinear_reductions import max as largest
from funcgrad.ops.nonlinear_reductions import min as smallest

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


@numpy_function(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """The edges of the bins of `histogram`; a rule for `bins`, such as "auto", needs the values.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jacobian(lambda x: np.histogram_bin_edges(x, 2))(np.array([0.0, 4.0]))
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    x = as_array(a)
    if isinstance(bins, str) or not isinstance(bins, int) or concrete(x):
        return program(np.histogram_bin_edges)(a, bins, range, weights)
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    low, high = (smallest(x), largest(x)) if range is None else map(operand, range)
    same = ops.equal(low, high)
    low = ops.where(same, ops.subtract(low, 0.5), low)
    high = ops.where(same, ops.add(high, 0.5), high)
    return linspace(low, high, bins + 1)


@numpy_function(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """The sum of the weights in each bin, and the edges of the bins.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = np.array([0.0, 0.1, 1.0])
    >>> fg.jacobian(lambda w: np.histogram(x, 2, weights=w)[0])(np.ones(3))
    array([[1., 1., 0.],
           [0., 0., 1.]])
    """
    if concrete(as_array(a)) and all(concrete(operand(v)) for v in _ends(bins, range)):
        return program(np.histogram)(a, bins, range, density, weights)
    edges = operand(histogram_bin_edges(a, bins, range, weights))
    found = _sums(operand(a), edges, weights)
    if density:
        widths = ops.cast(ops.subtract(edges[1:], edges[:-1]), float)
        found = ops.divide(ops.divide(found, widths), sums.sum(found))
    return found, edges


def _ends(bins: Any, range: Any) -> tuple[Any, ...]:
    return (0 if isinstance(bins, (str, int)) else bins, *(range or ()))


def _sums(a: Array, edges: Array, weights: Any) -> Array:
    """The sums of the weights between edges that are known when the function runs."""
    a = shapes.reshape(a, (type_of(a).size,))
    count = type_of(edges).size - 1
    last = index.getitem(edges, (-1,))
    at = ops.subtract(sort.searchsorted(edges, a, "right"), 1)
    at = ops.where(ops.equal(a, last), count - 1, at)
    inside = ops.logical_and(ops.greater_equal(at, 0), ops.less(at, count))
    if weights is None:
        each: Any = ops.cast(inside, np.intp)
    else:
        w = as_array(weights)
        w = shapes.reshape(ops.cast(w, np.result_type(type_of(w).dtype, float)), type_of(a).shape)
        each = ops.where(inside, w, 0.0)
    places = ops.minimum(ops.maximum(at, 0), count - 1)
    return index.add_at(np.zeros(count, type_of(each).dtype), places, each)


@numpy_function(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """The sum of the weights in each bin of several dimensions, and the edges of each.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> at = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> fg.grad(lambda w: np.histogramdd(at, 2, weights=w)[0][1, 1])(np.ones(2))
    array([0., 1.])
    """
    return program(np.histogramdd)(sample, bins, range, density, weights)


@numpy_function(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """The sum of the weights in each bin of two dimensions, and the edges of both.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> at = np.array([0.0, 1.0])
    >>> fg.grad(lambda w: np.histogram2d(at, at, 2, weights=w)[0][1, 1])(np.ones(2))
    array([0., 1.])
    """
    return program(np.histogram2d)(x, y, bins, range, density, weights)
