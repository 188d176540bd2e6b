"""The kernels of eager mode: the backward pass of large arrays in functions jitted by Numba.

A tape hands the cotangent of a large array to `pull`; small arrays never come here. Nothing in this
file or in what it imports brings in Numba: kernels are loaded where that pays (see `choice`).
"""

from __future__ import annotations

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

__all__ = ["FEWEST", "explain"]

channels.install()
convolution.install()
elementwise.install()
irregular.install()
likelihood.install()
losses.install(SQUARED_ERROR)
normalization.install()
rows.install()
segments.install()
