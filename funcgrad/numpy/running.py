"""Running results: cumsum, cumprod and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.numpy.ufuncs import METHODS
from funcgrad.ops import cumulative
from funcgrad.ops import shape as shapes

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
]


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


METHODS.update({(np.add, "accumulate"): cumsum, (np.multiply, "accumulate"): cumprod})
