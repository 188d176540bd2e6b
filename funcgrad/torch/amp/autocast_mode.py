"""Autocasting, which has no effect here: each operation computes in the dtype of its operands.

What PyTorch would compute with 16 bits, in order to be faster, is computed in the dtype it has,
which is more exact. PyTorch does the same, with a warning, for what a machine cannot do.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal

from funcgrad.torch.device import kind_of_device
from funcgrad.torch.saved import outside

__all__ = [
    "autocast", "clear_autocast_cache", "custom_bwd", "custom_fwd", "is_autocast_available",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
]  # fmt: skip

DEVICES = ("cpu", "cuda", "mtia", "maia", "xpu", "ipu", "hpu", "xla", "mps")
CUDA = "CUDA is not available or torch_xla is imported. Disabling autocast."
HERE = (
    "In {device} autocast: each operation computes in the dtype of its operands here, also where "
    "PyTorch takes 16 bits in order to be faster. Disabling autocast."
)


class autocast:
    """A part of a program in which PyTorch may compute in 16 bits; accepted, without effect.

    Used as a context or as a decorator. Where it is enabled a warning says that it does nothing.

    Parameters
    ----------
    device_type : str
    dtype : torch.dtype, optional
    enabled, cache_enabled : bool, optional

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> with torch.autocast("cpu", enabled=False):
    ...     (torch.ones(2, 2) @ torch.ones(2)).dtype
    torch.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self.device, self.fast_dtype = device_type, dtype
        if enabled:
            said = CUDA if device_type == "cuda" else HERE.format(device=device_type.upper())
            warnings.warn(said, UserWarning, stacklevel=outside())

    def __enter__(self) -> autocast:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        return False

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you "
                "mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n        output = model(input)"
            )

        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated


def is_autocast_available(device_type: str) -> bool:
    """Whether PyTorch knows autocasting for a kind of device."""
    return kind_of_device(device_type) in DEVICES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations are cast: no."""
    return False


def is_autocast_cpu_enabled() -> bool:
    """Whether operations on the CPU are cast: no."""
    return False


def is_autocast_cache_enabled() -> bool:
    """Whether what was cast is kept within an `autocast`: there is nothing to keep."""
    return True


def clear_autocast_cache() -> None:
    """Forget what was cast: nothing."""


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None
) -> Callable[..., Any]:
    """Mark the `forward` of an `autograd.Function` for autocasting, which has no effect here."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Mark the `backward` of an `autograd.Function` for autocasting, which has no effect here."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd
