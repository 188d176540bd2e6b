"""Lowering: a region of a plan becomes a loop nest, and another one that finishes its totals.

The value of a variable is written at the outermost loop where all that it depends on is known:
before all loops, once a row, or once an element. Inner reductions divide the work on a row into
stages, each a loop over the row; what an earlier stage computed at some cost is kept in a row of
scratch memory for the later ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from funcgrad.compile.layout import BLOCK, Access, Dim, Layout, access, arrange
from funcgrad.compile.loops import (
    Accumulate,
    Address,
    Buffer,
    Carry,
    Combine,
    Const,
    For,
    Kernel,
    Let,
    Load,
    Require,
    Store,
    Term,
    identity,
)
from funcgrad.compile.scalars import NATIVE, Scalar, Writer, apply, cost, resolve
from funcgrad.graph.ir import Atom, Equation, Literal, Var
from funcgrad.passes.fuse import Plan
from funcgrad.passes.region import Axis, Labels, Reduction, Region
from funcgrad.passes.views import View, whole

__all__ = ["Argument", "Lowered", "REDUCTIONS", "lower"]

REDUCTIONS = {"sum": "add", "max": "max", "min": "min", "prod": "mul", "any": "or", "all": "and"}
KEPT_COST = 8  # what it has to cost to compute a value again for it to be kept in scratch
SCRATCH_LIMIT = 8192  # elements of a row of scratch


@dataclass
class Argument:
    """An array argument of a kernel: a variable of the graph, or a partial result by number."""

    name: str
    var: Var | None
    role: str  # "input", "output", "partial"
    dtype: str
    size: int


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


class _Code:
    """A kernel while it is written: its parameters and fresh names."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.integers: dict[Any, tuple[str, int]] = {}
        self.numbers: dict[Any, tuple[str, Any, str]] = {}
        self.arguments: dict[Any, Argument] = {}
        self.locals: list[Buffer] = []
        self.requires = False

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def integer(self, key: Any, value: int) -> Term:
        """A size or stride as a parameter; the same key is the same parameter."""
        if key not in self.integers:
            self.integers[key] = (f"n{len(self.integers)}", value)
        return self.integers[key][0]

    def stride(self, key: Any, value: int) -> Term:
        """As `integer`, but gaps of nothing and of one belong to the code."""
        return value if value in (0, 1) else self.integer(key, value)

    def number(self, value: Any, dtype: str) -> str | Const:
        """A number: the usual ones are written out, others are parameters."""
        x = np.dtype(dtype).type(value)
        if dtype == "bool" or not np.isfinite(x) or float(x) in (0.0, 1.0, -1.0, 2.0, 3.0, 0.5):
            return Const(x, dtype)
        key = (dtype, x.tobytes())
        if key not in self.numbers:
            self.numbers[key] = (f"c{len(self.numbers)}", x, dtype)
        return self.numbers[key][0]

    def argument(self, key: Any, var: Var | None, role: str, dtype: str, size: int) -> str:
        if key not in self.arguments:
            name = f"{role[0]}{len(self.arguments)}"
            self.arguments[key] = Argument(name, var, role, dtype, size)
        return self.arguments[key].name

    def kernel(self, body: list[Any]) -> Kernel:
        buffers = [
            Buffer(a.name, a.dtype, "input" if a.role == "input" else "output")
            for a in self.arguments.values()
        ]
        return Kernel(
            self.name,
            buffers + self.locals,
            [n for n, _ in self.integers.values()],
            [(n, d) for n, _, d in self.numbers.values()],
            body,
            self.requires,
        )

    def values(self) -> tuple[list[Argument], list[int], list[Any]]:
        return (
            list(self.arguments.values()),
            [v for _, v in self.integers.values()],
            [v for _, v, _ in self.numbers.values()],
        )


class _Lowering:
    def __init__(self, plan: Plan, region: Region, functions: frozenset[str], name: str) -> None:
        self.plan, self.region, self.functions = plan, region, functions
        self.code = _Code(name)
        region.resolve()
        self.made = {v: e for e in region.equations for v in e.outputs}
        self.main = [e for e in region.equations if e.outputs[0] not in region.late]
        self.number_of = {id(e): n for n, e in enumerate(self.main)}
        self.reductions = {r.output: r for r in region.reductions}
        self.outputs = [v for e in region.equations for v in e.outputs if v in plan.escaping]
        self.accesses: dict[Any, Access] = {}
        self.loads: dict[tuple[int, int], tuple[Any, View, Access]] = {}
        self.depends: dict[Var, frozenset[Axis]] = {}
        self.stage: dict[Var, int] = {}
        self.index: dict[Dim, list[tuple[str, int]]] = {}
        self.blocks: list[list[Any]] = [[], [], []]
        self.memo: list[dict[Var, Scalar]] = [{}, {}, {}]
        self.held: dict[Any, tuple[int, str]] = {}
        self.cached: dict[Var, tuple[str, bool]] = {}

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
            depends: frozenset[Axis] = frozenset()
            stage = 0
            for k, a in enumerate(e.inputs):
                base = self.inside(a)
                if base is not None and not (e.prim.name == "gather" and k == 0):
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
            if v not in self.region.late:
                own = [None if a is None else a.find() for a in self.plan.labels[v]]
                self.accesses[v] = access(tuple(own), whole(v).strides)

    def read(self, e: Equation, number: int, k: int, a: Var, labels: Labels) -> frozenset[Axis]:
        view = self.plan.views[a]
        if e.prim.name == "gather":
            rank = len(labels) - (len(e.inputs[0].type.shape) - (len(e.inputs) - 1))
            own = labels[rank:] if k == 0 else labels[:rank]
        else:
            own = labels
        shape = (
            view.shape[len(e.inputs) - 1 :] if e.prim.name == "gather" and k == 0 else view.shape
        )
        strides = view.strides[len(view.shape) - len(shape) :]
        own = own[len(own) - len(shape) :]
        used = tuple(None if n == 1 else x for n, x in zip(shape, own, strict=True))
        found = access(used, strides)
        self.loads[number, k] = ((number, k), view, found)
        self.accesses[number, k] = found
        return frozenset(found.strides)

    # -------------------------------------------------------------------------------- loops

    def run(self) -> Lowered:
        self.prepare()
        self.layout = layout = arrange(self.region, list(self.accesses.values()))
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
        _finish(self, found)
        return found

    def scalars(self) -> None:
        for v in self.outputs:
            self.store(v, 0)

    def level(self, v: Var) -> int:
        found = self.level_of(self.depends[v])
        return max(found, 1) if self.stage[v] else found  # after a loop over the row

    def level_of(self, depends: frozenset[Axis]) -> int:
        """0: before all loops, 1: once a row, 2: once an element."""
        if not depends:
            return 0
        return 1 if depends <= self.rows_axes else 2

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
        chunk.body.append(row)
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
        """What is computed in one stage and kept for the later ones."""
        self.kept: dict[Var, str] = {}
        self.again: dict[Var, None] = {}
        if self.layout.across or last < 2:
            return
        early: set[Var] = set()
        for k in range(1, last + 1):
            now: dict[Var, None] = {}
            for root in self.roots.get(k, []):
                self.reach(root, now, early)
            early |= set(now)
        sizes = [BLOCK if d is self.layout.blocked else d.extent for d in self.layout.inner]
        for v in self.again:
            if v in self.outputs and self.in_stage(v):
                self.kept[v] = "output"
            elif int(np.prod(sizes)) <= SCRATCH_LIMIT:
                self.kept[v] = "scratch"

    def reach(self, root: Var, now: dict[Var, None], early: set[Var]) -> None:
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
                    self.again[base] = None
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
        for v in [v for v, how in self.kept.items() if how == "scratch"]:
            if v in self.memo[2] and v not in self.cached:
                self.keep(v, body)
        for v in [v for v, how in self.kept.items() if how == "output"]:
            if v in self.memo[2]:
                self.cached[v] = ("", True)
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
            xs = (
                [self.operand(e, k, level) for k in range(len(e.inputs))]
                if (e.prim.name != "gather")
                else []
            )
            if e.prim.name == "gather":
                found = self.gather(e, level)
            else:
                resolved = resolve(e, self.functions)
                assert resolved is not None
                found = apply(self.writer(level), e, resolved, xs)
                if isinstance(found.operand, Const):
                    number = self.code.number(found.operand.value, found.dtype)
                    found = Scalar(number, found.dtype)
        self.memo[level][v] = found
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

    def load(self, number: int, k: int, dynamic: Sequence[tuple[str, Term]] = ()) -> Scalar:
        _, view, found = self.loads[number, k]
        level = self.level_of(frozenset(found.strides))
        dtype = NATIVE[view.base.type.dtype]
        same = (view.base, view.offset, tuple(found.strides.items()))
        known = self.held.get(same)
        if known is not None:
            return Scalar(known[1], dtype)
        address = self.address(("access", number, k), view.base, view.offset, found)
        name = self.code.fresh()
        self.blocks[level].append(Load(name, dtype, address))
        self.held[same] = (level, name)
        return Scalar(name, dtype)

    def address(self, key: Any, base: Var, offset: int, found: Access) -> Address:
        dtype = NATIVE[base.type.dtype]
        buffer = self.code.argument(base, base, "input", dtype, base.type.size)
        start = self.code.stride(("offset", key), offset) if offset else 0
        if offset == 1:
            start = self.code.integer(("offset", key), 1)
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
        w = self.writer(level)
        moving = self.address((key, "base"), view.base, view.offset, self.loads[number, 0][2])
        terms = list(moving.terms)
        for k in range(1, len(e.inputs)):
            at = w.cast(self.operand(e, k, level), "int64")
            extent = self.code.integer(("size", key, k), view.shape[k - 1])
            n = Scalar(extent, "int64")  # type: ignore[arg-type]
            zero = w.number(0, at)
            at = w.select(w.compare("lt", at, zero), w("add", at, n), at)
            held = w("and", w.compare("ge", at, zero), w.compare("lt", at, n))
            assert isinstance(held.operand, str)
            self.blocks[level].append(Require(held.operand))
            self.code.requires = True
            at = w.select(held, at, zero)
            assert isinstance(at.operand, str)
            stride = self.code.stride(("step", key, k), view.strides[k - 1])
            terms.append((at.operand, stride))
        dtype = NATIVE[view.base.type.dtype]
        name = self.code.fresh()
        self.blocks[level].append(
            Load(name, dtype, Address(moving.buffer, tuple(terms), moving.offset))
        )
        return Scalar(name, dtype)

    # ------------------------------------------------------------------------------- stores

    def store(self, v: Var, level: int) -> None:
        x = self.value(v) if v not in self.reductions else self.memo[1][v]
        dtype = self.dtype(v)
        buffer = self.code.argument(v, v, "output", dtype, v.type.size)
        terms = self.terms(("out", buffer), self.accesses[v])
        self.blocks[level].append(Store(Address(buffer, terms), x.operand, dtype))

    def keep(self, v: Var, body: list[Any]) -> None:
        """Write a value to a row of scratch."""
        name = self.code.fresh("row")
        extent: Term = 1
        sizes = [BLOCK if d is self.layout.blocked else d.extent for d in self.layout.inner]
        extent = self.code.integer("scratch", int(np.prod(sizes)))
        self.code.locals.append(Buffer(name, self.dtype(v), "local", extent))
        body.append(Store(self.scratch(name), self.memo[2][v].operand, self.dtype(v)))
        self.cached[v] = (name, False)

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
        name, from_output = self.cached[v]
        if from_output:
            buffer = self.code.argument(v, v, "output", self.dtype(v), v.type.size)
            address = Address(buffer, self.terms(("out", buffer), self.accesses[v]))
        else:
            address = self.scratch(name)
        made = self.code.fresh()
        self.blocks[2].append(Load(made, self.dtype(v), address))
        return Scalar(made, self.dtype(v))

    # ------------------------------------------------------------------------------- totals

    def is_column(self, r: Reduction) -> bool:
        """Whether the rows are summed, for every element of a row."""
        return (
            r.domain == self.region.axes
            and r.over != r.domain
            and not (r.over <= frozenset(a for d in self.layout.inner for a in d.axes))
        )

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

    def total(self, v: Var, r: Reduction, around: For) -> bool:
        """Hand a row's part of a total to the carry of the loop over rows; False if it is none."""
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


def precise(op: str, dtype: str) -> str:
    return "precise" if op == "add" and dtype.startswith("float") else op


# ------------------------------------------------------------------------------------- finish


def _finish(low: _Lowering, found: Lowered) -> None:
    """The kernel that combines the chunks' partial results and computes scalars of totals."""
    partials = [a for a in found.arguments if a.role == "partial"]
    late = [e for e in low.region.equations if e.outputs[0] in low.region.late]
    if not partials:
        return
    if found.layout.chunks == 1 and not late and all(a.var in low.outputs for a in partials):
        for a in partials:
            assert a.var is not None
            found.direct[a.name] = a.var
        return
    code = _Code(low.code.name + "_finish")
    chunks = code.integer("chunks", found.layout.chunks)
    body: list[Any] = []
    values: dict[Var, Scalar] = {}
    for a in partials:
        assert a.var is not None
        _combine(code, low, a, chunks, body, values)
    _late(code, low, late, body, values)
    found.finish = code.kernel(body)
    found.finish_arguments, found.finish_integers, found.finish_numbers = code.values()


def _combine(
    code: _Code,
    low: _Lowering,
    a: Argument,
    chunks: Term,
    body: list[Any],
    values: dict[Var, Scalar],
) -> None:
    v = a.var
    assert v is not None
    op = REDUCTIONS[low.made[v].prim.name]
    source = code.argument(("partial", v), v, "partial", a.dtype, a.size)
    wide = low.is_column(low.reductions[v])
    index, loop_index, carry, x = code.fresh("j"), code.fresh("k"), code.fresh("a"), code.fresh()
    loop = For(loop_index, chunks, "sequential")
    loop.carries.append(Carry(carry, a.dtype, precise(op, a.dtype)))
    if wide:
        width = code.integer(("width", source), v.type.size)
        at = Address(source, ((index, 1), (loop_index, width)))
    else:
        at = Address(source, ((loop_index, 1),))
    loop.body = [Load(x, a.dtype, at), Combine(carry, x)]
    if wide:
        target = code.argument(v, v, "output", a.dtype, v.type.size)
        columns = For(index, width, "vector")
        columns.body = [loop, Store(Address(target, ((index, 1),)), carry, a.dtype)]
        body.append(columns)
        return
    body.append(loop)
    values[v] = Scalar(carry, a.dtype)
    if v in low.outputs:
        target = code.argument(v, v, "output", a.dtype, 1)
        body.append(Store(Address(target, ()), carry, a.dtype))


def _late(
    code: _Code, low: _Lowering, late: list[Equation], body: list[Any], values: dict[Var, Scalar]
) -> None:
    def let(op: str, dtype: str, args: tuple[str | Const, ...]) -> str:
        name = code.fresh()
        given = tuple(code.number(a.value, a.dtype) if isinstance(a, Const) else a for a in args)
        body.append(Let(name, dtype, op, given))
        return name

    for e in late:
        xs = [_late_operand(code, low, a, body, values) for a in e.inputs]
        resolved = resolve(e, low.functions)
        assert resolved is not None
        v = e.outputs[0]
        values[v] = apply(Writer(let), e, resolved, xs)
        if v in low.outputs:
            dtype = NATIVE[v.type.dtype]
            target = code.argument(v, v, "output", dtype, 1)
            body.append(Store(Address(target, ()), values[v].operand, dtype))


def _late_operand(
    code: _Code, low: _Lowering, a: Atom, body: list[Any], values: dict[Var, Scalar]
) -> Scalar:
    plan = low.plan
    if isinstance(a, Var) and a in plan.uniform:
        a = plan.uniform[a]
    if isinstance(a, Literal):
        return Scalar(Const(a.value, NATIVE[a.type.dtype]), NATIVE[a.type.dtype])
    base = plan.same.get(a, a)
    if base in values:
        return values[base]
    view = plan.views[a]
    dtype = NATIVE[view.base.type.dtype]
    buffer = code.argument(view.base, view.base, "input", dtype, view.base.type.size)
    offset = code.integer(("offset", a), view.offset) if view.offset else 0
    name = code.fresh()
    body.append(Load(name, dtype, Address(buffer, (), offset)))
    return Scalar(name, dtype)
