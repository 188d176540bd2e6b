"""Compiled code: looked for in memory, then on disk, then built.

The key is the digest of all that object code depends on: the text, the processor, the versions.
It imports compile/llvm and the store.
"""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from funcgrad.compile import store
from funcgrad.compile.llvm import objects
from funcgrad.compile.llvm.target import Target, host, lock
from funcgrad.compile.sources import sources

__all__ = [
    "Statistics",
    "built",
    "key_of",
    "library",
    "prepare",
    "statistics",
    "stored",
    "written",
]


class Statistics:
    """How often `library` found code in memory, on disk, or had to build it."""

    def __init__(self) -> None:
        self.memory = self.disk = self.built = 0


statistics = Statistics()
_libraries: weakref.WeakValueDictionary[tuple[object, ...], objects.Library]
_libraries = weakref.WeakValueDictionary()
_recent: OrderedDict[str, bytes] = OrderedDict()
_RECENT_BYTES = 16 * 1024 * 1024


def library(
    text: str,
    *,
    optimize: bool = False,
    linked: Sequence[str] = (),
    symbols: Mapping[str, int] | None = None,
    target: Target | None = None,
) -> objects.Library:
    """The linked module `text`; threads that ask for the same one at once get the same one.

    `symbols` are addresses in the process that stay valid for ever, so never those of another
    library. See `objects.build` and `objects.load`.
    """
    target = host() if target is None else target
    return built(
        key_of(text, optimize, linked, target),
        lambda: objects.build(text, optimize=optimize, linked=linked, target=target),
        symbols,
    )


def written(
    write: Callable[[], str], *about: object, optimize: bool = False, symbols: Mapping[str, int]
) -> objects.Library:
    """The linked module that our files write, given what it is `about`.

    It need not be written where its code is kept: the key is the digest of our files.
    """
    target, own = host(), sources()
    parts = (own, sys.version, *about)
    key = key_of(write() if own is None else repr(parts), optimize, (), target)
    return built(key, lambda: objects.build(write(), optimize=optimize, target=target), symbols)


def built(
    key: str, build: Callable[[], bytes], symbols: Mapping[str, int] | None = None
) -> objects.Library:
    """The library of this key; `build` gives its code where nobody has built it before."""
    with lock:
        found = stored(key, symbols)
        if found is None:
            code = build()
            statistics.built += 1
            store.write(key, code)
            found = _placed(key, code, symbols)
        return found


def stored(key: str, symbols: Mapping[str, int] | None = None) -> objects.Library | None:
    """The library of this key, if its code was built before and is still there."""
    with lock:
        if (found := _libraries.get(_place(key, symbols))) is not None:
            statistics.memory += 1
            return found
        code = _recent.get(key)
        if code is not None:
            statistics.memory += 1
        else:
            code = store.read(key)
            if code is None:
                return None
            statistics.disk += 1
        return _placed(key, code, symbols)


def _place(key: str, symbols: Mapping[str, int] | None) -> tuple[object, ...]:
    return (key, *sorted((symbols or {}).items()))


def _placed(key: str, code: bytes, symbols: Mapping[str, int] | None) -> objects.Library:
    _remember(key, code)
    found = _libraries[_place(key, symbols)] = objects.load(code, symbols)
    return found


def prepare(text: str, target: Target, make: Callable[[str, Target], bytes | None]) -> bool:
    """Have good code of a module in memory and on disk, made elsewhere; False if it is not."""
    key = key_of(text, False, (), target)
    with lock:
        code = _recent.get(key) or store.read(key)
    if code is None:
        code = make(text, target)
        if code is None:
            return False
        store.write(key, code)
    with lock:
        _remember(key, code)
    return True


def key_of(text: str, optimize: bool, linked: Sequence[str], target: Target) -> str:
    """The name under which the code of a module is kept."""
    parts = "\0".join((f"{store.FORMAT} {optimize}", target.description, text, *linked))
    return hashlib.blake2b(parts.encode(), digest_size=24).hexdigest()


def _remember(key: str, code: bytes) -> None:
    _recent[key] = code
    _recent.move_to_end(key)
    total = sum(map(len, _recent.values()))
    while total > _RECENT_BYTES:
        total -= len(_recent.popitem(last=False)[1])
