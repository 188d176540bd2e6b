"""Powers, squares and reciprocals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.arithmetic import of_one_dtype
from funcgrad.torch.operations.common import boxed, computed
from funcgrad.torch.operations.promotion import dtype_of, number, pair, wrapped
from funcgrad.torch.operations.record import (
    Operator,
    floats,
    in_place,
    node,
    op,
    operation,
    refuse,
    same,
)
from funcgrad.torch.operations.results import order_of_operands

__all__ = [
    "float_power", "pow", "reciprocal", "reciprocal_", "square", "square_",
]  # fmt: skip


POW_NUMBER = node("Pow", "self exponent", shows=(0,), of="power")
POW = node("PowBackward1", "result self exponent")
NUMBER_POW = node("PowBackward2", "result self exponent", shows=(1,))
POWERS = "input, exponent, *, out | Number self, exponent, *, out | input, Number exponent, *, out"


def _order(made: Any, given: Sequence[Any]) -> Sequence[int] | None:
    """Powers of a number lie in C order."""
    return order_of_operands(made, given) if isinstance(given[0], Tensor) else range(made.ndim)


@operation("pow", POWERS, remembers=True, lies=_order,
           operator=Operator("pow", core=a.power, node=POW_NUMBER, tensors=False))  # fmt: skip
def pow(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent``."""
    x, y = pair("pow", input, exponent)
    if dtype_of(of_one_dtype(x, y)).kind == "b":
        refuse({"b": "pow"}, of_one_dtype(x, y))
    if not isinstance(input, Tensor):
        base = wrapped(x, dtype_of(y))
        return boxed(computed(_integer_safe_power, base, y), NUMBER_POW)
    if isinstance(exponent, Tensor):
        return boxed(computed(_integer_safe_power, x, y), POW)
    if dtype_of(x).kind in "iu":
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        number(exponent, dtype_of(x))
    return boxed(computed(a.power, x, y), POW_NUMBER)


def _integer_safe_power(x: Array, y: Array) -> Array:
    """The power; of integers to negative ones the quotient without its fraction."""
    kind = dtype_of(x).kind
    if kind != "i":
        return a.power(x, y)
    negative_ = a.less(y, 0)
    whole = a.power(x, a.where(negative_, 0, y))
    odd = a.not_equal(a.bitwise_and(y, 1), 0)
    unit = a.where(a.equal(x, 1), 1, a.where(a.equal(x, -1), a.where(odd, -1, 1), 0))
    return a.cast(a.where(negative_, unit, whole), dtype_of(x))


@operation("float_power", POWERS)
def float_power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent`` in double precision."""
    from funcgrad.torch.operations.converting import to_dtype

    whole = any(
        x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex)
        for x in (input, exponent)
    )
    target = dtypes.complex128 if whole else dtypes.float64
    wide = [to_dtype(x, target) if isinstance(x, Tensor) else x for x in (input, exponent)]
    return pow(*wide)


def _square(x: Array) -> Array:
    return a.power(a.cast(x, np.int64) if dtype_of(x).kind == "b" else x, 2)


square = op("square", "input, *, out", core=_square, promote=same, node=POW_NUMBER)
reciprocal = op("reciprocal", "input, *, out", core=a.reciprocal, promote=floats,
                node="Reciprocal", saves="result")  # fmt: skip
square_, reciprocal_ = in_place(square, reciprocal)
