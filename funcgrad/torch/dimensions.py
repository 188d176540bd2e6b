"""Which dimensions an argument ``dim`` names, and PyTorch's errors where there are none."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["axes_of", "axis_of", "check_flag", "check_requires_grad"]


def check_flag(function: str, argument: str, position: int, given: Any) -> bool:
    """A flag; PyTorch's TypeError for anything but a bool."""
    if not isinstance(given, (bool, np.bool_)):
        raise TypeError(_no_bool(f"{function}(): ", f"{argument}' (position {position})", given))
    return bool(given)


def check_requires_grad(given: Any, function: str = "", position: str = "") -> bool:
    """The argument `requires_grad`: a bool of Python's, or None."""
    if given is not None and type(given) is not bool:
        name = f"{function}(): " if function else ""
        raise TypeError(_no_bool(name, f"requires_grad'{position}", given))
    return bool(given)


def _no_bool(start: str, argument: str, given: Any) -> str:
    kind = type(given).__name__ if not isinstance(given, np.bool_) else "numpy.bool"
    return f"{start}argument '{argument} must be bool, not {kind}"


def axis_of(dim: Any, ndim: int, extra: int = 0) -> int:
    """A dimension counted from the front; PyTorch's IndexError when there is none."""
    n = max(ndim + extra, 1)
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}")
    k = dim.__index__()
    if not -n <= k < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {k})"
        )
    return int(k) % n


def axes_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """Dimensions to be reduced: all for None and for an empty list."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    found = tuple(axis_of(d, ndim) for d in dims)
    for d in found:
        if found.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return found if ndim else ()
