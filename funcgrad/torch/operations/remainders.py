"""Quotients that are rounded, and remainders."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.errors import AbstractValueError
from funcgrad.ops import arithmetic as a
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.operations.common import boxed, computed, into, method, named
from funcgrad.torch.operations.promotion import content, dtype_of, promoted
from funcgrad.torch.operations.recorded import Flat, Underivable, refuse_kinds

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
NOT_IMPLEMENTED = named("NotImplemented")
FLOOR_DIVIDE = Underivable("floor_divide", _floor_quotient)


@method(changing=True)
def floor_divide(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The quotient rounded down; PyTorch has no derivative for it, `div` with a rounding has."""
    x, y = promoted("floor_divide", input, other)
    refuse_kinds("div_floor_cpu", "bc", x)
    check_divisor(x, y)
    result = boxed(computed(FLOOR_DIVIDE, x, y), NOT_IMPLEMENTED)
    return result if out is None else into(out, result, "floor_divide")


# -------------------------------------------------------------------------------- remainders

REMAINDER = named("RemainderBackward1", "", "self", "other")
REMAINDER_NUMBER = named("RemainderBackward0", shown=(0,))
FMOD = named("FmodBackward1", "", "self", "other")
FMOD_NUMBER = named("FmodBackward0", shown=(0,))
NUMBER_REMAINDER = Underivable("remainder", a.remainder)


@method(changing=True)
def remainder(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The remainder with the sign of `other`."""
    x, y = promoted("remainder", input, other)
    refuse_kinds("remainder_cpu", "bc", x)
    check_divisor(x, y)
    if not isinstance(input, Tensor):
        result = boxed(computed(NUMBER_REMAINDER, x, y), NOT_IMPLEMENTED)
    else:
        node = REMAINDER if isinstance(other, Tensor) else REMAINDER_NUMBER
        result = boxed(computed(a.remainder, x, y), node)
    return result if out is None else into(out, result, "remainder")


@method(changing=True)
def fmod(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The remainder with the sign of `input`."""
    content(input, "fmod")
    x, y = promoted("fmod", input, other)
    refuse_kinds("fmod_cpu", "bc", x)
    check_divisor(x, y)
    result = boxed(computed(a.fmod, x, y), FMOD if isinstance(other, Tensor) else FMOD_NUMBER)
    return result if out is None else into(out, result, "fmod")
