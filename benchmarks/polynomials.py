"""What the polynomials of the vector mathematics approximate, where, and to which degree.

Each family gives its polynomials by name and element type. Numbers are made when a family is
called, at the precision that mpmath works in then.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath
from mpmath import mpf

from benchmarks.remez import Fit, Real, one, pair

__all__ = ["ERFC_SHIFT", "tasks"]

Family = dict[str, dict[str, Fit]]
ERFC_SHIFT = {"double": [3.0, 153 / 1024], "float": [2.0, 228 / 1024]}  # 1 - c v0 is exact


def tasks() -> Family:
    """All polynomials, by name and element type."""
    found: Family = {}
    for family in (
        exponential,
        logarithm,
        trigonometric,
        hyperbolic,
        roots,
        error,
        inverse_error,
        log_gamma,
        digamma,
    ):
        found |= family()
    return found


# Intervals and weights that several families share


def widened(x: float | mpf) -> mpf:
    """A bound with some margin for the rounding of what is reduced to it."""
    return x * mpf("1.0005")


def half_ln2() -> mpf:
    return widened(mpmath.log(2) / 2)


def tiny() -> mpf:
    return mpf(10) ** -12


def linear(x: mpf) -> mpf:
    return abs(x) + tiny()


def square(x: mpf) -> mpf:
    return x * x + tiny()


def about_1() -> tuple[mpf, mpf]:
    """m - 1 with m in [sqrt(1/2), sqrt(2)), and in [3/4, 3/2)."""
    return 1 / mpmath.sqrt(2) - 1 - tiny(), mpf("0.5005")


def inverse(f: Real) -> Real:
    return lambda x: 1 / f(x)


def around(f: Real, at: mpf) -> Real:
    return lambda t: f(at + t)


def divided(f: Real, at: mpf, slope: mpf) -> Real:
    """f(at + t) / t, where f(at) = 0."""
    return lambda t: f(at + t) / t if abs(t) > mpf(10) ** -15 else slope


def series(terms: Callable[[int], mpf], start: int, count: int = 60) -> Real:
    """The power series sum(terms(start + k) * x**k)."""
    values = [terms(start + k) for k in range(count)][::-1]
    return lambda x: mpmath.polyval(values, x)


def odd_rest(f: Real, first: mpf) -> Real:
    """(f(x) - x) / x³ as a function of z = x², which is `first` at 0."""

    def rest(z: mpf) -> mpf:
        x = mpmath.sqrt(z)
        return (f(x) / x - 1) / z if z > mpf(10) ** -15 else first

    return rest


# The families


def exponential() -> Family:
    bound, ln2, factorial = half_ln2(), mpmath.log(2), mpmath.factorial
    return {
        # exp(r) = 1 + r + r² P(r)
        "EXP": pair(series(lambda n: 1 / factorial(n), 2), -bound, bound, (9, 4), square),
        # expm1(r) = r + r²/2 + r³ P(r), relative to r
        "EXPM1": pair(series(lambda n: 1 / factorial(n), 3), -bound, bound, (9, 4), square),
        # 2**r = 1 + r P(r)
        "EXP2": pair(
            series(lambda n: ln2**n / factorial(n), 1),
            -widened(mpf(1)) / 2,
            widened(mpf(1)) / 2,
            (10, 5),
            linear,
        ),
    }


def log1p_rest(f: mpf) -> mpf:
    """(log(1 + f) - f + f²/2) / f³"""
    if abs(f) < mpf("0.01"):
        return mpmath.polyval([mpf(-1) ** k / (k + 3) for k in range(40)][::-1], f)
    return (mpmath.log1p(f) - f + f * f / 2) / f**3


def log1p_ratio(base: mpf) -> Real:
    """log(1 + f) / (f base)"""

    def ratio(f: mpf) -> mpf:
        return mpmath.log1p(f) / f / base if abs(f) > mpf(10) ** -20 else 1 / base

    return ratio


def logarithm() -> Family:
    ln2, ln10 = mpmath.log(2), mpmath.log(10)
    below, above = about_1()
    near = mpf("0.0475")  # how near to 1 the inverse to a sixteenth brings m
    quotient = widened(mpf("0.2")) ** 2  # s² for f from sqrt(1/2) - 1 to 1/2
    return {
        # log((1 + s) / (1 - s)) = 2s + s z P(z), z = s²
        "LOG_QUOTIENT": pair(
            series(lambda n: mpf(2) / (2 * n + 1), 1), 0, quotient, (7, 3), linear
        ),
        # log((1 + s) / (1 - s)) = 2s + 2/3 s³ + s⁵ P(z)
        "LOG_FIFTH": pair(series(lambda n: mpf(2) / (2 * n + 1), 2), 0, quotient, (7, 2), square),
        # log(1 + f) = f - f²/2 + f³ P(f)
        "LOG": {"float": Fit(log1p_rest, below, above, 8, square)},
        # log(1 + r) = r - r²/2 + r³ P(r) for m brought nearer to 1, and some ten bits finer
        "LOG_NEAR_1": pair_near_1(log1p_rest, near, (7, 1), square),
        "LOG_NEAR_1_FINELY": pair_near_1(log1p_rest, near, (9, 3), square),
        # log2(1 + r) = r P(r), and log10, and the same for m brought nearer to 1
        "LOG2": {"float": Fit(log1p_ratio(ln2), below, above, 9)},
        "LOG2_NEAR_1": pair_near_1(log1p_ratio(ln2), near, (9, 3)),
        "LOG10": {"float": Fit(log1p_ratio(ln10), below, above, 9)},
        "LOG10_NEAR_1": pair_near_1(log1p_ratio(ln10), near, (9, 3)),
    }


def pair_near_1(
    function: Real, near: mpf, degrees: tuple[int, int], weight: Real = one
) -> dict[str, Fit]:
    """For r with |r| up to `near`, in single precision up to half of that."""
    double, float_ = degrees
    return {
        "double": Fit(function, -near, near, double, weight),
        "float": Fit(function, -near / 2, near / 2, float_, weight),
    }


def trigonometric() -> Family:
    factorial = mpmath.factorial
    eighth = widened(mpmath.pi / 4) ** 2
    tan_pi_8 = widened(mpmath.sqrt(2) - 1) ** 2
    return {
        # sin(r) = r + r³ P(r²), cos(r) = 1 - r²/2 + r⁴ P(r²)
        "SIN": pair(
            series(lambda n: (-1) ** n / factorial(2 * n + 1), 1), 0, eighth, (5, 2), linear
        ),
        "COS": pair(series(lambda n: (-1) ** n / factorial(2 * n), 2), 0, eighth, (5, 2), square),
        # tan(r) = r + r³ P(r²)
        "TAN": pair(odd_rest(mpmath.tan, mpf(1) / 3), 0, eighth, (14, 6), linear),
        # arcsin(y) = y + y³ P(y²) for y <= 1/2
        "ASIN": pair(odd_rest(mpmath.asin, mpf(1) / 6), 0, widened(mpf(1)) / 4, (11, 4), linear),
        # arctan(t) = t + t³ P(t²) for t <= tan(pi/8)
        "ATAN": pair(odd_rest(mpmath.atan, -mpf(1) / 3), 0, tan_pi_8, (10, 4), linear),
    }


def hyperbolic() -> Family:
    bound, factorial = half_ln2() ** 2, mpmath.factorial
    third = widened(mpf(1) / 3) ** 2
    return {
        # sinh(r) = r + r³ P(r²), cosh(r) = 1 + r²/2 + r⁴ P(r²)
        "SINH": pair(series(lambda n: 1 / factorial(2 * n + 1), 1), 0, bound, (4, 2), linear),
        "COSH": pair(series(lambda n: 1 / factorial(2 * n), 2), 0, bound, (3, 1), square),
        # artanh(s) = s + s³ P(s²) for s <= 1/3
        "ATANH": pair(odd_rest(mpmath.atanh, mpf(1) / 3), 0, third, (9, 4), linear),
    }


def roots() -> Family:
    below, _ = about_1()
    third = mpf(1) / 3
    return {
        # m**(-1/3), to about a third of the bits
        "CBRT": pair(lambda m: m**-third, 1 + below, mpf(2), (6, 4), lambda m: m**third)
    }


def log_erfc(x: mpf) -> mpf:
    return mpmath.log(mpmath.erfc(x))


def erf_rest(z: mpf) -> mpf:
    """erf(x) / x - 1 for z = x²"""
    terms = series(lambda n: (-1) ** n / mpmath.factorial(n) / (2 * n + 1), 0)
    return terms(z) * 2 / mpmath.sqrt(mpmath.pi) - 1


def erfc_fit(shift: list[float], high: mpf, degree: int) -> Fit:
    c, v0 = (mpf(x) for x in shift)

    def scaled(t: mpf) -> mpf:
        v = t + v0
        x = 1 / v - c
        return mpmath.erfc(x) * mpmath.exp(x * x) / v

    low = 1 / (mpf("0.7499") + c)
    return Fit(scaled, 1 / (high + c) - v0, low - v0, degree, inverse(scaled))


def error() -> Family:
    return {
        # erf(x) = x + x P(x²) for |x| < 1, and 1 - exp(P(|x|)) for the rest, relative to 1
        "ERF": pair(erf_rest, 0, mpf("1.01"), (11, 6)),
        "LOG_ERFC": {
            "double": Fit(log_erfc, mpf("0.999"), mpf("5.95"), 16, mpmath.erfc),
            "float": Fit(log_erfc, mpf("0.999"), mpf("4.0"), 6, mpmath.erfc),
        },
        # erfc(x) = exp(-x²) P(v - v0) / (x + c), v = 1 / (x + c), for x >= 3/4
        "ERFC": {
            "double": erfc_fit(ERFC_SHIFT["double"], mpf("27.3"), 20),
            "float": erfc_fit(ERFC_SHIFT["float"], mpf("10.1"), 8),
        },
    }


def erfinv_ratio(w: mpf) -> mpf:
    """erfinv(x) / x for w = -log(1 - x²), by Newton's method on erfc."""
    if w < mpf(10) ** -10:
        return mpmath.sqrt(mpmath.pi) / 2 * (1 + mpmath.pi / 12 * w)
    x = mpmath.sqrt(1 - mpmath.exp(-w))
    wanted = mpmath.exp(-w) / (1 + x)  # 1 - x
    y = mpmath.sqrt(w) * mpf("0.9") if w > 1 else x * mpf("0.9")
    for _ in range(60):
        slope = 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-y * y)
        step = (mpmath.erfc(y) - wanted) / slope
        y += step / (1 + y * step)  # Halley's
        if abs(step) < mpf(10) ** -45:
            break
    return y / x


def erfinv_of_root(s: mpf) -> mpf:
    return erfinv_ratio(s * s)


def erfinv_tail(low: float, high: float, center: str, degree: int) -> Fit:
    """In the square root of w, which lies between `low` and `high`."""
    at = mpf(center)
    function = around(erfinv_of_root, at)
    margin = mpf("0.001")
    start, end = mpmath.sqrt(low) - at - margin, mpmath.sqrt(high) - at + margin
    return Fit(function, start, end, degree, inverse(function))


def inverse_error() -> Family:
    """erfinv(x) = x P(w - c), w = -log(1 - x²), and x P(sqrt(w) - c) from w = 5 on."""
    first, second = around(erfinv_ratio, mpf(0.85)), around(erfinv_ratio, mpf(3.25))
    return {
        "ERFINV_0": pair(first, mpf("-0.85"), mpf("0.851"), (15, 6), inverse(first)),
        "ERFINV_2": pair(second, mpf("-1.551"), mpf("1.751"), (19, 8), inverse(second)),
        "ERFINV_5": {
            "double": erfinv_tail(5, 16, "3.1", 21),
            "float": erfinv_tail(5, 16, "3", 9),
        },
        "ERFINV_16": {"double": erfinv_tail(16, 36.5, "5", 18)},
    }


def psi(x: mpf) -> mpf:
    return mpmath.psi(0, x)


def root_of_psi() -> mpf:
    """Where the digamma function is zero, and lgamma is least."""
    return mpmath.findroot(psi, mpf("1.46"))


def stirling(z: mpf) -> mpf:
    if z < mpf(10) ** -8:
        return mpf(1) / 12 - z / 360 + z * z / 1260
    x = 1 / mpmath.sqrt(z)
    leading = (x - mpf(1) / 2) * (mpmath.log(x) - 1) + (mpmath.log(2 * mpmath.pi) - 1) / 2
    return (mpmath.loggamma(x) - leading) * x


def log_gamma() -> Family:
    """lgamma(x) = (x - 1) P(x - 1) on [1/2, 6/5], least + t² P(t) on [6/5, 7/4] with t = x less
    the minimum, (x - 2) P(x - 2) on [7/4, 3], and for the rest
    (x - 1/2) (log(x) - 1) + (log(2 pi) - 1) / 2 + P(1/x²) / x.
    """
    place = root_of_psi()
    first = divided(mpmath.loggamma, mpf(1), -mpmath.euler)
    second = divided(mpmath.loggamma, mpf(2), 1 - mpmath.euler)

    def about_least(t: mpf) -> mpf:
        if abs(t) < mpf(10) ** -10:
            return mpmath.psi(1, place) / 2 + t * mpmath.psi(2, place) / 6
        return (mpmath.loggamma(place + t) - mpmath.loggamma(place)) / t**2

    low, high = mpf("1.1999") - place, mpf("1.7501") - place
    return {
        "LGAMMA_1": {"double": Fit(first, mpf("-0.5001"), mpf("0.2001"), 22, inverse(first))},
        "LGAMMA_LEAST": {"double": Fit(about_least, low, high, 18)},
        "LGAMMA_2": {"double": Fit(second, mpf("-0.2501"), mpf("1.0001"), 20, inverse(second))},
        "LGAMMA_TAIL": {"double": Fit(stirling, 0, mpf("0.1112"), 10)},
    }


def digamma_tail(z: mpf) -> mpf:
    if z < mpf(10) ** -8:
        return mpf(1) / 12 - z / 120 + z * z / 252
    x = 1 / mpmath.sqrt(z)
    return (mpmath.log(x) - 1 / (2 * x) - psi(x)) / z


def digamma() -> Family:
    """digamma(x) = (x - zero) P(x - 2) on [1, 3], and for the rest
    log(x) - 1/(2x) - P(1/x²) / x²; its reflection has sin(pi f) = f P(f²) for |f| <= 1/2.
    """
    zero = root_of_psi()

    def ratio(t: mpf) -> mpf:
        x = t + 2
        return psi(x) / (x - zero) if abs(x - zero) > mpf(10) ** -15 else mpmath.psi(1, zero)

    def sine(n: int) -> mpf:
        return (-1) ** n * mpmath.pi ** (2 * n + 1) / mpmath.factorial(2 * n + 1)

    return {
        "DIGAMMA": {"double": Fit(ratio, mpf("-1.0001"), mpf("1.0001"), 28, inverse(ratio))},
        "DIGAMMA_TAIL": {"double": Fit(digamma_tail, 0, mpf("0.1112"), 11)},
        "SIN_PI": {"double": Fit(series(sine, 0), 0, mpf("0.2501"), 9)},
    }
