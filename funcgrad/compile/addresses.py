"""Where an element stands: addresses through strides, indices along an axis, and their bounds.

What is needed of them at run time is a value of the loop where it is known, computed once there.
"""

from __future__ import annotations

import math
from typing import Any

from funcgrad.compile.layout import BLOCK, Access, Dim
from funcgrad.compile.loops import Address, Const, For, Let, Term
from funcgrad.compile.reads import Reads
from funcgrad.compile.scalars import NATIVE, Scalar, Writer
from funcgrad.graph.ir import Var
from funcgrad.passes.operands import Bounds
from funcgrad.passes.region import Axis

__all__ = ["Addresses"]


class Addresses:
    """The loops that are open, by their indices, and the statements of each level so far."""

    def __init__(self, reads: Reads) -> None:
        self.reads = reads
        self.code, self.layout = reads.code, reads.layout
        self.index: dict[Dim, list[tuple[str, int]]] = {}
        self.blocks: list[list[Any]] = [[], [], []]
        self.prologue: list[For] = []  # what a chunk begins with
        self.held: dict[Any, tuple[int, str]] = {}

    def writer(self, level: int) -> Writer:
        def let(op: str, dtype: str, args: tuple[str | Const, ...]) -> str:
            name = self.code.fresh()
            given = tuple(
                self.code.number(a.value, a.dtype) if isinstance(a, Const) else a for a in args
            )
            self.blocks[level].append(Let(name, dtype, op, given))
            return name

        return Writer(let)

    def recalled(self, key: Any, level: int) -> str | None:
        """What was computed for the same in this loop, or in one around it."""
        where, name = self.held.get(key, (level, None))
        return name if where <= level else None

    # ---------------------------------------------------------------------------- addresses

    def address(self, key: Any, base: Var, offset: int, found: Access) -> Address:
        dtype = NATIVE[base.type.dtype]
        buffer = self.code.argument(base, base, "input", dtype, base.type.size)
        start = self.code.integer(("offset", key), offset) if offset else 0
        return Address(buffer, self.terms(key, found), start)

    def terms(self, key: Any, found: Access) -> tuple[tuple[str, Term], ...]:
        """Σ index · stride over the loops in which this array moves."""
        terms: list[tuple[str, Term]] = []
        across = [self.layout.lanes] if self.layout.across else []
        for d in [*self.layout.outer, *across, *self.layout.inner]:
            assert d is not None
            s = found.strides.get(d.last, 0)
            if not s:
                continue
            for index, step in self.index[d]:
                if step == 1:
                    terms.append((index, self.code.stride(("stride", key, d), s)))
                elif s == 1:
                    terms.append((index, step))
                else:
                    terms.append((index, self.code.integer(("stride", key, d, step), s * step)))
        return tuple(terms)

    def place_of(self, v: Var) -> Address:
        """An element of an output."""
        buffer = self.code.argument(v, v, "output", self.reads.dtype(v), v.type.size)
        return Address(buffer, self.terms(("out", buffer), self.reads.accesses[v]))

    def scratch(self, name: str) -> Address:
        terms: list[tuple[str, Term]] = []
        step = self.side_by_side()
        if self.layout.across:
            assert self.layout.lanes is not None
            terms.append((self.index[self.layout.lanes][-1][0], 1))
        for k, d in reversed(list(enumerate(self.layout.inner))):
            steps = self.index[d][1:] if d is self.layout.blocked else self.index[d]
            for index, times in steps:
                value = step * times
                if step == 1:
                    terms.append((index, value))
                else:
                    terms.append((index, self.code.integer(("scratch", k, times), value)))
            step *= BLOCK if d is self.layout.blocked else d.extent
        return Address(name, tuple(terms))

    def side_by_side(self) -> int:
        """How many elements of rows side by side lie together; not all in the same cache lines."""
        return self.layout.strip + 8 if self.layout.across else 1

    # -------------------------------------------------------------------- indices and bounds

    def within(self, bounds: tuple[tuple[Axis, Bounds], ...], level: int) -> str | None:
        """Whether the indices are within all these bounds, as a value; None if they always are."""
        same = ("within", bounds)
        known = self.recalled(same, level)
        if known is not None:
            return known
        w = self.writer(level)
        conditions = [c for a, g in bounds for c in self.conditions(w, level, a, g)]
        if not conditions:
            return None
        held = conditions[0]
        for c in conditions[1:]:
            held = w("and", held, c)
        assert isinstance(held.operand, str)
        self.held[same] = (level, held.operand)
        return held.operand

    def conditions(self, w: Writer, level: int, axis: Axis, g: Bounds) -> list[Scalar]:
        if g.step < 0:  # the same elements from the other end
            g = Bounds(g.axis, g.start + (g.extent - 1) * g.step, -g.step, g.extent)
        index, times = self.index_of(axis, level)
        end = g.start + (g.extent - 1) * g.step + 1
        found = []
        if g.start > 0:
            found.append(w.compare("ge", index, self.bound(axis, g.start * times)))
        if end < axis.extent:
            found.append(w.compare("lt", index, self.bound(axis, end * times)))
        if g.step > 1:
            away = w("sub", index, self.bound(axis, g.start))
            rest = w("rem", away, self.bound(axis, g.step))
            found.append(w.compare("eq", rest, w.number(0, rest)))
        return found

    def bound(self, axis: Axis, value: int) -> Scalar:
        return Scalar(self.code.integer(("bound", axis, value), value), "int64")  # type: ignore[arg-type]

    def jump(self, level: int, number: int, axis: Axis, g: Bounds, stride: int) -> tuple[str, Term]:
        """The term of an address along an axis of which only some indices have an element."""
        w = self.writer(level)
        index, _ = self.index_of(axis, level)
        start, step = self.bound(axis, g.start), self.bound(axis, abs(g.step))
        away = w("sub", index, start) if g.step > 0 else w("sub", start, index)
        at = w("div", away, step)
        assert isinstance(at.operand, str)
        return at.operand, self.code.integer(("jump", number, axis), stride)

    def index_of(self, axis: Axis, level: int) -> tuple[Scalar, int]:
        """The index along an axis, times what it is multiplied with where others are joined."""
        (d,) = [d for d in self.index if axis in d.axes]
        assert d.axes[0] is axis
        times = math.prod(a.extent for a in d.axes[1:])
        same = ("index", axis)
        known = self.recalled(same, level)
        if known is None:
            w = self.writer(level)
            parts = [
                Scalar(name, "int64")
                if step == 1
                else w("mul", Scalar(name, "int64"), Scalar(Const(step, "int64"), "int64"))
                for name, step in self.index[d]
            ]
            total = parts[0]
            for part in parts[1:]:
                total = w("add", total, part)
            assert isinstance(total.operand, str)
            known = total.operand
            self.held[same] = (level, known)
        return Scalar(known, "int64"), times
