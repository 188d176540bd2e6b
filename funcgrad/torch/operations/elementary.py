"""Exponentials, logarithms, roots, trigonometric and hyperbolic functions, absolute values.

Angles are in radians. The derivative of |x| at 0 is 0.
"""

from __future__ import annotations

import numpy as np

from funcgrad.core.forms import elementwise
from funcgrad.core.primitive import Sample
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import logistic
from funcgrad.ops import transcendental as t
from funcgrad.ops.samples import draw
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import Zeroing, install
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import alias, common, floats, in_place, node, op
from funcgrad.torch.operations.requirements import requirements
from funcgrad.torch.operations.restated import restated

__all__ = [
    "abs", "abs_", "absolute", "acos", "acos_", "acosh", "acosh_", "arccos", "arccos_",
    "arccosh", "arccosh_", "arcsin", "arcsin_", "arcsinh", "arcsinh_", "arctan", "arctan2",
    "arctan_", "arctanh", "arctanh_", "asin", "asin_", "asinh", "asinh_", "atan", "atan2",
    "atan_", "atanh", "atanh_", "copysign", "cos", "cos_", "cosh", "cosh_", "deg2rad",
    "deg2rad_", "exp", "exp2", "exp2_", "exp_", "expm1", "expm1_", "hypot", "ldexp", "ldexp_",
    "log", "log10", "log10_", "log1p", "log1p_", "log2", "log2_", "log_", "logaddexp",
    "logaddexp2", "rad2deg", "rad2deg_", "rsqrt", "rsqrt_", "sin", "sin_", "sinh", "sinh_",
    "sqrt", "sqrt_", "tan", "tan_", "tanh", "tanh_",
]  # fmt: skip

ONE, TWO = "input, *, out", "input, other, *, out"

exp = op("exp", ONE, core=t.exp, promote=floats, node="Exp", saves="result")
exp2 = op("exp2", ONE, core=t.exp2, promote=floats, node="Exp2", saves="result")
expm1 = op("expm1", ONE, core=t.expm1, promote=floats, node="Expm1", saves="result")
log = op("log", ONE, core=t.log, promote=floats, node="Log", saves="self")
log2 = op("log2", ONE, core=t.log2, promote=floats, node="Log2", saves="self")
log10 = op("log10", ONE, core=t.log10, promote=floats, node="Log10", saves="self")
log1p = op("log1p", ONE, core=t.log1p, promote=floats, node="Log1P", saves="self")
sqrt = op("sqrt", ONE, core=a.sqrt, promote=floats, node="Sqrt", saves="result")
RSQRT = Composite("rsqrt", lambda x: a.reciprocal(a.sqrt(x)))
rsqrt = op("rsqrt", ONE, core=RSQRT, promote=floats, node="Rsqrt", saves="result")
sin = op("sin", ONE, core=t.sin, promote=floats, node="Sin", saves="self")
cos = op("cos", ONE, core=t.cos, promote=floats, node="Cos", saves="self")
tan = op("tan", ONE, core=t.tan, promote=floats, node="Tan", saves="result")
asin = op("asin", ONE, core=t.arcsin, promote=floats, node="Asin", saves="self")
acos = op("acos", ONE, core=t.arccos, promote=floats, node="Acos", saves="self")
atan = op("atan", ONE, core=t.arctan, promote=floats, node="Atan", saves="self")
sinh = op("sinh", ONE, core=t.sinh, promote=floats, node="Sinh", saves="self")
cosh = op("cosh", ONE, core=t.cosh, promote=floats, node="Cosh", saves="self")
tanh = op("tanh", ONE, core=t.tanh, promote=floats, node="Tanh", saves="result")
asinh = op("asinh", ONE, core=t.arcsinh, promote=floats, node="Asinh", saves="self")
acosh = op("acosh", ONE, core=t.arccosh, promote=floats, node="Acosh", saves="self")
atanh = op("atanh", ONE, core=t.arctanh, promote=floats, node="Atanh", saves="self")
deg2rad = op("deg2rad", ONE, core=t.deg2rad, promote=floats, node="Deg2Rad")
rad2deg = op("rad2deg", ONE, core=t.rad2deg, promote=floats, node="Rad2Deg")
arccos, arccosh = alias("arccos", acos), alias("arccosh", acosh)
arcsin, arcsinh = alias("arcsin", asin), alias("arcsinh", asinh)
arctan, arctanh = alias("arctan", atan), alias("arctanh", atanh)


_check_real = requirements("input", """
    kind(input) != "c": In-place abs is not supported for complex tensors.
""")  # fmt: skip


def _slope_of_size(y: Array, x: Array) -> Array:
    """Of a NaN 0, as of what has no sign."""
    if dtype_of(x).kind != "c":
        return a.where(a.isnan(x), 0.0, a.sign(x))
    return a.where(a.equal(y, 0), 0.0, a.divide(a.conjugate(x), a.where(a.equal(y, 0), 1.0, y)))


ABS = restated(a.absolute, _slope_of_size)
abs = op(
    "abs", ONE, core=ABS, node="Abs", saves="self", bends="Mul",
    refuses={"b": "abs_cpu"}, before_change=_check_real,
)  # fmt: skip
absolute = alias("absolute", abs)
install(__abs__=abs)

# ------------------------------------------------------------------------------- two operands

atan2 = op("atan2", TWO, core=t.arctan2, promote=floats, node="Atan2", saves="self other",
           refuses={"c": "atan2_cpu"})  # fmt: skip
arctan2 = alias("arctan2", atan2)
HYPOT = elementwise(  # PyTorch divides at 0, too, where the derivative is none
    np.hypot,
    lambda z, x, _: a.divide(x, z),
    lambda z, _, y: a.divide(y, z),
    name="torch.hypot",
    sample=lambda: [Sample((draw((2, 3)), draw((2, 3), seed=1)))],
)
hypot = op("hypot", TWO, core=HYPOT, promote=common, node="Hypot", saves="result self other",
           refuses={"biuc": "hypot_cpu"})  # fmt: skip


def complex_log_sum(x: Array, y: Array) -> Array:
    first = a.greater(a.real(x), a.real(y))
    large, small = a.where(first, x, y), a.where(first, y, x)
    top = a.real(large)
    infinite = a.logical_and(a.isinf(top), a.equal(top, a.real(small)))
    apart = a.where(infinite, np.zeros((), dtype_of(x))[()], a.subtract(small, large))
    both = a.where(a.less(top, 0), large, t.log(a.add(t.exp(small), t.exp(large))))
    return a.where(infinite, both, a.add(large, t.log1p(t.exp(apart))))


COMPLEX_LOG_SUM = Composite("logaddexp", complex_log_sum)


# equal infinities have no share in their sum
LOG_SUM = restated(
    logistic.logaddexp,
    lambda _, x, y: logistic.expit(a.subtract(x, y)),
    lambda _, x, y: logistic.expit(a.subtract(y, x)),
)
LN2 = float(np.log(2.0))
LOG_SUM_2 = restated(
    logistic.logaddexp2,
    lambda _, x, y: logistic.expit(a.multiply(LN2, a.subtract(x, y))),
    lambda _, x, y: logistic.expit(a.multiply(LN2, a.subtract(y, x))),
)


def _log_sum(x: Array, y: Array) -> Array:
    return (COMPLEX_LOG_SUM if dtype_of(x).kind == "c" else LOG_SUM)(x, y)


logaddexp = op(
    "logaddexp", TWO, core=_log_sum, promote=common, node="Logaddexp", saves="self other",
    refuses={"biu": "logaddexp_cpu"}, variants="method",
)  # fmt: skip
logaddexp2 = op(
    "logaddexp2", TWO, core=LOG_SUM_2, promote=common, node="Logaddexp2",
    saves="self other", refuses={"biuc": "logaddexp2_cpu"}, variants="method",
)  # fmt: skip
OF_SIGN = restated(  # the quotient, which of infinities is none
    a.copysign,
    lambda z, x, _: a.where(a.equal(x, 0), 0.0, a.divide(z, a.where(a.equal(x, 0), 1.0, x))),
    0,
)
COPYSIGN = Zeroing("copysign", OF_SIGN)
copysign = op(
    "copysign", f"{TWO} | input, Number other, *, out", core=COPYSIGN, promote=floats,
    node=node("Copysign", "result self", bends=("MulBackward0", ((0, (0, 1)),))),
    number=node("CopysignBackward1", "result self", shows=(0,), bends="Mul"),
    refuses={"c": "copysign_cpu"},
)  # fmt: skip


def _power_of_two(x: Array, exponent: Array) -> Array:
    return a.multiply(x, a.power(np.asarray(2, dtype_of(x))[()], exponent))


LDEXP = Composite("ldexp", _power_of_two)
ldexp = op("ldexp", TWO, core=LDEXP, promote=floats, node="Ldexp", saves="result _ other")

acos_, acosh_, asin_, asinh_, atan_, atanh_ = in_place(acos, acosh, asin, asinh, atan, atanh)
arccos_, arccosh_, arcsin_, arcsinh_ = in_place(arccos, arccosh, arcsin, arcsinh)
arctan_, arctanh_, cos_, cosh_, sin_, sinh_ = in_place(arctan, arctanh, cos, cosh, sin, sinh)
abs_, exp_, exp2_, expm1_, sqrt_, rsqrt_ = in_place(abs, exp, exp2, expm1, sqrt, rsqrt)
log_, log2_, log10_, log1p_, ldexp_ = in_place(log, log2, log10, log1p, ldexp)
deg2rad_, rad2deg_, tan_, tanh_ = in_place(deg2rad, rad2deg, tan, tanh)
