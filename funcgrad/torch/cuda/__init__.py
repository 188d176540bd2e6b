"""``torch.cuda``: there is none, and each question about it is answered so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from funcgrad.torch.absent import absent

__all__ = [
    "current_device", "current_stream", "device_count", "empty_cache", "get_arch_list",
    "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state_all",
    "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported", "is_initialized",
    "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved",
    "mem_get_info", "memory_allocated", "memory_reserved", "seed", "seed_all", "set_device",
    "synchronize",
]  # fmt: skip

absent(__name__)


def is_available() -> bool:
    """Whether a GPU can be used: no.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> "cuda" if torch.cuda.is_available() else "cpu"
    'cpu'
    """
    return False


def is_initialized() -> bool:
    """Whether a GPU is in use: no."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU has bfloat16: there is none."""
    return False


def _answers_nothing(name: str, value: Any, purpose: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return value() if callable(value) else value

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{purpose} there is no GPU."
    return function


def _refuses(name: str) -> Callable[..., NoReturn]:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError("Torch not compiled with CUDA enabled")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Refused with PyTorch's AssertionError: there is no GPU."
    return function


empty_cache = _answers_nothing("empty_cache", None, "Nothing to free:")
manual_seed = _answers_nothing("manual_seed", None, "Does nothing:")
manual_seed_all = _answers_nothing("manual_seed_all", None, "Does nothing:")
seed = _answers_nothing("seed", None, "Does nothing:")
seed_all = _answers_nothing("seed_all", None, "Does nothing:")
device_count = _answers_nothing("device_count", 0, "Zero:")
memory_allocated = _answers_nothing("memory_allocated", 0, "Zero:")
max_memory_allocated = _answers_nothing("max_memory_allocated", 0, "Zero:")
memory_reserved = _answers_nothing("memory_reserved", 0, "Zero:")
max_memory_reserved = _answers_nothing("max_memory_reserved", 0, "Zero:")
get_arch_list = _answers_nothing("get_arch_list", list, "An empty list:")
get_rng_state_all = _answers_nothing("get_rng_state_all", list, "An empty list:")
init = _refuses("init")
current_device = _refuses("current_device")
current_stream = _refuses("current_stream")
get_device_name = _refuses("get_device_name")
get_device_capability = _refuses("get_device_capability")
get_device_properties = _refuses("get_device_properties")
initial_seed = _refuses("initial_seed")
ipc_collect = _refuses("ipc_collect")
mem_get_info = _refuses("mem_get_info")
set_device = _refuses("set_device")
synchronize = _refuses("synchronize")
