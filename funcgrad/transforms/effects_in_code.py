"""Which functions a piece of code only hands to `debug.callback` and `io_callback`.

What these are given runs when the compiled program does, with what it finds then: nothing that it
reads or changes is part of what was traced. So the walk over captures need not look at it; else a
list that a callback fills would be another one at each call. It is read off the instructions: the
first argument of a call of that name is a function written there, one defined before that is used
for nothing else, or a variable with attributes. Whether the name is that of our functions, the walk
says. It imports nothing of funcgrad.
"""

from __future__ import annotations

import dis
import re
import sys
import types
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["GLOBAL", "OUTER", "Chain", "Handed", "arguments_of", "handed_over", "instructions_of"]

CALL = "CALL" if sys.version_info >= (3, 12) else "PRECALL"  # with the arguments on the stack
GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL")
OUTER = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_NAMES = ("callback", "io_callback")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_LOCAL = ("LOAD_FAST", "LOAD_FAST_BORROW")
# What puts a function on the stack that has no defaults; 8 is its closure.
_CLOSURE = ("LOAD_CLOSURE", "BUILD_TUPLE", *_LOCAL)
_MADE = ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE")
_OF_TWO = re.compile("LOAD_FAST_BORROW|LOAD_FAST|STORE_FAST")
_NO_DEFAULTS = (None, 0, 8)

Steps = Sequence[dis.Instruction]


class Chain(NamedTuple):
    """A variable, whether it is a global one, and the attributes that are taken of it in turn."""

    name: str
    is_global: bool
    attributes: tuple[str, ...]


class Handed(NamedTuple):
    """The first argument of a call of `callee`, if that is one of ours: instructions `begin` to
    `end`.

    It is a function of `code`, or what the `chain` leads to; of a local variable `attributes` are
    taken.
    """

    callee: Chain
    begin: int
    end: int
    line: int
    code: types.CodeType | None = None
    chain: Chain | None = None
    attributes: tuple[str, ...] = ()


def instructions_of(code: types.CodeType) -> list[dis.Instruction]:
    """The instructions of `code`, each of them about one variable.

    From Python 3.13 on, one instruction may load or store two local variables: it is taken apart,
    so that what loads an argument ends where the argument does.
    """
    steps = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    return [single for step in steps for single in _single(step)]


def _single(step: dis.Instruction) -> Iterator[dis.Instruction]:
    if not isinstance(step.argval, tuple) or "FAST" not in step.opname:
        yield step
        return
    for opname, name in zip(_OF_TWO.findall(step.opname), step.argval, strict=True):
        yield step._replace(opname=opname, opcode=dis.opmap[opname], argval=name, argrepr=name)


def handed_over(steps: Steps) -> list[Handed]:
    """All of them in these instructions."""
    found = [h for k in range(len(steps)) for h in _at(steps, k)]
    return [h for h in (_written(h, steps, found) for h in found) if h is not None]


def _at(steps: Steps, k: int) -> Iterator[Handed]:
    """What is handed over by a call of what instruction `k` loads."""
    step = steps[k]
    if step.argval not in _NAMES or step.opname not in (*_ATTRIBUTE, *GLOBAL[:3], *OUTER):
        return
    first = k
    while steps[first].opname in _ATTRIBUTE and first:
        first -= 1
    callee = _chain(steps[first : k + 1])
    begin = k + 1
    while begin < len(steps) and steps[begin].opname == "PUSH_NULL":
        begin += 1
    given = arguments_of(steps, begin)
    if callee is not None and given:
        where = step.positions.lineno if step.positions else None
        yield Handed(callee, begin, given[0].stop, where or 0)


def _chain(steps: Steps) -> Chain | None:
    """The chain that these instructions load, if that is all they do."""
    head, *rest = steps
    if head.opname not in (*GLOBAL[:3], *OUTER) or any(s.opname not in _ATTRIBUTE for s in rest):
        return None
    return Chain(head.argval, head.opname in GLOBAL, tuple(s.argval for s in rest))


def arguments_of(steps: Steps, begin: int) -> list[range]:
    """The instructions of each argument of a call, the first of which begins there; of keywords,
    the names are one more. Nothing where that is not plain.

    It goes along the instructions as the arguments are put on the stack, up to the call.
    """
    depth, ends = 0, {0: begin}
    for k in range(begin, len(steps)):
        i = steps[k]
        named = i.opname == "CALL_KW"  # with the names on the stack
        if (i.opname == CALL or named) and depth == i.argval + named:
            if not all(n in ends for n in range(depth)):
                break
            return [range(ends[n], ends[n + 1]) for n in range(depth)]
        if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs or i.opname.startswith("RETURN"):
            break
        depth += dis.stack_effect(i.opcode, i.arg if i.opcode >= dis.HAVE_ARGUMENT else None)
        if depth < 0 or (depth == 0 and len(ends) > 1):
            break
        ends[depth] = k + 1
    return []


def _written(handed: Handed, steps: Steps, others: list[Handed]) -> Handed | None:
    """With what it is, if that can be told."""
    given = steps[handed.begin : handed.end]
    code = _function(given)
    if code is not None:
        return handed._replace(code=code)
    chain = _chain(given)
    if chain is not None:
        return handed._replace(chain=chain)
    head, *rest = given
    if head.opname not in _LOCAL or any(s.opname not in _ATTRIBUTE for s in rest):
        return None
    if rest:
        return handed._replace(attributes=tuple(s.argval for s in rest))
    code = _defined(head.argval, steps, others)
    return None if code is None else handed._replace(code=code)


def _function(steps: Steps) -> types.CodeType | None:
    """The code of the function that these instructions make, if that is all they do."""
    found = None
    for s in steps:
        if s.opname == "LOAD_CONST" and isinstance(s.argval, types.CodeType) and found is None:
            found = s.argval
        elif not (
            (s.opname in _CLOSURE and found is None)
            or (s.opname in _MADE and found is not None and s.arg in _NO_DEFAULTS)
        ):
            return None
    return found


def _defined(name: str, steps: Steps, others: list[Handed]) -> types.CodeType | None:
    """The code of a function under a local name that is bound once, and only handed over."""
    spans = [range(h.begin, h.end) for h in others]
    uses = [k for k, s in enumerate(steps) if _names(s, name)]
    stores = [k for k in uses if steps[k].opname == "STORE_FAST" and steps[k].argval == name]
    loads = [k for k in uses if k not in stores]
    if len(stores) != 1 or not all(any(k in span for span in spans) for k in loads):
        return None
    k = begin = stores[0]
    while begin and (steps[begin - 1].opname in (*_CLOSURE, *_MADE, "LOAD_CONST")):
        begin -= 1
        code = _function(steps[begin:k])
        if code is not None:
            return code
    return None


def _names(step: dis.Instruction, name: str) -> bool:
    """Whether an instruction is about this local variable."""
    if "FAST" not in step.opname and step.opname != "LOAD_CLOSURE":
        return False
    return bool(step.argval == name)
