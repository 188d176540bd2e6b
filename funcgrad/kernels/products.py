"""Products of matrices with much work, by native code of our own, in the threads of the library.

NumPy's BLAS has threads of its own, which wait by spinning: small products stall wherever other
work goes on, and stacks of matrices have one thread. The code (see `product_nests`) is made by our
compiler when it is first asked for, and lies on disk afterwards: nothing else ever runs in its
place. Which products it takes follows from their sizes alone, and each element adds up its terms
in one order, so results have the same bits from the first call on, with any number of threads. It
imports the compiler's runtime.
"""

from __future__ import annotations

import functools
import math
import warnings
from array import array
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.errors import CompilerError
from funcgrad.kernels import load
from funcgrad.kernels.choice import FLOATS
from funcgrad.kernels.native import Code
from funcgrad.kernels.noting import Call, notes

__all__ = [
    "DEPTH", "INTEGERS", "ROWS", "SHARED", "lanes_of", "may_multiply", "multiply", "vectors_for",
]  # fmt: skip

ndarray = np.ndarray
Raw = ndarray[Any, Any]
DEPTH = 256  # terms that are in scratch memory at a time
ROWS = 128  # rows of a left factor whose terms are not next to each other, in scratch memory
INTEGERS = (
    "chunks", "heads", "panels", "blocks", "grain", "rows", "columns", "terms", "depths",
    "a_far", "b_far", "y_far", "a_stack", "b_stack", "y_stack", "a_row", "a_term", "b_term",
    "b_column", "y_row", "beside", "apart", "added",
)  # fmt: skip
LEAST = 1 << 19  # multiplications: below, to call this costs what it gains
EACH = 1 << 13  # of each product of a stack
MOST = 1 << 30  # of each: beyond, BLAS is faster
SHARED = 1 << 19  # multiplications: with fewer the second thread comes too late
FEW = 4  # rows or terms: memory is what counts
NARROW = 8  # columns
COPIED = 64  # rows for which it pays to turn a right factor round
THIN, BROAD = 48, 128  # rows of a block: a panel is copied for each, turned round or not
CHUNKS = 8  # so many make work for several threads even
PLANS = 1 << 12  # kinds of calls that are remembered


class Plan(NamedTuple):
    """How a product of arrays of some shapes and strides is computed."""

    code: Code
    shape: tuple[int, ...]
    integers: array[int]
    chunks: int
    shared: bool
    scratch: int  # bytes of a thread


_plans: dict[Any, Plan | None] = {}


def multiply(
    a: Raw,
    b: Raw,
    bias: Raw | None = None,
    out: Raw | None = None,
    sums: Raw | None = None,
    least: int | None = None,
) -> Raw | None:
    """``a @ b + bias``, of matrices or stacks of them; None where NumPy does it as well.

    Parameters
    ----------
    a : ndarray
        (…, rows, terms)
    b : ndarray
        (…, terms, columns)
    bias : ndarray, optional
        (columns), without gaps
    out : ndarray, optional
        (…, rows, columns), of which the columns lie next to each other.
    sums : ndarray, optional
        (rows), for the sums of the rows of `a`, of which then the first axis is contiguous.
    least : int, optional
        Multiplications that make it pay to be called, if other than usual.
    """
    key = (
        a.dtype, a.shape, a.strides, b.dtype, b.shape, b.strides, out is None or out.strides,
        sums is None, least,
    )  # fmt: skip
    try:
        plan = _plans[key]
    except KeyError:
        if len(_plans) >= PLANS:
            _plans.clear()
        plan = _plans[key] = _plan(a, b, out, sums is not None, least)
    if plan is None or not config.kernels:
        return None
    y = memory.empty(plan.shape, a.dtype) if out is None else out
    most = min(config.threads, plan.chunks) if plan.shared else 1
    scratch = _taken(plan.scratch * most)
    address = address_of()
    here = address(y)
    added = _zeros(plan.shape[-1], a.dtype)[1] if bias is None else address(bias)
    totals = here if sums is None else address(sums)
    table = array("q", (address(a), address(b), added, here, totals))
    table += plan.integers
    table.append(scratch[1])
    if notes.calls is not None:
        notes.calls.append(_noted(plan, a, b, bias, y, sums))
    at = table.buffer_info()[0]
    if most > 1:
        pool().run(plan.code.address, at, plan.chunks, most)
    else:
        plan.code.call(at, 0, plan.chunks, 0)
    _scratch.append(scratch)
    return y


def _noted(plan: Plan, a: Raw, b: Raw, bias: Raw | None, y: Raw, sums: Raw | None) -> Call:
    none = _zeros(plan.shape[-1], a.dtype)[0]
    added = none if bias is None else bias
    arrays, written = [a, b, added, y, y if sums is None else sums], 2
    shared = plan.shared and plan.chunks > 1
    return Call(
        plan.code, arrays, written, plan.integers, plan.chunks, shared, (none,), plan.scratch
    )


_scratch: deque[tuple[Raw, int]] = deque(maxlen=16)  # who takes memory out has it alone


def _taken(size: int) -> tuple[Raw, int]:
    """So many bytes, what a call before has left or more, and where a line of the cache begins."""
    try:
        found = _scratch.pop()
    except IndexError:
        return _made_scratch(size)
    return found if found[0].size >= size + 64 else _made_scratch(size)


def _made_scratch(size: int) -> tuple[Raw, int]:
    found = np.empty(size + 64, np.uint8)
    return found, -(-address_of()(found) // 64) * 64


@functools.lru_cache(64)
def _zeros(columns: int, dtype: np.dtype[Any]) -> tuple[Raw, int]:
    """Zeros for a bias, and where they lie."""
    found = np.zeros(columns, dtype)
    return found, address_of()(found)


# -------------------------------------------------------------------------------------- plans


def _plan(a: Raw, b: Raw, out: Raw | None, sums: bool, least: int | None) -> Plan | None:
    """None where the code does not take the product."""
    if not (2 <= a.ndim == b.ndim <= 4) or a.dtype != b.dtype or a.dtype not in FLOATS:
        return None
    (*lead, rows, terms), columns = a.shape, b.shape[-1]
    if tuple(lead) != b.shape[:-2] or b.shape[-2] != terms or not _pays(a, b, columns, least):
        return None
    arrays = [a, b] if out is None else [a, b, out]
    if not all(x.flags.aligned and x.dtype.isnative for x in arrays):
        return None
    y = np.empty((*lead, rows, columns), a.dtype) if out is None else out
    if y.shape != (*lead, rows, columns) or y.strides[-1] != y.itemsize:
        return None
    turned = a.strides[-1] != a.itemsize
    if (sums or turned) and a.strides[-2] != a.itemsize:
        return None
    return _made(a, b, y, turned or sums, sums)


def may_multiply(x: Raw, y: Raw, least: int | None = None) -> bool:
    """Whether a product or its cotangents, which take as many multiplications, may be made here."""
    return x.size * (y.shape[-1] if y.ndim > 1 else 1) >= (LEAST if least is None else least)


def _pays(a: Raw, b: Raw, columns: int, least: int | None) -> bool:
    rows, terms = a.shape[-2:]
    each = rows * terms * columns
    if not EACH <= each <= MOST or math.prod(a.shape[:-2]) * each < (
        LEAST if least is None else least
    ):
        return False
    if min(rows, terms) < FEW or columns < NARROW:
        return False
    return b.strides[-1] == b.itemsize or rows >= COPIED


def _made(a: Raw, b: Raw, y: Raw, turned: bool, sums: bool) -> Plan | None:
    (*lead, rows, terms), columns, size = a.shape, b.shape[-1], a.itemsize
    lanes = lanes_of(a.dtype)
    vectors = vectors_for(columns, a.dtype)
    code = _code(vectors, turned, a.dtype.name)
    if code is None:
        return None
    width = vectors * lanes
    beside = b.strides[-1] == size
    panels, stack = -(-columns // width), math.prod(lead)
    wanted = -(-CHUNKS // (panels * stack))
    grain = -(-rows // max(1, min(wanted, rows // (THIN if beside else BROAD))))
    if turned:
        grain = min(grain, ROWS)
    blocks = -(-rows // grain)
    chunks = stack * panels * blocks
    steps = [[s // size for s in x.strides] for x in (a, b, y)]
    far, near = ([s[k] if len(s) >= -k else 0 for s in steps] for k in (-4, -3))
    (a_row, a_term), (b_term, b_column), (y_row, _) = (s[-2:] for s in steps)
    integers = [
        chunks, lead[-1] if lead else 1, panels, blocks, grain, rows, columns, terms,
        -(-terms // DEPTH) - 1, *far, *near, a_row, a_term, b_term, b_column, y_row,
        DEPTH if beside else 0, 0 if beside else width, ROWS if sums else 0,
    ]  # fmt: skip
    scratch = DEPTH * (width + (ROWS if turned else 0)) * size
    shared = stack * rows * terms * columns >= SHARED
    return Plan(code, y.shape, array("q", integers), chunks, shared, scratch)


# --------------------------------------------------------------------------------------- code


def lanes_of(dtype: np.dtype[Any]) -> int:
    """How many numbers a vector has."""
    return _bits() // (8 * dtype.itemsize)


def vectors_for(columns: int, dtype: np.dtype[Any]) -> int:
    """How many vectors a panel is wide: narrow ones read more, wide ones may have idle lanes."""
    lanes = lanes_of(dtype)
    return min((4, 2, 1), key=lambda n: -(-columns // (n * lanes)) * n * (1 + 0.1 / n))


@functools.cache
def _bits() -> int:
    from funcgrad.compile.llvm.target import host

    return host().vector_bits


@functools.cache
def _code(vectors: int, turned: bool, dtype: str) -> Code | None:
    def text() -> str:
        from funcgrad.kernels.product_nests import text_of  # it is needed once for each

        return text_of(vectors, turned, dtype)

    about = load.fingerprint(), "product", vectors, turned, dtype
    try:
        return Code.of(cache.written(text, *about, symbols={}))
    except CompilerError as error:
        reason = f"products of matrices cannot be built, NumPy runs instead: {error}"
        warnings.warn(reason, RuntimeWarning, 2)
        return None
