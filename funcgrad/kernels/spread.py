"""Cotangents that are views which repeat their elements, as arrays of their own.

The backward pass of `sum` and `mean` repeats a cotangent along the reduced axes: a view, which
costs nothing and which kernels read as what it is. It is written out at the end, if it is a result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.kernels.choice import FEWEST, FLOATS
from funcgrad.kernels.copies import copy_of, filled

__all__ = ["written_out"]

ndarray = np.ndarray


def written_out(c: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """A copy of `c` that nobody else has."""
    if c.size < FEWEST or c.dtype not in FLOATS:
        return c.copy()
    if any(c.strides):
        return copy_of(c)
    return filled(c.shape, c[(0,) * c.ndim])
