"""Operations on elements as LLVM IR: arithmetic, mathematics, conversions, requirements."""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.compile.foreign import FOREIGN, Foreign
from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.frame import ELEMENTS, Frame
from funcgrad.compile.llvm.mathematics import FUNCTIONS, external
from funcgrad.compile.loops import OUT_OF_BOUNDS, Const, Let

__all__ = ["ATTRIBUTES", "Operations"]

COMPARISONS = {
    "eq": ("oeq", "eq"), "ne": ("une", "ne"), "lt": ("olt", "slt"),
    "le": ("ole", "sle"), "gt": ("ogt", "sgt"), "ge": ("oge", "sge"),
}  # fmt: skip
ARITHMETIC = {"add": ("fadd", "add"), "sub": ("fsub", "sub"), "mul": ("fmul", "mul")}
INTRINSICS = {"abs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
              "copysign": "copysign", "sqrt": "sqrt"}  # fmt: skip
# Functions of the vector mathematics written out in a kernel. With more they are called: the copy
# that all kernels share is built once, and a call costs about a tenth of what it calls.
WRITTEN_OUT = 4
ATTRIBUTES = '"prefer-vector-width"="512" nounwind'


class Operations:
    """How a kernel computes its values."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def is_size(self, s: Let) -> bool:
        """Whether an integer is the same in all lanes: a loop may run so many times."""
        return self.frame.lanes > 1 and s.dtype == "int64" and all(map(self.is_single, s.args))

    def is_single(self, x: str | Const) -> bool:
        if isinstance(x, Const) or x in self.frame.late:
            return True
        return x != self.frame.lane_index and self.frame.known[x].emitter.lanes == 1

    def size(self, s: Let) -> Value:
        around, self.frame.lanes = self.frame.lanes, 1
        found = self.operation(s)
        self.frame.lanes = around
        return found

    def operation(self, s: Let) -> Value:
        xs = [self.frame.read(a) for a in s.args]
        op, element = s.op, ELEMENTS[s.dtype]
        e = self.frame.emitter(xs[0].element)
        floating = xs[0].element in ("double", "float")
        if op in ARITHMETIC:
            return e.binary(ARITHMETIC[op][not floating], xs[0], xs[1])
        if op in ("div", "rem"):
            if floating:  # the C library's, as NumPy has it
                return e.divide(*xs) if op == "div" else e.binary("frem", xs[0], xs[1])
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
        if op == "copy":
            return xs[0]
        if op == "multiply_add":
            return e.multiply_add(*xs)
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
        """A function of the vector mathematics: written out, or called in kernels that use many."""
        if self.frame.functions <= WRITTEN_OUT:
            return FUNCTIONS[name](e, *xs)
        symbol, made = external(
            name, e.element, e.lanes, self.frame.target, f"{ATTRIBUTES} noinline"
        )
        self.frame.body.externals[symbol] = made
        kind = e.type_of(e.element)
        return e.new(e.element, f"call {kind} @{symbol}({', '.join(x.typed for x in xs)})")

    def foreign(self, f: Foreign, xs: Sequence[Value]) -> Value:
        """A call for every lane. Where one fails, so does the kernel."""
        result, e = ELEMENTS[f.result], self.frame.emitter(ELEMENTS[f.result])
        pair = f"{{ i32, {result} }}"
        self.frame.declare(
            f"declare {pair} @{f.symbol}({', '.join(ELEMENTS[d] for d in f.operands)})"
        )
        value, held = "poison", "poison"
        for lane in range(self.frame.lanes):
            given = ", ".join(f"{x.element} {self.frame.lane(x, lane)}" for x in xs)
            both = e.new(pair, f"call {pair} @{f.symbol}({given})")
            one = e.new(result, f"extractvalue {pair} {both}, 1").name
            status = e.new("i32", f"extractvalue {pair} {both}, 0").name
            fine = e.new("i1", f"icmp eq i32 {status}, 0").name
            value = self.frame.inserted(result, value, one, lane)
            held = self.frame.inserted("i1", held, fine, lane)
        if f.fails:
            self.require(e.value(held, "i1"))
        return e.value(value, result)

    def cast(self, x: Value, element: str) -> Value:
        e, source = self.frame.emitter(x.element), x.element
        if element in ("double", "float"):
            if source in ("double", "float"):
                return e.convert("fpext" if element == "double" else "fptrunc", x, element)
            if source == "i1":  # one instruction with a mask, where a conversion takes six
                one, zero = (e.constant(k, element) for k in (1.0, 0.0))
                return e.select(x, one, zero)
            return e.convert("sitofp", x, element)
        if source in ("double", "float"):  # of a number that has an integer
            return e.convert("fptosi", x, element)
        if source == "i1":
            return e.convert("zext", x, element)
        return e.convert("sext" if element == "i64" else "trunc", x, element)

    def masked(self, new: Value, old: Value) -> Value:
        return new if self.frame.mask is None else new.emitter.select(self.frame.mask, new, old)

    def combined(self, op: str, old: Value, x: Value) -> Value:
        e = old.emitter
        if op == "add":
            return old + x
        if op == "mul":
            return old * x
        if op in ("and", "or"):
            return e.binary(op, old, x)
        better = x >= old if op == "max" else x <= old  # the later of two zeros, as in NumPy
        return e.select(better | x.differs(x), x, old)  # a NaN wins, and stays

    def in_one(self, v: Value, op: str) -> Value:
        """All lanes of a value, halves combined with halves."""
        width = v.emitter.lanes
        while width > 1:
            width //= 2
            half = self.frame.emitter(v.element, width)
            v = self.combined(op, self.frame.part(v, half, 0), self.frame.part(v, half, width))
        return v

    def require(self, held: Value, kind: int = OUT_OF_BOUNDS) -> None:
        e = held.emitter
        wrong = e.binary("xor", held, e.mask(True))
        if self.frame.mask is not None:
            wrong = wrong & self.frame.mask
        found = e.any(wrong)
        one = self.frame.single
        old = one.new("i64", "load i64, ptr %failed")
        wide = one.new("i64", f"select i1 {found}, i64 {kind}, i64 0")
        self.frame.line(f"store i64 {one.binary('or', old, wide)}, ptr %failed")
