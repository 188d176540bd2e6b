"""Matrix products as loop nests: panels of columns in scratch memory, tiles of sums in registers.

A panel has as many columns as fill a few vectors. It is copied to scratch memory, whatever its
strides are, and stays near while all rows are multiplied by it. Unlike BLAS this runs in the pool
of the other kernels: no threads of a second one wait by spinning, on processors that others need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from funcgrad.compile.loops import (
    Accumulate,
    Address,
    Buffer,
    Carry,
    Combine,
    Const,
    For,
    Load,
    Store,
)
from funcgrad.compile.lower import Lowered
from funcgrad.compile.tiles import Product, Tiles, turned
from funcgrad.passes.views import View

__all__ = ["gemm"]

SUMS = {64: 24, 32: 12}  # vectors of sums that stay in registers, by the bytes of one
FEW = 4  # rows for which no panel is copied
TINY = 1 << 13  # multiplications for which a call of NumPy takes longer than idle lanes
DEPTH = 256  # terms of a panel that are in scratch memory at a time
ROWS = 96  # rows for which a panel is copied, at least
GRAIN = 1 << 19  # multiplications of a chunk, about
LARGE = 1 << 30  # multiplications; beyond it BLAS is faster, with one thread and with two
FAR = 1 << 20  # bytes of rows whose terms are not next to each other, from where on BLAS is better


def gemm(p: Product, vector_bytes: int, name: str) -> Lowered | None:
    """The kernel of a product; None where BLAS does it better."""
    rows, columns, terms = *p.out.shape[-2:], p.x.shape[-1]
    lanes = vector_bytes // p.out.base.type.dtype.itemsize
    if rows * columns * terms > LARGE:
        return None
    far = p.x.strides[-1] != 1 and rows * terms * p.out.base.type.dtype.itemsize > FAR
    if far and columns >= ROWS:
        return None
    if columns < lanes // 2 and rows >= lanes:
        p = Product(p.y, p.x, turned(p.out))
        rows, columns = columns, rows
    tiny = rows * columns * terms <= TINY
    used_once = rows < FEW and p.y.strides[-2] != 1
    if not tiny and (columns < lanes // 2 or terms < FEW or used_once):
        return None
    return _Gemm(p, lanes, SUMS.get(vector_bytes, 12), name).lower()


class _Gemm(Tiles):
    """Lanes run along j, tiles along i."""

    def __init__(self, p: Product, lanes: int, sums: int, name: str) -> None:
        super().__init__(p, name)
        self.direct = self.rows < FEW and self.y.strides[-2] == 1
        choice = (8, 4, 2, 1) if self.direct else (4, 2, 1)
        self.vectors = min(choice, key=lambda n: self.cost(n, lanes))
        self.width = self.vectors * lanes
        self.height = self.tile_height(sums // self.vectors)

    def cost(self, vectors: int, lanes: int) -> float:
        """Of panels so wide: lanes beyond the last column are lost, and narrow ones read more."""
        width = vectors * lanes
        return -(-self.columns // width) * width * (1 + 0.1 / vectors)

    def tile_height(self, most: int) -> int:
        """Rows of a tile; where some divide all rows, there is no code for those that are left."""
        for height in range(most, most * 2 // 3 - 1, -1):
            if self.rows % height == 0:
                return height
        return min(most, self.rows)

    def lower(self) -> Lowered:
        panels = -(-self.columns // self.width)
        blocks = self.row_blocks(panels)
        work = self.block * self.width * self.terms
        chunk, body, row = self.chunks(
            math.prod(self.lead) * panels * blocks, max(1, GRAIN // work)
        )
        *at, panel, block = self.decode(row, [panels, blocks], body)
        columns = self.code.integer("columns", self.columns)
        _, count = self.rest(panel, self.width, columns, body)
        lane = For(self.code.fresh("l"), count, "vector", lanes=self.width)
        self.at, self.column = at, [(panel, self.width), (lane.index, 1)]
        self.lane = lane.index
        self.panel(block, body, lane.body)
        body.append(lane)
        return self.lowered(chunk)

    def row_blocks(self, panels: int) -> int:
        """In how many blocks the rows of a panel are taken, so that there is work for all."""
        units = math.prod(self.lead) * panels
        enough = max(1, self.rows // ROWS)
        wanted = max(1, min(enough, -(-16 // units)))
        tiles = -(-self.rows // self.height)
        self.block = -(-tiles // wanted) * self.height
        return -(-self.rows // self.block)

    def panel(self, block: str, around: list[Any], body: list[Any]) -> None:
        """One panel times a block of rows."""
        code = self.code
        rows = code.integer("all rows", self.rows)
        first, count = self.rest(block, self.block, rows, around)
        terms = code.integer("terms", self.terms)
        name = code.fresh("panel")
        self.scratch = name
        if not self.direct:
            room = code.integer("scratch", DEPTH * self.width)
            code.locals.append(Buffer(name, self.dtype, "local", room))
        if self.terms <= DEPTH:
            self.copy(terms, [], body)
            self.tiles(first, count, around, terms, [], body)
            return
        zero = For(code.fresh("i"), count, "sequential")
        place = self.place(first, zero.index)
        zero.body.append(
            Store(place, Const(self.out.base.type.dtype.type(0), self.dtype), self.dtype)
        )
        body.append(zero)
        deep = For(code.fresh("d"), code.integer("depths", -(-self.terms // DEPTH)), "sequential")
        _, here = self.rest(deep.index, DEPTH, terms, deep.body)
        self.copy(here, [(deep.index, DEPTH)], deep.body)
        self.tiles(first, count, around, here, [(deep.index, DEPTH)], deep.body)
        body.append(deep)

    def copy(self, count: Any, before: list[tuple[str, int]], body: list[Any]) -> None:
        """Terms of the panel, brought next to each other."""
        if self.direct:
            return
        loop = For(self.code.fresh("k"), count, "sequential")
        place = self.element(self.y, "y", self.column, [*before, (loop.index, 1)])
        x = self.code.fresh()
        to = Address(self.scratch, ((loop.index, self.width), (self.lane, 1)))
        loop.body = [Load(x, self.dtype, place), Store(to, x, self.dtype)]
        body.append(loop)

    def element(
        self,
        view: View,
        side: str,
        line: Sequence[tuple[str, int]],
        term: Sequence[tuple[str, int]],
        shift: int = 0,
    ) -> Address:
        """An element of an operand, whose last two indices are sums of indices times blocks."""
        stack = View(view.base, 0, view.shape[:-2], view.strides[:-2])
        offset = self.code.integer((side, shift), view.offset + shift * view.strides[-2])
        place = self.address(stack, "input", self.at, [], offset)
        terms = list(place.terms)
        for axis, indices in ((-2, line), (-1, term)):
            for index, size in indices:
                step = size * view.strides[axis]
                terms.append((index, self.code.stride((side, axis, size), step)))
        return place._replace(terms=tuple(t for t in terms if t[1] != 0))

    def place(self, first: str, row: str, shift: int = 0) -> Address:
        """An element of the result."""
        stack = View(self.out.base, 0, self.out.shape[:-2], self.out.strides[:-2])
        down, across = self.out.strides[-2:]
        offset = self.code.integer(("out", shift), self.out.offset + shift * down)
        place = self.address(stack, "output", self.at, [], offset)
        terms = [(first, self.code.stride(("down", 1), down))]
        terms.append((row, self.code.stride(("down", 1), down)))
        for index, size in self.column:
            terms.append((index, self.code.stride(("across", size), size * across)))
        return place._replace(terms=(*place.terms, *terms))

    def tiles(
        self,
        first: str,
        count: str,
        around: list[Any],
        terms: Any,
        before: list[tuple[str, int]],
        body: list[Any],
    ) -> None:
        """All rows, a tile of them at a time."""
        code, height = self.code, Const(self.height, "int64")
        whole, done, left = (code.fresh("s") for _ in range(3))
        around += [
            self.let(whole, "div", count, height),
            self.let(done, "mul", whole, height),
            self.let(left, "sub", count, done),
        ]
        loop = For(code.fresh("t"), whole, "sequential")
        top = code.fresh("i")
        loop.body.append(self.let(top, "mul", loop.index, height))
        self.tile(first, top, self.height, terms, before, loop.body)
        body.append(loop)
        few = self.rows % self.height
        if few:  # in the last block, once
            once, shift = code.fresh("s"), code.fresh("i")
            around.append(self.let(once, "div", left, Const(few, "int64")))
            rest = For(code.fresh("t"), once, "sequential")
            rest.body.append(self.let(shift, "add", done, rest.index))
            self.tile(first, shift, few, terms, before, rest.body)
            body.append(rest)

    def tile(
        self,
        first: str,
        top: str,
        height: int,
        terms: Any,
        before: list[tuple[str, int]],
        body: list[Any],
    ) -> None:
        """The sums of some rows: each row has a carry of all lanes."""
        code = self.code
        loop = For(code.fresh("k"), terms, "sequential")
        y = code.fresh()
        at = Address(self.scratch, ((self.lane, 1), (loop.index, self.width)))
        if self.direct:
            at = self.element(self.y, "y", self.column, [*before, (loop.index, 1)])
        loop.body.append(Load(y, self.dtype, at))
        line = [(first, 1), (top, 1)]
        sums = []
        for r in range(height):
            x, carry = code.fresh(), code.fresh("a")
            place = self.element(self.x, "x", line, [*before, (loop.index, 1)], r)
            loop.carries.append(Carry(carry, self.dtype, "add"))
            loop.body += [Load(x, self.dtype, place), Combine(carry, x, y)]
            sums.append(carry)
        body.append(loop)
        for r, carry in enumerate(sums):
            to = self.place(first, top, r)
            if before:
                body.append(Accumulate(to, "add", carry, self.dtype))
            else:
                body.append(Store(to, carry, self.dtype))
