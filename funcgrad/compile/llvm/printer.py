"""Loop nests printed as LLVM IR: explicit vectors, masked at the end of a row, one function each.

A kernel becomes ``void name(ptr arguments, i64 first, i64 last)`` for chunks from `first` up to
`last`; the arguments are 8 bytes each: the addresses of the buffers, the integers, the numbers, and
the address of the flag. Only reductions that a loop names are done in another order, the same one
for any number of threads. The values are `frame`'s and `operations`', memory is `access`'s, loops
are `nests`'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.compile.foreign import FOREIGN, Foreign
from funcgrad.compile.llvm.body import Body, External, VectorTarget
from funcgrad.compile.llvm.nests import Nests
from funcgrad.compile.llvm.operations import ATTRIBUTES
from funcgrad.compile.loops import Kernel, Let, statements

__all__ = ["Module", "foreign_of", "print_kernel", "print_module"]


class Module(NamedTuple):
    """The text of several kernels, and the functions that it calls but does not define.

    `foreign` have to be linked into the module, which is then to be optimised.
    """

    text: str
    externals: dict[str, External]
    foreign: tuple[Foreign, ...]


def print_module(kernels: Sequence[Kernel], target: VectorTarget) -> Module:
    body_texts: list[str] = []
    declarations: dict[str, None] = {}
    definitions: dict[str, str] = {}
    externals: dict[str, External] = {}
    for k in kernels:
        text, body = print_kernel(k, target)
        body_texts.append(text)
        declarations.update(body.declarations)
        definitions.update(body.definitions)
        externals.update(body.externals)
    declarations.update(dict.fromkeys(x.declaration for x in externals.values()))
    lines = [*definitions.values(), *body_texts, *declarations]
    return Module("\n".join(lines) + "\n", externals, foreign_of(kernels))


def foreign_of(kernels: Sequence[Kernel]) -> tuple[Foreign, ...]:
    """The functions that somebody else compiled."""
    inner = (s for k in kernels for s in statements(k.body) if isinstance(s, Let))
    return tuple(FOREIGN[op] for op in dict.fromkeys(s.op for s in inner if s.op in FOREIGN))


def print_kernel(kernel: Kernel, target: VectorTarget) -> tuple[str, Body]:
    """The function of a kernel, and what the module has to declare and define for it."""
    printer = Nests(kernel, target)
    printer.run()
    head = f"define void @{kernel.name}(ptr %arguments, i64 %first, i64 %last) {ATTRIBUTES} {{"
    return "\n".join([head, "entry:", *printer.body.lines, "  ret void", "}"]), printer.body
