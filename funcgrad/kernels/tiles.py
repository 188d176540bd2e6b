"""The inner loops of convolutions as intrinsics: a tile of sums in registers.

A row of the right-hand side begins at a given place of one long array, so nothing is copied for the
elements of a window: `gather` computes ``y[r, l] = Σ_k w[r, k] x[at[k] + l]`` for `LANES` columns
l, and `correlate` ``c[r, k] += Σ_l g[r, l] x[at[k] + l]``. Both take `HEIGHT` rows, or one. All
addresses are in bytes, all strides in elements. It imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from funcgrad.compile.llvm.target import vector_width

__all__ = ["COLUMNS", "HEIGHT", "correlate", "correlate_row", "gather", "gather_row"]

HEIGHT = 4  # rows of a tile
COLUMNS = 4  # of a tile: vectors of `gather`, rows of x of `correlate`
BYTES = 64  # a vector, as two or four registers where there are none so long
I64 = ir.IntType(64)


class Tile:
    """What the two loops share: types, loads, and sums that stay in registers."""

    def __init__(self, context: Any, builder: Any, element: Any) -> None:
        self.builder = builder
        self.scalar = context.get_value_type(element)
        self.size = 8 if element == types.float64 else 4
        self.lanes = BYTES // self.size
        self.vector = ir.VectorType(self.scalar, self.lanes)
        if vector_width(context.codegen().magic_tuple()[2])[0]:
            # llvmlite's `add` knows only attributes without a value
            set.add(builder.function.attributes, '"prefer-vector-width"="512"')

    def number(self, n: int) -> Any:
        return ir.Constant(I64, n)

    def element(self, base: Any, index: Any) -> Any:
        """The address of an element of an array at the address `base`."""
        return self.builder.add(base, self.builder.mul(index, self.number(self.size)))

    def load(self, kind: Any, address: Any) -> Any:
        pointer = self.builder.inttoptr(address, kind.as_pointer())
        return self.builder.load(pointer, align=self.size)

    def store(self, value: Any, address: Any) -> None:
        pointer = self.builder.inttoptr(address, value.type.as_pointer())
        self.builder.store(value, pointer, align=self.size)

    def repeated(self, x: Any) -> Any:
        """A vector of which every lane is `x`."""
        none = ir.Constant(self.vector, ir.Undefined)
        one = self.builder.insert_element(none, x, ir.Constant(ir.IntType(32), 0))
        lanes = ir.VectorType(ir.IntType(32), self.lanes)
        return self.builder.shuffle_vector(one, none, ir.Constant(lanes, [0] * self.lanes))

    def sums(self, rows: int) -> list[list[Any]]:
        """Vectors of zeros in memory that becomes registers."""
        zero = ir.Constant(self.vector, [0.0] * self.lanes)
        place: Any = cgutils.alloca_once
        made = [[place(self.builder, self.vector) for _ in range(COLUMNS)] for _ in range(rows)]
        for row in made:
            for place in row:
                self.builder.store(zero, place)
        return made

    def add(self, place: Any, x: Any, y: Any) -> None:
        """A product, added to a sum."""
        name = f"llvm.fmuladd.v{self.lanes}f{8 * self.size}"
        module = self.builder.module
        fused = module.globals.get(name)
        if fused is None:
            kind = ir.FunctionType(self.vector, [self.vector] * 3)
            fused = ir.Function(module, kind, name)
        self.builder.store(self.builder.call(fused, [x, y, self.builder.load(place)]), place)

    def total(self, x: Any) -> Any:
        """The sum of the lanes: halves first, always in one order."""
        count = self.lanes
        while count > 1:
            count //= 2
            half = ir.VectorType(ir.IntType(32), count)
            low, high = (ir.Constant(half, [k + s for k in range(count)]) for s in (0, count))
            x = self.builder.fadd(
                self.builder.shuffle_vector(x, x, low), self.builder.shuffle_vector(x, x, high)
            )
        return self.builder.extract_element(x, ir.Constant(ir.IntType(32), 0))


def _gather(rows: int) -> Callable[..., Any]:
    def declare(typing_context: Any, kind: Any, y: Any, y_step: Any, w: Any, w_step: Any, x: Any,
                at: Any, count: Any) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _, y, y_step, w, w_step, x, at, count = arguments
            tile = Tile(context, builder, kind)
            sums = tile.sums(rows)
            with cgutils.for_range(builder, count) as loop:
                k = loop.index
                begin = tile.load(I64, builder.add(at, builder.mul(k, tile.number(8))))
                first = tile.element(x, begin)
                vectors = [
                    tile.load(tile.vector, builder.add(first, tile.number(BYTES * v)))
                    for v in range(COLUMNS)
                ]
                for r in range(rows):
                    place = builder.add(builder.mul(w_step, tile.number(r)), k)
                    factor = tile.repeated(tile.load(tile.scalar, tile.element(w, place)))
                    for v in range(COLUMNS):
                        tile.add(sums[r][v], factor, vectors[v])
            for r in range(rows):
                row = tile.element(y, builder.mul(y_step, tile.number(r)))
                for v in range(COLUMNS):
                    tile.store(builder.load(sums[r][v]), builder.add(row, tile.number(BYTES * v)))
            return context.get_dummy_value()

        return types.void(kind, *(types.int64,) * 7), generate

    return intrinsic(declare)


def _correlate(rows: int) -> Callable[..., Any]:
    def declare(typing_context: Any, kind: Any, c: Any, c_step: Any, g: Any, g_step: Any, x: Any,
                at: Any, length: Any) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _, c, c_step, g, g_step, x, at, length = arguments
            tile = Tile(context, builder, kind)
            sums = tile.sums(rows)
            starts = [
                tile.element(x, tile.load(I64, builder.add(at, tile.number(8 * k))))
                for k in range(COLUMNS)
            ]
            steps = builder.udiv(length, tile.number(tile.lanes))
            with cgutils.for_range(builder, steps) as loop:
                along = builder.mul(loop.index, tile.number(BYTES))
                mine = [
                    tile.load(tile.vector, builder.add(
                        tile.element(g, builder.mul(g_step, tile.number(r))), along))
                    for r in range(rows)
                ]  # fmt: skip
                for k in range(COLUMNS):
                    other = tile.load(tile.vector, builder.add(starts[k], along))
                    for r in range(rows):
                        tile.add(sums[r][k], mine[r], other)
            for r in range(rows):
                for k in range(COLUMNS):
                    step = builder.add(builder.mul(c_step, tile.number(r)), tile.number(k))
                    place = tile.element(c, step)
                    before = tile.load(tile.scalar, place)
                    total = tile.total(builder.load(sums[r][k]))
                    tile.store(builder.fadd(before, total), place)
            return context.get_dummy_value()

        return types.void(kind, *(types.int64,) * 7), generate

    return intrinsic(declare)


gather = _gather(HEIGHT)
gather_row = _gather(1)
correlate = _correlate(HEIGHT)
correlate_row = _correlate(1)
