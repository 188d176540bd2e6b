"""What a function brings along: the arrays, numbers and functions that it can reach by name.

`jit` looks at them on every call, so that a cached graph is never stale: arrays become operands,
numbers and texts part of the key, and a traced value means that the function is staged anew. The
walk (`transforms.walk`) is that of the facade's `compile`; here is what `jit` makes of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.guards import Array as Content
from funcgrad.compile.guards import Guard, Look
from funcgrad.config import config
from funcgrad.core.tracer import type_of
from funcgrad.core.types import ArrayType
from funcgrad.errors import CaptureError, CaptureWarning, located, warn_at_line
from funcgrad.transforms.captured_kinds import handler
from funcgrad.transforms.checksum import checksum
from funcgrad.transforms.guard import is_frozen
from funcgrad.transforms.readings import METHODS, reads
from funcgrad.transforms.walk import Path, Walk, package_of

__all__ = [
    "Captures",
    "announce",
    "capture",
    "content",
    "walked",
    "guards_of",
]

COPIED = 64 * 1024  # bytes, up to which a captured array is compared with a copy


def content(x: np.ndarray[Any, Any]) -> bytes:
    """What tells the content of an array: the bytes of a tiny one, which no checksum beats."""
    return x.tobytes() if x.nbytes <= 1024 else checksum(x)


class Captures(Walk):
    """A walk with the content of arrays.

    What the function does with the content of an array in Python, a branch for example, happens
    while it is traced: arrays are part of the key by content (`read`).
    """

    reads = False  # whether it can reach what reads the time or a file
    random = False  # whether a module of that name is used, NumPy's or Python's

    def __init__(self, home: str) -> None:
        super().__init__(home)
        self.read: list[tuple[np.ndarray[Any, Any], ArrayType, bytes]] = []

    @staticmethod
    def handler(cls: type) -> Callable[[Any, Any, Path], None]:
        return handler(cls)

    def used(self, f: Any, module: str, name: str = "", line: int = 0) -> None:
        self.reads |= reads(module, name)
        self.random |= "random" in (*module.split("."), name)
        super().used(f, module, name, line)

    def run(self) -> None:
        super().run()
        self.reads |= not METHODS.isdisjoint(self.names)

    def read_arrays(self) -> None:
        """Make the content of the arrays part of the key."""
        for x, path in zip(self.arrays, self.array_paths, strict=True):
            known = content(x)
            self.read.append((x, type_of(x), known))
            self.add(known, (*path, "content"))
            if "flags" in self.names:
                self.told(x, lambda x: x.flags.num, path)

    def guards(self) -> list[Guard]:
        found = super().guards()
        for x, _, known in self.read:
            found += guards_of(x, known)
        return found

    def changed(self) -> list[np.ndarray[Any, Any]]:
        """The arrays that are no longer what they were."""
        return [x for x, aval, known in self.read if type_of(x) != aval or content(x) != known]


def guards_of(x: np.ndarray[Any, Any], known: bytes) -> list[Guard]:
    """An array has to keep its content; one that nobody can write into is not read for that."""
    if x.flags.c_contiguous:
        if is_frozen(x):
            found: list[Guard] = []
            each: Any = x
            while each is not None:
                found.append(Content.frozen(each))
                each = each.base
            return found
        if x.nbytes <= COPIED:
            return [Content.of(x)]
    address = x.__array_interface__["data"][0]
    still = functools.partial(_is_still, (type_of(x), x.strides, address), known, is_frozen(x))
    return [Look(still, x, True)]


def _is_still(place: Any, known: bytes, frozen: bool, x: np.ndarray[Any, Any]) -> bool:
    if (type_of(x), x.strides, x.__array_interface__["data"][0]) != place:
        return False
    return (frozen and is_frozen(x)) or content(x) == known


def walked(f: Any, given: Sequence[Any] = ()) -> Captures:
    """The walk over what `f`, and objects that are `given` to it, can reach."""
    found = Captures(package_of(f))
    found.more(f, ())
    for x in given:
        found.more(x, ("a static argument",))
    found.run()
    return found


def capture(f: Any, given: Sequence[Any] = ()) -> Captures:
    """The same, with the content of the arrays as a part of the key."""
    found = walked(f, given)
    found.read_arrays()
    return found


def announce(name: str, unseen: Iterable[str], said: set[str]) -> None:
    """Say once what of a function cannot be followed, as `config.captures` wants it.

    Raises
    ------
    CaptureError
        ``config.captures`` is "error".
    """
    new = [what for what in unseen if what not in said]
    if not new or config.captures == "ignore":
        return
    text = located(
        f"{name}: {'; '.join(new)}; if that changes, the compiled function does not: give it what "
        "changes as an argument"
    )
    if config.captures == "error":
        raise CaptureError(text)
    said.update(new)
    warn_at_line(text, CaptureWarning)
