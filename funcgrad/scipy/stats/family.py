"""What a row of the tables of distributions states, and the usual supports."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ANY", "HALF", "INF", "LOG_ROOT_2PI", "POSITIVE", "UNIT", "Family", "Formula"]

Formula = Callable[..., Any]
INF = math.inf
LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


class Family(NamedTuple):
    """A row of the table; formulas take `y` and the shapes, moments the shapes alone."""

    logpdf: Formula
    cdf: Formula | None = None
    sf: Formula | None = None
    logcdf: Formula | None = None
    logsf: Formula | None = None
    support: tuple[Any, Any] = (-INF, INF)  # numbers, or functions of the shapes
    closed: bool = True  # whether the logarithm of the density has a derivative at the ends
    inside: Any = 1.0  # a point within the support, or a function of the shapes
    allowed: Formula | None = None  # which shapes are; by default the positive ones
    mean: Formula | None = None
    var: Formula | None = None
    entropy: Formula | None = None
    shapes: tuple[float, ...] = ()  # an example


HALF: dict[str, Any] = {"support": (0.0, INF)}
POSITIVE: dict[str, Any] = {"support": (0.0, INF), "closed": False}
UNIT: dict[str, Any] = {"support": (0.0, 1.0), "inside": 0.5}
ANY: dict[str, Any] = {"allowed": lambda *_: True}
