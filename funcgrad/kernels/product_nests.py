"""The native code of products of matrices, as a loop nest: panels of columns, tiles of sums.

A chunk is a panel of columns and a block of rows of one product of a stack. So many terms of the
panel at a time are copied into scratch memory, whatever their strides, where they stay near while
all rows of the block are multiplied by them; a tile of sums, some rows and the columns of the
panel, stays in registers. Each element adds up its terms in order, in blocks of `DEPTH`, so
neither panels nor blocks of rows change a bit. It imports the compiler.
"""

from __future__ import annotations

from typing import Any

from funcgrad.compile.llvm.target import host
from funcgrad.compile.loops import (
    Accumulate,
    Address,
    Buffer,
    Carry,
    Combine,
    For,
    Kernel,
    Store,
)
from funcgrad.kernels.nests import Nest, printed
from funcgrad.kernels.products import DEPTH, INTEGERS, ROWS

__all__ = ["text_of"]

SUMS = {512: 24, 256: 12}  # vectors of sums that stay in registers, by the bits of one
FEWER = (16, 8, 4, 2, 1)  # rows of tiles behind those of full height


def text_of(vectors: int, turned: bool, dtype: str) -> str:
    """The module for panels of so many vectors, and a left factor that is `turned` or not."""
    return printed(_Product(vectors, turned, dtype).kernel_of_panels())


class _Product(Nest):
    def __init__(self, vectors: int, turned: bool, dtype: str) -> None:
        super().__init__(dtype)
        bits = host().vector_bits
        self.lanes = bits // (64 if dtype == "float64" else 32)
        self.width = vectors * self.lanes
        self.height = SUMS.get(bits, 12) // vectors
        self.turned = turned

    def kernel_of_panels(self) -> Kernel:
        """``y[s, i, j] = bias[j] + Σ_k a[s, i, k] b[s, k, j]``."""
        chunk = For("chunk", "chunks", "chunks")
        body = chunk.body
        panel, rest = self.parted(body, "chunk", "panels")
        block, stack = self.parted(body, rest, "blocks")
        head, example = self.parted(body, stack, "heads")
        self.column = self.whole(body, "mul", panel, self.width)
        self.columns = self.least(body, "columns", self.column, self.width)
        self.first = self.whole(body, "mul", block, "grain")
        self.some = self.least(body, "rows", self.first, "grain")
        self.summed = self.once(body, panel)
        self.stack = {}
        for x in ("a", "b", "y"):
            away = [self.whole(body, "mul", *pair) for pair in
                    ((example, f"{x}_far"), (head, f"{x}_stack"))]  # fmt: skip
            self.stack[x] = self.whole(body, "add", *away)
        self.terms_from(body, self.whole(body, "sub", panel, panel), True)
        later, deep = self.loop(body, "depths", "sequential")
        begin = self.whole(deep, "mul", self.whole(deep, "add", later, 1), DEPTH)
        self.terms_from(deep, begin, False)
        buffers = [Buffer(x, self.dtype, "input") for x in ("a", "b", "bias")]
        buffers += [Buffer(x, self.dtype, "output") for x in ("y", "sums")]
        buffers.append(Buffer("panel", self.dtype, "local", DEPTH * self.width))
        if self.turned:
            buffers.append(Buffer("given", self.dtype, "local", DEPTH * ROWS))
        return Kernel("call", buffers, list(INTEGERS), [], [chunk])

    def once(self, body: list[Any], panel: str) -> str:
        """How many rows are added up: all, beside the first panel, if they are asked for."""
        most = self.whole(body, "min", self.some, "added")
        other = self.whole(body, "mul", self.whole(body, "min", panel, 1), most)
        return self.whole(body, "sub", most, other)

    # ----------------------------------------------------------------------------- integers

    def parted(self, body: list[Any], x: str, by: Any) -> tuple[str, str]:
        """Remainder and quotient."""
        return self.whole(body, "rem", x, by), self.whole(body, "div", x, by)

    def least(self, body: list[Any], extent: str, start: str, most: Any) -> str:
        """How many there are from `start` on, at most `most`."""
        return self.whole(body, "min", self.whole(body, "sub", extent, start), most)

    # ------------------------------------------------------------------------------- copies

    def terms_from(self, body: list[Any], begin: str, first: bool) -> None:
        """Multiply as many terms as are in scratch memory; the first ones with the bias."""
        count = self.least(body, "terms", begin, DEPTH)
        self.copy_panel(body, begin, count)
        if self.turned:
            self.copy_rows(body, begin, count)
            self.add_rows(body, count, first)
        self.tiles(body, begin, count, first)

    def copy_panel(self, body: list[Any], begin: str, count: str) -> None:
        """Columns that are next to each other a vector at a time, others one by one."""
        some = self.whole(body, "min", count, "beside")
        j, lane = self.many_loops(body, self.columns, self.width)
        k, each = self.loop(lane, some, "sequential")
        at = (self.stack["b"], 1), (self.column, 1), (begin, "b_term"), (k, "b_term"), (j, 1)
        self.store(each, self.load(each, "b", *at), "panel", (k, self.width), (j, 1))
        apart = self.whole(body, "min", self.columns, "apart")
        i, line = self.loop(body, apart, "sequential")
        k, each = self.loop(line, count, "sequential")
        column = (self.stack["b"], 1), (self.column, "b_column"), (i, "b_column")
        x = self.load(each, "b", *column, (begin, "b_term"), (k, "b_term"))
        self.store(each, x, "panel", (k, self.width), (i, 1))

    def copy_rows(self, body: list[Any], begin: str, count: str) -> None:
        """Rows whose elements of a term are next to each other."""
        j, lane = self.many_loops(body, self.some, 4 * self.lanes)
        k, each = self.loop(lane, count, "sequential")
        at = (self.stack["a"], 1), (self.first, 1), (begin, "a_term"), (k, "a_term"), (j, 1)
        self.store(each, self.load(each, "a", *at), "given", (k, ROWS), (j, 1))

    def add_rows(self, body: list[Any], count: str, first: bool) -> None:
        j, lane = self.many_loops(body, self.summed, 4 * self.lanes)
        k, each = self.loop(lane, count, "sequential", [(f"{j}.sum", "add")])
        each.append(Combine(f"{j}.sum", self.load(each, "given", (k, ROWS), (j, 1))))
        to = Address("sums", ((self.first, 1), (j, 1)))
        write = Store(to, f"{j}.sum", self.dtype)
        lane.append(write if first else Accumulate(to, "add", f"{j}.sum", self.dtype))

    # -------------------------------------------------------------------------------- tiles

    def tiles(self, body: list[Any], begin: str, count: str, first: bool) -> None:
        j, lane = self.many_loops(body, self.columns, self.width)
        bias = self.load(lane, "bias", (self.column, 1), (j, 1)) if first else None
        left = self.some
        top = self.whole(lane, "sub", left, left)
        for height in (self.height, *(h for h in FEWER if h < self.height)):
            left, tiles = self.parted(lane, left, height)
            index, inner = self.loop(lane, tiles, "sequential")
            row = self.whole(inner, "add", top, self.whole(inner, "mul", index, height))
            self.tile(inner, j, [row, begin, count], height, bias)
            top = self.whole(lane, "add", top, self.whole(lane, "mul", tiles, height))

    def tile(
        self, body: list[Any], j: str, where: list[str], height: int, bias: str | None
    ) -> None:
        row, begin, count = where
        rows = [row, *(self.whole(body, "add", row, r) for r in range(1, height))]
        k, inner = self.loop(body, count, "sequential")
        loop = body[-1]
        near = self.load(inner, "panel", (k, self.width), (j, 1))
        for r, i in enumerate(rows):
            if self.turned:
                x = self.load(inner, "given", (k, ROWS), (i, 1))
            else:
                at = (self.stack["a"], 1), (self.first, "a_row"), (i, "a_row")
                x = self.load(inner, "a", *at, (begin, "a_term"), (k, "a_term"))
            loop.carries.append(Carry(f"{k}.{r}", self.dtype, "add"))
            inner.append(Combine(f"{k}.{r}", x, near))
        for r, i in enumerate(rows):
            line = (self.stack["y"], 1), (self.first, "y_row"), (i, "y_row")
            to = Address("y", (*line, (self.column, 1), (j, 1)))
            if bias is None:
                body.append(Accumulate(to, "add", f"{k}.{r}", self.dtype))
            else:
                body.append(Store(to, self.let(body, "add", f"{k}.{r}", bias), self.dtype))
