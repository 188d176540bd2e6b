"""Which axes of regions become the same when they are merged, tried before anything is changed."""

from __future__ import annotations

from funcgrad.graph.ir import Equation, Var
from funcgrad.passes.operands import held, spread
from funcgrad.passes.region import Axis, Region

__all__ = ["Trial", "align", "align_regions"]


class Trial:
    """A tentative merge of regions with one equation: axes that would become the same."""

    def __init__(self) -> None:
        self.merged: dict[Axis, Axis] = {}

    def find(self, a: Axis) -> Axis:
        a = a.find()
        while a in self.merged:
            a = self.merged[a]
        return a

    def unify(self, a: Axis, b: Axis) -> None:
        a, b = self.find(a), self.find(b)
        if a is not b:
            self.merged[a] = b

    def set_of(self, axes: frozenset[Axis]) -> frozenset[Axis]:
        return frozenset(map(self.find, axes))

    def commit(self) -> None:
        for a, b in self.merged.items():
            a.same = b


def align_regions(trial: Trial, regions: list[Region]) -> None:
    """Let axes of one region be axes of another, where they have nothing to say against it."""
    for k, r in enumerate(regions[1:], 1):
        for other in regions[:k]:
            mine, theirs = trial.set_of(r.axes), trial.set_of(other.axes)
            left = [a for a in sorted(theirs, key=_number) if a not in mine]
            for v, labels in r.reads.items():
                for a, b in zip(labels, other.reads.get(v, ()), strict=False):
                    if a is None or b is None:
                        continue
                    a, b = trial.find(a), trial.find(b)
                    if a not in theirs and b in left:
                        trial.unify(a, b)
                        left.remove(b)
            for a in sorted(trial.set_of(r.axes) - theirs, key=_number):
                same = [b for b in left if b.extent == a.extent]
                if same:
                    trial.unify(a, same[0])
                    left.remove(same[0])


def align(
    trial: Trial,
    e: Equation,
    labels: list[Axis | None],
    regions: list[Region],
    outside: list[Var],
) -> None:
    """Let axes of the result that are still free be axes of the regions.

    First as an array in memory is walked there already, then any of the same extent: which loop
    runs over an axis makes no difference to the values.
    """
    known_axes = frozenset(a for r in regions for a in r.axes)

    def free(a: Axis | None) -> bool:
        return a is not None and trial.find(a) not in taken

    taken = trial.set_of(known_axes)
    used = {trial.find(a) for a in labels if a is not None}
    for a in outside:
        k = e.inputs.index(a)
        for r in regions if k not in held(e) else ():
            known = r.reads.get(a)
            if known is None:
                continue
            for at, theirs in zip(spread(e, k), known, strict=True):
                mine = None if at is None else labels[at]
                if mine is None or theirs is None or not free(mine):
                    continue
                if trial.find(theirs) not in used:
                    trial.unify(mine, theirs)
                    used.add(trial.find(theirs))
    left = sorted((a for a in taken if a not in used), key=_number)
    for mine in labels:
        if mine is not None and free(mine):
            same = [a for a in left if a.extent == mine.extent]
            if same:
                trial.unify(mine, same[0])
                left.remove(same[0])


def _number(a: Axis) -> int:
    return a.number
