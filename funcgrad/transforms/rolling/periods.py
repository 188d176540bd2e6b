"""Where a program repeats itself: runs of equations of the same kinds, and their periods.

The kind of an equation is what all steps of a loop have in common: the operation, its parameters
but for the places that it reads or writes, and the types of what goes in and out. All of this
takes a time that is linear in the number of equations.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Equation, Graph, Literal
from funcgrad.ops.index import GETITEM, PLACE

__all__ = ["Place", "Run", "kinds_of", "like", "places", "runs"]

WINDOWS = 8  # kinds are looked at alone, and in windows of 2, 4, ... 128
CANDIDATES = 4  # distances that are looked at for each, those that were met most often
PARTS = 4  # of a step that are alike


class Run(NamedTuple):
    """Equations from `start` to `stop`, each of the kind of the one `period` before it."""

    start: int
    stop: int
    period: int


class Place(NamedTuple):
    """An integer of an index, or where a slice begins: what may differ from step to step."""

    item: int  # its position in the index
    start: int
    length: int | None = None  # of a slice
    stride: int = 1


def places(e: Equation) -> tuple[Place, ...]:
    """The numbers of an index that may differ from step to step."""
    if e.prim is GETITEM:
        shape = e.inputs[0].type.shape
    elif e.prim is PLACE:
        shape = e.outputs[0].type.shape
    else:
        return ()
    index = e.params["index"]
    found, axis = [], 0
    for item, i in enumerate(index):
        if i is Ellipsis:
            axis += len(shape) - sum(j is not None and j is not Ellipsis for j in index)
            continue
        if type(i) is int:
            found.append(Place(item, i % shape[axis]))
        elif i is not None:
            taken = range(*slice(*i).indices(shape[axis]))
            found.append(Place(item, taken.start, len(taken), taken.step))
        axis += i is not None
    return tuple(found)


def kinds_of(equations: Sequence[Equation]) -> list[int]:
    """A number for the kind of each equation; what cannot be compared is of a kind of its own."""
    known: dict[Hashable, int] = {}
    found = []
    number = _Numbers().of
    for k, e in enumerate(equations):
        key: Hashable = (
            e.prim,
            e.scope,
            tuple([~number(a.type) if type(a) is Literal else number(a.type) for a in e.inputs]),
            tuple([number(v.type) for v in e.outputs]),
            tuple([(name, _plain(e, name)) for name in sorted(e.params)]) if e.params else (),
        )
        try:
            found.append(known.setdefault(key, len(known)))
        except TypeError:
            found.append(-1 - k)
    return found


class _Numbers:
    """A number for each type: most values share the object of theirs, whose hash takes long."""

    def __init__(self) -> None:
        self.by_object: dict[int, int] = {}
        self.by_type: dict[ArrayType, int] = {}

    def of(self, aval: ArrayType) -> int:
        """The number of the type of a value that lives on."""
        found = self.by_object.get(id(aval))
        if found is None:
            found = self.by_type.setdefault(aval, len(self.by_type))
            self.by_object[id(aval)] = found
        return found


def like(e: Equation) -> Hashable:
    """What reads or writes of the same form have in common: the index but for its numbers."""
    given = {p.item: (p.length, p.stride) for p in places(e)}
    return tuple([given.get(item, i) for item, i in enumerate(e.params["index"])])


def _plain(e: Equation, name: str) -> Hashable:
    value: Any = e.params[name]
    if name == "index" and (e.prim is GETITEM or e.prim is PLACE):
        return like(e)
    if isinstance(value, Graph) and not value.constants:
        return value.digest()
    held: Hashable = value
    return held


def runs(kinds: Sequence[int], steps: int) -> Iterator[Run]:
    """Runs of at least so many periods, those of short periods first."""
    names = np.unique(np.array(kinds), return_inverse=True)[1]
    for period in _candidates(names, steps):
        same = np.zeros(len(names) - period + 2, np.int8)
        same[1:-1] = names[period:] == names[:-period]
        change = np.diff(same)
        for start, end in zip(np.flatnonzero(change == 1), np.flatnonzero(change == -1)):
            if end - start >= (steps - 1) * period:
                yield Run(int(start), int(end) + period, period)


def _candidates(names: np.ndarray[Any, Any], steps: int) -> list[int]:
    """Distances at which equations, and windows of them, come again most often."""
    found: set[int] = set()
    width, size = 1, len(names)
    for _ in range(WINDOWS):
        order = np.argsort(names, kind="stable")
        again = names[order[1:]] == names[order[:-1]]
        counts = np.bincount(np.diff(order)[again])
        often = np.argsort(counts)[-CANDIDATES:]
        found.update(int(d) for d in often if counts[d] >= steps - 1)
        if len(names) <= width:
            break
        pairs = names[:-width].astype(np.int64) * (int(names.max()) + 1) + names[width:]
        names = np.unique(pairs, return_inverse=True)[1]
        width *= 2
    # a step may hold what is alike several times, of which the distance of two is a part
    whole = {d * m for d in found for m in range(1, PARTS + 1)}
    return sorted(d for d in whole if d * steps <= size)
