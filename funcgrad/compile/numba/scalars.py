"""Functions of numbers that Numba compiled, as code for our kernels and as ufuncs of NumPy.

Taking Numba's code of a function out of it, with its calling convention, is private to Numba and
done here only; `tests/compile/test_from_numba.py` will show if it no longer works. A function whose
code cannot be taken out is called by NumPy in place of the kernel.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba as _numba
import numpy as np
from numba.core.errors import NumbaError
from numba.np import numpy_support

from funcgrad.compile.foreign import FOREIGN, Foreign
from funcgrad.compile.llvm.frame import ELEMENTS
from funcgrad.compile.numba import private
from funcgrad.compile.scalars import NATIVE

__all__ = ["Compiled", "compiled", "ufunc_of"]

numba: Any = _numba  # half annotated
# Names with parts that Numba counts: they differ from process to process.
_COUNTED = re.compile(r"(_ZN[\w$.]+|\.const\.[\w$.]+)")


class Compiled(NamedTuple):
    """What Numba made of a function: the dtype of its result, and its code if we can use it."""

    result: np.dtype[Any]
    foreign: Foreign | None


@functools.cache
def compiled(function: Any, dtypes: tuple[np.dtype[Any], ...]) -> Compiled:
    """A dispatcher compiled for numbers of these dtypes."""
    arguments = tuple(numpy_support.from_dtype(d) for d in dtypes)
    names = ", ".join(f"x{k}" for k in range(len(dtypes)))
    made = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(_forwarding(function, names))
    made.compile(arguments)
    (found,) = made.overloads.values()
    kind = found.signature.return_type
    try:
        result = np.dtype(numpy_support.as_dtype(kind))
    except (NumbaError, NotImplementedError, TypeError):
        raise TypeError(
            f"{function.__name__} returns Numba's type {kind} for {names} of {dtypes}; an "
            "elementwise operation returns one number"
        ) from None
    text = found.library.get_llvm_str()
    return Compiled(result, _foreign(text, found.fndesc.llvm_func_name, dtypes, result))


def _forwarding(function: Any, names: str) -> Callable[..., Any]:
    known = {"function": function}
    exec(f"def forwarding({names}):\n    return function({names})\n", known)
    forwarding: Callable[..., Any] = known["forwarding"]
    return forwarding


def ufunc_of(function: Any, dtypes: tuple[np.dtype[Any], ...]) -> np.ufunc:
    """NumPy's ufunc of one loop, for these dtypes."""
    result = numpy_support.from_dtype(compiled(function, dtypes).result)
    arguments = [numpy_support.from_dtype(d) for d in dtypes]
    names = ", ".join(f"x{k}" for k in range(len(dtypes)))
    made: np.ufunc = numba.vectorize([result(*arguments)])(_forwarding(function, names)).ufunc
    return made


def _foreign(
    text: str, name: str, dtypes: Sequence[np.dtype[Any]], result: np.dtype[Any]
) -> Foreign | None:
    """The module of a compiled function with an entry of our convention."""
    kinds = [NATIVE.get(d, "bool") for d in (*dtypes, result)]
    if not private.is_known():
        return None
    if "bool" in kinds:  # complex, small integers; of truth values Numba's form is its own
        return None
    elements = [ELEMENTS[k] for k in kinds]
    lines = [x for x in text.split("\n") if not x.startswith((";", "source_filename", "target "))]
    fails = bool(re.search(r"^  ret i32 (?!0$)", _definition(lines, name), re.MULTILINE))
    numbers: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        return numbers.setdefault(found[1], f"numba.{len(numbers)}")

    body = _COUNTED.sub(renamed, "\n".join(lines))
    symbols = _needed(body)
    if symbols is None:
        return None
    parameters = ", ".join(f"{e} %x{k}" for k, e in enumerate(elements[:-1]))
    entry = f"""
define {{ i32, {elements[-1]} }} @ENTRY({parameters}) alwaysinline nounwind {{
  %result = alloca {elements[-1]}
  %exception = alloca ptr
  store {elements[-1]} zeroinitializer, ptr %result
  %status = call i32 @{numbers[name]}(ptr %result, ptr %exception, {parameters})
  %value = load {elements[-1]}, ptr %result
  %first = insertvalue {{ i32, {elements[-1]} }} poison, i32 %status, 0
  %both = insertvalue {{ i32, {elements[-1]} }} %first, {elements[-1]} %value, 1
  ret {{ i32, {elements[-1]} }} %both
}}
"""
    digest = hashlib.blake2b((body + entry).encode(), digest_size=12).hexdigest()
    symbol = f"numba.{digest}"
    module = body + entry.replace("@ENTRY", f"@{symbol}")
    made = Foreign(symbol, module, tuple(kinds[:-1]), kinds[-1], fails, symbols)
    return FOREIGN.setdefault(symbol, made)


def _definition(lines: Sequence[str], name: str) -> str:
    """The lines of a function."""
    start = next(k for k, x in enumerate(lines) if x.startswith("define") and f"@{name}(" in x)
    return "\n".join(lines[start : lines.index("}", start)])


def _needed(body: str) -> tuple[tuple[str, int], ...] | None:
    """The addresses of what a module declares; None if something is not in the process."""
    found = []
    for name in re.findall(r"^declare [^@]*@([\w.$]+)\(", body, re.MULTILINE):
        if name.startswith("llvm."):
            continue
        address = llvm.address_of_symbol(name)
        if not address:
            return None
        found.append((name, address))
    return tuple(found)
