"""A digest of our own files, in the names under which what they made is kept on disk."""

from __future__ import annotations

import functools
import hashlib
import os

__all__ = ["sources"]

_ROOMS = ("core", "ops", "graph", "passes", "compile")  # on which a program depends


@functools.cache
def sources() -> str | None:
    """A digest of our files, by time and size: what other sources made is not taken for ours."""
    package = os.path.dirname(os.path.dirname(__file__))
    waiting = [os.path.join(package, room) for room in _ROOMS]
    found = []
    try:
        while waiting:
            with os.scandir(waiting.pop()) as listing:
                for item in listing:
                    if item.name.endswith(".py"):
                        status = item.stat()
                        name = item.path[len(package) :]
                        found.append(f"{name} {status.st_size} {status.st_mtime_ns}")
                    elif item.name != "__pycache__" and item.is_dir():
                        waiting.append(item.path)
    except OSError:  # not installed as files
        return None
    return hashlib.blake2b("\n".join(sorted(found)).encode(), digest_size=24).hexdigest()
