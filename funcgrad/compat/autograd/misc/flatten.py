"""Containers of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.core.tracer import type_of
from funcgrad.transforms.arguments import leaves_of

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
    leaves, definition = leaves_of(value, "the value")
    kinds = [type_of(leaf) for leaf in leaves]
    ends = np.cumsum([kind.size for kind in kinds], dtype=int)

    def unflatten(vector: Any) -> Any:
        parts = [
            fnp.reshape(vector[end - kind.size : end], kind.shape)
            if kind.shape
            else vector[end - 1]
            for kind, end in zip(kinds, ends, strict=True)
        ]
        return tree.unflatten(definition, parts)

    vector = fnp.concatenate([fnp.ravel(x) for x in leaves]) if leaves else np.zeros(0)
    return vector, unflatten


def flatten_func(func: Function, example: Any) -> tuple[Function, Function, Any]:
    """A function of containers as one of vectors; the way back, and `example` as a vector."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
