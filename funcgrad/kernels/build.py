"""Builds the code of a kernel: compiled by Numba, and taken out of it.

What Numba has optimised is linked with the lines that call it (`native`, `many`) and with a runtime
of two functions, so that the object code needs nothing of Numba's: an array that a kernel makes is
a block of the C library. It imports Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import from_dtype, types

from funcgrad.compile.llvm import objects
from funcgrad.compile.llvm.target import host, lock
from funcgrad.compile.numba import private
from funcgrad.errors import CompilerError
from funcgrad.kernels import many, native
from funcgrad.kernels.native import FIRST, LAST, LENGTH, Kernel

__all__ = ["build"]

FORMS: dict[str, native.Form] = {"pieces": native.text, "many": many.text}
NUMBERS = {"double": types.float64, "float": types.float32, "i64": types.int64,
           "i8": types.boolean} | dict.fromkeys((FIRST, LAST, LENGTH), types.int64)  # fmt: skip
CONTIGUOUS, ALIGNED, WRITEABLE = 1, 0x100, 0x400  # flags of NumPy

# Numba's memory (its nrt.h): a count of references, a destructor and what it is told, the data, its
# size, and an allocator. The compiled code changes the count, and calls these.
RUNTIME = """\
%block = type { i64, ptr, ptr, ptr, i64, ptr }

declare ptr @malloc(i64)
declare void @free(ptr)

define linkonce_odr hidden ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %alignment) {
  %step = zext i32 %alignment to i64
  %more = add i64 %size, %step
  %whole = add i64 %more, 48
  %block = call ptr @malloc(i64 %whole)
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %made
made:
  %behind = getelementptr %block, ptr %block, i64 1
  %address = ptrtoint ptr %behind to i64
  %beyond = add i64 %address, %step
  %last = sub i64 %beyond, 1
  %bits = sub i64 0, %step
  %first = and i64 %last, %bits
  %data = inttoptr i64 %first to ptr
  %data.at = getelementptr %block, ptr %block, i64 0, i32 3
  %size.at = getelementptr %block, ptr %block, i64 0, i32 4
  store i64 1, ptr %block
  store ptr %data, ptr %data.at
  store i64 %size, ptr %size.at
  br label %done
done:
  ret ptr %block
}

define linkonce_odr hidden ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment) {
  %block = call ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %alignment)
  ret ptr %block
}

define linkonce_odr hidden void @NRT_MemInfo_call_dtor(ptr %block) {
  call void @free(ptr %block)
  ret void
}
"""


def build(function: Any, kernel: Kernel) -> bytes:
    """The object code of ``void call(ptr words, i64 begin, i64 end)`` around a dispatcher.

    Raises
    ------
    CompilerError
        Numba is another one than we know, or the kernel needs something of it.
    """
    if not private.is_known():
        raise CompilerError("this Numba passes arguments otherwise than those that are known")
    signature = tuple(map(_type, kernel.kinds))
    with lock:
        function.compile(signature)
        made = function.overloads[signature]
        target = host()
        if made.library.codegen.magic_tuple() != (target.triple, target.cpu, target.features):
            raise CompilerError("Numba compiles for another processor")
        text = FORMS[kernel.form](made.fndesc.llvm_func_name, kernel.kinds)
        finished = [made.library.get_llvm_str()]
        code = objects.build(RUNTIME + text, finished=finished, target=target)
        objects.load(code).address("call")  # or it needs what is not there
        return code


def _type(kind: Any) -> Any:
    """The type of an argument for Numba."""
    if kind is None:
        return types.none
    if type(kind) is str:
        return NUMBERS[kind]
    char, ndim, flags = kind[:3]
    layout: Any = "C" if flags & CONTIGUOUS else "A"
    given: dict[str, Any] = {"readonly": not flags & WRITEABLE, "aligned": bool(flags & ALIGNED)}
    return types.Array(from_dtype(np.dtype(char)), ndim, layout, **given)
