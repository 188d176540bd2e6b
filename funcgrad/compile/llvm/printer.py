"""Loop nests printed as LLVM IR: explicit vectors, masked at the end of a row, one function each.

A kernel becomes ``void name(ptr arguments, i64 first, i64 last, i64 thread)`` for chunks from
`first` up to `last`; the arguments are 8 bytes each: the addresses of the buffers, the integers,
the numbers, the addresses of the scratch memory of all threads and of the flag. Only reductions
that a loop names are done in another order, the same one for any number of threads. The values are
`frame`'s and `operations`', memory is `access`'s, loops are `nests`'.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from funcgrad.compile.foreign import FOREIGN, Foreign
from funcgrad.compile.llvm.body import Body, External, VectorTarget
from funcgrad.compile.llvm.nests import Nests
from funcgrad.compile.llvm.operations import ATTRIBUTES
from funcgrad.compile.loops import For, Kernel, Let, statements

__all__ = [
    "Function", "Module", "Printing", "foreign_of", "print_kernel", "print_module", "shared_text",
]  # fmt: skip

# Code is made in half the time where LLVM takes it as it is printed. That loses nothing where
# there is no loop out of which it could move anything, and little where a loop is very long.
PLAIN = " optnone noinline"
LONG = 300
PARAMETERS = "ptr %arguments, i64 %first, i64 %last, i64 %thread"


def is_plain(inner: Sequence[Any], foreign: Sequence[Foreign]) -> bool:
    """Whether the code of a kernel of these statements is good enough as it is printed."""
    if any(isinstance(s, For) and s.kind == "steps" for s in inner):  # a step is run many times
        return False
    if foreign:  # what is linked in has to be inlined
        return False
    return len(inner) > LONG or not any(isinstance(s, For) for s in inner)


class Module(NamedTuple):
    """The text of several kernels, and the functions that it calls but does not define.

    `foreign` have to be linked into the module, which is then to be optimised.
    """

    text: str
    externals: dict[str, External]
    foreign: tuple[Foreign, ...]


class Function(NamedTuple):
    """The text of a kernel, and what the module has to declare and define for it."""

    name: str
    text: str
    declarations: dict[str, None]
    definitions: dict[str, str]
    externals: dict[str, External]
    foreign: tuple[Foreign, ...]
    new: bool  # whether it was printed now


PRINTED, LARGEST = 512, 1200  # kernels of which the text is kept, and the statements of one
_printed: dict[tuple[bytes, VectorTarget], Function] = {}


class Printing:
    """A module to which one kernel after the other is added; equal ones have one function."""

    def __init__(self, target: VectorTarget) -> None:
        self.target = target
        self.functions: dict[str, Function] = {}  # by their texts without names
        self.same: dict[str, str] = {}  # the name of the function of each kernel

    def add(self, kernel: Kernel) -> Function | None:
        """The function of a kernel; None if it is that of an earlier one."""
        found = print_function(kernel, self.target)
        _, _, nameless = found.text.partition("(")
        known = self.functions.setdefault(nameless, found)
        self.same[kernel.name] = known.name
        return found if known is found else None

    def module(self) -> Module:
        """The module of all kernels so far."""
        found = self.functions.values()
        aliases = (
            f"@{name} = alias void (ptr, i64, i64, i64), ptr @{known}"
            for name, known in self.same.items()
            if name != known  # a loop in Python makes the same kernel many times
        )
        externals = {name: x for each in found for name, x in each.externals.items()}
        text = "\n".join([shared_text(found), *(each.text for each in found), *aliases, ""])
        return Module(text, externals, self.foreign)

    @property
    def foreign(self) -> tuple[Foreign, ...]:
        """The functions that somebody else compiled, of all kernels so far."""
        return tuple(dict.fromkeys(f for each in self.functions.values() for f in each.foreign))


def shared_text(functions: Iterable[Function]) -> str:
    """What the module of these functions defines and declares for them."""
    definitions = {name: text for each in functions for name, text in each.definitions.items()}
    declarations = {line: None for each in functions for line in each.declarations}
    called = {x.declaration: None for each in functions for x in each.externals.values()}
    return "\n".join([*definitions.values(), *(declarations | called), ""])


def print_module(kernels: Sequence[Kernel], target: VectorTarget) -> Module:
    """The module of these kernels."""
    printing = Printing(target)
    for k in kernels:
        printing.add(k)
    return printing.module()


def print_function(kernel: Kernel, target: VectorTarget) -> Function:
    """The function of a kernel; arguments of other sizes have the same one."""
    key, inner = None, statements(kernel.body)
    foreign = _foreign_in(inner)
    if len(inner) <= LARGEST and not foreign:
        key = hashlib.blake2b(repr(kernel).encode(), digest_size=24).digest(), target
        found = _printed.pop(key, None)
        if found is not None:
            _printed[key] = found  # as the last one
            return found._replace(new=False)
    attributes = f"{ATTRIBUTES}{PLAIN}" if is_plain(inner, foreign) else ATTRIBUTES
    text, body = print_kernel(kernel, target, attributes)
    of_body = body.declarations, body.definitions, body.externals
    found = Function(kernel.name, text, *of_body, foreign, new=True)
    if key is not None:
        _printed[key] = found
        for oldest in list(_printed)[: max(0, len(_printed) - PRINTED)]:
            _printed.pop(oldest, None)
    return found


def foreign_of(kernels: Iterable[Kernel]) -> tuple[Foreign, ...]:
    """The functions that somebody else compiled."""
    return _foreign_in(s for k in kernels for s in statements(k.body))


def _foreign_in(inner: Iterable[Any]) -> tuple[Foreign, ...]:
    found = dict.fromkeys(s.op for s in inner if isinstance(s, Let) and s.op in FOREIGN)
    return tuple(FOREIGN[op] for op in found)


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
