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
import platform
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from funcgrad.compile import store
from funcgrad.compile.llvm.target import lock
from funcgrad.compile.numba.stored import folder, stored_in

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
    found = folder("kernels-1", fingerprint())
    if found is None:
        found = tempfile.mkdtemp(prefix="funcgrad-")  # of mode 700
        atexit.register(shutil.rmtree, found, ignore_errors=True)
    return found


@functools.cache
def _kernels() -> dict[str, Any]:
    """All kernels by name. Nothing is compiled yet."""
    found: dict[str, Any] = {}
    with stored_in(_folder()):  # read while the functions are decorated
        for name in MODULES:
            found |= vars(importlib.import_module(f"funcgrad.kernels.{name}"))
    return found


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
