"""Merges: an equation and the regions of its operands become one, if one loop nest does them.

Their axes have to agree, every reduction needs its place, and no kernel may wait for another one
that waits for it. Nothing is changed before all that is known.
"""

from __future__ import annotations

import math

from funcgrad.graph.ir import Equation, Var
from funcgrad.ops import records
from funcgrad.passes.align import Trial, align, align_regions
from funcgrad.passes.fusion_state import FusionState, is_cheap
from funcgrad.passes.operands import domain, pieces, spread
from funcgrad.passes.region import COLUMN_LIMIT, Axis, Labels, Reduction, Region, inner_axes
from funcgrad.passes.views import whole

__all__ = ["Merges"]

SMALL = 8192  # up to here a chunk is all that is scattered


class Merges(FusionState):
    """What is known, and how regions grow."""

    def join(self, e: Equation, regions: list[Region], soft: dict[Var, Region]) -> str | None:
        """Merge the equation and these regions into one; else say why not, and change nothing."""
        (v,) = e.outputs
        if len(regions) == 1 and self.continues(e, regions[0], soft):
            return None
        numbers = sum(1 << r.number for r in regions)
        inside = [a for a, r in soft.items() if r in regions]
        outside = [
            a for a in e.inputs if isinstance(a, Var) and self.is_stored(a) and a not in inside
        ]
        if any(a in r.late for r in regions for a in inside):
            return "an operand is known only when its kernel has ended"
        producers = self.producers_of(outside)
        finished = self.producers_of([a for r in regions for a in r.external])
        if (producers | finished) & numbers or not self.dependencies.legal(numbers, producers):
            return "two kernels would wait for each other"
        if any(self.memory(a) is None for a in outside):
            return "an operand has to be copied"
        scatters = e.prim is records.SCATTER_ADD
        if scatters and v.type.size > COLUMN_LIMIT and math.prod(domain(e)) > SMALL:
            return "what it adds into is too large for each thread to have its own"
        trial = Trial()
        labels = [Axis(n) if n != 1 else None for n in domain(e)]
        for k, a in enumerate(e.inputs):
            if a not in inside or not isinstance(a, Var):
                continue
            for at, theirs in zip(spread(e, k), self.plan.labels[a], strict=True):
                if at is not None and labels[at] is not None and theirs is not None:
                    trial.unify(labels[at], theirs)  # type: ignore[arg-type]
        for r in regions:
            r.resolve()
        align_regions(trial, regions)
        align(trial, e, labels, regions, outside)
        mine = frozenset(trial.find(a) for a in labels if a is not None)
        if len(mine) != sum(a is not None for a in labels):
            return "two axes of the result would be one loop"
        axes = mine
        for r in regions:
            moved = trial.set_of(r.axes)
            if len(moved) != len(r.axes):
                return "two axes of a kernel would be one loop"
            axes |= moved
        if axes and not mine and not is_cheap(e) and not any(self.reduced[a] for a in inside):
            return "a number that takes long has no place in these loops"
        inner = self.inner_after(trial, regions, inside, axes, mine)
        if isinstance(inner, str):
            return inner
        reductions = [
            r._replace(domain=trial.set_of(r.domain), over=trial.set_of(r.over))
            for region in regions
            for r in region.reductions
        ]
        if scatters:
            reductions.append(Reduction(v, mine, mine, True))
        if inner_axes(axes, inner, reductions) is None:
            return "the reductions do not fit into one loop nest"
        trial.commit()
        region = self.merge(regions, axes, inner, reductions)
        self.dependencies.extend(region.number, producers)
        for a in outside:
            self.escape(a)
            self.read(region, e, a, labels)
        found = tuple(None if a is None else a.find() for a in labels)
        if scatters:
            self.place_scatter(e, region, found)
            return None
        self.plan.labels[v] = found
        self.reduced[v] = frozenset().union(*(self.reduced[a] for a in inside))
        self.place(e, region)
        return None

    def continues(self, e: Equation, region: Region, soft: dict[Var, Region]) -> bool:
        """Add an equation that is computed where its operands are: nothing has to be merged.

        So it is with most equations of a long chain. All operands are numbers or values of the
        region, on all of its axes in the same order, and depend on no reduction.
        """
        labels = None
        for a in e.inputs:
            if not isinstance(a, Var) or a in self.plan.uniform:
                continue
            if soft.get(a) is not region or a in region.late or self.reduced[a]:
                return False
            own = self.plan.labels[a]
            if labels is not None and own != labels:
                return False
            labels = own
        (v,) = e.outputs
        if labels is None or e.prim is records.SCATTER_ADD or region.late or pieces(e) is not None:
            return False
        found = tuple(a if a is None else a.find() for a in labels)
        if tuple(1 if a is None else a.extent for a in found) != v.type.shape:
            return False
        axes = frozenset(a for a in found if a is not None)
        region.resolve()
        if axes != region.axes or len(axes) != sum(a is not None for a in found):
            return False
        self.plan.labels[v], self.reduced[v] = found, frozenset()
        self.place(e, region)
        return True

    def inner_after(
        self,
        trial: Trial,
        regions: list[Region],
        inside: list[Var],
        axes: frozenset[Axis],
        mine: frozenset[Axis],
    ) -> frozenset[Axis] | str | None:
        """The inner axes that the merge fixes; None leaves them open, a text says why not."""
        wanted: set[frozenset[Axis]] = set()
        for r in regions:
            moved = trial.set_of(r.axes)
            if r.inner is not None:
                wanted.add(trial.set_of(r.inner))
            if moved != axes:
                if r.reductions or (r.inner is not None):
                    return "it has more axes than the reductions of its operands"
                if moved:
                    wanted.add(axes - moved)  # its values are one a row
            for a in inside:
                pinned = self.pin(r, self.reduced[a], None)
                if isinstance(pinned, bool):
                    return "its operands are reductions over different axes"
                if pinned:
                    wanted.add(trial.set_of(pinned))
        if mine != axes and mine:
            wanted.add(axes - mine)
        if len(wanted) > 1 or (axes in wanted and any(r.late for r in regions)):
            return "its operands are walked in different ways"
        return wanted.pop() if wanted else None

    def pin(
        self, region: Region, reduced: frozenset[Var], inner: frozenset[Axis] | None
    ) -> frozenset[Axis] | bool | None:
        """The inner axes if results of these reductions are used; True if they disagree."""
        for r in region.reductions:
            if r.output in reduced:
                if inner is not None and inner != r.over:
                    return True
                inner = r.over
        return inner

    def merge(
        self,
        regions: list[Region],
        axes: frozenset[Axis],
        inner: frozenset[Axis] | None,
        reductions: list[Reduction],
    ) -> Region:
        target, *others = sorted(regions, key=lambda r: self.dependencies.age[r.number])
        for r in others:
            for e in r.equations:
                target.equations.append(e)
            target.late |= r.late
            target.external |= r.external
            for a, labels in r.reads.items():
                target.reads.setdefault(a, labels)
            self.dependencies.merge(target.number, r.number)
            for v in self.held.pop(r.number):
                self.hold(v, target.number)
                if v in self.region:
                    self.region[v] = target
        target.axes, target.inner, target.reductions = axes, inner, reductions
        return target

    def place_scatter(self, e: Equation, region: Region, labels: Labels) -> None:
        """The result is read from memory: its axes are not those of the loops."""
        (v,) = e.outputs
        self.plan.domains[v] = labels
        self.plan.labels[v], self.plan.views[v] = (), whole(v)
        self.plan.escaping.add(v)
        region.equations.append(e)
        self.hold(v, region.number)
