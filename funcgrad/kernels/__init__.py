"""The kernels of eager mode: the backward pass of large arrays in functions jitted by Numba.

A tape hands the cotangent of a large array to `pull`; small arrays never come here. Nothing in this
file or in what it imports brings in Numba: kernels are loaded where that pays (see `choice`).
"""

from __future__ import annotations

from funcgrad.kernels import (  # noqa: F401 (they put themselves in front of the primitives)
    channels,
    convolution,
    elementwise,
    irregular,
    likelihood,
    moving,
    normalization,
    rows,
    segments,
)
from funcgrad.kernels.choice import FEWEST, explain

__all__ = ["FEWEST", "explain"]
