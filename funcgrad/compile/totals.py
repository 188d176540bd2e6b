"""Reductions: into a carry of the loops over a row, a column of the result, or a total of all rows.

A chunk writes what it found into memory of its own; another kernel (`finish.py`) combines these.
"""

from __future__ import annotations

from typing import Any

from funcgrad.compile.addresses import Addresses
from funcgrad.compile.eligible import REDUCTIONS
from funcgrad.compile.finish import compensated
from funcgrad.compile.layout import access
from funcgrad.compile.loops import Accumulate, Address, Carry, Combine, Const, For, Store, identity
from funcgrad.compile.reads import Reads
from funcgrad.compile.scalars import Scalar
from funcgrad.compile.stages import Stages
from funcgrad.compile.values import Values
from funcgrad.graph.ir import Equation, Var
from funcgrad.passes.region import Reduction
from funcgrad.passes.views import whole

__all__ = ["Totals"]


class Totals:
    """What is summed up, and where it goes."""

    def __init__(self, reads: Reads, addresses: Addresses, values: Values, stages: Stages) -> None:
        self.reads, self.addresses, self.values, self.stages = reads, addresses, values, stages
        self.code, self.plan, self.layout = reads.code, reads.plan, reads.layout
        self.reductions, self.made = reads.reductions, reads.made
        self.blocks = addresses.blocks
        # Reductions over rows with the names of their partial results and carries.
        self.totals: list[tuple[Var, str, str]] = []
        self.carry_of: dict[Var, str] = {}  # of the reductions of the stage that is being written

    def reduce(self, v: Var, nest: list[For], body: list[Any]) -> None:
        """Add the element to the reduction's carry, or to its column."""
        e, r = self.made[v], self.reductions[v]
        x = self.values.operand(e, 0, 2)
        op = REDUCTIONS[e.prim]
        dtype = self.reads.dtype(v)
        x = self.addresses.writer(2).cast(x, dtype)
        if r.scatters:
            self.scatter(e, x, dtype, 2)
            return
        if self.reads.is_column(r):
            self.add_to_column(v, op, x, dtype, body)
            return
        carry = self.code.fresh("a")
        self.carry_of[v] = carry
        nest[0].carries.append(Carry(carry, dtype, op))
        body.append(Combine(carry, x.operand))

    def hand_on(self, c: Carry, outer: For) -> None:
        """The result of an inner loop goes into a carry of the loop around it."""
        name = self.code.fresh("a")
        op = compensated(c.op, c.dtype)
        outer.carries.append(Carry(name, c.dtype, op))
        outer.body.append(Combine(name, c.name))
        for v, carry in self.carry_of.items():
            if carry == c.name:
                self.carry_of[v] = name

    # ----------------------------------------------------------------------------- columns

    def partial(self, v: Var, width: int) -> str:
        dtype = self.reads.dtype(v)
        return self.code.argument(("partial", v), v, "partial", dtype, self.layout.chunks * width)

    def columns_start(self, chunk: For) -> None:
        """Set the columns of this chunk to the identity."""
        for v, r in self.reductions.items():
            if not self.reads.is_column(r):
                continue
            width = v.type.size
            name = self.partial(v, width)
            index = self.code.fresh("j")
            n = self.code.integer(("width", name), width)
            loop = For(index, n, "vector")
            op, dtype = REDUCTIONS[self.made[v].prim], self.reads.dtype(v)
            start = Const(identity(op, dtype), dtype)
            loop.body.append(Store(Address(name, ((index, 1), ("chunk", n))), start, dtype))
            chunk.body.append(loop)

    def add_to_column(self, v: Var, op: str, x: Scalar, dtype: str, body: list[Any]) -> None:
        width = v.type.size
        name = self.partial(v, width)
        own = tuple(None if a is None else a.find() for a in self.plan.labels[v])
        found = access(own, whole(v).strides)
        terms = self.addresses.terms(("column", name), found)
        n = self.code.integer(("width", name), width)
        body.append(Accumulate(Address(name, (*terms, ("chunk", n))), op, x.operand, dtype))

    def scatter(self, e: Equation, x: Scalar, dtype: str, level: int) -> None:
        """Add the element where its positions say, in the result of this chunk."""
        (v,) = e.outputs
        name = self.partial(v, v.type.size)
        positions = self.values.positions(e, level, v.type.shape, whole(v).strides)
        n = self.code.integer(("width", name), v.type.size)
        terms = (
            *self.addresses.terms(("scatter", name), self.reads.accesses[v]),
            *positions,
            ("chunk", n),
        )
        into = Address(name, terms)
        self.blocks[level].append(Accumulate(into, "add", x.operand, dtype, True))

    # ------------------------------------------------------------------------------ totals

    def total(self, v: Var, r: Reduction, around: For) -> bool:
        """Hand a row's part of a total to the carry of the loop over rows; False if it is none."""
        if r.scatters and not self.stages.is_inner(v):
            x = self.addresses.writer(1).cast(
                self.values.operand(self.made[v], 0, 1), self.reads.dtype(v)
            )
            self.scatter(self.made[v], x, self.reads.dtype(v), 1)
        if self.reads.is_column(r):
            return True
        outer = self.reads.region.axes - frozenset(a for d in self.layout.inner for a in d.axes)
        everything = r.over == self.reads.region.axes
        of_rows = r.over == outer and r.domain == outer
        split = self.layout.blocked in self.layout.inner
        if not (everything or of_rows) or not (outer or split):
            return False
        op, dtype = REDUCTIONS[self.made[v].prim], self.reads.dtype(v)
        carry = self.code.fresh("a")
        kind = op if self.layout.across else compensated(op, dtype)
        around.carries.append(Carry(carry, dtype, kind))
        if of_rows:
            x = self.addresses.writer(1).cast(self.values.operand(self.made[v], 0, 1), dtype)
        else:
            x = self.values.memo[1][v]
        self.blocks[1].append(Combine(carry, x.operand))
        self.totals.append((v, self.partial(v, 1), carry))
        return True

    def combine_lanes(self, lanes: For, body: list[Any], row: For) -> None:
        """What the lanes of a block have summed up goes to the loop over rows."""
        for k, (v, partial, carry) in enumerate(self.totals):
            (c,) = [c for c in lanes.carries if c.name == carry]
            name = self.code.fresh("a")
            row.carries.append(Carry(name, c.dtype, compensated(c.op, c.dtype)))
            body.append(Combine(name, carry))
            self.totals[k] = (v, partial, name)

    def store_total(self, v: Var, partial: str, carry: str, body: list[Any]) -> None:
        body.append(Store(Address(partial, (("chunk", 1),)), carry, self.reads.dtype(v)))
