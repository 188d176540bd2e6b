"""A small emitter of LLVM IR as text, for values of one or several lanes.

An `Emitter` writes straight-line code of one element type ("double" or "float") and one number of
lanes (1: scalars). Each method appends a line and returns the `Value` it defines; Python numbers
are taken as constants. `Value` has the operators, so that a formula reads as one.

What it keeps true: no fast-math flag is ever written (NaN, infinities and -0 are kept); products
are contracted only by `multiply_add`, where either rounding is right, and by `fused`, where the
single rounding is needed. What is written here any processor can do.

Most code stays in the block it started in. A function with a rare slow path opens further blocks:
`body.block` is the label of the current one, for the phi of whoever closes a loop around it.
It imports NumPy for its scalar types, `Body` and `integers`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np

from funcgrad.compile.llvm.body import GENERIC, Body, VectorTarget
from funcgrad.compile.llvm.integers import compared, computed

__all__ = ["Emitter", "Operand", "Value"]

BITS = {"double": 64, "float": 32, "i64": 64, "i32": 32, "i16": 16, "i8": 8, "i1": 1}
FLOATS = ("double", "float")
SUFFIX = {"double": "f64", "float": "f32"}


class Value:
    """One SSA value or constant: `name` is its operand text, `element` the type of a lane."""

    __slots__ = ("element", "emitter", "name")

    def __init__(self, emitter: Emitter, element: str, name: str) -> None:
        self.emitter = emitter
        self.element = element
        self.name = name

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    @property
    def type(self) -> str:
        return self.emitter.type_of(self.element)

    @property
    def typed(self) -> str:
        return f"{self.type} {self.name}"

    def _binary(self, floating: str, integer: str, x: Operand, y: Operand) -> Value:
        operation = floating if self.element in FLOATS else integer
        return self.emitter.binary(operation, x, y, self.element)

    def _compare(self, floating: str, integer: str, other: Operand) -> Value:
        predicate = floating if self.element in FLOATS else integer
        return self.emitter.compare(predicate, self, other)

    def __add__(self, other: Operand) -> Value:
        return self._binary("fadd", "add", self, other)

    def __radd__(self, other: Operand) -> Value:
        return self._binary("fadd", "add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return self._binary("fsub", "sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self._binary("fsub", "sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self._binary("fmul", "mul", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self._binary("fmul", "mul", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self.emitter.divide(self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.emitter.divide(other, self)

    def __neg__(self) -> Value:
        return self.emitter.negate(self)

    def __and__(self, other: Operand) -> Value:
        return self.emitter.binary("and", self, other, self.element)

    def __or__(self, other: Operand) -> Value:
        return self.emitter.binary("or", self, other, self.element)

    def __xor__(self, other: Operand) -> Value:
        return self.emitter.binary("xor", self, other, self.element)

    def __lshift__(self, other: Operand) -> Value:
        return self.emitter.binary("shl", self, other, self.element)

    def __rshift__(self, other: Operand) -> Value:
        """The arithmetic shift; `binary("lshr", ...)` is the logical one."""
        return self.emitter.binary("ashr", self, other, self.element)

    # Ordered: false where an operand is NaN.
    def __lt__(self, other: Operand) -> Value:
        return self._compare("olt", "slt", other)

    def __le__(self, other: Operand) -> Value:
        return self._compare("ole", "sle", other)

    def __gt__(self, other: Operand) -> Value:
        return self._compare("ogt", "sgt", other)

    def __ge__(self, other: Operand) -> Value:
        return self._compare("oge", "sge", other)

    def equals(self, other: Operand) -> Value:
        return self._compare("oeq", "eq", other)

    def differs(self, other: Operand) -> Value:
        """Unordered: true where an operand is NaN."""
        return self._compare("une", "ne", other)


Operand = Value | float | int


class Emitter:
    """Writes code on values of `lanes` lanes of `element` into a `Body`.

    >>> e = Emitter("double", 4)
    >>> x = e.value("%x")
    >>> y = e.multiply_add(x, x, 1.0)
    >>> print(e.lines[0].strip())
    %t1 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %x, <4 x double> %x, <4 x double> \
splat (double 0x3FF0000000000000))
    """

    def __init__(
        self,
        element: str,
        lanes: int = 1,
        target: VectorTarget = GENERIC,
        body: Body | None = None,
    ) -> None:
        if element not in FLOATS:
            raise ValueError(f"an emitter's element is 'double' or 'float', not {element!r}")
        self.element = element
        self.lanes = lanes
        self.target = target
        self.body = Body() if body is None else body
        self.double = element == "double"
        self.integer = "i64" if self.double else "i32"
        self.mantissa_bits = 52 if self.double else 23
        self.bias = 1023 if self.double else 127
        self.largest = float(np.finfo(np.float64 if self.double else np.float32).max)
        # 1.5 * 2**mantissa_bits: adding it rounds to an integer, left in the low bits.
        self.rounder = 1.5 * 2.0**self.mantissa_bits
        self.full_registers = target.avx512 and lanes * BITS[element] % 512 == 0

    @property
    def lines(self) -> list[str]:
        return self.body.lines

    @property
    def declarations(self) -> dict[str, None]:
        return self.body.declarations

    def of(self, element: str) -> Emitter:
        """An emitter of another element type that writes into the same body."""
        return Emitter(element, self.lanes, self.target, self.body)

    # Types, names and constants

    def type_of(self, element: str) -> str:
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    def suffix(self, element: str | None = None) -> str:
        """How an intrinsic's name ends: "v8f64", "i32"."""
        element = self.element if element is None else element
        scalar = SUFFIX.get(element, element)
        return scalar if self.lanes == 1 else f"v{self.lanes}{scalar}"

    def value(self, name: str, element: str | None = None) -> Value:
        """A value that was defined elsewhere: a parameter, a load."""
        return Value(self, self.element if element is None else element, name)

    def new(self, element: str, instruction: str) -> Value:
        self.body.count += 1
        name = f"%t{self.body.count}"
        self.body.lines.append(f"  {name} = {instruction}")
        return Value(self, element, name)

    def once(self, element: str, instruction: str) -> Value:
        """What an instruction without effect gives, written once where it is always run before."""
        found: Value | None = self.body.known.get(instruction)
        if found is None:
            found = self.body.known[instruction] = self.new(element, instruction)
        return found

    def constant(self, x: float, element: str | None = None) -> Value:
        """The number in all lanes; floats are rounded to the element type."""
        element = self.element if element is None else element
        text = float_text(x, element) if element in FLOATS else str(int(x))
        if self.lanes > 1:
            text = f"splat ({element} {text})"
        return Value(self, element, text)

    def lift(self, x: Operand, element: str | None = None) -> Value:
        return x if isinstance(x, Value) else self.constant(x, element)

    def mask(self, truth: bool) -> Value:
        return self.constant(int(truth), "i1")

    # Arithmetic

    def binary(self, operation: str, x: Operand, y: Operand, element: str | None = None) -> Value:
        x, y = self.lift(x, element), self.lift(y, element)
        if x.element == "i64" and self.lanes == 1:
            return self.of_integers(operation, x, y)
        return self.new(x.element, f"{operation} {x.typed}, {y}")

    def of_integers(self, operation: str, x: Value, y: Value) -> Value:
        """An operation on single integers, of which most are known or used in many places."""
        found = computed(operation, x.name, y.name)
        if found is not None:
            return Value(self, "i64", found)
        return self.once("i64", f"{operation} i64 {x}, {y}")

    def add(self, x: Operand, y: Operand) -> Value:
        return self.binary("fadd", x, y)

    def subtract(self, x: Operand, y: Operand) -> Value:
        return self.binary("fsub", x, y)

    def multiply(self, x: Operand, y: Operand) -> Value:
        return self.binary("fmul", x, y)

    def divide(self, x: Operand, y: Operand) -> Value:
        return self.binary("fdiv", x, y)

    def negate(self, x: Operand) -> Value:
        x = self.lift(x)
        if x.element in FLOATS:
            return self.new(x.element, f"fneg {x.typed}")
        return self.binary("sub", 0, x, x.element)

    def multiply_add(self, x: Operand, y: Operand, z: Operand) -> Value:
        """x * y + z, in one rounding or two, whichever the target does well."""
        return self.intrinsic("fmuladd", x, y, z)

    def fused(self, x: Operand, y: Operand, z: Operand) -> Value:
        """x * y + z in one rounding, at any price: for what must be exact."""
        return self.intrinsic("fma", x, y, z)

    def square_root(self, x: Operand) -> Value:
        return self.intrinsic("sqrt", x)

    def absolute(self, x: Operand) -> Value:
        return self.intrinsic("fabs", x)

    def copy_sign(self, magnitude: Operand, sign: Operand) -> Value:
        return self.intrinsic("copysign", magnitude, sign)

    def intrinsic(self, name: str, *operands: Operand) -> Value:
        """An intrinsic overloaded on the element type, such as "floor" or "minimum"."""
        values = [self.lift(x) for x in operands]
        return self.call(f"llvm.{name}.{self.suffix()}", *values)

    def call(self, name: str, *operands: Value, element: str | None = None) -> Value:
        """Call `@name` on values of this emitter; the result has their lanes."""
        element = self.element if element is None else element
        result = self.type_of(element)
        types = ", ".join(x.type for x in operands)
        self.declarations[f"declare {result} @{name}({types})"] = None
        return self.new(element, f"call {result} @{name}({', '.join(x.typed for x in operands)})")

    # Comparison and choice

    def compare(self, predicate: str, x: Operand, y: Operand) -> Value:
        element = x.element if isinstance(x, Value) else y.element if isinstance(y, Value) else None
        x, y = self.lift(x, element), self.lift(y, element)
        if x.element == "i64" and self.lanes == 1:
            known = compared(predicate, x.name, y.name)
            if known is not None:
                return self.mask(known)
        operation = "fcmp" if x.element in FLOATS else "icmp"
        return self.new("i1", f"{operation} {predicate} {x.typed}, {y}")

    def select(self, mask: Value, x: Operand, y: Operand) -> Value:
        """x in the lanes where the mask is set, y in the others."""
        element = x.element if isinstance(x, Value) else y.element if isinstance(y, Value) else None
        x, y = self.lift(x, element), self.lift(y, element)
        if self.lanes == 1 and mask.name in ("0", "1"):
            return x if mask.name == "1" else y
        return self.new(x.element, f"select {mask.typed}, {x.typed}, {y.typed}")

    def is_nan(self, x: Value) -> Value:
        return self.compare("uno", x, x)

    def at_most(self, x: Value, bound: float) -> Value:
        """min(x, bound); a NaN stays."""
        return self.select(x > bound, self.constant(bound), x)

    def at_least(self, x: Value, bound: float) -> Value:
        """max(x, bound); a NaN stays."""
        return self.select(x < bound, self.constant(bound), x)

    def any(self, mask: Value) -> Value:
        """Whether a lane is set, as a single i1 (its text may not be used as a vector)."""
        if self.lanes == 1:
            return mask
        name = f"llvm.vector.reduce.or.v{self.lanes}i1"
        self.declarations[f"declare i1 @{name}({mask.type})"] = None
        return self.new("i1", f"call i1 @{name}({mask.typed})")

    def rarely(
        self,
        mask: Value,
        usual: Sequence[Value],
        slow: Callable[[], Sequence[Value]],
        odds: int = 4000,
    ) -> list[Value]:
        """`usual`; where any lane of `mask` is set, what `slow()` gives (in all lanes).

        `slow` is emitted into a block of its own, reached by a branch that is seldom taken: once
        for so many times as `odds` says that it is not.
        """
        body = self.body
        body.count += 1
        rare, joined = f"rare.{body.count}", f"joined.{body.count}"
        weights = f'!prof !{{!"branch_weights", i32 1, i32 {odds}}}'
        flag = self.any(mask)
        body.lines.append(f"  br i1 {flag}, label %{rare}, label %{joined}, {weights}")
        before, known = body.block, dict(body.known)
        self.open_block(rare)
        repaired = slow()
        after, body.known = body.block, known
        body.lines.append(f"  br label %{joined}")
        self.open_block(joined)
        return [
            self.new(x.element, f"phi {x.type} [ {x}, %{before} ], [ {y}, %{after} ]")
            for x, y in zip(usual, repaired, strict=True)
        ]

    def open_block(self, label: str) -> None:
        self.body.lines.append(f"{label}:")
        self.body.block = label

    # Bits and conversions

    def bits(self, x: Operand) -> Value:
        x = self.lift(x)
        integer = f"i{BITS[x.element]}"
        return self.new(integer, f"bitcast {x.typed} to {self.type_of(integer)}")

    def from_bits(self, x: Value) -> Value:
        element = "double" if x.element == "i64" else "float"
        return self.new(element, f"bitcast {x.typed} to {self.type_of(element)}")

    def convert(self, operation: str, x: Value, element: str) -> Value:
        """A conversion instruction: "fpext", "fptrunc", "sitofp", "fptosi", "zext", "trunc" ..."""
        return self.new(element, f"{operation} {x.typed} to {self.type_of(element)}")

    # Polynomials

    def polynomial(self, coefficients: Sequence[Operand], x: Value) -> Value:
        """The polynomial, constant term first, in a short chain.

        The last step is Horner's, so that one rounding counts where the constant term does.
        """
        constant, *terms = coefficients
        return (
            self.multiply_add(self.estrin(terms, x), x, constant) if terms else self.lift(constant)
        )

    def estrin(self, coefficients: Sequence[Operand], x: Value) -> Value:
        """The polynomial, constant term first, in the shortest chain: pairs, and pairs of these."""
        terms, power = list(coefficients), x
        while len(terms) > 1:
            if len(terms) < len(coefficients):
                power = power * power
            pairs = [self.multiply_add(b, power, a) for a, b in zip(terms[::2], terms[1::2])]
            terms = [*pairs, *terms[2 * len(pairs) :]]
        return self.lift(terms[0])


def float_text(x: float, element: str) -> str:
    """The hexadecimal form of a constant; LLVM writes a float as the double of equal value."""
    if element == "float":
        with np.errstate(over="ignore"):
            x = float(np.float32(x))
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(x)))[0]:016X}"
