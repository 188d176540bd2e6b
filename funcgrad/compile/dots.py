"""Stacks of long scalar products as loop nests: matrices of few rows and columns, of many terms.

BLAS copies the operands of a product into an order of its own first, which pays where each element
is used often. A stack of Gram matrices, or the gradients of many small matrices, uses them a few
times only, and threads would be started for each. Here tiles of sums stay in registers, and lanes
run along the terms, which lie next to each other in both operands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from funcgrad.compile.code import Code
from funcgrad.compile.layout import BLOCK, Layout
from funcgrad.compile.loops import Address, Carry, Combine, Const, For, Let, Load, Store, Term
from funcgrad.compile.lower import Lowered
from funcgrad.compile.scalars import NATIVE
from funcgrad.graph.ir import Equation, Var
from funcgrad.ops.product import MATMUL
from funcgrad.passes.plan import Plan
from funcgrad.passes.views import View, whole

__all__ = ["dots"]

TILE = 4  # rows, and columns, whose sums stay in registers
TERMS = 128  # so many at least: the lanes of each sum are added up in the end
SIDE = 128  # rows and columns at the most: BLAS is better where each element is used more often
GRAIN = 1 << 19  # multiplications of a chunk, about


def dots(plan: Plan, e: Equation, name: str) -> Lowered | None:
    """The kernel of a product; None where BLAS does it better."""
    views = _views(plan, e)
    return None if views is None else _Dots(e.outputs[0], *views, name).lower()


def _views(plan: Plan, e: Equation) -> tuple[View, View] | None:
    """The operands, the second transposed, if they are such a stack."""
    if e.prim is not MATMUL:
        return None
    (out,) = e.outputs
    if out.type.ndim < 3 or out.type.dtype not in NATIVE:
        return None
    found = []
    for a in e.inputs:
        if not isinstance(a, Var) or a in plan.uniform or a.type.dtype != out.type.dtype:
            return None
        found.append(plan.views[a])
    x, y = found
    if out.type.dtype.kind != "f" or len(x.shape) < 2 or len(y.shape) < 2:
        return None
    y = y._replace(shape=_turned(y.shape), strides=_turned(y.strides))
    rows, columns, terms = x.shape[-2], y.shape[-2], x.shape[-1]
    few = 2 <= rows <= SIDE and 2 <= columns <= SIDE and math.prod(out.type.shape[:-2]) > 1
    side_by_side = x.strides[-1] == y.strides[-1] == 1
    return (x, y) if few and terms >= TERMS and side_by_side else None


def _turned(each: Sequence[int]) -> tuple[int, ...]:
    return (*each[:-2], each[-1], each[-2])


class _Dots:
    """out[…, i, j] = Σ x[…, i, k] y[…, j, k], with lanes along k."""

    def __init__(self, out: Var, x: View, y: View, name: str) -> None:
        self.out, self.x, self.y = out, x, y
        self.dtype = NATIVE[out.type.dtype]
        self.code = Code(name)
        *self.lead, self.rows, self.columns = out.type.shape
        self.terms = x.shape[-1]
        self.tile = min(TILE, self.rows), min(TILE, self.columns)

    def lower(self) -> Lowered:
        code, (height, _) = self.code, self.tile
        tiles = -(-self.rows // height)
        rows = math.prod(self.lead) * tiles
        grain = max(1, GRAIN // (height * self.columns * self.terms))
        layout = Layout([], [], None, None, rows, grain)
        chunk = For("chunk", code.integer("chunks", layout.chunks), "chunks")
        start, left, count, here = (code.fresh("s") for _ in range(4))
        size = code.integer("grain", grain)
        chunk.body += [
            self.let(start, "mul", "chunk", size),
            self.let(left, "sub", code.integer("rows", rows), start),
            self.let(count, "min", left, size),
        ]
        row = For("row", count, "sequential")
        row.body.append(self.let(here, "add", start, "row"))
        at, tile = self.decode(here, tiles, row.body)
        top = self.first(tile, height, self.rows, "last row", row.body)
        row.body.append(self.columns_loop(at, top))
        chunk.body.append(row)
        arguments, integers, numbers = code.values()
        work = self.out.type.size * self.terms / 8
        kernel = code.kernel([chunk])
        return Lowered(layout, kernel, arguments, integers, numbers, None, [], [], [], work)

    def let(self, name: str, op: str, *args: Any) -> Let:
        return Let(name, "int64", op, args)

    def decode(self, row: str, tiles: int, body: list[Any]) -> tuple[list[str], str]:
        """The indices of the stack, and the number of the tile, the last one fastest."""
        found, rest = [], row
        for k, extent in reversed(list(enumerate([*self.lead[1:], tiles]))):
            n = self.code.integer(("extent", k), extent)
            name, above = self.code.fresh("i"), self.code.fresh("i")
            body += [self.let(name, "rem", rest, n), self.let(above, "div", rest, n)]
            found.append(name)
            rest = above
        tile, *at = found
        return [rest, *reversed(at)], tile

    def first(self, tile: str, size: int, extent: int, key: str, body: list[Any]) -> str:
        """Where a tile begins: the last one reaches back over the one before."""
        regular, found = self.code.fresh("i"), self.code.fresh("i")
        last = self.code.integer(key, extent - size)
        body += [
            self.let(regular, "mul", tile, Const(size, "int64")),
            self.let(found, "min", regular, last),
        ]
        return found

    def columns_loop(self, at: list[str], top: str) -> For:
        _, width = self.tile
        count = self.code.integer("column tiles", -(-self.columns // width))
        loop = For(self.code.fresh("j"), count, "sequential")
        left = self.first(loop.index, width, self.columns, "last column", loop.body)
        carries = self.sums(at, top, left, loop.body)
        for (i, j), carry in carries.items():
            offset = self.code.integer(("out", i, j), i * self.columns + j)
            place = self.address(whole(self.out), "output", at, [top, left], offset)
            loop.body.append(Store(place, carry, self.dtype))
        return loop

    def address(
        self, view: View, role: str, at: list[str], more: list[str], offset: Term
    ) -> Address:
        """An element: `more` has the indices of the last axes, those of a stack of one are 0."""
        v, code = view.base, self.code
        buffer = code.argument((role, v), v, role, self.dtype, v.type.size)
        indices = [*at[len(at) - (len(view.shape) - len(more)) :], *more]
        terms = [
            (i, code.stride((role, v, view.shape, view.strides, k), 0 if n == 1 else s))
            for k, (i, s, n) in enumerate(zip(indices, view.strides, view.shape, strict=True))
        ]
        return Address(buffer, tuple(t for t in terms if t[1] != 0), offset)

    def sums(
        self, at: list[str], top: str, left: str, body: list[Any]
    ) -> dict[tuple[int, int], str]:
        """The sums of a tile, each in a carry; many terms are added up block by block."""
        code, (height, width) = self.code, self.tile
        cells = [(i, j) for i in range(height) for j in range(width)]
        if self.terms <= 2 * BLOCK:
            inner = For(code.fresh("k"), code.integer("terms", self.terms), "vector")
            body.append(inner)
            return self.products(at, top, left, inner, [(inner.index, 1)], cells)
        outer = For(code.fresh("b"), code.integer("blocks", -(-self.terms // BLOCK)), "sequential")
        done, rest, count = (code.fresh("s") for _ in range(3))
        outer.body += [
            self.let(done, "mul", outer.index, Const(BLOCK, "int64")),
            self.let(rest, "sub", code.integer("terms", self.terms), done),
            self.let(count, "min", rest, Const(BLOCK, "int64")),
        ]
        inner = For(code.fresh("k"), count, "vector")
        outer.body.append(inner)
        steps: list[tuple[str, Term]] = [(outer.index, BLOCK), (inner.index, 1)]
        parts = self.products(at, top, left, inner, steps, cells)
        totals = {}
        for cell, part in parts.items():
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
        steps: list[tuple[str, Term]],
        cells: list[tuple[int, int]],
    ) -> dict[tuple[int, int], str]:
        xs = [self.read("x", self.x, at, top, i, loop, steps) for i in range(self.tile[0])]
        ys = [self.read("y", self.y, at, left, j, loop, steps) for j in range(self.tile[1])]
        found = {}
        for i, j in cells:
            found[i, j] = self.code.fresh("a")
            loop.carries.append(Carry(found[i, j], self.dtype, "add"))
            loop.body.append(Combine(found[i, j], xs[i], ys[j]))
        return found

    def read(
        self,
        side: str,
        view: View,
        at: list[str],
        line: str,
        k: int,
        loop: For,
        steps: list[tuple[str, Term]],
    ) -> str:
        """An element of line k of a tile."""
        lines = View(view.base, 0, view.shape[:-1], view.strides[:-1])
        offset = self.code.integer((side, k), view.offset + k * view.strides[-2])
        place = self.address(lines, "input", at, [line], offset)
        name = self.code.fresh()
        place = place._replace(terms=(*place.terms, *steps))
        loop.body.append(Load(name, self.dtype, place))
        return name
