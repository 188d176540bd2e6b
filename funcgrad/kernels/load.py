"""The code of kernels: found in the store, or built by Numba and kept there.

The store's seal covers it, and it is placed as the code of `jit` is, so Numba is not imported where
it is found. It is known by what it was made of: the kernel, the content of our files, the versions
and settings of Numba, the processor. Numba is imported inside functions.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
from typing import Any

from funcgrad.compile import cache, store
from funcgrad.compile.llvm.target import Target, host, lock
from funcgrad.compile.sources import digest_of, versions
from funcgrad.errors import CompilerError
from funcgrad.kernels.interrupts import later
from funcgrad.kernels.native import Code, Kernel

__all__ = ["arrived", "dispatcher", "fingerprint", "make", "made", "stored"]

MODULES = (
    "counter_loops",
    "elementwise_generated",
    "likelihood_loops",
    "lines",
    "normalization_loops",
    "segment_loops",
    "updates_generated",
)
SOURCES = ("numba/intrinsics.py", "llvm/body.py", "llvm/emit.py", "llvm/target.py")
# What changes the code that Numba makes.
SETTINGS = ("CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE",
            "BOUNDSCHECK", "DISABLE_JIT", "LLVM_REFPRUNE_PASS", "DEBUGINFO")  # fmt: skip


@functools.cache
def fingerprint() -> str:
    """A digest of all from which kernels are built but themselves, found without Numba."""
    here = os.path.dirname(__file__)
    compiler = os.path.join(os.path.dirname(here), "compile")
    files = [os.path.join(compiler, name) for name in SOURCES]
    for folder in (here, os.path.join(compiler, "llvm", "mathematics")):
        files += [item.path for item in os.scandir(folder) if item.name.endswith(".py")]
    settings = [os.environ.get(f"NUMBA_{name}") for name in SETTINGS]
    parts = (digest_of(files), versions("numba", "llvmlite"), settings)
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _key(kernel: Kernel) -> str:
    return _digest(kernel, host())


@functools.cache
def _digest(kernel: Kernel, target: Target) -> str:
    """Kept: kernels that are not built yet are looked for at each call."""
    parts = (store.FORMAT, fingerprint(), target.description, *kernel)
    return hashlib.blake2b(repr(parts).encode(), digest_size=24).hexdigest()


def _refused(key: str) -> str:
    """The name of the entry that says why a kernel cannot be built."""
    return f"{key}-refused"


def arrived(kernel: Kernel) -> bool:
    """Whether there is code by now, or word that there will be none: a quick look."""
    key = _key(kernel)
    return store.exists(key) or store.exists(_refused(key))


def stored(kernel: Kernel) -> Code | None:
    """The code that was built before, by this process or another one; None if there is none.

    Raises
    ------
    CompilerError
        It was tried before, and cannot be built.
    """
    key = _key(kernel)
    library = cache.stored(key)
    if library is not None:
        return Code.of(library)
    reason = store.read(_refused(key))
    if reason is not None:
        raise CompilerError(reason.decode())
    return None


def make(kernel: Kernel) -> None:
    """Build the code of a kernel and keep it, or why it cannot be built."""
    key = _key(kernel)
    if not store.exists(key):
        try:
            cache.built(key, functools.partial(_build, kernel))
        except Exception as error:
            store.write(_refused(key), (str(error) or repr(error)).encode())


def made(kernel: Kernel) -> Code:
    """The code, built here and now.

    Raises
    ------
    CompilerError
        It cannot be built.
    """
    try:
        with later():
            return Code.of(cache.built(_key(kernel), functools.partial(_build, kernel)))
    except CompilerError:
        raise
    except Exception as error:
        raise CompilerError(str(error) or repr(error)) from error


def _build(kernel: Kernel) -> bytes:
    from funcgrad.kernels.build import build

    return build(dispatcher(kernel.name), kernel)


@functools.cache
def _kernels() -> dict[str, Any]:
    """All kernels by name. Nothing is compiled yet."""
    found: dict[str, Any] = {}
    for name in MODULES:
        found |= vars(importlib.import_module(f"funcgrad.kernels.{name}"))
    return found


def dispatcher(name: str) -> Any:
    """The function of Numba that is called `name`."""
    with lock:
        return _kernels()[name]
