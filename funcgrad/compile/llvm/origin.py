"""Where code is kept that was built before, and loading it again without the text it was built of.

It does without the printers, which a process that finds everything on disk need not import.
"""

from __future__ import annotations

from typing import NamedTuple

from funcgrad.compile import cache
from funcgrad.compile.llvm.objects import Library

__all__ = ["Origin", "restore"]


class Origin(NamedTuple):
    """The keys under which code and the functions that it calls are kept: (symbol, origin) …"""

    key: str
    calls: tuple[tuple[str, Origin], ...]


def restore(origin: Origin) -> Library | None:
    """The library that was built before, if all of it is still there."""
    symbols: dict[str, int] = {}
    for name, each in origin.calls:
        found = _restored(each)
        if found is None:
            return None
        symbols[name] = found.address(name)
    return cache.stored(origin.key, symbols)


_kept: dict[Origin, Library] = {}  # functions that others call stay for the life of the process


def _restored(origin: Origin) -> Library | None:
    found = _kept.get(origin)
    if found is None:
        found = restore(origin)
        if found is not None:
            found = _kept.setdefault(origin, found)
    return found
