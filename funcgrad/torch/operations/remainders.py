"""Quotients that are rounded, and remainders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.errors import AbstractValueError
from funcgrad.ops import arithmetic as a
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.operations.common import boxed, computed
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import common, node, op, operation, refuse
from funcgrad.torch.operations.recorded import Flat, Underivable

__all__ = [
    "floor_divide", "fmod", "remainder",
]  # fmt: skip


def check_divisor(x: Array, y: Array) -> None:
    """Integers must not be divided by zero."""
    if dtype_of(x).kind in "iu" and not concrete(y) and modes.stage is not None:
        raise AbstractValueError(modes.stage.refuse("integers are divided by a Tensor"))
    if dtype_of(x).kind in "iu" and concrete(y) and not np.all(np.asarray(value(y))):
        raise RuntimeError("ZeroDivisionError")


def _floor_quotient(x: Array, y: Array) -> Array:
    return a.floor_divide(x, y)


def _trunc_quotient(x: Array, y: Array) -> Array:
    if dtype_of(x).kind not in "iu":
        return a.trunc(a.divide(x, y))
    down = a.floor_divide(x, y)
    uneven = a.not_equal(a.multiply(down, y), x)
    return a.add(down, a.cast(a.logical_and(uneven, a.less(down, 0)), dtype_of(x)))


DIV_FLOOR = Flat("div_floor", _floor_quotient)
DIV_TRUNC = Flat("div_trunc", _trunc_quotient)
FLOOR_DIVIDE = Underivable("floor_divide", _floor_quotient)


def divided(name: str, x: Any, y: Any) -> Sequence[Array]:
    """The operands in the dtype of the result; integers are not divided by zero."""
    x, y = common(name, x, y)
    check_divisor(x, y)
    return x, y


floor_divide = op(
    "floor_divide", "operand input, operand other, *, out | operand input, Number other",
    core=FLOOR_DIVIDE, promote=divided, node="NotImplemented", refuses={"bc": "div_floor_cpu"},
    operator="floordiv",
    doc="The quotient rounded down; PyTorch has no derivative for it, `div` with a rounding has.",
)  # fmt: skip

# -------------------------------------------------------------------------------- remainders

BOTH = ("MulBackward0", ((1, (0, 1)),))  # the gradient of the second operand bends with both
WITH_NUMBER = "input, Number other, *, out"
REMAINDER = node("RemainderBackward1", "self other", bends=BOTH)
REMAINDER_NUMBER = node("RemainderBackward0", shows=(0,))
NOT_IMPLEMENTED = node("NotImplemented")
NUMBER_REMAINDER = Underivable("remainder", a.remainder)


@operation("remainder", f"input, other, *, out | Number self, other | {WITH_NUMBER}",
           lies="operands", operator="mod")  # fmt: skip
def remainder(input: Any, other: Any) -> Tensor:
    """The remainder with the sign of `other`."""
    x, y = divided("remainder", input, other)
    refuse({"bc": "remainder_cpu"}, x)
    if not isinstance(input, Tensor):
        return boxed(computed(NUMBER_REMAINDER, x, y), NOT_IMPLEMENTED)
    kind = REMAINDER if isinstance(other, Tensor) else REMAINDER_NUMBER
    return boxed(computed(a.remainder, x, y), kind)


fmod = op(
    "fmod", f"input, other, *, out | {WITH_NUMBER}", core=a.fmod, promote=divided,
    node=node("FmodBackward1", "self other", bends=BOTH),
    number=node("FmodBackward0", shows=(0,)), refuses={"bc": "fmod_cpu"},
    doc="The remainder with the sign of `input`.",
)  # fmt: skip
