"""The processor that native code is made for.

LLVM takes a feature string at its word: a wrong one kills the process or makes code that traps. So
features come from the running processor only, and the one change allowed is to leave some out.
What LLVM said of a processor is remembered on disk, for processes that build nothing. It imports
config, the store and processor; llvmlite inside functions.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import threading
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from funcgrad.compile import store
from funcgrad.compile.imports import importing
from funcgrad.compile.llvm.emission import target_machine
from funcgrad.compile.llvm.processor import identity
from funcgrad.config import config
from funcgrad.errors import CompilerError

__all__ = [
    "Target",
    "binding",
    "host",
    "known",
    "lock",
    "machine",
    "vector_width",
    "without_avx512",
]

lock = threading.RLock()
"""Held during all work with LLVM. A fork waits for it, so that no child inherits LLVM's state half
changed."""
_held: list[Any] = []  # locks of llvmlite, during a fork


def _before_fork() -> None:
    """llvmlite's own lock is waited for, too: what is collected is disposed of without ours."""
    lock.acquire()
    ffi = sys.modules.get("llvmlite.binding.ffi")
    theirs = getattr(type(getattr(ffi, "lib", None)), "_lock", None)
    if theirs is not None:
        _held.append(theirs.__get__(ffi.lib))  # type: ignore[union-attr]
        _held[-1].__enter__()


def _after_fork() -> None:
    while _held:
        _held.pop().__exit__(None, None, None)
    lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )

# What 512-bit code of ours uses: all of it, or none.
_AVX512 = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})


@dataclass(frozen=True)
class Target:
    """A processor as LLVM names it, and what the printers need to know of it.

    Attributes
    ----------
    triple, cpu, features, data_layout : str
        As LLVM writes them; `features` lists every feature with its sign.
    version : str
        Those of llvmlite and LLVM.
    code_model : str
        "small" where the linker puts a library into one piece of memory, else "jitdefault".
    avx512 : bool
        Whether the 512-bit instructions and their estimates (`rcp14`, `vscalef`) may be used.
    vector_bits : int
        The width of a vector register: 512, 256 or 128.
    """

    triple: str
    cpu: str
    features: str
    data_layout: str
    version: str
    code_model: str
    avx512: bool
    vector_bits: int

    @property
    def description(self) -> str:
        """All that code generation depends on, in one string: a part of the cache's key."""
        return "\n".join(self.parts)

    @property
    def processor(self) -> tuple[str, str, str, str]:
        """What code is made for; see `emission`."""
        return self.triple, self.cpu, self.features, self.code_model

    @property
    def parts(self) -> tuple[str, ...]:
        """What LLVM said, and how it was asked to make code."""
        return (
            self.triple,
            self.cpu,
            self.features,
            self.data_layout,
            self.version,
            self.code_model,
        )


def host() -> Target:
    """The processor of this process, without AVX-512 if `config.avx512` says so."""
    with lock:
        found = _detect()
    return found if config.avx512 else without_avx512(found)


@functools.cache
def _detect() -> Target:
    """What LLVM says of the processor, now or to an earlier process with the same processor."""
    key = _key()
    kept = None if key is None else store.read(key)
    if kept is not None:
        return _described(kept.decode().split("\n"))
    found = _ask()
    if key is not None:
        store.write(key, found.description.encode())
    return found


def known() -> bool:
    """Whether code was made for this processor before, so that what we write ourselves is there."""
    key = _key() if config.cache else None
    return key is not None and store.read(key) is not None


def _key() -> str | None:
    """The name under which the answer of the installed LLVM for this processor is kept."""
    spec = find_spec("llvmlite")
    own = identity()
    if own is None or spec is None or not spec.origin:
        return None
    library = os.path.join(os.path.dirname(spec.origin), "binding", "libllvmlite.so")
    try:
        status = os.stat(library)
    except OSError:  # not where the wheels have it
        return None
    parts = (store.FORMAT, own, library, status.st_size, status.st_mtime_ns)
    return hashlib.blake2b(repr(parts).encode(), digest_size=24).hexdigest()


def _ask() -> Target:
    try:
        with importing:
            import llvmlite
    except ImportError as error:
        raise CompilerError(
            f"llvmlite cannot be imported ({error}): pip install llvmlite"
        ) from None

    llvm = binding()
    # JITLink, which places a library in one block so that near calls always reach, does not link
    # Windows' objects; there the older linker needs far addresses.
    target = Target(
        triple=llvm.get_process_triple(),
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        data_layout="",
        version=f"{llvmlite.__version__} {llvm.llvm_version_info}",
        code_model="jitdefault" if os.name == "nt" else "small",
        avx512=False,
        vector_bits=128,
    )
    layout = str(machine(target).target_data)
    return _with_width(replace(target, data_layout=layout))


def _described(parts: list[str]) -> Target:
    """The target with these `parts`."""
    triple, cpu, features, data_layout, version, code_model = parts
    return _with_width(Target(triple, cpu, features, data_layout, version, code_model, False, 128))


@functools.cache
def without_avx512(target: Target) -> Target:
    """The same processor with every AVX-512 and AVX10 feature left out."""
    features = ",".join(
        "-" + f[1:] if f[1:].startswith(("avx512", "avx10", "evex512")) else f
        for f in target.features.split(",")
    )
    return _with_width(replace(target, features=features))


def _with_width(target: Target) -> Target:
    avx512, bits = vector_width(target.features)
    return replace(target, avx512=avx512, vector_bits=bits)


def vector_width(features: str) -> tuple[bool, int]:
    """`Target.avx512` and `Target.vector_bits` of a list of features as LLVM writes it."""
    present = {f[1:] for f in features.split(",") if f.startswith("+")}
    avx512 = present >= _AVX512
    return avx512, 512 if avx512 else 256 if {"avx2", "fma"} <= present else 128


@functools.cache
def machine(target: Target) -> Any:
    """The code generator for `target`; one thread at a time may use it."""
    return target_machine(binding(), target.processor, 2)


@functools.cache
def binding() -> Any:
    """`llvmlite.binding`, with LLVM set up for the processor of this process."""
    with importing:
        import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    return llvm
