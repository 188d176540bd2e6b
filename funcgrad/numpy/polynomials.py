"""Polynomials by their coefficients from the highest power down: NumPy's older functions.

They are NumPy's programs (`borrowed`). Zeros in front are dropped where the values are known; under
`jit` and `vmap` they stay, so the result may be longer there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import Operand, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.numpy.borrowed import program
from funcgrad.numpy.creation import array
from funcgrad.numpy.eigen import eigvals
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.numpy.joining import concatenate
from funcgrad.numpy.products import convolve
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import index
from funcgrad.ops import shape as shapes

__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "roots",
]


@numpy_function(np.poly)
def poly(seq_of_zeros: Any) -> Array:
    """The coefficients of the polynomial with these zeros, or with the eigenvalues of a matrix.

    Under `jit` and `vmap` they are complex for a matrix and for complex zeros: whether the zeros
    are conjugates of each other is not known.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jacobian(np.poly)(np.array([1.0, 2.0]))
    array([[ 0.,  0.],
           [-1., -1.],
           [ 2.,  1.]])
    """
    zeros = as_array(seq_of_zeros)
    shape = type_of(zeros).shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0]:
        zeros = operand(eigvals(zeros))
    elif len(shape) > 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    count = type_of(zeros).size
    if not count:
        return 1.0
    dtype = np.dtype(np.mintypecode(type_of(zeros).dtype.char))
    zeros = ops.cast(shapes.reshape(zeros, (count,)), dtype)
    one, found = np.ones(1, dtype), np.ones(1, dtype)
    for k in range(count):
        root = ops.negative(index.getitem(zeros, (slice(k, k + 1),)))
        found = convolve(found, concatenate([one, root]))
    if dtype.kind == "c" and concrete(zeros):
        known = np.asarray(value(zeros))
        if np.all(np.sort(known) == np.sort(known.conjugate())):
            return ops.real(operand(found))
    return found


@numpy_function(np.roots)
def roots(p: Any) -> Array:
    """The zeros of a polynomial: the eigenvalues of its companion matrix.

    Under `jit` and `vmap` they are complex, and the first coefficient is taken as not 0.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda p: np.roots(p).max())(np.array([1.0, -3.0, 2.0]))
    array([-4., -2., -1.])
    """
    x = as_array(p)
    if type_of(x).ndim > 1:
        raise ValueError("Input must be a rank-1 array.")
    x = shapes.reshape(x, (type_of(x).size,))
    last = type_of(x).size
    trailing = 0
    if concrete(x):
        there = np.flatnonzero(np.asarray(value(x)))
        if not there.size:
            return np.array([])
        trailing = last - int(there[-1]) - 1
        x = index.getitem(x, (slice(int(there[0]), int(there[-1]) + 1),))
    if type_of(x).dtype.kind not in "fc":
        x = ops.cast(x, float)
    degree, dtype = type_of(x).size - 1, type_of(x).dtype
    found: Any = np.array([])
    if degree > 0:
        lead = index.getitem(x, (slice(None, 1),))
        first = ops.divide(ops.negative(index.getitem(x, (slice(1, None),))), lead)
        below = np.eye(degree, dtype=dtype)[: degree - 1]
        found = eigvals(concatenate([shapes.reshape(first, (1, degree)), below]))
    return concatenate([found, np.zeros(trailing, type_of(operand(found)).dtype)])


@numpy_function(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """The `m`-th integral of a polynomial, differentiable in the constants `k` too.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jacobian(np.polyint)(np.array([2.0, 3.0]))
    array([[0.5, 0. ],
           [0. , 1. ],
           [0. , 0. ]])
    """
    return program(np.polyint)(p, m, k)


@numpy_function(np.polyder)
def polyder(p: Any, m: int = 1) -> Array:
    """The `m`-th derivative of a polynomial.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jacobian(np.polyder)(np.array([1.0, 1.0, 1.0]))
    array([[2., 0., 0.],
           [0., 1., 0.]])
    """
    return program(np.polyder)(p, m)


@numpy_function(np.polyfit)
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """The polynomial of least squares, differentiable in the points, the values and the weights.

    The derivative is that of `linalg.lstsq`, at constant rank.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jacobian(lambda y: np.polyfit([0.0, 1.0, 2.0], y, 1))(np.ones(3)).round(3)
    array([[-0.5  ,  0.   ,  0.5  ],
           [ 0.833,  0.333, -0.167]])
    """
    if w is not None:  # which the program multiplies into both in place
        x, y = array(x), array(y)
    return program(np.polyfit)(x, y, deg, rcond, full, w, cov)


@numpy_function(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Array:
    """The sum of two polynomials.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda p: np.polyadd(p, [1.0, 2.0, 3.0])[2])(np.ones(2))
    array([0., 1.])
    """
    return program(np.polyadd)(a1, a2)


@numpy_function(np.polysub)
def polysub(a1: Any, a2: Any) -> Array:
    """The difference of two polynomials.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda p: np.polysub([1.0, 2.0, 3.0], p)[2])(np.ones(2))
    array([-0., -1.])
    """
    return program(np.polysub)(a1, a2)


@numpy_function(np.polymul)
def polymul(a1: Any, a2: Any) -> Array:
    """The product of two polynomials.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda p: np.polymul(p, [1.0, 2.0])[1])(np.ones(2))
    array([2., 1.])
    """
    found = convolve(_without_zeros_in_front(a1), _without_zeros_in_front(a2))
    return _of_class(found, a1, a2)


@numpy_function(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Array, Array]:
    """The quotient and the remainder of two polynomials.

    Where the values are not known the remainder has one coefficient less than `v`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda v: np.polydiv([1.0, 3.0, 1.0], v)[0][1])(np.array([1.0, 1.0]))
    array([-1., -1.])
    """
    u, v = (p if isinstance(p, (Operand, np.poly1d)) else array(p) for p in (u, v))
    quotient, rest = program(np.polydiv)(u, v)
    if not isinstance(rest, np.poly1d) and not concrete(operand(rest)):
        # as many as NumPy keeps, unless the remainder happens to have a lower degree
        size = type_of(operand(rest)).size
        rest = rest[min(size - type_of(operand(v)).size + 1, size - 1) :]
    return quotient, rest


def _without_zeros_in_front(p: Any) -> Any:
    """The coefficients as `numpy.poly1d` keeps them."""
    if isinstance(p, np.poly1d):
        return p.coeffs
    x = operand(np.atleast_1d(p) if not isinstance(p, Operand) else as_array(p))
    x = shapes.reshape(x, (type_of(x).size,))
    if not concrete(x):
        return x
    there = np.flatnonzero(np.asarray(value(x)))
    return index.getitem(x, (slice(int(there[0]) if there.size else -1, None),))


def _of_class(found: Array, *given: Any) -> Any:
    return np.poly1d(found) if any(isinstance(p, np.poly1d) for p in given) else found
