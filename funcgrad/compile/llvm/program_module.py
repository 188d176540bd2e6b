"""The module of a program: what it calls, its kernels and constants, all of them internal."""

from __future__ import annotations

from funcgrad.compile.llvm.body import VectorTarget
from funcgrad.compile.llvm.printer import print_kernel
from funcgrad.compile.program import NativeProgram, escaped

__all__ = ["program_module"]


def program_module(program: NativeProgram, target: VectorTarget) -> str:
    """The text; functions of others that the program calls are not in it."""
    definitions: dict[str, str] = {}
    declarations: dict[str, None] = {}
    kernels = []
    for kernel in program.kernels:
        text, body = print_kernel(kernel, target)
        body.enclose()
        text = text.replace("define void", "define internal void", 1)
        kernels.append(text.replace(" nounwind {", " nounwind alwaysinline {", 1)
                       if program.small else text)  # fmt: skip
        definitions |= body.definitions
        declarations |= body.declarations
    constants = [
        f'@constant{k} = internal constant [{a.nbytes} x i8] c"{escaped(a)}", align 64'
        for k, a in enumerate(program.constants)
    ]
    return "\n".join([*constants, *definitions.values(), *kernels, program.text, *declarations])
