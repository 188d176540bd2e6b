"""The ufuncs of the namespace. Each stands for NumPy's; its derivative is in `ops`.

The note has the derivative by each operand, and what it is where the function has none. An
operation without one is locally constant (comparisons, rounding, predicates): its derivative is 0.
"""

from __future__ import annotations

import numpy as np

from funcgrad.numpy.ufuncs import Ufunc

_EXTREMUM = "Two equal operands share the derivative equally."
_ORIGIN = "The derivative at the origin is 0."

add = Ufunc(np.add, "Derivative: 1 and 1.")
subtract = Ufunc(np.subtract, "Derivative: 1 and -1.")
multiply = Ufunc(np.multiply, "Derivative: y and x.")
divide = true_divide = Ufunc(np.divide, "Derivative: 1 / y and -x / y².")
floor_divide = Ufunc(np.floor_divide)
remainder = mod = Ufunc(np.remainder, "Derivative 1 and -floor(x / y), also at the jumps.")
fmod = Ufunc(np.fmod, "Derivative 1 and -trunc(x / y), also at the jumps.")
divmod = Ufunc(np.divmod, "Derivatives as of `floor_divide` and `remainder`.")
modf = Ufunc(np.modf, "Derivative: 1 of the fractional part, 0 of the integral one.")
power = pow = Ufunc(
    np.power,
    "Derivative: y x^(y-1) and x^y log(x), which by the exponent is 0 where the base is 0.",
)
float_power = Ufunc(np.float_power, "Derivative: as of `power`.")
negative = Ufunc(np.negative, "Derivative: -1.")
positive = Ufunc(np.positive, "Derivative: 1.")
reciprocal = Ufunc(np.reciprocal, "Derivative: -1 / x².")
square = Ufunc(np.square, "Derivative: 2 x.")
sqrt = Ufunc(np.sqrt, "Derivative: 1 / (2 √x). The derivative at 0 is infinite.")
cbrt = Ufunc(np.cbrt, "Derivative: 1 / (3 ∛x²). The derivative at 0 is infinite.")
absolute = abs = Ufunc(np.absolute, "Derivative: sign(x). The derivative at 0 is 0.")
fabs = Ufunc(np.fabs, "Derivative: sign(x). The derivative at 0 is 0.")
sign = Ufunc(np.sign)
copysign = Ufunc(np.copysign, "Derivative: sign(x) sign(y) and 0.")
heaviside = Ufunc(np.heaviside, "Derivative: 0 and, where x is 0, 1.")
conjugate = conj = Ufunc(np.conjugate, "Linear over the reals.")
matmul = Ufunc(np.matmul, "Linear in each operand.")

exp = Ufunc(np.exp, "Derivative: exp(x).")
exp2 = Ufunc(np.exp2, "Derivative: log(2) 2^x.")
expm1 = Ufunc(np.expm1, "Derivative: exp(x).")
log = Ufunc(np.log, "Derivative: 1 / x.")
log2 = Ufunc(np.log2, "Derivative: 1 / (x log(2)).")
log10 = Ufunc(np.log10, "Derivative: 1 / (x log(10)).")
log1p = Ufunc(np.log1p, "Derivative: 1 / (1 + x).")
logaddexp = Ufunc(np.logaddexp, "Derivative: the shares of exp(x) and exp(y) in their sum.")
logaddexp2 = Ufunc(np.logaddexp2, "Derivative: the shares of 2^x and 2^y in their sum.")

sin = Ufunc(np.sin, "Derivative: cos(x).")
cos = Ufunc(np.cos, "Derivative: -sin(x).")
tan = Ufunc(np.tan, "Derivative: 1 + tan(x)².")
arcsin = asin = Ufunc(np.arcsin, "Derivative: 1 / √(1 - x²).")
arccos = acos = Ufunc(np.arccos, "Derivative: -1 / √(1 - x²).")
arctan = atan = Ufunc(np.arctan, "Derivative: 1 / (1 + x²).")
arctan2 = atan2 = Ufunc(np.arctan2, f"Derivative: y / (x² + y²) and -x / (x² + y²). {_ORIGIN}")
hypot = Ufunc(np.hypot, f"Derivative: x / hypot(x, y) and y / hypot(x, y). {_ORIGIN}")
sinh = Ufunc(np.sinh, "Derivative: cosh(x).")
cosh = Ufunc(np.cosh, "Derivative: sinh(x).")
tanh = Ufunc(np.tanh, "Derivative: 1 - tanh(x)².")
arcsinh = asinh = Ufunc(np.arcsinh, "Derivative: 1 / √(1 + x²).")
arccosh = acosh = Ufunc(np.arccosh, "Derivative: 1 / √(x² - 1).")
arctanh = atanh = Ufunc(np.arctanh, "Derivative: 1 / (1 - x²).")
degrees = Ufunc(np.degrees, "Derivative: 180 / π.")
radians = Ufunc(np.radians, "Derivative: π / 180.")
deg2rad = Ufunc(np.deg2rad, "Derivative: π / 180.")
rad2deg = Ufunc(np.rad2deg, "Derivative: 180 / π.")

maximum = Ufunc(np.maximum, _EXTREMUM)
minimum = Ufunc(np.minimum, _EXTREMUM)
fmax = Ufunc(np.fmax, _EXTREMUM)
fmin = Ufunc(np.fmin, _EXTREMUM)

floor = Ufunc(np.floor)
ceil = Ufunc(np.ceil)
trunc = Ufunc(np.trunc)
rint = Ufunc(np.rint)
equal = Ufunc(np.equal)
not_equal = Ufunc(np.not_equal)
less = Ufunc(np.less)
less_equal = Ufunc(np.less_equal)
greater = Ufunc(np.greater)
greater_equal = Ufunc(np.greater_equal)
logical_and = Ufunc(np.logical_and)
logical_or = Ufunc(np.logical_or)
logical_xor = Ufunc(np.logical_xor)
logical_not = Ufunc(np.logical_not)
bitwise_and = Ufunc(np.bitwise_and)
bitwise_or = Ufunc(np.bitwise_or)
bitwise_xor = Ufunc(np.bitwise_xor)
invert = bitwise_not = bitwise_invert = Ufunc(np.invert)
left_shift = bitwise_left_shift = Ufunc(np.left_shift)
right_shift = bitwise_right_shift = Ufunc(np.right_shift)
isnan = Ufunc(np.isnan)
isinf = Ufunc(np.isinf)
isfinite = Ufunc(np.isfinite)
signbit = Ufunc(np.signbit)

gcd = Ufunc(np.gcd)
lcm = Ufunc(np.lcm)
bitwise_count = Ufunc(np.bitwise_count)
nextafter = Ufunc(np.nextafter, "Derivative: 1 and 0.")
spacing = Ufunc(np.spacing)
frexp = Ufunc(
    np.frexp, "Derivative: 2⁻ᵉ of the mantissa, e the exponent, which is locally constant."
)
ldexp = Ufunc(np.ldexp, "Derivative: 2ⁿ by x; n is an integer.")

__all__ = [name for name, made in list(globals().items()) if isinstance(made, Ufunc)]
