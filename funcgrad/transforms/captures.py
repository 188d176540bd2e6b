"""What a function brings along: the arrays, numbers and functions that it can reach by name.

`jit` looks at them on every call, so that a cached graph is never stale: arrays become operands,
numbers and texts part of the key, and a traced value means that the function is staged anew.
Looked at are closure cells, defaults, the globals that the code names, the function behind a
bound method and its object, containers, and of other objects, classes and modules the attributes
that any code on the way names (`transforms.walk`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.watch import ABSENT, Item, Look, Watch
from funcgrad.compile.watch import Array as Content
from funcgrad.core.tracer import type_of
from funcgrad.core.types import ArrayType
from funcgrad.transforms.checksum import checksum
from funcgrad.transforms.guard import is_frozen
from funcgrad.transforms.walk import visit

__all__ = ["Captures", "capture"]

COPIED = 64 * 1024  # bytes, up to which a captured array is compared with a copy


def content(x: np.ndarray[Any, Any]) -> bytes:
    """What tells the content of an array: the bytes of a tiny one, which no checksum beats."""
    return x.tobytes() if x.nbytes <= 1024 else checksum(x)


class Captures:
    """The arrays in the order of the walk, the key of everything else, and whether traced.

    `places` says where each thing was found, so that one can look there again without a walk
    (`watches`); `watched` is False where something lies that cannot be looked at in this way.
    """

    def __init__(self, home: str, names: set[str]) -> None:
        self.home = home  # the package of the function
        self.names = names  # the attributes to look at
        self.named: set[str] = set()  # those that the code on the way names
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.key: list[Hashable] = []
        self.labels: list[tuple[str, ...]] = []  # where each part of the key was found
        self.path: list[str] = []
        self.array_paths: list[tuple[str, ...]] = []
        self.generators: list[Any] = []  # of random numbers
        self.traced = False
        self.seen: dict[int, Any] = {}
        self.watched = True
        self.places: dict[Hashable, Watch] = {}
        # What the function does with the content of an array in Python, a branch for example,
        # happens while it is traced: arrays are part of the key by content.
        self.read: list[tuple[np.ndarray[Any, Any], ArrayType, bytes]] = []

    def add(self, part: Hashable) -> None:
        """A part of the key that was found on the way at hand."""
        self.key.append(part)
        self.labels.append(tuple(self.path))

    @contextlib.contextmanager
    def at(self, name: str) -> Iterator[None]:
        """What is found meanwhile lies there, for `jit`'s report."""
        self.path.append(name)
        yield
        self.path.pop()

    def saw(self, place: Watch) -> None:
        """Note what a place holds, once for each place."""
        holder = place[0]
        self.places[type(place), id(holder), place[1] if type(place) is Item else None] = place

    def saw_item(self, holder: dict[str, Any], name: str) -> None:
        self.saw(Item(holder, name, holder.get(name, ABSENT)))

    def looked(self, x: Any, look: Callable[[str], Any], name: str, value: Any) -> None:
        """Note what a function gives for a name of `x`."""
        self.places[Look, id(x), name] = Look(look, name, value)

    def watches(self) -> list[Watch]:
        """All that has to hold for this to be what the function brings along."""
        found = list(self.places.values())
        for x, kind, known in self.read:
            found += _watches_of(x, kind, known)
        return found

    def changed(self) -> list[np.ndarray[Any, Any]]:
        """The arrays that are no longer what they were."""
        return [x for x, kind, known in self.read if type_of(x) != kind or content(x) != known]


def _watches_of(x: np.ndarray[Any, Any], kind: ArrayType, known: bytes) -> list[Watch]:
    """An array has to keep its content; one that nobody can write into is not read for that."""
    if is_frozen(x):
        found: list[Watch] = []
        each: Any = x
        while each is not None:
            found.append(Content.frozen(each))
            each = each.base
        return found
    if x.nbytes <= COPIED and x.flags.c_contiguous:
        return [Content.of(x)]
    address = x.__array_interface__["data"][0]
    return [Look(functools.partial(_is_still, kind, address, known), x, True)]


def _is_still(kind: ArrayType, address: int, known: bytes, x: np.ndarray[Any, Any]) -> bool:
    at = x.__array_interface__["data"][0]
    return type_of(x) == kind and at == address and content(x) == known


def capture(f: Any, given: Sequence[Any] = ()) -> Captures:
    """Walk over what `f`, and objects that are `given` to it, can reach.

    An object may be handed to code that names other attributes of it than where it was found, so
    the walk is done again until no new name turns up.
    """
    inner = f
    while isinstance(inner, functools.partial):
        inner = getattr(inner, "__wrapped__", inner.func)
    home = str(getattr(inner, "__module__", None)).split(".")[0]
    found = Captures(home, set())
    while True:
        visit(f, found)
        for x in given:
            with found.at("a static argument"):
                visit(x, found)
        if found.named <= found.names:
            found.read = [(x, type_of(x), content(x)) for x in found.arrays]
            where = {id(x): path for x, path in zip(found.arrays, found.array_paths, strict=True)}
            for x, _, known in found.read:
                found.path = [*where[id(x)], "content"]
                found.add(known)
            return found
        found = Captures(home, found.names | found.named)
