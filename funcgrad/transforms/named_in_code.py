"""What a piece of code names: globals, attributes, modules that it imports, special methods.

It reads the instructions, and those of the functions inside. `walk` follows these names; where a
name is put together while the program runs it has to follow all that an object holds. What is only
handed to callbacks stands apart (`transforms.effects_in_code`).
"""

from __future__ import annotations

import dis
import functools
import re
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from funcgrad.transforms.effects_in_code import (
    GLOBAL,
    OUTER,
    Chain,
    Handed,
    arguments_of,
    handed_over,
    instructions_of,
)

__all__ = ["COMPARISONS", "Called", "Chain", "Named", "named_by", "texts"]

COMPARISONS = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"))
_TEXTS = frozenset(("__repr__", "__str__", "__format__"))
_TO_TEXT = frozenset(("str", "repr", "format", "print", "ascii"))
_FIELD = re.compile(r"\{\w*\.([\w.]+)")  # the attributes in a field of str.format
_GETS = frozenset(("getattr", "hasattr"))
# Names of what reads attributes that the code itself does not name.
_WHOLE = frozenset(("vars", "dir", "__dict__", "__getattribute__", "__slots__", "attrgetter"))
_WHOLE |= {"methodcaller", "asdict", "astuple", "dumps", "getmembers", "getattr_static"}


class Called(NamedTuple):
    """A function that is handed to what may be a callback of ours.

    `callee` leads to that, and `chain` to the function, if a variable of outside has it, or
    `attributes` of a local one; `outer` are the variables of outer functions by which it is
    reached, and `part` is what it names.
    """

    callee: Chain
    chain: Chain | None
    attributes: tuple[str, ...]
    outer: frozenset[str]
    part: Named


class Named(NamedTuple):
    """What code names.

    `lines` has the globals, with the first line of each; `chains` the attributes of variables of
    outside, `attributes` all others; `whole` says whether it computes names of attributes. `outer`
    are the variables of outer functions that it reads or writes, and `called` is what callbacks
    are given, which is in none of the others.
    """

    lines: dict[str, int]
    attributes: frozenset[str]
    chains: frozenset[Chain]
    imports: frozenset[tuple[int, str]]
    special: frozenset[str]
    stored: frozenset[str]
    whole: bool
    outer: frozenset[str] = frozenset()
    called: tuple[Called, ...] = ()

    def with_(self, other: Named) -> Named:
        """What both name."""
        lines = {**other.lines, **self.lines}
        return Named(lines, *map(_both, self[1:], other[1:]))


NONE: frozenset[Any] = frozenset()
NOTHING = Named({}, NONE, NONE, NONE, NONE, NONE, False)


def _both(a: Any, b: Any) -> Any:
    return a + b if isinstance(a, tuple) else a | b


def texts(x: Any) -> Iterator[str]:
    """The names in a constant: getattr(x, "name"), attrgetter("a.b"), ("w", "b"), "{0.a}"."""
    if isinstance(x, str):
        yield from (part for part in x.split(".") if part.isidentifier())
        if "{" in x:
            yield from (part for field in _FIELD.findall(x) for part in field.split("."))
    elif isinstance(x, (tuple, frozenset)):
        for item in x:
            yield from texts(item)


@functools.lru_cache(maxsize=4096)
def named_by(code: types.CodeType) -> Named:
    """What `code` and the functions inside it name."""
    found = _Reader(code)
    own = {*code.co_varnames, *code.co_cellvars}
    whole = found.named()
    for code in found.inside:
        whole = whole.with_(_seen_from(own, named_by(code)))
    for handed in found.called:
        whole = whole.with_(_called(handed, own))
    return whole


def _seen_from(own: set[str], inner: Named) -> Named:
    """What a function inside names, as the one with these variables has it."""
    mine = [c for c in inner.chains if not c.is_global and c.name in own]
    attributes = inner.attributes.union(*(c.attributes for c in mine))
    found = inner._replace(attributes=attributes, chains=inner.chains.difference(mine), called=())
    for each in inner.called:
        part = _seen_from(own, each.part)
        if each.callee.is_global or each.callee.name not in own:
            here = each.chain is None or each.chain.is_global or each.chain.name not in own
            lifted = each._replace(chain=each.chain if here else None, part=part)
            found = found._replace(called=(*found.called, lifted))
        else:
            found = found.with_(part)
    return found


def _called(handed: Handed, own: set[str]) -> Named:
    """What is handed over, for a function with these variables."""
    if handed.code is not None:
        part = _seen_from(own, named_by(handed.code))
        outer = frozenset(handed.code.co_freevars)
    else:
        chain = handed.chain
        outer = frozenset((chain.name,) if chain and not chain.is_global else ())
        part = NOTHING._replace(outer=outer, attributes=frozenset(handed.attributes))
        if chain is not None:
            lines = {chain.name: handed.line} if chain.is_global else {}
            chains = frozenset((chain,) if chain.attributes else ())
            part = part._replace(lines=lines, chains=chains)
    called = Called(handed.callee, handed.chain, handed.attributes, outer, part)
    return NOTHING._replace(called=(called,))


class _Reader:
    """Reads the instructions of one code object.

    `inside` are the functions in it, and `called` those that are handed to callbacks.
    """

    def __init__(self, code: types.CodeType) -> None:
        self.lines: dict[str, int] = {}
        self.attributes: set[str] = {t for c in code.co_consts for t in texts(c)}
        self.chains: set[Chain] = set()
        self.imports: set[tuple[int, str]] = set()
        self.special: set[str] = set()
        self.stored: set[str] = set()
        self.whole = False
        self.outer: set[str] = set()
        self.variable: tuple[str, bool] | None = None
        self.taken: list[str] = []
        self.line = code.co_firstlineno
        steps = instructions_of(code)
        self.called = handed_over(steps)
        apart = {k for h in self.called for k in range(h.begin, h.end)}
        codes = [c for c in code.co_consts if isinstance(c, types.CodeType)]
        self.inside = [c for c in codes if not any(h.code is c for h in self.called)]
        for k, i in enumerate(steps):
            self.line = i.positions.lineno if i.positions and i.positions.lineno else self.line
            self.end() if k in apart else self.step(i, steps, k)
        self.end()
        self.whole |= bool(_WHOLE & (self.attributes | self.lines.keys()))
        self.whole |= any(_WHOLE & set(c.attributes) for c in self.chains)
        if _TO_TEXT & self.lines.keys():
            self.special |= _TEXTS

    def named(self) -> Named:
        return Named(
            self.lines, frozenset(self.attributes), frozenset(self.chains),
            frozenset(self.imports), frozenset(self.special), frozenset(self.stored), self.whole,
            frozenset(self.outer),
        )  # fmt: skip

    def step(self, i: dis.Instruction, steps: list[dis.Instruction], k: int) -> None:
        name = i.opname
        if name in ("LOAD_ATTR", "LOAD_METHOD") and self.variable is not None:
            self.taken.append(i.argval)
            return
        self.end()
        if i.opcode in dis.hasfree and name != "LOAD_CLOSURE":
            self.outer.add(i.argval)
        if name in GLOBAL or name in OUTER:
            if i.argval.startswith("@"):  # pytest's own, which it writes into assertions
                return
            is_global = name in GLOBAL
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
    """Whether the name in a call of getattr or hasattr at step `k` is written out."""
    given = arguments_of(steps, k + 1)
    if len(given) not in (2, 3) or len(given[1]) != 1:
        return False
    name = steps[given[1].start]
    return name.opname == "LOAD_CONST" and isinstance(name.argval, str)
