"""Fusion: the equations of a graph gathered into regions, each of which becomes one kernel.

Equations are taken in order. An elementwise one joins the regions of its operands, merging them,
where their axes agree, their reductions still fit into one loop nest and no cycle arises between
kernels; a reduction joins the region of its operand. What does not join starts a region of its
own and reads the others' results from memory; cheap values are computed again instead. Views of
what lies in memory are only strides. Everything else is a step of the host program.
"""

from __future__ import annotations

from collections.abc import Callable

from funcgrad.graph.effects import has_effect
from funcgrad.graph.ir import Equation, Graph, Literal, Var
from funcgrad.ops import records
from funcgrad.passes.fusion_state import is_cheap
from funcgrad.passes.merges import Merges
from funcgrad.passes.operands import domain, held, mixes
from funcgrad.passes.plan import Plan
from funcgrad.passes.region import Axis, Labels, Reduction, Region, inner_axes, size
from funcgrad.passes.views import keeps_elements, view_of, whole

__all__ = ["fuse"]


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


class _Fusion(Merges):
    """Takes the equations in order, each to where it belongs."""

    def __init__(
        self,
        graph: Graph,
        elementwise: Callable[[Equation], bool],
        reduction: Callable[[Equation], bool],
    ) -> None:
        super().__init__(graph)
        self.elementwise, self.reduction = elementwise, reduction
        self.mixed = {e.inputs[1] for e in graph.equations if mixes(e)}
        self.effect = 0  # the last step with an effect: they run in the order of the program
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
        if e.prim.multiple:  # may have no operands, and no results
            self.add_host(e)
        elif e.prim.view:
            self.add_view(e)
        elif all(o.type.size for o in e.outputs) and self.elementwise(e) and self.has_source(e):
            self.add_elementwise(e)
        elif all(o.type.size for o in e.outputs) and self.reduction(e):
            self.add_reduction(e)
        elif not (mixes(e) and self.add_mix(e)):
            self.add_host(e)

    def has_source(self, e: Equation) -> bool:
        """Not so where a gather takes from one number in all places: that lies in no memory."""
        x = e.inputs[0]
        return e.prim is not records.GATHER or (isinstance(x, Var) and x not in self.plan.uniform)

    def add_host(self, e: Equation) -> None:
        before = self.producers_of(e.inputs)
        acts = has_effect(e)
        number = self.dependencies.add(e, before | self.effect if acts else before)
        if acts:
            self.effect = 1 << number
        for a in e.inputs:
            self.escape(a)
        for v in e.outputs:
            self.hold(v, number)
            self.plan.views[v] = whole(v)

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
                self.region[v] = self.region[x]
                self.hold(v, self.unit[x])
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
            self.hold(v, self.unit[x])
        return self.define(e)

    # ------------------------------------------------------------------------- reductions

    def add_reduction(self, e: Equation) -> None:
        if e.prim is records.SCATTER_ADD:
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
        region.number = self.dependencies.add(region, self.producers_of([x]))
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

    # ------------------------------------------------------------------------ elementwise

    def add_mix(self, e: Equation) -> bool:
        """A product of a small matrix with columns that a region computes, as a part of it."""
        (matrix, x), (v,) = e.inputs, e.outputs
        if not isinstance(x, Var) or x not in self.region or not isinstance(matrix, Var):
            return False
        region, labels = self.region[x], self.plan.labels[x]
        producers = self.producers_of([matrix])
        if matrix in self.plan.uniform or self.memory(matrix) is None:
            return False
        waits = producers >> region.number & 1
        if waits or not self.dependencies.legal(1 << region.number, producers):
            return False
        if not self.walk_columns(x):
            return False
        self.dependencies.extend(region.number, producers)
        self.escape(matrix)
        region.external.add(matrix)
        self.plan.labels[v], self.reduced[v] = labels, self.reduced[x]
        self.place(e, region)
        return True

    def walk_columns(self, x: Var) -> bool:
        """Have the rows of a region be the columns that a matrix multiplies, if they can be."""
        region, labels = self.region[x], self.plan.labels[x]
        region.resolve()
        along = labels[-2]
        if along is None or labels[-1] is None or x in region.late:
            return False
        inner = frozenset([along.find()])
        pinned = self.pin(region, self.reduced[x], region.inner or inner)
        if pinned != inner or inner_axes(region.axes, inner, region.reductions) is None:
            return False
        region.inner = inner
        return True

    def is_number(self, a: Var, v: Var) -> bool:
        """Whether `a` is a number that takes long, for the loops of `v`: it is computed before."""
        region = self.region[a]
        if region.axes or not any(n > 1 for n in v.type.shape):
            return False
        return any(not is_cheap(e) for e in region.equations)

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
            number = not self.is_stored(a) and e.prim is not records.GATHER  # of a piece
            if not number and self.source(a) is None:
                return self.add_host(e)
        if self.join_late(e, regions):
            return None
        why = None
        for chosen in _choices(regions):
            found = self.join(e, chosen, soft)
            why = why or found
            if found is None:
                if v in self.mixed:
                    self.walk_columns(v)
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
        region.number = self.dependencies.add(region, self.producers_of(external))
        for a in external:
            self.read(region, e, a, list(labels))
        if e.prim is records.SCATTER_ADD:
            region.reductions.append(Reduction(v, region.axes, region.axes, True))
            return self.place_scatter(e, region, labels)
        self.plan.labels[v], self.reduced[v] = labels, frozenset()
        self.place(e, region)
        if v in self.mixed:
            self.walk_columns(v)
        return None

    # ---------------------------------------------------------------------- scalars, late

    def join_late(self, e: Equation, regions: list[Region]) -> bool:
        """A scalar of totals joins their kernel, to be computed when all chunks are done."""
        (v,) = e.outputs
        if v.type.shape != () or len(regions) != 1 or held(e) or e.prim is records.SCATTER_ADD:
            return False
        (region,) = regions
        region.resolve()
        if region.inner == region.axes:
            return False
        totals = {r.output for r in region.reductions if r.over == region.axes}
        inside = [a for a in e.inputs if isinstance(a, Var) and self.region.get(a) is region]
        if not all(a in totals or a in region.late for a in inside):
            return False
        outside = [a for a in e.inputs if isinstance(a, Var) and a not in inside]
        outside = [a for a in outside if a not in self.plan.uniform]
        producers = self.producers_of(outside)
        if producers >> region.number & 1 or not self.dependencies.legal(
            1 << region.number, producers
        ):
            return False
        if any(self.source(a) is None for a in outside):
            return False
        self.dependencies.extend(region.number, producers)
        region.external.update(outside)
        self.plan.labels[v], self.reduced[v] = (), frozenset()
        region.late.add(v)
        self.place(e, region)
        return True

    # --------------------------------------------------------------------- computed again

    def repeat_cheap(self, e: Equation) -> Equation | None:
        """The equation on copies of those operands that are cheap and read memory only."""
        changed = False
        inputs = list(e.inputs)
        for k, a in enumerate(inputs):
            made = self.definition.get(a) if isinstance(a, Var) else None
            if made is None or not isinstance(a, Var) or a not in self.region:
                continue
            if len(made.inputs) == 0 or made.prim.view or not self.cheap(made):
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
        if not self.elementwise(made) or not is_cheap(made):
            return False
        return made.outputs[0].type.shape != () and all(
            not isinstance(a, Var) or a in self.plan.uniform or a not in self.region
            for a in made.inputs
        )

    def order(self) -> None:
        """The steps, and in each region operands before their use."""
        for unit in self.dependencies.ordered():
            if isinstance(unit, Region):
                unit.resolve()
                _sort(unit, self.plan.same)
            self.plan.steps.append(unit)


def _choices(regions: list[Region]) -> list[list[Region]]:
    """All of them; else one alone, the largest first."""
    if len(regions) < 2:
        return [regions] if regions else []
    return [regions, *([r] for r in regions)]


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
