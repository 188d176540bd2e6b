"""What hooks may return: a tensor in the place of each that they were shown, of its type."""

from __future__ import annotations

from typing import Any

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor

__all__ = ["check_is_tensor", "check_replaced", "checked_tuple"]


def _name_of(hook: Any) -> str:
    return f"hook '{getattr(hook, '__name__', '<unknown>')}'"


def check_is_tensor(result: Any) -> None:
    """Raise for anything but a tensor that a hook returned."""
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")


def check_replaced(hook: Any, result: Any, shown: Tensor | None) -> None:
    """Raise unless `result` can take the place of the cotangent `shown`."""
    check_is_tensor(result)
    if shown is None:
        return
    if result.dtype is not shown.dtype:
        raise RuntimeError(
            f"{_name_of(hook)} has changed the type of value (was {dtypes.type_name(shown.dtype)} "
            f"got {dtypes.type_name(result.dtype)})"
        )
    if result.shape != shown.shape:
        raise RuntimeError(f"{_name_of(hook)} has changed the size of value")


def checked_tuple(hook: Any, result: Any, shown: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a hook of a node returned, after a look at its number, types and shapes."""
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(shown):
        raise RuntimeError(
            f"{_name_of(hook)} has returned an incorrect number of values (got {len(result)}, but "
            f"expected {len(shown)})"
        )
    for new, old in zip(result, shown, strict=True):
        if new is not None:
            check_replaced(hook, new, old)
    return result
