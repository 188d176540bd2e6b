"""Values of rows that nothing in the row has to be added up for, for many rows at once.

Lanes run along the elements of a row, so what there is once in a row, as the derivatives of an
example of which a Hessian takes many directions, would be computed one at a time: an exponential
and two divisions take as long as thirty elements. A chunk begins with a loop whose lanes run over
its rows; the rows read from scratch memory what it has found.
"""

from __future__ import annotations

from funcgrad.compile.addresses import Addresses
from funcgrad.compile.loops import Address, Buffer, For, Store
from funcgrad.compile.reads import Reads
from funcgrad.compile.values import Values
from funcgrad.graph.ir import Var

__all__ = ["RowValues"]

ROWS = 1024  # of a chunk at the most, for which there is scratch memory
MOST = 8  # values of a row: for more of them scratch memory would be large
LEAST = 15  # what they have to cost


class RowValues:
    """What a chunk computes before its rows."""

    def __init__(self, reads: Reads, addresses: Addresses, values: Values) -> None:
        self.reads, self.addresses, self.values = reads, addresses, values
        self.code, self.layout = reads.code, reads.layout
        self.reductions, self.outputs = reads.reductions, reads.outputs
        self.blocks = addresses.blocks

    def choose_early(self) -> None:
        """Which values to compute first; the chunks are made short enough for them."""
        layout = self.layout
        one_by_one = len(layout.outer) == 1 and layout.blocked is None and not layout.across
        if not one_by_one or layout.lanes is None:
            return
        known = {v: e for e in self.reads.main for v in e.outputs if self.is_of_a_row(v)}
        if not sum(e.prim.cost for e in known.values()) >= LEAST:
            return
        used = {
            base
            for e in self.reads.main
            if e.outputs[0] not in known
            for a in e.inputs
            if (base := self.reads.inside(a)) in known
        }
        wanted = [v for v in known if v in used or v in self.outputs]
        if 0 < len(wanted) <= MOST and self.may_be_shorter(ROWS):
            layout.rows_in_chunk = min(layout.rows_in_chunk, ROWS)
            self.values.early = {v: self.code.fresh("row") for v in wanted}

    def may_be_shorter(self, rows: int) -> bool:
        """Whether chunks are no longer than that, or each has little to hand over at its end."""
        large = any(self.reads.is_column(r) or r.scatters for r in self.reductions.values())
        return not large or self.layout.rows_in_chunk <= rows

    def is_of_a_row(self, v: Var) -> bool:
        """Whether a value is known for each row before anything in it is added up."""
        return v not in self.reductions and self.reads.stage[v] == 0 and self.reads.level(v) == 1

    def compute_early(self, chunk: For, start: str, count: str) -> None:
        """The loop over the rows of a chunk, from `start` on."""
        if not self.values.early:
            return
        early, self.values.early = self.values.early, {}
        (d,) = self.layout.outer
        loop = For(self.code.fresh("l"), count, "vector")
        self.addresses.index[d] = [(start, 1), (loop.index, 1)]
        around, self.addresses.held, self.blocks[1] = self.addresses.held, {}, loop.body
        size = self.code.integer("early", self.layout.rows_in_chunk)
        for v, name in early.items():
            x, dtype = self.values.value(v), self.reads.dtype(v)
            self.code.locals.append(Buffer(name, dtype, "local", size))
            loop.body.append(Store(Address(name, ((loop.index, 1),)), x.operand, dtype))
        self.values.early, self.addresses.held, self.values.memo[1] = early, around, {}
        chunk.body.append(loop)
