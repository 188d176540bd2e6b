"""The kernels of eager mode: the backward pass of large arrays in functions jitted by Numba.

A tape hands the cotangent of a large array to `pull`; small arrays never come here. Nothing in this
file or in what it imports brings in Numba: kernels are loaded where that pays (see `choice`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.kernels import elementwise
from funcgrad.kernels.choice import FEWEST, explain

__all__ = ["FEWEST", "PULLS", "explain"]

# by the name of the primitive: (node, cotangent) -> (cotangents of the operands, whether they are
# arrays that nobody else has)
PULLS: dict[str, Callable[[Any, Any], tuple[Any, bool]]] = dict.fromkeys(
    elementwise.NAMES, elementwise.pull
)
