"""Lowering: a region of a plan becomes a loop nest, and another one that finishes its totals.

The value of a variable is written at the outermost loop where all that it depends on is known:
before all loops, once a row, or once an element. Inner reductions divide the work on a row into
stages, each a loop over the row; what an earlier stage computed at some cost is kept in a row of
scratch memory for the later ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from funcgrad.compile.code import Argument
from funcgrad.compile.finish import finish, precise
from funcgrad.compile.layout import BLOCK, Dim, Layout, access, arrange
from funcgrad.compile.loops import (
    Accumulate,
    Address,
    Carry,
    Combine,
    Const,
    For,
    Kernel,
    Let,
    Store,
    Term,
    identity,
)
from funcgrad.compile.scalars import REDUCTIONS, Scalar, cost
from funcgrad.compile.values import SCRATCH_LIMIT, Values
from funcgrad.graph.ir import Equation, Var
from funcgrad.passes.plan import Plan
from funcgrad.passes.region import Reduction, Region
from funcgrad.passes.views import whole

__all__ = ["Argument", "Lowered", "lower"]

KEPT_COST = 8  # what it has to cost to compute a value again for it to be kept in scratch


@dataclass
class Lowered:
    """A region as kernels with the values of their parameters for the shapes at hand."""

    region: Region
    layout: Layout
    kernel: Kernel
    arguments: list[Argument]
    integers: list[int]
    numbers: list[Any]
    finish: Kernel | None
    finish_arguments: list[Argument]
    finish_integers: list[int]
    finish_numbers: list[Any]
    work: float  # additions, about
    direct: dict[str, Var] = field(default_factory=dict)  # partial -> output, if one chunk is all


def lower(plan: Plan, region: Region, functions: frozenset[str], name: str) -> Lowered:
    """The kernels of a region."""
    return _Lowering(plan, region, functions, name).run()


class _Lowering(Values):
    """The loops of a region around its values."""

    # -------------------------------------------------------------------------------- loops

    def run(self) -> Lowered:
        self.prepare()
        self.layout = layout = arrange(
            self.region, list(self.accesses.values()), self.stiff, self.alone
        )
        self.rows_axes = frozenset(a for d in layout.outer for a in d.axes)
        if layout.across:
            assert layout.lanes is not None
            self.rows_axes |= frozenset(layout.lanes.axes)
        self.totals: list[tuple[Var, str, str]] = []
        if self.region.axes:
            self.loop_over_chunks()
        else:
            self.scalars()
        kernel = self.code.kernel(self.blocks[0])
        arguments, integers, numbers = self.code.values()
        found = Lowered(
            self.region, layout, kernel, arguments, integers, numbers, None, [], [], [], self.work()
        )
        self.end(found)
        return found

    def end(self, found: Lowered) -> None:
        """What is left to do when all chunks are done."""
        partials = [a for a in found.arguments if a.role == "partial"]
        late = [e for e in self.region.equations if e.outputs[0] in self.region.late]
        if not partials:
            return
        alone = found.layout.chunks == 1 and not late
        if alone and all(a.var in self.outputs for a in partials):
            found.direct = {a.name: a.var for a in partials if a.var is not None}
            return
        code, found.finish = finish(self, partials, late)
        found.finish_arguments, found.finish_integers, found.finish_numbers = code.values()

    def scalars(self) -> None:
        for v in self.outputs:
            self.store(v, 0)

    def loop_over_chunks(self) -> None:
        code, layout = self.code, self.layout
        chunk = For("chunk", code.integer("chunks", layout.chunks), "chunks")
        top = self.blocks[0]
        start, left, count = code.fresh("s"), code.fresh("s"), code.fresh("s")
        grain = code.integer("grain", layout.rows_in_chunk)
        rows = code.integer("rows", layout.rows)
        chunk.body += [
            Let(start, "int64", "mul", ("chunk", grain)),  # type: ignore[arg-type]
            Let(left, "int64", "sub", (rows, start)),  # type: ignore[arg-type]
            Let(count, "int64", "min", (left, grain)),  # type: ignore[arg-type]
        ]
        self.columns_start(chunk)
        row = For("row", count, "sequential")
        body: list[Any] = []
        here = code.fresh("s")
        body.append(Let(here, "int64", "add", (start, "row")))
        self.decode(here, body)
        if layout.across:
            lanes = self.lane_loop(body)
            self.blocks[1] = lanes.body
            self.walk_row(lanes)
            body.append(lanes)
            self.combine_lanes(lanes, body, row)
        else:
            self.blocks[1] = body
            self.walk_row(row)
        row.body = body
        chunk.body += [*self.prologue, row]
        for v, partial, carry in self.totals:
            self.store_total(v, partial, carry, chunk.body)
        top.append(chunk)

    def decode(self, row: str, body: list[Any]) -> None:
        """The index of each outer loop from the number of the row, the last one fastest."""
        code, layout = self.code, self.layout
        loops: list[tuple[Dim, bool]] = [(d, False) for d in layout.outer]
        if layout.blocked is not None:
            loops.append((layout.blocked, True))
        rest = row
        for k in range(len(loops) - 1, -1, -1):
            d, is_block = loops[k]
            if k == 0:
                name = rest
            else:
                extent = -(-d.extent // layout.block) if is_block else d.extent
                n = code.integer(("blocks" if is_block else "extent", d), extent)
                name, above = code.fresh("i"), code.fresh("i")
                body += [
                    Let(name, "int64", "rem", (rest, n)),  # type: ignore[arg-type]
                    Let(above, "int64", "div", (rest, n)),  # type: ignore[arg-type]
                ]
                rest = above
            self.index[d] = [(name, layout.block if is_block else 1)]

    def block_count(self, d: Dim, body: list[Any]) -> str:
        """How many elements the block of this row has."""
        code = self.code
        block = self.index[d][0][0]
        start, left, count = code.fresh("s"), code.fresh("s"), code.fresh("s")
        size = Const(self.index[d][0][1], "int64")
        body += [
            Let(start, "int64", "mul", (block, size)),
            Let(left, "int64", "sub", (code.integer(("extent", d), d.extent), start)),  # type: ignore[arg-type]
            Let(count, "int64", "min", (left, size)),
        ]
        return count

    def lane_loop(self, body: list[Any]) -> For:
        """The loop that runs several rows at a time."""
        d = self.layout.lanes
        assert d is not None
        count = self.block_count(d, body)
        index = self.code.fresh("l")
        self.index[d] = [*self.index[d], (index, 1)]
        return For(index, count, "vector")

    # ------------------------------------------------------------------------------- stages

    def walk_row(self, around: For) -> None:
        """The stages of a row, the stores of its values, and what it adds to the totals."""
        last = self.plan_stages()
        self.plan_scratch(last)
        for k in range(1, last + 1):
            self.run_stage(k)
        for v in self.outputs:
            if v not in self.region.late and v not in self.reductions and not self.in_stage(v):
                alone = self.level(v) == 0 and not self.accesses[v].strides
                self.store(v, 0 if alone else 1)
        for v, r in self.reductions.items():
            if not self.total(v, r, around) and v in self.outputs:
                self.store(v, 1)

    def in_stage(self, v: Var) -> bool:
        """Whether a value is stored for every element of a row."""
        inner = {a for d in self.layout.inner for a in d.axes}
        return any(a is not None and a.find() in inner for a in self.plan.labels[v])

    def plan_stages(self) -> int:
        """Which roots each stage computes: reductions, and outputs as soon as they can be."""
        self.roots: dict[int, list[Var]] = {}
        for e in self.main:
            v = e.outputs[0]
            if v in self.reductions and self.is_inner(v):
                self.roots.setdefault(self.stage[v], []).append(v)
            elif v in self.outputs and v not in self.reductions and self.in_stage(v):
                self.roots.setdefault(self.stage[v] + 1, []).append(v)
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
            if v in self.outputs and self.in_stage(v):
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
            fits = o not in self.reductions and own == labels and self.dtype(o) == self.dtype(v)
            if fits and o not in self.kept.values() and self.is_made_of(o, v):
                return o
        return None

    def is_made_of(self, o: Var, v: Var) -> bool:
        """Whether each element of an output needs the element of a value."""
        stack, seen = [o], {o}
        while stack:
            for a in self.made[stack.pop()].inputs:
                base = self.inside(a)
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
                base = self.inside(a)
                if base is None or base in now or base in self.reductions or self.level(base) < 2:
                    continue
                now[base] = None
                if base in early and (base in self.outputs or self.expense(base) >= KEPT_COST):
                    self.again[base] = k
                else:
                    stack.append(base)

    def expense(self, v: Var) -> int:
        """What it costs to compute a value of an element again."""
        total, stack, seen = 0, [v], {v}
        while stack:
            x = stack.pop()
            total += cost(self.made[x].prim.name)
            for a in self.made[x].inputs:
                base = self.inside(a)
                if base is None or base in seen or base in self.reductions:
                    continue
                if self.level(base) == 2 and base not in self.again:
                    seen.add(base)
                    stack.append(base)
        return total

    def run_stage(self, k: int) -> None:
        """One loop over the elements of a row."""
        roots = self.roots.get(k)
        if not roots:
            return
        self.memo[2] = {}
        self.held = {key: h for key, h in self.held.items() if h[0] < 2}
        body: list[Any] = []
        self.blocks[2] = body
        nest = self.nest(body)
        for v in roots:
            if v in self.reductions:
                self.reduce(v, nest, body)
            else:
                self.store(v, 2)
        for v, output in self.kept.items():
            if v in self.memo[2] and v not in self.cached:
                self.keep(v, output, body)
        for loop, outer in zip(nest, [*nest[1:], None], strict=True):
            if outer is not None:
                outer.body.append(loop)
                for c in loop.carries:
                    self.hand_on(c, outer)
        if nest:
            outermost = nest[-1]
            self.blocks[1].append(outermost)
            for v in roots:
                if v in self.carry_of:
                    self.memo[1][v] = Scalar(self.carry_of[v], self.dtype(v))
        else:
            self.blocks[1] += body

    def nest(self, body: list[Any]) -> list[For]:
        """The loops over a row, the innermost first; long ones are cut into blocks."""
        layout, code = self.layout, self.code
        self.carry_of: dict[Var, str] = {}
        self.above: dict[str, str] = {}
        inner = [d for d in layout.inner if d is not layout.lanes]
        if layout.lanes in layout.inner:
            assert layout.lanes is not None
            inner.append(layout.lanes)
        loops: list[For] = []  # outermost first
        for d in inner:
            vector = d is layout.lanes
            kind = "vector" if vector else "sequential"
            index = code.fresh("j")
            if d is layout.blocked:
                count: Term = self.block_count(d, self.blocks[1])
                self.index[d] = [self.index[d][0], (index, 1)]
            elif d.extent > 2 * BLOCK and any(v in self.reductions for v in self.made):
                block = code.fresh("b")
                n = code.integer(("blocks", d), -(-d.extent // BLOCK))
                outer = For(block, n, "sequential")
                loops.append(outer)
                self.index[d] = [(block, BLOCK)]
                count = self.block_count(d, outer.body)
                self.index[d] = [(block, BLOCK), (index, 1)]
            else:
                count = code.integer(("extent", d), d.extent)
                self.index[d] = [(index, 1)]
            loops.append(For(index, count, kind))
        if loops:
            loops[-1].body = body
        return loops[::-1]

    def reduce(self, v: Var, nest: list[For], body: list[Any]) -> None:
        """Add the element to the reduction's carry, or to its column."""
        e, r = self.made[v], self.reductions[v]
        x = self.operand(e, 0, 2)
        op = REDUCTIONS[e.prim.name]
        dtype = self.dtype(v)
        x = self.writer(2).cast(x, dtype)
        if r.scatters:
            self.scatter(e, x, dtype, 2)
            return
        if self.is_column(r):
            self.add_to_column(v, op, x, dtype, body)
            return
        carry = self.code.fresh("a")
        self.carry_of[v] = carry
        nest[0].carries.append(Carry(carry, dtype, op))
        body.append(Combine(carry, x.operand))

    def hand_on(self, c: Carry, outer: For) -> None:
        """The result of an inner loop goes into a carry of the loop around it."""
        name = self.code.fresh("a")
        op = precise(c.op, c.dtype)
        outer.carries.append(Carry(name, c.dtype, op))
        outer.body.append(Combine(name, c.name))
        for v, carry in self.carry_of.items():
            if carry == c.name:
                self.carry_of[v] = name

    # ------------------------------------------------------------------------------- totals

    def partial(self, v: Var, width: int) -> str:
        dtype = self.dtype(v)
        return self.code.argument(("partial", v), v, "partial", dtype, self.layout.chunks * width)

    def columns_start(self, chunk: For) -> None:
        """Set the columns of this chunk to the identity."""
        for v, r in self.reductions.items():
            if not self.is_column(r):
                continue
            width = v.type.size
            name = self.partial(v, width)
            index = self.code.fresh("j")
            n = self.code.integer(("width", name), width)
            loop = For(index, n, "vector")
            op, dtype = REDUCTIONS[self.made[v].prim.name], self.dtype(v)
            start = Const(identity(op, dtype), dtype)
            loop.body.append(Store(Address(name, ((index, 1), ("chunk", n))), start, dtype))
            chunk.body.append(loop)

    def add_to_column(self, v: Var, op: str, x: Scalar, dtype: str, body: list[Any]) -> None:
        width = v.type.size
        name = self.partial(v, width)
        own = tuple(None if a is None else a.find() for a in self.plan.labels[v])
        found = access(own, whole(v).strides)
        terms = self.terms(("column", name), found)
        n = self.code.integer(("width", name), width)
        body.append(Accumulate(Address(name, (*terms, ("chunk", n))), op, x.operand, dtype))

    def scatter(self, e: Equation, x: Scalar, dtype: str, level: int) -> None:
        """Add the element where its positions say, in the result of this chunk."""
        (v,) = e.outputs
        name = self.partial(v, v.type.size)
        taken, strides = len(e.inputs) - 1, whole(v).strides
        tail = [None if a is None else a.find() for a in self.labels(e)]
        rest = len(strides) - taken
        found = access(tuple(tail[len(tail) - rest :]), strides[taken:])
        positions = self.positions(e, level, v.type.shape, strides)
        n = self.code.integer(("width", name), v.type.size)
        terms = (*self.terms(("scatter", name), found), *positions, ("chunk", n))
        into = Address(name, terms)
        self.blocks[level].append(Accumulate(into, "add", x.operand, dtype, True))

    def total(self, v: Var, r: Reduction, around: For) -> bool:
        """Hand a row's part of a total to the carry of the loop over rows; False if it is none."""
        if r.scatters and not self.is_inner(v):
            x = self.writer(1).cast(self.operand(self.made[v], 0, 1), self.dtype(v))
            self.scatter(self.made[v], x, self.dtype(v), 1)
        if self.is_column(r):
            return True
        outer = self.region.axes - frozenset(a for d in self.layout.inner for a in d.axes)
        everything = r.over == self.region.axes
        of_rows = r.over == outer and r.domain == outer
        split = self.layout.blocked in self.layout.inner
        if not (everything or of_rows) or not (outer or split):
            return False
        op, dtype = REDUCTIONS[self.made[v].prim.name], self.dtype(v)
        carry = self.code.fresh("a")
        kind = op if self.layout.across else precise(op, dtype)
        around.carries.append(Carry(carry, dtype, kind))
        if of_rows:
            x = self.writer(1).cast(self.operand(self.made[v], 0, 1), dtype)
        else:
            x = self.memo[1][v]
        self.blocks[1].append(Combine(carry, x.operand))
        self.totals.append((v, self.partial(v, 1), carry))
        return True

    def combine_lanes(self, lanes: For, body: list[Any], row: For) -> None:
        """What the lanes of a block have summed up goes to the loop over rows."""
        for k, (v, partial, carry) in enumerate(self.totals):
            (c,) = [c for c in lanes.carries if c.name == carry]
            name = self.code.fresh("a")
            row.carries.append(Carry(name, c.dtype, precise(c.op, c.dtype)))
            body.append(Combine(name, carry))
            self.totals[k] = (v, partial, name)

    def store_total(self, v: Var, partial: str, carry: str, body: list[Any]) -> None:
        body.append(Store(Address(partial, (("chunk", 1),)), carry, self.dtype(v)))

    def work(self) -> float:
        total = 0.0
        for e in self.main:
            size = 1
            for a in self.labels(e):
                size *= 1 if a is None else a.extent
            total += size * cost(e.prim.name)
        return total + sum(a.size for a in self.code.arguments.values())
