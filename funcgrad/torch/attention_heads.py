"""Calls of the native code of attention (see `attention_code`): one nest, whose threads take heads.

It imports kernels and the runtime of the compiler.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.kernels.native import Code
from funcgrad.kernels.products import SHARED, lanes_of, vectors_for

__all__ = ["in_rows", "suits", "write_cotangents", "write_means"]

ndarray = np.ndarray
Raw = ndarray[Any, Any]
HEADS = 4  # with fewer, threads have better work within a head
LARGEST = 1 << 17  # weights of a head, which on the way back lie in scratch memory
LONGEST = 4096  # keys, whose weights are added up one after the other
QUERIES = 4  # vectors of a panel of queries
NAMES = {"f": "float32", "d": "float64"}


def suits(shape: tuple[int, int, int, int]) -> bool:
    """Whether a nest takes weights of this shape; that depends on nothing else."""
    examples, heads, queries, keys = shape
    return examples * heads >= HEADS and queries * keys <= LARGEST and keys <= LONGEST


def in_rows(x: Raw) -> Raw:
    """An operand whose last axis has no gaps."""
    fits = x.strides[-1] == x.itemsize and x.flags.aligned
    return x if fits else np.require(x, None, ["C", "A"])


def write_means(
    q: Raw, k: Raw, v: Raw, bias: Raw | None, scale: float, weights: Raw, out: Raw
) -> None:
    """Write the weights of heads, (examples, heads, keys, queries), and the means of values."""
    name = "forward" if bias is None else "masked"
    arrays = [q, k, v, q if bias is None else _turned(bias), weights, out]
    _run(name, arrays, q.shape, k.shape[2], scale, weights, [])


def _turned(bias: Raw) -> Raw:
    """A bias, (examples, heads, queries, keys), with a row for each key; repeated where it was."""
    once = bias[tuple(slice(1) if s == 0 else slice(None) for s in bias.strides)]
    row = np.broadcast_to(once, (*once.shape[:2], *bias.shape[2:])).swapaxes(2, 3)
    return np.broadcast_to(np.ascontiguousarray(row), (*bias.shape[:2], *row.shape[2:]))


def write_cotangents(
    g: Raw, q: Raw, k: Raw, v: Raw, scale: float, weights: Raw, found: Sequence[Raw | None]
) -> None:
    """Write the cotangents of queries, keys and values, where there is room for them."""
    wants = [found[2] is not None, any(x is not None for x in found[:2]),
             *(x is not None for x in found[:2])]  # fmt: skip
    places = [q if x is None else x for x in found]  # nothing is written there
    arrays = [g, q, k, v, weights, *places]
    _run("backward", arrays, q.shape, k.shape[2], scale, weights, [*map(int, wants)])


def _run(
    name: str, arrays: Sequence[Raw], shape: Sequence[int], keys: int, scale: float, weights: Raw,
    wants: Sequence[int],
) -> None:  # fmt: skip
    examples, heads, queries, size = shape
    dtype, chunks = weights.dtype, examples * heads
    vectors, width = vectors_for(size, dtype), QUERIES * lanes_of(dtype)
    parts, whole = -(-queries // width), queries * keys
    room = parts * width * size
    shared = chunks * whole * size >= SHARED and config.threads > 1
    most = min(config.threads, chunks) if shared else 1
    item = dtype.itemsize
    lines = sum(-(-n * item // 64) * 64 for n in (room, *(whole,) * bool(wants)))
    scratch = memory.empty((most * lines + 64,), np.dtype(np.uint8))
    address = address_of()
    steps = [s // item for x in arrays if x is not weights for s in x.strides[:3]]
    integers = [chunks, heads, queries, keys, size, parts,
                -(-size // (vectors * lanes_of(dtype))), whole, room, *steps, *wants]  # fmt: skip
    table = array("q", [*map(address, arrays), *integers])
    table.frombytes(array("d", [scale]).tobytes())
    table.append(-(-address(scratch) // 64) * 64)
    code, at = _code(name, vectors, NAMES[dtype.char]), table.buffer_info()[0]
    if most > 1:
        pool().run(code.address, at, chunks, most)
    else:
        code.call(at, 0, chunks, 0)


@functools.cache
def _code(name: str, vectors: int, dtype: str) -> Code:
    from funcgrad.torch.attention_code import code_of  # it is needed once for each

    return code_of(name, vectors, dtype)
