"""What calls of SciPy's share whose arguments are functions of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import operand
from funcgrad.errors import AbstractValueError, located
from funcgrad.numpy.function_calls import FUNCTIONS, TRACED, state
from funcgrad.transforms.captures import walked
from funcgrad.transforms.closures import converted

__all__ = ["array", "is_traced", "staged"]


def array(x: Any) -> Any:
    """`x`, which may be a list of traced values, as an operand."""
    made = FUNCTIONS[np.asarray](x) if isinstance(x, (list, tuple)) else x
    return operand(made)


def is_traced(x: Any) -> bool:
    """Whether anything in an argument is traced, or closes over what is."""
    if isinstance(x, dict):
        return any(map(is_traced, x.values()))
    if isinstance(x, (list, tuple)):
        return any(map(is_traced, x))
    if state(x) == TRACED:
        return True
    if callable(x) and not isinstance(x, type):
        return bool(walked(x).traced)
    held = getattr(x, "__dict__", None)
    return held is not None and type(x).__module__.startswith("scipy.") and is_traced(held)


def staged(f: Callable[..., Any], *kinds: Any, of: str = "SciPy") -> tuple[Any, list[Any]]:
    """`f` as a graph that takes what it closes over behind its arguments, and that."""
    try:
        return converted(f, kinds)
    except AbstractValueError as error:
        told = next(iter(str(error).splitlines()))
        raise AbstractValueError(
            located(
                f"{told} ({of} differentiates a function without knowing at which points SciPy "
                "will call it: choose with np.where in it)"
            )
        ) from error
