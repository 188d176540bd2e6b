"""`stop_gradient`: a value as a constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.tracer import Operand, bind, is_scalar, sealed
from funcgrad.core.types import Array
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.storage import view
from funcgrad.transforms.arguments import leaves_of, present

__all__ = ["stop_gradient"]


def stop_gradient(x: Any) -> Any:
    """`x` as a constant: no derivative of any order passes.

    Parameters
    ----------
    x : tree of arrays

    Returns
    -------
    tree of arrays
        Views of the arrays: a write into one of them is seen by the other.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: x * fg.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    leaves_of(x, "the argument of stop_gradient")
    return tree.map(_stopped, x)


def _stopped(x: Any) -> Any:
    if isinstance(x, Operand) and not is_scalar(x):
        return view(x, _constant)
    (leaf,), _ = leaves_of(x, "the argument of stop_gradient")
    return present(_constant(leaf))


def _constant(x: Array) -> Any:
    made = bind(STOP_GRADIENT, (x,))
    return sealed(made) if isinstance(x, Operand) and type(made) is np.ndarray else made
