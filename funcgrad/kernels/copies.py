"""Copies of large arrays, arrays of one number, and sums, by the threads of the library.

These are as fast as memory, of which two threads get up to twice as much as one; NumPy has one. The
code is made by our compiler when it is first asked for, and lies on disk afterwards. It imports the
compiler's runtime.
"""

from __future__ import annotations

import functools
import math
import warnings
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.errors import CompilerError, outside
from funcgrad.kernels import load
from funcgrad.kernels.choice import FLOATS
from funcgrad.kernels.native import Code

__all__ = [
    "backwards",
    "copy_of",
    "copy_to",
    "filled",
    "joined",
    "of_blocks",
    "product_of",
    "total_of",
    "zeros",
]

ndarray = np.ndarray
CHUNK = 1 << 15  # elements
SHARED = 1 << 16  # elements: with fewer the second thread comes too late
PARTED = 1 << 17  # elements of each part: of smaller ones a call for each takes longer than NumPy
FEWEST = 1 << 12  # elements from which on native code is faster in one thread, too
BLOCK = 1 << 12  # elements that are added up at once


def copy_of(x: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """A copy in C order that nobody else has."""
    out = memory.empty(x.shape, x.dtype)
    copy_to(out, x)
    return out


def copy_to(out: ndarray[Any, Any], x: ndarray[Any, Any]) -> None:
    """Write `x` into `out`, of the same shape and dtype; they share no memory."""
    if not (_is_shared(out) and x.flags.c_contiguous and x.flags.aligned and _written(out, x)):
        np.copyto(out, x)


def filled(shape: tuple[int, ...], number: Any) -> ndarray[Any, Any]:
    """An array of one number, a NumPy scalar, whose dtype it has."""
    out = memory.empty(shape, number.dtype)
    if not (_is_shared(out) and _written(out, np.array(number))):
        out.fill(number)
    return out


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> ndarray[Any, Any]:
    """An array of zeros: of memory used before, where several threads write it.

    The system gives new pages with zeros in them, which takes longer, and the C library writes what
    it has kept in one thread.
    """
    size = math.prod(shape)
    if size < SHARED or dtype not in FLOATS or size * dtype.itemsize > config.reused_memory:
        return np.zeros(shape, dtype)
    return filled(shape, dtype.type(0))


def joined(xs: Sequence[ndarray[Any, Any]], axis: int) -> ndarray[Any, Any] | None:
    """Large arrays without gaps one after another along `axis`; None where one thread does it."""
    first = xs[0]
    if type(first) is not ndarray or not 0 <= axis < first.ndim or first.dtype not in FLOATS:
        return None
    lead, tail = first.shape[:axis], first.shape[axis + 1 :]
    if math.prod(lead) != 1:
        return None
    for x in xs:
        if type(x) is not ndarray or x.size < PARTED or x.dtype != first.dtype:
            return None
        if x.shape[:axis] != lead or x.shape[axis + 1 :] != tail:
            return None
    out = memory.empty((*lead, sum(x.shape[axis] for x in xs), *tail), first.dtype)
    at = 0
    for x in xs:
        copy_to(out[(*(slice(None) for _ in lead), slice(at, at + x.shape[axis]))], x)
        at += x.shape[axis]
    return out


def backwards(x: ndarray[Any, Any]) -> ndarray[Any, Any] | None:
    """The elements of an array without gaps in reverse order; None where one thread does it."""
    if not _is_shared(x):
        return None
    code = _code(x.dtype.char, "backwards")
    if code is None:
        return None
    out = memory.empty(x.shape, x.dtype)
    _run(code, x, out, x.size, CHUNK)
    return out


def _is_shared(out: ndarray[Any, Any]) -> bool:
    """Whether several threads write `out`."""
    flags = out.flags
    large = out.size >= SHARED and out.dtype in FLOATS
    return bool(large and config.threads > 1 and config.kernels and flags.carray)


def _written(out: ndarray[Any, Any], x: ndarray[Any, Any]) -> bool:
    """Whether native code has written `x`, or its one element everywhere, into `out`."""
    code = _code(out.dtype.char, "repeat" if not x.ndim else "copy")
    if code is not None:
        _run(code, x, out, out.size, CHUNK)
    return code is not None


def total_of(x: ndarray[Any, Any]) -> np.float64 | None:
    """The sum of all elements of an array without gaps; None where NumPy adds.

    Blocks of 4096 elements are added up in the array's precision, and these sums in double.
    """
    parts = of_blocks(x, "add")
    return None if parts is None else np.add.reduce(parts, dtype=np.float64)


def product_of(x: ndarray[Any, Any]) -> np.float64 | None:
    """As `total_of`, the product of all elements."""
    parts = of_blocks(x, "mul")
    return None if parts is None else np.multiply.reduce(parts, dtype=np.float64)


def of_blocks(x: ndarray[Any, Any], what: str) -> ndarray[Any, Any] | None:
    """What the elements of each block give."""
    if x.size < FEWEST or x.dtype not in FLOATS or not (config.kernels and x.flags.aligned):
        return None
    code = _code(x.dtype.char, what)
    if code is None:
        return None
    parts = np.empty(-(-x.size // BLOCK), x.dtype)
    _run(code, x, parts, x.size, BLOCK)
    return parts


def _run(code: Code, x: ndarray[Any, Any], out: ndarray[Any, Any], size: int, grain: int) -> None:
    address = address_of()
    table = array("q", [address(x), address(out), size, grain])
    at, chunks = table.buffer_info()[0], -(-size // grain)
    if size >= SHARED and config.threads > 1:
        pool().run(code.address, at, chunks)
    else:
        code.call(at, 0, chunks, 0)


@functools.cache
def _code(char: str, what: str) -> Code | None:
    dtype = np.dtype(char).name
    about = load.fingerprint(), "copies", dtype, what
    try:
        return Code.of(cache.written(functools.partial(_text, dtype, what), *about, symbols={}))
    except CompilerError as error:
        reason = f"copies in several threads cannot be built, NumPy copies instead: {error}"
        warnings.warn(reason, RuntimeWarning, outside())
        return None


def _text(dtype: str, what: str) -> str:
    """The module: `y` is a "copy", also one that runs "backwards", one element that is to "repeat",
    or the sums of chunks, "add", or their products, "mul".
    """
    from funcgrad.compile.loops import Address, Buffer, Carry, Combine, For, Kernel, Load, Store
    from funcgrad.kernels.nests import integer, printed  # they are needed once for each

    where = (("start", 1), ("i", 1))
    each = For("i", "some", "vector")
    before: list[Any] = []
    after: list[Any] = []
    if what == "backwards":
        before = [integer("end", "sub", "size", "start")]
        each.body.append(Load("v", dtype, Address("x", (("end", 1), ("i", -1)), -1)))
    elif what == "repeat":
        before = [Load("v", dtype, Address("x", ()))]
    else:
        each.body.append(Load("v", dtype, Address("x", where)))
    if what in ("add", "mul"):
        each.body.append(Combine("total", "v"))
        each.carries.append(Carry("total", dtype, what))
        after = [Store(Address("y", (("chunk", 1),)), "total", dtype)]
    else:
        each.body.append(Store(Address("y", where), "v", dtype))
    chunk = For("chunk", "size", "chunks")
    chunk.body = [
        integer("start", "mul", "chunk", "grain"),
        integer("left", "sub", "size", "start"),
        integer("some", "min", "left", "grain"),
        *before,
        each,
        *after,
    ]
    buffers = [Buffer("x", dtype, "input"), Buffer("y", dtype, "output")]
    return printed(Kernel("call", buffers, ["size", "grain"], [], [chunk]))
