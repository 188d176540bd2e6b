"""Results in C order of large operands that lie otherwise.

NumPy keeps the order of the operand's axes in a reduction or a running sum, PyTorch does not. Small
operands, for which recipes are written, and traced ones go another way (`operations.dense`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.primitive import Params, Primitive

__all__ = ["LAID", "value"]

LAID: set[Primitive] = set()  # whose results lie in C order


def value(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    """What the operation gives for raw operands; None where NumPy lays it in C order anyway."""
    x = xs[0]
    if type(x) is not np.ndarray or x.flags.c_contiguous:
        return None
    y = prim.impl(*xs, **params)
    return y.reshape(-1).reshape(y.shape) if type(y) is np.ndarray else y
