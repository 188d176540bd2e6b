"""`numpy.emath`: functions that leave the real numbers where they have to, NumPy's programs.

Whether a result is complex depends on the values, which have to be known: under `jit` and `vmap`
these functions are a named error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.numpy.borrowed import program
from funcgrad.numpy.calls import known, numpy_function

__all__: list[str] = []


def _define(plain: Any) -> Callable[..., Any]:
    def call(*operands: Any) -> Any:
        for x in operands:
            known(x, f"the dtype of numpy.emath.{plain.__name__}()")
        return program(plain)(*operands)

    call.__name__ = plain.__name__
    call.__doc__ = f"`numpy.emath.{plain.__name__}` of values that are known."
    return call


for _plain in (getattr(np.emath, name) for name in dir(np.emath) if not name.startswith("_")):
    numpy_function(_plain, lacks=("jit", "vmap"))(_define(_plain))
