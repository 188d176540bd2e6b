"""Programs as code: loaded into the process, or linked into what Numba compiles.

A program whose shapes are known when Numba compiles goes into Numba's own module as text, with its
kernels, so that LLVM can inline it into the caller. One for shapes that turn up later is linked by
our loader and called by its address. Linking a module of IR into Numba's code is private to Numba
and done here and in `intrinsics` only; `private` asks whether it works.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.executable import Executable
from funcgrad.compile.llvm.objects import link
from funcgrad.compile.llvm.printer import foreign_of
from funcgrad.compile.llvm.program_module import program_module
from funcgrad.compile.llvm.target import vector_width
from funcgrad.compile.memory import address_of
from funcgrad.compile.numba import private
from funcgrad.compile.numba.intrinsics import Width
from funcgrad.compile.program import NativeProgram
from funcgrad.errors import NativeCodeError

__all__ = ["Loaded", "library_of", "load"]


class Loaded(NamedTuple):
    """A program in the process, with all that has to live as long as it may be called."""

    address: int
    keep: tuple[Any, ...]


def load(program: NativeProgram, executable: Executable) -> Loaded:
    """Link a program to its kernels: those of the executable are there already."""
    codes = [executable.code] if executable.code is not None else []
    known = {k.name for k in executable.kernels}
    own = [k for k in program.kernels if k.name not in known]
    if own:
        codes.append(executable.backend.compile(own))
    symbols = {k.name: codes[0].address(k.name) for k in program.kernels if k.name in known}
    symbols |= {k.name: codes[-1].address(k.name) for k in own}
    held = [np.asarray(a, order="C") for a in program.constants]
    symbols |= {f"constant{k}": address_of()(a) for k, a in enumerate(held)}
    declared = [f"declare void @{k.name}(ptr, i64, i64, i64)" for k in program.kernels]
    symbols |= {o.name: o.address for o in program.outside}
    declared += sorted({f"declare void @{o.name}(ptr, i64, i64, i64)" for o in program.outside})
    declared += [f"@constant{k} = external global i8" for k in range(len(held))]
    library = cache.library("\n".join([*declared, program.text]), symbols=symbols)
    return Loaded(library.address(program.name), (library, codes, held, program.outside))


# Numba's cache of the caller would not see that a function has changed. It stores nothing that
# holds a global of this name, so that this one, which nothing may drop, keeps the caller out.
_UNCACHED = """@numba.dynamic.globals.funcgrad = linkonce global i8 0
@llvm.compiler.used = appending global [1 x ptr] [ptr @numba.dynamic.globals.funcgrad], \
section "llvm.metadata"
"""


def library_of(codegen: Any, program: NativeProgram) -> Any:
    """The program with its kernels as a library of Numba's code generator."""
    if not private.is_known():
        raise NativeCodeError(
            "this version of Numba does not pass arguments as those do that funcgrad knows; "
            "install one of the versions that its metadata name"
        )
    module = llvm.parse_assembly(_text(program, _width(codegen)))
    foreign = foreign_of(program.kernels)
    link(module, [llvm.parse_assembly(f.module) for f in foreign])
    module.verify()
    library = codegen.create_library(program.name)
    library.add_llvm_module(module)
    library.finalize()
    return library


def _width(codegen: Any) -> Width:
    _, _, features = codegen.magic_tuple()
    return Width(*vector_width(features))


def _text(program: NativeProgram, target: Width) -> str:
    """One module: the program with its kernels, and the functions of Numba's that it calls."""
    outside = {o.name: _by_address(o.name, o.address) for o in program.outside}
    return "\n".join([_UNCACHED, *outside.values(), program_module(program, target)])


def _by_address(name: str, address: int) -> str:
    """A function that calls the one at an address, which is good as long as the process lives."""
    return (
        f"define internal void @{name}(ptr %words, i64 %first, i64 %last, i64 %thread) {{\n"
        f"  %code = inttoptr i64 {address} to ptr\n"
        "  call void %code(ptr %words, i64 %first, i64 %last, i64 %thread)\n  ret void\n}"
    )
