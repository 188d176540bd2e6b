"""The error function, which NumPy does not have: rational approximations on four ranges.

The coefficients are those of the C library of 4.4BSD (Sun Microsystems 1993, `s_erf.c`; free to
use, modify and distribute with this notice), whose error is below one unit in the last place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.primitive import Sample
from funcgrad.ops.arithmetic import multiply, negative, square
from funcgrad.ops.samples import draw
from funcgrad.ops.transcendental import exp

__all__ = ["erf", "erf_slope"]

# x + x P(x²)/Q(x²) below 0.84375
P = (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
     -5.77027029648944159157e-03, -2.37630166566501626084e-05)  # fmt: skip
Q = (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
     1.32494738004321644526e-04, -3.96022827877536812320e-06)  # fmt: skip
# C + PA(|x| - 1)/QA(|x| - 1) up to 1.25
C = 8.45062911510467529297e-01
PA = (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
      3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
      -2.16637559486879084300e-03)  # fmt: skip
QA = (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
      1.26171219808761642112e-01, 1.36370839120290507362e-02,
      1.19844998467991074170e-02)  # fmt: skip
# 1 - exp(-x² - 0.5625 + R(1/x²)/S(1/x²)) / |x|, up to 1/0.35 and up to 6
RA = (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01,
      -6.23753324503260060396e01, -1.62396669462573470355e02, -1.84605092906711035994e02,
      -8.12874355063065934246e01, -9.81432934416914548592e00)  # fmt: skip
SA = (1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02,
      6.45387271733267880336e02, 4.29008140027567833386e02, 1.08635005541779435134e02,
      6.57024977031928170135e00, -6.04244152148580987438e-02)  # fmt: skip
RB = (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01,
      -1.60636384855821916062e02, -6.37566443368389627722e02, -1.02509513161107724954e03,
      -4.83519191608651397019e02)  # fmt: skip
SB = (1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03,
      3.19985821950859553908e03, 2.55305040643316442583e03, 4.74528541206955367215e02,
      -2.24409524465858183362e01)  # fmt: skip


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    value = coefficients[-1]
    for c in coefficients[-2::-1]:
        value = value * x + c
    return value


def _near_zero(x: Any) -> Any:
    z = x * x
    return x + x * (_polynomial(z, P) / _polynomial(z, Q))


def _around_one(x: Any) -> Any:
    s = np.abs(x) - 1.0
    return np.copysign(C + _polynomial(s, PA) / _polynomial(s, QA), x)


def _tail(x: Any, r: tuple[float, ...], s: tuple[float, ...]) -> Any:
    a = np.abs(x)
    quotient = _polynomial(1.0 / (a * a), r) / _polynomial(1.0 / (a * a), s)
    high = a.astype(np.float32).astype(np.float64)  # its square is exact
    rest = np.exp(-high * high - 0.5625) * np.exp((high - a) * (high + a) + quotient)
    return np.copysign(1.0 - rest / a, x)


_RANGES = (
    (0.84375, _around_one),
    (1.25, lambda x: _tail(x, RA, SA)),
    (1 / 0.35, lambda x: _tail(x, RB, SB)),
    (6.0, np.sign),
)


def error_function(x: Any) -> Any:
    given = np.asarray(x)
    dtype = given.dtype if given.dtype.kind == "f" else np.dtype(np.float64)
    wide = given.astype(np.float64).reshape(-1)
    size = np.abs(wide)
    with np.errstate(all="ignore"):
        out = _near_zero(np.where(size < 1.0, wide, 0.0))
        for start, function in _RANGES:
            chosen = size >= start
            if not chosen.any():
                break
            out[chosen] = function(wide[chosen])
    out[np.isnan(wide)] = np.nan
    return out.reshape(given.shape).astype(dtype)[()]


def erf_slope(x: Any) -> Any:
    """The derivative of the error function, of complex numbers too."""
    return multiply(2.0 / math.sqrt(math.pi), exp(negative(square(x))))


def _samples() -> list[Sample]:
    return [
        Sample((draw((3,)),)),
        Sample((np.array([0.0, 0.5, -0.9, 1.1, 2.0, -3.5, 7.0]),)),
        Sample((draw((2, 2)).astype(np.float32),)),
    ]


erf: Op = elementwise(error_function, lambda _, x: erf_slope(x), sample=_samples)
erf.primitive.in_pieces = True  # type: ignore[attr-defined]
