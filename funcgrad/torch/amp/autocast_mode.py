"""Autocasting on the CPU: which dtype operations compute in, by PyTorch's lists (`policies`)."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal

from funcgrad.errors import outside
from funcgrad.torch import dtypes
from funcgrad.torch.amp.policies import cache, cast_all
from funcgrad.torch.device import kind_of_device
from funcgrad.torch.modes import modes

__all__ = [
    "autocast", "clear_autocast_cache", "custom_bwd", "custom_fwd", "get_autocast_cpu_dtype",
    "get_autocast_dtype", "is_autocast_available", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype",
    "set_autocast_enabled",
]  # fmt: skip

DEVICES = ("cpu", "cuda", "mtia", "maia", "xpu", "ipu", "hpu", "xla", "mps")
KINDS = (dtypes.bfloat16, dtypes.float16)
CUDA = "CUDA is not available or torch_xla is imported. Disabling autocast."
WRONG = (
    "In {device} autocast, but the target dtype is not supported. Disabling autocast.\n"
    "{device} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
)
NOT_HERE = "In {device} autocast: there is the CPU only. Disabling autocast."


class _State(threading.local):
    """The dtypes that are set for each device, and how many contexts are around."""

    def __init__(self) -> None:
        self.kinds = {"cpu": dtypes.bfloat16}
        self.nesting = 0


state = _State()


class autocast:
    """A part of a program in which some operations compute in 16 bits, and some in float32.

    By PyTorch's lists for the CPU, products of matrices, convolutions and attention take their
    operands in `dtype`, losses, factorisations and Fourier transforms in float32; all others
    compute in the dtype of their operands. Gradients of weights are of the weights' dtype. Used as
    a context or as a decorator; each thread has its own.

    Parameters
    ----------
    device_type : str
        ``"cpu"``; others are disabled, with a warning: there is none.
    dtype : torch.dtype, optional
        ``torch.bfloat16``, the default, or ``torch.float16``.
    enabled, cache_enabled : bool, optional
        Whether anything is cast, and whether the weights are cast once.

    Raises
    ------
    RuntimeError
        A kind of device that PyTorch does not know.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> w = torch.ones(2, 2, requires_grad=True)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     y = w @ torch.ones(2)
    >>> y.dtype, y.exp().dtype
    (torch.bfloat16, torch.bfloat16)
    >>> y.sum().backward()
    >>> w.grad.dtype
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
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self.device = device_type
        said = None
        if device_type != "cpu":
            said = CUDA if device_type == "cuda" else NOT_HERE.format(device=device_type.upper())
        elif self.fast_dtype not in KINDS:
            said = WRONG.format(device=device_type.upper())
        if enabled and said is not None:
            warnings.warn(said, UserWarning, stacklevel=outside())
        self._enabled = enabled and said is None
        self._cache = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._before: list[tuple[Any, ...]] = []

    def __enter__(self) -> autocast:
        self._before.append((modes.autocast, modes.autocast_cache, dict(state.kinds)))
        if self.device == "cpu":
            state.kinds["cpu"] = self.fast_dtype
            modes.autocast = self.fast_dtype if self._enabled else None
        modes.autocast_cache = self._cache
        state.nesting += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        state.nesting -= 1
        if not state.nesting:
            clear_autocast_cache()
        modes.autocast, modes.autocast_cache, state.kinds = self._before.pop()
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


# ------------------------------------------------------------------------------------- the state


def is_autocast_available(device_type: str) -> bool:
    """Whether PyTorch knows autocasting for a kind of device."""
    return kind_of_device(device_type) in DEVICES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations on a kind of device are cast."""
    return kind_of_device(device_type) == "cpu" and modes.autocast is not None


def is_autocast_cpu_enabled() -> bool:
    """Whether operations on the CPU are cast."""
    return is_autocast_enabled("cpu")


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype of the operations of the first list: bfloat16, for CUDA float16."""
    kind = kind_of_device(device_type)
    return state.kinds.get(kind, dtypes.float16 if kind == "cuda" else dtypes.bfloat16)


def get_autocast_cpu_dtype() -> Any:
    """`get_autocast_dtype` of the CPU."""
    return get_autocast_dtype("cpu")


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Choose the dtype of the operations of the first list."""
    state.kinds[kind_of_device(device_type)] = dtype
    if is_autocast_enabled(device_type):
        modes.autocast = dtype


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype` of the CPU."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocasting on the CPU on or off; there is no other device."""
    if kind_of_device(device_type) == "cpu":
        modes.autocast = get_autocast_dtype("cpu") if enabled else None


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled` of the CPU."""
    set_autocast_enabled("cpu", enabled)


def is_autocast_cache_enabled() -> bool:
    """Whether the weights that were cast are kept until the end of the outermost `autocast`."""
    return modes.autocast_cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Choose whether the weights that were cast are kept."""
    modes.autocast_cache = enabled


def clear_autocast_cache() -> None:
    """Forget the weights that were cast."""
    cache.clear()


# ---------------------------------------------------------------------------- custom functions


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None
) -> Callable[..., Any]:
    """Let the `forward` of an `autograd.Function` know the autocasting around it.

    With `cast_inputs`, a dtype, floating point tensors are cast to that, and `forward` runs without
    autocasting, where it is enabled around the call.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        found = args[0]
        found._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        found._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*cast_all(args, cast_inputs), **cast_all(kwargs, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Let the `backward` of an `autograd.Function` run under the autocasting of its `forward`."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        found = args[0]
        with autocast(device_type, enabled=found._fwd_used_autocast, dtype=found._dtype):
            return bwd(*args, **kwargs)

    return backward
