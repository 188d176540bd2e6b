"""How the operands of an elementwise rule become the arguments of a kernel: one loop over rows.

All arrays are brought into one picture of rows and columns (see `access`): whole, repeated for each
row, repeated for each column, or a single element; what is repeated otherwise is written out. It
imports NumPy and the pool of memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import memory

__all__ = ["Arranged", "arrange"]

ndarray = np.ndarray
NUMBERS = (float, int, np.float64, np.float32)
FULL, ROW, COLUMN, SINGLE, NUMBER, NOTHING = "frcsn-"


class Arranged(NamedTuple):
    """The loop, its arguments, and the kind of each: its letter, upper case if it is read-only.

    `rows_of` are the places of the cotangents that the kernel adds up over the rows; `order` is the
    one in which whole arrays lie in memory.
    """

    rows: int
    columns: int
    arguments: list[Any]
    kinds: str
    rows_of: frozenset[int]
    order: Any


NO_ROWS: frozenset[int] = frozenset()


def arrange(
    g: ndarray[Any, Any],
    xs: Sequence[Any],
    shapes: Sequence[tuple[int, ...] | None],
    masks: Sequence[int] = (),
) -> Arranged | None:
    """The arguments for the cotangent `g` and the values `xs`, or None if their dtypes differ.

    `shapes` are those of the operands whose cotangents are wanted; `masks` the places of values
    that are bools.
    """
    dtype = g.dtype
    if not g.size:
        return None
    for k, x in enumerate(xs):
        if type(x) is ndarray:
            if x.dtype is not dtype and x.dtype != (np.bool_ if k in masks else dtype):
                return None
        elif x is not None and type(x) not in NUMBERS and type(x) is not np.bool_:
            return None
    ragged = [s is not None and s != g.shape and s != () for s in shapes]
    if not any(ragged) and _same(g, xs):
        return _flat(g, xs, "C")
    kept = [k for k, n in enumerate(g.shape) if n != 1]
    marks = [_varies(x, g.ndim, kept) if type(x) is ndarray else None for x in (g, *xs)]
    splits = {_split(m) for m in marks if m is not None and not all(m) and any(m)}
    rows_of = set()
    for k, s in enumerate(shapes):
        if s is not None and ragged[k]:
            cut = _row_split(s, g.ndim, kept)
            if cut is not None and splits <= {cut}:
                splits.add(cut)
                rows_of.add(k)
    if len(splits) > 1 or None in splits:
        return _written_out(g, xs, marks)
    if not splits:
        whole = [x for x, m in zip((g, *xs), marks, strict=True) if m is not None and all(m)]
        columns_first = all(x.flags.f_contiguous and not x.flags.c_contiguous for x in whole)
        return _flat(g, xs, "F" if whole and columns_first else "C", marks)
    (split,) = splits
    rows = math.prod(g.shape[k] for k in kept[:split])
    columns = math.prod(g.shape[k] for k in kept[split:])
    made = [
        _argument(x, m, rows, columns, dtype, "C") for x, m in zip((g, *xs), marks, strict=True)
    ]
    kinds = "".join(k for _, k in made)
    return Arranged(rows, columns, [a for a, _ in made], kinds, frozenset(rows_of), "C")


def _same(g: ndarray[Any, Any], xs: Sequence[Any]) -> bool:
    """Whether all arrays have one shape and lie in memory without gaps."""
    if not g.flags.carray:
        return False
    shape = g.shape
    return all(type(x) is not ndarray or (x.shape == shape and x.flags.carray) for x in xs)


def _flat(
    g: ndarray[Any, Any], xs: Sequence[Any], order: str, marks: Sequence[Any] | None = None
) -> Arranged:
    whole = (True,)
    made = [
        _argument(x, whole if marks is None else marks[k], 1, g.size, g.dtype, order)
        for k, x in enumerate((g, *xs))
    ]
    return Arranged(1, g.size, [a for a, _ in made], "".join(k for _, k in made), NO_ROWS, order)


def _written_out(g: ndarray[Any, Any], xs: Sequence[Any], marks: Sequence[Any]) -> Arranged:
    """For operands that are repeated in several ways: in memory of the loop's shape."""
    made: list[Any] = []
    for x, mark in zip((g, *xs), marks, strict=True):
        if mark is None or all(mark) or not any(mark):
            made.append(x)
        else:
            made.append(memory.empty(g.shape, x.dtype))
            np.copyto(made[-1], x)
    whole = [m if m is None or not any(m) else (True,) for m in marks]
    return _flat(made[0], made[1:], "C", whole)


def _varies(x: ndarray[Any, Any], ndim: int, kept: Sequence[int]) -> tuple[bool, ...]:
    """For each axis of the loop whether `x` has more than one element along it."""
    lead = ndim - x.ndim
    return tuple(k >= lead and x.shape[k - lead] != 1 and x.strides[k - lead] != 0 for k in kept)


def _split(mark: tuple[bool, ...]) -> int | None:
    """Where the axes of rows end and those of columns begin, if one of the two is repeated."""
    cut = mark.index(not mark[0])
    return cut if all(m != mark[0] for m in mark[cut:]) else None


def _row_split(shape: tuple[int, ...], ndim: int, kept: Sequence[int]) -> int | None:
    """Where the axes of columns begin, for an operand that is repeated for every row."""
    lead = ndim - len(shape)
    mark = tuple(k >= lead and shape[k - lead] != 1 for k in kept)
    return _split(mark) if any(mark) and not mark[0] else None


def _argument(
    x: Any,
    mark: Any,
    rows: int,
    columns: int,
    dtype: np.dtype[Any],
    order: str,
) -> tuple[Any, str]:
    if x is None:
        return None, NOTHING
    if type(x) is not ndarray:
        return (x if type(x) is np.bool_ else dtype.type(x)), NUMBER
    shape: tuple[int, ...]
    if all(mark):
        x = x.T if order == "F" else x
        kind, shape = FULL, (rows, columns)
    elif not any(mark):
        x = x[(slice(0, 1),) * x.ndim].copy()
        kind, shape = SINGLE, (1, 1, 1, 1)
    else:
        x = x[tuple(slice(0, 1) if s == 0 else slice(None) for s in x.strides)]
        kind, shape = (COLUMN, (rows, 1, 1)) if mark[0] else (ROW, (columns,))
    if not (x.flags.c_contiguous and x.flags.aligned):
        dense = memory.empty(x.shape, x.dtype)
        np.copyto(dense, x)
        x = dense
    return x.reshape(shape), kind if x.flags.writeable else kind.upper()
