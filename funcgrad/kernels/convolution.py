"""Convolutions with much work: by kernels that copy nothing for the elements of a window.

They stand in front of the three contractions of `ops.convolution` that derivatives take; what a
program asks for itself is NumPy's, the same bits before and after a kernel is there. Between the
places of a window lie numbers that count for nothing because they meet zeros; where one of them is
infinite or NaN, what comes out shows it, and NumPy does the work again. Numba is not imported here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.kernels import memory, pieces, threads
from funcgrad.kernels.choice import FLOATS, entry_of
from funcgrad.kernels.layout import dense
from funcgrad.kernels.pieces import FIRST, LAST
from funcgrad.kernels.planes import Planes, planes_of
from funcgrad.ops.convolution import (
    CONVOLUTION,
    CONVOLUTION_FILTER,
    CONVOLUTION_INPUT,
    CONVOLUTION_RESULT,
    Window,
)

__all__ = ["filters", "images", "results"]

ndarray = np.ndarray[Any, Any]
GATHER, CORRELATE = "convolution_gather", "convolution_correlate"
PER_ELEMENT = 16  # products that cost what an element of an elementwise operation does
LEAST = 1 << 19  # products: below, arranging the arrays takes as long
HEIGHT, COLUMNS = 4, 4  # of the tiles


def _first(name: str, contraction: Callable[..., Any], checked: bool) -> Callable[..., Any]:
    """A contraction in front of the one of NumPy, by the kernel `name`.

    It is `checked` where what counts for nothing takes part in sums.
    """

    def kernel(impl: Callable[..., Any], a: Any, b: Any, window: Window, groups: int) -> Any:
        products = _products(name, a, b, window, groups)
        if products >= LEAST:
            planes = planes_of(window)
            if planes is not None:
                entry = entry_of(name, a.dtype.char)
                if entry.taken():
                    found = contraction(a, b, planes, groups)
                    if found is not None and not (checked and not _finite(found)):
                        return found
        return impl(a, b, window=window, groups=groups)

    return kernel


def _shared(impl: Callable[..., Any], x: Any, w: Any, window: Window, groups: int) -> Any:
    """The convolution of NumPy, of which threads take images."""
    size = _products("", x, w, window, groups) // PER_ELEMENT
    if size < threads.PARALLEL or config.threads == 1 or len(x) < 2:
        return impl(x, w, window=window, groups=groups)
    out = memory.empty((len(x), len(w), *window.places), x.dtype)
    work = lambda a, b: impl(x[a:b], w, window=window, groups=groups, out=out[a:b])
    threads.run(work, len(x), size)
    return out


def _finite(x: ndarray) -> bool:
    return bool(np.isfinite(np.add.reduce(x, None)))


def _products(name: str, a: Any, b: Any, window: Window, groups: int) -> int:
    """How many products the contraction takes; 0 for operands that kernels do not take."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray or a.dtype != b.dtype:
        return 0
    if a.dtype not in FLOATS:
        return 0
    pairs = a.shape[1] * b.shape[1] // groups if name == CORRELATE else b.shape[0] * b.shape[1]
    return math.prod((len(a), pairs, *window.kernel, *window.places))


# --------------------------------------------------------------------------- contractions


def results(x: ndarray, w: ndarray, planes: Planes, groups: int) -> ndarray | None:
    """The convolution of images and filters."""
    channels, count = w.shape[1], len(w)
    rows = memory.empty((len(x), count, _length(planes.length, w)), w.dtype)
    factors = np.array(w, order="C").reshape(groups, count // groups, -1)
    step = channels * planes.phases * planes.plane
    if not _gather(rows, factors, planes.split(x), planes.places(channels), step):
        return None
    return dense(planes.results(rows))


def images(y: ndarray, w: ndarray, planes: Planes, groups: int) -> ndarray | None:
    """Its transpose: from results and filters to images."""
    channels, count = w.shape[1], len(w) // groups
    given = planes.rows(y, planes.reach, planes.plane - planes.length)
    size = given.shape[2]
    shape = (planes.phases, len(y), groups * channels, _length(planes.plane, w))
    out = memory.empty(shape, w.dtype)
    parts = w.reshape(groups, count, channels, len(planes.taps)).swapaxes(1, 2)
    for phase in range(planes.phases):
        taps = [k for k, (p, _) in enumerate(planes.taps) if p == phase]
        places = [planes.reach - planes.taps[k][1] for k in taps]
        at = (np.arange(count)[:, None] * size + places).reshape(-1)
        factors = parts if len(taps) == len(planes.taps) else parts[..., taps]
        factors = np.array(factors, order="C").reshape(groups, channels, -1)
        if not _gather(out[phase], factors, given.reshape(len(y), -1), at, count * size):
            return None
    return dense(planes.joined(out))


def filters(x: ndarray, y: ndarray, planes: Planes, groups: int) -> ndarray | None:
    """From images and results to filters."""
    channels, count = x.shape[1] // groups, y.shape[1] // groups
    at = planes.places(channels)
    missing = -len(at) % COLUMNS
    padded = np.concatenate([at, at[:missing]]) if missing <= len(at) else np.resize(at, COLUMNS)
    sums = np.zeros((groups, count, len(padded)), y.dtype)
    step = channels * planes.phases * planes.plane
    arguments = (sums, planes.rows(y), planes.split(x), padded, step)
    blocks = -(-count // HEIGHT) * groups
    if not _run(CORRELATE, arguments, blocks, y.size * len(at)):
        return None
    shape = (groups * count, channels, *planes.window.kernel)
    return np.ascontiguousarray(sums[..., : len(at)]).reshape(shape)


def _length(count: int, x: ndarray) -> int:
    lanes = 64 // x.itemsize * COLUMNS
    return -(-count // lanes) * lanes


def _gather(y: ndarray, w: ndarray, x: ndarray, at: ndarray, step: int) -> bool:
    arguments = (y, w, x, at.astype(np.int64), step)
    return _run(GATHER, arguments, len(y), y.size * w.shape[2])


def _run(name: str, arguments: tuple[Any, ...], count: int, products: int) -> bool:
    """Call a kernel for 0 … `count`, in several threads if that pays; False if it cannot be."""
    entry = entry_of(name, arguments[0].dtype.char)
    return pieces.run(entry, [*arguments, FIRST, LAST], count, products // PER_ELEMENT)


CONVOLUTION.take_kernel(_shared)
CONVOLUTION_RESULT.take_kernel(_first(GATHER, results, checked=False))
CONVOLUTION_INPUT.take_kernel(_first(GATHER, images, checked=True))
CONVOLUTION_FILTER.take_kernel(_first(CORRELATE, filters, checked=True))
