"""One kernel over many arrays in one call: all parameters of an optimiser's step.

Calling a kernel costs more than a small parameter takes. So a table holds a row for each piece:
its arrays, of which the kernel sees one dimension, where the piece begins in them, and its length.
A few lines of LLVM IR walk down the rows and call the kernel, see `native`.
Small ones run in the caller's thread, in their order; large ones in all threads, if no two rows
share memory.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import DATA, address_of, known_layout
from funcgrad.config import config
from funcgrad.kernels import native, threads
from funcgrad.kernels.native import Code, Kinds

__all__ = ["Table", "kinds_of", "run", "text"]

ndarray = np.ndarray
SHARED = 1 << 14  # elements of a prepared table: with fewer the second thread comes too late
PIECE = 1 << 12  # elements of it that a thread takes; a multiple of every vector


def kinds_of(arrays: Sequence[Any], numbers: Sequence[Any]) -> Kinds | None:
    """For which arguments the code has to be; None where they cannot be handed over."""
    return tuple(map(native.kind, (*arrays, *numbers))) if known_layout() else None


def run(code: Code, rows: Sequence[Sequence[ndarray[Any, Any]]], numbers: Sequence[Any]) -> None:
    """Call the kernel for each row of arrays of one size without gaps, then numbers.

    Raises
    ------
    MemoryError
        The kernel had no memory for what it keeps.
    """
    words = [0]
    for x in numbers:
        words += native.words_of(x)
    start, total = len(words), 0
    for arrays in rows:
        size = arrays[0].size
        words += map(id, arrays)  # which the rows keep alive
        words += (0, size)
        total += size
    sent, count = np.array(words, np.int64), len(rows)
    # two arrays are read as fast by one thread as memory gives them out
    if total >= threads.PARALLEL and config.threads > 1 and len(rows[0]) > 2:
        item = rows[0][0].itemsize
        table = _cut(sent[start:].reshape(count, -1), item, threads.PIECE)
        if _apart(rows):
            sent, count = np.concatenate([sent[:start], table.reshape(-1)]), len(table)
            pool().run(code.address, address_of()(sent), count)
            count = 0
    if count:
        code.call(address_of()(sent), 0, count, 0)
    if sent[0]:
        raise MemoryError("a kernel had no memory for intermediate values")


class Table:
    """The call for rows that come again, with other numbers and other arrays in the second place.

    In these rows arrays share no memory with those of another row, and own theirs, or no threads
    share them; `owners` are what owns the memory that is written.
    """

    __slots__ = ("code", "count", "form", "kinds", "owners", "pieces", "places", "rows", "words")

    def __init__(
        self, code: Code, rows: Sequence[Sequence[ndarray[Any, Any]]], numbers: Sequence[Any]
    ) -> None:
        self.code, self.rows, self.kinds = code, rows, (*map(type, numbers),)
        given = [x for x in numbers if x is not None]
        self.form = struct.Struct("=" + "".join("d" if type(x) is float else "q" for x in given))
        start, width = 1 + len(given), len(rows[0]) + 2
        table = np.array([[*map(id, r), 0, r[0].size] for r in rows], np.int64)
        total = sum(r[0].size for r in rows)
        self.owners = _owners(rows) if total >= SHARED and len(rows[0]) > 2 else None
        if self.owners is not None and _apart([(r[0], *r[2:]) for r in rows]):
            table = _cut(table, rows[0][0].itemsize, PIECE)
        else:
            self.owners = None
        self.count = len(table)
        self.words = array("q", [0] * start + table.reshape(-1).tolist())
        counts = [1 if self.owners is None else -(-r[0].size // PIECE) for r in rows]
        firsts = np.cumsum([0, *counts]).tolist()
        self.places = [
            range(start + 1 + first * width, start + 1 + last * width, width)
            for first, last in pairwise(firsts)
        ]

    def fits(self, numbers: Sequence[Any]) -> bool:
        """Whether the code takes such numbers."""
        return (*map(type, numbers),) == self.kinds

    def run(self, numbers: Sequence[Any], arrays: Sequence[ndarray[Any, Any]]) -> None:
        """Call the kernel, see `run`; `arrays` are those in the second place."""
        words = self.words[:]
        given = array("q", self.form.pack(*[x for x in numbers if x is not None]))
        words[1 : 1 + len(given)] = given
        shared = self.owners is not None and config.threads > 1
        for x, places in zip(arrays, self.places, strict=True):
            number = id(x)
            if shared and (x.base is not None or number in self.owners):  # type: ignore[operator]
                shared = False
            for k in places:
                words[k] = number
        at = words.buffer_info()[0]
        if shared:
            pool().run(self.code.address, at, self.count)
        else:
            self.code.call(at, 0, self.count, 0)
        if words[0]:
            raise MemoryError("a kernel had no memory for intermediate values")


def _owners(rows: Sequence[Sequence[ndarray[Any, Any]]]) -> frozenset[int] | None:
    """What owns the memory that rows write; None where that is not known of some."""
    found = set()
    for row in rows:
        for x in (row[0], *row[2:]):
            whole: Any = x
            while type(whole) is ndarray and whole.base is not None:
                whole = whole.base
            if type(whole) is not ndarray or not whole.flags.owndata:
                return None
            found.add(id(whole))
    return frozenset(found)


def _cut(table: ndarray[Any, Any], item: int, most: int) -> ndarray[Any, Any]:
    """The rows, those of more than `most` elements in pieces that threads can share."""
    counts = -(-table[:, -1] // most)
    pieces = np.repeat(table, counts, 0)
    first = np.arange(len(pieces)) - np.repeat(np.cumsum(counts) - counts, counts)
    pieces[:, -2] = first * most * item
    pieces[:, -1] = np.minimum(pieces[:, -1] - first * most, most)
    return pieces


def _apart(rows: Sequence[Sequence[ndarray[Any, Any]]]) -> bool:
    """Whether no row shares memory with another one, so that their order does not matter."""
    address = address_of()
    found = sorted(
        (address(x), address(x) + x.nbytes, k) for k, row in enumerate(rows) for x in row
    )
    last, owner = 0, -1
    for first, end, k in found:
        if first < last and k != owner:
            return False
        if end > last:
            last, owner = end, k
    return True


# ------------------------------------------------------------------------------------ text

TEXT = """\
declare i32 @"{symbol}"({types})

define void @call(ptr %words, i64 %begin, i64 %end, i64 %thread) {{
entry:
  %result = alloca ptr
  %exception = alloca ptr
{numbers}
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %loop, label %done
loop:
  %n = phi i64 [ %begin, %entry ], [ %next, %after ]
  %skipped = mul i64 %n, {width}
  %from = add i64 %skipped, {start}
  %row = getelementptr i64, ptr %words, i64 %from
  %away.at = getelementptr i64, ptr %row, i64 {away}
  %away = load i64, ptr %away.at
{arrays}
  %length.at = getelementptr i64, ptr %row, i64 {last}
  %length = load i64, ptr %length.at
  %status = call i32 @"{symbol}"({passed})
  %wrong = icmp ne i32 %status, 0
  br i1 %wrong, label %failed, label %after
failed:
  store atomic i64 1, ptr %words monotonic, align 8
  br label %after
after:
  %next = add i64 %n, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def text(symbol: str, kinds: Kinds) -> str:
    """The module: ``void call(ptr words, i64 begin, i64 end)`` for rows `begin` to `end`."""
    numbers: list[str] = []
    arrays: list[str] = []
    passed = ["ptr %result", "ptr %exception"]
    start, count = 1, 0
    for k, x in enumerate(kinds):
        name = f"%a{k}"
        if type(x) is tuple:
            item = np.dtype(x[0]).itemsize
            arrays += [
                f"  {name}.word = getelementptr i64, ptr %row, i64 {count}",
                f"  {name}.object = load ptr, ptr {name}.word",
                f"  {name}.at = getelementptr i8, ptr {name}.object, i64 {DATA}",
                f"  {name}.data = load ptr, ptr {name}.at",
                f"  {name} = getelementptr i8, ptr {name}.data, i64 %away",
            ]
            count += 1
            passed += ["ptr null", "ptr null", "i64 %length", f"i64 {item}", f"ptr {name}"]
            passed += ["i64 %length", f"i64 {item}"]
        elif x is None:
            passed.append("ptr null")
        else:
            numbers.append(f"  {name}.at = getelementptr i64, ptr %words, i64 {start}")
            numbers.append(f"  {name} = load {x}, ptr {name}.at")
            passed.append(f"{x} {name}")
            start += 1
    types = ", ".join(x.split()[0] for x in passed)
    return TEXT.format(
        symbol=symbol, types=types,
        numbers="\n".join(numbers), arrays="\n".join(arrays), passed=", ".join(passed),
        width=count + 2, start=start, away=count, last=count + 1,
    )  # fmt: skip
