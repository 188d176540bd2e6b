"""The steps of a loop in Python, written out for carries of one structure.

Whether what a step returns is like what the one before returned is one question with the same text
for all steps: ``c.__class__ is tuple and len(c) == 2 and …``. Asked by a function that goes through
the trees it costs several times a short step; so each kind of loop is written out once for a
structure, with the question in its place (`alike` in `transforms/loop_body.py` asks the same). What
is otherwise is handed back to the loop that asked, which knows what to do about it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.core.tracer import twin
from funcgrad.transforms.node import TapeTracer

__all__ = ["NOTHING", "NUMBERS", "Written", "written"]

NOTHING: Any = object()  # what no step returns
NUMBERS = {  # classes of numbers, by the names that they have in the text
    float: "float",
    int: "int",
    complex: "complex",
    bool: "bool",
    np.float64: "float64",
    np.float32: "float32",
    np.int64: "int64",
    np.bool_: "bool_",
}
ndarray = np.ndarray

WHILE = """
def run(cond, body, c, times{given}{names}):
    {loop}:
        held = cond(c)
        if held is not True and held is not true:
            return held, c, NOTHING
        new = body(c)
        {same}
        c = new
    return True, c, NOTHING
"""
FORI = """
def run(body, c, indices{given}{names}):
    for i in indices:
        new = body(i, c)
        {same}
        c = new
    return c, NOTHING
"""
SCAN = """
def run(body, c, rows, order, stacks{given}{names}):
    {stacks}
    for {row} in {rows}:
        found = body(c, {made})
        if found.__class__ is not tuple:
            return c, found
        try:
            new, y = found
        except ValueError:
            return c, found
        {same}
        {keep}
        c = new
    return c, NOTHING
"""
KINDS = {  # texts, what a loop hands back that ends early, and what stands in its place
    "while": (WHILE, "True, c, new", {"loop": "while True"}),
    "while within": (WHILE, "True, c, new", {"loop": "for _ in times"}),
    "fori": (FORI, "c, new", {}),
    "scan": (SCAN, "c, found", {}),
}


class Written(NamedTuple):
    """A loop, and what it is given besides: types of arrays, keys of dicts."""

    run: Callable[..., Any]
    given: tuple[Any, ...]


def written(kind: str, carry: Any, y: Any = None, row: tree.TreeDef = tree.LEAF) -> Written | None:
    """The loop for carries like `carry`, and what is stacked like `y`; None for other structures.

    `row` is the structure of the rows of a scan. What that is given to stack into is for each leaf
    of `y` an array of all rows, where the leaf is one (`order` has the places), else a function
    that appends.
    """
    given: list[Any] = []
    form = _form(carry, given)
    stacked = _form(y, given) if kind == "scan" else ()
    if form is NOTHING or stacked is NOTHING:
        return None
    made = "x0" if row.kind is None else _made(row, [0], given)
    return Written(_loop(kind, form, stacked, made, row.size, len(given)), tuple(given))


def _form(x: Any, given: list[Any]) -> Any:
    """What the text of the question depends on; the rest is `given` to the loop."""
    kind = type(x)
    if kind in NUMBERS:
        return kind
    if kind is tuple or kind is list:
        parts = tuple([_form(item, given) for item in x])
        return NOTHING if NOTHING in parts else (kind, parts)
    if kind is ndarray and x.dtype.isnative:
        given += (x.dtype, x.shape)
        return kind
    if x is None:
        return None
    if kind is TapeTracer and x.kind is not None:
        given += (x.kind, type(x.value))
        return (kind, "number" if type(x.value) in NUMBERS else "array")
    if isinstance(x, tuple) and hasattr(kind, "_fields"):
        given.append(kind)
        parts = tuple([_form(item, given) for item in x])
        return NOTHING if NOTHING in parts else ("named", parts)
    if kind is dict:
        found = []
        for key in sorted(x):
            given.append(key)
            found.append(_form(x[key], given))
        return NOTHING if NOTHING in found else (kind, tuple(found))
    return NOTHING


@functools.lru_cache(1024)
def _loop(
    kind: str, form: Hashable, stacked: Hashable, made: str, size: int, given: int
) -> Callable[..., Any]:
    text, otherwise, parts = KINDS[kind]
    question = _Question(otherwise)
    question.ask("new", form)
    carries = len(question.leaves)
    if kind == "scan":
        question.ask("y", stacked)
    leaves = question.leaves[carries:]
    row, rows = ", ".join(f"x{k}" for k in range(size)) or "_", "rows"
    if any(array for _, _, array in leaves):
        row, rows = f"i, {row if size == 1 else f'({row})'}", "zip(order, rows)"
    keep = [
        f"kept{k}[i] = {name}" if array else f"kept{k}({kept})"
        for k, (name, kept, array) in enumerate(leaves)
    ]
    text = text.format(
        given="".join(f", p{k}" for k in range(given)),
        names="".join(f", {name}={name}" for name in _SCOPE),
        same=("\n" + " " * 8).join(question.lines),
        stacks="; ".join(f"kept{k} = stacks[{k}]" for k in range(len(leaves))),
        keep="; ".join(keep),
        row=row,
        rows=rows,
        made=made,
        **parts,
    )
    scope: dict[str, Any] = dict(_SCOPE)
    exec(compile(text, f"<funcgrad {kind}>", "exec"), scope)
    run: Callable[..., Any] = scope["run"]
    return run


class _Question:
    """The lines of a question, and of each leaf its name, what is kept of it, whether an array."""

    def __init__(self, otherwise: str) -> None:
        self.otherwise = f"return {otherwise}"
        self.lines: list[str] = []
        self.leaves: list[tuple[str, str, bool]] = []
        self.given = self.names = 0

    def ask(self, name: str, form: Any) -> None:
        """Whether what has this name has the form."""
        kind, parts = form if isinstance(form, tuple) else (form, ())
        if kind is None:
            self._unless(f"{name} is None")
        elif kind is tuple or kind is list:
            self._unless(f"{name}.__class__ is {kind.__name__}")
            names = [self._name() for _ in parts]
            self.lines += ["try:", f"    [{', '.join(names)}] = {name}"]
            self.lines += ["except ValueError:", f"    {self.otherwise}"]
            for inner, part in zip(names, parts, strict=True):
                self.ask(inner, part)
        elif kind == "named":  # of a class that says how many there are
            self._unless(f"{name}.__class__ is {self._taken()}")
            for k, part in enumerate(parts):
                self._ask_within(f"{name}[{k}]", part)
        elif kind is dict:
            self._unless(f"{name}.__class__ is dict and len({name}) == {len(parts)}")
            for part in parts:
                self._ask_within(f"{name}.get({self._taken()}, NOTHING)", part)
        elif kind is ndarray:
            same = f"{name}.dtype is {self._taken()} and {name}.shape == {self._taken()}"
            self._unless(f"{name}.__class__ is ndarray and {same}")
            self.leaves.append((name, name, True))
        elif kind is TapeTracer:
            same = f"{name}.kind is {self._taken()} and {name}.value.__class__ is {self._taken()}"
            self._unless(f"{name}.__class__ is TapeTracer and {same}")
            self.leaves.append((name, f"of_{parts}({name})", False))
        else:
            self._unless(f"{name}.__class__ is {NUMBERS[kind]}")
            self.leaves.append((name, name, False))

    def _unless(self, same: str) -> None:
        self.lines += [f"if not ({same}):", f"    {self.otherwise}"]

    def _ask_within(self, made: str, part: Any) -> None:
        name = self._name()
        self.lines.append(f"{name} = {made}")
        self.ask(name, part)

    def _taken(self) -> str:
        self.given += 1
        return f"p{self.given - 1}"

    def _name(self) -> str:
        self.names += 1
        return f"v{self.names - 1}"


def _made(definition: tree.TreeDef, next_leaf: list[int], given: list[Any]) -> str:
    """The text of a row of this structure, of the leaves `x0`, `x1`, …"""
    if definition.kind is None:
        next_leaf[0] += 1
        return f"x{next_leaf[0] - 1}"
    if definition.kind is type(None):
        return "None"
    if definition.kind is dict:
        parts = [_made(part, next_leaf, given) for part in definition.parts]
        known = dict(zip(definition.meta, parts, strict=True))
        first = len(given)
        given += definition.meta.order if parts else ()
        return (
            f"{{{', '.join(f'p{first + k}: {known[key]}' for k, key in enumerate(given[first:]))}}}"
        )
    if definition.kind is tuple or definition.kind is list:
        items = "".join(f"{_made(part, next_leaf, given)}, " for part in definition.parts)
        return f"({items})" if definition.kind is tuple else f"[{items}]"
    leaves = "".join(f"x{next_leaf[0] + k}, " for k in range(definition.size))
    next_leaf[0] += definition.size
    given.append(definition)
    return f"unflatten(p{len(given) - 1}, ({leaves}))"


def _of_array(t: Any) -> Any:
    """`twin` of a tape's tracer."""
    if hasattr(t, "laid"):
        return twin(t)
    made = new(TapeTracer)
    made.value, made.owner, made.node, made.kind = t.value, t.owner, t.node, t.kind
    return made


def _of_number(t: Any) -> Any:
    """The same where nothing can be written into it, so that it need not be another one."""
    return twin(t) if hasattr(t, "laid") else t


new = object.__new__
_SCOPE = {
    **{name: kind for kind, name in NUMBERS.items()},  # locals of a loop: the quickest names
    "NOTHING": NOTHING,
    "TapeTracer": TapeTracer,
    "dict": dict,
    "list": list,
    "ndarray": ndarray,
    "of_array": _of_array,
    "of_number": _of_number,
    "true": np.True_,
    "tuple": tuple,
    "unflatten": tree.unflatten,
}
