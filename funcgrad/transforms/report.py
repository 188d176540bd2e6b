"""Why a jitted function was traced: each tracing next to the earlier one that is most like it."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from funcgrad import tree
from funcgrad.core.types import ArrayType
from funcgrad.transforms.captures import Captures

__all__ = ["Report"]

REMEMBERED = 100  # tracings


class Traced(NamedTuple):
    """What a tracing depended on, and what is said about it."""

    definition: tree.TreeDef
    types: tuple[ArrayType, ...]
    paths: tuple[str, ...]
    static: Any
    captured: dict[tuple[str, ...], tuple[Hashable, ...]]
    sizes: tuple[int, ...]
    lies: dict[int, Any]  # in memory, of the arguments for which it makes a difference
    text: str


class Report:
    """The tracings of one function, the last hundred of them."""

    def __init__(self) -> None:
        self.tracings: deque[Traced] = deque(maxlen=REMEMBERED)
        self.count = 0
        self.unseen: dict[str, None] = {}  # what cannot be followed
        self.said: set[str] = set()  # of these, what a warning has named

    def add(
        self,
        arguments: Any,
        types: Sequence[ArrayType],
        static: Any,
        captures: Captures,
        sizes: tuple[int, ...],
        lies: dict[int, Any],
        kept: bool,
    ) -> None:
        """Note a tracing for a tree of arguments, positional ones and those by name."""
        definition = tree.structure(arguments)
        new = Traced(
            definition,
            tuple(types),
            tuple(map(_name, tree.paths(definition))),
            static,
            _by_label(captures),
            sizes,
            lies,
            "",
        )
        alike = [_differences(old, new) for old in self.tracings if old.definition == definition]
        if alike:
            lines = min(alike, key=len)
        elif self.tracings:
            before = self.tracings[-1].definition
            lines = [f"another structure of arguments: {before} became {definition}"]
        else:
            lines = ["the first call"]
        if captures.traced:
            lines = [*lines, "it captures a value that is being traced, so nothing is kept"]
        elif not kept:
            why = "random numbers were drawn, the clock was read, or a capture changed meanwhile"
            lines = [*lines, f"nothing is kept: {why}"]
        lines = lines or ["it was dropped: only the last combinations are kept"]
        self.count += 1
        self.tracings.append(new._replace(text=f"{self.count}. " + "\n   ".join(lines)))

    def __str__(self) -> str:
        lines = [each.text for each in self.tracings] or ["not traced yet"]
        return "\n".join([*lines, *(f"not followed: {what}" for what in self.unseen)])


def _name(path: str) -> str:
    """How a leaf is named by its path in (positional arguments, those by name)."""
    kind, rest = path[:3], path[3:]
    first, _, inner = rest[1:].partition("]")
    return f"argument {first}{inner}" if kind == "[0]" else f"{first.strip(chr(39))}{inner}"


def _by_label(captures: Captures) -> dict[tuple[str, ...], tuple[Hashable, ...]]:
    found: dict[tuple[str, ...], list[Hashable]] = {}
    for label, part in zip(captures.labels, captures.key, strict=True):
        found.setdefault(label, []).append(part)
    return {label: tuple(parts) for label, parts in found.items()}


def _differences(old: Traced, new: Traced) -> list[str]:
    found = [
        f"{path}: {a} became {b}"
        for path, a, b in zip(new.paths, old.types, new.types, strict=True)
        if a != b
    ]
    for k in old.lies.keys() & new.lies.keys():
        if old.types[k] == new.types[k] and old.lies[k] != new.lies[k]:
            found.append(f"{new.paths[k]} lies in memory in another order")
    if old.static != new.static:
        found.append(f"static values: {_shown(old.static)} became {_shown(new.static)}")
    for label in {**old.captured, **new.captured}:
        before, after = old.captured.get(label), new.captured.get(label)
        if before != after:
            found.append(_changed(label, before, after))
    if old.sizes != new.sizes:
        found.append(f"masks select other numbers of elements: {old.sizes} became {new.sizes}")
    return found


def _shown(static: Any) -> str:
    return ", ".join(f"{k}: {x!r}" for k, _, x in static) or "none"


def _changed(label: tuple[str, ...], before: Any, after: Any) -> str:
    name = ".".join(label[:-1] if label[-1:] == ("content",) else label) or "the function"
    if label[-1:] == ("content",):
        return f"captured {name}: other elements"
    if before and after and len(before) == len(after):
        old, new = next((a, b) for a, b in zip(before, after, strict=True) if a != b)
        if _is_shown(old) and _is_shown(new):
            return f"captured {name}: {old[1]} became {new[1]}"
    return f"captured {name} changed"


def _is_shown(part: Any) -> bool:
    """Whether a part of a key is a number or a text with its class."""
    plain = (int, float, bool, str, complex, bytes, type(None))
    return isinstance(part, tuple) and len(part) == 2 and part[0] in plain
