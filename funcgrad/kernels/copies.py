"""Copies of large arrays, and arrays of one number, written by the threads of the library.

A copy is as fast as memory, of which two threads get up to twice as much as one; NumPy has one. The
code is made by our compiler when it is first asked for, and lies on disk afterwards. It imports the
compiler's runtime.
"""

from __future__ import annotations

import functools
import warnings
from array import array
from typing import Any

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.errors import CompilerError, outside
from funcgrad.kernels import load, memory
from funcgrad.kernels.choice import FLOATS
from funcgrad.kernels.native import Code
from funcgrad.kernels.threads import PARALLEL

__all__ = ["copy_to", "copy_of", "filled"]

ndarray = np.ndarray
CHUNK = 1 << 15  # elements


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
    if not (_is_shared(out) and _written(out, np.asarray(number))):
        out.fill(number)
    return out


def _is_shared(out: ndarray[Any, Any]) -> bool:
    """Whether several threads write `out`."""
    flags = out.flags
    large = out.size >= PARALLEL and out.dtype in FLOATS
    return bool(large and config.threads > 1 and config.kernels and flags.carray)


def _written(out: ndarray[Any, Any], x: ndarray[Any, Any]) -> bool:
    """Whether native code has written `x`, or its one element everywhere, into `out`."""
    code = _code(out.dtype.name, not x.ndim)
    if code is None:
        return False
    address = address_of()
    table = array("q", [address(x), address(out), out.size, CHUNK])
    pool().run(code.address, table.buffer_info()[0], -(-out.size // CHUNK))
    return True


@functools.cache
def _code(dtype: str, repeats: bool) -> Code | None:
    about = load.fingerprint(), "copy", dtype, repeats
    try:
        return Code.of(cache.written(functools.partial(_text, dtype, repeats), *about, symbols={}))
    except CompilerError as error:
        reason = f"copies in several threads cannot be built, NumPy copies instead: {error}"
        warnings.warn(reason, RuntimeWarning, outside())
        return None


def _text(dtype: str, repeats: bool) -> str:
    """The module: elements of `x`, or one that is repeated, become those of `y`."""
    from funcgrad.compile.loops import Address, Buffer, For, Kernel, Load, Store
    from funcgrad.kernels.nests import integer, printed  # they are needed once for each

    where = (("start", 1), ("i", 1))
    each = For("i", "some", "vector", [Store(Address("y", where), "v", dtype)])
    before = []
    if repeats:
        before = [Load("v", dtype, Address("x", ()))]
    else:
        each.body.insert(0, Load("v", dtype, Address("x", where)))
    chunk = For("chunk", "size", "chunks")
    chunk.body = [
        integer("start", "mul", "chunk", "grain"),
        integer("left", "sub", "size", "start"),
        integer("some", "min", "left", "grain"),
        *before,
        each,
    ]
    buffers = [Buffer("x", dtype, "input"), Buffer("y", dtype, "output")]
    return printed(Kernel("call", buffers, ["size", "grain"], [], [chunk]))
