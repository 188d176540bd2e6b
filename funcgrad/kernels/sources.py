"""Where a window meets an array: distances in memory, for the native code of convolutions.

The numbers that an element of the window meets along a line of places lie next to each other, once
the array is filled up with zeros and, for a stride, split by its phases. So a `Source` is an array
with the distances at which lines and the terms of a sum begin. It imports NumPy and the pool of
memory; distances are plain data and kept.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.kernels import memory
from funcgrad.ops.convolution import Window

__all__ = ["Phase", "Source", "filled", "meeting", "phases", "spread", "suits", "windows"]

ndarray = Any  # an array of NumPy: its stubs know no index made at run time
Sizes = tuple[int, ...]


class Source(NamedTuple):
    """Distances in an array, in elements.

    Attributes
    ----------
    lines : ndarray
        Where each line of each image begins.
    taps : ndarray
        How far on each term of a sum lies.
    line, places : int
        The number of places of a line, and of an image.
    step : int
        From one group of channels to the next.
    """

    lines: ndarray
    taps: ndarray
    line: int
    places: int
    step: int


class Phase(NamedTuple):
    """The elements of an image that some elements of the window meet, every stride-th.

    `chosen` are the first element, the end and the step along each axis, `taps` are the elements of
    the window, `shifts` how far back the results that they make lie, and `lead` is how far into the
    results with zeros around them those lie that belong to the first element.
    """

    chosen: tuple[Sizes, ...]
    shape: Sizes
    taps: tuple[int, ...]
    shifts: tuple[Sizes, ...]
    lead: Sizes


def suits(window: Window) -> bool:
    """Whether there is anything to meet, and padding takes nothing away."""
    moves = bool(window.size) and 0 not in window.places and 0 not in window.kernel
    return moves and all(min(pair) >= 0 for pair in window.padding)


def _steps(extents: Sequence[int]) -> list[int]:
    """The distances between neighbours along each axis."""
    return [math.prod(extents[k + 1 :]) for k in range(len(extents))]


def _starts(images: int, step: int, base: int, extents: Sizes, steps: Sequence[int]) -> ndarray:
    """Where the lines of places begin: `extents` are those of places, without the last axis."""
    found = base + step * np.arange(images, dtype=np.int64)
    for count, by in zip(extents, steps, strict=False):
        found = found[..., None] + by * np.arange(count, dtype=np.int64)
    return np.ascontiguousarray(found.reshape(-1))


# -------------------------------------------------------------------------- what a window meets


def filled(x: ndarray, window: Window) -> ndarray:
    """Images (n, c, …), filled up with zeros, as (n, c, phases, plane)."""
    x = np.ascontiguousarray(x)
    if max(window.stride) == 1 and not any(map(any, window.padding)):
        return x
    n, c = x.shape[:2]
    body: Any = memory.zeros((n, c, *window.stride, *_grid(window)), x.dtype)
    lead = (slice(None),) * 2
    for phase in itertools.product(*map(range, window.stride)):
        inside, chosen = [], []
        for s, p, size, (lo, _), end in zip(
            window.stride, phase, window.size, window.padding, window.padded, strict=True
        ):
            begin = (p - lo) % s if lo > p else p - lo  # the first element of this phase
            stop = min(size, end - lo)
            count = max(-(-(stop - begin) // s), 0)
            at = (begin + lo - p) // s
            inside.append(slice(at, at + count))
            chosen.append(slice(begin, begin + count * s, s))
        body[(*lead, *phase, *inside)] = x[(*lead, *chosen)]
    return body


def _grid(window: Window) -> Sizes:
    """The extents of a plane."""
    return tuple(-(-n // s) for n, s in zip(window.padded, window.stride, strict=True))


@functools.lru_cache(256)
def windows(window: Window, images: int, channels: int, groups: int) -> Source:
    """What the window meets in `filled`, for so many channels in a group."""
    grid, count = _grid(window), math.prod(window.stride)
    plane, steps = math.prod(grid), _steps(grid)
    taps = []
    for tap in itertools.product(*map(range, window.kernel)):
        phase = place = 0
        for t, d, s, by in zip(tap, window.dilation, window.stride, steps, strict=True):
            phase, place = phase * s + t * d % s, place + t * d // s * by
        taps.append(phase * plane + place)
    channel = count * plane
    terms = channel * np.arange(channels, dtype=np.int64)[:, None] + np.array(taps, np.int64)
    places = window.places
    lines = _starts(images, groups * channels * channel, 0, places[:-1], steps)
    return Source(lines, terms.reshape(-1), places[-1], math.prod(places), channels * channel)


# ------------------------------------------------------------------------- what meets an element


@functools.lru_cache(256)
def phases(window: Window) -> tuple[tuple[Phase, ...], tuple[tuple[int, int], ...]]:
    """The phases of the images that have elements, and the zeros around results that they need."""
    every = [_along(*axis) for axis in zip(*window, window.padded, window.places, strict=True)]
    around = tuple(
        (max(0, *(-a.low for a in axis)), max(0, *(a.high for a in axis))) for axis in every
    )
    found = []
    for parts in itertools.product(*every):
        picked = list(itertools.product(*(part.taps for part in parts)))
        taps = tuple(int(np.ravel_multi_index(tap, window.kernel)) for tap in picked)
        shifts = tuple(
            tuple(t * d // s for t, d, s in zip(tap, window.dilation, window.stride, strict=True))
            for tap in picked
        )
        lead = tuple(p.first + front for p, (front, _) in zip(parts, around, strict=True))
        chosen = tuple(
            (p.begin, p.begin + p.amount * s, s) for p, s in zip(parts, window.stride, strict=True)
        )
        found.append(Phase(chosen, tuple(p.amount for p in parts), taps, shifts, lead))
    return tuple(found), around


class _Part(NamedTuple):
    """One phase along one axis: elements from `begin` on, the first at `first` in its plane.

    `low` and `high` are how far results are asked for before the first and after the last one.
    """

    begin: int
    amount: int
    first: int
    taps: list[int]
    low: int
    high: int


def _along(
    size: int, kernel: int, stride: int, padding: tuple[int, int], dilation: int,
    padded: int, places: int,
) -> list[_Part]:  # fmt: skip
    found = []
    for phase in range(stride):
        first = -(-(padding[0] - phase) // stride) if padding[0] > phase else 0
        begin = first * stride + phase - padding[0]
        count = -(-(size - begin) // stride)
        if count <= 0:
            continue
        taps = [t for t in range(kernel) if t * dilation % stride == phase]
        shifts = [t * dilation // stride for t in taps] or [first]
        low, high = first - max(shifts), first + count - 1 - min(shifts) - (places - 1)
        found.append(_Part(begin, count, first, taps, low, high))
    return found


def spread(y: ndarray, around: Sequence[tuple[int, int]]) -> ndarray:
    """Results with zeros around them."""
    if not any(map(any, around)):
        return np.ascontiguousarray(y)
    extents = [n + lo + hi for n, (lo, hi) in zip(y.shape[2:], around, strict=True)]
    out: Any = memory.zeros((*y.shape[:2], *extents), y.dtype)
    inside = (slice(lo, lo + n) for n, (lo, _) in zip(y.shape[2:], around, strict=True))
    out[(..., *inside)] = y
    return out


@functools.lru_cache(256)
def meeting(phase: Phase, extents: Sizes, images: int, filters: int, groups: int) -> Source:
    """What of results of these extents (`spread`) meets the elements of a phase."""
    plane, steps = math.prod(extents), _steps(extents)
    base = sum(a * by for a, by in zip(phase.lead, steps, strict=True))
    taps = [-sum(u * by for u, by in zip(shift, steps, strict=True)) for shift in phase.shifts]
    terms = plane * np.arange(filters, dtype=np.int64)[:, None] + np.array(taps, np.int64)
    lines = _starts(images, groups * filters * plane, base, phase.shape[:-1], steps)
    places = math.prod(phase.shape)
    return Source(lines, terms.reshape(-1), phase.shape[-1], places, filters * plane)
