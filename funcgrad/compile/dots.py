"""Long scalar products as loop nests: matrices of few rows or columns, of many terms.

To copy the operands of a product into an order of its own pays where each element is used often. A
Gram matrix, or the gradients of many small matrices, uses them a few times only. Here tiles of sums
stay in registers, and lanes run along the terms, which lie next to each other in both operands.
"""

from __future__ import annotations

import math
from typing import Any

from funcgrad.compile.layout import BLOCK
from funcgrad.compile.loops import Carry, Combine, Const, For, Load, Store, Term
from funcgrad.compile.lower import Lowered
from funcgrad.compile.tiles import Product, Tiles
from funcgrad.passes.views import View

__all__ = ["dots"]

TILE = 4  # rows, and columns, whose sums stay in registers
TERMS = 128  # so many at least: the lanes of each sum are added up in the end
VECTOR = 32  # for products with a vector, or
FEW_TERMS = 8  # for short ones,
SHORT = 1 << 16  # of so many multiplications at the most: a call of NumPy takes as long
SIDE = 64  # rows or columns at the most, unless it is one: elements are better used more often
WIDE = 512  # the others at the most
GRAIN = 1 << 19  # multiplications of a chunk, about
Steps = list[tuple[str, Term]]


def dots(p: Product, name: str) -> Lowered | None:
    """The kernel of a product; None where it is no such stack."""
    few, many = sorted(p.out.shape[-2:])
    in_tiles = few == 1 or (few <= SIDE and many <= WIDE)
    side_by_side = p.x.strides[-1] == p.y.strides[-1] == 1
    terms = p.x.shape[-1]
    least = TERMS if few > 1 else FEW_TERMS if many * terms <= SHORT else VECTOR
    fits = in_tiles and terms >= least and side_by_side
    return _Dots(p, name).lower() if fits else None


class _Dots(Tiles):
    """Lanes run along k, tiles along i and j."""

    def lower(self) -> Lowered:
        height = min(TILE, self.rows)
        tiles = -(-self.rows // height)
        grain = max(1, GRAIN // (height * self.columns * self.terms))
        chunk, body, row = self.chunks(math.prod(self.lead) * tiles, grain)
        *at, tile = self.decode(row, [tiles], body)
        top = self.first(tile, height, self.rows, "last row", body)
        body.append(self.columns_loop(at, top, height))
        return self.lowered(chunk)

    def first(self, tile: str, size: int, extent: int, key: str, body: list[Any]) -> str:
        """Where a tile begins: the last one reaches back over the one before."""
        regular, found = self.code.fresh("i"), self.code.fresh("i")
        last = self.code.integer(key, extent - size)
        body += [
            self.let(regular, "mul", tile, Const(size, "int64")),
            self.let(found, "min", regular, last),
        ]
        return found

    def columns_loop(self, at: list[str], top: str, height: int) -> For:
        width = min(TILE, self.columns)
        count = self.code.integer("column tiles", -(-self.columns // width))
        loop = For(self.code.fresh("j"), count, "sequential")
        left = self.first(loop.index, width, self.columns, "last column", loop.body)
        cells = [(i, j) for i in range(height) for j in range(width)]
        carries = self.sums(at, top, left, cells, loop.body)
        for (i, j), carry in carries.items():
            offset = self.code.integer(("out", i, j), i * self.columns + j)
            place = self.address(self.out, "output", at, [top, left], offset)
            loop.body.append(Store(place, carry, self.dtype))
        return loop

    def sums(
        self, at: list[str], top: str, left: str, cells: list[tuple[int, int]], body: list[Any]
    ) -> dict[tuple[int, int], str]:
        """The sums of a tile, each in a carry; many terms are added up block by block."""
        code = self.code
        terms = code.integer("terms", self.terms)
        if self.terms <= 2 * BLOCK:
            inner = For(code.fresh("k"), terms, "vector")
            body.append(inner)
            return self.products(at, top, left, inner, [(inner.index, 1)], cells)
        outer = For(code.fresh("b"), code.integer("blocks", -(-self.terms // BLOCK)), "sequential")
        _, count = self.rest(outer.index, BLOCK, terms, outer.body)
        inner = For(code.fresh("k"), count, "vector")
        outer.body.append(inner)
        steps: Steps = [(outer.index, BLOCK), (inner.index, 1)]
        totals = {}
        for cell, part in self.products(at, top, left, inner, steps, cells).items():
            totals[cell] = code.fresh("a")
            outer.carries.append(Carry(totals[cell], self.dtype, "add"))
            outer.body.append(Combine(totals[cell], part))
        body.append(outer)
        return totals

    def products(
        self,
        at: list[str],
        top: str,
        left: str,
        loop: For,
        steps: Steps,
        cells: list[tuple[int, int]],
    ) -> dict[tuple[int, int], str]:
        rows, columns = (dict.fromkeys(each) for each in zip(*cells, strict=True))
        xs = {i: self.read("x", self.x, at, top, i, loop, steps) for i in rows}
        ys = {j: self.read("y", self.y, at, left, j, loop, steps) for j in columns}
        found = {}
        for i, j in cells:
            found[i, j] = self.code.fresh("a")
            loop.carries.append(Carry(found[i, j], self.dtype, "add"))
            loop.body.append(Combine(found[i, j], xs[i], ys[j]))
        return found

    def read(
        self, side: str, view: View, at: list[str], line: str, k: int, loop: For, steps: Steps
    ) -> str:
        """An element of line k of a tile."""
        lines = View(view.base, 0, view.shape[:-1], view.strides[:-1])
        offset = self.code.integer((side, k), view.offset + k * view.strides[-2])
        place = self.address(lines, "input", at, [line], offset)
        name = self.code.fresh()
        loop.body.append(Load(name, self.dtype, place._replace(terms=(*place.terms, *steps))))
        return name
