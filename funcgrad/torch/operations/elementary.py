"""Exponentials, logarithms, roots, trigonometric and hyperbolic functions, absolute values.

Angles are in radians. The derivative of |x| at 0 is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import elementwise
from funcgrad.core.primitive import Sample
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import transcendental as t
from funcgrad.ops.samples import draw
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import Zeroing, inplace, install, named
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.recorded import binary, unary

__all__ = [
    "abs", "absolute", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "copysign", "cos", "cosh",
    "deg2rad", "exp", "exp2", "expm1", "hypot", "ldexp", "log", "log10", "log1p", "log2",
    "logaddexp", "logaddexp2", "rad2deg", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip

RESULT, SELF = ("result",), ("", "self")


def _function(name: str, core: Any, node: str, saved: tuple[str, ...], **more: Any) -> Any:
    return unary(name, core, named(node, *saved), **more)


def _alias(name: str, function: Any) -> Any:
    install(**{name: function, f"{name}_": inplace(function, f"{name}_")})
    return function


exp = _function("exp", t.exp, "ExpBackward0", RESULT)
exp2 = _function("exp2", t.exp2, "Exp2Backward0", RESULT)
expm1 = _function("expm1", t.expm1, "Expm1Backward0", RESULT)
log = _function("log", t.log, "LogBackward0", SELF)
log2 = _function("log2", t.log2, "Log2Backward0", SELF)
log10 = _function("log10", t.log10, "Log10Backward0", SELF)
log1p = _function("log1p", t.log1p, "Log1PBackward0", SELF)
sqrt = _function("sqrt", a.sqrt, "SqrtBackward0", RESULT)
RSQRT = Composite("rsqrt", lambda x: a.reciprocal(a.sqrt(x)))
rsqrt = _function("rsqrt", RSQRT, "RsqrtBackward0", RESULT)
sin = _function("sin", t.sin, "SinBackward0", SELF)
cos = _function("cos", t.cos, "CosBackward0", SELF)
tan = _function("tan", t.tan, "TanBackward0", RESULT)
asin = _function("asin", t.arcsin, "AsinBackward0", SELF)
acos = _function("acos", t.arccos, "AcosBackward0", SELF)
atan = _function("atan", t.arctan, "AtanBackward0", SELF)
sinh = _function("sinh", t.sinh, "SinhBackward0", SELF)
cosh = _function("cosh", t.cosh, "CoshBackward0", SELF)
tanh = _function("tanh", t.tanh, "TanhBackward0", RESULT)
asinh = _function("asinh", t.arcsinh, "AsinhBackward0", SELF)
acosh = _function("acosh", t.arccosh, "AcoshBackward0", SELF)
atanh = _function("atanh", t.arctanh, "AtanhBackward0", SELF)
deg2rad = _function("deg2rad", t.deg2rad, "Deg2RadBackward0", ("",))
rad2deg = _function("rad2deg", t.rad2deg, "Rad2DegBackward0", ("",))
arcsin, arccos, arctan = (
    _alias(name, function) for name, function in
    (("arcsin", asin), ("arccos", acos), ("arctan", atan))
)  # fmt: skip
arcsinh, arccosh, arctanh = (
    _alias(name, function) for name, function in
    (("arcsinh", asinh), ("arccosh", acosh), ("arctanh", atanh))
)  # fmt: skip

abs = _function(
    "abs", a.absolute, "AbsBackward0", SELF, floats=False, refused="b", kernel="abs_cpu",
    changing=False,
)  # fmt: skip


def _abs_(self: Tensor) -> Tensor:
    """`abs`, in place."""
    if dtype_of(self.content()).kind == "c":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return CHANGE_ABS(self)


CHANGE_ABS = inplace(abs, "abs_")
absolute = abs
install(abs_=_abs_, absolute=abs, absolute_=_abs_, __abs__=abs)

# ------------------------------------------------------------------------------- two operands

BOTH = ("", "self", "other")
atan2 = binary("atan2", t.arctan2, named("Atan2Backward0", *BOTH), floats=True, refused="c",
               kernel="atan2_cpu")  # fmt: skip
arctan2 = _alias("arctan2", atan2)
HYPOT = elementwise(  # PyTorch divides at 0, too, where the derivative is none
    np.hypot,
    lambda z, x, _: a.divide(x, z),
    lambda z, _, y: a.divide(y, z),
    name="torch.hypot",
    sample=lambda: [Sample((draw((2, 3)), draw((2, 3), seed=1)))],
)
hypot = binary(
    "hypot", HYPOT, named("HypotBackward0", "result", "self", "other"), refused="biuc",
    kernel="hypot_cpu",
)  # fmt: skip


def _complex_log_sum(x: Array, y: Array) -> Array:
    first = a.greater(a.real(x), a.real(y))
    large, small = a.where(first, x, y), a.where(first, y, x)
    top = a.real(large)
    infinite = a.logical_and(a.isinf(top), a.equal(top, a.real(small)))
    apart = a.where(infinite, np.zeros((), dtype_of(x))[()], a.subtract(small, large))
    both = a.where(a.less(top, 0), large, t.log(a.add(t.exp(small), t.exp(large))))
    return a.where(infinite, both, a.add(large, t.log1p(t.exp(apart))))


COMPLEX_LOG_SUM = Composite("logaddexp", _complex_log_sum)


def _log_sum(x: Array, y: Array) -> Array:
    return (COMPLEX_LOG_SUM if dtype_of(x).kind == "c" else t.logaddexp)(x, y)


logaddexp = binary(
    "logaddexp", _log_sum, named("LogaddexpBackward0", *BOTH), refused="biu",
    kernel="logaddexp_cpu", changing=False,
)  # fmt: skip
logaddexp2 = binary(
    "logaddexp2", t.logaddexp2, named("Logaddexp2Backward0", *BOTH), refused="biuc",
    kernel="logaddexp2_cpu", changing=False,
)  # fmt: skip
COPYSIGN = Zeroing("copysign", a.copysign)
copysign = binary(
    "copysign", COPYSIGN, named("CopysignBackward0", "result", "self"), floats=True,
    number=named("CopysignBackward1", "result", "self", shown=(0,)), refused="c",
    kernel="copysign_cpu",
)  # fmt: skip


def _power_of_two(x: Array, exponent: Array) -> Array:
    return a.multiply(x, a.power(np.asarray(2, dtype_of(x))[()], exponent))


LDEXP = Composite("ldexp", _power_of_two)
ldexp = binary(
    "ldexp", LDEXP, named("LdexpBackward0", "result", "", "other"), floats=True,
)  # fmt: skip
