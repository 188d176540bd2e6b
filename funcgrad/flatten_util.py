"""A tree of arrays as one vector, and back, under JAX's name.

It imports `tree`, `numpy` and the transforms' look at arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.core.boundary import boundary, publish
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import ArrayType
from funcgrad.errors import TreeError, located
from funcgrad.ops.arithmetic import cast
from funcgrad.transforms.arguments import leaves_of

__all__ = ["ravel_pytree"]


class _Unravel:
    """What makes the tree of a vector; it can be pickled."""

    def __init__(
        self, definition: tree.TreeDef, kinds: Sequence[ArrayType], dtype: Any, own_dtypes: bool
    ) -> None:
        self.definition, self.kinds, self.dtype = definition, tuple(kinds), dtype
        self.alike = not own_dtypes or all(k.dtype == dtype for k in kinds)
        self.size = sum(k.size for k in kinds)

    @boundary
    def __call__(self, flat: Any) -> Any:
        given = type_of(operand(flat))
        if given.shape != (self.size,):
            raise TreeError(
                located(f"unravel: the vector has shape {given.shape}; it has to be {(self.size,)}")
            )
        if not self.alike and given.dtype != self.dtype:
            raise TreeError(
                located(
                    f"unravel: the vector has dtype {given.dtype}; the tree, whose leaves have "
                    f"several, was a vector of {self.dtype}"
                )
            )
        parts, start = [], 0
        for kind in self.kinds:
            end = start + kind.size
            part = fnp.reshape(flat[start:end], kind.shape) if kind.shape else flat[start]
            parts.append(part if self.alike else _as(part, kind.dtype))
            start = end
        return tree.unflatten(self.definition, parts)


def _as(x: Any, dtype: Any) -> Any:
    """`x` in a dtype of its tree, which may have no imaginary part."""
    if dtype.kind != "c" and type_of(operand(x)).dtype.kind == "c":
        x = fnp.real(x)
    return cast(operand(x), dtype)


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of all leaves as one vector, and the way back.

    Parameters
    ----------
    pytree : tree
        Of arrays and numbers.

    Returns
    -------
    flat : array, shape (n,)
        In the order of the leaves, in the dtype that NumPy's promotion gives for all of them.
    unravel : callable
        ``unravel(vector)`` of a vector of n elements is a tree as `pytree`. Where the leaves have
        several dtypes the vector has to have that of `flat`, and each leaf gets its own.

    Raises
    ------
    TreeError
        A leaf is no array; or a vector has another shape or dtype.

    Notes
    -----
    Both are differentiable, in every mode.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.flatten_util import ravel_pytree
    >>> flat, unravel = ravel_pytree({"w": np.ones((1, 2)), "b": 3.0})
    >>> flat
    array([3., 1., 1.])
    >>> unravel(flat * 2.0)
    {'w': array([[2., 2.]]), 'b': np.float64(6.0)}
    """
    return raveled(pytree, own_dtypes=True)


def raveled(pytree: Any, own_dtypes: bool) -> tuple[Any, Callable[[Any], Any]]:
    """The same; the leaves have that dtype of the vector unless they shall have their own."""
    leaves, definition = leaves_of(pytree, "the tree")
    kinds = [type_of(x) for x in leaves]
    parts = [fnp.ravel(x) for x in leaves]
    flat = fnp.concatenate(parts) if parts else np.zeros(0)
    return flat, _Unravel(definition, kinds, type_of(operand(flat)).dtype, own_dtypes)


publish(__name__)
