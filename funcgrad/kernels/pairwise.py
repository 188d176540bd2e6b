"""The sum of an array inside kernels of Numba, with the bits of NumPy's.

NumPy halves what it adds up, at multiples of eight, until 128 elements are left, and adds these in
eight lanes; what remains of fewer than eight comes last. So does this: the lanes are a vector, by
an intrinsic, since Numba keeps eight sums in eight registers. It imports Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["pairwise_sum"]

LANES = 8
BLOCK = 128  # elements that NumPy adds without halving them
DEPTH = 64  # of halves within halves, more than memory holds
PAIRS = (((0, 1), (2, 3)), ((4, 5), (6, 7)))  # the order in which lanes are added


def _declare(typing_context: Any, kind: Any, address: Any, rows: Any) -> Any:
    """The sum of one or more rows of eight elements at an address; `kind` is one such number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, address, rows = arguments
        scalar = context.get_value_type(kind)
        vector = ir.VectorType(scalar, LANES)
        rows_at = builder.inttoptr(address, vector.as_pointer())
        size = 8 if kind == types.float64 else 4
        made: Any = cgutils.alloca_once_value
        total = made(builder, builder.load(rows_at, align=size))
        one = ir.Constant(rows.type, 1)
        with cgutils.for_range_slice(builder, one, rows, one) as (row, _):
            more = builder.load(builder.gep(rows_at, [row]), align=size)
            builder.store(builder.fadd(builder.load(total), more), total)
        found = builder.load(total)

        def added(lanes: Any) -> Any:
            if isinstance(lanes, int):
                return builder.extract_element(found, ir.Constant(ir.IntType(32), lanes))
            return builder.fadd(added(lanes[0]), added(lanes[1]))

        return added(PAIRS)

    return kind(kind, types.int64, types.int64), generate


_lanes: Any = intrinsic(_declare)


@njit(nogil=True, cache=True, error_model="numpy")
def _block(x: Any, first: int, count: int) -> Any:
    """The sum of at most `BLOCK` elements."""
    real = x.dtype.type
    whole = count - count % LANES
    total = real(-0.0)  # which is no element's sum but its own
    if whole:
        total = _lanes(total, x.ctypes.data + first * x.itemsize, whole // LANES)
    for j in range(first + whole, first + count):
        total += x[j]
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def pairwise_sum(x: Any, first: int, count: int) -> Any:
    """The sum of `count` elements of a vector without gaps, from `first` on."""
    # Of each half that has been begun: the sum of its left side, once that is known, and how much
    # is on the right, 0 once that has been begun. (Numba's cache does not keep recursions.)
    left, right = np.empty(DEPTH, x.dtype), np.empty(DEPTH, np.int64)
    depth = 0
    while True:
        while count > BLOCK:
            half = count // 2
            half -= half % LANES
            right[depth] = count - half
            depth += 1
            count = half
        total = _block(x, first, count)
        first += count
        while depth and not right[depth - 1]:
            depth -= 1
            total = left[depth] + total
        if not depth:
            return total
        left[depth - 1], count = total, right[depth - 1]
        right[depth - 1] = 0
