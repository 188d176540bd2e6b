"""The values of a kernel, each written at the outermost loop where all that it depends on is known.

That is before all loops, once a row, or once an element. What lies in memory is read through
strides; a gather reads at positions that are values, and a piece of a result is read between its
bounds only. What was computed at some cost for an earlier stage is read again from scratch memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile.addresses import Addresses
from funcgrad.compile.layout import BLOCK, Access
from funcgrad.compile.loops import (
    Address,
    Buffer,
    Carry,
    Combine,
    Const,
    For,
    Load,
    Require,
    Store,
    Term,
)
from funcgrad.compile.reads import Reads
from funcgrad.compile.scalars import NATIVE, Scalar, apply, resolve
from funcgrad.graph.ir import Atom, Equation, Literal, Var
from funcgrad.ops import records
from funcgrad.passes.operands import Bounds
from funcgrad.passes.region import Axis

__all__ = ["SCRATCH_LIMIT", "Values"]

SCRATCH_LIMIT = 8192  # elements of a row of scratch
FEW_ROWS = 8  # for fewer, gaps cost less than packing


class Values:
    """What has been written of each level, and what is kept for a later stage."""

    def __init__(self, reads: Reads, addresses: Addresses) -> None:
        self.reads, self.addresses = reads, addresses
        self.code, self.plan, self.layout = reads.code, reads.plan, reads.layout
        self.reductions, self.made = reads.reductions, reads.made
        self.blocks = addresses.blocks
        self.memo: list[dict[Var, Scalar]] = [{}, {}, {}]
        self.packs: dict[Any, str] = {}
        self.cached: dict[Var, str | Var] = {}  # in scratch of this name, or in an output
        self.early: dict[Var, str] = {}  # in scratch of this name, for each row of a chunk

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
        if v in self.reductions or v in self.cached or v in self.early:
            return []
        if v in self.memo[self.reads.level(v)]:
            return []
        e = self.made[v]
        if (
            e.prim in (records.GATHER, records.MATMUL)
            or self.reads.number_of[id(e)] in self.reads.pieces
        ):
            return []
        inputs = [a for a in e.inputs if isinstance(a, Var) and a not in self.plan.uniform]
        bases = [base for a in inputs if (base := self.reads.inside(a)) is not None]
        return [
            b for b in bases if b not in self.reductions and b not in self.memo[self.reads.level(b)]
        ]

    def _written(self, v: Var) -> Scalar:
        level = self.reads.level(v)
        if v in self.reductions:
            return self.memo[1][v]
        known = self.memo[level].get(v)
        if known is not None:
            return known
        if v in self.early:
            found = self.recall_early(v)
        elif v in self.cached:
            found = self.reload(v)
        else:
            e = self.made[v]
            found = self.computed(e, level)
        self.memo[level][v] = found
        return found

    def computed(self, e: Equation, level: int) -> Scalar:
        if e.prim is records.GATHER:
            return self.gather(e, level)
        if e.prim is records.MATMUL:
            return self.mix(e)
        if self.reads.number_of[id(e)] in self.reads.pieces:
            return self.joined(e, level)
        resolved = resolve(e, self.reads.functions)
        assert resolved is not None
        xs = [self.operand(e, k, level) for k in range(len(e.inputs))]
        found = apply(self.addresses.writer(level), e, resolved, xs)
        if isinstance(found.operand, Const):
            return Scalar(self.code.number(found.operand.value, found.dtype), found.dtype)
        return found

    def operand(self, e: Equation, k: int, level: int) -> Scalar:
        a = e.inputs[k]
        if isinstance(a, Var) and a in self.plan.uniform:
            a = self.plan.uniform[a]
        if isinstance(a, Literal):
            return Scalar(Const(a.value, NATIVE[a.type.dtype]), NATIVE[a.type.dtype])
        base = self.reads.inside(a)
        if base is not None:
            return self.value(base)
        return self.load(self.reads.number_of[id(e)], k)

    # -------------------------------------------------------------------------------- reads

    def load(self, number: int, k: int, bounds: tuple[tuple[Axis, Bounds], ...] = ()) -> Scalar:
        """An element in memory; 0 outside of the bounds."""
        view, offset, found, jumps = self.reads.loads[number, k]
        level = self.reads.level_of(frozenset(found.strides) | {a for a, _ in bounds})
        dtype = NATIVE[view.base.type.dtype]
        same = (view.base, offset, tuple(found.strides.items()), bounds, jumps)
        known = self.addresses.recalled(same, level)
        if known is not None:
            return Scalar(known, dtype)
        guard = self.addresses.within(bounds, level)
        if level == 2 and not bounds and not jumps and self.is_repeated(found):
            address = self.addresses.scratch(self.packed(same, number, k))
        else:
            address = self.addresses.address(("access", number, k), view.base, offset, found)
        if jumps:
            more = [self.addresses.jump(level, number, *jump) for jump in jumps]
            address = address._replace(terms=(*address.terms, *more))
        name = self.code.fresh()
        self.blocks[level].append(Load(name, dtype, address, guard))
        self.addresses.held[same] = (level, name)
        return Scalar(name, dtype)

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
            view, offset, found, _ = self.reads.loads[number, k]
            (d,) = self.layout.inner
            dtype, stride = NATIVE[view.base.type.dtype], found.strides[d.last]
            name, index, x = (self.code.fresh("row"), self.code.fresh("j"), self.code.fresh())
            extent = self.code.integer("scratch", d.extent)
            self.code.locals.append(Buffer(name, dtype, "local", extent))
            base = self.addresses.address(("packed", number, k), view.base, offset, Access({}))
            step = self.code.integer(("packed", number, k, "stride"), stride)
            loop = For(index, self.code.integer(("extent", d), d.extent), "vector")
            loop.body = [
                Load(x, dtype, base._replace(terms=((index, step),))),
                Store(Address(name, ((index, 1),)), x, dtype),
            ]
            self.addresses.prologue.append(loop)
            self.packs[same] = name
        return self.packs[same]

    def gather(self, e: Equation, level: int) -> Scalar:
        """An element at positions that are themselves values; a wrong one raises the flag."""
        a = e.inputs[0]
        assert isinstance(a, Var)
        number = self.reads.number_of[id(e)]
        view = self.plan.views[a]
        key = ("gather", number)
        read = self.reads.loads[number, 0]
        moving = self.addresses.address((key, "base"), view.base, view.offset, read.access)
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
        w, terms = self.addresses.writer(level), []
        key = (e.prim, self.reads.number_of[id(e)])
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

    def mix(self, e: Equation) -> Scalar:
        """An element of a matrix times a column, whose elements an earlier stage has kept."""
        number, dtype = self.reads.number_of[id(e)], self.reads.dtype(e.outputs[0])
        (d,), code = self.layout.inner, self.code
        loop = For(code.fresh("m"), code.integer(("extent", d), d.extent), "sequential")
        carry, entry = code.fresh("a"), code.fresh()
        view, offset, found, _ = self.reads.loads[number, 0]
        at = self.addresses.address(("access", number, 0), view.base, offset, found)
        step = code.stride(("column", number), view.strides[-1])
        at = at._replace(terms=(*at.terms, (loop.index, step)))
        base = self.reads.inside(e.inputs[1])
        assert base is not None
        around, self.addresses.index[d] = self.addresses.index[d], [(loop.index, 1)]
        x = Load(code.fresh(), dtype, self.kept_at(base))
        self.addresses.index[d] = around
        loop.carries.append(Carry(carry, dtype, "add"))
        loop.body += [Load(entry, dtype, at), x, Combine(carry, entry, x.name)]
        self.blocks[2].append(loop)
        return Scalar(carry, dtype)

    def joined(self, e: Equation, level: int) -> Scalar:
        """An element of a result in pieces: that of the first piece within whose bounds it is."""
        number, dtype = self.reads.number_of[id(e)], NATIVE[e.outputs[0].type.dtype]
        labels, w = self.reads.labels(e), self.addresses.writer(level)
        found: Scalar | None = None
        for p in reversed(self.reads.pieces[number]):
            bounds = tuple((a, g) for g in p.bounds if (a := labels[g.axis]) is not None)
            read = self.is_read(e.inputs[p.operand])
            x = self.load(number, p.operand, bounds) if read else self.operand(e, p.operand, level)
            x = w.cast(x, dtype)
            if found is None and (read or not bounds):
                found = x  # the last piece is read where it is, and is 0 elsewhere
                continue
            zero = Scalar(self.code.number(0, dtype), dtype) if found is None else found
            held = self.addresses.within(bounds, level)
            found = x if held is None else w.select(Scalar(held, "bool"), x, zero)
        return Scalar(self.code.number(0, dtype), dtype) if found is None else found

    def is_read(self, a: Atom) -> bool:
        return isinstance(a, Var) and a not in self.plan.uniform and self.reads.inside(a) is None

    # ------------------------------------------------------------------------------- stores

    def store(self, v: Var, level: int) -> None:
        x = self.value(v) if v not in self.reductions else self.memo[1][v]
        dtype = self.reads.dtype(v)
        self.blocks[level].append(Store(self.addresses.place_of(v), x.operand, dtype))

    def keep(self, v: Var, output: Var | None, body: list[Any]) -> None:
        """Write a value to a row of scratch, or to the memory of an output."""
        if output is not None:
            if output is not v:
                body.append(
                    Store(
                        self.addresses.place_of(output),
                        self.memo[2][v].operand,
                        self.reads.dtype(v),
                    )
                )
            self.cached[v] = output
            return
        name = self.code.fresh("row")
        extent: Term = 1
        sizes = [BLOCK if d is self.layout.blocked else d.extent for d in self.layout.inner]
        extent = self.code.integer("scratch", int(np.prod(sizes)) * self.addresses.side_by_side())
        self.code.locals.append(Buffer(name, self.reads.dtype(v), "local", extent))
        body.append(
            Store(self.addresses.scratch(name), self.memo[2][v].operand, self.reads.dtype(v))
        )
        self.cached[v] = name

    def recall_early(self, v: Var) -> Scalar:
        """A value of the row at hand, computed before all rows."""
        made, dtype = self.code.fresh(), self.reads.dtype(v)
        self.blocks[1].append(Load(made, dtype, Address(self.early[v], (("row", 1),))))
        return Scalar(made, dtype)

    def reload(self, v: Var) -> Scalar:
        made = self.code.fresh()
        self.blocks[2].append(Load(made, self.reads.dtype(v), self.kept_at(v)))
        return Scalar(made, self.reads.dtype(v))

    def kept_at(self, v: Var) -> Address:
        where = self.cached[v]
        return (
            self.addresses.scratch(where)
            if isinstance(where, str)
            else self.addresses.place_of(where)
        )
