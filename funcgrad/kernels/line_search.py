"""A line search for the strong Wolfe conditions, by cubic interpolation (minFunc; Schmidt 2005).

It goes along a direction until the minimum is bracketed, then narrows the bracket. It takes the
same points as PyTorch's, so that training does the same steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Point", "strong_wolfe"]

Array = np.ndarray[Any, Any]


class Point(NamedTuple):
    """A step length, with the loss, its gradient, and the slope along the direction there."""

    t: float
    loss: float
    gradient: Array
    slope: float


def cubic_minimum(p: Point, q: Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with their slopes is smallest, within bounds."""
    low, high = bounds or (min(p.t, q.t), max(p.t, q.t))
    if p.t > q.t:
        p, q = q, p
    with np.errstate(all="ignore"):
        d1 = p.slope + q.slope - 3 * _ratio(p.loss - q.loss, p.t - q.t)
        square = d1**2 - p.slope * q.slope
        if not square >= 0:
            return (low + high) / 2.0
        d2 = math.sqrt(square)
        share = _ratio(q.slope + d2 - d1, q.slope - p.slope + 2 * d2)
        return min(max(q.t - (q.t - p.t) * share, low), high)


def _ratio(x: float, y: float) -> float:
    return float(np.float64(x) / np.float64(y))


def strong_wolfe(
    evaluate: Callable[[float], Point],
    start: Point,
    t: float,
    length: float,
    *,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Point, int]:
    """The point that is taken, and how often the loss was evaluated.

    `start` is the point at step length 0, `t` the first length to be tried, `length` the largest
    component of the direction.
    """
    search = Search(evaluate, start, c1, c2, max_ls)
    bracket, done = search.bracket(t)
    if not done:
        search.narrow(bracket, length, tolerance_change)
    low = 0 if bracket[0].loss <= bracket[-1].loss else len(bracket) - 1
    return bracket[low], search.evaluations


class Search:
    """One line search."""

    def __init__(
        self, evaluate: Callable[[float], Point], start: Point, c1: float, c2: float, most: int
    ) -> None:
        self.point_at, self.start, self.c1, self.c2, self.most = evaluate, start, c1, c2, most
        self.evaluations = self.steps = 0

    def evaluate(self, t: float) -> Point:
        self.evaluations += 1
        return self.point_at(t)

    def too_high(self, p: Point) -> bool:
        """Whether the loss has not fallen enough: the first Wolfe condition fails."""
        return p.loss > self.start.loss + self.c1 * p.t * self.start.slope

    def flat(self, p: Point) -> bool:
        """Whether the slope is small enough: the second Wolfe condition holds."""
        return abs(p.slope) <= -self.c2 * self.start.slope

    def bracket(self, t: float) -> tuple[list[Point], bool]:
        """Two points with a minimum between them, or one that meets both conditions."""
        before, p = self.start, self.evaluate(t)
        while self.steps < self.most:
            if self.too_high(p) or (self.steps > 1 and p.loss >= before.loss):
                return [before, p], False
            if self.flat(p):
                return [p], True
            if p.slope >= 0:
                return [before, p], False
            reach = (p.t + 0.01 * (p.t - before.t), p.t * 10)
            before, p = p, self.evaluate(cubic_minimum(before, p, reach))
            self.steps += 1
        return [self.start, p], False

    def narrow(self, bracket: list[Point], length: float, tolerance_change: float) -> None:
        """Replace the ends of the bracket until one meets both conditions."""
        stuck = False
        low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        while self.steps < self.most:
            left, right = sorted((bracket[0].t, bracket[1].t))
            if (right - left) * length < tolerance_change:
                return
            t = cubic_minimum(bracket[0], bracket[1])
            margin = 0.1 * (right - left)
            if min(right - t, t - left) < margin:  # too close to an end
                if stuck or t >= right or t <= left:
                    t = right - margin if abs(t - right) < abs(t - left) else left + margin
                    stuck = False
                else:
                    stuck = True
            else:
                stuck = False
            p = self.evaluate(t)
            self.steps += 1
            if self.too_high(p) or p.loss >= bracket[low].loss:
                bracket[high] = p
                low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
                continue
            done = self.flat(p)
            if not done and p.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = p
            if done:
                return
