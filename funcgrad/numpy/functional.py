"""Functions that take a function: along an axis, over axes, and of the indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import operand
from funcgrad.core.types import Array
from funcgrad.numpy.borrowed import program
from funcgrad.numpy.function_calls import TRACED, numpy_function, state
from funcgrad.ops.shape import lying_as

__all__ = ["apply_along_axis", "apply_over_axes", "vectorize"]


class vectorize(np.vectorize):
    """`numpy.vectorize`: a function of numbers applied to each element of its operands.

    It is called once for each element, also under `jit`; `funcgrad.vmap` calls it once.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> ramp = fnp.vectorize(lambda x: x if x > 0 else 0.1 * x)
    >>> fg.grad(lambda x: ramp(x).sum())(np.array([-1.0, 2.0]))
    array([0.1, 1. ])
    """

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results as arrays: NumPy makes object arrays of traced ones."""
        made = super().__call__(*args, **kwargs)
        return tuple(map(_joined, made)) if isinstance(made, tuple) else _joined(made)


def _joined(x: Any) -> Any:
    return lying_as(operand(x), x) if state(x) == TRACED else x


@numpy_function(np.apply_along_axis, calls=True)
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Array:
    """A function applied to each line along an axis, one call for each.

    What it returns has the same shape for every line, and may depend on other traced values.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> largest = lambda line: line.max() * line
    >>> fg.grad(lambda x: np.sum(np.apply_along_axis(largest, 1, x)))(np.array([[1.0, 3.0]]))
    array([[3., 7.]])
    """
    return program(np.apply_along_axis)(func1d, axis, arr, *args, **kwargs)


@numpy_function(np.apply_over_axes, calls=True)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Array:
    """A reduction of one axis applied to several axes in turn.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.apply_over_axes(np.sum, x, [0, 1])[0, 0])(np.ones((1, 2)))
    array([[1., 1.]])
    """
    return program(np.apply_over_axes)(func, a, axes)
