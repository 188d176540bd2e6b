"""The body of a step in registers: short loops written out, numbers kept out of memory.

A step of a filter or of a solver works on vectors of a few elements, for which a loop costs more
than what it does. Such loops are written out; then most elements have an address that is a number,
and those of local buffers all of whose addresses are, become values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.compile.loops import (
    Accumulate,
    Address,
    Carry,
    Combine,
    Const,
    For,
    Let,
    Load,
    Operand,
    Require,
    Store,
    Term,
    identity,
    statements,
)

__all__ = [
    "Promoted",
    "element_name",
    "in_registers",
    "promoted",
    "written_again",
    "written_out",
]

TIMES = 16  # through a loop that may be written out: longer ones fill lanes, and LLVM is soon done
LOOP = 192  # statements that may stand for one loop
STEP = 6000  # statements of a step
FOLDED: dict[str, Callable[[int, int], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "min": min,
    "div": operator.floordiv,
    "rem": operator.mod,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
TRUTHS = ("and", "or", "not")
FLOATING = ("float64", "float32")  # no operation on them is done ahead, but a choice
Element = tuple[str, int]  # of a local buffer


def written_out(body: Sequence[Any]) -> list[Any]:
    """The statements with short loops written out and sizes computed."""
    return _Writer().block(body, "")


def written_again(body: Sequence[Any], name: Any) -> tuple[list[Any], Any]:
    """The statements once more, under other names, and what stands there for a name."""
    writer = _Writer(".again")
    found = writer.block(body, ".again")
    return found, writer.operand(name)


class _TooLong(Exception):
    """A loop that stays one."""


class _Writer:
    def __init__(self, again: str = "") -> None:
        self.again = again  # the suffix of what is no time through a loop
        self.known: dict[str, Operand] = {}  # what stands for a name
        self.ops: dict[str, tuple[str, str]] = {}  # of carries whose loop is written out
        self.count = 0
        self.left = STEP
        self.limit = 0  # where what is written out ends

    def operand(self, x: Any) -> Any:
        while isinstance(x, str) and x in self.known:
            x = self.known[x]
        return x

    def address(self, a: Address) -> Address:
        offset = a.offset
        terms: list[tuple[str, Term]] = []
        assert isinstance(offset, int)
        for index, stride in a.terms:
            i, s = self.operand(index), self.operand(stride)
            i = int(i.value) if isinstance(i, Const) else i
            s = int(s.value) if isinstance(s, Const) else s
            if isinstance(i, int) and isinstance(s, int):
                offset += i * s
            elif isinstance(i, int):
                terms.append((str(s), i))
            else:
                terms.append((str(i), s))
        return Address(a.buffer, tuple(terms), offset)

    def define(self, name: str, suffix: str) -> str:
        """A name of this time through the loop."""
        if not suffix:
            return name
        self.known[name] = made = name + suffix
        return made

    def block(self, body: Sequence[Any], suffix: str) -> list[Any]:
        found: list[Any] = []
        for s in body:
            self.statement(s, suffix, found)
        return found

    def statement(self, s: Any, suffix: str, out: list[Any]) -> None:
        if isinstance(s, Let):
            args = tuple(map(self.operand, s.args))
            folded = self.fold(s, args)
            if folded is not None:
                self.known[s.name] = folded
                return
            self.known.pop(s.name, None)
            out.append(Let(self.define(s.name, suffix), s.dtype, s.op, args))
        elif isinstance(s, Load):
            guard = None if s.guard is None else self.operand(s.guard)
            address = self.address(s.address)
            if isinstance(guard, Const):
                if not guard.value:
                    self.known[s.name] = Const(0, s.dtype)
                    return
                guard = None
            self.known.pop(s.name, None)
            out.append(Load(self.define(s.name, suffix), s.dtype, address, guard))
        elif isinstance(s, Store):
            out.append(Store(self.address(s.address), self.operand(s.value), s.dtype))
        elif isinstance(s, Accumulate):
            value = self.operand(s.value)
            out.append(Accumulate(self.address(s.address), s.op, value, s.dtype, s.shared))
        elif isinstance(s, Combine):
            self.combine(s, out)
        elif isinstance(s, Require):
            condition = self.operand(s.condition)
            if not isinstance(condition, Const):
                out.append(Require(condition, s.kind))
            elif not condition.value:
                self.count += 1
                name = f"f{self.count}"
                held = Let(name, "bool", "and", (condition, condition))
                out += [held, Require(name, s.kind)]
        else:
            self.loop(s, suffix, out)

    def fold(self, s: Let, args: Sequence[Operand]) -> Operand | None:
        """What an operation gives, where its operands say it already."""
        if s.op == "select" and isinstance(args[0], Const):
            return args[1] if args[0].value else args[2]
        if s.op in TRUTHS and s.dtype == "bool":
            return self.truth(s.op, args)
        numbers = [int(x.value) for x in args if isinstance(x, Const) and x.dtype == "int64"]
        if s.op not in FOLDED or len(numbers) < len(args):
            return None
        if s.op in ("div", "rem") and numbers[1] == 0:
            return None
        return Const(FOLDED[s.op](*numbers), s.dtype)

    def truth(self, op: str, args: Sequence[Operand]) -> Operand | None:
        known = [bool(x.value) for x in args if isinstance(x, Const)]
        if (op == "and" and False in known) or (op == "or" and True in known):
            return Const(op == "or", "bool")
        if len(known) == len(args):
            return Const(not known[0] if op == "not" else known[0], "bool")
        left = [x for x in args if not isinstance(x, Const)]
        return left[0] if known and op != "not" else None

    def combine(self, s: Combine, out: list[Any]) -> None:
        value = self.operand(s.value)
        times = None if s.times is None else self.operand(s.times)
        if s.carry not in self.ops:
            out.append(Combine(str(self.operand(s.carry)), value, times))
            return
        op, dtype = self.ops[s.carry]
        old = self.operand(s.carry)
        if op == "alone":
            self.known[s.carry] = value
            return
        self.count += 1
        name = f"{s.carry}.{self.count}"
        if times is not None:
            out.append(Let(name, dtype, "multiply_add", (value, times, old)))
        elif op in ("max", "min"):  # a NaN wins, and stays; of two zeros the later one
            better = Let(f"{name}b", "bool", "ge" if op == "max" else "le", (value, old))
            wrong = Let(f"{name}w", "bool", "ne", (value, value))
            either = Let(f"{name}e", "bool", "or", (better.name, wrong.name))
            out += [better, wrong, either, Let(name, dtype, "select", (either.name, value, old))]
        else:
            out.append(Let(name, dtype, op, (old, value)))
        self.known[s.carry] = name

    def loop(self, s: For, suffix: str, out: list[Any]) -> None:
        if suffix != self.again:  # within one that is written out
            self.written_out(s, out)
            return
        before = len(out), dict(self.known), dict(self.ops)
        self.limit = len(out) + min(LOOP, self.left)
        try:
            self.written_out(s, out)
        except _TooLong:
            del out[before[0] :]
            _, self.known, self.ops = before
        else:
            self.left -= len(out) - before[0]
            return
        count = self.operand(s.count)
        count = int(count.value) if isinstance(count, Const) else count
        carries = [self.carry(c, suffix) for c in s.carries]
        index = self.define(s.index, suffix)
        inner = For(index, count, s.kind, [], carries, s.lanes, every=s.every)
        inner.test = self.block(s.test, suffix)
        inner.condition = None if s.condition is None else self.operand(s.condition)
        inner.body = self.block(s.body, suffix)
        out.append(inner)

    def carry(self, c: Carry, suffix: str) -> Carry:
        start = None if c.start is None else self.operand(c.start)
        return Carry(self.define(c.name, suffix), c.dtype, c.op, start)

    def written_out(self, s: For, out: list[Any]) -> None:
        count = self.operand(s.count)
        count = int(count.value) if isinstance(count, Const) else count
        if s.kind == "steps" or not isinstance(count, int) or (s.kind == "blocks" and count > 1):
            raise _TooLong
        if count > TIMES:
            raise _TooLong
        alone = s.kind == "blocks" and count == 1
        if not alone and any(c.op == "compensated" for c in s.carries):
            raise _TooLong
        if len(out) + count * self.least(s.body) > self.limit:
            raise _TooLong
        for c in s.carries:
            self.ops[c.name] = ("alone" if alone else c.op, c.dtype)
            neutral = Const(identity(c.op, c.dtype), c.dtype)
            self.known[c.name] = neutral if c.start is None else self.operand(c.start)
        for i in range(count):
            self.count += 1
            self.known[s.index] = Const(i, "int64")
            suffix = f".{self.count}"
            for t in s.body:
                self.statement(t, suffix, out)
                if len(out) > self.limit:
                    raise _TooLong

    def least(self, body: Sequence[Any]) -> int:
        """How many statements are left at least when a block is written out."""
        found = 0
        for s in body:
            if isinstance(s, For):
                count = self.operand(s.count)
                count = int(count.value) if isinstance(count, Const) else count
                found += count * self.least(s.body) if isinstance(count, int) else 0
            elif isinstance(s, Load):
                found += s.guard is None
            elif isinstance(s, Let):
                found += s.dtype in FLOATING and s.op != "select"
            else:
                found += isinstance(s, Store)
        return found


class Promoted(NamedTuple):
    """A step whose local buffers are values."""

    body: list[Any]
    writes: dict[Element, Operand]  # what the elements are in the end
    known: dict[str, Operand]  # what stands for names that are gone


def element_name(buffer: str, k: int) -> str:
    """The name of an element of a carry when a step begins."""
    return f"{buffer}.at{k}"


def in_registers(body: Sequence[Any], local: set[str], carries: set[str]) -> set[str]:
    """The local buffers all of whose elements are read and written at places that are numbers.

    Those that are no carries have to be written before they are read.
    """
    found = set(local)
    top = {id(s) for s in body}
    for s in statements(body):
        if isinstance(s, (Load, Store, Accumulate)) and s.address.buffer in found:
            fixed = not s.address.terms and id(s) in top and not isinstance(s, Accumulate)
            if not fixed or (isinstance(s, Load) and s.guard is not None):
                found.discard(s.address.buffer)
    written: set[Element] = set()
    for s in body:
        if isinstance(s, Store):
            written.add((s.address.buffer, int(s.address.offset)))
        elif isinstance(s, Load) and s.address.buffer in found - carries:
            element = (s.address.buffer, int(s.address.offset))
            found -= set() if element in written else {s.address.buffer}
    return found


def promoted(body: Sequence[Any], buffers: set[str]) -> Promoted:
    """The step with the elements of these buffers as values."""
    writes: dict[Element, Operand] = {}
    known: dict[str, Operand] = {}
    renamed = _Renamer(known)
    out: list[Any] = []
    for s in body:
        place = s.address if isinstance(s, (Load, Store)) else None
        if place is None or place.buffer not in buffers:
            out.append(renamed.statement(s))
            continue
        element = (place.buffer, int(place.offset))
        if isinstance(s, Store):
            writes[element] = renamed.operand(s.value)
        else:
            known[s.name] = writes.get(element, element_name(*element))
    return Promoted(out, writes, known)


class _Renamer:
    """Other names for operands."""

    def __init__(self, known: dict[str, Operand]) -> None:
        self.known = known

    def operand(self, x: Any) -> Any:
        return self.known.get(x, x) if isinstance(x, str) else x

    def address(self, a: Address) -> Address:
        if not any(i in self.known or s in self.known for i, s in a.terms):
            return a
        offset, terms = a.offset, []
        for i, s in a.terms:
            i = self.operand(i)
            if isinstance(i, Const):
                assert isinstance(offset, int) and isinstance(s, int)
                offset += int(i.value) * s
            else:
                terms.append((i, s))
        return Address(a.buffer, tuple(terms), offset)

    def statement(self, s: Any) -> Any:
        if isinstance(s, Let):
            return s._replace(args=tuple(map(self.operand, s.args)))
        if isinstance(s, Load):
            guard = self.operand(s.guard)
            if isinstance(guard, Const):
                guard = None if guard.value else s.guard
            return s._replace(address=self.address(s.address), guard=guard)
        if isinstance(s, (Store, Accumulate)):
            return s._replace(address=self.address(s.address), value=self.operand(s.value))
        if isinstance(s, Combine):
            return s._replace(value=self.operand(s.value), times=self.operand(s.times))
        if isinstance(s, Require):
            return s._replace(condition=self.operand(s.condition))
        assert isinstance(s, For)
        carries = [c._replace(start=self.operand(c.start)) for c in s.carries]
        return For(
            s.index,
            self.operand(s.count),
            s.kind,
            list(map(self.statement, s.body)),
            carries,
            s.lanes,
            list(map(self.statement, s.test)),
            self.operand(s.condition),
            s.every,
        )
