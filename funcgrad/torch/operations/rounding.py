"""Rounding, signs and what else is constant between its jumps: the derivative is zero there.

PyTorch records these functions, so that a backward pass gives zeros.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    copied,
    inplace,
    install,
    into,
    method,
    named,
)
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.recorded import Flat, Underivable, refuse_kinds, unary

__all__ = ["ceil", "fix", "floor", "frac", "heaviside", "round", "sgn", "sign", "trunc"]


def _rounded(name: str, core: Any, node: str) -> Any:
    flat = Flat(name, lambda x: copied(x) if dtype_of(x).kind in "iu" else core(x))

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        x = content(input, name)
        if dtype_of(x).kind == "c":
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        refuse_kinds(f"{name}_vml_cpu", "b", x)
        result = boxed(computed(flat, x), named(node))
        return result if out is None else into(out, result, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each element; its derivative is 0."
    install(**{name: function, f"{name}_": inplace(function, f"{name}_")})
    return function


floor = _rounded("floor", a.floor, "FloorBackward0")
ceil = _rounded("ceil", a.ceil, "CeilBackward0")
trunc = _rounded("trunc", a.trunc, "TruncBackward0")
fix = trunc
install(fix=fix, fix_=inplace(fix, "fix_"))


def _to_decimals(x: Array, decimals: int) -> Array:
    if decimals == 0:
        return a.rint(x)
    factor = dtype_of(x).type(10.0 ** builtins.abs(decimals))
    if decimals > 0:
        return a.divide(a.rint(a.multiply(x, factor)), factor)
    return a.multiply(a.rint(a.divide(x, factor)), factor)


ROUND = Flat("round", lambda x, decimals: _to_decimals(x, decimals))


@method(changing=True)
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest whole number, ties to even; or with a number of `decimals`."""
    x = content(input, "round")
    refuse_kinds("round_vml_cpu", "bc", x)
    if decimals:
        refuse_kinds("round_cpu", "iu", x)
    if dtype_of(x).kind in "iu":
        result = boxed(copied(x))
    else:
        node = named("RoundBackward1" if decimals else "RoundBackward0")
        result = boxed(computed(ROUND, x, decimals=int(decimals)), node)
    return result if out is None else into(out, result, "round")


frac = unary(
    "frac", lambda x: a.subtract(x, a.trunc(x)), named("FracBackward0", shown=(0,)),
    floats=False, refused="biuc", kernel="frac_cpu",
)  # fmt: skip

SIGN = Flat("sign", lambda x: a.where(_unknown(x), _zero(x), a.sign(x)))


def _unknown(x: Array) -> Array:
    return a.isnan(x) if dtype_of(x).kind == "f" else np.zeros((), bool)


def _zero(x: Array) -> Any:
    return np.zeros((), dtype_of(x))[()]


@method(changing=True)
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1; 0 for NaN. Its derivative is 0."""
    x = content(input, "sign")
    if dtype_of(x).kind == "c":
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
            "torch.sgn instead."
        )
    found = copied(x) if dtype_of(x).kind == "b" else computed(SIGN, x)
    result = boxed(found, named("SignBackward0"))
    return result if out is None else into(out, result, "sign")


def _direction(x: Array) -> Array:
    """z / |z|, and 0 at 0."""
    size = a.absolute(x)
    none = a.equal(size, 0)
    return a.where(none, np.zeros((), dtype_of(x))[()], a.divide(x, a.where(none, 1, size)))


SGN_COMPLEX = Composite("sgn", _direction)
SGN_NODE = named("SgnBackward0", "result", "self")


@method(changing=True)
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign of a real number, ``z / |z|`` of a complex one, 0 at 0."""
    x = content(input, "sgn")
    kind = dtype_of(x).kind
    if kind == "b":
        result = boxed(copied(x))
    else:
        result = boxed(computed(SGN_COMPLEX if kind == "c" else SIGN, x), SGN_NODE)
    return result if out is None else into(out, result, "sgn")


HEAVISIDE = Underivable("heaviside", lambda x, y: a.cast(a.heaviside(x, y), dtype_of(x)))


@method(changing=True)
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 below 0, 1 above, `values` at 0; PyTorch has no derivative for it."""
    x, y = content(input, "heaviside"), content(values, "heaviside", "values", 2)
    if dtype_of(x).kind == "c" or dtype_of(y).kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if dtype_of(x) != dtype_of(y):
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    result = boxed(computed(HEAVISIDE, x, y), named("NotImplemented"))
    return result if out is None else into(out, result, "heaviside")
