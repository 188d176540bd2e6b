"""One kernel over many arrays in one call: all parameters of an optimiser's step.

Calling a kernel costs more than a small parameter takes. So a table holds a row for each piece:
its arrays, of which the kernel sees one dimension, where the piece begins in them, and its length.
A few lines of LLVM IR walk down the rows and call the kernel, see `native`.
Small ones run in the caller's thread, in their order; large ones in all threads, if no two rows
share memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import DATA, address_of, known_layout
from funcgrad.config import config
from funcgrad.kernels import native, threads
from funcgrad.kernels.native import Code, Kinds

__all__ = ["kinds_of", "run", "text"]

ndarray = np.ndarray


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
        table = _cut(sent[start:].reshape(count, -1), item)
        if _apart(rows):
            sent, count = np.concatenate([sent[:start], table.reshape(-1)]), len(table)
            pool().run(code.address, address_of()(sent), count)
            count = 0
    if count:
        code.call(address_of()(sent), 0, count, 0)
    if sent[0]:
        raise MemoryError("a kernel had no memory for intermediate values")


def _cut(table: ndarray[Any, Any], item: int) -> ndarray[Any, Any]:
    """The rows, large ones in pieces that threads can share."""
    counts = -(-table[:, -1] // threads.PIECE)
    pieces = np.repeat(table, counts, 0)
    first = np.arange(len(pieces)) - np.repeat(np.cumsum(counts) - counts, counts)
    pieces[:, -2] = first * threads.PIECE * item
    pieces[:, -1] = np.minimum(pieces[:, -1] - first * threads.PIECE, threads.PIECE)
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
