"""How results lie in memory: as PyTorch lays them, where NumPy does it otherwise.

NumPy gives an elementwise result C order unless all operands lie in one other order; PyTorch goes
by the first operand that says how two dimensions follow one another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.memory_formats import order_of_images, order_of_lines
from funcgrad.torch.root import ROOT, RootTracer

__all__ = ["Order", "laid", "lay", "lying", "memory_order", "order_of", "order_of_operands"]

Rule = Callable[..., Any]
Order = Callable[[Any, Sequence[Any]], Sequence[int] | None]


def lying(rule: Rule, how: str | Order) -> Rule:
    """`rule`, with results that lie as its ``operands``, the last one first (``swapped``), as the
    ``first`` alone or the first if those are ``images`` (or ``lines`` of one), ``contiguous``, of
    matrices by ``columns``, or in the order that `how` gives.
    """
    ordered = ORDERS[how] if isinstance(how, str) else how

    @functools.wraps(rule)
    def function(*given: Any) -> Any:
        return laid(rule(*given), ordered, *given)

    return function


def laid(made: Any, how: str | Order, *given: Any) -> Any:
    """New results of the arguments `given`, lying as `lying` says."""
    ordered = ORDERS[how] if isinstance(how, str) else how
    for x in (made,) if isinstance(made, Tensor) else made:
        found = _array(x)
        if found is not None and found.ndim > 1 and all(x is not other for other in given):
            order = ordered(found, given)
            if order is not None:
                lay(x, order)
    return made


def order_of_operands(made: Any, given: Sequence[Any]) -> Sequence[int] | None:
    arrays = [a for x in given if (a := _array(x)) is not None]
    if made.flags.c_contiguous and all(a.flags.c_contiguous for a in arrays):
        return None
    return memory_order(made.shape, [_strides(a, made.ndim) for a in arrays])


def _by_columns(made: Any) -> Sequence[int]:
    rank = made.ndim
    return (*range(rank - 2), rank - 1, rank - 2)


def _as_images(made: Any, given: Sequence[Any]) -> Sequence[int]:
    order = order_of_images(given[0])
    return order if order is not None and len(order) == made.ndim else range(made.ndim)


def _as_lines(made: Any, given: Sequence[Any]) -> Sequence[int]:
    order = order_of_lines(given[0])
    return range(made.ndim) if order is None else order


ORDERS: dict[str, Order] = {
    "operands": order_of_operands,
    "swapped": lambda made, given: order_of_operands(made, given[::-1]),
    "first": lambda made, given: order_of_operands(made, given[:1]),
    "contiguous": lambda made, given: range(made.ndim),
    "images": _as_images,
    "lines": _as_lines,
    "columns": lambda made, given: _by_columns(made) if made.ndim == given[0].ndim else None,
}


def _array(x: Any) -> Any:
    """The memory of a tensor, or None."""
    t = x._t if isinstance(x, Tensor) else None
    found = t.value if type(t) is RootTracer else None
    return found if type(found) is np.ndarray else None


def lay(x: Tensor, order: Sequence[int]) -> Tensor:
    """`x`, a new result, with its dimensions in an order in memory, the widest step first."""
    found = _array(x)
    if found is not None and x._link is None:
        turned = found.transpose(order)
        if not turned.flags.c_contiguous:
            t: Any = x._t
            t.value = np.ascontiguousarray(turned).transpose(np.argsort(order))
            t.kind = ROOT.kind_of(t.value)
    return x


def order_of(x: Tensor) -> list[int]:
    """The dimensions as they lie in memory, the widest step first."""
    found = _array(x)
    return [*range(x.ndim)] if found is None else memory_order(found.shape, [found.strides])


def _strides(x: Any, rank: int) -> tuple[int, ...]:
    """The steps of an operand that is broadcast to `rank` dimensions."""
    own = (s if n > 1 else 0 for n, s in zip(x.shape, x.strides, strict=True))
    found: tuple[int, ...] = (0,) * (rank - x.ndim) + tuple(own)
    return found


def memory_order(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> list[int]:
    """The dimensions from the widest step to the narrowest, by the strides of operands.

    Of two dimensions the first operand decides in which both have a step; where none does, they
    stay as they are.
    """
    order = list(range(len(shape)))
    for k in range(len(shape) - 2, -1, -1):  # as PyTorch does, from the innermost dimension on
        place = k
        for j in range(k + 1, len(order)):
            found = _compared(shape, operands, order[place], order[j])
            if found > 0:
                break
            if found < 0:
                order[place], order[j] = order[j], order[place]
                place = j
    return order


def _compared(shape: Sequence[int], operands: Sequence[Sequence[int]], k: int, j: int) -> int:
    """1 where the dimension `k` has the wider step, -1 where `j` has, 0 where nothing says it."""
    for strides in operands:
        mine, other = strides[k], strides[j]
        if mine and other and (mine != other or shape[j] > shape[k]):
            return 1 if mine > other else -1
    return 0
