"""Calls of native code in a row as one native call, which has memory of its own for what lies
between them.

It is put together from calls that were noted (see `kernels.noting`), of which each array must lie
in an argument or be written by one before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.llvm.entry import At, Buffer, Entry, Leaf, Made, Program, Step, View
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.kernels.noting import Call, noted

__all__ = ["Place", "Run", "Unsuitable", "located"]

ndarray = np.ndarray
LARGEST = 1 << 22  # elements: beyond, memory is what counts
LINE = 64  # bytes of a line of the cache


class Unsuitable(Exception):
    """It cannot be part of a native call."""


class Place(NamedTuple):
    """Where an array lies: in an argument or in a buffer of a native call."""

    array: ndarray[Any, Any]
    at: At


class Run:
    """Calls in a row that become one."""

    def __init__(self) -> None:
        self.arguments: list[str] = []
        self.leaves: list[Leaf] = []
        self.calls: list[tuple[Call, list[At | int]]] = []
        self.buffers: list[ndarray[Any, Any]] = []

    def argument(self, text: str, x: ndarray[Any, Any]) -> Place:
        if not x.flags.aligned or not x.dtype.isnative or not x.ndim:
            raise Unsuitable
        order = "C" if x.flags.c_contiguous else "F"
        if order == "F" and not x.flags.f_contiguous:
            raise Unsuitable
        if text not in self.arguments:
            self.arguments.append(text)
            self.leaves.append(Leaf(x.shape, x.dtype, order=order))
        return Place(x, At("leaf", self.arguments.index(text)))

    def made(self, x: ndarray[Any, Any]) -> Place:
        if not x.flags.c_contiguous or x.size > LARGEST or not x.size:
            raise Unsuitable
        self.buffers.append(x)
        return Place(x, At("buffer", len(self.buffers) - 1))

    def add(
        self,
        calls: Sequence[Call],
        known: list[Place],
        given: Sequence[tuple[str, ndarray[Any, Any]]] = (),
    ) -> None:
        """Add calls: what they read lies in one of the places `known`, which get what they write,
        or in one of the arrays `given`, which become arguments then.
        """
        for call in calls:
            count = len(call.arrays) - call.written
            ats: list[At | int] = [
                address_of()(x)
                if any(x is c for c in call.constants)
                else located(x, known, given, self)
                for x in call.arrays[:count]
            ]
            for x in call.arrays[count:]:
                if not any(x is place.array for place in known):
                    known.append(self.made(x))
                ats.append(located(x, known, (), self))
            self.calls.append((call, ats))

    def place(
        self,
        x: Any,
        known: Sequence[Place],
        given: Sequence[tuple[str, ndarray[Any, Any]]] = (),
    ) -> Place:
        """Where a result lies, which a call must have written."""
        if type(x) is not ndarray or not x.size:
            raise Unsuitable
        at = located(x, known, given, self)
        if at.base != "buffer":
            raise Unsuitable
        return Place(x, at)

    def length(self) -> tuple[int, int, int]:
        """How much there is."""
        return len(self.arguments), len(self.calls), len(self.buffers)

    def shorten(self, length: tuple[int, int, int]) -> None:
        """Forget what has come after there was so much."""
        arguments, calls, buffers = length
        del self.arguments[arguments:], self.leaves[arguments:]
        del self.calls[calls:], self.buffers[buffers:]

    # ----------------------------------------------------------------------------- programs

    @classmethod
    def of(cls, function: Callable[..., Any], *arrays: ndarray[Any, Any]) -> Callable[..., Any]:
        """What `function` gives of such arrays, one array or a tuple, as one native call.

        It must be made by calls that are noted from nothing but `arrays`; else, and where the call
        gets others, it gives NotImplemented.
        """
        run = cls()
        made, calls = noted(function, *arrays)
        try:
            known = [run.argument(f"x{k}", x) for k, x in enumerate(arrays)]
            run.add(calls, known)
            results = [run.place(y, known) for y in (made if type(made) is tuple else (made,))]
        except Unsuitable:
            return _unprepared
        return run.function(results, single=type(made) is not tuple)

    def function(self, results: Sequence[Place], single: bool = False) -> Callable[..., Any]:
        """The native call, which returns the arrays of `results`; a `single` one by itself."""
        kept = sorted({p.at.number for p in results})
        at = {k: At("buffer", kept.index(k)) for k in kept}
        inner, end = self._inner(kept)
        most = max(config.threads, os.cpu_count() or 1)  # the pool has as many as are set then
        steps = []
        for call, ats in self.calls:
            words: list[Any] = []
            for a in ats:
                if isinstance(a, At) and a.base == "buffer":
                    base = at.get(a.number)
                    a = (
                        At("workspace", 0, inner[a.number] + a.offset)
                        if base is None
                        else At("buffer", base.number, a.offset)
                    )
                words.append(a)
            words += call.words
            if call.scratch:
                words.append(At("workspace", 0, end))
            parallel = min(most, call.chunks) if call.shared else 0
            steps.append(Step(call.code.address, words, call.chunks, parallel))
        scratch = max([call.scratch * most for call, _ in self.calls], default=0)
        program = Program(
            self.leaves,
            [Buffer(self.buffers[k].shape, self.buffers[k].dtype) for k in kept],
            steps,
            [self._output(p, at) for p in results],
            workspace=end + scratch,
            result=0 if single else None,
            keep=[(call.code, call.constants) for call, _ in self.calls],
        )
        entry = Entry()
        entry.add(program)
        return entry.call

    def _inner(self, kept: Sequence[int]) -> tuple[dict[int, int], int]:
        """Where in the workspace buffers lie that are no results; they share it where they can."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for number, (_, ats) in enumerate(self.calls):
            for a in ats:
                if isinstance(a, At) and a.base == "buffer" and a.number not in kept:
                    first.setdefault(a.number, number)
                    last[a.number] = number
        places: dict[int, int] = {}
        end = 0
        for k, begin in first.items():
            size = self._bytes(k)
            at = 0
            others = sorted((places[j], j) for j in places if last[j] >= begin)
            for where, j in others:
                if at + size <= where:
                    break
                at = max(at, where + self._bytes(j))
            places[k] = at
            end = max(end, at + size)
        return places, end

    def _bytes(self, k: int) -> int:
        return -(-self.buffers[k].nbytes // LINE) * LINE

    def _output(self, place: Place, at: dict[int, At]) -> Made | View:
        whole, x = self.buffers[place.at.number], place.array
        number = at[place.at.number].number
        if x.shape == whole.shape and x.strides == whole.strides:
            return Made(number)
        return View(number, x.shape, x.dtype, x.strides, place.at.offset)


def located(x: Any, known: Sequence[Place], given: Sequence[Any], run: Run) -> At:
    """Where `x` lies. It must be the one place that may be: at another pass two may be apart."""
    found: list[tuple[Any, int]] = []
    for place in known:
        offset = _offset(x, place.array)
        if offset is not None:
            found.append((place.at, offset))
    for text, y in given:
        offset = _offset(x, y)
        if offset is not None:
            found.append(((text, y), offset))
    if len(found) != 1:
        raise Unsuitable
    where, offset = found[0]
    if not isinstance(where, At):
        where = run.argument(*where).at
    return where._replace(offset=where.offset + offset)


def _offset(x: Any, whole: Any) -> int | None:
    """How far behind the beginning of `whole` the array `x` lies in it; None if elsewhere."""
    offset = address_of()(x) - address_of()(whole)
    return offset if 0 <= offset < whole.nbytes and np.may_share_memory(x, whole) else None


def _unprepared(*_: Any) -> Any:
    return NotImplemented
