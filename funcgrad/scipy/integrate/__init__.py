"""``funcgrad.scipy.integrate``: integrals of samples for plain and traced arrays.

Every name, signature and value is SciPy's; with nothing traced SciPy's own function is called. The
samples and the points at which they were taken are differentiable.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.integrate import simpson
>>> fg.grad(simpson)(np.ones(5)).round(12)
array([0.33333333, 1.33333333, 0.66666667, 1.33333333, 0.33333333])
"""

from __future__ import annotations

from typing import Any

from funcgrad.scipy.integrate.samples import (
    cumulative_simpson,
    cumulative_trapezoid,
    romb,
    simpson,
    trapezoid,
)

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "romb", "simpson", "trapezoid"]


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"funcgrad.scipy.integrate has no {name!r}: either SciPy has none, or funcgrad has no "
        "derivative of it"
    )
