"""Convolutions with much work: by native code that never writes out what a window meets.

It stands in front of the three contractions of `ops.convolution` that derivatives take; what a
functional program asks for itself is NumPy's. The code (see `convolution_nests`) is made by our
compiler when it is first asked for, and lies on disk afterwards: nothing else ever runs in its
place, so results have the same bits from the first call on, and with any number of threads. It
imports the compiler's runtime.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.errors import CompilerError
from funcgrad.kernels import load, memory, threads
from funcgrad.kernels.choice import FLOATS
from funcgrad.kernels.native import Code
from funcgrad.kernels.sources import Source, filled, meeting, phases, spread, suits, windows
from funcgrad.ops.convolution import (
    CONVOLUTION,
    CONVOLUTION_FILTER,
    CONVOLUTION_INPUT,
    CONVOLUTION_RESULT,
    Window,
)

__all__ = [
    "CORRELATE",
    "GATHER",
    "INTEGERS",
    "PLACES",
    "TERMS",
    "affine",
    "filters",
    "images",
    "results",
]

ndarray = np.ndarray[Any, Any]
GATHER, CORRELATE = "convolution_gather", "convolution_correlate"
PLACES = {GATHER: 64, CORRELATE: 512}  # of a panel in single precision, half as many in double
TERMS = {GATHER: 256, CORRELATE: 128}  # of a panel
HIGHEST = {GATHER: 6, CORRELATE: 4}  # filters of a tile
HEIGHTS = tuple(f"of_{height}" for height in range(max(HIGHEST.values()), 0, -1))
INTEGERS = (
    "panels", "pieces", "grain", "parts", "total", "line", "places", "terms", "blocks", "filters",
    "source_step", "target_step", "image_step", "weights_step", "row_step", "room", *HEIGHTS,
)  # fmt: skip
PER_ELEMENT = 16  # products that cost what an element of an elementwise operation does
LEAST = 1 << 16  # products: below, NumPy is as fast
GRAIN = 1 << 20  # products that a thread takes at a time, about
PIECES, SUMS = 16, 1 << 21  # most pieces that have sums of their own, and their numbers
SHARED = 1 << 21  # products: with fewer the second thread comes too late


def _first(contraction: Callable[..., Any]) -> Callable[..., Any]:
    """A contraction in front of the one of NumPy."""

    def kernel(impl: Callable[..., Any], a: Any, b: Any, window: Window, groups: int) -> Any:
        found = _native(contraction, a, b, window, groups)
        return impl(a, b, window=window, groups=groups) if found is None else found

    return kernel


def _native(
    contraction: Callable[..., Any], a: Any, b: Any, window: Window, groups: int, *bias: Any
) -> ndarray | None:
    """A contraction by native code; None where there is too little work, or none for it."""
    if _products(contraction, a, b, window, groups) < LEAST or not suits(window):
        return None
    found: ndarray | None = contraction(a, b, window, groups, *bias)
    return found


def affine(
    x: ndarray, w: ndarray, bias: ndarray | None, window: Window, groups: int, transposed: bool
) -> ndarray:
    """A convolution, or its transpose, of raw arrays, and a number for each channel added to it."""
    made = None
    if bias is None or bias.dtype == w.dtype:
        made = _native(images if transposed else results, x, w, window, groups, bias)
    if made is not None:
        return made
    prim = CONVOLUTION_INPUT if transposed else CONVOLUTION_RESULT
    found: ndarray = prim.impl(x, w, window=window, groups=groups)
    if bias is not None:
        found = found + bias.reshape(-1, *(1,) * len(window.kernel))
    return found


def _shared(impl: Callable[..., Any], x: Any, w: Any, window: Window, groups: int) -> Any:
    """The convolution of NumPy, of which threads take images."""
    size = _products(results, x, w, window, groups) // PER_ELEMENT
    if size < threads.PARALLEL or config.threads == 1 or len(x) < 2:
        return impl(x, w, window=window, groups=groups)
    out = memory.empty((len(x), len(w), *window.places), x.dtype)
    work = lambda a, b: impl(x[a:b], w, window=window, groups=groups, out=out[a:b])
    threads.run(work, len(x), size)
    return out


def _products(contraction: Any, a: Any, b: Any, window: Window, groups: int) -> int:
    """How many products the contraction takes; 0 for operands that the code does not take."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray or a.dtype != b.dtype:
        return 0
    if a.dtype not in FLOATS or not config.kernels:
        return 0
    pairs = a.shape[1] * b.shape[1] // groups if contraction is filters else math.prod(b.shape[:2])
    return math.prod((len(a), pairs, *window.kernel, *window.places))


# --------------------------------------------------------------------------- contractions


def results(
    x: ndarray, w: ndarray, window: Window, groups: int, bias: ndarray | None = None
) -> ndarray | None:
    """The convolution of images and filters, to which a bias is added."""
    source = windows(window, len(x), w.shape[1], groups)
    out = memory.empty((len(x), len(w), *window.places), w.dtype)
    done = _gather(filled(x, window), np.ascontiguousarray(w), bias, source, groups, out)
    return out if done else None


def images(
    y: ndarray, w: ndarray, window: Window, groups: int, bias: ndarray | None = None
) -> ndarray | None:
    """Its transpose: from results and filters to images."""
    count, channels = len(w) // groups, w.shape[1]
    every, around = phases(window)
    if any(map(any, around)) and not np.isfinite(np.add.reduce(w, None)):
        return None  # zeros around the results would meet what is not finite
    given = spread(y, around)
    shape = (len(y), groups * channels, *window.size)
    turned = w.reshape(groups, count, channels, -1).swapaxes(1, 2)
    out = memory.empty(shape, w.dtype)
    if not all(phase.taps for phase in every):
        out[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(window.kernel))
    for phase in every:
        if not phase.taps:
            continue
        part = turned if len(phase.taps) == turned.shape[-1] else turned[..., phase.taps]
        whole = phase.shape == window.size
        found = out if whole else memory.empty((*shape[:2], *phase.shape), w.dtype)
        source = meeting(phase, given.shape[2:], len(y), count, groups)
        if not _gather(given, np.ascontiguousarray(part), bias, source, groups, found):
            return None
        if not whole:
            out[(..., *itertools.starmap(slice, phase.chosen))] = found  # type: ignore[index]
    return out


def filters(x: ndarray, y: ndarray, window: Window, groups: int) -> ndarray | None:
    """From images and results to filters."""
    channels, count = x.shape[1] // groups, y.shape[1] // groups
    source = windows(window, len(x), channels, groups)
    terms = len(source.taps)
    columns = -(-terms // 4) * 4
    parts, panels, _ = _cut(CORRELATE, source, len(x), count, groups, x.itemsize)
    most = max(1, min(PIECES, SUMS // (y.shape[1] * columns)))
    grain = -(-panels // most)
    pieces = -(-panels // grain)
    rows = count // parts
    sums = memory.zeros((groups * parts, pieces, rows, columns), x.dtype)
    steps = {
        "pieces": pieces, "grain": grain, "weights_step": rows * columns, "row_step": columns,
        "image_step": y.shape[1] * source.places, "target_step": rows * source.places,
    }  # fmt: skip
    arrays = [filled(x, window), np.ascontiguousarray(y), sums]
    if not _run(CORRELATE, source, arrays, len(x), rows, parts, groups, steps):
        return None
    found: ndarray = np.ascontiguousarray(np.add.reduce(sums, 1)[..., :terms])
    return found.reshape(groups * count, channels, *window.kernel)


def _gather(
    x: ndarray, w: ndarray, bias: ndarray | None, source: Source, groups: int, out: ndarray
) -> bool:
    """Products of what is met in `x` with filters (groups · filters, terms), into `out`."""
    every, terms = out.shape[1], len(source.taps)
    parts, _, products = _cut(GATHER, source, len(out), every // groups, groups, x.itemsize)
    rows = every // groups // parts
    steps = {
        "grain": max(1, GRAIN // products), "weights_step": rows * terms,
        "image_step": every * source.places, "target_step": rows * source.places,
    }  # fmt: skip
    added = np.zeros(every, x.dtype) if bias is None else np.ascontiguousarray(bias)
    arrays = [x, w, added, out]
    return _run(GATHER, source, arrays, len(out), rows, parts, groups, steps)


def _cut(
    name: str, source: Source, images: int, count: int, groups: int, itemsize: int
) -> tuple[int, int, int]:
    """In how many parts the filters of a group are taken, how many panels there are, and how many
    products one has: parts where there are too few panels for threads.
    """
    width = PLACES[name] * 4 // itemsize
    panels = -(-images * source.places // width)
    parts = 1
    if panels * groups < 4:
        parts = next(k for k in (4, 3, 2, 1) if count % k == 0)
    return parts, panels, count // parts * len(source.taps) * width


# ------------------------------------------------------------------------------------ code


@functools.cache
def _code(name: str, dtype: str) -> Code | None:
    def text() -> str:
        from funcgrad.kernels.convolution_nests import text_of  # it is needed once for each

        return text_of(name, dtype)

    try:
        return Code.of(cache.written(text, load.fingerprint(), name, dtype, symbols={}))
    except CompilerError as error:
        warnings.warn(f"{name} cannot be built, NumPy runs instead: {error}", RuntimeWarning, 2)
        return None


def _heights(count: int, most: int) -> list[int]:
    """How many tiles of each height there are, as even as can be."""
    tiles = -(-count // most)
    low, higher = divmod(count, tiles)
    found = dict.fromkeys(range(max(HIGHEST.values()), 0, -1), 0)
    found[low] += tiles - higher
    if higher:
        found[low + 1] += higher
    return list(found.values())


def _run(
    name: str,
    source: Source,
    arrays: Sequence[ndarray],
    images: int,
    rows: int,
    parts: int,
    groups: int,
    steps: dict[str, int],
) -> bool:
    """Run the code; False if it cannot be built."""
    dtype = arrays[0].dtype
    code = _code(name, dtype.name)
    if code is None:
        return False
    size = dtype.itemsize
    width = PLACES[name] * 4 // size
    row, total, terms = width + 64 // size, images * source.places, len(source.taps)
    panels = -(-total // width)
    room = rows * (width if name == GATHER else row)
    given = {
        "panels": panels, "pieces": -(-panels // steps["grain"]), "parts": parts, "total": total,
        "line": source.line, "places": source.places, "terms": terms, "row_step": 0,
        "blocks": -(-terms // TERMS[name]), "filters": rows, "source_step": source.step,
        "room": room, **steps,
    }  # fmt: skip
    given |= zip(HEIGHTS, _heights(rows, _highest(name)), strict=True)
    chunks = groups * parts * given["pieces"]
    products = total * rows * parts * groups * terms
    most = min(config.threads, chunks) if products >= SHARED else 1
    scratch = _scratch((TERMS[name] * row * size, room * size), most)
    address = address_of()
    tables = [source.lines, source.taps, *arrays]
    table = array("q", [*map(address, tables), *(given[k] for k in INTEGERS), 0])
    table[-1] = -(-address(scratch) // 64) * 64
    at = table.buffer_info()[0]
    if most > 1:
        pool().run(code.address, at, chunks, most)
    else:
        code.call(at, 0, chunks, 0)
    return True


def _scratch(sizes: Sequence[int], count: int) -> ndarray:
    """Scratch memory of so many threads, with room to begin at a multiple of 64 bytes."""
    each = sum(-(-n // 64) * 64 for n in sizes)
    return memory.empty((each * count + 64,), np.dtype(np.uint8))


@functools.cache
def _highest(name: str) -> int:
    from funcgrad.compile.llvm.target import host

    return HIGHEST[name] - (name == CORRELATE and host().vector_bits != 512)


CONVOLUTION.take_kernel(_shared)
CONVOLUTION_RESULT.take_kernel(_first(results))
CONVOLUTION_INPUT.take_kernel(_first(images))
CONVOLUTION_FILTER.take_kernel(_first(filters))
