"""Polynomials by the barycentric formula, which has no derivative at the points themselves.

There SciPy takes the values that it was given, and these know nothing of where x lies. What has the
derivatives there is the same polynomial without its divisions by x - xᵢ.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.interpolate as sp

import funcgrad.numpy as fnp
from funcgrad.core.tracer import concrete, operand, value
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.programs import program
from funcgrad.transforms.stop_gradient import stop_gradient

__all__: list[str] = []

_CLASS = sp.BarycentricInterpolator
_SCIPYS = inspect.unwrap(inspect.getattr_static(_CLASS, "_evaluate"))


@scipy_method(_CLASS, "_evaluate")
def _evaluate(owner: Any, x: Any) -> Any:
    found = program(_SCIPYS)(owner, x)
    if not all(concrete(operand(a)) for a in (x, owner.xi)) or np.ndim(value(x)) != 1:
        return found
    points = np.asarray(value(owner.xi))
    at = np.flatnonzero(np.any(np.asarray(value(x))[:, None] == points, axis=1))
    if not at.size:
        return found
    there = _without_divisions(owner, x[at], 4 / np.ptp(points) if points.size > 1 else 1.0)
    exact = fnp.array(found)
    exact[at] = stop_gradient(exact[at]) + (there - stop_gradient(there))
    return exact


def _without_divisions(owner: Any, x: Any, scale: float) -> Any:
    """sum(wᵢ yᵢ pᵢ) / sum(wᵢ pᵢ), where pᵢ is the product of all x - xⱼ but the i-th."""
    own = np.eye(len(owner.xi), dtype=bool)
    factors = fnp.where(own, 1.0, (x[:, None, None] - owner.xi) * scale)
    weights = owner.wi * fnp.prod(factors, axis=-1)
    return weights @ owner.yi / fnp.sum(weights, axis=-1)[:, None]
