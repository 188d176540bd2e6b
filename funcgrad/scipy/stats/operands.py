"""Operands of the methods of distributions: numbers in double precision, and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import elementwise
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import cast
from funcgrad.scipy.special.define import fixed

__all__ = ["COUNT", "number"]

COUNT = elementwise(
    np.floor,
    fixed("scipy.stats", "the count k"),
    name="scipy_stats_count",
    sample=lambda: [Sample((np.arange(3),))],
)


def number(x: Any) -> Array:
    """An operand in double precision, in which SciPy computes all distributions."""
    x = operand(x)
    kind = type_of(x)
    if kind.dtype == np.float64 and not kind.weak:
        return x
    return cast(x, np.float64)
