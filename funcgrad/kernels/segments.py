"""Reductions of segments on large arrays, forward and backward: by kernels, or by the rule.

They need memory for the elements and places only. Threads take no part: each place is reduced in
the order of its elements. It imports NumPy, not Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import memory
from funcgrad.core.types import Array
from funcgrad.kernels import pieces
from funcgrad.kernels.choice import FEWEST, FLOATS, entry_of
from funcgrad.kernels.layout import dense
from funcgrad.ops.segment import SEGMENT

ndarray = np.ndarray


def _suit(at: Any, *floats: Any) -> bool:
    """Whether all are raw vectors, of one dtype that kernels have."""
    dtype = getattr(floats[0], "dtype", None)
    return (
        dtype in FLOATS
        and type(at) is ndarray
        and at.dtype == np.intp
        and all(type(x) is ndarray and x.dtype == dtype for x in floats)
    )


def _taken(impl: Callable[..., Any], v: Any, at: Any, x: Any, reduce: str) -> Any:
    """The values, in front of NumPy's."""
    if np.size(v) < FEWEST or not _suit(at, v, x) or not x.size:
        return impl(v, at, x, reduce=reduce)
    entry = entry_of("segment_product" if reduce == "prod" else "segment_extremum", v.dtype.char)
    if entry.taken():
        out, outside = memory.empty(x.shape, x.dtype), np.zeros(1, np.int64)
        np.copyto(out, x)
        sign = () if reduce == "prod" else (v.dtype.type(1 if reduce == "max" else -1),)
        if pieces.run(entry, [out, *_own(at, v), *sign, outside]) and not outside[0]:
            return out
    return impl(v, at, x, reduce=reduce)


def _own(*xs: Any) -> list[ndarray[Any, Any]]:
    """Arrays of one kind for kernels: without gaps, and writeable ones."""
    return [dense(x) if x.flags.writeable else np.array(x) for x in xs]


def _pull(node: Any, g: Any) -> tuple[Sequence[Array | None], bool]:
    """The cotangents of the operands of `node`, and whether they are arrays of nobody else."""
    y, v, at, x = node.saved
    if _suit(at, g, y, v, x) and g.shape == x.shape and x.size:
        name = "product" if node.params["reduce"] == "prod" else "extremum"
        entry = entry_of(f"segment_{name}_backward", g.dtype.char)
        if entry.taken():
            each, cx = np.empty(x.shape, x.dtype), memory.empty(x.shape, x.dtype)
            cv, outside = memory.empty(v.shape, v.dtype), np.zeros(1, np.int64)
            given = [*_own(g, y, v, at, x), each, cv, cx, outside]
            if pieces.run(entry, given) and not outside[0]:
                found = (cv, None, cx)
                return [c if p is not None else None for c, p in zip(found, node.parents)], True
    return node.prim.vjp(node, g), False


SEGMENT.take_kernel(_taken)
SEGMENT.take_backward_kernel(_pull, of_operand=True)
