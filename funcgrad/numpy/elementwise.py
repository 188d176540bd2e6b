"""The ufuncs of the namespace. Each stands for NumPy's; its derivative is in `ops`.

The note says what the derivative is where the function has none; an operation without a note is
smooth, or locally constant (comparisons, rounding, predicates), with derivative 0.
"""

from __future__ import annotations

import numpy as np

from funcgrad.numpy.ufuncs import Ufunc

_EXTREMUM = "Two equal operands share the derivative equally."
_ORIGIN = "The derivative at the origin is 0."

add = Ufunc(np.add)
subtract = Ufunc(np.subtract)
multiply = Ufunc(np.multiply)
divide = true_divide = Ufunc(np.divide)
floor_divide = Ufunc(np.floor_divide)
remainder = mod = Ufunc(np.remainder, "Derivative 1 and -floor(x / y), also at the jumps.")
fmod = Ufunc(np.fmod, "Derivative 1 and -trunc(x / y), also at the jumps.")
divmod = Ufunc(np.divmod)
modf = Ufunc(np.modf)
power = pow = Ufunc(np.power, "The derivative by the exponent is 0 where the base is 0.")
float_power = Ufunc(np.float_power)
negative = Ufunc(np.negative)
positive = Ufunc(np.positive)
reciprocal = Ufunc(np.reciprocal)
square = Ufunc(np.square)
sqrt = Ufunc(np.sqrt, "The derivative at 0 is infinite.")
cbrt = Ufunc(np.cbrt, "The derivative at 0 is infinite.")
absolute = abs = Ufunc(np.absolute, "The derivative at 0 is 0.")
fabs = Ufunc(np.fabs, "The derivative at 0 is 0.")
sign = Ufunc(np.sign)
copysign = Ufunc(np.copysign)
heaviside = Ufunc(np.heaviside)
conjugate = conj = Ufunc(np.conjugate)
matmul = Ufunc(np.matmul)

exp = Ufunc(np.exp)
exp2 = Ufunc(np.exp2)
expm1 = Ufunc(np.expm1)
log = Ufunc(np.log)
log2 = Ufunc(np.log2)
log10 = Ufunc(np.log10)
log1p = Ufunc(np.log1p)
logaddexp = Ufunc(np.logaddexp)
logaddexp2 = Ufunc(np.logaddexp2)

sin = Ufunc(np.sin)
cos = Ufunc(np.cos)
tan = Ufunc(np.tan)
arcsin = asin = Ufunc(np.arcsin)
arccos = acos = Ufunc(np.arccos)
arctan = atan = Ufunc(np.arctan)
arctan2 = atan2 = Ufunc(np.arctan2, _ORIGIN)
hypot = Ufunc(np.hypot, _ORIGIN)
sinh = Ufunc(np.sinh)
cosh = Ufunc(np.cosh)
tanh = Ufunc(np.tanh)
arcsinh = asinh = Ufunc(np.arcsinh)
arccosh = acosh = Ufunc(np.arccosh)
arctanh = atanh = Ufunc(np.arctanh)
degrees = Ufunc(np.degrees)
radians = Ufunc(np.radians)
deg2rad = Ufunc(np.deg2rad)
rad2deg = Ufunc(np.rad2deg)

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

# without a rule: plain operands only
gcd = Ufunc(np.gcd)
lcm = Ufunc(np.lcm)
nextafter = Ufunc(np.nextafter)
spacing = Ufunc(np.spacing)
frexp = Ufunc(np.frexp)
ldexp = Ufunc(np.ldexp)

__all__ = [name for name, made in list(globals().items()) if isinstance(made, Ufunc)]
