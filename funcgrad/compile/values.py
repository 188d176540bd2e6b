"""The values of a kernel, each written at the outermost loop where all that it depends on is known.

That is before all loops, once a row, or once an element. What lies in memory is read through
strides; a gather reads at positions that are values, and a piece of a result is read between its
bounds only. What was computed at some cost for an earlier stage is read again from scratch memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.code import Code
from funcgrad.compile.layout import BLOCK, Access, Dim, Layout, access
from funcgrad.compile.loops import Address, Buffer, Const, For, Let, Load, Require, Store, Term
from funcgrad.compile.scalars import NATIVE, Scalar, Writer, apply, resolve
from funcgrad.graph.ir import Atom, Equation, Literal, Var
from funcgrad.passes.operands import Guard, Piece, pieces, spread
from funcgrad.passes.plan import Plan
from funcgrad.passes.region import Axis, Labels, Reduction, Region
from funcgrad.passes.views import View, whole

__all__ = ["SCRATCH_LIMIT", "Values"]

SCRATCH_LIMIT = 8192  # elements of a row of scratch
FEW_ROWS = 8  # for fewer, gaps cost less than packing


class Read(NamedTuple):
    """How an operand is read: the first element at `offset`, then through strides.

    Along the axes of `jumps` (axis, guard, stride) it has only every second element, or fewer; the
    position is then a value.
    """

    view: View
    offset: int
    access: Access
    jumps: tuple[tuple[Axis, Guard, int], ...] = ()


class Values:
    """What is known of a region while its loops are written."""

    layout: Layout
    rows_axes: frozenset[Axis]

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
        self.packs: dict[Any, str] = {}
        self.prologue: list[For] = []  # what a chunk begins with
        self.depends: dict[Var, frozenset[Axis]] = {}
        self.stage: dict[Var, int] = {}
        self.index: dict[Dim, list[tuple[str, int]]] = {}
        self.blocks: list[list[Any]] = [[], [], []]
        self.memo: list[dict[Var, Scalar]] = [{}, {}, {}]
        self.held: dict[Any, tuple[int, str]] = {}
        self.cached: dict[Var, str | Var] = {}  # in scratch of this name, or in an output

    # ------------------------------------------------------------------------- preparation

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
                    stage = max(stage, self.stage[base])
                elif isinstance(a, Var) and a not in self.plan.uniform:
                    depends |= self.read(e, number, k, a, labels)
            v = e.outputs[0]
            if v in self.reductions:
                r = self.reductions[v]
                depends = r.domain - r.over
                stage += 1
            self.depends[v], self.stage[v] = depends, stage
        for v in self.outputs:
            if v not in self.region.late and not self.scatters(v):
                own = [None if a is None else a.find() for a in self.plan.labels[v]]
                self.accesses[v] = access(tuple(own), whole(v).strides)

    def scatters(self, v: Var) -> bool:
        return v in self.reductions and self.reductions[v].scatters

    def bounds(self, e: Equation, number: int, labels: Labels) -> frozenset[Axis]:
        """The axes along which an equation puts pieces together."""
        found = pieces(e)
        if found is None:
            return frozenset()
        self.pieces[number] = found
        bounds = [(labels[g.axis], g) for p in found for g in p.guards]
        axes = frozenset(a for a, _ in bounds if a is not None)
        self.stiff |= axes
        self.alone |= {a for a, g in bounds if a is not None and abs(g.step) != 1}
        return axes

    def read(self, e: Equation, number: int, k: int, a: Var, labels: Labels) -> frozenset[Axis]:
        view = self.plan.views[a]
        if e.outputs[0] in self.reductions and e.prim.name != "scatter_add":
            own = labels
        else:
            own = tuple(None if p is None else labels[p] for p in spread(e, k))
        used = tuple(None if n == 1 else x for n, x in zip(view.shape, own, strict=True))
        strides = {x: s for x, s in zip(used, view.strides, strict=True) if x is not None}
        offset = view.offset
        jumps: list[tuple[Axis, Guard, int]] = []
        for p in self.pieces.get(number, ()):
            for g in p.guards if p.operand == k else ():
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

    # ------------------------------------------------------------------------------- values

    def dtype(self, v: Var) -> str:
        return NATIVE[v.type.dtype]

    def writer(self, level: int) -> Writer:
        def let(op: str, dtype: str, args: tuple[str | Const, ...]) -> str:
            name = self.code.fresh()
            given = tuple(
                self.code.number(a.value, a.dtype) if isinstance(a, Const) else a for a in args
            )
            self.blocks[level].append(Let(name, dtype, op, given))
            return name

        return Writer(let)

    def value(self, v: Var) -> Scalar:
        """A value of this region, written where it belongs if it was not yet."""
        waiting = [v]  # instead of recursion, for chains of any length
        while len(waiting) > 1 or waiting[0] is not v or self._needs(v):
            missing = self._needs(waiting[-1])
            if missing:
                waiting += reversed(missing)
            else:
                self._written(waiting.pop())
        return self._written(v)

    def _needs(self, v: Var) -> list[Var]:
        """The operands of a value that are of this region and not written yet."""
        if v in self.reductions or v in self.cached or v in self.memo[self.level(v)]:
            return []
        e = self.made[v]
        if e.prim.name == "gather" or self.number_of[id(e)] in self.pieces:
            return []
        inputs = [a for a in e.inputs if isinstance(a, Var) and a not in self.plan.uniform]
        bases = [base for a in inputs if (base := self.inside(a)) is not None]
        return [b for b in bases if b not in self.reductions and b not in self.memo[self.level(b)]]

    def _written(self, v: Var) -> Scalar:
        level = self.level(v)
        if v in self.reductions:
            return self.memo[1][v]
        known = self.memo[level].get(v)
        if known is not None:
            return known
        if v in self.cached:
            found = self.reload(v)
        else:
            e = self.made[v]
            found = self.computed(e, level)
        self.memo[level][v] = found
        return found

    def computed(self, e: Equation, level: int) -> Scalar:
        if e.prim.name == "gather":
            return self.gather(e, level)
        if self.number_of[id(e)] in self.pieces:
            return self.joined(e, level)
        resolved = resolve(e, self.functions)
        assert resolved is not None
        xs = [self.operand(e, k, level) for k in range(len(e.inputs))]
        found = apply(self.writer(level), e, resolved, xs)
        if isinstance(found.operand, Const):
            return Scalar(self.code.number(found.operand.value, found.dtype), found.dtype)
        return found

    def operand(self, e: Equation, k: int, level: int) -> Scalar:
        a = e.inputs[k]
        if isinstance(a, Var) and a in self.plan.uniform:
            a = self.plan.uniform[a]
        if isinstance(a, Literal):
            return Scalar(Const(a.value, NATIVE[a.type.dtype]), NATIVE[a.type.dtype])
        base = self.inside(a)
        if base is not None:
            return self.value(base)
        return self.load(self.number_of[id(e)], k)

    def load(self, number: int, k: int, guards: tuple[tuple[Axis, Guard], ...] = ()) -> Scalar:
        """An element in memory; 0 outside of the bounds."""
        view, offset, found, jumps = self.loads[number, k]
        level = self.level_of(frozenset(found.strides) | {a for a, _ in guards})
        dtype = NATIVE[view.base.type.dtype]
        same = (view.base, offset, tuple(found.strides.items()), guards, jumps)
        known = self.recalled(same, level)
        if known is not None:
            return Scalar(known, dtype)
        guard = self.within(guards, level)
        if level == 2 and not guards and not jumps and self.is_repeated(found):
            address = self.scratch(self.packed(same, number, k))
        else:
            address = self.address(("access", number, k), view.base, offset, found)
        if jumps:
            more = [self.jump(level, number, *jump) for jump in jumps]
            address = address._replace(terms=(*address.terms, *more))
        name = self.code.fresh()
        self.blocks[level].append(Load(name, dtype, address, guard))
        self.held[same] = (level, name)
        return Scalar(name, dtype)

    def recalled(self, key: Any, level: int) -> str | None:
        """What was computed for the same in this loop, or in one around it."""
        where, name = self.held.get(key, (level, None))
        return name if where <= level else None

    def is_repeated(self, found: Access) -> bool:
        """Whether every row goes through the same elements, with gaps between the lanes."""
        layout = self.layout
        if layout.across or len(layout.inner) != 1 or layout.blocked is not None:
            return False
        (d,) = layout.inner
        gaps = found.strides.get(d.last, 0) not in (0, 1) and set(found.strides) <= set(d.axes)
        return gaps and layout.rows_in_chunk >= FEW_ROWS and d.extent <= SCRATCH_LIMIT

    def packed(self, same: Any, number: int, k: int) -> str:
        """The elements without gaps, in scratch memory that is filled when a chunk begins."""
        if same not in self.packs:
            view, offset, found, _ = self.loads[number, k]
            (d,) = self.layout.inner
            dtype, stride = NATIVE[view.base.type.dtype], found.strides[d.last]
            name, index, x = self.code.fresh("row"), self.code.fresh("j"), self.code.fresh()
            extent = self.code.integer("scratch", d.extent)
            self.code.locals.append(Buffer(name, dtype, "local", extent))
            base = self.address(("packed", number, k), view.base, offset, Access({}))
            step = self.code.integer(("packed", number, k, "stride"), stride)
            loop = For(index, self.code.integer(("extent", d), d.extent), "vector")
            loop.body = [
                Load(x, dtype, base._replace(terms=((index, step),))),
                Store(Address(name, ((index, 1),)), x, dtype),
            ]
            self.prologue.append(loop)
            self.packs[same] = name
        return self.packs[same]

    def address(self, key: Any, base: Var, offset: int, found: Access) -> Address:
        dtype = NATIVE[base.type.dtype]
        buffer = self.code.argument(base, base, "input", dtype, base.type.size)
        start = self.code.integer(("offset", key), offset) if offset else 0
        return Address(buffer, self.terms(key, found), start)

    def terms(self, key: Any, found: Access) -> tuple[tuple[str, Term], ...]:
        """Σ index · stride over the loops in which this array moves."""
        terms: list[tuple[str, Term]] = []
        across = [self.layout.lanes] if self.layout.across else []
        for d in [*self.layout.outer, *across, *self.layout.inner]:
            assert d is not None
            s = found.strides.get(d.last, 0)
            if not s:
                continue
            for index, step in self.index[d]:
                if step == 1:
                    terms.append((index, self.code.stride(("stride", key, d), s)))
                elif s == 1:
                    terms.append((index, step))
                else:
                    terms.append((index, self.code.integer(("stride", key, d, step), s * step)))
        return tuple(terms)

    def gather(self, e: Equation, level: int) -> Scalar:
        """An element at positions that are themselves values; a wrong one raises the flag."""
        a = e.inputs[0]
        assert isinstance(a, Var)
        number = self.number_of[id(e)]
        view = self.plan.views[a]
        key = ("gather", number)
        read = self.loads[number, 0]
        moving = self.address((key, "base"), view.base, view.offset, read.access)
        terms = self.positions(e, level, view.shape, view.strides)
        dtype = NATIVE[view.base.type.dtype]
        name = self.code.fresh()
        self.blocks[level].append(
            Load(name, dtype, Address(moving.buffer, (*moving.terms, *terms), moving.offset))
        )
        return Scalar(name, dtype)

    def positions(
        self, e: Equation, level: int, shape: Sequence[int], strides: Sequence[int]
    ) -> list[tuple[str, Term]]:
        """The terms of an address at positions along the leading axes, which have to be inside."""
        w, terms = self.writer(level), []
        key = (e.prim.name, self.number_of[id(e)])
        for k in range(1, len(e.inputs)):
            at = w.cast(self.operand(e, k, level), "int64")
            extent = self.code.integer(("size", key, k), shape[k - 1])
            n = Scalar(extent, "int64")  # type: ignore[arg-type]
            zero = w.number(0, at)
            at = w.select(w.compare("lt", at, zero), w("add", at, n), at)
            held = w("and", w.compare("ge", at, zero), w.compare("lt", at, n))
            assert isinstance(held.operand, str)
            self.blocks[level].append(Require(held.operand))
            self.code.requires = True
            at = w.select(held, at, zero)
            assert isinstance(at.operand, str)
            terms.append((at.operand, self.code.stride(("step", key, k), strides[k - 1])))
        return terms

    # ------------------------------------------------------------------------------- pieces

    def joined(self, e: Equation, level: int) -> Scalar:
        """An element of a result in pieces: that of the first piece within whose bounds it is."""
        number, dtype = self.number_of[id(e)], NATIVE[e.outputs[0].type.dtype]
        labels, w = self.labels(e), self.writer(level)
        found: Scalar | None = None
        for p in reversed(self.pieces[number]):
            guards = tuple((a, g) for g in p.guards if (a := labels[g.axis]) is not None)
            read = self.is_read(e.inputs[p.operand])
            x = self.load(number, p.operand, guards) if read else self.operand(e, p.operand, level)
            x = w.cast(x, dtype)
            if found is None and (read or not guards):
                found = x  # the last piece is read where it is, and is 0 elsewhere
                continue
            zero = Scalar(self.code.number(0, dtype), dtype) if found is None else found
            held = self.within(guards, level)
            found = x if held is None else w.select(Scalar(held, "bool"), x, zero)
        assert found is not None
        return found

    def is_read(self, a: Atom) -> bool:
        return isinstance(a, Var) and a not in self.plan.uniform and self.inside(a) is None

    def within(self, guards: tuple[tuple[Axis, Guard], ...], level: int) -> str | None:
        """Whether the indices are within all these bounds, as a value; None if they always are."""
        same = ("within", guards)
        known = self.recalled(same, level)
        if known is not None:
            return known
        w = self.writer(level)
        conditions = [c for a, g in guards for c in self.conditions(w, level, a, g)]
        if not conditions:
            return None
        held = conditions[0]
        for c in conditions[1:]:
            held = w("and", held, c)
        assert isinstance(held.operand, str)
        self.held[same] = (level, held.operand)
        return held.operand

    def conditions(self, w: Writer, level: int, axis: Axis, g: Guard) -> list[Scalar]:
        if g.step < 0:  # the same elements from the other end
            g = Guard(g.axis, g.start + (g.extent - 1) * g.step, -g.step, g.extent)
        index, times = self.index_of(axis, level)
        end = g.start + (g.extent - 1) * g.step + 1
        found = []
        if g.start > 0:
            found.append(w.compare("ge", index, self.bound(axis, g.start * times)))
        if end < axis.extent:
            found.append(w.compare("lt", index, self.bound(axis, end * times)))
        if g.step > 1:
            away = w("sub", index, self.bound(axis, g.start))
            rest = w("rem", away, self.bound(axis, g.step))
            found.append(w.compare("eq", rest, w.number(0, rest)))
        return found

    def bound(self, axis: Axis, value: int) -> Scalar:
        return Scalar(self.code.integer(("bound", axis, value), value), "int64")  # type: ignore[arg-type]

    def jump(self, level: int, number: int, axis: Axis, g: Guard, stride: int) -> tuple[str, Term]:
        """The term of an address along an axis of which only some indices have an element."""
        w = self.writer(level)
        index, _ = self.index_of(axis, level)
        start, step = self.bound(axis, g.start), self.bound(axis, abs(g.step))
        away = w("sub", index, start) if g.step > 0 else w("sub", start, index)
        at = w("div", away, step)
        assert isinstance(at.operand, str)
        return at.operand, self.code.integer(("jump", number, axis), stride)

    def index_of(self, axis: Axis, level: int) -> tuple[Scalar, int]:
        """The index along an axis, times what it is multiplied with where others are joined."""
        (d,) = [d for d in self.index if axis in d.axes]
        assert d.axes[0] is axis
        times = math.prod(a.extent for a in d.axes[1:])
        same = ("index", axis)
        known = self.recalled(same, level)
        if known is None:
            w = self.writer(level)
            parts = [
                Scalar(name, "int64")
                if step == 1
                else w("mul", Scalar(name, "int64"), Scalar(Const(step, "int64"), "int64"))
                for name, step in self.index[d]
            ]
            total = parts[0]
            for part in parts[1:]:
                total = w("add", total, part)
            assert isinstance(total.operand, str)
            known = total.operand
            self.held[same] = (level, known)
        return Scalar(known, "int64"), times

    # ------------------------------------------------------------------------------- stores

    def store(self, v: Var, level: int) -> None:
        x = self.value(v) if v not in self.reductions else self.memo[1][v]
        dtype = self.dtype(v)
        self.blocks[level].append(Store(self.place_of(v), x.operand, dtype))

    def place_of(self, v: Var) -> Address:
        """An element of an output."""
        buffer = self.code.argument(v, v, "output", self.dtype(v), v.type.size)
        return Address(buffer, self.terms(("out", buffer), self.accesses[v]))

    def keep(self, v: Var, output: Var | None, body: list[Any]) -> None:
        """Write a value to a row of scratch, or to the memory of an output."""
        if output is not None:
            if output is not v:
                body.append(Store(self.place_of(output), self.memo[2][v].operand, self.dtype(v)))
            self.cached[v] = output
            return
        name = self.code.fresh("row")
        extent: Term = 1
        sizes = [BLOCK if d is self.layout.blocked else d.extent for d in self.layout.inner]
        extent = self.code.integer("scratch", int(np.prod(sizes)))
        self.code.locals.append(Buffer(name, self.dtype(v), "local", extent))
        body.append(Store(self.scratch(name), self.memo[2][v].operand, self.dtype(v)))
        self.cached[v] = name

    def scratch(self, name: str) -> Address:
        terms: list[tuple[str, Term]] = []
        step = 1
        for k, d in reversed(list(enumerate(self.layout.inner))):
            steps = self.index[d][1:] if d is self.layout.blocked else self.index[d]
            for index, times in steps:
                value = step * times
                if step == 1:
                    terms.append((index, value))
                else:
                    terms.append((index, self.code.integer(("scratch", k, times), value)))
            step *= BLOCK if d is self.layout.blocked else d.extent
        return Address(name, tuple(terms))

    def reload(self, v: Var) -> Scalar:
        where = self.cached[v]
        address = self.scratch(where) if isinstance(where, str) else self.place_of(where)
        made = self.code.fresh()
        self.blocks[2].append(Load(made, self.dtype(v), address))
        return Scalar(made, self.dtype(v))
