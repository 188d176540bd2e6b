"""What a piece of code names: globals, attributes, modules that it imports, special methods.

It reads the instructions, and those of the functions inside. `walk` follows these names; where a
name is put together while the program runs it has to follow all that an object holds. It imports
nothing of funcgrad.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["COMPARISONS", "Chain", "Named", "named_by", "texts"]

COMPARISONS = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"))
_TEXTS = frozenset(("__repr__", "__str__", "__format__"))
_TO_TEXT = frozenset(("str", "repr", "format", "print", "ascii"))
_GETS = frozenset(("getattr", "hasattr"))
# Names of what reads attributes that the code itself does not name.
_WHOLE = frozenset(("vars", "dir", "__dict__", "__getattribute__", "__slots__", "attrgetter"))
_WHOLE |= {"methodcaller", "asdict", "astuple", "dumps", "getmembers", "getattr_static"}
_CALL = "CALL" if sys.version_info >= (3, 12) else "PRECALL"  # with the arguments on the stack
_LOADED = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL")
_OUTER = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")


class Chain(NamedTuple):
    """A variable, whether it is a global one, and the attributes that are taken of it in turn."""

    name: str
    is_global: bool
    attributes: tuple[str, ...]


class Named(NamedTuple):
    """What code names.

    `lines` has the globals, with the first line of each; `chains` the attributes of variables of
    outside, `attributes` all others; `whole` says whether it computes names of attributes.
    """

    lines: dict[str, int]
    attributes: frozenset[str]
    chains: frozenset[Chain]
    imports: frozenset[tuple[int, str]]
    special: frozenset[str]
    stored: frozenset[str]
    whole: bool


def texts(x: Any) -> Iterator[str]:
    """The names in a constant: getattr(x, "name"), attrgetter("a.b"), ("w", "b")."""
    if isinstance(x, str):
        yield from (part for part in x.split(".") if part.isidentifier())
    elif isinstance(x, (tuple, frozenset)):
        for item in x:
            yield from texts(item)


@functools.lru_cache(maxsize=4096)
def named_by(code: types.CodeType) -> Named:
    """What `code` and the functions inside it name."""
    found = _Reader(code)
    inner = [named_by(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    own = {*code.co_varnames, *code.co_cellvars}
    for each in inner:
        for chain in each.chains:
            if not chain.is_global and chain.name in own:  # a variable of this very function
                found.attributes.update(chain.attributes)
            else:
                found.chains.add(chain)
    lines = dict(found.lines)
    for each in inner:
        lines = {**each.lines, **lines}
    return Named(
        lines,
        frozenset(found.attributes.union(*(n.attributes for n in inner))),
        frozenset(found.chains),
        frozenset(found.imports.union(*(n.imports for n in inner))),
        frozenset(found.special.union(*(n.special for n in inner))),
        frozenset(found.stored.union(*(n.stored for n in inner))),
        found.whole or any(n.whole for n in inner),
    )


class _Reader:
    """Reads the instructions of one code object."""

    def __init__(self, code: types.CodeType) -> None:
        self.lines: dict[str, int] = {}
        self.attributes: set[str] = {t for c in code.co_consts for t in texts(c)}
        self.chains: set[Chain] = set()
        self.imports: set[tuple[int, str]] = set()
        self.special: set[str] = set()
        self.stored: set[str] = set()
        self.whole = False
        self.variable: tuple[str, bool] | None = None
        self.taken: list[str] = []
        self.line = code.co_firstlineno
        steps = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
        for k, i in enumerate(steps):
            self.line = i.positions.lineno if i.positions and i.positions.lineno else self.line
            self.step(i, steps, k)
        self.end()
        self.whole |= bool(_WHOLE & (self.attributes | self.lines.keys()))
        self.whole |= any(_WHOLE & set(c.attributes) for c in self.chains)
        if _TO_TEXT & self.lines.keys():
            self.special |= _TEXTS

    def step(self, i: dis.Instruction, steps: list[dis.Instruction], k: int) -> None:
        name = i.opname
        if name in ("LOAD_ATTR", "LOAD_METHOD") and self.variable is not None:
            self.taken.append(i.argval)
            return
        self.end()
        if name in _LOADED or name in _OUTER:
            if i.argval.startswith("@"):  # pytest's own, which it writes into assertions
                return
            is_global = name in _LOADED
            if is_global:
                self.lines.setdefault(i.argval, self.line)
                if i.argval in _GETS and not _is_constant_get(steps, k):
                    self.whole = True
            self.variable = i.argval, is_global
        elif "ATTR" in name or "METHOD" in name or name == "IMPORT_FROM":
            self.attributes.add(i.argval)
            if name == "STORE_ATTR":
                self.stored.add(i.argval)
        elif name == "IMPORT_NAME":
            level = steps[k - 2].argval if k > 1 else 0
            self.imports.add((level if isinstance(level, int) else 0, i.argval))
        elif name in ("COMPARE_OP", "CONTAINS_OP", "BINARY_SUBSCR") or name.startswith("MATCH"):
            self.special |= COMPARISONS
            if name == "MATCH_CLASS":
                self.special.add("__match_args__")
        elif name == "BINARY_OP" and i.argrepr == "[]":  # a subscript, from Python 3.14 on
            self.special |= COMPARISONS
        elif name.startswith(("FORMAT", "CONVERT")):
            self.special |= _TEXTS

    def end(self) -> None:
        """The attributes of the variable at hand are complete."""
        if self.variable is not None and self.taken:
            self.chains.add(Chain(*self.variable, tuple(self.taken)))
        self.variable, self.taken = None, []


def _is_constant_get(steps: list[dis.Instruction], k: int) -> bool:
    """Whether the name in a call of getattr or hasattr at step `k` is written out.

    It goes along the instructions as the arguments are put on the stack, up to the call; where
    there is a jump, or anything else that is not plain, the answer is no.
    """
    depth, constant = 0, False
    for i in steps[k + 1 :]:
        if i.opname == _CALL and i.argval == depth:
            return constant and depth in (2, 3)
        if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs or i.opname.startswith("RETURN"):
            return False
        before = depth
        arg = i.arg if i.opcode >= dis.HAVE_ARGUMENT else None
        depth += dis.stack_effect(i.opcode, arg)
        if before <= 1 < depth:
            constant = i.opname == "LOAD_CONST" and isinstance(i.argval, str)
        elif before >= 2 >= depth or depth < 0:
            constant = False  # something was made of it
    return False
