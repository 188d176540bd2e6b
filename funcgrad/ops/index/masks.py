"""Where an array is not 0: as many positions as there are such elements.

Under `jit` the number is not known. It is then counted in the arguments at hand, written into the
graph, and checked on every call: another number raises `SizeChanged`, and `jit` traces anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import Linear, each_lane, linear
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, concrete, look, type_of, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.index.basic import getitem

__all__ = ["NONZERO", "SizeChanged", "positions"]


class SizeChanged(Exception):
    """An equation of a graph found another number of elements than it was traced for.

    The mark names the equation: it is the variable in which it looked first.
    """

    def __init__(self, mark: Any, size: int) -> None:
        super().__init__(f"found {size} elements")
        self.mark, self.size = mark, size


def _nonzero(x: Any, size: int, mark: Any) -> Any:
    columns = np.nonzero(x)
    found = len(columns[0])
    if found != size:
        raise SizeChanged(mark, found)
    return np.stack(columns, 1)


NONZERO: Linear = linear(
    "nonzero",
    _nonzero,
    (None,),
    lambda x, *, size, mark: ArrayType((size, x.ndim), np.dtype(np.intp)),
    lambda size, xs, batched, params: each_lane(NONZERO, size, xs, batched, params),
    sample=lambda: [
        Sample((np.array([True, False, True]),), {"size": 2, "mark": -1}),
        Sample((np.array([[0, 2], [3, 0]]),), {"size": 2, "mark": -1}),
        Sample((np.zeros((2, 3), bool),), {"size": 0, "mark": -1}),
    ],
)
NONZERO.checks = True


def positions(x: Any, what: str) -> tuple[Array, ...]:
    """NumPy's `nonzero`: one array of integers for each axis.

    Where their number cannot be found out, an error calls `x` what the user wrote: `what`.
    """
    if concrete(x):
        return np.nonzero(value(x))
    while not x.abstract:
        x = x.value
    seen = look(
        x,
        f"{what} whose values are not known (under vmap, or for an abstract argument) selects an "
        "unknown number of elements; use where(mask, x, other) instead",
    )
    numbers = {"size": len(np.nonzero(seen)[0]), "mark": x.payload}
    table = bind(NONZERO, (x,), numbers)
    return tuple(getitem(table, (slice(None), k)) for k in range(type_of(x).ndim))
