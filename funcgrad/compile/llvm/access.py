"""Loads and stores as LLVM IR: where an element lies, and in what form its lanes are reached.

Lanes next to each other are one vector in memory, masked at the end of a row, and so are those that
are read from the last to the first; others are gathered and scattered. What of an address does not
change in a loop is computed before it.
"""

from __future__ import annotations

from typing import Any

from funcgrad.compile.llvm.emit import Value
from funcgrad.compile.llvm.frame import SIZES, Frame, in_memory
from funcgrad.compile.llvm.operations import Operations
from funcgrad.compile.loops import Accumulate, Address, For, Load, Store, statements

__all__ = ["Access"]

ROWS_AHEAD = 16  # a prefetch takes about as long as so many rows, if there are many


class Access:
    """How a kernel reaches memory."""

    def __init__(self, frame: Frame, operations: Operations) -> None:
        self.frame, self.operations = frame, operations
        self.single = frame.single

    def hoist(self, s: For) -> None:
        """Compute what of the addresses in a loop does not change in it."""
        for t in statements(s.body):
            if isinstance(t, (Load, Store, Accumulate)):
                self.extend(t)

    def extend(self, t: Any) -> tuple[Value | None, frozenset[int]]:
        offset, done = self.frame.prefix.get(id(t), (None, frozenset()))
        more = set(done)
        if -1 not in more:
            more.add(-1)
            offset = self.variable(t.address)
        for k, (index, stride) in enumerate(t.address.terms):
            v = self.frame.known.get(index)
            if k in more or v is None or v.emitter.lanes != 1 or index == self.frame.lane_index:
                continue
            more.add(k)
            part = self.single.binary("mul", v, self.frame.scalar(stride))
            offset = part if offset is None else self.single.binary("add", offset, part)
        if offset is not None:
            self.frame.prefix[id(t)] = (offset, frozenset(more))
        return offset, frozenset(more)

    def variable(self, a: Address) -> Value | None:
        """The offset of an address where it is no number: one that is lies behind the pointer."""
        return self.frame.scalar(a.offset) if isinstance(a.offset, str) else None

    def place(self, t: Any, a: Address) -> tuple[Value, list[tuple[Value | None, Value]]]:
        """The offset of the first lane but for a number, and what else the lanes add: (values or
        lanes, stride).
        """
        offset, done = self.frame.prefix.get(id(t), (None, frozenset()))
        if -1 not in done:
            offset = self.variable(a)
        moving: list[tuple[Value | None, Value]] = []
        for k, (index, stride) in enumerate(a.terms):
            if k in done:
                continue
            v, by = self.frame.known[index], self.frame.scalar(stride)
            if v.emitter.lanes > 1:
                moving.append((v, by))
                continue
            part = self.single.binary("mul", v, by)
            offset = part if offset is None else self.single.binary("add", offset, part)
            if index == self.frame.lane_index:
                moving.append((None, by))
        return self.single.constant(0, "i64") if offset is None else offset, moving

    def pointer(self, a: Address, element: str, offset: Value | str) -> str:
        """Where the element lies that is so far behind the one that the number of `a` means."""
        at, number = self.frame.pointers[a.buffer], 0 if isinstance(a.offset, str) else a.offset
        for index in (str(offset), str(number)):
            if index != "0":
                text = f"getelementptr {element}, ptr {at}, i64 {index}"
                at = str(self.single.once("ptr", text))
        return at

    def pointers_of(
        self, a: Address, element: str, offset: Value, moving: list[tuple[Value | None, Value]]
    ) -> str:
        """A vector of addresses."""
        e = self.frame.emitter()
        total = self.frame.splat(offset)
        for v, by in moving:
            steps = self.frame.iota() if v is None else v
            total = e.binary("add", total, e.binary("mul", steps, self.frame.splat(by)))
        base = self.pointer(a, element, "0")
        return str(e.new("ptr", f"getelementptr {element}, ptr {base}, {total.typed}"))

    def is_still(self, a: Address) -> bool:
        """Whether all lanes have the same element."""
        indices = [i for i, _ in a.terms]
        return all(
            i != self.frame.lane_index and self.frame.known[i].emitter.lanes == 1 for i in indices
        )

    def in_a_row(self, moving: list[tuple[Value | None, Value]]) -> bool:
        return len(moving) == 1 and moving[0][0] is None and moving[0][1].name == "1"

    def load(self, t: Any, a: Address, element: str, guard: str | None = None) -> Value:
        offset, moving = self.place(t, a)
        stored = in_memory(element)
        mask = None if self.frame.padded and a.buffer in self.frame.near else self.frame.mask
        if guard is not None:
            held = self.frame.read(guard)
            if self.frame.lanes == 1 or not moving:
                return self.guarded(a, offset, stored, element, held)
            mask = held if mask is None else mask & held
        if self.frame.lanes == 1 or not moving:
            at = self.pointer(a, stored, offset)
            v = self.truth(self.single.new(stored, f"load {stored}, ptr {at}"), element)
            # an integer may be part of an address, which stays a single number
            return v if self.frame.lanes == 1 or element == "i64" else self.frame.splat(v)
        e = self.frame.emitter(element)
        kind, suffix, align = e.type_of(stored), e.suffix(stored), SIZES[stored]
        if self.in_a_row(moving):
            at = self.pointer(a, stored, offset)
            self.prefetch(a, at, stored)
            if mask is None:
                return self.truth(e.new(stored, f"load {kind}, ptr {at}, align {align}"), element)
            name = f"llvm.masked.load.{suffix}.p0"
            self.frame.declare(f"declare {kind} @{name}(ptr, i32, {mask.type}, {kind})")
            given = f"ptr {at}, i32 {align}, {mask.typed}, {kind} zeroinitializer"
        elif len(moving) == 1 and moving[0][0] is None and moving[0][1].name == "-1":
            return self.backwards(a, offset, element, mask)
        else:
            at = self.pointers_of(a, stored, offset, moving)
            many, mask = e.type_of("ptr"), mask or e.mask(True)
            name = f"llvm.masked.gather.{suffix}.v{self.frame.lanes}p0"
            self.frame.declare(f"declare {kind} @{name}({many}, i32, {mask.type}, {kind})")
            given = f"{many} {at}, i32 {align}, {mask.typed}, {kind} zeroinitializer"
        return self.truth(e.new(stored, f"call {kind} @{name}({given})"), element)

    def backwards(self, a: Address, offset: Value, element: str, mask: Value | None) -> Value:
        """Lanes that lie next to each other, the first one last: processors gather slowly."""
        lanes, stored = self.frame.lanes, in_memory(element)
        e = self.frame.emitter(element)
        kind, suffix, align = e.type_of(stored), e.suffix(stored), SIZES[stored]
        first = self.single.binary("sub", offset, self.single.constant(lanes - 1, "i64"))
        at = self.pointer(a, stored, first)
        turn = f"<{lanes} x i32> <{', '.join(f'i32 {k}' for k in reversed(range(lanes)))}>"
        if mask is None:
            v = e.new(stored, f"load {kind}, ptr {at}, align {align}")
        else:
            given = f"{mask.typed}, {mask.type} poison, {turn}"
            turned = mask.emitter.new("i1", f"shufflevector {given}")
            name = f"llvm.masked.load.{suffix}.p0"
            self.frame.declare(f"declare {kind} @{name}(ptr, i32, {mask.type}, {kind})")
            passed = f"ptr {at}, i32 {align}, {turned.typed}, {kind} zeroinitializer"
            v = e.new(stored, f"call {kind} @{name}({passed})")
        return self.truth(
            e.new(stored, f"shufflevector {v.typed}, {v.type} poison, {turn}"), element
        )

    def prefetch(self, a: Address, at: str, stored: str) -> None:
        """Ask for the same lanes of a later row: processors foresee rows, but not columns."""
        stride = dict(a.terms).get(self.frame.walked, 1)
        if stride == 1 or self.frame.ahead is None or a.buffer in self.frame.near:
            return
        one = self.single
        away = one.binary("mul", self.frame.scalar(stride), self.frame.ahead)
        self.frame.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for k in range(0, self.frame.lanes * SIZES[stored], 64):
            place = one.binary("add", away, one.constant(k // SIZES[stored], "i64"))
            then = one.new("ptr", f"getelementptr {stored}, ptr {at}, {place.typed}")
            self.frame.line(f"call void @llvm.prefetch.p0(ptr {then}, i32 0, i32 3, i32 1)")

    def rows_ahead(self, count: Value) -> Value:
        """For which row to ask while the loop is at another one, still within the loop."""
        one = self.single
        quarter, most = (
            one.binary("lshr", count, one.constant(2, "i64")),
            one.constant(ROWS_AHEAD, "i64"),
        )
        return one.select(one.compare("ult", quarter, most), quarter, most)

    def guarded(self, a: Address, offset: Value, stored: str, element: str, held: Value) -> Value:
        """One element, the same for all lanes: of the first one of the array where none holds."""
        one = self.single
        some = one.value(str(held.emitter.any(held)), "i1")
        number = 0 if isinstance(a.offset, str) else a.offset
        safe = one.select(some, one.binary("add", offset, number, "i64"), one.constant(0, "i64"))
        at = self.pointer(a._replace(offset=0), stored, safe)
        v = one.new(stored, f"load {stored}, ptr {at}")
        v = self.truth(v, element)
        e = self.frame.emitter(element)
        return e.select(held, self.frame.widened(v), e.constant(0, element))

    def truth(self, v: Value, element: str) -> Value:
        """A bool is a byte in memory and a bit in a register."""
        return v.emitter.convert("trunc", v, "i1") if element == "i1" else v

    def store(self, t: Any, a: Address, v: Value) -> None:
        offset, moving = self.place(t, a)
        stored = in_memory(v.element)
        if v.element == "i1":
            v = v.emitter.convert("zext", v, "i8")
        if self.frame.lanes > 1 and not moving:  # the same in all lanes
            v = self.single.new(v.element, f"extractelement {v.typed}, i64 0")
        if self.frame.lanes == 1 or not moving:
            self.frame.line(f"store {v.typed}, ptr {self.pointer(a, stored, offset)}")
            return
        e = self.frame.emitter()
        kind, suffix, align = e.type_of(stored), e.suffix(stored), SIZES[stored]
        if self.in_a_row(moving):
            at = self.pointer(a, stored, offset)
            self.prefetch(a, at, stored)
            if self.frame.mask is None:
                self.frame.line(f"store {v.typed}, ptr {at}, align {align}")
                return
            name = f"llvm.masked.store.{suffix}.p0"
            self.frame.declare(f"declare void @{name}({kind}, ptr, i32, {self.frame.mask.type})")
            self.frame.line(
                f"call void @{name}({v.typed}, ptr {at}, i32 {align}, {self.frame.mask.typed})"
            )
            return
        at = self.pointers_of(a, stored, offset, moving)
        many, mask = e.type_of("ptr"), self.frame.mask or e.mask(True)
        name = f"llvm.masked.scatter.{suffix}.v{self.frame.lanes}p0"
        self.frame.declare(f"declare void @{name}({kind}, {many}, i32, {mask.type})")
        self.frame.line(f"call void @{name}({v.typed}, {many} {at}, i32 {align}, {mask.typed})")

    def one_after_another(self, s: Accumulate) -> None:
        """Lanes that may hit the same element; one that is masked adds -0 to the first one."""
        x, e, one = self.frame.read(s.value), self.frame.emitter("double"), self.single
        offset, moving = self.place(s, s.address)
        total = self.frame.splat(offset)
        for v, by in moving:
            steps = self.frame.iota() if v is None else v
            total = e.binary("add", total, e.binary("mul", steps, self.frame.splat(by)))
        if self.frame.mask is not None:
            total = e.select(self.frame.mask, total, e.constant(0, "i64"))
            x = e.select(self.frame.mask, x, x.emitter.constant(-0.0, x.element))
        for k in range(self.frame.lanes):
            at = one.new("i64", f"extractelement {total.typed}, i64 {k}")
            value = one.new(x.element, f"extractelement {x.typed}, i64 {k}")
            pointer = self.pointer(s.address, x.element, at)
            old = one.new(x.element, f"load {x.element}, ptr {pointer}")
            self.frame.line(
                f"store {self.operations.combined(s.op, old, value).typed}, ptr {pointer}"
            )
