"""Sums of arrays inside kernels of Numba, with the bits of NumPy's.

NumPy halves what it adds up, at multiples of eight, until 128 elements are left, and adds these in
eight lanes; what remains of fewer than eight comes last. So does this: the lanes are a vector, by
an intrinsic, since Numba keeps eight sums in eight registers. It imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["DEPTH", "row_total"]

LANES = 8
BLOCK = 128  # elements that NumPy adds without halving them
DEPTH = 64  # of halves within halves, more than memory holds
PAIRS = (((0, 1), (2, 3)), ((4, 5), (6, 7)))  # the order in which lanes are added


def _declare(typing_context: Any, kind: Any, address: Any, rows: Any, middle: Any) -> Any:
    """The sum of one or more rows of eight elements at an address; `kind` is one such number.

    Of their squared distances from `middle`, if that is not None.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, address, rows, center = arguments
        scalar = context.get_value_type(kind)
        vector = ir.VectorType(scalar, LANES)
        rows_at = builder.inttoptr(address, vector.as_pointer())
        size = 8 if kind == types.float64 else 4
        centers = None if middle is types.none else _repeated(builder, center, vector)

        def term(at: Any) -> Any:
            found = builder.load(at, align=size)
            if centers is None:
                return found
            away = builder.fsub(found, centers)
            return builder.fmul(away, away)

        made: Any = cgutils.alloca_once_value
        total = made(builder, term(rows_at))
        one = ir.Constant(rows.type, 1)
        with cgutils.for_range_slice(builder, one, rows, one) as (row, _):
            more = term(builder.gep(rows_at, [row]))
            builder.store(builder.fadd(builder.load(total), more), total)
        found = builder.load(total)

        def added(lanes: Any) -> Any:
            if isinstance(lanes, int):
                return builder.extract_element(found, ir.Constant(ir.IntType(32), lanes))
            return builder.fadd(added(lanes[0]), added(lanes[1]))

        return added(PAIRS)

    center = types.none if middle is types.none else kind
    return kind(kind, types.int64, types.int64, center), generate


def _repeated(builder: Any, x: Any, vector: Any) -> Any:
    """A vector of which all elements are `x`."""
    found = ir.Constant(vector, ir.Undefined)
    for k in range(LANES):
        found = builder.insert_element(found, x, ir.Constant(ir.IntType(32), k))
    return found


_lanes: Any = intrinsic(_declare)


@njit(nogil=True, error_model="numpy")
def _block(x: Any, first: int, count: int, middle: Any) -> Any:
    """The sum of at most `BLOCK` elements."""
    real = x.dtype.type
    whole = count - count % LANES
    total = real(-0.0)  # which is no element's sum but its own
    if whole:
        total = _lanes(total, x.ctypes.data + first * x.itemsize, whole // LANES, middle)
    for j in range(first + whole, first + count):
        if middle is None:
            total += x[j]
        else:
            total += (x[j] - middle) * (x[j] - middle)
    return total


@njit(nogil=True, error_model="numpy")
def _walk(x: Any, first: int, count: int, middle: Any, left: Any, right: Any) -> Any:
    """The sum of `count` elements from `first` on, or of their squared distances from `middle`."""
    # Of each half that has been begun: the sum of its left side, once that is known, and how much
    # is on the right, 0 once that has been begun. (Numba's cache does not keep recursions.)
    depth = 0
    while True:
        while count > BLOCK:
            half = count // 2
            half -= half % LANES
            right[depth] = count - half
            depth += 1
            count = half
        total = _block(x, first, count, middle)
        first += count
        while depth and not right[depth - 1]:
            depth -= 1
            total = left[depth] + total
        if not depth:
            return total
        left[depth - 1], count = total, right[depth - 1]
        right[depth - 1] = 0


@njit(nogil=True, error_model="numpy")
def row_total(x: Any, middle: Any, left: Any, right: Any) -> Any:
    """``numpy.add.reduce`` of a vector without gaps, or of its squared distances from `middle`.

    `left` and `right` are memory for `DEPTH` numbers, which serves all rows of a kernel.
    """
    # NumPy starts from 0, which shows where all elements are -0
    return x.dtype.type(0) + _walk(x, 0, x.size, middle, left, right)
