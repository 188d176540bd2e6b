"""Loop nests printed as LLVM IR: explicit vectors, masked at the end of a row, one function each.

A kernel becomes ``void name(ptr arguments, i64 first, i64 last, i64 thread)`` for chunks from
`first` up to `last`; the arguments are 8 bytes each: the addresses of the buffers, the integers,
the numbers, the addresses of the scratch memory of all threads and of the flag. Only reductions
that a loop names are done in another order, the same one for any number of threads. The values are
`frame`'s and `operations`', memory is `access`'s, loops are `nests`'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.compile.foreign import FOREIGN, Foreign
from funcgrad.compile.llvm.body import Body, External, VectorTarget
from funcgrad.compile.llvm.nests import Nests
from funcgrad.compile.llvm.operations import ATTRIBUTES
from funcgrad.compile.loops import For, Kernel, Let, statements

__all__ = ["Module", "foreign_of", "print_kernel", "print_module"]

# Code is made in half the time where LLVM takes it as it is printed. That loses nothing where
# there is no loop out of which it could move anything, and little where a loop is very long.
PLAIN = " optnone noinline"
LONG = 300
PARAMETERS = "ptr %arguments, i64 %first, i64 %last, i64 %thread"


def is_plain(kernel: Kernel) -> bool:
    """Whether the code of a kernel is good enough as it is printed."""
    inner = list(statements(kernel.body))
    if any(isinstance(s, For) and s.kind == "steps" for s in inner):  # a step is run many times
        return False
    if foreign_of([kernel]):  # what is linked in has to be inlined
        return False
    return len(inner) > LONG or not any(isinstance(s, For) for s in inner)


class Module(NamedTuple):
    """The text of several kernels, and the functions that it calls but does not define.

    `foreign` have to be linked into the module, which is then to be optimised. `functions` are the
    kernels of one text each with it, `shared` is what they refer to.
    """

    text: str
    externals: dict[str, External]
    foreign: tuple[Foreign, ...]
    functions: tuple[Function, ...]
    shared: str


class Function(NamedTuple):
    """The kernels that have one code, and its text."""

    names: tuple[str, ...]
    text: str


PRINTED, LARGEST = 64, 1200  # modules of which the text is kept, and the statements of one
_printed: dict[tuple[str, VectorTarget], Module] = {}


def print_module(kernels: Sequence[Kernel], target: VectorTarget) -> Module:
    """The module of these kernels; arguments of other sizes have the same ones."""
    if sum(len(statements(k.body)) for k in kernels) > LARGEST or foreign_of(kernels):
        return _print_module(kernels, target)
    key = (repr(kernels), target)
    found = _printed.pop(key, None) or _print_module(kernels, target)
    _printed[key] = found  # as the last one
    for oldest in list(_printed)[: max(0, len(_printed) - PRINTED)]:
        _printed.pop(oldest, None)
    return found


def _print_module(kernels: Sequence[Kernel], target: VectorTarget) -> Module:
    functions: dict[str, Function] = {}  # by their texts without names
    aliases: list[str] = []  # a loop in Python makes the same kernel many times
    declarations: dict[str, None] = {}
    definitions: dict[str, str] = {}
    externals: dict[str, External] = {}
    for k in kernels:
        attributes = f"{ATTRIBUTES}{PLAIN}" if is_plain(k) else ATTRIBUTES
        text, body = print_kernel(k, target, attributes)
        _, _, nameless = text.partition("(")
        if nameless in functions:
            known = functions[nameless]
            aliases.append(f"@{k.name} = alias void (ptr, i64, i64, i64), ptr @{known.names[0]}")
            functions[nameless] = Function((*known.names, k.name), f"{known.text}\n{aliases[-1]}")
            continue
        functions[nameless] = Function((k.name,), text)
        declarations.update(body.declarations)
        definitions.update(body.definitions)
        externals.update(body.externals)
    declarations.update(dict.fromkeys(x.declaration for x in externals.values()))
    shared = "\n".join([*definitions.values(), *declarations]) + "\n"
    own = "\n".join(each.text for each in functions.values()) + "\n"
    return Module(shared + own, externals, foreign_of(kernels), tuple(functions.values()), shared)


def foreign_of(kernels: Sequence[Kernel]) -> tuple[Foreign, ...]:
    """The functions that somebody else compiled."""
    inner = (s for k in kernels for s in statements(k.body) if isinstance(s, Let))
    return tuple(FOREIGN[op] for op in dict.fromkeys(s.op for s in inner if s.op in FOREIGN))


def print_kernel(
    kernel: Kernel, target: VectorTarget, attributes: str = ATTRIBUTES
) -> tuple[str, Body]:
    """The function of a kernel, and what the module has to declare and define for it."""
    printer = Nests(kernel, target)
    printer.run()
    head = f"define void @{kernel.name}({PARAMETERS}) {attributes} {{"
    return "\n".join(
        [head, "entry:", *printer.frame.body.lines, "  ret void", "}"]
    ), printer.frame.body
