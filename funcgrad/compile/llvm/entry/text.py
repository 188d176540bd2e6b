"""The text of the entry points, which reads the records that plans are made of.

One native function carries out every plan, so a new shape costs no compilation. Two abbreviations
are expanded here: `%x = get T record.field %p` loads a field of a record, and `%x = read T field
%p` loads what `abi` has found in an object.
"""

from __future__ import annotations

import re

from funcgrad.compile.llvm.entry import attempts, guard_checks, kernels, matching, memory, results
from funcgrad.compile.llvm.entry.abi import ABI
from funcgrad.compile.llvm.entry.records import (
    BUILD,
    C_ORDER,
    GUARD,
    LEAF,
    RECORDS,
    UNPACK,
    WRITEABLE,
)

__all__ = ["text"]

_HELD = 128 * 1024 * 1024  # bytes of workspaces that are kept for the next call

_HEAD = """
@ndarray = external global i8
@missed = external global i8
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8
@blocks = internal global [256 x ptr] zeroinitializer  ; free workspaces, one of each size
@held = internal global i64 0

declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @PyArray_Scalar(ptr, ptr, ptr)
declare i32 @PyArray_SetBaseObject(ptr, ptr)
declare i32 @funcgrad_run(ptr, ptr, i64, i64, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyComplex_FromDoubles(double, double)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare i64 @PyDict_Size(ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyDict_New()
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare ptr @PyCell_Get(ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyFunction_GetCode(ptr)
declare ptr @PyFunction_GetDefaults(ptr)
declare ptr @PyFunction_GetKwDefaults(ptr)
declare ptr @PyObject_Call(ptr, ptr, ptr)
declare i32 @memcmp(ptr, ptr, i64)
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Python ends a daemon thread by unwinding its stack, so there are tables for that.
attributes #0 = { uwtable }
attributes #1 = { uwtable noinline }
"""

_GET = re.compile(r"(%\S+) = get (\S+) (\w+)\.(\w+) (%\S+)")
_READ = re.compile(r"(%\S+) = read (\S+) (\w+) (%\S+)")


def text(abi: ABI) -> str:
    """The module; it needs the symbols of `abi.symbols` and `funcgrad_run`."""
    values = {
        **{f"size.{name}": len(fields) for name, fields in RECORDS.items()},
        **{f"unpack.{name}": number for name, number in UNPACK.items()},
        **{f"leaf.{name}": number for name, number in LEAF.items()},
        **{f"build.{name}": number for name, number in BUILD.items()},
        **{f"guard.{name}": number for name, number in GUARD.items()},
        "flag.c": C_ORDER,
        "flag.writeable": WRITEABLE,
        "abi.number": abi.number,
        "held": _HELD,
    }

    def get(m: re.Match[str]) -> str:
        name, kind, record, field, pointer = m.groups()
        number = RECORDS[record].index(field)
        at = f"{name}.field"
        return (
            f"{at} = getelementptr i64, ptr {pointer}, i64 {number}\n"
            f"  {name} = load {kind}, ptr {at}"
        )

    def read(m: re.Match[str]) -> str:
        name, kind, field, pointer = m.groups()
        at = f"{name}.field"
        return (
            f"{at} = getelementptr i8, ptr {pointer}, i64 {getattr(abi, field)}\n"
            f"  {name} = load {kind}, ptr {at}"
        )

    rest = (memory.TEXT, kernels.TEXT, results.TEXT, attempts.TEXT)
    parts = (_HEAD, matching.TEXT, guard_checks.TEXT, *rest)
    module = _READ.sub(read, _GET.sub(get, "".join(parts)))
    for name, value in values.items():
        module = module.replace("{" + name + "}", str(value))
    return module
