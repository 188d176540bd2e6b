"""Distinct elements, and which are among others."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.calls import as_array, known, numpy_function, refuse
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import constant, index
from funcgrad.ops import shape as shapes

__all__ = [
    "isin",
    "unique",
]


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
    """The distinct elements in order, which have to be known; the first of equals counts.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.unique(x)))(np.array([2.0, 2.0, 1.0]))
    array([1., 0., 1.])
    """
    refuse("unique", axis=axis, **keywords)
    x = as_array(ar)
    found: Any = np.unique(  # type: ignore[call-overload]
        known(x, "unique()"), True, return_inverse, return_counts, equal_nan=equal_nan
    )
    flat = shapes.reshape(x, (type_of(x).size,))
    values = index.gather(flat, found[1])
    rest = found[1:] if return_index else found[2:]
    return (values, *rest) if rest else values


@numpy_function(np.isin)
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
