"""Kernels of Numba as jobs of the compiler's threads, so that no piece waits for the interpreter.

A piece of a large array takes no longer than two threads of Python need to hand the interpreter's
lock to each other. So a few lines of LLVM IR call the machine code of a kernel: they read the
arguments from a table of words, cut them to the range of the piece, and pass them on as Numba does
(an array as its fields, None as an address). That convention and the address of the code are
private to Numba and used here only; `tests/kernels/test_native.py` will show if they have changed.
Where a kernel cannot be called so, Python's threads do the work. Numba is not imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm.pool import NativePool, pool
from funcgrad.compile.llvm.target import lock
from funcgrad.compile.memory import address_of

__all__ = [
    "FIRST",
    "LAST",
    "LENGTH",
    "NUMBERS",
    "Code",
    "Cut",
    "code_of",
    "kind",
    "run",
    "words_of",
]

ndarray = np.ndarray
FIRST, LAST, LENGTH = "first", "last", "length"  # of the piece
FLAGS = 0x501  # of NumPy: no gaps, aligned, may be written
NUMBERS: dict[type, str] = {np.float64: "double", float: "double", np.float32: "float",
                            int: "i64", bool: "i8", np.bool_: "i8"}  # fmt: skip


class Cut(NamedTuple):
    """An array of which a piece is an index range along `axis`."""

    array: ndarray[Any, Any]
    axis: int


class Code(NamedTuple):
    """The machine code of a kernel for one combination of types, what calls it, what it needs."""

    kernel: int
    call: int
    held: tuple[Any, ...]


def kind(x: Any) -> Any:
    """All of an argument that the code which passes it on depends on."""
    if type(x) is Cut:
        return (*kind(x.array), x.axis)
    if type(x) is ndarray:
        return (x.dtype.char, x.ndim, x.flags.num & FLAGS)
    return x if x is None or type(x) is str else type(x)


def code_of(
    function: Any,
    arguments: Sequence[Any],
    kinds: Sequence[Any],
    text: Callable[[Sequence[Any]], str] | None = None,
) -> Code | None:
    """The code of a dispatcher for `arguments`, compiled if need be; None if there can be none.

    `text` writes what calls it.
    """
    if any(isinstance(k, type) and k not in NUMBERS for k in kinds):
        return None
    with lock:
        if not isinstance(pool(), NativePool):
            return None
        types = tuple(map(function.typeof_pyval, arguments))
        function.compile(types)
        made = function.overloads[types]
        try:
            kernel = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
            library = cache.library((text or _text)(kinds))
        except (AttributeError, RuntimeError):
            return None
        return Code(kernel, library.address("call"), (function, library))


def run(code: Code, arguments: Sequence[Any], grain: int, count: int) -> None:
    """Call the kernel for 0 … `count` in pieces of `grain`, in all threads.

    Raises
    ------
    MemoryError
        The kernel had no memory for what it keeps.
    """
    words = [code.kernel, 0, grain, count]
    for x in arguments:
        words += words_of(x)
    table = np.array(words, np.int64)
    pool().run(code.call, address_of()(table), -(-count // grain))
    if table[1]:
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
    word = np.zeros(1, np.int64)
    word.view(np.asarray(x).dtype)[0] = x
    return (int(word[0]),)


# ------------------------------------------------------------------------------------ text

TEXT = """\
declare i64 @llvm.smin.i64(i64, i64)

define void @call(ptr %words, i64 %begin, i64 %end, i64 %thread) {{
  %kernel = load ptr, ptr %words
  %status.at = getelementptr i64, ptr %words, i64 1
  %grain.at = getelementptr i64, ptr %words, i64 2
  %grain = load i64, ptr %grain.at
  %count.at = getelementptr i64, ptr %words, i64 3
  %count = load i64, ptr %count.at
  %first = mul i64 %begin, %grain
  %stop = mul i64 %end, %grain
  %last = call i64 @llvm.smin.i64(i64 %stop, i64 %count)
  %length = sub i64 %last, %first
  %result = alloca ptr
  %exception = alloca ptr
{loads}
  %status = call i32 %kernel({passed})
  %wrong = icmp ne i32 %status, 0
  br i1 %wrong, label %failed, label %done
failed:
  store atomic i64 1, ptr %status.at monotonic, align 8
  br label %done
done:
  ret void
}}
"""


def _text(kinds: Sequence[Any]) -> str:
    """The module: ``void call(ptr words, i64 begin, i64 end)`` for pieces `begin` to `end`."""
    loads: list[str] = []
    passed = ["ptr %result", "ptr %exception"]
    numbers = iter(range(4, 4 + 16 * len(kinds)))

    def word(name: str, what: str) -> str:
        place = f"{name}.at"
        loads.append(f"  {place} = getelementptr i64, ptr %words, i64 {next(numbers)}")
        loads.append(f"  {name} = load {what}, ptr {place}")
        return f"{what} {name}"

    for k, x in enumerate(kinds):
        name = f"%a{k}"
        if x is None:
            passed.append("ptr null")
        elif type(x) is str:
            passed.append(f"i64 %{x}")
        elif type(x) is tuple:
            passed += _array(name, x, word, loads)
        else:
            passed.append(word(name, NUMBERS[x]))
    return TEXT.format(loads="\n".join(loads), passed=", ".join(passed))


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
