"""Products of several matrices, and powers of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops import contraction
from funcgrad.ops import shape as shapes
from funcgrad.ops import solve as solving

__all__ = [
    "matrix_power",
    "multi_dot",
]


@numpy_function(np.linalg.matrix_power, views=True)
def matrix_power(a: Any, n: int) -> Array:
    """A square matrix to an integer power; the first power is the matrix itself.

    Parameters
    ----------
    a : array of shape (…, n, n)
    n : int
        A negative power is one of the inverse.

    Raises
    ------
    LinAlgError
        `a` is not square, or singular and `n` negative.

    Notes
    -----
    Made of products by repeated squaring, as in NumPy, and differentiated through them.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.matrix_power(a, 3)[0, 0])(np.diag([2.0, 1.0]))
    array([[12.,  0.],
           [ 0.,  0.]])
    """
    x = as_array(a)
    out = solving.matrix_power(x, n)
    return a if out is x else out


@numpy_function(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Array:
    """The product of several matrices in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array
        Two at the least, with two axes each; the first and the last one may be vectors.

    Notes
    -----
    The order is NumPy's, so the value has the same bits.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x, a = np.array([1.0, 2.0]), np.eye(2)
    >>> fg.grad(lambda x: np.linalg.multi_dot([x, a, x]))(x)
    array([2., 4.])
    """
    xs = [as_array(x) for x in arrays]
    if len(xs) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(xs) == 2:
        return contraction.dot(*xs)
    first, last = type_of(xs[0]).ndim, type_of(xs[-1]).ndim
    if first == 1:
        xs[0] = shapes.reshape(xs[0], (1, type_of(xs[0]).size))
    if last == 1:
        xs[-1] = shapes.reshape(xs[-1], (type_of(xs[-1]).size, 1))
    found = _chain(xs)
    extents = type_of(found).shape
    kept = extents[(first == 1) : 2 - (last == 1)]
    return shapes.reshape(found, kept)


def _chain(xs: Sequence[Array]) -> Array:
    shapes = [type_of(x).shape for x in xs]
    if len(xs) == 3:
        (a0, a1), b1, c1 = shapes[0], shapes[1][1], shapes[2][1]
        # NumPy's choice, ties included
        if a0 * b1 * (a1 + c1) < a1 * c1 * (a0 + b1):
            return contraction.dot(contraction.dot(xs[0], xs[1]), xs[2])
        return contraction.dot(xs[0], contraction.dot(xs[1], xs[2]))
    split = _order([s[0] for s in shapes] + [shapes[-1][1]])

    def multiply(i: int, j: int) -> Array:
        if i == j:
            return xs[i]
        return contraction.dot(multiply(i, split[i, j]), multiply(split[i, j] + 1, j))

    return multiply(0, len(xs) - 1)


def _order(p: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each chain of matrices of the extents `p` (Cormen et al., §15.2)."""
    n = len(p) - 1
    cost = {(i, i): 0.0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = float("inf")
            for k in range(i, j):
                found = cost[i, k] + cost[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if found < cost[i, j]:
                    cost[i, j], split[i, j] = found, k
    return split
