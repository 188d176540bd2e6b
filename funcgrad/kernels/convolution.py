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
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.errors import CompilerError
from funcgrad.kernels import load, threads
from funcgrad.kernels.choice import FLOATS
from funcgrad.kernels.native import Code
from funcgrad.kernels.sources import (
    Filling,
    Source,
    filling,
    meeting,
    phases,
    spreading,
    suits,
    windows,
)
from funcgrad.ops.convolution import (
    CONVOLUTION,
    CONVOLUTION_FILTER,
    CONVOLUTION_INPUT,
    CONVOLUTION_RESULT,
    Window,
)

__all__ = [
    "CORRELATE",
    "DIRECT",
    "FILL",
    "FILL_INTEGERS",
    "GATHER",
    "PAIR",
    "INTEGERS",
    "PLACES",
    "TERMS",
    "affine",
    "call",
    "code_of",
    "filters",
    "images",
    "results",
    "surrounded",
]

ndarray = np.ndarray[Any, Any]
GATHER, CORRELATE = "convolution_gather", "convolution_correlate"
DIRECT, PAIR = "convolution_direct", "convolution_pair"  # both without panels
PLACES = {GATHER: 64, CORRELATE: 512}  # of a panel in single precision, half as many in double
TERMS = {GATHER: 256, CORRELATE: 128}  # of a panel
NEAR = 24 << 10  # bytes of lines that are read again and again
FEW, SHORT = 2, 8  # filters that take no panel, and places of a line that always does
HIGHEST = {GATHER: 6, CORRELATE: 4}  # filters of a tile
HEIGHTS = tuple(f"of_{height}" for height in range(max(HIGHEST.values()), 0, -1))
INTEGERS = (
    "panels", "pieces", "grain", "parts", "total", "line", "places", "terms", "blocks", "filters",
    "source_step", "target_step", "image_step", "weights_step", "row_step", "room", *HEIGHTS,
)  # fmt: skip
FILL = "convolution_fill"
FILL_INTEGERS = ("planes", "grain", "source_step", "target_step", "lines", "width", "step")
FILL_GRAIN, FILL_SHARED = 1 << 15, 1 << 17  # numbers: of a chunk, and from where on threads help
BYTES = np.dtype(np.uint8)
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
    given = surrounded(x, filling(window))
    out = memory.empty((len(x), len(w), *window.places), w.dtype)
    done = given is not None and _gather(given, np.ascontiguousarray(w), bias, source, groups, out)
    return out if done else None


def images(
    y: ndarray, w: ndarray, window: Window, groups: int, bias: ndarray | None = None
) -> ndarray | None:
    """Its transpose: from results and filters to images."""
    count, channels = len(w) // groups, w.shape[1]
    every, around = phases(window)
    if any(map(any, around)) and not np.isfinite(np.add.reduce(w, None)):
        return None  # zeros around the results would meet what is not finite
    given = surrounded(y, spreading(window.places, around))
    if given is None:
        return None
    extents = tuple(n + low + high for n, (low, high) in zip(window.places, around, strict=True))
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
        source = meeting(phase, extents, len(y), count, groups)
        if not _gather(given, np.ascontiguousarray(part), bias, source, groups, found):
            return None
        if not whole:
            out[(..., *itertools.starmap(slice, phase.chosen))] = found  # type: ignore[index]
    return out


def filters(x: ndarray, y: ndarray, window: Window, groups: int) -> ndarray | None:
    """From images and results to filters."""
    channels, count = x.shape[1] // groups, y.shape[1] // groups
    source = windows(window, len(x), channels, groups)
    plan = _correlation(source, len(x), count, groups, x.dtype)
    given = surrounded(x, filling(window))
    if plan is None or given is None:
        return None
    sums = memory.zeros((groups * plan.parts, plan.pieces, plan.rows, plan.columns), x.dtype)
    _run(plan, [given, np.ascontiguousarray(y), sums])
    terms = len(source.taps)
    found: ndarray = np.ascontiguousarray(np.add.reduce(sums, 1)[..., :terms])
    return found.reshape(groups * count, channels, *window.kernel)


def _gather(
    x: ndarray, w: ndarray, bias: ndarray | None, source: Source, groups: int, out: ndarray
) -> bool:
    """Products of what is met in `x` with filters (groups · filters, terms), into `out`."""
    every = out.shape[1]
    plan = _gathering(source, len(out), every // groups, groups, x.dtype, GRAIN)
    if plan is None:
        return False
    added = np.zeros(every, x.dtype) if bias is None else np.ascontiguousarray(bias)
    _run(plan, [x, w, added, out])
    return True


def surrounded(x: ndarray, how: Filling | None, name: str = FILL) -> ndarray | None:
    """Images, or results, (n, c, …) with zeros around them, as (n, c, phases, plane).

    None where `name`, which says what is put around them instead, cannot be built.
    """
    x = np.ascontiguousarray(x)
    if how is None:
        return x
    code = code_of(name if how.step == 1 else f"{name}_every", x.dtype.name)
    if code is None:
        return None
    lead = x.shape[:2]
    out = memory.empty((*lead, *how.shape), x.dtype)
    planes, lines, width = math.prod(lead), len(how.starts), how.shape[-1]
    grain = max(1, FILL_GRAIN // (lines * width))
    address = address_of()
    arrays = [how.starts, how.fronts, how.lengths, x, out]
    given = (planes, grain, math.prod(x.shape[2:]), lines * width, lines, width, how.step)
    most = config.threads if out.size >= FILL_SHARED else 1
    call(code, array("q", [*map(address, arrays), *given]), -(-planes // grain), most)
    return out


# ----------------------------------------------------------------------------------- plans


class Plan(NamedTuple):
    """How the code is called for operands of certain shapes."""

    code: Code
    tables: tuple[ndarray, ...]
    numbers: tuple[int, ...]
    chunks: int
    products: int
    scratch: int  # bytes, of a thread
    parts: int
    pieces: int
    rows: int
    columns: int


@functools.lru_cache(512)
def _gathering(
    source: Source, images: int, count: int, groups: int, dtype: np.dtype[Any], grain: int
) -> Plan | None:
    """The plan of `gather`, or `direct`, whose chunks have about `grain` products."""
    if count <= FEW and source.line >= SHORT:
        each = max(1, grain // (count * len(source.taps) * source.line))
        return _line_by_line(DIRECT, source, images, count, groups, dtype, each)
    parts, _, products = _cut(GATHER, source, images, count, groups, dtype.itemsize)
    rows, terms = count // parts, len(source.taps)
    steps = {
        "grain": max(1, grain // products), "weights_step": rows * terms,
        "image_step": count * groups * source.places, "target_step": rows * source.places,
    }  # fmt: skip
    return _plan(GATHER, source, images, rows, parts, groups, dtype, steps)


def _line_by_line(
    name: str, source: Source, images: int, count: int, groups: int, dtype: np.dtype[Any], each: int
) -> Plan | None:
    """The plan of `direct` or `pair`, whose chunks have `each` lines."""
    code = code_of(name, dtype.name)
    if code is None:
        return None
    terms, lines = len(source.taps), len(source.lines)
    columns = -(-terms // 4) * 4
    rows = count * groups * source.places * np.arange(images)[:, None]
    rows = rows + source.line * np.arange(source.places // source.line)
    tables = (source.lines, np.pad(source.taps, (0, columns - terms), "edge"), rows.reshape(-1))
    given = dict.fromkeys(INTEGERS, 0) | {
        "panels": lines, "pieces": -(-lines // each), "grain": each, "line": source.line,
        "places": source.places, "terms": terms, "filters": count, "source_step": source.step,
        "weights_step": count * (terms if name == DIRECT else columns), "row_step": columns,
        "blocks": columns // 4, "target_step": count * source.places,
    }  # fmt: skip
    numbers, pieces = tuple(given.values()), given["pieces"]
    products = groups * count * terms * lines * source.line
    return Plan(code, tables, numbers, groups * pieces, products, 0, 1, pieces, count, columns)


@functools.lru_cache(512)
def _correlation(
    source: Source, images: int, count: int, groups: int, dtype: np.dtype[Any]
) -> Plan | None:
    """The plan of `correlate`, or `pair`, with sums for some pieces."""
    columns = -(-len(source.taps) // 4) * 4
    if count <= FEW and source.line >= SHORT:
        most = max(1, SUMS // (count * groups * columns))
        lines = max(1, NEAR // (2 * source.line * dtype.itemsize))
        each = max(lines, -(-len(source.lines) // most))
        return _line_by_line(PAIR, source, images, count, groups, dtype, each)
    parts, panels, _ = _cut(CORRELATE, source, images, count, groups, dtype.itemsize)
    most = max(1, min(PIECES, SUMS // (count * groups * columns)))
    grain = -(-panels // most)
    rows = count // parts
    steps = {
        "grain": grain, "weights_step": rows * columns, "row_step": columns,
        "image_step": count * groups * source.places, "target_step": rows * source.places,
    }  # fmt: skip
    return _plan(CORRELATE, source, images, rows, parts, groups, dtype, steps)


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


def _plan(
    name: str,
    source: Source,
    images: int,
    rows: int,
    parts: int,
    groups: int,
    dtype: np.dtype[Any],
    steps: dict[str, int],
) -> Plan | None:
    code = code_of(name, dtype.name)
    if code is None:
        return None
    size = dtype.itemsize
    width = PLACES[name] * 4 // size
    row, total, terms = width + 64 // size, images * source.places, len(source.taps)
    panels = -(-total // width)
    pieces = -(-panels // steps["grain"])
    room = rows * (width if name == GATHER else row)
    given = {
        "panels": panels, "pieces": pieces, "parts": parts, "total": total,
        "line": source.line, "places": source.places, "terms": terms, "row_step": 0,
        "blocks": -(-terms // TERMS[name]), "filters": rows, "source_step": source.step,
        "room": room, **steps,
    }  # fmt: skip
    given |= zip(HEIGHTS, _heights(rows, _highest(name)), strict=True)
    numbers = tuple(given[k] for k in INTEGERS)
    chunks, products = groups * parts * pieces, total * rows * parts * groups * terms
    scratch = sum(-(-n * size // 64) * 64 for n in (TERMS[name] * row, room))
    columns = given["row_step"]
    tables = (source.lines, source.taps)
    return Plan(code, tables, numbers, chunks, products, scratch, parts, pieces, rows, columns)


# ------------------------------------------------------------------------------------ code


@functools.cache
def code_of(name: str, dtype: str) -> Code | None:
    """The code of a loop nest over windows; None, and a warning, if it cannot be built."""

    def text() -> str:
        from funcgrad.kernels.window_nests import text_of  # it is needed once for each

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


def _run(plan: Plan, arrays: Sequence[ndarray]) -> None:
    """Run the code, each thread with scratch memory that begins at a multiple of 64 bytes."""
    most = min(config.threads, plan.chunks) if plan.products >= SHARED else 1
    scratch = memory.empty((plan.scratch * most + 64,), BYTES)
    address = address_of()
    every = (*plan.tables, *arrays)
    table = array("q", [*map(address, every), *plan.numbers, -(-address(scratch) // 64) * 64])
    call(plan.code, table, plan.chunks, most)


def call(code: Code, table: array[int], chunks: int, most: int) -> None:
    """Run code with a table of words, in `most` threads at the most."""
    at = table.buffer_info()[0]
    if most > 1 and chunks > 1:
        pool().run(code.address, at, chunks, most)
    else:
        code.call(at, 0, chunks, 0)


@functools.cache
def _highest(name: str) -> int:
    from funcgrad.compile.llvm.target import host

    return HIGHEST[name] - (name == CORRELATE and host().vector_bits != 512)


CONVOLUTION.take_kernel(_shared)
CONVOLUTION_RESULT.take_kernel(_first(results))
CONVOLUTION_INPUT.take_kernel(_first(images))
CONVOLUTION_FILTER.take_kernel(_first(filters))
