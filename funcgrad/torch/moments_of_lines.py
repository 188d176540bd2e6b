"""Means and variances of the elements of tensors, in native code.

Elements are converted to double precision when they are read, so squares of single precision
neither overflow nor vanish. The elements of a group are read in pieces, twice each: for their mean
and for the squares about it; what the pieces give is put together by the formula of Chan, Golub and
LeVeque (1983), which loses nothing to cancellation. Few elements are NumPy's, in double as well.
"""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.kernels.layout import Layout, layout_of
from funcgrad.kernels.native import Code
from funcgrad.torch.flat import FLOATS
from funcgrad.torch.flat import NAMES as DTYPES
from funcgrad.torch.sources import sources_of_facade

__all__ = ["BLOCK", "TILE", "variance"]

ndarray = np.ndarray
BLOCK = 1 << 12  # elements of a piece
TILE = 64  # neighbouring groups of a piece
FEWEST = 1 << 13  # elements: with fewer NumPy's calls are as fast
SHARED = 1 << 16  # elements: with fewer the second thread comes too late
DOUBLE = np.dtype(np.float64)


def variance(x: Any, axes: tuple[int, ...], ddof: float, keepdims: bool) -> Any:
    """The variance in double precision, of real or complex elements."""
    count = math.prod(x.shape[k] for k in axes)
    if x.size < FEWEST or x.dtype not in FLOATS or not config.kernels:
        squares = _few(x, axes, keepdims, count)
    else:
        squares = _squares(x, axes, count)
        if keepdims:
            kept = [1 if k in axes else n for k, n in enumerate(x.shape)]
            squares = squares.reshape(kept)
    return np.true_divide(squares, max(count - ddof, 0.0))


def _few(x: Any, axes: tuple[int, ...], keepdims: bool, count: int) -> Any:
    total: Any = np.add.reduce
    wide = x.astype(np.result_type(x.dtype, DOUBLE), copy=False)
    away = wide - total(wide, axes, keepdims=True) / np.float64(count)
    if away.dtype.kind == "c":
        return total(away.real * away.real + away.imag * away.imag, axes, keepdims=keepdims)
    return total(away * away, axes, keepdims=keepdims)


def _squares(x: Any, axes: tuple[int, ...], count: int) -> Any:
    """The sums of squares about the means of groups."""
    layout = layout_of(x, x.shape, axes)
    outer, parts, across, *last = layout.whole
    at: tuple[int, ...]
    if last:  # pieces of lines
        length = last[0]
        blocks = _blocks(length)
        width = -(-length // blocks)
        lines = outer * parts * across
        found = _run("along", layout, x, lines * blocks, [lines, length, blocks, width])
        means, squares = found.reshape(2, outer, parts, across, blocks)
        at, extents = (1, 3), _extents(length, blocks, width)
    else:  # pieces of columns
        blocks = _blocks(parts)
        width = -(-parts // blocks)
        chunks = outer * blocks * -(-across // TILE)
        found = _run("beside", layout, x, chunks, [outer, parts, across, blocks, width])
        means, squares = found.reshape(2, outer, blocks, across)
        at, extents = (1,), _extents(parts, blocks, width)[:, None]
    total = squares.sum(at)
    if math.prod(means.shape[k] for k in at) > 1:
        middle = (means * extents).sum(at, keepdims=True) / count
        away = means - middle
        total = total + (away * away * extents).sum(at)
    kept = tuple(n for k, n in enumerate(x.shape) if k not in axes)
    if layout.turned:
        return total.reshape(kept[::-1]).T
    return total.reshape(kept)[()]


def _blocks(extent: int) -> int:
    return max(1, -(-extent // BLOCK))


def _extents(extent: int, blocks: int, width: int) -> ndarray[Any, Any]:
    """How many elements each block has."""
    return np.minimum(width, extent - width * np.arange(blocks)).astype(DOUBLE)


def _run(loop: str, layout: Layout, x: Any, chunks: int, integers: Sequence[int]) -> Any:
    """The means of pieces, and their squares about these."""
    code = _code(loop, x.dtype.char)
    given = layout.view(x, True)
    if loop == "along":
        size = chunks
        grain = max(1, BLOCK // max(integers[3], 1))
        chunks = -(-chunks // grain)
    else:
        size, grain = integers[0] * integers[3] * integers[2], 1
    out = np.empty((2, size), DOUBLE)
    address = address_of()
    table = array("q", [address(given), address(out[0]), address(out[1]), grain, size, *integers])
    at = table.buffer_info()[0]
    if x.size >= SHARED and config.threads > 1 and chunks > 1:
        pool().run(code.address, at, chunks)
    else:
        code.call(at, 0, chunks, 0)
    return out


@functools.cache
def _code(loop: str, char: str) -> Code:
    text = functools.partial(_text, loop, DTYPES[char])
    return Code.of(cache.written(text, sources_of_facade(), "moments", loop, char, symbols={}))


def _text(loop: str, dtype: str) -> str:
    from funcgrad.torch.moments_code import text_of  # it is needed once for each

    return text_of(loop, dtype)
