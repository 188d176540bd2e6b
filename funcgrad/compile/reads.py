"""How the equations of a region read memory, and what each of their values depends on.

From these follow the order of the loops, the stage in which a value is known, and the outermost
loop where it can be written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from funcgrad.compile.code import Code
from funcgrad.compile.layout import SHORT_STRIP, STRIP, Access, access, arrange
from funcgrad.compile.scalars import NATIVE
from funcgrad.graph.ir import Atom, Equation, Var
from funcgrad.ops import records
from funcgrad.passes.operands import Bounds, Piece, pieces, spread
from funcgrad.passes.plan import Plan
from funcgrad.passes.region import Axis, Labels, Reduction, Region
from funcgrad.passes.views import View, whole

__all__ = ["Read", "Reads"]


class Read(NamedTuple):
    """How an operand is read: the first element at `offset`, then through strides.

    Along the axes of `jumps` (axis, guard, stride) it has only every second element, or fewer; the
    position is then a value.
    """

    view: View
    offset: int
    access: Access
    jumps: tuple[tuple[Axis, Bounds, int], ...] = ()


class Reads:
    """What is known of a region before its loops are written."""

    def __init__(self, plan: Plan, region: Region, functions: frozenset[str], name: str) -> None:
        self.plan, self.region, self.functions = plan, region, functions
        self.code = Code(name)
        region.resolve()
        self.made = {v: e for e in region.equations for v in e.outputs}
        self.main = [e for e in region.equations if e.outputs[0] not in region.late]
        self.number_of = {id(e): n for n, e in enumerate(self.main)}
        self.reductions = {r.output: r for r in region.reductions}
        self.outputs = [v for e in region.equations for v in e.outputs if v in plan.escaping]
        self.accesses: dict[Any, Access] = {}
        self.loads: dict[tuple[int, int], Read] = {}
        self.pieces: dict[int, tuple[Piece, ...]] = {}
        self.stiff: frozenset[Axis] = frozenset()  # axes whose index is compared with bounds
        self.alone: frozenset[Axis] = frozenset()
        self.depends: dict[Var, frozenset[Axis]] = {}
        self.stage: dict[Var, int] = {}
        self.prepare()
        accesses = list(self.accesses.values())
        self.layout = arrange(region, accesses, self.stiff, self.alone, self.strip())
        rows = [*self.layout.outer]
        if self.layout.across:
            assert self.layout.lanes is not None
            rows.append(self.layout.lanes)
        self.rows_axes = frozenset(a for d in rows for a in d.axes)

    def strip(self) -> int:
        mixed = [e.outputs[0].type.dtype for e in self.main if e.prim is records.MATMUL]
        return SHORT_STRIP // mixed[0].itemsize if mixed else STRIP

    def labels(self, e: Equation) -> Labels:
        """The axes over which an equation works."""
        v = e.outputs[0]
        found = self.plan.domains[v] if v in self.plan.domains else self.plan.labels[v]
        return tuple(None if a is None else a.find() for a in found)

    def inside(self, a: Atom) -> Var | None:
        """The variable of this region that an operand is, whatever its axes are called."""
        if not isinstance(a, Var):
            return None
        base = self.plan.same.get(a, a)
        return base if base in self.made and a not in self.plan.uniform else None

    def prepare(self) -> None:
        """Accesses of all operands and outputs, dependencies, stages."""
        for number, e in enumerate(self.main):
            labels = self.labels(e)
            depends = self.bounds(e, number, labels)
            stage = 0
            for k, a in enumerate(e.inputs):
                base = self.inside(a)
                if base is not None:
                    depends |= self.depends[base]
                    stage = max(stage, self.stage[base] + (e.prim is records.MATMUL))
                elif isinstance(a, Var) and a not in self.plan.uniform:
                    depends |= self.read(e, number, k, a, labels)
            v = e.outputs[0]
            if v in self.reductions:
                r = self.reductions[v]
                depends = r.domain - r.over
                stage += 1
            self.depends[v], self.stage[v] = depends, stage
        for v in self.outputs:
            if self.scatters(v):
                self.accesses[v] = self.beyond_positions(v)
            elif v not in self.region.late:
                own = [None if a is None else a.find() for a in self.plan.labels[v]]
                self.accesses[v] = access(tuple(own), whole(v).strides)

    def scatters(self, v: Var) -> bool:
        return v in self.reductions and self.reductions[v].scatters

    def beyond_positions(self, v: Var) -> Access:
        """How the result of a scatter is walked along the axes that no position belongs to."""
        e = self.made[v]
        strides = whole(v).strides[len(e.inputs) - 1 :]
        labels = [None if a is None else a.find() for a in self.labels(e)]
        return access(tuple(labels[len(labels) - len(strides) :]), strides)

    def bounds(self, e: Equation, number: int, labels: Labels) -> frozenset[Axis]:
        """The axes along which an equation puts pieces together."""
        found = pieces(e)
        if found is None:
            return frozenset()
        self.pieces[number] = found
        bounds = [(labels[g.axis], g) for p in found for g in p.bounds]
        axes = frozenset(a for a, _ in bounds if a is not None)
        self.stiff |= axes
        self.alone |= {a for a, g in bounds if a is not None and abs(g.step) != 1}
        return axes

    def read(self, e: Equation, number: int, k: int, a: Var, labels: Labels) -> frozenset[Axis]:
        view = self.plan.views[a]
        if e.outputs[0] in self.reductions and e.prim is not records.SCATTER_ADD:
            own = labels
        else:
            own = tuple(None if p is None else labels[p] for p in spread(e, k))
        used = tuple(None if n == 1 else x for n, x in zip(view.shape, own, strict=True))
        strides = {x: s for x, s in zip(used, view.strides, strict=True) if x is not None}
        offset = view.offset
        jumps: list[tuple[Axis, Bounds, int]] = []
        for p in self.pieces.get(number, ()):
            for g in p.bounds if p.operand == k else ():
                axis = labels[g.axis]
                if axis is None or axis not in strides:
                    continue
                if abs(g.step) == 1:
                    strides[axis] *= g.step
                    offset -= g.start * strides[axis]
                else:
                    jumps.append((axis, g, strides.pop(axis)))
        found = access(tuple(strides), tuple(strides.values()))
        self.loads[number, k] = Read(view, offset, found, tuple(jumps))
        self.accesses[number, k] = found
        return frozenset(found.strides)

    # ------------------------------------------------------------------------------- levels

    def level(self, v: Var) -> int:
        found = self.level_of(self.depends[v])
        return max(found, 1) if self.stage[v] else found  # after a loop over the row

    def level_of(self, depends: frozenset[Axis]) -> int:
        """0: before all loops, 1: once a row, 2: once an element."""
        if not depends:
            return 0
        return 1 if depends <= self.rows_axes else 2

    def is_column(self, r: Reduction) -> bool:
        """Whether the rows are summed, for every element of a row, or of the whole result."""
        return r.scatters or (
            r.domain == self.region.axes
            and r.over != r.domain
            and not (r.over <= frozenset(a for d in self.layout.inner for a in d.axes))
        )

    def dtype(self, v: Var) -> str:
        return NATIVE[v.type.dtype]
