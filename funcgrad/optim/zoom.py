"""The line search of `optim.lbfgs`: an interval is found, and zoomed into.

Algorithms 3.5 and 3.6 of Nocedal and Wright 2006, with the approximate condition of Hager and Zhang
2006 where values differ by rounding alone. Every choice is a selection, so that the search is one
`while_loop`, which is compiled, mapped and run as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.transforms.api import while_loop

__all__ = ["Conditions", "Point", "zoom"]


class Point(NamedTuple):
    """A length of the step, and the value and the slope there."""

    t: Any
    value: Any
    slope: Any


class Conditions(NamedTuple):
    """What a step has to meet, and how it is looked for (`scale_by_zoom_linesearch`)."""

    steps: int
    longest: Any
    tol: Any
    increase: Any
    slope: Any
    curvature: Any
    approximate: Any
    precision: Any


class _Search(NamedTuple):
    count: Any
    at: Point
    gradient: Any
    outside: Any  # whether the value or the slope there is no number
    found: Any  # whether an interval is
    done: Any
    failed: Any
    low: Point
    high: Point
    reference: Point  # a third point of the cubic polynomial
    safe: Point  # where the value has fallen enough, whatever the slope
    safe_gradient: Any


Evaluate = Callable[[Any], tuple[Any, Any, Any]]


def zoom(
    evaluate: Evaluate, value: Any, slope: Any, gradient: Any, guess: Any, wanted: Conditions
) -> tuple[Any, Any, Any]:
    """The length of a step, and the value and the gradient there.

    ``evaluate(t)`` gives the value, the slope and the gradient after a step of length `t`; `value`,
    `slope` and `gradient` are those before it.
    """
    start = Point(np.float64(0.0), _float(value), _float(slope))
    no = np.bool_(False)
    first = _Search(
        np.int64(0), start, gradient, no, no, no, no, start, start, start, start, gradient
    )

    def step(s: _Search) -> _Search:
        return _step(s, start, evaluate, guess, wanted)

    with np.errstate(all="ignore"):  # an interpolation that fails is not taken
        last = while_loop(lambda s: fnp.logical_not(s.done | s.failed), step, first)
    back = last.failed & ((last.safe.t > 0) | last.outside)
    point, gradient = _chosen(back, (last.safe, last.safe_gradient), (last.at, last.gradient))
    return point.t, point.value, gradient


def _step(s: _Search, start: Point, evaluate: Evaluate, guess: Any, wanted: Conditions) -> _Search:
    longer = fnp.where(s.count == 0, guess, wanted.increase * s.at.t)
    capped = np.bool_(False)
    if wanted.longest is not None:
        capped = longer >= wanted.longest
        longer = fnp.minimum(longer, wanted.longest)
    t = _float(fnp.where(s.found, _between(s), longer))
    value, slope, gradient = evaluate(t)
    new = Point(t, _float(value), _float(slope))
    fall, curvature = _lacks(new, start, wanted)
    good = fnp.maximum(fall, curvature) <= wanted.tol
    falls = fall <= wanted.tol
    safer = falls & (fnp.logical_not(s.found) | (new.value < s.safe.value))
    safe, safe_gradient = _chosen(safer, (new, gradient), (s.safe, s.safe_gradient))

    begins, low, high, reference = _begun(s, new, fall)
    low, high, reference = _chosen(s.found, _narrowed(s, new, fall), (low, high, reference))
    found = s.found | begins | good
    done = good | (capped & fnp.logical_not(found))
    exhausted = s.count + 1 >= wanted.steps
    small = s.found & (fnp.abs(s.high.t - s.low.t) <= wanted.precision) & (safe.t > 0)
    failed = (exhausted | small) & fnp.logical_not(done)
    return _Search(
        s.count + 1, new, gradient, fnp.isinf(fall), found, done, failed,
        low, high, reference, safe, safe_gradient,
    )  # fmt: skip


Interval = tuple[Point, Point, Point]


def _begun(s: _Search, new: Point, fall: Any) -> tuple[Any, Point, Point, Point]:
    """Whether the last step and the new one enclose an interval, its ends and the third point."""
    high = (fall > 0) | ((new.value >= s.at.value) & (s.count > 0))
    low = (new.slope >= 0) & fnp.logical_not(high)
    one, other = _chosen(low, (new, s.at), (s.at, new))
    return high | low, one, other, one


def _narrowed(s: _Search, new: Point, fall: Any) -> Interval:
    """The part of the interval that holds a good step, and the third point."""
    high = (fall > 0) | (new.value >= s.low.value)
    turned = (new.slope * (s.high.t - s.low.t) >= 0) & fnp.logical_not(high)
    end = _chosen(high, new, _chosen(turned, s.low, s.high))
    reference = _chosen(high | turned, s.high, s.low)
    return _chosen(high, s.low, new), end, reference


def _lacks(new: Point, start: Point, wanted: Conditions) -> tuple[Any, Any]:
    """By how much the value falls too little, and how much too steep the function still is."""
    change = new.value - start.value
    fall = change - wanted.slope * new.t * start.slope
    if wanted.approximate is not None:
        near = new.slope - (2.0 * wanted.slope - 1.0) * start.slope
        near = fnp.maximum(near, change - wanted.approximate * fnp.abs(start.value))
        fall = fnp.minimum(near, fall)
    steep = fnp.abs(new.slope) - wanted.curvature * fnp.abs(start.slope)
    return _lack(fall), _lack(steep)


def _lack(x: Any) -> Any:
    return fnp.where(fnp.isnan(x), np.inf, fnp.maximum(x, 0.0))


def _between(s: _Search) -> Any:
    """The minimum of a cubic polynomial, else of a quadratic one, else the middle."""
    low, high = s.low, s.high
    left, right = fnp.minimum(low.t, high.t), fnp.maximum(low.t, high.t)
    length = right - left
    cubic, quadratic = _cubic(low, high, s.reference), _quadratic(low, high)
    fits = (cubic > left + 0.2 * length) & (cubic < right - 0.2 * length)
    other = (quadratic > left + 0.1 * length) & (quadratic < right - 0.1 * length)
    return fnp.where(fits, cubic, fnp.where(other, quadratic, (low.t + high.t) / 2.0))


def _cubic(a: Point, b: Point, c: Point) -> Any:
    """Where the cubic polynomial through three values has its minimum, or no number."""
    db, dc = b.t - a.t, c.t - a.t
    scale = (db * dc) ** 2 * (db - dc)
    one, other = b.value - a.value - a.slope * db, c.value - a.value - a.slope * dc
    cube = (dc**2 * one - db**2 * other) / scale
    square = (db**3 * other - dc**3 * one) / scale
    return a.t + (fnp.sqrt(square * square - 3.0 * cube * a.slope) - square) / (3.0 * cube)


def _quadratic(a: Point, b: Point) -> Any:
    """Where the quadratic polynomial through two values has its minimum, or no number."""
    db = b.t - a.t
    return a.t - a.slope / (2.0 * ((b.value - a.value - a.slope * db) / db**2))


def _chosen(condition: Any, one: Any, other: Any) -> Any:
    return tree.map(lambda a, b: fnp.where(condition, a, b), one, other)


def _float(x: Any) -> Any:
    return fnp.astype(fnp.asarray(x), np.float64)
