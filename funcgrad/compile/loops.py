"""Loop nests: what a fused group of operations does, in a form that every backend can print.

A kernel is straight-line scalar code inside loops. Values have names and are defined once; sizes,
strides and odd numbers are parameters, so that one kernel serves every length. The loop over
chunks is the outermost and may be cut anywhere: what a chunk computes does not depend on which
thread runs it. A "vector" loop may run its iterations several at a time, because what they share
is named as a carry with the operation that combines it. `run` executes a kernel in plain Python,
for tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "Accumulate",
    "Address",
    "Buffer",
    "Carry",
    "Combine",
    "Const",
    "For",
    "Kernel",
    "Let",
    "Load",
    "Require",
    "Store",
    "identity",
    "run",
    "scratch_bytes",
    "show",
    "statements",
]

Term = int | str


class Const(NamedTuple):
    """A number written into the code."""

    value: Any
    dtype: str


Operand = str | Const


class Address(NamedTuple):
    """An element of a buffer: offset + Σ index · stride, counted in elements."""

    buffer: str
    terms: tuple[tuple[str, Term], ...]
    offset: Term = 0


class Let(NamedTuple):
    """name = op(args), a value of `dtype`."""

    name: str
    dtype: str
    op: str
    args: tuple[Operand, ...]


class Load(NamedTuple):
    """name = an element; 0, and no memory is touched, where the guard does not hold."""

    name: str
    dtype: str
    address: Address
    guard: str | None = None


class Store(NamedTuple):
    address: Address
    value: Operand
    dtype: str


class Accumulate(NamedTuple):
    """buffer[address] = op(buffer[address], value).

    Each iteration has an element of its own, unless it is shared.
    """

    address: Address
    op: str
    value: Operand
    dtype: str
    shared: bool = False


class Combine(NamedTuple):
    """carry = op(carry, value), for a carry of a loop around it.

    With `times` the product of both is added, rounded before or not.
    """

    carry: str
    value: Operand
    times: Operand | None = None


# Bits of the flag: which requirement failed.
OUT_OF_BOUNDS, SINGULAR, INDEFINITE, NOT_FINITE = 1, 16, 32, 64


class Require(NamedTuple):
    """Note in the kernel's flag that a condition did not hold, and which kind of one it was."""

    condition: str
    kind: int = OUT_OF_BOUNDS


class Carry(NamedTuple):
    """What a loop hands on: it starts from the identity of `op`, or from `start`, and holds the
    result afterwards.

    "compensated" adds with a second sum of what rounding lost, for sums of sums. "next" takes the
    place of what was before, and begins with `start`.
    """

    name: str
    dtype: str
    op: str
    start: Operand | None = None


@dataclass
class For:
    """`index` from 0 to `count`; `kind` is "chunks", "vector", "sequential", "blocks" or "steps".

    Blocks are those of a loop over a row. Where there is but one, its carries are handed on as they
    are, so that short rows pay nothing for what long ones need. Steps have carries that are handed
    from one to the next, and end before `count` where the value `condition`, which `test` computes
    at the start of each, does not hold. Afterwards `index` is the number of steps that were run.
    """

    index: str
    count: Term
    kind: str
    body: list[Any] = field(default_factory=list)
    carries: list[Carry] = field(default_factory=list)
    # how many iterations at a time are best, for which local buffers have room; 0: as they are
    lanes: int = 0
    test: list[Any] = field(default_factory=list)
    condition: Operand | None = None
    every: int = 0  # how many steps there are between two looks for signals; 0: none

    @property
    def inner_looks(self) -> bool:
        """Whether a loop within it looks for signals, and may end before its time."""
        return any(isinstance(s, For) and s.every for s in statements([*self.test, *self.body]))


class Buffer(NamedTuple):
    """An array argument, or ("local") one that each thread has to itself, of `size` elements."""

    name: str
    dtype: str
    role: str  # "input", "output", "local"
    size: Term = 0


@dataclass
class Kernel:
    """A loop nest with its arguments: buffers, integers (sizes, strides), and numbers."""

    name: str
    buffers: list[Buffer]
    integers: list[str]
    numbers: list[tuple[str, str]]  # name, dtype
    body: list[Any]
    requires: bool = False  # whether it may set the flag
    polls: tuple[str, ...] = ()  # the integers that are a `signals.Poll`


def statements(body: Sequence[Any]) -> list[Any]:
    """The statements of a block and of the loops in it."""
    found: list[Any] = []
    for s in body:
        found.append(s)
        if isinstance(s, For):
            found += statements(s.test)
            found += statements(s.body)
    return found


def scratch_bytes(kernel: Kernel, integers: Sequence[int]) -> int:
    """What the local buffers of a kernel take, for each thread that runs it."""
    sizes = dict(zip(kernel.integers, integers, strict=True))
    locals_ = [b for b in kernel.buffers if b.role == "local"]
    counts = (sizes[b.size] if isinstance(b.size, str) else b.size for b in locals_)
    each = [n * np.dtype(b.dtype).itemsize for n, b in zip(counts, locals_, strict=True)]
    return sum(-(-n // 64) * 64 for n in each)


def identity(op: str, dtype: str) -> Any:
    """The value that `op` does not notice."""
    kind = np.dtype(dtype)
    if op in ("add", "compensated"):
        return kind.type(0)  # NumPy's sum starts from 0: the sum of -0 is 0
    if op == "mul":
        return kind.type(1)
    if op in ("or", "and"):
        return np.bool_(op == "and")
    low = op == "max"
    if kind.kind == "f":
        return kind.type(-np.inf if low else np.inf)
    limits = np.iinfo(kind)
    return kind.type(limits.min if low else limits.max)


# ------------------------------------------------------------------------------ execution

FUNCTIONS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": lambda x, y: x // y if x.dtype.kind == "i" else np.divide(x, y),
    "rem": np.fmod,
    "neg": np.negative,
    "abs": np.abs,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.logical_not,
    "select": lambda c, x, y: x if c else y,
    "min": np.minimum,
    "max": np.maximum,
    "copy": lambda x: x,
    "next": lambda _, x: x,
    "multiply_add": lambda x, y, z: x * y + z,
    "compensated": np.add,
}


class _Run:
    def __init__(self, arrays: Mapping[str, Any], values: dict[str, Any]) -> None:
        self.arrays, self.values = arrays, values
        self.held = True  # every requirement so far

    def read(self, x: Any) -> Any:
        if isinstance(x, Const):
            return np.dtype(x.dtype).type(x.value)
        return self.values[x] if isinstance(x, str) else x

    def element(self, a: Address) -> int:
        return int(self.read(a.offset)) + sum(
            int(self.read(i)) * int(self.read(s)) for i, s in a.terms
        )

    def block(self, body: Sequence[Any]) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: Any) -> None:
        if isinstance(s, Let):
            found = _apply(s.op, [self.read(a) for a in s.args])
            self.values[s.name] = np.dtype(s.dtype).type(found)
        elif isinstance(s, Load):
            array = self.arrays[s.address.buffer]
            held = s.guard is None or self.values[s.guard]
            self.values[s.name] = array[self.element(s.address)] if held else array.dtype.type(0)
        elif isinstance(s, Store):
            self.arrays[s.address.buffer][self.element(s.address)] = self.read(s.value)
        elif isinstance(s, Accumulate):
            at, array = self.element(s.address), self.arrays[s.address.buffer]
            array[at] = FUNCTIONS[s.op](array[at], self.read(s.value))
        elif isinstance(s, Combine):
            op, x = self.ops[s.carry], self.read(s.value)
            x = x if s.times is None else x * self.read(s.times)
            self.values[s.carry] = FUNCTIONS[op](self.values[s.carry], x)
        elif isinstance(s, Require):
            self.held = self.held and bool(self.values[s.condition])
        else:
            self.loop(s, range(int(self.read(s.count))))

    def loop(self, s: For, indices: range) -> None:
        for c in s.carries:
            start = identity(c.op, c.dtype) if c.start is None else self.read(c.start)
            self.values[c.name] = start
            self.ops[c.name] = c.op
        for i in indices:
            self.values[s.index] = np.int64(i)
            self.block(s.test)
            if s.condition is not None and not self.read(s.condition):
                return
            self.block(s.body)
        self.values[s.index] = np.int64(len(indices))

    ops: dict[str, str] = {}  # noqa: RUF012 (names of carries are unique in a kernel)


def _apply(op: str, args: list[Any]) -> Any:
    known = FUNCTIONS.get(op)
    if known is not None:
        return known(*args)
    if op == "cast":
        return args[0]
    return getattr(np, op)(*args)


def run(
    kernel: Kernel,
    arrays: Mapping[str, Any],
    integers: Sequence[int],
    numbers: Sequence[Any],
    chunks: range,
) -> bool:
    """Execute chunks of a kernel in plain Python on flat arrays; False if a requirement failed."""
    values: dict[str, Any] = dict(zip(kernel.integers, map(np.int64, integers), strict=True))
    for (name, dtype), x in zip(kernel.numbers, numbers, strict=True):
        values[name] = np.dtype(dtype).type(x)
    machine = _Run(dict(arrays), values)
    machine.ops = {}
    for b in kernel.buffers:
        if b.role == "local":
            machine.arrays[b.name] = np.empty(int(machine.read(b.size)), b.dtype)  # type: ignore[index]
    with np.errstate(all="ignore"):
        for s in kernel.body:
            if isinstance(s, For) and s.kind == "chunks":
                machine.loop(s, chunks)
            else:
                machine.statement(s)
    return machine.held


# ------------------------------------------------------------------------------- printing


def show(kernel: Kernel) -> str:
    """The loop nest as text."""
    arguments = [f"{b.name}: {b.dtype}[]" for b in kernel.buffers if b.role != "local"]
    arguments += kernel.integers + [f"{n}: {d}" for n, d in kernel.numbers]
    lines = [f"kernel {kernel.name}({', '.join(arguments)}) {{"]
    lines += [f"  local {b.name}: {b.dtype}[{b.size}]" for b in kernel.buffers if b.role == "local"]
    _lines(kernel.body, "  ", lines)
    return "\n".join([*lines, "}"])


def _lines(body: Sequence[Any], indent: str, lines: list[str]) -> None:
    for s in body:
        if isinstance(s, For):
            carries = "".join(f", {c.name}: {c.dtype} by {_of_carry(c)}" for c in s.carries)
            while_ = "" if s.condition is None else f" while {_operand(s.condition)}"
            lines.append(f"{indent}{s.kind} {s.index} < {s.count}{while_}{carries} {{")
            if s.test:
                _lines(s.test, indent + "  ", lines)
                lines.append(f"{indent}  ----")
            _lines(s.body, indent + "  ", lines)
            lines.append(indent + "}")
        else:
            lines.append(indent + _text(s))


def _of_carry(c: Carry) -> str:
    return c.op if c.start is None else f"{c.op} from {_operand(c.start)}"


def _operand(x: Any) -> str:
    return repr(x.value) if isinstance(x, Const) else str(x)


def _text(s: Any) -> str:
    operand = _operand

    def at(a: Address) -> str:
        terms = [i if k == 1 else f"{i}*{k}" for i, k in a.terms]
        if a.offset != 0 or not terms:
            terms.append(str(a.offset))
        return f"{a.buffer}[{' + '.join(terms)}]"

    if isinstance(s, Let):
        return f"{s.name}: {s.dtype} = {s.op}({', '.join(map(operand, s.args))})"
    if isinstance(s, Load):
        guard = "" if s.guard is None else f" if {s.guard}"
        return f"{s.name}: {s.dtype} = {at(s.address)}{guard}"
    if isinstance(s, Store):
        return f"{at(s.address)} = {operand(s.value)}"
    if isinstance(s, Accumulate):
        return f"{at(s.address)} {s.op}= {operand(s.value)}"
    if isinstance(s, Combine):
        times = "" if s.times is None else f" * {operand(s.times)}"
        return f"{s.carry} combines {operand(s.value)}{times}"
    return f"require {s.condition}"
