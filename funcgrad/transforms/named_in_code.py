"""What a piece of code names: globals, attributes, modules that it imports, special methods.

`walk` follows these names; where a name is put together while the program runs it has to follow all
that an object holds. The instructions are read once, with what is known of each thing on the stack:
a name counts when something uses it. What is only handed to `debug.callback` or `io_callback` runs
when the compiled program does, with what it finds then, and stands apart: else a list that a
callback fills would be another one at each call. Whether those are our functions, the walk says.
"""

from __future__ import annotations

import dis
import functools
import re
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["CALLED_BY", "COMPARISONS", "Called", "Chain", "Named", "named_by", "texts"]

COMPARISONS = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"))
_TEXTS = frozenset(("__repr__", "__str__", "__format__"))
_COPIES = frozenset(("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__"))
_COPIES |= {"__getstate__", "__setstate__"}
_FIELD = re.compile(r"\{\w*\.([\w.]+)")  # the attributes in a field of str.format
_GETS = frozenset(("getattr", "hasattr"))
# Names of what reads attributes that the code itself does not name.
_WHOLE = frozenset(("vars", "dir", "__dict__", "__getattribute__", "__slots__", "attrgetter"))
_WHOLE |= {"methodcaller", "asdict", "astuple", "dumps", "getmembers", "getattr_static"}
_CALLBACKS = frozenset(("callback", "io_callback"))

# Special methods that Python calls for what an instruction does, or for a function of that name.
CALLED_BY: dict[str, frozenset[str]] = {
    **dict.fromkeys(("str", "repr", "format", "print", "ascii"), _TEXTS),
    **dict.fromkeys(("hash", "set", "frozenset", "dict"), COMPARISONS),
    **dict.fromkeys(("copy", "deepcopy"), _COPIES),
    **dict.fromkeys(("COMPARE_OP", "CONTAINS_OP", "STORE_SUBSCR", "DELETE_SUBSCR"), COMPARISONS),
    **dict.fromkeys(("BUILD_SET", "BUILD_MAP", "SET_ADD", "MAP_ADD", "SET_UPDATE"), COMPARISONS),
    **dict.fromkeys(("MATCH_KEYS", "MATCH_MAPPING", "MATCH_SEQUENCE"), COMPARISONS),
    "MATCH_CLASS": COMPARISONS | {"__match_args__"},
    "BINARY_SUBSCR": COMPARISONS | {"__class_getitem__"},
    "STORE_ATTR": frozenset(("__setattr__",)),
    "DELETE_ATTR": frozenset(("__delattr__",)),
    "LOAD_BUILD_CLASS": frozenset(("__init_subclass__", "__set_name__")),
}

# Instructions: the call, with its arguments on the stack; those that leave the stack alone; those
# that put things on it; jumps; the parts of one that is about two variables; loads of variables.
_CALL = "CALL" if sys.version_info >= (3, 12) else "PRECALL"
_STILL = frozenset(("NOP", "RESUME", "EXTENDED_ARG", "CACHE", "KW_NAMES", "MAKE_CELL", "NOT_TAKEN"))
_STILL |= {"COPY_FREE_VARS"} | ({"CALL"} - {_CALL})
_PUSHES = ("LOAD_", "PUSH_NULL", "BUILD_")
_JUMPS = frozenset(dis.hasjrel + dis.hasjabs)
_OF_TWO = re.compile("LOAD_FAST_BORROW|LOAD_FAST|STORE_FAST")
_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL"))
_OUTER = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"))


class Chain(NamedTuple):
    """A variable, whether it is a global one, and the attributes that are taken of it in turn.

    For a local variable that is None.
    """

    name: str
    is_global: bool | None
    attributes: tuple[str, ...]


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


NONE: frozenset[Any] = frozenset()


class Named(NamedTuple):
    """What code names.

    `lines` has the globals, with the first line of each; `chains` the attributes of variables of
    outside, `attributes` all others; `whole` says whether it computes names of attributes. `outer`
    are the variables of outer functions that it reads or writes, and `called` is what callbacks
    are given, which is in none of the others.
    """

    lines: dict[str, int]
    attributes: frozenset[str] = NONE
    chains: frozenset[Chain] = NONE
    imports: frozenset[tuple[int, str]] = NONE
    special: frozenset[str] = NONE
    stored: frozenset[str] = NONE
    whole: bool = False
    outer: frozenset[str] = NONE
    called: tuple[Called, ...] = ()

    def with_(self, other: Named) -> Named:
        """What both name."""
        lines = {**other.lines, **self.lines}
        return Named(lines, *map(_both, self[1:], other[1:]))


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
    return _Reader(code).named()


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


class _Thing(NamedTuple):
    """Something on the stack, the line that put it there, and what is known of it: its chain, the
    code of a function that is made there, or the value of a constant.
    """

    line: int
    chain: Chain | None = None
    code: types.CodeType | None = None
    value: Any = None


UNKNOWN = _Thing(0)


class _Reader:
    """Reads the instructions of one code object."""

    def __init__(self, code: types.CodeType) -> None:
        self.code, self.line = code, code.co_firstlineno
        self.stack: list[_Thing] = []
        self.lines: dict[str, int] = {}
        self.attributes: set[str] = {t for c in code.co_consts for t in texts(c)}
        self.chains: set[Chain] = set()
        self.imports: set[tuple[int, str]] = set()
        self.special: set[str] = set()
        self.stored: set[str] = set()
        self.outer: set[str] = set()
        self.whole = False
        self.used: set[Any] = set()  # functions that are made here, and the names of local ones
        self.bound: dict[str, list[types.CodeType | None]] = {}  # what local names are given
        self.handed: list[tuple[Chain, _Thing]] = []
        for i in dis.get_instructions(code):
            self.line = (i.positions and i.positions.lineno) or self.line
            if i.opname not in _STILL:
                self.step(i)
        self.use(self.stack)

    def named(self) -> Named:
        calls = self.attributes.union(self.lines, *(c.attributes for c in self.chains))
        special = frozenset(self.special.union(*(CALLED_BY[n] for n in calls & CALLED_BY.keys())))
        found = Named(
            self.lines, frozenset(self.attributes), frozenset(self.chains),
            frozenset(self.imports), special, frozenset(self.stored),
            self.whole or not _WHOLE.isdisjoint(calls), frozenset(self.outer),
        )  # fmt: skip
        own = {*self.code.co_varnames, *self.code.co_cellvars}
        called = [self.called(*handed, own) for handed in self.handed]
        apart = {code for _, code in called} - self.used
        for code in self.code.co_consts:
            if isinstance(code, types.CodeType) and code not in apart:
                found = found.with_(_seen_from(own, named_by(code)))
        return found._replace(called=(*found.called, *(each for each, _ in called if each)))

    def called(
        self, callee: Chain, thing: _Thing, own: set[str]
    ) -> tuple[Called | None, types.CodeType | None]:
        """What is handed over, if that can be told, and its code, if that stands here."""
        code, chain = thing.code, thing.chain
        if chain is not None and chain.is_global is None:
            if chain.attributes:
                part = Named({}, frozenset(chain.attributes))
                return Called(callee, None, chain.attributes, NONE, part), None
            # a function that is defined here, once, and used for nothing else
            code, *more = self.bound.get(chain.name, [None])
            if code is None or more or chain.name in self.used:
                return None, None
        if code is not None:
            part, outer = _seen_from(own, named_by(code)), frozenset(code.co_freevars)
            return Called(callee, None, (), outer, part), code
        assert chain is not None
        outer = frozenset(() if chain.is_global else (chain.name,))
        part = Named(
            {chain.name: thing.line} if chain.is_global else {},
            chains=frozenset((chain,) if chain.attributes else ()),
            outer=outer,
        )
        return Called(callee, chain, (), outer, part), None

    # ------------------------------------------------------------------ the stack

    def pop(self, count: int) -> list[_Thing]:
        """The last things; nothing is known of what lay there before a jump."""
        first = max(len(self.stack) - count, 0)
        taken, self.stack[first:] = self.stack[first:], []
        return [UNKNOWN] * (count - len(taken)) + taken

    def push(self, chain: Chain | None = None, value: Any = None) -> None:
        self.stack.append(_Thing(self.line, chain, value=value))

    def use(self, things: Iterable[_Thing], plainly: bool = True) -> None:
        """Note what these name; `plainly`, where getattr may be given a name that is computed."""
        for line, chain, code, _ in things:
            if code is not None:
                self.used.add(code)
            if chain is None:
                continue
            name, is_global, attributes = chain
            if is_global is None:
                self.used.add(name)
                self.attributes.update(attributes)
                continue
            if is_global:
                self.lines[name] = min(line, self.lines.get(name, line))
                self.whole |= plainly and name in _GETS
            else:
                self.outer.add(name)
            if attributes:
                self.chains.add(chain)

    # ------------------------------------------------------------------ instructions

    def step(self, i: dis.Instruction) -> None:
        name, held = i.opname, i.argval
        if "FAST" in name:
            self.local(name, held if isinstance(held, tuple) else (held,))
            return
        effect = dis.stack_effect(i.opcode, i.arg if i.opcode >= dis.HAVE_ARGUMENT else None)
        if name in ("LOAD_CONST", "LOAD_SMALL_INT"):
            self.push(value=held)
        elif i.opcode in _JUMPS:
            self.use(self.pop(len(self.stack)))
        elif name in _GLOBAL or name in _OUTER:
            self.use(self.pop(effect < 1))
            unseen = held[:1] == "@"  # pytest's own, which it writes into assertions
            self.stack += [UNKNOWN] * (effect == 2)
            self.push(None if unseen else Chain(held, name in _GLOBAL, ()))
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            [x] = self.pop(1)
            if x.chain is None:
                self.attributes.add(held)
            else:
                x = x._replace(chain=x.chain._replace(attributes=(*x.chain.attributes, held)))
            self.stack += [x, *[UNKNOWN] * effect]
        elif name == _CALL or name == "CALL_KW":
            self.pop(name == "CALL_KW")  # the names
            self.call(self.pop(i.arg or 0), self.pop(2))
        elif name in ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE"):
            [x] = self.pop(1)
            self.use(self.pop(-effect))
            self.stack.append(x._replace(code=x.code or x.value, value=None))
            if i.arg not in (None, 0, 8):  # defaults: it is more than its code and closure
                self.use(self.stack[-1:])
                self.stack[-1] = UNKNOWN
        else:
            self.other(i, effect)

    def local(self, opname: str, names: tuple[str, ...]) -> None:
        """Loads and stores of local variables, of which one instruction may do two."""
        for kind, name in zip(_OF_TWO.findall(opname) or ("",), names, strict=True):
            if kind.startswith("LOAD"):
                self.push(Chain(name, None, ()))
            elif kind:
                [x] = self.pop(1)
                self.bound.setdefault(name, []).append(x.code)
                self.use(() if x.code else (x,))
            else:
                self.used.add(name)

    def call(self, given: list[_Thing], called: list[_Thing]) -> None:
        chain = next((x.chain for x in called if x.chain is not None), None)
        plainly = len(given) not in (2, 3) or not isinstance(given[1].value, str)
        self.use(called, plainly)
        names = () if chain is None or chain.is_global is None else (chain.name, *chain.attributes)
        known = given and (given[0].code is not None or given[0].chain is not None)
        if known and chain and _CALLBACKS.intersection(names[-1:]):
            self.handed.append((chain, given.pop(0)))
        self.use(given)
        self.stack.append(UNKNOWN)

    def other(self, i: dis.Instruction, effect: int) -> None:
        name, held = i.opname, i.argval
        if i.opcode in dis.hasfree and name != "LOAD_CLOSURE":
            self.outer.add(held)
        elif "ATTR" in name or "METHOD" in name or name == "IMPORT_FROM":
            self.attributes.add(held)
            if name == "STORE_ATTR":
                self.stored.add(held)
        elif name == "IMPORT_NAME":
            level = self.stack[-2].value if len(self.stack) > 1 else 0
            self.imports.add((level if isinstance(level, int) else 0, held))
        elif name.startswith(("FORMAT", "CONVERT")):
            self.special |= _TEXTS
        if name == "BINARY_OP" and i.argrepr == "[]":  # from Python 3.14 on
            name = "BINARY_SUBSCR"
        self.special |= CALLED_BY.get(name, NONE)
        if not name.startswith(_PUSHES) or effect < 1:
            # what it takes is at least what goes, and what it leaves is another thing
            taken = len(self.stack) if name in ("COPY", "SWAP") else 1 + max(0, -effect)
            self.use(self.pop(taken))
            effect += taken
        self.stack += [UNKNOWN] * effect
