"""Kernels as native code: what calls one, and what it is called with.

A kernel and a few lines of LLVM IR make up one module, whose object code the store keeps (see
`load`). The lines read the arguments from a table of words, cut them to the range of a piece, and
pass them on as Numba does: an array as its fields, None as an address. That convention is private
to Numba and used here only; `tests/kernels/test_native_threads.py` will show if it has changed. So
any thread runs a piece, the interpreter's lock is not needed, and neither is Numba.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.llvm.pool import KERNEL, pool
from funcgrad.compile.memory import address_of

__all__ = [
    "FIRST",
    "LAST",
    "LENGTH",
    "NUMBERS",
    "Code",
    "Cut",
    "Form",
    "Kernel",
    "Kinds",
    "kind",
    "run",
    "text",
    "words_of",
]

ndarray = np.ndarray
FIRST, LAST, LENGTH = "first", "last", "length"  # of the piece
FLAGS = 0x501  # of NumPy: no gaps, aligned, may be written
NUMBERS: dict[type, str] = {np.float64: "double", float: "double", np.float32: "float",
                            int: "i64", np.int64: "i64", bool: "i8", np.bool_: "i8"}  # fmt: skip
DOUBLE, WORD = struct.Struct("=d"), struct.Struct("=q")
Kinds = tuple[Any, ...]
Form = Callable[[str, Kinds], str]  # writes the module that calls a kernel, given its symbol


class Kernel(NamedTuple):
    """A function of the room, how it is called ("pieces" or "many"), and for which arguments.

    All of it is letters and numbers, so that it can be written down for another process.
    """

    name: str
    form: str
    kinds: Kinds


class Code(NamedTuple):
    """The machine code of a kernel: its address, a function that calls it here, what holds it."""

    address: int
    call: Any
    library: Any

    @classmethod
    def of(cls, library: Any) -> Code:
        """The code in a library that was built from a module of `text`."""
        address = library.address("call")
        return cls(address, KERNEL(address), library)


class Cut(NamedTuple):
    """An array of which a piece is an index range along `axis`."""

    array: ndarray[Any, Any]
    axis: int


def kind(x: Any) -> Any:
    """All of an argument that the code depends on: of an array its dtype, number of axes, flags and
    the axis that is cut; of a number its type in LLVM; None; or the name of an end of the piece.
    """
    if type(x) is Cut:
        return (*kind(x.array), x.axis)
    if type(x) is ndarray:
        return (x.dtype.char, x.ndim, x.flags.num & FLAGS)
    return x if x is None or type(x) is str else NUMBERS[type(x)]


def run(code: Code, arguments: Sequence[Any], grain: int, count: int) -> None:
    """Call the kernel for 0 … `count` in pieces of `grain`, in all threads if there are several.

    Raises
    ------
    MemoryError
        The kernel had no memory for what it keeps.
    """
    if not count:
        return
    words = [0, grain, count]
    for x in arguments:
        words += words_of(x)
    table = array("q", words)
    chunks = -(-count // grain)
    if chunks > 1:
        pool().run(code.address, table.buffer_info()[0], chunks)
    else:
        code.call(table.buffer_info()[0], 0, chunks, 0)
    if table[0]:
        raise MemoryError("a kernel had no memory for intermediate values")


def words_of(x: Any) -> tuple[int, ...]:
    """An argument in the table."""
    if type(x) is Cut:
        x = x.array
    if type(x) is ndarray:
        return (address_of()(x), *x.shape, *x.strides)
    if x is None or type(x) is str:
        return ()
    if type(x) is int or type(x) is bool:
        return (int(x),)
    if type(x) is float:
        return WORD.unpack(DOUBLE.pack(x))
    word = np.zeros(1, np.int64)
    word.view(np.asarray(x).dtype)[0] = x
    return (int(word[0]),)


# ------------------------------------------------------------------------------------ text

TEXT = """\
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @"{symbol}"({types})

define void @call(ptr %words, i64 %begin, i64 %end, i64 %thread) {{
  %grain.at = getelementptr i64, ptr %words, i64 1
  %grain = load i64, ptr %grain.at
  %count.at = getelementptr i64, ptr %words, i64 2
  %count = load i64, ptr %count.at
  %first = mul i64 %begin, %grain
  %stop = mul i64 %end, %grain
  %last = call i64 @llvm.smin.i64(i64 %stop, i64 %count)
  %length = sub i64 %last, %first
  %result = alloca ptr
  %exception = alloca ptr
{loads}
  %status = call i32 @"{symbol}"({passed})
  %wrong = icmp ne i32 %status, 0
  br i1 %wrong, label %failed, label %done
failed:
  store atomic i64 1, ptr %words monotonic, align 8
  br label %done
done:
  ret void
}}
"""


def text(symbol: str, kinds: Kinds) -> str:
    """The module: ``void call(ptr words, i64 begin, i64 end)`` for pieces `begin` to `end`."""
    loads: list[str] = []
    passed = ["ptr %result", "ptr %exception"]
    numbers = iter(range(3, 3 + 16 * len(kinds)))

    def word(name: str, what: str) -> str:
        place = f"{name}.at"
        loads.append(f"  {place} = getelementptr i64, ptr %words, i64 {next(numbers)}")
        loads.append(f"  {name} = load {what}, ptr {place}")
        return f"{what} {name}"

    for k, x in enumerate(kinds):
        name = f"%a{k}"
        if x is None:
            passed.append("ptr null")
        elif type(x) is tuple:
            passed += _array(name, x, word, loads)
        elif x in (FIRST, LAST, LENGTH):
            passed.append(f"i64 %{x}")
        else:
            passed.append(word(name, x))
    types = ", ".join(x.split()[0] for x in passed)
    return TEXT.format(symbol=symbol, types=types, loads="\n".join(loads), passed=", ".join(passed))


def _array(name: str, x: Any, word: Any, loads: list[str]) -> Iterator[str]:
    """The fields of an array: two owners, size, size of an element, data, extents, strides."""
    char, ndim, _, *cut = x
    data = word(f"{name}.data", "ptr")
    extents = [word(f"{name}.extent{n}", "i64") for n in range(ndim)]
    strides = [word(f"{name}.stride{n}", "i64") for n in range(ndim)]
    if cut:
        (axis,) = cut
        loads += [
            f"  {name}.away = mul i64 %first, {name}.stride{axis}",
            f"  {name}.part = getelementptr i8, {data}, i64 {name}.away",
        ]
        data, extents[axis] = f"ptr {name}.part", "i64 %length"
    size = "i64 1"
    for n, extent in enumerate(extents):
        loads.append(f"  {name}.size{n} = mul {size}, {extent.split()[1]}")
        size = f"i64 {name}.size{n}"
    yield from ("ptr null", "ptr null", size, f"i64 {np.dtype(char).itemsize}")
    yield from (data, *extents, *strides)
