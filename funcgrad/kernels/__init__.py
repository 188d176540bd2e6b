"""The kernels of eager mode: the backward pass of large arrays in functions jitted by Numba.

A tape hands the cotangent of a large array to `pull`; small arrays never come here. Nothing in this
file or in what it imports brings in Numba: kernels are loaded where that pays (see `choice`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.kernels import (
    channels,
    convolution,
    elementwise,
    irregular,
    likelihood,
    losses,
    normalization,
    rows,
    segments,
)
from funcgrad.kernels.choice import FEWEST, explain
from funcgrad.ops.losses import SQUARED_ERROR

__all__ = ["FEWEST", "PULLS", "ROWS", "explain"]

Pull = Callable[..., tuple[Any, bool]]
# by the name of the primitive: (node, cotangent) -> (cotangents of the operands, whether they are
# arrays that nobody else has); they may be told that the cotangent is such an array
PULLS: dict[str, Pull] = dict.fromkeys(elementwise.NAMES, elementwise.pull)
PULLS |= irregular.PULLS
# the same of reductions, whose cotangents are small: they look at the operand
ROWS: dict[str, Pull] = dict.fromkeys(rows.NAMES, rows.pull)
ROWS |= dict.fromkeys(losses.FORMS, losses.pull)
ROWS |= normalization.PULLS | channels.PULLS
ROWS |= segments.PULLS

channels.install()
convolution.install()
irregular.install()
likelihood.install()
losses.install(SQUARED_ERROR)
normalization.install()
segments.install()
