"""The state of a kernel while it is printed: its values, their lanes, its labels and arguments.

What it keeps true: a value has one lane or as many as the code at hand; `read` makes the former
into the latter.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.compile.llvm.body import Body, VectorTarget
from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics import FUNCTIONS
from funcgrad.compile.loops import Buffer, Carry, Const, Kernel, Let, statements

__all__ = ["ELEMENTS", "SIZES", "Frame", "in_memory"]

ELEMENTS = {"float64": "double", "float32": "float", "int64": "i64", "int32": "i32", "bool": "i1"}
IN_REGISTERS = 8  # numbers that are kept in registers; more would only be spilled from them
SIZES = {"double": 8, "float": 4, "i64": 8, "i32": 4, "i8": 1}


def in_memory(element: str) -> str:
    """The element type in memory, where a bool is a byte."""
    return "i8" if element == "i1" else element


class Frame:
    """A kernel that is being printed."""

    def __init__(self, kernel: Kernel, target: VectorTarget) -> None:
        self.kernel, self.target = kernel, target
        self.body = Body()
        self.known: dict[str, Value] = {}
        self.lost: dict[str, Value] = {}  # of compensated sums, what rounding lost
        self.ops: dict[str, Carry] = {}
        self.pointers: dict[str, str] = {}
        self.elements = {b.name: ELEMENTS[b.dtype] for b in kernel.buffers}
        self.prefix: dict[int, tuple[Value, frozenset[int]]] = {}
        self.emitters: dict[tuple[str, int], Emitter] = {}
        self.lanes = 1
        self.mask: Value | None = None
        self.lane_index = ""
        self.walked = ""  # the index of a loop that goes down columns, lanes side by side
        self.ahead: Value | None = None  # for which later row of it to ask
        self.near = {b.name for b in kernel.buffers if b.role == "local"}
        self.apart: set[str] = set()  # carries of loops inside a loop with lanes
        self.padded = False  # whether local memory has room for all lanes of the last vector
        self.labels = 0
        self.late: dict[str, tuple[int, str]] = {}  # numbers that are read where they are used
        inner = [s.op for s in statements(kernel.body) if isinstance(s, Let)]
        self.functions = sum(op in FUNCTIONS and op != "sqrt" for op in inner)

    def emitter(self, element: str = "double", lanes: int | None = None) -> Emitter:
        key = (element if element == "float" else "double", self.lanes if lanes is None else lanes)
        if key not in self.emitters:
            self.emitters[key] = Emitter(key[0], key[1], self.target, self.body)
        return self.emitters[key]

    @property
    def single(self) -> Emitter:
        return self.emitter(lanes=1)

    def line(self, text: str) -> None:
        self.body.lines.append("  " + text)

    def label(self) -> str:
        self.labels += 1
        return f"b{self.labels}"

    def open(self, label: str) -> None:
        self.body.lines.append(f"{label}:")
        self.body.block = label

    def declare(self, text: str) -> None:
        self.body.declarations[text] = None

    def arguments(self) -> None:
        k = self.kernel
        slots = [(b.name, "ptr") for b in k.buffers if b.role != "local"]
        slots += [(n, "i64") for n in k.integers] + [(n, ELEMENTS[d]) for n, d in k.numbers]
        if any(b.role == "local" for b in k.buffers):
            slots.append(("scratch", "ptr"))
        if k.requires:
            slots.append(("flag", "ptr"))
        if len(k.numbers) > IN_REGISTERS:
            places = {name: (n, element) for n, (name, element) in enumerate(slots)}
            self.late = {n: places[n] for n, d in k.numbers if d.startswith("float")}
        for number, (name, element) in enumerate(slots):
            if name in self.late:
                continue
            self.line(f"%at.{name} = getelementptr i64, ptr %arguments, i64 {number}")
            self.line(f"%{name} = load {element}, ptr %at.{name}")
            if element == "ptr":
                self.pointers[name] = f"%{name}"
            else:
                self.known[name] = self.single.value(f"%{name}", element)
        self.scratch([b for b in k.buffers if b.role == "local"])
        if k.requires:
            self.line("%failed = alloca i64")
            self.line("store i64 0, ptr %failed")

    def scratch(self, buffers: Sequence[Buffer]) -> None:
        """The local buffers, one behind the other in what the thread has of the scratch memory.

        It is as large as `scratch_bytes` says.
        """
        one = self.single
        starts = [one.constant(0, "i64")]
        for b in buffers:
            item = SIZES[in_memory(ELEMENTS[b.dtype])]
            size = one.binary("mul", self.scalar(b.size), item, "i64")
            lines = one.binary("and", one.binary("add", size, 63, "i64"), -64, "i64")
            starts.append(one.binary("add", starts[-1], lines))
        if buffers:
            own = one.binary("mul", one.value("%thread", "i64"), starts[-1])
        for b, start in zip(buffers, starts, strict=False):
            place = one.binary("add", own, start)
            self.pointers[b.name] = str(
                one.new("ptr", f"getelementptr i8, ptr %scratch, {place.typed}")
            )

    def scalar(self, x: int | str) -> Value:
        """A size, an index or a stride."""
        return self.known[x] if isinstance(x, str) else self.single.constant(x, "i64")

    def read(self, x: str | Const) -> Value:
        """An operand with as many lanes as the code at hand."""
        if isinstance(x, Const):
            return self.emitter().constant(x.value, ELEMENTS[x.dtype])
        if x == self.lane_index and self.lanes > 1:
            return self.emitter().binary("add", self.splat(self.known[x]), self.iota())
        if x in self.late:
            number, element = self.late[x]
            at = self.single.new("ptr", f"getelementptr i64, ptr %arguments, i64 {number}")
            return self.widened(self.single.new(element, f"load {element}, ptr {at}"))
        return self.widened(self.known[x])

    def widened(self, v: Value) -> Value:
        if v.emitter.lanes == self.lanes:
            return v
        assert v.emitter.lanes == 1
        return self.splat(v)

    def splat(self, v: Value) -> Value:
        e = self.emitter()
        if not v.name.startswith("%"):
            return e.value(f"splat ({v.typed})", v.element)
        kind = e.type_of(v.element)
        one = e.once(v.element, f"insertelement {kind} poison, {v.element} {v}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return e.once(v.element, f"shufflevector {kind} {one}, {kind} poison, {zeros}")

    def iota(self) -> Value:
        numbers = ", ".join(f"i64 {k}" for k in range(self.lanes))
        return self.emitter().value(f"<{numbers}>", "i64")

    def part(self, v: Value, half: Emitter, start: int) -> Value:
        if half.lanes == 1:
            return half.new(v.element, f"extractelement {v.typed}, i64 {start}")
        numbers = ", ".join(f"i32 {start + k}" for k in range(half.lanes))
        text = f"shufflevector {v.typed}, {v.type} poison, <{half.lanes} x i32> <{numbers}>"
        return half.new(v.element, text)

    def lane(self, x: Value, lane: int) -> str:
        if self.lanes == 1:
            return x.name
        return x.emitter.new(x.element, f"extractelement {x.typed}, i64 {lane}").name

    def inserted(self, element: str, into: str, x: str, lane: int) -> str:
        """The vector with another lane; the lane itself where there is but one."""
        if self.lanes == 1:
            return x
        e = self.emitter()
        kind = e.type_of(element)
        return e.new(element, f"insertelement {kind} {into}, {element} {x}, i64 {lane}").name
