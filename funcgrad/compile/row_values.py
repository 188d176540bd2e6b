"""Values of rows that nothing in the row has to be added up for, for many rows at once.

Lanes run along the elements of a row, so what there is once in a row, as the derivatives of an
example of which a Hessian takes many directions, would be computed one at a time: an exponential
and two divisions take as long as thirty elements. A chunk begins with a loop whose lanes run over
its rows; the rows read from scratch memory what it has found.
"""

from __future__ import annotations

from funcgrad.compile.loops import Address, Buffer, For, Store
from funcgrad.compile.totals import Totals
from funcgrad.graph.ir import Var

__all__ = ["RowValues"]

ROWS = 1024  # of a chunk at the most, for which there is scratch memory
MOST = 8  # values of a row: for more of them scratch memory would be large
LEAST = 15  # what they have to cost


class RowValues(Totals):
    """What a chunk computes before its rows."""

    def choose_early(self) -> None:
        """Which values to compute first; the chunks are made short enough for them."""
        layout = self.layout
        one_by_one = len(layout.outer) == 1 and layout.blocked is None and not layout.across
        if not one_by_one or layout.lanes is None:
            return
        known = {v: e for e in self.main for v in e.outputs if self.is_of_a_row(v)}
        if not sum(e.prim.cost for e in known.values()) >= LEAST:
            return
        used = {
            base
            for e in self.main
            if e.outputs[0] not in known
            for a in e.inputs
            if (base := self.inside(a)) in known
        }
        wanted = [v for v in known if v in used or v in self.outputs]
        if 0 < len(wanted) <= MOST and self.may_be_shorter(ROWS):
            layout.rows_in_chunk = min(layout.rows_in_chunk, ROWS)
            self.early = {v: self.code.fresh("row") for v in wanted}

    def may_be_shorter(self, rows: int) -> bool:
        """Whether chunks are no longer than that, or each has little to hand over at its end."""
        large = any(self.is_column(r) or r.scatters for r in self.reductions.values())
        return not large or self.layout.rows_in_chunk <= rows

    def is_of_a_row(self, v: Var) -> bool:
        """Whether a value is known for each row before anything in it is added up."""
        return v not in self.reductions and self.stage[v] == 0 and self.level(v) == 1

    def compute_early(self, chunk: For, start: str, count: str) -> None:
        """The loop over the rows of a chunk, from `start` on."""
        if not self.early:
            return
        early, self.early = self.early, {}
        (d,) = self.layout.outer
        loop = For(self.code.fresh("l"), count, "vector")
        self.index[d] = [(start, 1), (loop.index, 1)]
        around, self.held, self.blocks[1] = self.held, {}, loop.body
        size = self.code.integer("early", self.layout.rows_in_chunk)
        for v, name in early.items():
            x, dtype = self.value(v), self.dtype(v)
            self.code.locals.append(Buffer(name, dtype, "local", size))
            loop.body.append(Store(Address(name, ((loop.index, 1),)), x.operand, dtype))
        self.early, self.held, self.memo[1] = early, around, {}
        chunk.body.append(loop)
