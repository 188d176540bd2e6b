"""Elementwise operations of NumPy on large arrays, into memory that has been used before.

The values are NumPy's own, bit for bit: the same ufunc runs, and only where it puts its result is
decided here. What several ufuncs make up is done piece by piece, so that the intermediate values
lie in memory that has been used before as well. It imports NumPy and the pool of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.kernels import threads
from funcgrad.kernels.choice import FEWEST, FLOATS
from funcgrad.ops.records import ADD

__all__ = ["add", "add_to", "apply"]

ndarray = np.ndarray
CHEAP = 4  # division: what costs no more is as fast as memory gives it out
# Bytes of a result from which threads help, which hand the interpreter's lock to each other at each
# piece: beyond the cache, and before where there is much to compute.
SHARED, SHARED_COSTLY = 1 << 23, 1 << 21
BLOCK = 1 << 14  # elements of which such a function is computed at a time


def apply(prim: Any, xs: Sequence[Any]) -> Any:
    """What `prim` gives for raw operands; None where this file does not do it."""
    shape = dtype = None
    for x in xs:
        if type(x) is ndarray:
            if shape is None:
                shape, dtype = x.shape, x.dtype
                if dtype not in FLOATS or x.size < FEWEST:
                    return None
            elif x.shape != shape or x.dtype is not dtype:
                return None
            if not x.flags.c_contiguous:
                return None
        elif type(x) is not float and type(x) is not int:
            return None
    if shape is None or dtype is None:
        return None
    if prim.fills:
        out = memory.empty(shape, dtype)
        _fill(prim.ufunc, prim.cost, xs, out)
        return out
    if prim.in_pieces:
        return _in_blocks(prim.ufunc, xs[0], memory.empty(shape, dtype))
    return None


def _in_blocks(function: Any, x: ndarray[Any, Any], out: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """The function of `x`, written to `out`."""
    flat, whole = x.reshape(-1), out.reshape(-1)
    for first in range(0, flat.size, BLOCK):
        whole[first : first + BLOCK] = function(flat[first : first + BLOCK])
    return out


def add(x: Any, y: Any) -> Any:
    """The sum of two raw cotangents; None where this file does not do it."""
    return apply(ADD, (x, y))


def add_to(x: ndarray[Any, Any], y: Any) -> None:
    """``x += y``, for an `x` that nobody else has."""
    if type(y) is ndarray and y.shape == x.shape and x.flags.carray and y.flags.carray:
        _fill(np.add, ADD.cost, (x, y), x)
    else:
        x += y


def _fill(ufunc: Any, cost: int, xs: Sequence[Any], out: ndarray[Any, Any]) -> None:
    """Let a ufunc write its result into `out`: of one shape with `xs`, all without gaps."""
    if out.nbytes < (SHARED if cost <= CHEAP else SHARED_COSTLY) or config.threads == 1:
        ufunc(*xs, out=out)
        return
    whole = out.reshape(-1)
    flat = [x.reshape(-1) if type(x) is ndarray else x for x in xs]

    def work(first: int, last: int) -> None:
        part = [x[first:last] if type(x) is ndarray else x for x in flat]
        ufunc(*part, out=whole[first:last])

    threads.run(work, out.size, out.size)
