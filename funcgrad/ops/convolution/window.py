"""Where a window of some extent lies while it moves over an array: sizes, and views of them.

It stands on NumPy alone; a `Window` is plain data, so it can be a parameter of a primitive.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Window"]

Sizes = tuple[int, ...]
ndarray = Any  # an array of NumPy: its stubs know no index made at run time


class Window(NamedTuple):
    """A window that moves over the last axes of an array, which is filled up with zeros.

    Attributes
    ----------
    size : tuple of int
        The extents of the array along those axes.
    kernel : tuple of int
        How many elements the window takes along each.
    stride : tuple of int
        How far it moves.
    padding : tuple of pair of int
        How many zeros are put before and after; a negative number takes elements away.
    dilation : tuple of int
        How far the elements that it takes are apart.
    """

    size: Sizes
    kernel: Sizes
    stride: Sizes
    padding: tuple[tuple[int, int], ...]
    dilation: Sizes

    @property
    def padded(self) -> Sizes:
        """The extents with the zeros."""
        return _padded(self)

    @property
    def places(self) -> Sizes:
        """How many places the window has along each axis."""
        return _places(self)

    def taps(self) -> tuple[tuple[slice, ...], ...]:
        """For each element of the window, what it meets in the filled array."""
        return _taps(self)

    def fill(self, x: ndarray, value: Any = 0) -> ndarray:
        """`x` with the zeros (or other values) around it; itself where there are none."""
        if not any(map(any, self.padding)):
            return x
        lead = x.shape[: x.ndim - len(self.size)]
        full = np.full((*lead, *self.padded), value, x.dtype)
        full[self._inside()] = x[self._kept()]
        return full

    def _inside(self) -> tuple[Any, ...]:
        """Where the array lies in the filled one."""
        return (..., *(slice(max(lo, 0), p - max(hi, 0))
                       for p, (lo, hi) in zip(self.padded, self.padding, strict=True)))  # fmt: skip

    def _kept(self) -> tuple[Any, ...]:
        """The part of the array that negative padding leaves."""
        return (..., *(slice(max(-lo, 0), n - max(-hi, 0))
                       for n, (lo, hi) in zip(self.size, self.padding, strict=True)))  # fmt: skip

    def columns(self, filled: ndarray) -> ndarray:
        """What the window meets: (…, elements of the window, places), of the filled array."""
        lead = filled.shape[: filled.ndim - len(self.size)]
        count = int(np.prod(self.kernel))
        out: Any = np.empty((*lead, count, *self.places), filled.dtype)
        here = (slice(None),) * len(lead)
        for k, tap in enumerate(self.taps()):
            out[(*here, k)] = filled[(..., *tap)]
        return out.reshape(*lead, count, int(np.prod(self.places)))

    def spread(self, columns: ndarray) -> ndarray:
        """The transpose of filling up and taking columns: each element is added where it was."""
        lead = columns.shape[:-2]
        full: Any = np.zeros((*lead, *self.padded), columns.dtype)
        parts = columns.reshape(*columns.shape[:-1], *self.places)
        here = (slice(None),) * len(lead)
        for k, tap in enumerate(self.taps()):
            full[(..., *tap)] += parts[(*here, k)]
        inside = full[self._inside()]
        if inside.shape[len(lead) :] == self.size:
            return inside
        out = np.zeros((*lead, *self.size), columns.dtype)
        out[self._kept()] = inside
        return out


# Networks ask for the same few windows again and again, many times in each convolution.


@functools.lru_cache(1024)
def _padded(window: Window) -> Sizes:
    return tuple(n + lo + hi for n, (lo, hi) in zip(window.size, window.padding, strict=True))


@functools.lru_cache(1024)
def _places(window: Window) -> Sizes:
    reach = ((k - 1) * d + 1 for k, d in zip(window.kernel, window.dilation, strict=True))
    return tuple(
        max((n - r) // s + 1, 0)
        for n, r, s in zip(window.padded, reach, window.stride, strict=True)
    )


@functools.lru_cache(64)
def _taps(window: Window) -> tuple[tuple[slice, ...], ...]:
    steps = tuple(zip(window.dilation, window.stride, window.places, strict=True))
    return tuple(
        tuple(
            slice(t * d, t * d + s * (n - 1) + 1, s) if n else slice(0)
            for t, (d, s, n) in zip(tap, steps, strict=True)
        )
        for tap in itertools.product(*map(range, window.kernel))
    )
