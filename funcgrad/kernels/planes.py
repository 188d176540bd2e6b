"""Images laid out for the loops of convolutions: every element that a window meets at a distance.

The filled array is split by the phases of the stride, each a plane of its own; in a plane, moving
the window by one stride is moving by one element. So what an element of the window meets, for all
places of the window at once, is the plane from some place on; between the rows of places lie places
that mean nothing. It imports NumPy and the pool of memory.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad.kernels import memory
from funcgrad.ops.convolution import Window

__all__ = ["Planes", "planes_of"]

ndarray = Any  # an array of NumPy: its stubs know no index made at run time
ROUND = 4 * 64  # bytes: rows are multiples of a tile, and may be read that far past the end


class Planes(NamedTuple):
    """Where a window lies in planes.

    `grid` are the extents of a plane, `taps` has (phase, place in the plane) of each element of the
    window, `reach` is the greatest of these places.
    """

    window: Window
    grid: tuple[int, ...]
    taps: list[tuple[int, int]]
    reach: int

    @property
    def phases(self) -> int:
        """How many planes an array becomes."""
        return math.prod(self.window.stride)

    @property
    def plane(self) -> int:
        """The number of elements of a plane."""
        return math.prod(self.grid)

    @property
    def length(self) -> int:
        """From the first place of the window to its last, and those after it in its row."""
        return self.window.places[0] * math.prod(self.grid[1:])

    def split(self, x: ndarray) -> ndarray:
        """Images (n, c, …) as (n, c · phases · plane + space), in one row each."""
        n, c = x.shape[:2]
        width = c * self.phases * self.plane
        space = _rounded(self.length, x) - self.length + _rounded(1, x) + self.reach
        out = memory.zeros((n, width + space), x.dtype)
        body: Any = out[:, :width].reshape(n, c, *self.window.stride, *self.grid)
        lead = (slice(None),) * 2
        for phase in itertools.product(*map(range, self.window.stride)):
            inside, chosen = [], []
            for s, p, size, (lo, _), end in zip(
                self.window.stride, phase, self.window.size, self.window.padding,
                self.window.padded, strict=True,
            ):  # fmt: skip
                begin = (p - lo) % s if lo > p else p - lo  # the first element of this phase
                stop = min(size, end - lo)
                count = max(-(-(stop - begin) // s), 0)
                at = (begin + lo - p) // s
                inside.append(slice(at, at + count))
                chosen.append(slice(begin, begin + count * s, s))
            body[(*lead, *phase, *inside)] = x[(*lead, *chosen)]
        return out

    def joined(self, planes: ndarray) -> ndarray:
        """The inverse for (phases, n, c, at least a plane): images without what fills them up."""
        _, n, c = planes.shape[:3]
        rank = len(self.grid)
        parts = planes[..., : self.plane].reshape(*self.window.stride, n, c, *self.grid)
        order = [rank, rank + 1]
        for a in range(rank):
            order += [rank + 2 + a, a]
        extents = (q * s for q, s in zip(self.grid, self.window.stride, strict=True))
        full = parts.transpose(order).reshape(n, c, *extents)
        kept = (slice(lo, lo + size) for size, (lo, _) in
                zip(self.window.size, self.window.padding, strict=True))  # fmt: skip
        return full[(..., *kept)]

    def places(self, channels: int) -> ndarray:
        """Where each element of the window over each channel begins in a row of `split`."""
        one = np.array([p * self.plane + at for p, at in self.taps], np.int64)
        steps = np.arange(channels, dtype=np.int64) * (self.phases * self.plane)
        return (steps[:, None] + one).reshape(-1)

    def rows(self, y: ndarray, front: int = 0, back: int = 0) -> ndarray:
        """Results (n, o, …) as (n, o, front + at least length + back), 0 between the places."""
        n, o = y.shape[:2]
        out = memory.zeros((n, o, front + _rounded(self.length + back, y)), y.dtype)
        grid: Any = out[..., front : front + self.length]
        grid = grid.reshape(n, o, self.window.places[0], *self.grid[1:])
        grid[(..., *(slice(k) for k in self.window.places))] = y
        return out

    def results(self, rows: ndarray) -> ndarray:
        """The inverse of `rows`."""
        grid = rows[..., : self.length]
        grid = grid.reshape(*rows.shape[:2], self.window.places[0], *self.grid[1:])
        return grid[(..., *(slice(k) for k in self.window.places))]


def _rounded(count: int, x: ndarray) -> int:
    lanes: int = ROUND // x.itemsize
    return -(-count // lanes) * lanes


@functools.lru_cache(256)
def planes_of(window: Window) -> Planes | None:
    """The planes of a window; None where padding takes elements away or there are no places."""
    moves = bool(window.size) and 0 not in window.places and 0 not in window.kernel
    if not moves or any(min(pair) < 0 for pair in window.padding):
        return None
    grid = tuple(-(-n // s) for n, s in zip(window.padded, window.stride, strict=True))
    taps = []
    for tap in itertools.product(*map(range, window.kernel)):
        phase = place = 0
        for t, d, s, q in zip(tap, window.dilation, window.stride, grid, strict=True):
            phase, place = phase * s + t * d % s, place * q + t * d // s
        taps.append((phase, place))
    return Planes(window, grid, taps, max(place for _, place in taps))
