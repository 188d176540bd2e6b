"""`numpy.emath`: functions that leave the real numbers where they have to, NumPy's programs.

Whether a result is complex depends on the values: under `jit` on those at hand, for which it traces
anew where they are others, and under `vmap` on those of all examples.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.numpy.borrowed import borrow
from funcgrad.numpy.function_calls import numpy_function
from funcgrad.ops import index

__all__: list[str] = []

_SOURCE = "numpy.lib._scimath_impl"


@functools.cache  # not at import, when not all of our functions are there
def _programs() -> dict[str, FunctionType]:
    space: dict[str, Any] = {"__name__": _SOURCE, "__package__": "numpy.lib"}
    made = borrow(space, _SOURCE)
    space["any"] = lambda mask: index.anywhere(mask, "the dtype of a result of numpy.emath")
    return made


def _define(plain: Any) -> Callable[..., Any]:
    def call(*operands: Any) -> Any:
        return _programs()[plain.__name__](*operands)

    call.__name__ = plain.__name__
    call.__doc__ = f"`numpy.emath.{plain.__name__}`; whether it is complex is asked of the values."
    return call


for _plain in (getattr(np.emath, name) for name in dir(np.emath) if not name.startswith("_")):
    numpy_function(_plain)(_define(_plain))
