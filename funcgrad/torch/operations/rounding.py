"""Rounding, signs and what else is constant between its jumps: the derivative is zero there.

PyTorch records these functions, so that a backward pass gives zeros.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, computed, copied
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import Function, alias, in_place, node, op, operation, refuse
from funcgrad.torch.operations.recorded import Flat, Underivable

__all__ = [
    "ceil", "ceil_", "fix", "fix_", "floor", "floor_", "frac", "frac_", "heaviside", "round",
    "round_", "sgn", "sign", "trunc", "trunc_",
]  # fmt: skip


ONE = "input, *, out"


def _rounded(name: str, core: Any, node: str) -> Function[Tensor]:
    flat = Flat(name, lambda x: copied(x) if dtype_of(x).kind in "iu" else core(x))
    complexes = NotImplementedError(f"{name} is not supported for complex inputs")
    return op(name, ONE, core=flat, node=node, remembers=False,
              refuses={"c": complexes, "b": f"{name}_vml_cpu"},
              doc=f"`{name}` of each element; its derivative is 0.")  # fmt: skip


floor = _rounded("floor", a.floor, "Floor")
ceil = _rounded("ceil", a.ceil, "Ceil")
trunc = _rounded("trunc", a.trunc, "Trunc")
fix = alias("fix", trunc)


def _to_decimals(x: Array, decimals: int) -> Array:
    if decimals == 0:
        return a.rint(x)
    factor = dtype_of(x).type(10.0 ** builtins.abs(decimals))
    if decimals > 0:
        return a.divide(a.rint(a.multiply(x, factor)), factor)
    return a.multiply(a.rint(a.divide(x, factor)), factor)


ROUND = Flat("round", lambda x, decimals: _to_decimals(x, decimals))


ROUNDED, TO_DECIMALS = node("Round"), node("RoundBackward1")


@operation("round", f"{ONE} | input, *, int decimals, out")
def round(input: Tensor, decimals: int | None) -> Tensor:
    """The nearest whole number, ties to even; or with a number of `decimals`."""
    x = input.content()
    refuse({"bc": "round_vml_cpu"}, x)
    if decimals:
        refuse({"iu": "round_cpu"}, x)
    if dtype_of(x).kind in "iu":
        return boxed(copied(x))
    kind = TO_DECIMALS if decimals else ROUNDED
    return boxed(computed(ROUND, x, decimals=int(decimals or 0)), kind)


frac = op(
    "frac", ONE, core=lambda x: a.subtract(x, a.trunc(x)), node=node("Frac", shows=(0,)),
    refuses={"biuc": "frac_cpu"},
)  # fmt: skip

SIGN = Flat("sign", lambda x: a.where(_unknown(x), _zero(x), a.sign(x)))


def _unknown(x: Array) -> Array:
    return a.isnan(x) if dtype_of(x).kind == "f" else np.zeros((), bool)


def _zero(x: Array) -> Any:
    return np.zeros((), dtype_of(x))[()]


NO_SIGN = NotImplementedError(
    "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn "
    "instead."
)


def _sign(x: Array) -> Array:
    return copied(x) if dtype_of(x).kind == "b" else SIGN(x)


sign = op("sign", ONE, core=_sign, node="Sign", refuses={"c": NO_SIGN}, remembers=False,
          doc="-1, 0 or 1; 0 for NaN. Its derivative is 0.")  # fmt: skip


def _direction(x: Array) -> Array:
    """z / |z|, and 0 at 0."""
    size = a.absolute(x)
    none = a.equal(size, 0)
    return a.where(none, np.zeros((), dtype_of(x))[()], a.divide(x, a.where(none, 1, size)))


SGN_COMPLEX = Composite("sgn", _direction)


def _sgn(x: Array) -> Array:
    return SGN_COMPLEX(x) if dtype_of(x).kind == "c" else _sign(x)


sgn = op("sgn", ONE, core=_sgn, node="Sgn", saves="result self", remembers=False,
         doc="The sign of a real number, ``z / |z|`` of a complex one, 0 at 0.")  # fmt: skip
HEAVISIDE = Underivable(  # of NaN 0, where NumPy's has NaN
    "heaviside", lambda x, y: a.where(a.equal(x, 0), y, a.cast(a.greater(x, 0), dtype_of(x)))
)


def _of_one_dtype(_: str, input: Tensor, values: Tensor) -> Sequence[Array]:
    x, y = input.content(), values.content()
    where = "heaviside is not yet implemented for"
    if dtype_of(x).kind == "c" or dtype_of(y).kind == "c":
        raise RuntimeError(f"{where} complex tensors.")
    if dtype_of(x) != dtype_of(y):
        raise RuntimeError(f"{where} tensors with different dtypes.")
    return x, y


heaviside = op(
    "heaviside", "input, values, *, out", core=HEAVISIDE, promote=_of_one_dtype,
    node="NotImplemented", remembers=False,
    doc="0 below 0, 1 above, `values` at 0; PyTorch has no derivative for it.",
)  # fmt: skip
ceil_, fix_, floor_, frac_ = in_place(ceil, fix, floor, frac)
round_, trunc_ = in_place(round, trunc)
