"""Brings in Numba and the kernels, with a folder of our own for what Numba compiles.

Numba's cache unpickles what it finds, so it never lies where others can write: it is a private
folder beside our own cache, or a temporary one. The folder is named after all sources from which
the machine code comes and which Numba does not look at. Numba is imported inside functions.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib
import os
import platform
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from funcgrad.compile import store
from funcgrad.compile.llvm.target import lock

__all__ = ["dispatcher", "fingerprint", "known", "note"]

MODULES = (
    "convolution_loops",
    "elementwise_generated",
    "likelihood_loops",
    "lines",
    "losses_generated",
    "normalization_loops",
    "reductions",
    "reductions_generated",
    "segment_loops",
    "updates_generated",
)
MONTH = 30 * 24 * 3600.0


@functools.cache
def fingerprint() -> str:
    """A digest of all from which the kernels are compiled, found without Numba."""
    from importlib import metadata  # a quarter of what importing funcgrad would take

    here = Path(__file__).parent
    mathematics = here.parent / "compile" / "llvm"
    files = [*sorted(here.glob("*.py")), here.parent / "compile" / "numba" / "intrinsics.py"]
    files += [mathematics / name for name in ("body.py", "emit.py", "target.py")]
    files += sorted((mathematics / "mathematics").glob("*.py"))
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(file.read_bytes())
    for package in ("numba", "llvmlite", "numpy"):
        with suppress(metadata.PackageNotFoundError):
            digest.update(metadata.version(package).encode())
    digest.update(f"{sys.version} {platform.machine()} {platform.processor()}".encode())
    return digest.hexdigest()


def _folder() -> str:
    """Where Numba keeps machine code, made if need be."""
    above = store.private_folder("kernels-1")
    if above is None:
        folder = tempfile.mkdtemp(prefix="funcgrad-")  # of mode 700
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    folder = os.path.join(above, fingerprint())
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with suppress(OSError):
        os.utime(folder)
        for other in os.scandir(above):
            if other.stat().st_mtime < time.time() - MONTH:
                shutil.rmtree(other.path, ignore_errors=True)
    return folder


@functools.cache
def _kernels() -> dict[str, Any]:
    """All kernels by name. Nothing is compiled yet."""
    import numba

    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = _folder()  # read while the functions are decorated
    try:
        found: dict[str, Any] = {}
        for name in MODULES:
            found |= vars(importlib.import_module(f"funcgrad.kernels.{name}"))
        return found
    finally:
        config.CACHE_DIR = before


def dispatcher(name: str) -> Any:
    """The function of Numba that is called `name`."""
    with lock:
        return _kernels()[name]


def _key(kernel: str) -> str:
    return hashlib.blake2b(f"{fingerprint()} {kernel}".encode(), digest_size=16).hexdigest()


def known(kernel: str) -> bool:
    """Whether `kernel`, a name with types, has been compiled on this machine: a hint."""
    return store.read(_key(kernel)) is not None


def note(kernel: str) -> None:
    """Remember that `kernel` has been compiled."""
    store.write(_key(kernel), kernel.encode())
