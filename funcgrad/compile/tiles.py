"""What the kernels of matrix products share: operands as matrices, loops over a stack and tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.compile.code import Code
from funcgrad.compile.layout import Layout
from funcgrad.compile.loops import Address, Const, For, Let, Term
from funcgrad.compile.lower import Lowered
from funcgrad.compile.scalars import NATIVE
from funcgrad.graph.ir import Equation, Var
from funcgrad.ops.product import MATMUL
from funcgrad.passes.plan import Plan
from funcgrad.passes.views import View, whole

__all__ = ["Product", "Tiles", "product_of", "turned"]


class Product(NamedTuple):
    """out[…, i, j] = Σ x[…, i, k] y[…, j, k]: the second operand is given transposed."""

    x: View
    y: View
    out: View


def product_of(plan: Plan, e: Equation) -> Product | None:
    """The matrix product of numbers in memory that an equation is, if it is one."""
    if e.prim is not MATMUL:
        return None
    (out,) = e.outputs
    found = []
    for a in e.inputs:
        if not isinstance(a, Var) or a in plan.uniform or a.type.dtype != out.type.dtype:
            return None
        if a.type.weak or a.type.size == 0:
            return None
        found.append(plan.views[a])
    if out.type.dtype not in NATIVE or out.type.dtype.kind != "f":
        return None
    x, y = found
    made = whole(out)
    if len(x.shape) == 1:  # a row
        x, made = _with_axis(x, 0), _with_axis(made, len(y.shape) - 2)
    if len(y.shape) == 1:  # a column
        y, made = _with_axis(y, 1), _with_axis(made, len(made.shape))
    return Product(x, turned(y), made)


def _with_axis(v: View, axis: int) -> View:
    """A view with one more axis, of one element."""
    shape, strides = list(v.shape), list(v.strides)
    shape.insert(axis, 1)
    strides.insert(axis, 1)
    return v._replace(shape=tuple(shape), strides=tuple(strides))


def turned(v: View) -> View:
    """The matrices of a view transposed."""

    def swap(each: Sequence[int]) -> tuple[int, ...]:
        return (*each[:-2], each[-1], each[-2])

    return v._replace(shape=swap(v.shape), strides=swap(v.strides))


class Tiles:
    """A kernel for one product while it is written."""

    def __init__(self, p: Product, name: str) -> None:
        self.x, self.y, self.out = p
        self.dtype = NATIVE[p.out.base.type.dtype]
        self.code = Code(name)
        *self.lead, self.rows, self.columns = p.out.shape
        self.terms = p.x.shape[-1]

    def let(self, name: str, op: str, *args: Any) -> Let:
        return Let(name, "int64", op, args)

    def rest(self, index: str, size: Term, total: Term, body: list[Any]) -> tuple[str, str]:
        """Where a block of a loop begins, and how many there are in it."""
        start, left, count = (self.code.fresh("s") for _ in range(3))
        size = Const(size, "int64") if isinstance(size, int) else size  # type: ignore[assignment]
        body += [
            self.let(start, "mul", index, size),
            self.let(left, "sub", total, start),
            self.let(count, "min", left, size),
        ]
        return start, count

    def chunks(self, rows: int, grain: int) -> tuple[For, list[Any], str]:
        """The loop over chunks, the body of the loop over rows in it, and the number of a row."""
        code = self.code
        self.layout = Layout([], [], None, None, rows, grain)
        chunk = For("chunk", code.integer("chunks", self.layout.chunks), "chunks")
        size, total = code.integer("grain", grain), code.integer("rows", rows)
        start, count = self.rest("chunk", size, total, chunk.body)
        row, here = For("row", count, "sequential"), code.fresh("s")
        row.body.append(self.let(here, "add", start, "row"))
        chunk.body.append(row)
        return chunk, row.body, here

    def decode(self, row: str, extents: Sequence[int], body: list[Any]) -> list[str]:
        """The indices of the stack and of loops of these extents, the last one fastest."""
        found, rest = [], row
        for k, extent in reversed(list(enumerate([*self.lead, *extents]))[1:]):
            n = self.code.integer(("extent", k), extent)
            name, above = self.code.fresh("i"), self.code.fresh("i")
            body += [self.let(name, "rem", rest, n), self.let(above, "div", rest, n)]
            found.append(name)
            rest = above
        return [rest, *reversed(found)]

    def address(
        self, view: View, role: str, at: Sequence[str], more: Sequence[str], offset: Term
    ) -> Address:
        """An element: `at` are indices of the stack, `more` those of the last axes."""
        v, code = view.base, self.code
        buffer = code.argument((role, v), v, role, self.dtype, v.type.size)
        indices = [*at[len(at) - (len(view.shape) - len(more)) :], *more]
        terms = [
            (i, code.stride((role, v, view.shape, view.strides, k), 0 if n == 1 else s))
            for k, (i, s, n) in enumerate(zip(indices, view.strides, view.shape, strict=True))
        ]
        return Address(buffer, tuple(t for t in terms if t[1] != 0), offset)

    def lowered(self, chunk: For) -> Lowered:
        fast = 1 if 1 in (self.rows, self.columns) else 3  # not so with a vector: memory is read
        work = self.out.base.type.size * self.terms / fast
        return Lowered(self.layout, self.code.written([chunk]), work)
