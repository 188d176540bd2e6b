"""Folders of our own for what Numba compiles, and functions whose machine code is kept there.

Numba's cache unpickles what it finds, so it never lies where others can write: it is in a private
folder beside our own cache, or nowhere. Numba is imported inside functions.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from funcgrad.compile import store

__all__ = ["folder", "kept", "stored_in"]

MONTH = 30 * 24 * 3600.0


def folder(name: str, digest: str) -> str | None:
    """A private folder for machine code of the sources with a digest; None if there can be none.

    Those of other digests are let go of when they have not been used for a month.
    """
    above = store.private_folder(name)
    if above is None:
        return None
    found = os.path.join(above, digest)
    os.makedirs(found, mode=0o700, exist_ok=True)
    with suppress(OSError):
        os.utime(found)
        for other in os.scandir(above):
            if other.stat().st_mtime < time.time() - MONTH:
                shutil.rmtree(other.path, ignore_errors=True)
    return found


@contextmanager
def stored_in(place: str) -> Iterator[None]:
    """Numba's cache for functions that are decorated meanwhile."""
    import numba

    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = place
    try:
        yield
    finally:
        config.CACHE_DIR = before


@functools.cache
def _digest() -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def kept(function: Any) -> Any:
    """A function of Numba's whose machine code is on disk from the second process on.

    It has to come from a file: of others, and where there is no folder, nothing is kept.
    """
    place = folder("numba-1", _digest())
    if place is not None:
        with stored_in(place), suppress(RuntimeError):
            function.enable_caching()
    return function
