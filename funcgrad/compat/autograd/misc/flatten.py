"""Containers of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.flatten_util import raveled

__all__ = ["flatten", "flatten_func"]

Function = Callable[..., Any]


def flatten(value: Any) -> tuple[Any, Function]:
    """The elements of all arrays and numbers in a container as one vector, and the way back.

    Parameters
    ----------
    value : tree
        Dicts are taken in the order of their keys.

    Returns
    -------
    vector : array, shape (n,)
    unflatten : callable
        Takes a vector of n elements, and gives it in the containers and shapes of `value`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.compat.autograd.misc import flatten
    >>> vector, unflatten = flatten({"b": 3.0, "a": np.ones((1, 2))})
    >>> vector
    array([1., 1., 3.])
    >>> unflatten(vector)
    {'b': np.float64(3.0), 'a': array([[1., 1.]])}
    """
    return raveled(value, own_dtypes=False)


def flatten_func(func: Function, example: Any) -> tuple[Function, Function, Any]:
    """A function of containers as one of vectors; the way back, and `example` as a vector."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
