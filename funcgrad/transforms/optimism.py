"""Derivatives that are tried without marks of what is absent, and made again with them on NaN.

Without marks, a 0 in the place of an absent element is multiplied by partials, and by an infinite
one it is NaN. A NaN survives every linear operation that does not drop it, so that results
without one are right; this needs results that can be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from funcgrad.core.effects import logged
from funcgrad.core.tracer import Tracer, operand, running
from funcgrad.errors import LaterTransformError, located
from funcgrad.ops.storage import OlderWrites
from funcgrad.transforms.batch import BatchTracer

__all__ = ["SMALL", "MarksNeededError", "has_nan", "optimistic", "seen", "settled"]

T = TypeVar("T")
SMALL = 4096  # up to here one product tells whether there is a NaN sooner than two passes


class MarksNeededError(Exception):
    """A rule that runs code of the user was given a NaN, which may stand for an absent element."""


def optimistic(run: Callable[[bool], tuple[T, Iterable[Any]]], given: Iterable[Any]) -> T:
    """What ``run(marked)`` finds, without marks where the derivatives beside it have no NaN.

    They are followed from the start where one of the operands `given` is traced by what hides its
    numbers, or such a transform runs: the derivative may depend on values of it that are captured.
    """
    if running.watching or running.hiding or not all(map(seen, given)):
        return run(True)[0]
    with logged() as log, OlderWrites() as writes:
        try:
            found, derivatives = run(False)
        except MarksNeededError:
            pass
        else:
            if all(map(settled, derivatives)):
                return found
        if writes.happened():
            raise LaterTransformError(
                located(
                    "a derivative of forward mode has a NaN, for which its function is called a "
                    "second time, and it has written into an array that is older than the "
                    "transform; create that array inside the function, or return it"
                )
            )
        log.again()
        return run(True)[0]


def seen(x: Any) -> bool:
    """Whether all numbers of `x` are there to be looked at, those of its tangents included."""
    return _holds(x, _is_there)


def settled(x: Any) -> bool:
    """Whether all numbers of `x` can be looked at, and none is NaN."""
    return _holds(x, _is_number)


def _holds(x: Any, test: Callable[[Any], bool]) -> bool:
    """Whether the arrays that `x` is made of, through vmap and forward mode, all pass `test`."""
    if type(x) is np.ndarray and x.dtype.char != "O":
        return test(x)
    x = operand(x)
    if not isinstance(x, Tracer):
        return test(x)
    if isinstance(x, BatchTracer):
        return _holds(x.value, test)
    tangent = getattr(x, "tangent", None)
    return tangent is not None and _holds(x.value, test) and _holds(tangent, test)


def _is_there(c: Any) -> bool:
    return True


def _is_number(c: Any) -> bool:
    return not has_nan(c)


def has_nan(c: Any) -> bool:
    if type(c) is np.ndarray:
        if c.size <= SMALL:
            total = c.dot(c) if c.ndim == 1 else np.vdot(c, c)
            return bool(total != total)
        total = np.add.reduce(c, None)  # a NaN, or infinities of both signs, make it NaN
        return bool(total != total) and bool(np.isnan(c).any())
    return not isinstance(c, Tracer) and bool(c != c)
