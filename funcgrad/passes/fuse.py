"""Fusion: the equations of a graph gathered into regions, each of which becomes one kernel.

Equations are taken in order. An elementwise one joins the regions of its operands, merging them,
where their axes agree, their reductions still fit into one loop nest and no cycle arises between
kernels; a reduction joins the region of its operand. What does not join starts a region of its
own and reads the others' results from memory; cheap values are computed again instead. Views of
what lies in memory are only strides. Everything else is a step of the host program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.passes.operands import domain, held, spread
from funcgrad.passes.region import (
    COLUMN_LIMIT,
    Axis,
    Labels,
    Reduction,
    Region,
    inner_axes,
    size,
)
from funcgrad.passes.views import VIEWS, View, keeps_elements, view_of, whole

__all__ = ["Plan", "fuse"]

SMALL = 8192  # up to here a total that is used again does not end its kernel
CHEAP = 3  # operations that are done again rather than kept in memory


@dataclass
class Plan:
    """What fusion found: the steps in an order in which they can run.

    Attributes
    ----------
    steps : list
        Regions, and equations for the host program.
    views : dict
        Variables that are views of what lies in memory.
    labels : dict
        The axes of every value of a region.
    domains : dict
        For the result of a reduction the axes of its operand.
    same : dict
        Variables of regions that are another one, on other axes.
    uniform : dict
        Variables all of whose elements are one number.
    escaping : set
        Variables of regions that have to be written to memory.
    notes : list of str
        Why something was not fused.
    """

    graph: Graph
    steps: list[Region | Equation] = field(default_factory=list)
    views: dict[Var, View] = field(default_factory=dict)
    labels: dict[Var, Labels] = field(default_factory=dict)
    domains: dict[Var, Labels] = field(default_factory=dict)
    same: dict[Var, Var] = field(default_factory=dict)
    uniform: dict[Var, Literal] = field(default_factory=dict)
    escaping: set[Var] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def fuse(
    graph: Graph,
    elementwise: Callable[[Equation], bool],
    reduction: Callable[[Equation], bool],
) -> Plan:
    """The plan of a graph.

    Parameters
    ----------
    graph : Graph
    elementwise : callable
        Whether an equation has a scalar body. The first operand of a gather is read from memory.
    reduction : callable
        Whether an equation is a reduction that a loop can do.
    """
    return _Fusion(graph, elementwise, reduction).run()


class _Trial:
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


class _Fusion:
    def __init__(
        self,
        graph: Graph,
        elementwise: Callable[[Equation], bool],
        reduction: Callable[[Equation], bool],
    ) -> None:
        self.plan = Plan(graph)
        self.elementwise, self.reduction = elementwise, reduction
        self.units: list[Region | Equation | None] = []
        self.before: list[int] = []  # for each unit, as bits, those that run before it
        self.unit: dict[Var, int] = {}  # the unit that computes or holds a value
        self.region: dict[Var, Region] = {}  # of values that are computed in a region
        self.reduced: dict[Var, frozenset[Var]] = {}  # inner reductions a value depends on
        self.definition: dict[Var, Equation] = {}
        self.copies: set[Var] = set()  # of cheap values, computed again in another region
        self.next = 1 + max(
            [v.id for v in graph.inputs]
            + [v.id for v, _ in graph.constants]
            + [v.id for e in graph.equations for v in e.outputs],
            default=0,
        )

    def run(self) -> Plan:
        plan, graph = self.plan, self.plan.graph
        for v in (*graph.inputs, *(v for v, _ in graph.constants)):
            plan.views[v] = whole(v)
        for e in graph.equations:
            self.add(e)
        for o in graph.outputs:
            if isinstance(o, Var):
                self.escape(o)
        self.order()
        return plan

    def add(self, e: Equation) -> None:
        if e.prim.name in VIEWS:
            self.add_view(e)
        elif all(o.type.size for o in e.outputs) and self.elementwise(e) and self.has_source(e):
            self.add_elementwise(e)
        elif all(o.type.size for o in e.outputs) and self.reduction(e):
            self.add_reduction(e)
        else:
            self.add_host(e)

    # ------------------------------------------------------------------------------ units

    def new_unit(self, what: Region | Equation, producers: int) -> int:
        number = len(self.units)
        self.units.append(what)
        self.before.append(0)
        self.extend(number, producers)
        return number

    def extend(self, number: int, producers: int) -> None:
        """Say that `producers` run before a unit, and so before what runs after it."""
        more = producers
        for k in bits(producers):
            more |= self.before[k]
        self.before[number] |= more
        more |= 1 << number
        for k, seen in enumerate(self.before):
            if seen >> number & 1:
                self.before[k] |= more

    def legal(self, merged: int, producers: int) -> bool:
        """Whether units can be one, reading from `producers`, without a cycle between units."""
        ahead = producers
        for k in bits(merged | producers):
            ahead |= self.before[k]
        return all(not self.before[k] & merged for k in bits(ahead & ~merged))

    def producers_of(self, atoms: Iterable[Atom]) -> int:
        found = 0
        for a in atoms:
            if isinstance(a, Var) and a in self.unit:
                found |= 1 << self.unit[a]
        return found

    def has_source(self, e: Equation) -> bool:
        """Not so where a gather takes from one number in all places: that lies in no memory."""
        x = e.inputs[0]
        return e.prim.name != "gather" or (isinstance(x, Var) and x not in self.plan.uniform)

    def add_host(self, e: Equation) -> None:
        number = self.new_unit(e, self.producers_of(e.inputs))
        for a in e.inputs:
            self.escape(a)
        for v in e.outputs:
            self.unit[v] = number
            self.plan.views[v] = whole(v)

    def escape(self, a: Atom) -> None:
        """Have the value written to memory, if a region computes it."""
        if not isinstance(a, Var) or a in self.plan.uniform:
            return
        if a in self.region:
            base = self.plan.same.get(a, a)
            self.plan.escaping.add(base)
            self.memory(a)
        elif a in self.plan.views:
            base = self.plan.views[a].base
            if base in self.region:
                self.plan.escaping.add(base)

    def memory(self, a: Var) -> View | None:
        """How to read a value from memory; None where that takes a copy."""
        known = self.plan.views.get(a)
        if known is not None:
            return known
        view: View | None
        if a in self.plan.same:
            source = self.memory(self.definition[a].inputs[0])  # type: ignore[arg-type]
            assert source is not None
            view = view_of(self.definition[a], source)
        else:
            view = whole(a)
        if view is not None:
            self.plan.views[a] = view
        return view

    # ------------------------------------------------------------------------------ views

    def add_view(self, e: Equation) -> None:
        (v,), (x,) = e.outputs, e.inputs
        plan = self.plan
        if isinstance(x, Literal) or x in plan.uniform:
            if v.type.dtype == x.type.dtype:
                plan.uniform[v] = x if isinstance(x, Literal) else plan.uniform[x]
                return self.define(e)
            return self.add_host(e)
        if x in self.region and v.type.size:
            kept = keeps_elements(e)
            if kept is not None:
                old = plan.labels[x]
                plan.labels[v] = tuple(
                    (Axis(n) if n != 1 else None) if k is None else old[k]
                    for k, n in zip(kept, v.type.shape, strict=True)
                )
                plan.same[v] = plan.same.get(x, x)
                self.region[v], self.unit[v] = self.region[x], self.unit[x]
                self.reduced[v] = self.reduced[x]
                if x in self.region[x].late:
                    self.region[x].late.add(v)
                return self.define(e)
        source = self.memory(x)
        view = None if source is None or v.type.size == 0 else view_of(e, source)
        if view is None or view.base.type.dtype != v.type.dtype:
            return self.add_host(e)
        self.escape(x)
        plan.views[v] = view
        if x in self.unit:
            self.unit[v] = self.unit[x]
        return self.define(e)

    def define(self, e: Equation) -> None:
        for v in e.outputs:
            self.definition[v] = e

    # ------------------------------------------------------------------------- reductions

    def add_reduction(self, e: Equation) -> None:
        if e.prim.name == "scatter_add":
            return self.add_elementwise(e)
        x = e.inputs[0]
        (v,) = e.outputs
        if isinstance(x, Literal) or x in self.plan.uniform:
            return self.add_host(e)
        if x not in self.region:
            self.start(e, x)
            return None
        region = self.region[x]
        labels = self.plan.labels[x]
        over = frozenset(a.find() for k in e.params["axes"] if (a := labels[k]) is not None)
        domain = frozenset(a.find() for a in labels if a is not None)
        region.resolve()
        more = [*region.reductions, Reduction(v, domain, over)]
        axes = region.axes | domain
        pinned = self.pin(region, self.reduced[x], region.inner)
        if (
            not over
            or x in region.late
            or isinstance(pinned, bool)
            or (axes != region.axes and region.reductions)
            or inner_axes(axes, pinned, more) is None
        ):
            self.note(e, "starts a kernel: its axes do not fit the loops of its operand")
            self.start(e, x)
            return None
        region.axes, region.inner, region.reductions = axes, pinned, more
        return self.place_reduction(e, region, labels, self.reduced[x])

    def start(self, e: Equation, x: Var) -> None:
        """A region that begins with a reduction of a value in memory."""
        if self.source(x) is None:
            return self.add_host(e)
        labels: Labels = tuple(Axis(n) if n != 1 else None for n in x.type.shape)
        domain = frozenset(a for a in labels if a is not None)
        over = frozenset(a for k in e.params["axes"] if (a := labels[k]) is not None)
        if not over:
            return self.add_host(e)
        (v,) = e.outputs
        region = Region(0, axes=domain, reductions=[Reduction(v, domain, over)])
        region.reads[x] = labels
        region.external.add(x)
        region.number = self.new_unit(region, self.producers_of([x]))
        return self.place_reduction(e, region, labels, frozenset())

    def place_reduction(
        self, e: Equation, region: Region, labels: Labels, reduced: frozenset[Var]
    ) -> None:
        (v,) = e.outputs
        axes = e.params["axes"]
        self.plan.domains[v] = labels
        if e.params["keepdims"]:
            left: Labels = tuple(None if k in axes else a for k, a in enumerate(labels))
        else:
            left = tuple(a for k, a in enumerate(labels) if k not in axes)
        self.plan.labels[v] = left
        self.reduced[v] = reduced | {v}
        self.place(e, region)

    def place(self, e: Equation, region: Region) -> None:
        region.equations.append(e)
        for v in e.outputs:
            self.region[v], self.unit[v] = region, region.number
        self.define(e)

    def source(self, x: Atom) -> View | None:
        """How to read an operand from memory, which is then written there."""
        if not isinstance(x, Var) or x in self.plan.uniform:
            return None
        view = self.memory(x)
        if view is not None:
            self.escape(x)
        return view

    def is_number(self, a: Var, v: Var) -> bool:
        """Whether `a` is a number that takes long, for the loops of `v`: it is computed before."""
        region = self.region[a]
        if region.axes or not any(n > 1 for n in v.type.shape):
            return False
        return any(e.prim.name not in CHEAP_OPERATIONS for e in region.equations)

    def is_stored(self, a: Atom) -> bool:
        return isinstance(a, Var) and a not in self.plan.uniform

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

    # ------------------------------------------------------------------------ elementwise

    def add_elementwise(self, e: Equation) -> None:
        (v,) = e.outputs
        fixed = {e.inputs[k] for k in held(e)}
        soft = {
            a: self.region[a]
            for a in e.inputs
            if isinstance(a, Var)
            and a in self.region
            and a not in fixed
            and not self.is_number(a, v)
        }
        regions = sorted({r.number: r for r in soft.values()}.values(), key=lambda r: -size(r.axes))
        for a in fixed:
            number = not self.is_stored(a) and e.prim.name != "gather"  # of a piece
            if not number and self.source(a) is None:
                return self.add_host(e)
        if self.join_late(e, regions):
            return None
        why = None
        for chosen in _choices(regions):
            found = self.join(e, chosen, soft)
            why = why or found
            if found is None:
                if why is not None:
                    self.note(e, f"is apart from some of its operands: {why}")
                return None
        if regions:
            repeated = self.repeat_cheap(e)
            if repeated is not None:
                return self.add_elementwise(repeated)
            self.note(e, f"starts a kernel: {why}")
        external = [a for a in e.inputs if isinstance(a, Var) and a not in self.plan.uniform]
        if any(self.source(a) is None for a in external):
            return self.add_host(e)
        labels: Labels = tuple(Axis(n) if n != 1 else None for n in domain(e))
        region = Region(0, axes=frozenset(a for a in labels if a is not None))
        region.number = self.new_unit(region, self.producers_of(external))
        for a in external:
            self.read(region, e, a, list(labels))
        if e.prim.name == "scatter_add":
            region.reductions.append(Reduction(v, region.axes, region.axes, True))
            return self.place_scatter(e, region, labels)
        self.plan.labels[v], self.reduced[v] = labels, frozenset()
        self.place(e, region)
        return None

    def place_scatter(self, e: Equation, region: Region, labels: Labels) -> None:
        """The result is read from memory: its axes are not those of the loops."""
        (v,) = e.outputs
        self.plan.domains[v] = labels
        self.plan.labels[v], self.plan.views[v] = (), whole(v)
        self.plan.escaping.add(v)
        region.equations.append(e)
        self.unit[v] = region.number

    def read(self, region: Region, e: Equation, a: Var, labels: list[Axis | None]) -> None:
        """Note along which axes an array in memory is walked."""
        region.external.add(a)
        k = e.inputs.index(a)
        if k not in held(e):
            own = (None if p is None else labels[p] for p in spread(e, k))
            region.reads.setdefault(a, tuple(own))

    def join(self, e: Equation, regions: list[Region], soft: dict[Var, Region]) -> str | None:
        """Merge the equation and these regions into one; else say why not, and change nothing."""
        (v,) = e.outputs
        numbers = sum(1 << r.number for r in regions)
        inside = [a for a, r in soft.items() if r in regions]
        outside = [
            a for a in e.inputs if isinstance(a, Var) and self.is_stored(a) and a not in inside
        ]
        if any(a in r.late for r in regions for a in inside):
            return "an operand is known only when its kernel has ended"
        producers = self.producers_of(outside)
        finished = self.producers_of([a for r in regions for a in r.external])
        if (producers | finished) & numbers or not self.legal(numbers, producers):
            return "two kernels would wait for each other"
        if any(self.memory(a) is None for a in outside):
            return "an operand has to be copied"
        scatters = e.prim.name == "scatter_add"
        if scatters and v.type.size > COLUMN_LIMIT and math.prod(domain(e)) > SMALL:
            return "what it adds into is too large for each thread to have its own"
        trial = _Trial()
        labels = [Axis(n) if n != 1 else None for n in domain(e)]
        for k, a in enumerate(e.inputs):
            if a not in inside or not isinstance(a, Var):
                continue
            for at, theirs in zip(spread(e, k), self.plan.labels[a], strict=True):
                if at is not None and labels[at] is not None and theirs is not None:
                    trial.unify(labels[at], theirs)  # type: ignore[arg-type]
        for r in regions:
            r.resolve()
        _align_regions(trial, regions)
        _align(trial, e, labels, regions, outside)
        mine = frozenset(trial.find(a) for a in labels if a is not None)
        if len(mine) != sum(a is not None for a in labels):
            return "two axes of the result would be one loop"
        axes = mine
        for r in regions:
            moved = trial.set_of(r.axes)
            if len(moved) != len(r.axes):
                return "two axes of a kernel would be one loop"
            axes |= moved
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
        self.extend(region.number, producers)
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

    def inner_after(
        self,
        trial: _Trial,
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
        if mine != axes and not mine and not any(self.reduced[a] for a in inside) and axes:
            return "a scalar has no place in these loops"
        if len(wanted) > 1 or (axes in wanted and any(r.late for r in regions)):
            return "its operands are walked in different ways"
        return wanted.pop() if wanted else None

    def merge(
        self,
        regions: list[Region],
        axes: frozenset[Axis],
        inner: frozenset[Axis] | None,
        reductions: list[Reduction],
    ) -> Region:
        target, *others = sorted(regions, key=lambda r: r.number)
        for r in others:
            for e in r.equations:
                target.equations.append(e)
            target.late |= r.late
            target.external |= r.external
            for a, labels in r.reads.items():
                target.reads.setdefault(a, labels)
            self.units[r.number] = None
            self.extend(target.number, self.before[r.number] & ~(1 << target.number))
            for k, seen in enumerate(self.before):
                if seen >> r.number & 1:
                    self.before[k] = seen & ~(1 << r.number) | 1 << target.number
            for v, owner in self.region.items():
                if owner is r:
                    self.region[v], self.unit[v] = target, target.number
            for v, number in self.unit.items():
                if number == r.number:
                    self.unit[v] = target.number
        for k in bits(self.before[target.number]):
            assert not self.before[k] >> target.number & 1
        for k, seen in enumerate(self.before):
            if seen >> target.number & 1:
                self.before[k] |= self.before[target.number]
        target.axes, target.inner, target.reductions = axes, inner, reductions
        return target

    # ------------------------------------------------------------------------ scalars, late

    def join_late(self, e: Equation, regions: list[Region]) -> bool:
        """A scalar of totals joins their kernel, to be computed when all chunks are done."""
        (v,) = e.outputs
        if v.type.shape != () or len(regions) != 1 or held(e) or e.prim.name == "scatter_add":
            return False
        (region,) = regions
        region.resolve()
        if region.inner == region.axes:
            return False
        if region.inner is None and size(region.axes) <= SMALL and not region.late:
            return False
        totals = {r.output for r in region.reductions if r.over == region.axes}
        inside = [a for a in e.inputs if isinstance(a, Var) and self.region.get(a) is region]
        if not all(a in totals or a in region.late for a in inside):
            return False
        outside = [a for a in e.inputs if isinstance(a, Var) and a not in inside]
        outside = [a for a in outside if a not in self.plan.uniform]
        producers = self.producers_of(outside)
        if producers >> region.number & 1 or not self.legal(1 << region.number, producers):
            return False
        if any(self.source(a) is None for a in outside):
            return False
        self.extend(region.number, producers)
        region.external.update(outside)
        self.plan.labels[v], self.reduced[v] = (), frozenset()
        region.late.add(v)
        self.place(e, region)
        return True

    # ----------------------------------------------------------------------- computed again

    def repeat_cheap(self, e: Equation) -> Equation | None:
        """The equation on copies of those operands that are cheap and read memory only."""
        changed = False
        inputs = list(e.inputs)
        for k, a in enumerate(inputs):
            made = self.definition.get(a) if isinstance(a, Var) else None
            if made is None or not isinstance(a, Var) or a not in self.region:
                continue
            if len(made.inputs) == 0 or made.prim.name in VIEWS or not self.cheap(made):
                continue
            if a in self.copies:
                continue  # it did not help
            copy = Var(a.type, self.next)
            self.copies.add(copy)
            self.next += 1
            self.add_elementwise(made._replace(outputs=(copy,)))
            inputs[k] = copy
            changed = True
        return e._replace(inputs=tuple(inputs)) if changed else None

    def cheap(self, made: Equation) -> bool:
        if not self.elementwise(made) or made.prim.name not in CHEAP_OPERATIONS:
            return False
        return made.outputs[0].type.shape != () and all(
            not isinstance(a, Var) or a in self.plan.uniform or a not in self.region
            for a in made.inputs
        )

    def note(self, e: Equation, why: str) -> None:
        self.plan.notes.append(f"{e.prim.name} {e.outputs[0].type} {why}")

    # -------------------------------------------------------------------------------- order

    def order(self) -> None:
        """The units in an order in which each runs after those that it reads from."""
        alive = [k for k, u in enumerate(self.units) if u is not None]
        alive.sort(key=lambda k: (self.before[k].bit_count(), k))
        for k in alive:
            unit = self.units[k]
            assert unit is not None
            if isinstance(unit, Region):
                unit.resolve()
                _sort(unit, self.plan.same)
            self.plan.steps.append(unit)


CHEAP_OPERATIONS = {
    *("add", "subtract", "multiply", "negative", "where", "equal", "less", "greater", "cast"),
}


def _align_regions(trial: _Trial, regions: list[Region]) -> None:
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


def _number(a: Axis) -> int:
    return a.number


def _align(
    trial: _Trial,
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


def _choices(regions: list[Region]) -> list[list[Region]]:
    """All of them; else one alone, the largest first."""
    if len(regions) < 2:
        return [regions] if regions else []
    return [regions, *([r] for r in regions)]


def bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _sort(region: Region, same: dict[Var, Var]) -> None:
    """Operands before their use: merges append what came earlier."""
    made = {v: e for e in region.equations for v in e.outputs}
    done: set[int] = set()
    ordered: list[Equation] = []
    for start in region.equations:
        stack = [start]
        while stack:
            e = stack[-1]
            if id(e) in done:
                stack.pop()
                continue
            read = [same.get(a, a) for a in e.inputs if isinstance(a, Var)]
            waiting = [made[a] for a in read if a in made and id(made[a]) not in done]
            if waiting:
                stack += waiting
                continue
            done.add(id(e))
            ordered.append(e)
            stack.pop()
    region.equations = ordered
