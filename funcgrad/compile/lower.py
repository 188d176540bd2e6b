"""Lowering: a region of a plan becomes a loop nest, and another one that finishes its totals.

The value of a variable is written at the outermost loop where all that it depends on is known:
before all loops, once a row, or once an element. Inner reductions divide the work on a row into
stages, each a loop over the row. Here the loops are opened; `reads.py`, `addresses.py`,
`values.py`, `stages.py`, `totals.py` and `row_values.py` say what stands in them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from funcgrad.compile.addresses import Addresses
from funcgrad.compile.code import Written
from funcgrad.compile.finish import finish
from funcgrad.compile.layout import BLOCK, Dim, Layout
from funcgrad.compile.loops import Const, For, Kernel, Let, Term, scratch_bytes
from funcgrad.compile.reads import Reads
from funcgrad.compile.row_values import RowValues
from funcgrad.compile.scalars import Scalar
from funcgrad.compile.stages import Stages
from funcgrad.compile.totals import Totals
from funcgrad.compile.values import Values
from funcgrad.config import config
from funcgrad.graph.ir import Var
from funcgrad.passes.plan import Plan
from funcgrad.passes.region import Region

__all__ = ["Lowered", "lower"]

PARALLEL_WORK = 600_000  # additions, some 60–100 µs: less does not pay for waking a thread
SCRATCH = 256 << 20  # bytes for all threads, beyond which fewer of them take part


@dataclass
class Lowered:
    """A step as kernels: what runs in chunks, and what has to run when all chunks are done."""

    layout: Layout
    main: Written
    work: float  # additions, about
    end: Written | None = None
    direct: dict[str, Var] = field(default_factory=dict)  # partial -> output, if one chunk is all

    @property
    def kernel(self) -> Kernel:
        return self.main.kernel

    @property
    def kernels(self) -> list[Kernel]:
        return [self.kernel] if self.end is None else [self.kernel, self.end.kernel]

    @property
    def parallel(self) -> bool:
        """Whether a second thread pays."""
        return self.layout.chunks > 1 and self.work > PARALLEL_WORK

    @property
    def scratch(self) -> int:
        """Bytes of scratch memory for each thread."""
        return scratch_bytes(self.kernel, self.main.integers)

    @property
    def threads(self) -> int:
        """In how many threads it runs at the most: each has scratch memory of its own."""
        if not self.parallel:
            return 1
        room = self.layout.chunks if not self.scratch else max(1, SCRATCH // self.scratch)
        return min(self.layout.chunks, max(config.threads, os.cpu_count() or 1), room)


def lower(plan: Plan, region: Region, functions: frozenset[str], name: str) -> Lowered:
    """The kernels of a region."""
    return _Lowering(plan, region, functions, name).run()


class _Lowering:
    """The loops of a region around its values."""

    def __init__(self, plan: Plan, region: Region, functions: frozenset[str], name: str) -> None:
        self.reads = reads = Reads(plan, region, functions, name)
        self.code, self.layout = reads.code, reads.layout
        self.reductions, self.outputs = reads.reductions, reads.outputs
        self.addresses = addresses = Addresses(reads)
        self.values = values = Values(reads, addresses)
        self.stages = Stages(reads)
        self.totals = Totals(reads, addresses, values, self.stages)
        self.row_values = RowValues(reads, addresses, values)

    def run(self) -> Lowered:
        self.row_values.choose_early()
        if self.reads.region.axes:
            self.loop_over_chunks()
        else:
            self.scalars()
        main = self.code.written(self.addresses.blocks[0])
        found = Lowered(self.layout, main, self.work())
        self.end(found)
        return found

    def end(self, found: Lowered) -> None:
        """What is left to do when all chunks are done."""
        partials = [a for a in found.main.arguments if a.role == "partial"]
        late = [e for e in self.reads.region.equations if e.outputs[0] in self.reads.region.late]
        if not partials:
            return
        alone = found.layout.chunks == 1 and not late
        if alone and all(a.var in self.outputs for a in partials):
            found.direct = {a.name: a.var for a in partials}
            if any(self.reads.is_column(r) for r in self.reductions.values()):
                return  # what adds up columns is as large as the kernel; that of totals is small
        found.end = finish(self.reads, partials, late)

    def scalars(self) -> None:
        for v in self.outputs:
            self.values.store(v, 0)

    def loop_over_chunks(self) -> None:
        code, layout = self.code, self.layout
        chunk = For("chunk", code.integer("chunks", layout.chunks), "chunks")
        top = self.addresses.blocks[0]
        start, left, count = code.fresh("s"), code.fresh("s"), code.fresh("s")
        grain = code.integer("grain", layout.rows_in_chunk)
        rows = code.integer("rows", layout.rows)
        chunk.body += [
            Let(start, "int64", "mul", ("chunk", grain)),  # type: ignore[arg-type]
            Let(left, "int64", "sub", (rows, start)),  # type: ignore[arg-type]
            Let(count, "int64", "min", (left, grain)),  # type: ignore[arg-type]
        ]
        self.totals.columns_start(chunk)
        self.row_values.compute_early(chunk, start, count)
        row = For("row", count, "sequential")
        body: list[Any] = []
        here = code.fresh("s")
        body.append(Let(here, "int64", "add", (start, "row")))
        self.decode(here, body)
        if layout.across:
            lanes = self.lane_loop(body)
            self.addresses.blocks[1] = lanes.body
            self.walk_row(lanes)
            body.append(lanes)
            self.totals.combine_lanes(lanes, body, row)
        else:
            self.addresses.blocks[1] = body
            self.walk_row(row)
        row.body = body
        chunk.body += [*self.addresses.prologue, row]
        for v, partial, carry in self.totals.totals:
            self.totals.store_total(v, partial, carry, chunk.body)
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
            self.addresses.index[d] = [(name, layout.block if is_block else 1)]

    def block_count(self, d: Dim, body: list[Any]) -> str:
        """How many elements the block of this row has."""
        code = self.code
        block = self.addresses.index[d][0][0]
        start, left, count = code.fresh("s"), code.fresh("s"), code.fresh("s")
        size = Const(self.addresses.index[d][0][1], "int64")
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
        self.addresses.index[d] = [*self.addresses.index[d], (index, 1)]
        return For(index, count, "vector")

    # ------------------------------------------------------------------------------- stages

    def walk_row(self, around: For) -> None:
        """The stages of a row, the stores of its values, and what it adds to the totals."""
        last = self.stages.plan_stages()
        self.stages.plan_scratch(last)
        for k in range(1, last + 1):
            self.run_stage(k)
        for v in self.outputs:
            if (
                v not in self.reads.region.late
                and v not in self.reductions
                and not self.stages.in_stage(v)
            ):
                alone = self.reads.level(v) == 0 and not self.reads.accesses[v].strides
                self.values.store(v, 0 if alone else 1)
        for v, r in self.reductions.items():
            if not self.totals.total(v, r, around) and v in self.outputs:
                self.values.store(v, 1)

    def run_stage(self, k: int) -> None:
        """One loop over the elements of a row."""
        roots = self.stages.roots.get(k)
        if not roots:
            return
        self.values.memo[2] = {}
        self.addresses.held = {key: h for key, h in self.addresses.held.items() if h[0] < 2}
        body: list[Any] = []
        self.addresses.blocks[2] = body
        sums = [r for v in roots if (r := self.reductions.get(v)) is not None]
        nest = self.nest(body, any(not r.scatters and not self.reads.is_column(r) for r in sums))
        for v, where in self.values.cached.items():
            if where is not v and where in roots:
                self.values.value(v)  # it is read before what takes its place is written
        for v in roots:
            if v in self.reductions:
                self.totals.reduce(v, nest, body)
            elif v in self.outputs:
                self.values.store(v, 2)
            else:
                self.values.value(v)
        for v, output in self.stages.kept.items():
            if v in self.values.memo[2] and v not in self.values.cached:
                self.values.keep(v, output, body)
        for loop, outer in zip(nest, [*nest[1:], None], strict=True):
            if outer is not None:
                outer.body.append(loop)
                for c in loop.carries:
                    self.totals.hand_on(c, outer)
        if nest:
            outermost = nest[-1]
            self.addresses.blocks[1].append(outermost)
            for v in roots:
                if v in self.totals.carry_of:
                    self.values.memo[1][v] = Scalar(self.totals.carry_of[v], self.reads.dtype(v))
        else:
            self.addresses.blocks[1] += body

    def nest(self, body: list[Any], adds: bool) -> list[For]:
        """The loops over a row, the innermost first; those that add are cut into blocks."""
        layout, code = self.layout, self.code
        self.totals.carry_of = {}
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
                count: Term = self.block_count(d, self.addresses.blocks[1])
                self.addresses.index[d] = [self.addresses.index[d][0], (index, 1)]
            elif adds:
                block = code.fresh("b")
                n = code.integer(("blocks", d), -(-d.extent // BLOCK))
                outer = For(block, n, "blocks")
                loops.append(outer)
                self.addresses.index[d] = [(block, BLOCK)]
                count = self.block_count(d, outer.body)
                self.addresses.index[d] = [(block, BLOCK), (index, 1)]
            else:
                count = code.integer(("extent", d), d.extent)
                self.addresses.index[d] = [(index, 1)]
            loops.append(For(index, count, kind))
        if loops:
            loops[-1].body = body
        return loops[::-1]

    def work(self) -> float:
        total = 0.0
        for e in self.reads.main:
            size = 1
            for a in self.reads.labels(e):
                size *= 1 if a is None else a.extent
            total += size * e.prim.cost
        return total + sum(a.size for a in self.code.arguments.values())
