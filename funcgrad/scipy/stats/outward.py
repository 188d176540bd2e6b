"""Integrals of densities that have no formula, by quadrature from a place outward.

A density is given by its logarithm as a function of a variable that takes the whole line, and of
the shapes. From the place the integral goes away from the middle, where the density falls, so that
all of it counts and nothing cancels; the other integral is what is left of 1. The nodes are those
of Takahasi and Mori 1974 for a half line (exp-sinh), which reach from 1e-19 to 1e21 widths; the
width is that over which the density falls to a third. The derivative of the integral is the
integral of the derivative, at the same nodes, so there is one of every order in both modes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import bind, type_of
from funcgrad.ops.arithmetic import add, greater, isfinite, less, logical_and, power, where
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.shape import broadcast_to
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import exp, log, log1p
from funcgrad.scipy.special.differences import along

__all__ = ["exp_sinh", "integrals"]


def exp_sinh(step: float) -> tuple[Any, Any]:
    """Nodes and weights of the half line."""
    t = np.arange(round(-4.0 / step), round(3.65 / step)) * step
    nodes = np.exp(math.pi / 2 * np.sinh(t))
    return nodes, step * math.pi / 2 * np.cosh(t) * nodes


NODES, WEIGHTS = exp_sinh(1 / 40)
_WIDTHS = 4.0 ** np.arange(-24, 31)


def _log_tail(log_density: Callable[..., Any], w: Any, side: Any, shapes: tuple[Any, ...]) -> Any:
    """The logarithm of the integral from `w` to the end on that side."""
    wide = tuple(along(s) for s in shapes)
    here, side = along(w), along(side)
    top = bind(STOP_GRADIENT, (log_density(here, *wide),))
    fallen = log_density(here + side * _WIDTHS, *wide) - top
    steps = total(where(greater(fallen, -1.0), 1.0, 0.0), -1, keepdims=True)
    width = bind(STOP_GRADIENT, (_WIDTHS[0] * power(4.0, steps),))
    found = log_density(here + side * width * NODES, *wide) - top
    there = logical_and(isfinite(found), less(found, 700.0))
    whole = total(where(there, exp(where(there, found, 0.0)), 0.0) * (width * WEIGHTS), -1)
    return log(whole) + top[..., 0]


def integrals(
    log_density: Callable[..., Any],
    place: Callable[..., Any] | None,
    middle: Callable[..., Any],
) -> dict[str, Any]:
    """The integrals of a row.

    Parameters
    ----------
    log_density : callable
        ``log_density(w, *shapes)``, of a variable that takes the whole line.
    place : callable or None
        ``place(y, *shapes)`` is that variable, increasing in y; None for y itself.
    middle : callable
        ``middle(*shapes)``: a place near the mode, in that variable.
    """

    def tail(y: Any, *shapes: Any) -> tuple[Any, Any]:
        w = y if place is None else place(y, *shapes)
        w, *rest = _spread(w, *shapes)
        left = less(w, middle(*rest))
        return left, _log_tail(log_density, w, where(left, -1.0, 1.0), tuple(rest))

    def sided(far: Callable[..., Any], near: Callable[..., Any], below: bool) -> Any:
        def f(y: Any, *shapes: Any) -> Any:
            left, found = tail(y, *shapes)
            first, last = (far, near) if below else (near, far)
            return where(left, first(found), last(found))

        return f

    def rest(found: Any) -> Any:
        return 1.0 - exp(found)

    def log_rest(found: Any) -> Any:
        return log1p(-exp(found))

    return {
        "cdf": sided(exp, rest, True),
        "sf": sided(exp, rest, False),
        "logcdf": sided(lambda x: x, log_rest, True),
        "logsf": sided(lambda x: x, log_rest, False),
    }


def _spread(*xs: Any) -> list[Any]:
    shape = np.broadcast_shapes(*(type_of(x).shape for x in xs))
    return [broadcast_to(add(x, 0.0), shape) for x in xs]
