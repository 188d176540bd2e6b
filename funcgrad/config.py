"""Settings of funcgrad: one object, read where needed and written by the user.

It imports nothing of funcgrad. A setting never changes a result, only checks, reports and speed.
"""

from __future__ import annotations

import ctypes
import functools
import os
import types
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from funcgrad.errors import nearest, outside

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


_VARIABLES = {"FUNCGRAD_TESTS"}  # the environment variables that are read here, and by our tests


def _variable(name: str) -> str:
    """What the user says of a setting outside of the program; empty where nothing is said."""
    _VARIABLES.add(name)
    return os.environ.get(name, "")


def _threads() -> int:
    text = _variable("FUNCGRAD_THREADS")
    if not text:
        return _usable_cores()
    if not text.isdecimal() or not int(text):
        raise ValueError(f"the environment variable FUNCGRAD_THREADS={text} is no positive integer")
    return int(text)


_SWITCH = {"on": True, "1": True, "yes": True, "true": True, "": True}
_SWITCH |= {"off": False, "0": False, "no": False, "false": False}


def _switch(name: str) -> bool:
    return bool(_choice(name, _SWITCH))


def _choice(name: str, choices: Mapping[str, Any]) -> Any:
    """What a variable with a few possible values says, in small or capital letters."""
    text = _variable(name)
    if text.lower() not in choices:
        words = ", ".join(filter(None, choices))
        raise ValueError(f"the environment variable {name}={text} is none of {words}")
    return choices[text.lower()]


def _kernels() -> bool | Literal["always"]:
    found: bool | Literal["always"] = _choice("FUNCGRAD_KERNELS", {**_SWITCH, "always": "always"})
    return found


def _traceback() -> Literal["program", "full"]:
    choices = {"": "program", "program": "program", "full": "full"}
    found: Literal["program", "full"] = _choice("FUNCGRAD_TRACEBACK", choices)
    return found


def _backend() -> Literal["llvm", "interpreter"]:
    choices = {"": "llvm", "llvm": "llvm", "interpreter": "interpreter"}
    found: Literal["llvm", "interpreter"] = _choice("FUNCGRAD_BACKEND", choices)
    return found


def _tiers() -> Literal["both", "first", "second"]:
    choices = {"": "both", "both": "both", "first": "first", "second": "second"}
    found: Literal["both", "first", "second"] = _choice("FUNCGRAD_TIERS", choices)
    return found


@dataclass
class Config:
    """The settings; `funcgrad.config` is the one instance.

    Attributes
    ----------
    copy_limit : int
        Arrays of the caller that a backward pass needs are copied up to this many bytes, arguments
        that it differentiates by up to 64 times as many; larger ones are watched by a checksum,
        and an error is raised when they were changed.
    debug : bool
        Take a cryptographic digest of the arrays that are watched instead of a fast checksum.
    check_keys : bool
        Raise `KeyReuseError` where a key of `funcgrad.random` is used twice, so that two draws have
        the same numbers.
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
        Let large arrays go through Numba's kernels in the backward pass of eager mode; gradients
        then differ by a few ulp from those of NumPy's rules. A kernel whose code is not on disk yet
        is not waited for: see `build_kernels`. With "always" it is compiled when it is first of
        use, whatever that costs, so that a program has the same bits also where nothing is on disk.
        At first what ``FUNCGRAD_KERNELS`` says: off, on, or always.
    build_kernels : bool
        Have a process of low priority build the kernels whose code is not on disk yet, while this
        one goes on. At first false if ``FUNCGRAD_BUILD_KERNELS=off``.
    reused_memory : int
        How many bytes of large results are remembered, to be used again once nobody refers to them.
    captures : "warn", "error" or "ignore"
        What happens where a compiled function reaches what cannot be followed (``eval``, an object
        whose content Python does not show), so that a change of it would not be seen: a
        `CaptureWarning`, a `CaptureError`, or nothing.
    backend : "llvm" or "interpreter"
        What runs the graphs of `jit`: "llvm", native code, or "interpreter", NumPy operation by
        operation, which is the reference, and raises what ``np.errstate(…="raise")`` asks for. At
        first the environment variable ``FUNCGRAD_BACKEND``, or "llvm".
    tiers : "both", "first" or "second"
        What a program that is not on disk yet is compiled to: code made in haste, which the first
        call need not wait for long, and good code, which another process makes meanwhile and which
        takes its place ("both"); the first alone, for programs that run once; or good code at once,
        without another process, as it is made for programs whose calls take long. All have the same
        bits. At first the environment variable ``FUNCGRAD_TIERS``, or "both".
    traceback : "program" or "full"
        What an error that leaves a transform shows: the lines of the program only, or funcgrad's
        own frames, too. At first the environment variable ``FUNCGRAD_TRACEBACK``, or "program".

    Raises
    ------
    AttributeError
        There is no setting of that name.
    ValueError
        It cannot have that value.

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
    check_keys: bool = False
    captures: Literal["warn", "error", "ignore"] = "warn"
    backend: Literal["llvm", "interpreter"] = field(default_factory=_backend)
    tiers: Literal["both", "first", "second"] = field(default_factory=_tiers)
    traceback: Literal["program", "full"] = field(default_factory=_traceback)
    threads: int = field(default_factory=_threads)
    avx512: bool = field(default_factory=lambda: _switch("FUNCGRAD_AVX512"))
    cache: bool = field(default_factory=lambda: _switch("FUNCGRAD_CACHE"))
    cache_directory: str | os.PathLike[str] | None = field(
        default_factory=lambda: _variable("FUNCGRAD_CACHE_DIR") or None
    )
    cache_size: int = 64 * 1024 * 1024
    kernels: bool | Literal["always"] = field(default_factory=_kernels)
    build_kernels: bool = field(default_factory=lambda: _switch("FUNCGRAD_BUILD_KERNELS"))
    reused_memory: int = 256 * 1024 * 1024

    if not TYPE_CHECKING:  # which would take it for a promise of every name

        def __setattr__(self, name, value):
            _check_setting(name, value)
            object.__setattr__(self, name, value)


def _check_setting(name: str, value: object) -> None:
    """Raise for a setting that there is not, or a value that it cannot have."""
    hint = _hints().get(name)
    if hint is None:
        raise AttributeError(f"funcgrad has no setting {name!r}{nearest(name, _hints())}")
    if not _fits(value, hint) or (name == "threads" and value == 0):
        words = "a positive integer" if name == "threads" else " or ".join(_words(hint))
        raise ValueError(f"config.{name} is {words}, not {value!r}")
    if name == "threads" and isinstance(value, int):
        shared_threads.value = value


@functools.cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Config)


def _fits(value: object, hint: Any) -> bool:
    """Whether a setting annotated with `hint` may have this value."""
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if get_origin(hint) in _UNIONS:
        return any(_fits(value, part) for part in get_args(hint))
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, get_origin(hint) or hint)


_UNIONS = (types.UnionType, Union)
_SAID = {bool: ["True", "False"], int: ["a whole number"], str: ["a text"], type(None): ["None"]}


def _words(hint: Any) -> list[str]:
    """What a setting annotated with `hint` may be, for people."""
    if get_origin(hint) is Literal:
        return [f'"{choice}"' for choice in get_args(hint)]
    if get_origin(hint) in _UNIONS:
        return [word for part in get_args(hint) for word in _words(part)]
    return _SAID.get(hint, ["a path"])


def _check_environment() -> None:
    """Tell of variables that look like settings and are none: they would do nothing."""
    for name in os.environ:
        if name.startswith("FUNCGRAD_") and name not in _VARIABLES:
            warnings.warn(
                f"the environment variable {name} is no setting of funcgrad"
                + nearest(name, _VARIABLES),
                RuntimeWarning,
                stacklevel=outside(),
            )


shared_threads = ctypes.c_int64(1)
"""`config.threads` again, where native code can read it without asking Python."""

config = Config()
_check_environment()
