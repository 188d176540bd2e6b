"""Programs as files for other programs: a C header, an object file, a shared library.

The program is the one that Numba's callers get (`compile.program`), in one object file with its
kernels, its constants and the mathematics that they call. It needs neither Python nor funcgrad, and
takes its memory from the caller. What code without Python cannot hold is a named error.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from funcgrad.compile.executable import compile_graph
from funcgrad.compile.llvm.backend import LLVM
from funcgrad.compile.llvm.objects import build
from funcgrad.compile.llvm.printer import foreign_of
from funcgrad.compile.llvm.program_module import program_module
from funcgrad.compile.llvm.target import Target, host, vector_width
from funcgrad.compile.loops import Kernel
from funcgrad.compile.program import NativeProgram, ProgramWriter
from funcgrad.compile.scalars import NATIVE
from funcgrad.compile.small_matrices import small_matrix_step
from funcgrad.core.types import ArrayType
from funcgrad.errors import NativeCodeError
from funcgrad.graph.ir import Equation, Graph
from funcgrad.passes.recurrences import Form

__all__ = ["Exported", "Function", "Parameter", "write_files"]


class Parameter(NamedTuple):
    """An argument or a result of a function, under its name in C."""

    name: str
    type: ArrayType


class Function(NamedTuple):
    """A function of the header: what it is, for people, and the graph."""

    name: str
    about: str
    graph: Graph
    inputs: Sequence[Parameter]
    outputs: Sequence[Parameter]


@dataclass(frozen=True)
class Exported:
    """What `jit(f).export` has written.

    Attributes
    ----------
    header, object : pathlib.Path
    library : pathlib.Path or None
        The shared library; None where no linker was found.
    workspace : dict
        For each function the bytes of memory that the caller gives it.
    """

    header: Path
    object: Path
    library: Path | None
    workspace: dict[str, int]


# ------------------------------------------------------------------------------ the processor

_AVX2 = "+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+movbe"
_LEVELS = {
    "x86-64": "",
    "x86-64-v2": "",
    "x86-64-v3": _AVX2,
    "x86-64-v4": f"{_AVX2},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl",
    "generic": "",
}


def _target(cpu: str) -> Target:
    here = host()
    if cpu == "native":
        return here
    if cpu not in _LEVELS or (cpu != "generic" and not here.triple.startswith("x86_64")):
        known = ", ".join(["native", *_LEVELS])
        raise ValueError(f"export: cpu is one of {known}, not {cpu!r}, for {here.triple}")
    avx512, bits = vector_width(_LEVELS[cpu])
    return replace(
        here, cpu=cpu, features=_LEVELS[cpu], avx512=avx512, vector_bits=bits, code_model="small"
    )


class _Elsewhere(LLVM):
    """The backend for code that another process runs: nothing is built here."""

    signals = False

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.vector_bytes = target.vector_bits // 8

    def compile(self, kernels: Sequence[Kernel], work: float = 0.0) -> Any:
        return _NoCode()


class _NoCode:
    origin = batch = None

    def address(self, kernel: str) -> int:
        return 0


# --------------------------------------------------------------------------------- the program


class _Writer(ProgramWriter):
    """Small factorisations are written out; what would call LAPACK is refused."""

    lends = True

    def other_step(self, e: Equation, name: str) -> None:
        step = small_matrix_step(e, self.plan, name) if e.inputs and e.inputs[0].type.ndim else None
        if step is None:
            self.refuse(e)
        self.call_step(step)


def _program(function: Function, target: Target) -> tuple[NativeProgram, str]:
    """The program of a function, and the text of its module with the function of C's."""
    for each in (*function.inputs, *function.outputs):
        if each.type.dtype not in NATIVE:
            raise NativeCodeError(
                f"{each.name} is of dtype {each.type.dtype}; native code takes and returns "
                f"{', '.join(sorted(NATIVE.values()))}"
            )
    made = compile_graph(function.graph, _Elsewhere(target), form=Form.EITHER)
    program = _Writer(made, f"{function.name}.program").write()
    program = program._replace(text=program.text.replace("define i64", "define internal i64", 1))
    return program, "\n".join([program_module(program, target), _entry(function)])


_IR = {"float64": "double", "float32": "float", "int64": "i64", "int32": "i32"}


def _by_value(p: Parameter) -> bool:
    return not p.type.shape and p.type.dtype.name in _IR


def _entry(function: Function) -> str:
    """The function that C calls: it makes the lists of addresses that the program takes."""
    parameters, lines = [], []
    for what, group in (("in", function.inputs), ("out", function.outputs)):
        lines.append(f"  %{what} = alloca [{max(len(group), 1)} x ptr], align 8")
        for k, p in enumerate(group):
            value = what == "in" and _by_value(p)
            kind = _IR[p.type.dtype.name] if value else "ptr"
            parameters.append(f"{kind} %{what}{k}")
            at = f"%{what}{k}"
            if value:
                lines.append(f"  %{what}{k}.held = alloca {kind}, align 8")
                lines.append(f"  store {kind} {at}, ptr %{what}{k}.held")
                at += ".held"
            lines.append(f"  %{what}{k}.at = getelementptr ptr, ptr %{what}, i64 {k}")
            lines.append(f"  store ptr {at}, ptr %{what}{k}.at")
    head = f"define i32 @{function.name}({', '.join([*parameters, 'ptr %workspace'])}) nounwind {{"
    call = f"call i64 @{function.name}.program(ptr %in, ptr %out, ptr %workspace)"
    end = [
        f"  %status = {call}",
        "  %failed = icmp ugt i64 %status, 2",
        "  %known = select i1 %failed, i64 1, i64 %status",
        "  %code = trunc i64 %known to i32",
        "  ret i32 %code",
        "}",
    ]
    return "\n".join([head, *lines, *end, ""])


# ---------------------------------------------------------------------------------- the header

_C = {"float64": "double", "float32": "float", "int64": "int64_t", "int32": "int32_t"}
_C["bool"] = "bool"


def _declaration(function: Function, workspace: int) -> str:
    given = [
        f"{_C[p.type.dtype.name]} {p.name}" if _by_value(p) else
        f"const {_C[p.type.dtype.name]} *{p.name}{_shape(p)}"
        for p in function.inputs
    ]  # fmt: skip
    found = [f"{_C[p.type.dtype.name]} *{p.name}{_shape(p)}" for p in function.outputs]
    parameters = ",\n    ".join([*given, *found, "void *workspace"])
    return (
        f"/* {function.about} */\n"
        f"#define {function.name.upper()}_WORKSPACE {workspace} /* bytes */\n"
        f"int {function.name}(\n    {parameters});\n"
    )


def _shape(p: Parameter) -> str:
    return f" /* [{', '.join(map(str, p.type.shape))}] */" if p.type.shape else ""


def _header(name: str, functions: Sequence[Function], sizes: Sequence[int], target: Target) -> str:
    guard = f"{re.sub(r'[^A-Z0-9_]', '_', name.upper())}_H"
    declarations = "\n".join(map(_declaration, functions, sizes))
    return f"""\
/* {name}: written by funcgrad for {target.triple}, {target.cpu}.

   Arrays are dense and in C order; results share no memory with arguments or with each other.
   The workspace is memory of the caller, of the size that the macro tells; NULL where that is 0.
   Any number of threads may call a function, each with results and a workspace of its own.
   A function returns 0, or
     1  where an index is out of bounds, a matrix is singular or not positive definite, or a loop
        has not ended after its most steps: the results mean nothing then;
     2  where a workspace is needed and NULL.
   Link the object file with -lm. */

#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{declarations}
#ifdef __cplusplus
}}
#endif

#endif
"""


# ----------------------------------------------------------------------------------- the files


def write_files(
    path: str | os.PathLike[str], functions: Sequence[Function], cpu: str, shared: bool
) -> Exported:
    """Write ``path.h``, ``path.o`` and, where there is a linker, the shared library.

    Nothing is written before all code is there.
    """
    target = _target(cpu)
    texts: list[str] = []
    sizes: list[int] = []
    foreign: dict[str, None] = {}
    for function in functions:
        program, text = _program(function, target)
        for each in foreign_of(program.kernels):
            if each.symbols:
                raise NativeCodeError(
                    f"{function.name} calls a function of Numba's that needs its runtime; native "
                    "code for other programs cannot hold it"
                )
            foreign[each.module] = None
        texts.append(text)
        sizes.append(program.workspace)
    base = Path(path)
    first, *others = texts  # internal names may be the same: LLVM tells them apart
    code = build(first, optimize=True, linked=tuple(foreign), beside=others, target=target)
    header, made = base.with_name(base.name + ".h"), base.with_name(base.name + ".o")
    header.write_text(_header(base.name, functions, sizes, target))
    made.write_bytes(code)
    library = _linked(base, made) if shared else None
    return Exported(header, made, library, dict(zip((f.name for f in functions), sizes)))


@functools.cache
def _linker() -> str | None:
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def _linked(base: Path, code: Path) -> Path | None:
    linker = _linker()
    if linker is None:
        return None
    ending = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    library = base.with_name(f"lib{base.name}.{ending}")
    run = subprocess.run(
        [linker, "-shared", "-o", str(library), str(code), "-lm"], capture_output=True, text=True
    )
    if run.returncode:
        raise NativeCodeError(f"{linker} has not linked {library}: {run.stderr.strip()}")
    return library
