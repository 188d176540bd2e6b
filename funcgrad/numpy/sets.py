"""Distinct elements, and which are among others."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.borrowed import program
from funcgrad.numpy.calls import as_array, known, numpy_function
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import constant, index
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


@numpy_function(np.unique, lacks=("jit", "vmap"))
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
    x = as_array(ar)
    found: Any = np.unique(  # type: ignore[call-overload]
        known(x, "unique()"),
        True,
        return_inverse,
        return_counts,
        axis,
        equal_nan=equal_nan,
        **keywords,
    )
    if axis is None:
        values = index.gather(shapes.reshape(x, (type_of(x).size,)), found[1])
    else:
        lines = index.gather(shapes.moveaxis(x, axis, 0), found[1])
        values = shapes.lying_as(shapes.moveaxis(lines, 0, axis), found[0])
    rest = found[1:] if return_index else found[2:]
    return (values, *rest) if rest else values


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


@numpy_function(np.intersect1d, lacks=("jit", "vmap"))
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The distinct elements of both arrays, which have to be known.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.intersect1d(x, [2.0, 3.0]).sum())(np.array([1.0, 2.0]))
    array([0., 1.])
    """
    return program(np.intersect1d)(ar1, ar2, assume_unique, return_indices)


@numpy_function(np.union1d, lacks=("jit", "vmap"))
def union1d(ar1: Any, ar2: Any) -> Array:
    """The distinct elements of either array, which have to be known.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.union1d(x, [2.0, 3.0]).sum())(np.array([1.0, 2.0]))
    array([1., 1.])
    """
    return program(np.union1d)(ar1, ar2)


@numpy_function(np.setdiff1d, lacks=("jit", "vmap"))
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """The distinct elements of one array that are not in another; they have to be known.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.setdiff1d(x, [2.0, 3.0]).sum())(np.array([1.0, 2.0]))
    array([1., 0.])
    """
    return program(np.setdiff1d)(ar1, ar2, assume_unique)


@numpy_function(np.setxor1d, lacks=("jit", "vmap"))
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """The distinct elements that are in one of two arrays only; they have to be known.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.setxor1d(x, [2.0, 3.0]).sum())(np.array([1.0, 2.0]))
    array([1., 0.])
    """
    return program(np.setxor1d)(ar1, ar2, assume_unique)


@numpy_function(np.unique_all, lacks=("jit", "vmap"))
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


@numpy_function(np.unique_counts, lacks=("jit", "vmap"))
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


@numpy_function(np.unique_inverse, lacks=("jit", "vmap"))
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


@numpy_function(np.unique_values, lacks=("jit", "vmap"))
def unique_values(x: Any) -> Array:
    """The distinct elements, which have to be known, in NumPy's order.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.unique_values(x).sum())(np.array([2.0, 2.0, 1.0]))
    array([1., 0., 1.])
    """
    return program(np.unique_values)(x)


@numpy_function(np.trim_zeros, lacks=("jit", "vmap"))
def trim_zeros(filt: Any, trim: str = "fb", *axis: Any, **keywords: Any) -> Array:
    """The array without the zeros at its ends; its elements have to be known.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.trim_zeros(x).prod())(np.array([0.0, 2.0, 3.0]))
    array([0., 3., 2.])
    """
    return program(np.trim_zeros)(filt, trim, *axis, **keywords)
