"""Calls of the native code of recurrent layers (see `recurrent_code`): all steps, rows in threads.

It imports kernels and the runtime of the compiler.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.kernels.native import Code
from funcgrad.kernels.products import SHARED, lanes_of, vectors_for

__all__ = ["run_backward", "run_forward"]

ndarray = np.ndarray
Raw = ndarray[Any, Any]
BLOCK = 48  # rows of a chunk, at most: as many as read the weights once for all of them
TOGETHER = 1 << 30  # multiplications of a call: between two of them Python sees signals
NAMES = {"f": "float32", "d": "float64"}


def run_forward(w: Raw, cells: Raw, gates: Raw, states: Raw, reverse: bool) -> None:
    """Fill `cells` and `states` behind the first ones, and `gates`, which have the input's part."""
    calls = _Calls("lstm", w.T, gates, reverse)
    for first, steps in calls.parts():
        calls.run([cells[first:], gates, states[first:]], first, steps, 0)


def run_backward(
    w: Raw, given: Raw | None, gates: Raw, cells: Raw, cotangents: Raw, later: Raw, cell: Raw,
    reverse: bool,
) -> None:  # fmt: skip
    """Fill `cotangents`; `later` and `cell` have those of the last states, then of the first."""
    calls = _Calls("lstm_backward", w, gates, not reverse)
    each = 0 if given is None else later.size
    given = np.zeros_like(later) if given is None else given
    for first, steps in calls.parts():
        there = cells[len(gates) - first - steps :]
        calls.run([given, gates, there, cotangents, later, cell], first, steps, each)


class _Calls:
    """The calls of the code of one direction; `reverse` if the first step has the last gates."""

    def __init__(self, name: str, w: Raw, gates: Raw, reverse: bool) -> None:
        (self.count, rows, self.wide), (terms, columns) = gates.shape, w.shape
        vectors = vectors_for(columns, w.dtype)
        width = vectors * lanes_of(w.dtype)
        self.rows, self.reverse = rows, reverse
        self.panels = _packed(w, width)
        self.code = _code(name, vectors, NAMES[w.dtype.char])
        self.work = rows * terms * columns
        threads = config.threads if self.count * self.work >= SHARED else 1
        grain = -(-rows // min(rows, threads * -(-rows // (threads * BLOCK))))
        self.chunks = -(-rows // grain)
        self.sizes = [rows, grain, self.wide // 4, self.wide]
        self.product = [columns, terms, len(self.panels)]

    def parts(self) -> Iterator[tuple[int, int]]:
        """The steps that are run in one call: the first, and how many."""
        some = max(1, TOGETHER // self.work)
        for first in range(0, self.count, some):
            yield first, min(some, self.count - first)

    def run(self, arrays: Sequence[Raw], first: int, steps: int, given: int) -> None:
        """Steps from `first` on, each of which is given so many numbers of the first array."""
        place, by = (self.count - 1 - first, -1) if self.reverse else (first, 1)
        each = self.rows * self.wide
        address = address_of()
        words = [address(self.panels), *map(address, arrays), *self.sizes, steps, *self.product,
                 place * each, by * each, place * given, by * given]  # fmt: skip
        table = array("q", words)
        if self.chunks > 1:
            pool().run(self.code.address, table.buffer_info()[0], self.chunks)
        else:
            self.code.call(table.buffer_info()[0], 0, self.chunks, 0)


def _packed(w: Raw, width: int) -> Raw:
    """Panels of so many columns, (panels, terms, width)."""
    terms, columns = w.shape
    panels = -(-columns // width)
    if panels * width != columns:
        wide = np.zeros((terms, panels * width), w.dtype)
        wide[:, :columns] = w
        w = wide
    return np.ascontiguousarray(w.reshape(terms, panels, width).transpose(1, 0, 2))


@functools.cache
def _code(name: str, vectors: int, dtype: str) -> Code:
    from funcgrad.torch.recurrent_code import code_of  # it is needed once for each

    return code_of(name, vectors, dtype)
