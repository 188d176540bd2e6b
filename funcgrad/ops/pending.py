"""Elements and rows that a program has written one by one, and not yet read as a whole.

``y[i] = a * y[i - 1] + x[i]`` would make a new array in each step, and its derivative another one.
An array of a transform notes such writes instead: what is read of it, one by one, is what was
written, and the array is put together when it is read otherwise, once. A recurrence over an array
then costs what one over numbers does.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer, is_scalar, twin, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.index import getitem
from funcgrad.ops.shape import broadcast_as, reshape, stack

__all__ = ["Pending", "row_of"]

WINDOW = 64  # rows that are read one by one where a slice is asked for, at the most

Row = tuple[int, ...]


def row_of(index: tuple[Any, ...], shape: tuple[int, ...]) -> Row | None:
    """The leading integers, counted from the front, of an index that chooses a whole row."""
    depth = 0
    for i in index:
        if not isinstance(i, (int, np.integer)) or isinstance(i, (bool, np.bool_)):
            break
        depth += 1
    rest = index[depth:]
    if not depth or depth > len(shape) or len(index) > len(shape):
        return None
    if not all(i is Ellipsis or (isinstance(i, slice) and i == slice(None)) for i in rest):
        return None
    if sum(i is Ellipsis for i in rest) > 1:
        return None
    return _from_front(index[:depth], shape)


def _from_front(items: tuple[Any, ...], shape: tuple[int, ...]) -> Row | None:
    """Integers counted from the front, or None where one is out of bounds."""
    row = tuple([int(i) + n if i < 0 else int(i) for i, n in zip(items, shape, strict=False)])
    return row if all(0 <= i < n for i, n in zip(row, shape, strict=False)) else None


class Pending:
    """What was written at `depth` integers, by these.

    The values have the type of a row, and nobody else writes into them.
    """

    __slots__ = ("aval", "depth", "rows")

    def __init__(self, depth: int, whole: ArrayType) -> None:
        self.depth, self.aval = depth, ArrayType(whole.shape[depth:], whole.dtype)
        self.rows: dict[Row, Array] = {}

    def fitted(self, v: Array) -> Array:
        """A value as a row, that is nobody else's; raises where it does not fit, as NumPy."""
        made = cast(v, self.aval.dtype)
        lead = type_of(made).shape
        while len(lead) > len(self.aval.shape) and lead[0] == 1:  # NumPy drops leading axes of 1
            lead = lead[1:]
        made = broadcast_as(reshape(made, lead), self.aval.shape, self.aval.dtype)
        if not isinstance(made, Tracer):
            made = np.array(made)[()]
        elif made is v:
            made = twin(v)
        if not self.aval.shape and not is_scalar(made):
            made = getitem(reshape(made, (1,)), (0,))
        return made

    def read(self, whole: Array, index: tuple[Any, ...]) -> Array | None:
        """``x[index]`` for a basic index, where `whole` is `x` without what is noted.

        None where it is no row, nor a window of some.
        """
        shape = type_of(whole).shape
        index = (*index, *(slice(None),) * (self.depth - len(index)))
        items, rest = index[: self.depth], index[self.depth :]
        if not all(isinstance(i, (int, slice)) for i in items):
            return None
        if not any(isinstance(i, slice) for i in items):
            row = _from_front(items, shape)
            return None if row is None else self._row(whole, row, rest)
        if sum(isinstance(i, slice) for i in items) > 1:
            return None
        extents = [
            range(n)[i] if isinstance(i, slice) else [i] for i, n in zip(items, shape, strict=False)
        ]
        if not 0 < max(map(len, extents)) <= WINDOW:
            return None
        rows = [_from_front(items, shape) for items in product(*extents)]
        known = [r for r in rows if r is not None]
        if len(known) < len(rows):
            return None
        if not any(r in self.rows for r in known):
            return getitem(whole, index)
        return stack([self._row(whole, r, rest) for r in known])

    def _row(self, whole: Array, row: Row, rest: tuple[Any, ...]) -> Array:
        if row not in self.rows:
            return getitem(whole, (*row, *rest))
        found = self.rows[row]
        return getitem(found, rest) if rest else found

    def settled(self, whole: Array, put: Any) -> Array:
        """The array with all that is noted; ``put(x, index, v)`` is a copy with `v` at `index`."""
        rows = sorted(self.rows)
        lead = type_of(whole).shape[: self.depth]
        if len(rows) == 1:
            return put(whole, rows[0], self.rows[rows[0]])
        values = stack([self.rows[r] for r in rows])
        if len(rows) == int(np.prod(lead)):
            return reshape(values, type_of(whole).shape)
        return put(whole, tuple(np.array(rows).T), values)
