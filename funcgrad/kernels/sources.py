"""Where a window meets an array: distances in memory, for the native code of convolutions.

The numbers that an element of the window meets along a line of places lie next to each other, once
the array is filled up with zeros and, for a stride, split by its phases. So a `Source` is an array
with the distances at which lines and the terms of a sum begin. It imports NumPy; distances
are plain data and kept.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from funcgrad.ops.convolution import Window

__all__ = [
    "Filling",
    "Phase",
    "Source",
    "filling",
    "meeting",
    "phases",
    "spreading",
    "suits",
    "windows",
]

ndarray = Any  # an array of NumPy: its stubs know no index made at run time
Sizes = tuple[int, ...]


@dataclass(frozen=True, eq=False)  # of equal ones there is one: what is kept for it goes by that
class Source:
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


# ---------------------------------------------------------------------------------- zeros around


class Filling(NamedTuple):
    """How a plane is filled up with zeros and split by the phases of a stride.

    Attributes
    ----------
    shape : tuple of int
        The phases and the extents of what comes out.
    starts, fronts, lengths : ndarray
        Of each line of it: where in a plane its first number lies, how many zeros are in front, and
        how many numbers it has.
    step : int
        How far apart these lie in the plane.
    """

    shape: Sizes
    starts: ndarray
    fronts: ndarray
    lengths: ndarray
    step: int


def filling(window: Window) -> Filling | None:
    """What puts the zeros of a window around images; None where nothing is to be done."""
    return _filling(window.size, window.stride, window.padding)


def spreading(size: Sizes, around: tuple[tuple[int, int], ...]) -> Filling | None:
    """What puts zeros around results."""
    return _filling(size, (1,) * len(size), around)


@functools.lru_cache(256)
def _filling(size: Sizes, stride: Sizes, padding: tuple[tuple[int, int], ...]) -> Filling | None:
    if max(stride) == 1 and not any(map(any, padding)):
        return None
    grid, every = [], []
    for n, s, (low, high) in zip(size, stride, padding, strict=True):
        extent = -(-(n + low + high) // s)
        at = np.arange(extent) * s + np.arange(s)[:, None] - low  # by phases
        grid.append(extent)
        every.append(np.where((at >= 0) & (at < n), at, -1))
    *outer, last = every
    inside = last >= 0
    lengths, fronts = inside.sum(1), inside.argmax(1)
    begin = last[np.arange(len(last)), fronts]
    rank = len(size)
    starts, there = np.zeros((1,) * (2 * rank - 1), np.int64), np.array(True)
    for k, (at, by) in enumerate(zip(outer, _steps(size), strict=False)):
        shape = [1] * (2 * rank - 1)
        shape[k], shape[rank + k] = at.shape
        starts, there = starts + by * at.reshape(shape), there & (at >= 0).reshape(shape)
    row = (-1, *(1,) * (rank - 1))
    lengths = np.where(there, lengths.reshape(row), 0)
    fronts = np.where(lengths > 0, fronts.reshape(row), grid[-1])
    starts = np.where(lengths > 0, starts + begin.reshape(row), 0)
    whole = np.broadcast_shapes(starts.shape, (*stride, *grid[:-1]))
    starts, fronts, lengths = (
        np.ascontiguousarray(np.broadcast_to(a, whole), np.int64).reshape(-1)
        for a in (starts, fronts, lengths)
    )
    return Filling((*stride, *grid), starts, fronts, lengths, stride[-1])


def _grid(window: Window) -> Sizes:
    """The extents of a plane."""
    return tuple(-(-n // s) for n, s in zip(window.padded, window.stride, strict=True))


# -------------------------------------------------------------------------- what a window meets


@functools.lru_cache(256)
def windows(window: Window, images: int, channels: int, groups: int) -> Source:
    """What the window meets in filled images, for so many channels in a group."""
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
    every = [_along(*axis) for axis in zip(*window, window.places, strict=True)]
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
    places: int,
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


@functools.lru_cache(256)
def meeting(phase: Phase, extents: Sizes, images: int, filters: int, groups: int) -> Source:
    """What of results of these extents (`spreading`) meets the elements of a phase."""
    plane, steps = math.prod(extents), _steps(extents)
    base = sum(a * by for a, by in zip(phase.lead, steps, strict=True))
    taps = [-sum(u * by for u, by in zip(shift, steps, strict=True)) for shift in phase.shifts]
    terms = plane * np.arange(filters, dtype=np.int64)[:, None] + np.array(taps, np.int64)
    lines = _starts(images, groups * filters * plane, base, phase.shape[:-1], steps)
    places = math.prod(phase.shape)
    return Source(lines, terms.reshape(-1), phase.shape[-1], places, filters * plane)
