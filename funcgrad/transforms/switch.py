"""`switch`: one of several functions, chosen by a number that need not be known while traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import concrete, type_of, value
from funcgrad.core.tracer import operand as as_operand
from funcgrad.errors import located
from funcgrad.ops.arithmetic import less
from funcgrad.transforms.arguments import NOT_GIVEN, given_by_name, name_of
from funcgrad.transforms.cond import choose
from funcgrad.transforms.known_branch import run_branch

__all__ = ["switch"]

Function = Callable[..., Any]


@boundary
def switch(
    index: Any, branches: Sequence[Function], *operands: Any, operand: Any = NOT_GIVEN
) -> Any:
    """``branches[index](*operands)``, with an index that may be traced.

    Parameters
    ----------
    index : int scalar
        Below 0 it counts as 0, beyond the last branch as the last one.
    branches : sequence of callable
        Functions of the operands, with the same trees, shapes and dtypes of results (see `cond`).
    *operands
        Trees of arrays.
    operand : tree of arrays, optional
        The only operand, by name.

    Returns
    -------
    tree
        What the chosen function returns; the others contribute exactly 0 to its gradient.

    Raises
    ------
    TypeError
        `index` is no integer, or two functions return different trees, shapes or dtypes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> f = fg.jit(lambda k, x: fg.switch(k, [np.sin, np.cos, np.square], x))
    >>> fg.grad(f, argnums=1)(2, 3.0)
    np.float64(6.0)
    """
    operands = given_by_name(operands, operand, "switch")
    branches = list(branches)
    if not branches:
        raise ValueError(located("switch takes one branch at least"))
    chosen = as_operand(index)
    aval = type_of(chosen)
    if aval.shape or aval.dtype.kind not in "iu":
        raise TypeError(located(f"switch: the index has type {aval}; it has to be one integer"))
    if concrete(chosen):
        place = min(max(int(value(chosen)), 0), len(branches) - 1)
        return run_branch(branches, place, operands, "switch")
    return _halves(chosen, branches, 0)(*operands)


def _halves(index: Any, branches: Sequence[Function], first: int) -> Function:
    """The function that asks on which side of the middle the index lies."""
    if len(branches) == 1:
        return branches[0]
    middle = len(branches) // 2
    one, other = (
        _halves(index, branches[:middle], first),
        _halves(index, branches[middle:], first + middle),
    )

    def chosen(*operands: Any) -> Any:
        return choose(less(index, first + middle), one, other, operands, "switch")

    chosen.__qualname__ = " or ".join(map(name_of, branches))  # as errors name it
    return chosen
