"""Settings of funcgrad: one object, read where needed and written by the user.

It imports nothing of funcgrad. A setting never changes a result, only checks, reports and speed.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Config", "config"]


def _usable_cores() -> int:
    """The cores that this process may use: its affinity, and the quota of its container."""
    try:
        cores = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        cores = os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()[:2]
        if quota != "max":
            cores = min(cores, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        pass
    return max(cores, 1)


def _threads() -> int:
    text = os.environ.get("FUNCGRAD_THREADS", "")
    return int(text) if text.isdecimal() and int(text) else _usable_cores()


def _switch(name: str) -> bool:
    return os.environ.get(name, "").lower() not in ("off", "0", "no", "false")


def _kernels() -> bool | Literal["always"]:
    name = "FUNCGRAD_KERNELS"
    return "always" if os.environ.get(name, "").lower() == "always" else _switch(name)


@dataclass
class Config:
    """The settings; `funcgrad.config` is the one instance.

    Attributes
    ----------
    copy_limit : int
        Arrays of the caller that a backward pass needs are copied up to this many bytes; larger
        ones are watched by a checksum and an error is raised when they were changed.
    debug : bool
        Take a cryptographic digest of the arrays that are watched instead of a fast checksum.
    threads : int
        How many threads a compiled function may use, the caller's among them. At first the
        environment variable ``FUNCGRAD_THREADS``, or the number of usable cores. It may be
        changed at any time and never changes a result.
    avx512 : bool
        Use 512-bit instructions where the processor has them, in what is compiled from now on.
        At first false if ``FUNCGRAD_AVX512=off``.
    cache : bool
        Keep compiled code on disk for the next process. At first false if ``FUNCGRAD_CACHE=off``.
    cache_directory : str or None
        Where to keep it: at first ``FUNCGRAD_CACHE_DIR``; None means ``funcgrad`` in the user's
        cache directory.
    cache_size : int
        The least recently used compiled code is deleted beyond this many bytes.
    kernels : bool or "always"
        Let large arrays go through Numba's kernels in the backward pass of eager mode, where that
        pays; gradients then differ by a few ulp. With "always" every kernel is compiled when it is
        first of use, whatever that costs, so that a program has the same bits whenever it runs. At
        first what ``FUNCGRAD_KERNELS`` says: off, on, or always.
    reused_memory : int
        How many bytes of large results are remembered, to be used again once nobody refers to them.
    backend : str
        What runs the graphs of `jit`: "llvm", native code, or "interpreter", NumPy operation by
        operation, which is the reference, and raises what ``np.errstate(…="raise")`` asks for. At
        first the environment variable ``FUNCGRAD_BACKEND``, or "llvm".

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.config.copy_limit
    65536
    >>> fg.config.threads >= 1
    True
    """

    copy_limit: int = 64 * 1024
    debug: bool = False
    backend: str = field(default_factory=lambda: os.environ.get("FUNCGRAD_BACKEND", "llvm"))
    threads: int = field(default_factory=_threads)
    avx512: bool = field(default_factory=lambda: _switch("FUNCGRAD_AVX512"))
    cache: bool = field(default_factory=lambda: _switch("FUNCGRAD_CACHE"))
    cache_directory: str | None = field(
        default_factory=lambda: os.environ.get("FUNCGRAD_CACHE_DIR") or None
    )
    cache_size: int = 64 * 1024 * 1024
    kernels: bool | Literal["always"] = field(default_factory=_kernels)
    reused_memory: int = 256 * 1024 * 1024

    def __setattr__(self, name: str, value: object) -> None:
        if name == "threads":
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"config.threads is a positive integer, not {value!r}")
            shared_threads.value = value
        if name == "kernels" and not (isinstance(value, bool) or value == "always"):
            raise ValueError(f'config.kernels is True, False or "always", not {value!r}')
        object.__setattr__(self, name, value)


shared_threads = ctypes.c_int64(1)
"""`config.threads` again, where native code can read it without asking Python."""

config = Config()
