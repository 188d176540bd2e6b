"""The stages of a row: inner reductions divide the work on it into loops one after the other.

What an earlier stage computed at some cost is kept for the later ones, in the memory of an output
or in a row of scratch memory.
"""

from __future__ import annotations

import numpy as np

from funcgrad.compile.layout import BLOCK
from funcgrad.compile.reads import Reads
from funcgrad.compile.values import SCRATCH_LIMIT
from funcgrad.graph.ir import Var
from funcgrad.ops import records

__all__ = ["Stages"]

KEPT_COST = 8  # what it has to cost to compute a value again for it to be kept in scratch


class Stages:
    """What each loop over a row computes, and what it keeps."""

    def __init__(self, reads: Reads) -> None:
        self.reads = reads
        self.plan, self.layout = reads.plan, reads.layout
        self.reductions, self.made, self.outputs = reads.reductions, reads.made, reads.outputs

    def in_stage(self, v: Var) -> bool:
        """Whether a value is stored for every element of a row."""
        inner = {a for d in self.layout.inner for a in d.axes}
        return any(a is not None and a.find() in inner for a in self.plan.labels[v])

    def plan_stages(self) -> int:
        """Which roots each stage computes: reductions, outputs, and what a matrix mixes.

        The latter two as soon as they can be.
        """
        self.roots: dict[int, list[Var]] = {}
        self.mixed: dict[Var, None] = {}
        for e in self.reads.main:
            v = e.outputs[0]
            if e.prim is records.MATMUL and (x := self.reads.inside(e.inputs[1])) is not None:
                self.mixed[x] = None
                if x not in self.outputs and x not in self.roots.get(self.reads.stage[x] + 1, []):
                    self.roots.setdefault(self.reads.stage[x] + 1, []).append(x)
            if v in self.reductions and self.is_inner(v):
                self.roots.setdefault(self.reads.stage[v], []).append(v)
            elif v in self.outputs and v not in self.reductions and self.in_stage(v):
                self.roots.setdefault(self.reads.stage[v] + 1, []).append(v)
        return max(self.roots, default=0)

    def is_inner(self, v: Var) -> bool:
        """Whether a reduction needs a loop over the elements of a row."""
        r = self.reductions[v]
        inner = {a for d in self.layout.inner for a in d.axes}
        return bool(r.domain & inner)

    def plan_scratch(self, last: int) -> None:
        """What is computed in one stage and kept for the later ones, and in what memory.

        That of an output, its own or one that is made of this value later, or a row of scratch.
        """
        self.kept: dict[Var, Var | None] = {}
        self.again: dict[Var, int] = {}
        early: set[Var] = set()
        for k in range(1, last + 1):
            now: dict[Var, None] = {}
            for root in self.roots.get(k, []):
                self.reach(root, now, early, k)
            early |= set(now)
        sizes = [BLOCK if d is self.layout.blocked else d.extent for d in self.layout.inner]
        for v in self.again:
            if v in self.mixed:
                self.kept[v] = None
            elif v in self.outputs and self.in_stage(v):
                self.kept[v] = v
            elif not self.layout.across and int(np.prod(sizes)) <= SCRATCH_LIMIT:
                self.kept[v] = None
            elif (output := self.borrowed(v)) is not None:
                self.kept[v] = output

    def borrowed(self, v: Var) -> Var | None:
        """An output of the same elements that is the last thing made of a value."""
        labels = [None if a is None else a.find() for a in self.plan.labels[v]]
        for o in self.roots.get(self.again[v], []):
            own = [None if a is None else a.find() for a in self.plan.labels[o]]
            fits = (
                o not in self.reductions
                and own == labels
                and self.reads.dtype(o) == self.reads.dtype(v)
            )
            if fits and o not in self.kept.values() and self.is_made_of(o, v):
                return o
        return None

    def is_made_of(self, o: Var, v: Var) -> bool:
        """Whether each element of an output needs the element of a value."""
        stack, seen = [o], {o}
        while stack:
            for a in self.made[stack.pop()].inputs:
                base = self.reads.inside(a)
                if base is v:
                    return True
                if base is not None and base not in seen and base not in self.reductions:
                    seen.add(base)
                    stack.append(base)
        return False

    def reach(self, root: Var, now: dict[Var, None], early: set[Var], k: int) -> None:
        """The values of each element that a root needs, but for those worth keeping."""
        stack = [root]
        if root not in self.reductions:
            now[root] = None
        while stack:
            for a in self.made[stack.pop()].inputs:
                base = self.reads.inside(a)
                if (
                    base is None
                    or base in now
                    or base in self.reductions
                    or self.reads.level(base) < 2
                ):
                    continue
                now[base] = None
                kept = base in self.outputs or base in self.mixed
                if base in early and (kept or self.expense(base) >= KEPT_COST):
                    self.again[base] = k
                else:
                    stack.append(base)

    def expense(self, v: Var) -> int:
        """What it costs to compute a value of an element again."""
        total, stack, seen = 0, [v], {v}
        while stack:
            x = stack.pop()
            total += self.made[x].prim.cost
            for a in self.made[x].inputs:
                base = self.reads.inside(a)
                if base is None or base in seen or base in self.reductions:
                    continue
                if self.reads.level(base) == 2 and base not in self.again:
                    seen.add(base)
                    stack.append(base)
        return total
