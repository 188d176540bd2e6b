"""A digest of our own files, in the names under which what they made is kept on disk."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterable
from importlib.util import find_spec

import numpy as np

from funcgrad.compile import store

__all__ = ["digest_of", "sources", "versions"]

_ROOMS = ("core", "ops", "graph", "passes", "compile")  # on which a program depends
SECOND = 10**9  # nanoseconds


@functools.cache
def sources() -> str | None:
    """A digest of our files and of Python, NumPy, Numba and llvmlite: what others have made is not
    taken for ours. None where we are not installed as files.
    """
    package = os.path.dirname(os.path.dirname(__file__))
    waiting = [os.path.join(package, room) for room in _ROOMS]
    found = []
    try:
        while waiting:
            with os.scandir(waiting.pop()) as listing:
                for item in listing:
                    if item.name.endswith(".py"):
                        found.append(item.path)
                    elif item.name != "__pycache__" and item.is_dir():
                        waiting.append(item.path)
        parts = (digest_of(found), versions("numba", "llvmlite"))
    except OSError:
        return None
    return hashlib.blake2b(repr(parts).encode(), digest_size=24).hexdigest()


@functools.cache
def versions(*packages: str) -> tuple[str, ...]:
    """Those of Python and NumPy, and digests of what states that of other packages, unimported."""
    found = [sys.version, np.__version__]
    for name in packages:
        spec = find_spec(name)
        place = os.path.dirname(spec.origin) if spec is not None and spec.origin else ""
        stated = os.path.join(place, "_version.py")
        found.append(_digest([stated]) if os.path.exists(stated) else place)
    return tuple(found)


def digest_of(files: Iterable[str]) -> str:
    """A digest of the content of files.

    To read all takes some milliseconds, so it is done once for an installation: it is kept under
    what the system says of the files. Their time of change is among that, which nobody can set, as
    the time of modification can be, and as it is where a build or a package is reproducible.
    """
    files = sorted(files)
    seen = [(path, os.stat(path)) for path in files]
    said = [(f, s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for f, s in seen]
    if not _changes_show([s.st_ctime_ns for _, s in seen]):
        return _digest(files)
    key = hashlib.blake2b(repr(("sources", said)).encode(), digest_size=24).hexdigest()
    known = store.read(key)
    if known is not None:
        return known.decode()
    found = _digest(files)
    if [os.stat(f).st_ctime_ns for f in files] == [s.st_ctime_ns for _, s in seen]:
        store.write(key, found.encode())
    return found


def _changes_show(times: Iterable[int]) -> bool:
    """Whether a later change of a file would be seen from its time of change.

    Images of file systems have made-up ones, in whole seconds; and a file that is changed twice
    within a tick of the clock, now, has the same.
    """
    from time import time_ns

    times = list(times)
    return any(t % SECOND for t in times) and max(times) < time_ns() - 2 * SECOND


def _digest(files: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=24)
    for path in files:
        with open(path, "rb") as file:
            content = file.read()
        digest.update(f"{os.path.basename(path)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
