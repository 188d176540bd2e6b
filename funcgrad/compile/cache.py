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
    "first_tier",
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
    key = key_of(text, optimize, linked, target)
    return _library(key, lambda: text, optimize, linked, symbols or {}, target)


def written(
    write: Callable[[], str], *about: object, optimize: bool = False, symbols: Mapping[str, int]
) -> objects.Library:
    """The linked module that our files write, given what it is `about`.

    It need not be written where its code is kept: the key is the digest of our files.
    """
    target, own = host(), sources()
    parts = (own, sys.version, *about)
    key = key_of(write() if own is None else repr(parts), optimize, (), target)
    return _library(key, write, optimize, (), symbols, target)


def _library(
    key: str,
    write: Callable[[], str],
    optimize: bool,
    linked: Sequence[str],
    symbols: Mapping[str, int],
    target: Target,
) -> objects.Library:
    place = (key, *sorted(symbols.items()))
    with lock:
        found = _libraries.get(place)
        if found is None:
            found = objects.load(_object_code(key, write, optimize, linked, target), symbols)
            _libraries[place] = found
        else:
            statistics.memory += 1
        return found


def stored(key: str, symbols: Mapping[str, int]) -> objects.Library | None:
    """The library of this key, if its code was built before and is still there."""
    place = (key, *sorted(symbols.items()))
    with lock:
        found = _libraries.get(place)
        if found is not None:
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
            _remember(key, code)
        found = _libraries[place] = objects.load(code, symbols)
        return found


def built(key: str, build: Callable[[], bytes]) -> objects.Library:
    """The library of this key; `build` gives its code where nobody has built it before."""
    with lock:
        found = stored(key, {})
        if found is None:
            code = build()
            statistics.built += 1
            store.write(key, code)
            _remember(key, code)
            found = stored(key, {})
            assert found is not None
        return found


def first_tier(text: str, symbols: Mapping[str, int], target: Target) -> objects.Library:
    """The linked module `text`, of code that is used until good code is there."""
    statistics.built += 1
    return objects.load(objects.build(text, target=target, first_tier=True), symbols)


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


def _object_code(
    key: str, write: Callable[[], str], optimize: bool, linked: Sequence[str], target: Target
) -> bytes:
    code = _recent.get(key)
    if code is not None:
        statistics.memory += 1
        _recent.move_to_end(key)
        return code
    code = store.read(key)
    if code is not None:
        statistics.disk += 1
    else:
        code = objects.build(write(), optimize=optimize, linked=linked, target=target)
        statistics.built += 1
        store.write(key, code)
    _remember(key, code)
    return code


def _remember(key: str, code: bytes) -> None:
    _recent[key] = code
    total = sum(map(len, _recent.values()))
    while total > _RECENT_BYTES:
        total -= len(_recent.popitem(last=False)[1])
