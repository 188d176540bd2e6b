"""Powers, squares and reciprocals."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.arithmetic import of_one_dtype
from funcgrad.torch.operations.common import boxed, computed, into, method, named
from funcgrad.torch.operations.promotion import dtype_of, number, pair, wrapped
from funcgrad.torch.operations.recorded import refuse_kinds, unary
from funcgrad.torch.remembered import remembered

__all__ = [
    "float_power", "pow", "reciprocal", "square",
]  # fmt: skip


POW_NUMBER = named("PowBackward0", "", "self", "exponent", shown=(0,))
POW = named("PowBackward1", "result", "self", "exponent")
NUMBER_POW = named("PowBackward2", "result", "self", "exponent", shown=(1,))


@method(changing=True)
@remembered
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        kinds = f"{type(input).__name__}, {type(exponent).__name__}"
        raise TypeError(f"pow() received an invalid combination of arguments - got ({kinds})")
    x, y = pair("pow", input, exponent)
    if dtype_of(of_one_dtype(x, y)).kind == "b":
        refuse_kinds("pow", "b", of_one_dtype(x, y))
    if not isinstance(input, Tensor):
        base = wrapped(x, dtype_of(y))
        result = boxed(computed(_integer_safe_power, base, y), NUMBER_POW)
    elif isinstance(exponent, Tensor):
        result = boxed(computed(_integer_safe_power, x, y), POW)
    else:
        if dtype_of(x).kind in "iu":
            if exponent < 0:
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            number(exponent, dtype_of(x))
        result = boxed(computed(a.power, x, y), POW_NUMBER)
    return result if out is None else into(out, result, "pow")


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


@method(changing=True)
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent`` in double precision."""
    from funcgrad.torch.operations.converting import to_dtype

    whole = any(
        x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex)
        for x in (input, exponent)
    )
    target = dtypes.complex128 if whole else dtypes.float64
    wide = [to_dtype(x, target) if isinstance(x, Tensor) else x for x in (input, exponent)]
    return pow(wide[0], wide[1], out=out)


square = unary(
    "square",
    lambda x: a.power(a.cast(x, np.int64) if dtype_of(x).kind == "b" else x, 2),
    POW_NUMBER,
    floats=False,
)
reciprocal = unary("reciprocal", a.reciprocal, named("ReciprocalBackward0", "result"))
