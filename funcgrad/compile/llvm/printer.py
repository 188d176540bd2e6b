"""Loop nests printed as LLVM IR: explicit vectors, masked at the end of a row, one function each.

A kernel becomes ``void name(ptr arguments, i64 first, i64 last)`` for chunks from `first` up to
`last`; the arguments are 8 bytes each: the addresses of the buffers, the integers, the numbers, and
the address of the flag. Where masks cost nothing (AVX-512) the last vector of a row is masked;
elsewhere single elements follow the full vectors. Only reductions that a loop names are done in
another order, the same one for any number of threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.compile.foreign import FOREIGN, Foreign
from funcgrad.compile.llvm.emit import Body, Emitter, External, Value, VectorTarget
from funcgrad.compile.llvm.mathematics import FUNCTIONS, define, function_name
from funcgrad.compile.loops import (
    Accumulate,
    Address,
    Carry,
    Combine,
    Const,
    For,
    Kernel,
    Let,
    Load,
    Require,
    Store,
    identity,
    statements,
)

__all__ = ["Module", "foreign_of", "print_kernel", "print_module"]

ELEMENTS = {"float64": "double", "float32": "float", "int64": "i64", "int32": "i32", "bool": "i1"}
SIZES = {"double": 8, "float": 4, "i64": 8, "i32": 4, "i8": 1}
COMPARISONS = {
    "eq": ("oeq", "eq"), "ne": ("une", "ne"), "lt": ("olt", "slt"),
    "le": ("ole", "sle"), "gt": ("ogt", "sgt"), "ge": ("oge", "sge"),
}  # fmt: skip
ARITHMETIC = {"add": ("fadd", "add"), "sub": ("fsub", "sub"), "mul": ("fmul", "mul")}
INTRINSICS = {"abs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
              "copysign": "copysign", "sqrt": "sqrt"}  # fmt: skip
ROWS_AHEAD = 24  # a prefetch takes about as long as so many rows
SHORT = ("sqrt",)
WRITTEN_OUT = 4  # uses of a function in a kernel; with more the optimiser takes too long
ATTRIBUTES = '"prefer-vector-width"="512" nounwind'


class Module(NamedTuple):
    """The text of several kernels, and the functions that it calls but does not define.

    `foreign` have to be linked into the module, which is then to be optimised.
    """

    text: str
    externals: dict[str, External]
    foreign: tuple[Foreign, ...]


def print_module(kernels: Sequence[Kernel], target: VectorTarget) -> Module:
    body_texts: list[str] = []
    declarations: dict[str, None] = {}
    definitions: dict[str, str] = {}
    externals: dict[str, External] = {}
    for k in kernels:
        text, body = print_kernel(k, target)
        body_texts.append(text)
        declarations.update(body.declarations)
        definitions.update(body.definitions)
        externals.update(body.externals)
    declarations.update(dict.fromkeys(x.declaration for x in externals.values()))
    lines = [*definitions.values(), *body_texts, *declarations]
    return Module("\n".join(lines) + "\n", externals, foreign_of(kernels))


def foreign_of(kernels: Sequence[Kernel]) -> tuple[Foreign, ...]:
    """The functions that somebody else compiled."""
    inner = (s for k in kernels for s in statements(k.body) if isinstance(s, Let))
    return tuple(FOREIGN[op] for op in dict.fromkeys(s.op for s in inner if s.op in FOREIGN))


def print_kernel(kernel: Kernel, target: VectorTarget) -> tuple[str, Body]:
    """The function of a kernel, and what the module has to declare and define for it."""
    printer = _Printer(kernel, target)
    printer.run()
    head = f"define void @{kernel.name}(ptr %arguments, i64 %first, i64 %last) {ATTRIBUTES} {{"
    return "\n".join([head, "entry:", *printer.body.lines, "  ret void", "}"]), printer.body


class _Printer:
    def __init__(self, kernel: Kernel, target: VectorTarget) -> None:
        self.kernel, self.target = kernel, target
        self.body = Body()
        self.known: dict[str, Value] = {}
        self.lost: dict[str, Value] = {}  # of precise sums, what rounding lost
        self.ops: dict[str, Carry] = {}
        self.pointers: dict[str, str] = {}
        self.elements = {b.name: ELEMENTS[b.dtype] for b in kernel.buffers}
        self.prefix: dict[int, tuple[Value, frozenset[int]]] = {}
        self.emitters: dict[tuple[str, int], Emitter] = {}
        self.lanes = 1
        self.mask: Value | None = None
        self.lane_index = ""
        self.walked = ""  # the index of a loop that goes down columns, lanes side by side
        self.labels = 0
        self.uses = Counter(s.op for s in statements(kernel.body) if isinstance(s, Let))

    # ----------------------------------------------------------------------------- plumbing

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

    def run(self) -> None:
        self.arguments()
        self.statements(self.kernel.body)
        if self.kernel.requires:
            failed = self.single.new("i64", "load i64, ptr %failed")
            self.line(f"%old = atomicrmw or ptr %flag, i64 {failed} monotonic")

    def arguments(self) -> None:
        k = self.kernel
        slots = [(b.name, "ptr") for b in k.buffers if b.role != "local"]
        slots += [(n, "i64") for n in k.integers] + [(n, ELEMENTS[d]) for n, d in k.numbers]
        if k.requires:
            slots.append(("flag", "ptr"))
        for number, (name, element) in enumerate(slots):
            self.line(f"%at.{name} = getelementptr i64, ptr %arguments, i64 {number}")
            self.line(f"%{name} = load {element}, ptr %at.{name}")
            if element == "ptr":
                self.pointers[name] = f"%{name}"
            else:
                self.known[name] = self.single.value(f"%{name}", element)
        for b in k.buffers:
            if b.role == "local":
                size = self.scalar(b.size)
                self.line(
                    f"%{b.name} = alloca {_stored(ELEMENTS[b.dtype])}, {size.typed}, align 64"
                )
                self.pointers[b.name] = f"%{b.name}"
        if k.requires:
            self.line("%failed = alloca i64")
            self.line("store i64 0, ptr %failed")

    def scalar(self, x: int | str) -> Value:
        """A size, an index or a stride."""
        return self.known[x] if isinstance(x, str) else self.single.constant(x, "i64")

    def read(self, x: str | Const) -> Value:
        """An operand with as many lanes as the code at hand."""
        if isinstance(x, Const):
            return self.emitter().constant(x.value, ELEMENTS[x.dtype])
        if x == self.lane_index and self.lanes > 1:
            return self.emitter().binary("add", self.splat(self.known[x]), self.iota())
        return self.widened(self.known[x])

    def widened(self, v: Value) -> Value:
        if v.emitter.lanes == self.lanes:
            return v
        assert v.emitter.lanes == 1
        return self.splat(v)

    def splat(self, v: Value) -> Value:
        e = self.emitter()
        kind = e.type_of(v.element)
        one = e.new(v.element, f"insertelement {kind} poison, {v.element} {v}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return e.new(v.element, f"shufflevector {kind} {one}, {kind} poison, {zeros}")

    # --------------------------------------------------------------------------- statements

    def statements(self, body: Sequence[Any]) -> None:
        for s in body:
            if isinstance(s, Let):
                self.known[s.name] = self.size(s) if self.is_size(s) else self.operation(s)
            elif isinstance(s, Load):
                self.known[s.name] = self.load(s, s.address, ELEMENTS[s.dtype], s.guard)
            elif isinstance(s, Store):
                self.store(s, s.address, self.read(s.value))
            elif isinstance(s, Accumulate) and s.shared and self.lanes > 1:
                self.one_after_another(s)
            elif isinstance(s, Accumulate):
                old = self.load(s, s.address, ELEMENTS[s.dtype])
                self.store(s, s.address, self.combined(s.op, old, self.read(s.value)))
            elif isinstance(s, Combine):
                self.combine(s)
            elif isinstance(s, Require):
                self.require(self.read(s.condition))
            elif s.kind == "vector":
                self.vector_loop(s)
            else:
                self.loop(s)

    def one_after_another(self, s: Accumulate) -> None:
        """Lanes that may hit the same element; one that is masked adds -0 to the first one."""
        x, e, one = self.read(s.value), self.emitter("double"), self.single
        offset, moving = self.place(s, s.address)
        total = self.splat(offset)
        for v, by in moving:
            steps = self.iota() if v is None else v
            total = e.binary("add", total, e.binary("mul", steps, self.splat(by)))
        if self.mask is not None:
            total = e.select(self.mask, total, e.constant(0, "i64"))
            x = e.select(self.mask, x, x.emitter.constant(-0.0, x.element))
        for k in range(self.lanes):
            at = one.new("i64", f"extractelement {total.typed}, i64 {k}")
            value = one.new(x.element, f"extractelement {x.typed}, i64 {k}")
            pointer = self.pointer(s.address.buffer, x.element, at)
            old = one.new(x.element, f"load {x.element}, ptr {pointer}")
            self.line(f"store {self.combined(s.op, old, value).typed}, ptr {pointer}")

    def is_size(self, s: Let) -> bool:
        """Whether an integer is the same in all lanes: a loop may run so many times."""
        return self.lanes > 1 and s.dtype == "int64" and all(map(self.is_single, s.args))

    def is_single(self, x: str | Const) -> bool:
        return isinstance(x, Const) or (x != self.lane_index and self.known[x].emitter.lanes == 1)

    def size(self, s: Let) -> Value:
        around, self.lanes = self.lanes, 1
        found = self.operation(s)
        self.lanes = around
        return found

    def operation(self, s: Let) -> Value:
        xs = [self.read(a) for a in s.args]
        op, element = s.op, ELEMENTS[s.dtype]
        e = self.emitter(xs[0].element)
        floating = xs[0].element in ("double", "float")
        if op in ARITHMETIC:
            return e.binary(ARITHMETIC[op][not floating], xs[0], xs[1])
        if op in ("div", "rem"):
            if floating:
                return e.divide(*xs)
            return e.binary(
                "udiv" if op == "div" else "urem", xs[0], xs[1]
            )  # indices, never negative
        if op in COMPARISONS:
            return e.compare(COMPARISONS[op][not floating], *xs)
        if op == "select":
            return e.select(*xs)
        if op in ("and", "or", "xor"):
            return e.binary(op, xs[0], xs[1])
        if op == "not":
            return e.binary("xor", xs[0], e.mask(True))
        if op == "neg":
            return e.negate(xs[0])
        if op == "min":
            return e.select(e.compare("slt", *xs), *xs)
        if op == "cast":
            return self.cast(xs[0], element)
        if op in INTRINSICS:
            return e.intrinsic(INTRINSICS[op], *xs)
        if op in FOREIGN:
            return self.foreign(FOREIGN[op], xs)
        return self.function(op, e, xs)

    def function(self, name: str, e: Emitter, xs: Sequence[Value]) -> Value:
        """A function of the vector mathematics: written out, or called where it is used often."""
        if self.uses[name] <= WRITTEN_OUT or name in SHORT:
            return FUNCTIONS[name](e, *xs)
        symbol = function_name(name, e.element, e.lanes)
        if symbol not in self.body.definitions:
            attributes = f"{ATTRIBUTES} noinline"
            made = define(
                name, e.element, e.lanes, self.target, linkage="internal", attributes=attributes
            )
            self.body.definitions.update(made.definitions)
            self.body.declarations.update(made.declarations)
            self.body.externals.update(made.externals)
        kind = e.type_of(e.element)
        return e.new(e.element, f"call {kind} @{symbol}({', '.join(x.typed for x in xs)})")

    def foreign(self, f: Foreign, xs: Sequence[Value]) -> Value:
        """A call for every lane. Where one fails, so does the kernel."""
        result, e = ELEMENTS[f.result], self.emitter(ELEMENTS[f.result])
        pair = f"{{ i32, {result} }}"
        self.declare(f"declare {pair} @{f.symbol}({', '.join(ELEMENTS[d] for d in f.operands)})")
        value, held = "poison", "poison"
        for lane in range(self.lanes):
            given = ", ".join(f"{x.element} {self.lane(x, lane)}" for x in xs)
            both = e.new(pair, f"call {pair} @{f.symbol}({given})")
            one = e.new(result, f"extractvalue {pair} {both}, 1").name
            status = e.new("i32", f"extractvalue {pair} {both}, 0").name
            fine = e.new("i1", f"icmp eq i32 {status}, 0").name
            value = self.inserted(result, value, one, lane)
            held = self.inserted("i1", held, fine, lane)
        if f.fails:
            self.require(e.value(held, "i1"))
        return e.value(value, result)

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

    def cast(self, x: Value, element: str) -> Value:
        e, source = self.emitter(x.element), x.element
        if element in ("double", "float"):
            if source in ("double", "float"):
                return e.convert("fpext" if element == "double" else "fptrunc", x, element)
            return e.convert("uitofp" if source == "i1" else "sitofp", x, element)
        if source == "i1":
            return e.convert("zext", x, element)
        return e.convert("sext" if element == "i64" else "trunc", x, element)

    def combine(self, s: Combine) -> None:
        c = self.ops[s.carry]
        old, x = self.known[s.carry], self.read(s.value)
        if c.op == "precise":
            total = old + x
            part = total - old
            lost = self.lost[s.carry] + ((old - (total - part)) + (x - part))
            self.lost[s.carry] = self.masked(lost, self.lost[s.carry])
            self.known[s.carry] = self.masked(total, old)
        else:
            self.known[s.carry] = self.masked(self.combined(c.op, old, x), old)

    def masked(self, new: Value, old: Value) -> Value:
        return new if self.mask is None else new.emitter.select(self.mask, new, old)

    def combined(self, op: str, old: Value, x: Value) -> Value:
        e = old.emitter
        if op == "add":
            return old + x
        if op == "mul":
            return old * x
        if op in ("and", "or"):
            return e.binary(op, old, x)
        better = x > old if op == "max" else x < old
        return e.select(better | x.differs(x), x, old)  # a NaN wins, and stays

    def require(self, held: Value) -> None:
        e = held.emitter
        wrong = e.binary("xor", held, e.mask(True))
        if self.mask is not None:
            wrong = wrong & self.mask
        found = e.any(wrong)
        one = self.single
        old = one.new("i64", "load i64, ptr %failed")
        wide = one.new("i64", f"zext i1 {found} to i64")
        self.line(f"store i64 {one.binary('or', old, wide)}, ptr %failed")

    # -------------------------------------------------------------------------------- loops

    def loop(self, s: For) -> None:
        """Index by index; the chunks run from `first` to `last`."""
        chunks = s.kind == "chunks"
        start = "%first" if chunks else "0"
        end = self.single.value("%last", "i64") if chunks else self.scalar(s.count)
        self.start_carries(s)
        around, self.walked = self.walked, s.index if self.lanes > 1 else ""
        self.one_by_one(s, start, end)
        self.walked = around
        self.end_carries(s)

    def one_by_one(self, s: For, start: str, end: Value) -> None:
        """The loop itself; what it defines is forgotten afterwards, but for the carries."""
        self.hoist(s)
        outer, prefix = dict(self.known), dict(self.prefix)
        index, finish = self.open_loop(s, start, end, 1)
        self.known[s.index] = index
        self.statements(s.body)
        finish()
        self.forget(s, outer, prefix)

    def forget(
        self, s: For, outer: dict[str, Value], prefix: dict[int, tuple[Value, frozenset[int]]]
    ) -> None:
        carries = {c.name: self.known[c.name] for c in s.carries}
        self.known, self.prefix = {**outer, **carries}, prefix

    def open_loop(self, s: For, start: str, end: Value, step: int) -> tuple[Value, Any]:
        """Begin a loop; what is returned closes it, after the body."""
        before, head, inside, after = self.body.block, self.label(), self.label(), self.label()
        self.line(f"br label %{head}")
        self.open(head)
        names = [c.name for c in s.carries]
        precise = [n for n in names if self.ops[n].op == "precise"]
        number = self.labels
        index = self.single.value(f"%x.i{number}", "i64")
        phis = [(index, self.single.value(start, "i64"))]
        for k, n in enumerate(names):
            v = self.known[n]
            phis.append((v.emitter.value(f"%x.c{number}.{k}", v.element), v))
            self.known[n] = phis[-1][0]
        for k, n in enumerate(precise):
            v = self.lost[n]
            phis.append((v.emitter.value(f"%x.l{number}.{k}", v.element), v))
            self.lost[n] = phis[-1][0]
        place = len(self.body.lines)
        self.body.lines += [""] * len(phis)
        going = self.single.compare("ult", index, end)
        self.line(f"br i1 {going}, label %{inside}, label %{after}")
        self.open(inside)

        def finish() -> None:
            following = self.single.binary("add", index, self.single.constant(step, "i64"))
            last = self.body.block
            self.line(f"br label %{head}")
            ends = [following, *(self.known[n] for n in names), *(self.lost[n] for n in precise)]
            for k, ((phi, first), again) in enumerate(zip(phis, ends, strict=True)):
                text = f"[ {first}, %{before} ], [ {again}, %{last} ]"
                self.body.lines[place + k] = f"  {phi} = phi {phi.type} {text}"
            for n, (phi, _) in zip([*names, *precise], phis[1:], strict=True):
                target = self.known if phi.name.startswith("%x.c") else self.lost
                target[n] = phi
            self.open(after)

        return index, finish

    def start_carries(self, s: For) -> None:
        for c in s.carries:
            self.ops[c.name] = c
            e, element = self.emitter(ELEMENTS[c.dtype]), ELEMENTS[c.dtype]
            self.known[c.name] = e.constant(identity(c.op, c.dtype), element)
            if c.op == "precise":
                self.lost[c.name] = e.constant(0.0, element)

    def end_carries(self, s: For) -> None:
        """Give back what rounding lost, unless it is not finite."""
        for c in s.carries:
            if c.op == "precise":
                total, lost = self.known[c.name], self.lost[c.name]
                e = total.emitter
                finite = e.intrinsic("fabs", lost) < float("inf")
                self.known[c.name] = e.select(finite, total + lost, total)

    # ----------------------------------------------------------------------- loops in lanes

    def vector_loop(self, s: For) -> None:
        lanes = self.width(s)
        end = self.scalar(s.count)
        self.start_in(lanes, s)
        if self.target.avx512:
            self.lane_body(s, "0", end, lanes, True)
            self.to_one(s, lanes)
        else:
            full = self.single.binary("and", end, self.single.constant(-lanes, "i64"))
            self.lane_body(s, "0", full, lanes, False)
            self.to_one(s, lanes)
            self.one_by_one(s, str(full), end)

    def start_in(self, lanes: int, s: For) -> None:
        self.lanes = lanes
        self.start_carries(s)
        self.lanes = 1

    def lane_body(self, s: For, start: str, end: Value, lanes: int, masks: bool) -> None:
        self.hoist(s)
        outer, prefix = dict(self.known), dict(self.prefix)
        self.lanes = lanes
        for name in _free(s):
            v = outer.get(name)
            if v is not None and v.emitter.lanes == 1 and name not in _indices(s):
                self.known[name] = self.splat(v)
        wide_end = self.splat(end) if masks else None
        self.lanes = 1
        index, finish = self.open_loop(s, start, end, lanes)
        self.lanes, self.lane_index = lanes, s.index
        self.known[s.index] = index
        if wide_end is not None:
            here = self.emitter().binary("add", self.splat(index), self.iota())
            self.mask = self.emitter().compare("ult", here, wide_end)
        self.statements(s.body)
        self.lanes, self.lane_index, self.mask = 1, "", None
        finish()
        self.forget(s, outer, prefix)

    def iota(self) -> Value:
        numbers = ", ".join(f"i64 {k}" for k in range(self.lanes))
        return self.emitter().value(f"<{numbers}>", "i64")

    def to_one(self, s: For, lanes: int) -> None:
        """Combine the lanes of the carries, halves with halves."""
        for c in s.carries:
            v = self.known[c.name]
            width = lanes
            while width > 1:
                half = self.emitter(ELEMENTS[c.dtype], width // 2)
                low, high = (self.part(v, half, k) for k in (0, width // 2))
                v = self.combined(c.op, low, high)
                width //= 2
            self.known[c.name] = v

    def part(self, v: Value, half: Emitter, start: int) -> Value:
        if half.lanes == 1:
            return half.new(v.element, f"extractelement {v.typed}, i64 {start}")
        numbers = ", ".join(f"i32 {start + k}" for k in range(half.lanes))
        text = f"shufflevector {v.typed}, {v.type} poison, <{half.lanes} x i32> <{numbers}>"
        return half.new(v.element, text)

    def width(self, s: For) -> int:
        """How many lanes: several registers where there is little to do with each."""
        inner = list(statements(s.body))
        wide = any(
            t.dtype == "float64" or (t.dtype == "int64" and not isinstance(t, Let))
            for t in inner
            if isinstance(t, (Let, Load, Store))
        )
        native = self.target.vector_bits // (64 if wide else 32)
        lets = [t for t in inner if isinstance(t, Let)]
        if any(t.op in FOREIGN for t in lets):
            return native
        if any(t.op in FUNCTIONS and t.op != "sqrt" for t in lets):
            return native * 2
        if any(isinstance(t, For) for t in inner):  # rows side by side: long reads from each
            return native * (8 if len(lets) < 16 else 4)
        return native * (4 if len(lets) < 16 else 2)

    # ------------------------------------------------------------------------------- memory

    def hoist(self, s: For) -> None:
        """Compute what of the addresses in a loop does not change in it."""
        for t in statements(s.body):
            if isinstance(t, (Load, Store, Accumulate)):
                self.extend(t)

    def extend(self, t: Any) -> tuple[Value | None, frozenset[int]]:
        offset, done = self.prefix.get(id(t), (None, frozenset()))
        more = set(done)
        if -1 not in more:
            more.add(-1)
            offset = None if t.address.offset == 0 else self.scalar(t.address.offset)
        for k, (index, stride) in enumerate(t.address.terms):
            v = self.known.get(index)
            if k in more or v is None or v.emitter.lanes != 1 or index == self.lane_index:
                continue
            more.add(k)
            part = v if stride == 1 else self.single.binary("mul", v, self.scalar(stride))
            offset = part if offset is None else self.single.binary("add", offset, part)
        if offset is not None:
            self.prefix[id(t)] = (offset, frozenset(more))
        return offset, frozenset(more)

    def place(self, t: Any, a: Address) -> tuple[Value, list[tuple[Value | None, Value]]]:
        """The offset of the first lane, and what else the lanes add: (values or lanes, stride)."""
        offset, done = self.prefix.get(id(t), (None, frozenset()))
        if -1 not in done and a.offset != 0:
            offset = self.scalar(a.offset)
        moving: list[tuple[Value | None, Value]] = []
        for k, (index, stride) in enumerate(a.terms):
            if k in done:
                continue
            v, by = self.known[index], self.scalar(stride)
            if v.emitter.lanes > 1:
                moving.append((v, by))
                continue
            part = v if stride == 1 else self.single.binary("mul", v, by)
            offset = part if offset is None else self.single.binary("add", offset, part)
            if index == self.lane_index:
                moving.append((None, by))
        return self.single.constant(0, "i64") if offset is None else offset, moving

    def pointer(self, buffer: str, element: str, offset: Value) -> str:
        text = f"getelementptr {element}, ptr {self.pointers[buffer]}, {offset.typed}"
        return str(self.single.new("ptr", text))

    def pointers_of(
        self, buffer: str, element: str, offset: Value, moving: list[tuple[Value | None, Value]]
    ) -> str:
        """A vector of addresses."""
        e = self.emitter()
        total = self.splat(offset)
        for v, by in moving:
            steps = self.iota() if v is None else v
            total = e.binary("add", total, e.binary("mul", steps, self.splat(by)))
        base = self.pointers[buffer]
        return str(e.new("ptr", f"getelementptr {element}, ptr {base}, {total.typed}"))

    def in_a_row(self, moving: list[tuple[Value | None, Value]]) -> bool:
        return len(moving) == 1 and moving[0][0] is None and moving[0][1].name == "1"

    def load(self, t: Any, a: Address, element: str, guard: str | None = None) -> Value:
        offset, moving = self.place(t, a)
        stored = _stored(element)
        mask = self.mask
        if guard is not None:
            held = self.read(guard)
            if self.lanes == 1 or not moving:
                return self.guarded(a, offset, stored, element, held)
            mask = held if mask is None else mask & held
        if self.lanes == 1 or not moving:
            at = self.pointer(a.buffer, stored, offset)
            v = self.truth(self.single.new(stored, f"load {stored}, ptr {at}"), element)
            return v if self.lanes == 1 else self.splat(v)
        e = self.emitter(element)
        kind, suffix, align = e.type_of(stored), e.suffix(stored), SIZES[stored]
        if self.in_a_row(moving):
            at = self.pointer(a.buffer, stored, offset)
            self.prefetch(a, at, stored)
            if mask is None:
                return self.truth(e.new(stored, f"load {kind}, ptr {at}, align {align}"), element)
            name = f"llvm.masked.load.{suffix}.p0"
            self.declare(f"declare {kind} @{name}(ptr, i32, {mask.type}, {kind})")
            given = f"ptr {at}, i32 {align}, {mask.typed}, {kind} zeroinitializer"
        else:
            at = self.pointers_of(a.buffer, stored, offset, moving)
            many, mask = e.type_of("ptr"), mask or e.mask(True)
            name = f"llvm.masked.gather.{suffix}.v{self.lanes}p0"
            self.declare(f"declare {kind} @{name}({many}, i32, {mask.type}, {kind})")
            given = f"{many} {at}, i32 {align}, {mask.typed}, {kind} zeroinitializer"
        return self.truth(e.new(stored, f"call {kind} @{name}({given})"), element)

    def prefetch(self, a: Address, at: str, stored: str) -> None:
        """Ask for the same lanes of a later row: processors foresee rows, but not columns."""
        stride = dict(a.terms).get(self.walked, 1)
        if stride == 1:
            return
        one = self.single
        away = one.binary("mul", self.scalar(stride), one.constant(ROWS_AHEAD, "i64"))
        self.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for k in range(0, self.lanes * SIZES[stored], 64):
            place = one.binary("add", away, one.constant(k // SIZES[stored], "i64"))
            then = one.new("ptr", f"getelementptr {stored}, ptr {at}, {place.typed}")
            self.line(f"call void @llvm.prefetch.p0(ptr {then}, i32 0, i32 3, i32 1)")

    def guarded(self, a: Address, offset: Value, stored: str, element: str, held: Value) -> Value:
        """One element, the same for all lanes: of the first one of the array where none holds."""
        one = self.single
        some = one.value(str(held.emitter.any(held)), "i1")
        safe = one.select(some, offset, one.constant(0, "i64"))
        v = one.new(stored, f"load {stored}, ptr {self.pointer(a.buffer, stored, safe)}")
        v = self.truth(v, element)
        e = self.emitter(element)
        return e.select(held, self.widened(v), e.constant(0, element))

    def truth(self, v: Value, element: str) -> Value:
        """A bool is a byte in memory and a bit in a register."""
        return v.emitter.convert("trunc", v, "i1") if element == "i1" else v

    def store(self, t: Any, a: Address, v: Value) -> None:
        offset, moving = self.place(t, a)
        stored = _stored(v.element)
        if v.element == "i1":
            v = v.emitter.convert("zext", v, "i8")
        if self.lanes > 1 and not moving:  # the same in all lanes
            v = self.single.new(v.element, f"extractelement {v.typed}, i64 0")
        if self.lanes == 1 or not moving:
            self.line(f"store {v.typed}, ptr {self.pointer(a.buffer, stored, offset)}")
            return
        e = self.emitter()
        kind, suffix, align = e.type_of(stored), e.suffix(stored), SIZES[stored]
        if self.in_a_row(moving):
            at = self.pointer(a.buffer, stored, offset)
            self.prefetch(a, at, stored)
            if self.mask is None:
                self.line(f"store {v.typed}, ptr {at}, align {align}")
                return
            name = f"llvm.masked.store.{suffix}.p0"
            self.declare(f"declare void @{name}({kind}, ptr, i32, {self.mask.type})")
            self.line(f"call void @{name}({v.typed}, ptr {at}, i32 {align}, {self.mask.typed})")
            return
        at = self.pointers_of(a.buffer, stored, offset, moving)
        many, mask = e.type_of("ptr"), self.mask or e.mask(True)
        name = f"llvm.masked.scatter.{suffix}.v{self.lanes}p0"
        self.declare(f"declare void @{name}({kind}, {many}, i32, {mask.type})")
        self.line(f"call void @{name}({v.typed}, {many} {at}, i32 {align}, {mask.typed})")


def _stored(element: str) -> str:
    return "i8" if element == "i1" else element


def _free(s: For) -> dict[str, None]:
    """The names that the operations of a loop read."""
    found: dict[str, None] = {}
    for t in statements(s.body):
        operands: tuple[Any, ...] = ()
        if isinstance(t, Let):
            operands = t.args
        elif isinstance(t, (Store, Accumulate, Combine)):
            operands = (t.value,)
        elif isinstance(t, Require):
            operands = (t.condition,)
        elif isinstance(t, Load) and t.guard is not None:
            operands = (t.guard,)
        found.update((x, None) for x in operands if isinstance(x, str))
    return found


def _indices(s: For) -> set[str]:
    """Names that take part in addresses and sizes, which stay single numbers."""
    found: set[str] = set()
    for t in statements(s.body):
        if isinstance(t, (Load, Store, Accumulate)):
            for index, stride in t.address.terms:
                found |= {x for x in (index, stride) if isinstance(x, str)}
            if isinstance(t.address.offset, str):
                found.add(t.address.offset)
        elif isinstance(t, For) and isinstance(t.count, str):
            found.add(t.count)
    for t in reversed(list(statements(s.body))):  # and what they are computed of
        if isinstance(t, Let) and t.name in found:
            found |= {x for x in t.args if isinstance(x, str)}
    return found
