"""The two operators from which the others are made, for functions of one argument.

`make_vjp` and `make_jvp` are funcgrad's `vjp` and `jvp` in autograd's clothes: cotangents need not
have the dtype of the output, and an output that does not depend on the input is a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.compat.autograd.vspace import VSpace, vspace
from funcgrad.core.tracer import Operand, operand, type_of
from funcgrad.core.types import is_inexact
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.shape import broadcast_to
from funcgrad.transforms.arguments import leaves_of
from funcgrad.transforms.jvp import jvp as moved
from funcgrad.transforms.vjp import vjp as pulled

__all__ = ["VSpace", "make_jvp", "make_vjp", "vspace"]

Function = Callable[..., Any]


def make_vjp(fun: Function, x: Any) -> tuple[Function, Any]:
    """The function that pulls cotangents of ``fun(x)`` back, and that value."""
    leaves_of(x, (0, fun), differentiable=True)
    seen = _Seen(fun)
    ans, pull = pulled(seen, x)
    seen.warn()
    return lambda g: pull(_fitting(g, ans))[0], ans


def make_jvp(fun: Function, x: Any) -> Function:
    """A function that gives ``fun(x)`` and its derivative along a tangent."""
    leaves_of(x, (0, fun), differentiable=True)

    def jvp(g: Any) -> tuple[Any, Any]:
        seen = _Seen(fun)
        ans, tangent = moved(seen, (x,), (_fitting(g, x),))
        seen.warn()
        return ans, tree.map(_with_number, tangent, ans)

    return jvp


class _Seen:
    """A function, and whether what it returned depends on its argument."""

    def __init__(self, fun: Function) -> None:
        self.fun = fun
        self.__name__ = getattr(fun, "__name__", "function")
        self.dependent = False

    def __call__(self, x: Any) -> Any:
        out = self.fun(x)
        owners = {_owner(leaf) for leaf in tree.leaves(x)} - {None}
        self.dependent = any(_owner(leaf) in owners for leaf in tree.leaves(out))
        return out

    def warn(self) -> None:
        if not self.dependent:
            warnings.warn("Output seems independent of input.", stacklevel=5)


def _owner(x: Any) -> Any:
    """The trace of a value; None of a plain one."""
    if isinstance(x, (Operand, list)) or (isinstance(x, np.ndarray) and x.dtype.kind == "O"):
        x = operand(x)
    return getattr(x, "owner", None)


def _fitting(g: Any, like: Any) -> Any:
    """A cotangent or tangent of the types of `like`; a number stands for all elements."""

    def fit(c: Any, y: Any) -> Any:
        c, have, want = operand(c), type_of(operand(c)), type_of(operand(y))
        if not is_inexact(want.dtype):
            return c
        if not have.shape and want.shape:
            c = broadcast_to(c, want.shape)
        same_kind = np.can_cast(have.dtype, want.dtype, "same_kind")
        return cast(c, want.dtype) if same_kind and have.dtype != want.dtype else c

    return tree.map(fit, g, like)


def _with_number(t: Any, y: Any) -> Any:
    """A tangent of an integer, which has no derivative, as zeros."""
    return t if is_inexact(type_of(operand(y)).dtype) else np.zeros_like(y)
