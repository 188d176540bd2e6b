"""Where an array is not 0: as many positions as there are such elements.

Under `jit` the number is not known. It is then counted in the arguments at hand, written into the
graph, and checked on every call: another number raises `SizeChanged`, and `jit` traces anew. Under
`vmap` all examples have to select as many, since their results are one array.

Whatever else shapes and dtypes may depend on (the number of distinct elements, whether any is
negative) is asked in the same way, as the number of elements of a mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import Linear, linear
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Tracer, bind, concrete, look, operand, type_of, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import AbstractValueError, located
from funcgrad.ops import constant
from funcgrad.ops.index.basic import getitem
from funcgrad.ops.shape import reshape

__all__ = [
    "BY_MASK",
    "NONZERO",
    "SizeChanged",
    "anywhere",
    "positions",
    "repeated",
    "selected",
]

DIFFER = -1  # the number of elements where examples select different ones

# What errors say is to be done
BY_MASK = "use where(mask, x, other) instead"
ONE_BY_ONE = "call it on values that are known, for one example at a time"


class SizeChanged(Exception):
    """An equation of a graph found another number of elements than it was traced for.

    The mark names the equation: it is the variable in which it looked first.
    """

    def __init__(self, mark: Any, size: int) -> None:
        super().__init__(f"found {size} elements")
        self.mark, self.size = mark, size


def _numbers(x: Any, lanes: int, repeats: bool) -> Any:
    """How many elements each example selects: those that are not 0, or each as often as it says."""
    if repeats and np.any(np.less(x, 0)):
        raise ValueError("repeat() takes no negative counts, bincount() no negative integers")
    axes = tuple(range(lanes, np.ndim(x)))
    return np.sum(x, axis=axes, dtype=np.intp) if repeats else np.count_nonzero(x, axis=axes)


def _number(x: Any, lanes: int, repeats: bool) -> int:
    """The number that all examples select, `DIFFER` where there is no such number."""
    counts = np.unique(_numbers(x, lanes, repeats))
    return int(counts[0]) if len(counts) == 1 else DIFFER if len(counts) else 0


def _nonzero(x: Any, size: int, mark: Any, lanes: int = 0, repeats: bool = False) -> Any:
    found = _number(x, lanes, repeats)
    if found != size and 0 not in x.shape[:lanes]:
        raise SizeChanged(mark, found)
    table = np.stack(np.nonzero(x), 1)
    if repeats:
        table = np.repeat(table, x[x != 0], axis=0)
    return table[:, lanes:].reshape(*x.shape[:lanes], size, x.ndim - lanes)


def _nonzero_type(
    x: ArrayType, *, size: int, mark: Any, lanes: int = 0, repeats: bool = False
) -> ArrayType:
    return ArrayType((*x.shape[:lanes], size, x.ndim - lanes), np.dtype(np.intp))


def _map_nonzero(size: int, xs: Any, batched: Any, params: Any) -> Any:
    return bind(NONZERO, xs, {**params, "lanes": params.get("lanes", 0) + 1})


NONZERO: Linear = linear(
    "nonzero",
    _nonzero,
    (None,),
    _nonzero_type,
    _map_nonzero,
    sample=lambda: [
        Sample((np.array([True, False, True]),), {"size": 2, "mark": -1}),
        Sample((np.array([[0, 2], [3, 0]]),), {"size": 2, "mark": -1}),
        Sample((np.array([[0, 2], [3, 0]]),), {"size": 1, "mark": -1, "lanes": 1}),
        Sample((np.zeros((2, 3), bool),), {"size": 0, "mark": -1}),
        Sample((np.array([2, 0, 1]),), {"size": 3, "mark": -1, "repeats": True}),
        Sample((np.array([[2, 0], [1, 1]]),), {"size": 2, "mark": -1, "lanes": 1, "repeats": True}),
    ],
)
NONZERO.checks = True


def positions(x: Any, what: str, instead: str = BY_MASK) -> tuple[Array, ...]:
    """NumPy's `nonzero`: one array of integers for each axis.

    Where their number cannot be found out, an error calls it `what`, and says what to do `instead`.
    """
    if concrete(x):
        return np.nonzero(value(x))
    table = _table(x, what, instead, repeats=False)
    return tuple(getitem(table, (slice(None), k)) for k in range(type_of(x).ndim))


def repeated(counts: Any, what: str) -> Array:
    """Each position of an array of counts as often as it says: ``repeat(arange(n), counts)``.

    Where their sum cannot be found out, an error calls it `what`.
    """
    if concrete(counts):
        return np.repeat(np.arange(type_of(counts).size), value(counts))
    return getitem(_table(counts, what, ONE_BY_ONE, repeats=True), (slice(None), 0))


def _table(x: Any, what: str, instead: str, repeats: bool) -> Array:
    """What `NONZERO` selects, a position a row, as many as for the arguments at hand."""
    seen = look(
        x,
        f"{what} depends on values that are not known (of an abstract argument, or in the body of "
        f"a loop or of a cond); {instead}",
    )
    lanes = np.ndim(seen) - type_of(x).ndim
    size = _number(seen, lanes, repeats)
    if size == DIFFER:
        counts = _numbers(seen, lanes, repeats)
        raise AbstractValueError(
            located(
                f"{what} differs between the examples that vmap maps over ({counts.min()} to "
                f"{counts.max()}), which are computed as one array; {instead}"
            )
        )
    params = {"size": size, "mark": _mark(x, lanes, repeats)}
    return bind(NONZERO, (x,), {**params, "repeats": True} if repeats else params)


def _mark(x: Any, lanes: int, repeats: bool) -> Any:
    """The variable of a graph that an abstract `x` stands for, and what of it is counted."""
    while isinstance(x, Tracer) and not (x.abstract and not x.owner.maps):
        x = x.value
    mark = x.payload if isinstance(x, Tracer) else None
    return (mark, lanes, repeats) if lanes or repeats else mark


def selected(mask: Any, what: str, instead: str = ONE_BY_ONE) -> int:
    """How many elements of a mask hold, as a number of Python's; see `positions`."""
    return int(type_of(positions(mask, what, instead)[0]).shape[0])


def anywhere(mask: Any, what: str) -> bool:
    """Whether a mask holds in any place, in any of the examples that are mapped."""
    whole = operand(mask)
    while isinstance(whole, Tracer) and (whole.owner.maps or not whole.abstract):
        whole = whole.value
    if concrete(whole):
        return bool(np.any(value(whole)))
    one = constant.any(whole, None, False)
    return bool(selected(reshape(one, (1,)), what))
