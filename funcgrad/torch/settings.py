"""Settings of PyTorch's that are settings of funcgrad: threads, and the same bits in every run."""

from __future__ import annotations

from typing import Any

from funcgrad.config import config
from funcgrad.torch.device import CPU, check_device, device

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_default_device",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_device",
    "set_float32_matmul_precision",
    "set_num_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_asked = {"mode": False, "warn_only": False}
_precision = ["highest"]
_warnings = {"always": False}
PRECISIONS = ("highest", "high", "medium")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Let a program give the same bits whenever it runs.

    Every operation here is deterministic, but one thing depends on what the machine has on disk:
    whether a kernel of Numba takes the place of NumPy, which differs by a few ulp. With `mode` each
    kernel that is not there is compiled when it is first of use, which lasts some tenths of a
    second (``funcgrad.config.kernels = "always"``). Where kernels are switched off they stay so,
    and nothing depends on that.

    Parameters
    ----------
    mode : bool
    warn_only : bool, optional
        Kept, and without effect: no operation is refused.

    Raises
    ------
    TypeError
        A mode that is no bool.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    for what, value, place in (("mode", mode, " (position 1)"), ("warn_only", warn_only, "")):
        if type(value) is not bool:
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{what}'{place} must be bool, not "
                f"{type(value).__name__}"
            )
    _asked.update(mode=mode, warn_only=warn_only)
    if config.kernels:
        config.kernels = "always" if mode else True


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told last."""
    return _asked["mode"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What `use_deterministic_algorithms` was told last of warnings."""
    return _asked["warn_only"]


def set_num_threads(number: int) -> None:
    """Let one operation use so many threads (``funcgrad.config.threads``); bits stay the same.

    Raises
    ------
    RuntimeError
        What is no positive integer.
    """
    if type(number) is not int:
        raise RuntimeError(f"set_num_threads expects an int, but got {type(number).__name__}")
    if number < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    config.threads = number


def get_num_threads() -> int:
    """How many threads one operation may use."""
    return config.threads


def get_num_interop_threads() -> int:
    """How many operations may run at once: one."""
    return 1


def set_default_device(device: Any) -> None:
    """Accept the CPU, on which every tensor is, or None.

    Raises
    ------
    AssertionError
        Any other device, at once.
    """
    check_device(device)


def get_default_device() -> device:
    """Where new tensors are: the CPU."""
    return CPU


def set_float32_matmul_precision(precision: str) -> None:
    """Say how exact products of float32 have to be; here they are always exact to float32."""
    if precision not in PRECISIONS:
        raise RuntimeError(f"invalid precision {precision!r}: it is one of {', '.join(PRECISIONS)}")
    _precision[0] = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told last."""
    return _precision[0]


def set_warn_always(b: bool, /) -> None:
    """Let a warning that is given the first time only be given each time.

    Raises
    ------
    RuntimeError
        What is no bool.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.set_warn_always(True)
    >>> torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    if type(b) is not bool:
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _warnings["always"] = b


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was told last."""
    return _warnings["always"]
