"""Compute the polynomials of the vector mathematics and write them as a Python file.

    python -m benchmarks.coefficients  # writes compile/llvm/mathematics/coefficients.py

Each is a minimax polynomial: Remez' exchange over a dense grid of Chebyshev points, in mpmath. The
coefficients are rounded one after the other, lowest first, and what the rounding of one does is
made good by the others (least squares). The table that is printed gives the largest error of the
rounded polynomial in bits, relative to what its weight says.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath
from mpmath import mpf

OUTPUT = Path(__file__).parent.parent / "funcgrad/compile/llvm/mathematics/coefficients.py"
HEADER = '''"""Polynomials of the vector mathematics, constant term first.

Written by `python -m benchmarks.coefficients`: change that file, not this one.
"""

# ruff: noqa: E501
# fmt: off

from collections.abc import Mapping

__all__ = {names}

'''
ERFC_SHIFT = {"double": [3.0, 153 / 1024], "float": [2.0, 228 / 1024]}  # 1 - c v0 is exact
Real = Callable[[mpf], mpf]


def one(x: mpf) -> mpf:
    return mpf(1)


@dataclass(frozen=True)
class Fit:
    """Approximate `function` on [low, high]; the error is multiplied by `weight`."""

    function: Real
    low: float | mpf
    high: float | mpf
    degree: int
    weight: Real = one


def chebyshev_grid(low: mpf, high: mpf, count: int) -> list[mpf]:
    return [
        (low + high) / 2 - (high - low) / 2 * mpmath.cos(mpmath.pi * k / (count - 1))
        for k in range(count)
    ]


def remez(xs: list[mpf], ys: list[mpf], ws: list[mpf], degree: int) -> list[mpf]:
    """The polynomial of least weighted maximum error over the points `xs`.

    With more alternations than coefficients the exchange may cycle: the best iterate counts.
    """
    best, least = [], mpf("inf")
    count = degree + 2
    last = len(xs) - 1
    chosen = [round(last * k / (count - 1)) for k in range(count)]
    for _ in range(12):
        matrix = mpmath.matrix(count, count)
        right = mpmath.matrix(count, 1)
        for row, k in enumerate(chosen):
            for power in range(degree + 1):
                matrix[row, power] = xs[k] ** power
            matrix[row, degree + 1] = (-1) ** row / ws[k]
            right[row] = ys[k]
        solution = mpmath.lu_solve(matrix, right)
        coefficients = [solution[k] for k in range(degree + 1)]
        errors = weighted_errors(coefficients, xs, ys, ws)
        exchanged = alternating_extrema(errors, count)
        largest = max(abs(e) for e in errors)
        if largest < least:
            best, least = coefficients, largest
        if len(exchanged) < count or largest <= abs(solution[degree + 1]) * mpf("1.01"):
            break
        chosen = exchanged
    return best


def weighted_errors(
    coefficients: list[mpf], xs: list[mpf], ys: list[mpf], ws: list[mpf]
) -> list[mpf]:
    reverse = coefficients[::-1]
    return [w * (mpmath.polyval(reverse, x) - y) for x, y, w in zip(xs, ys, ws)]


def alternating_extrema(errors: list[mpf], count: int) -> list[int]:
    """Where each run of one sign is largest: `count` neighbours, the largest of all among them."""
    extrema: list[int] = []
    for k, e in enumerate(errors):
        if extrema and (e > 0) == (errors[extrema[-1]] > 0):
            if abs(e) > abs(errors[extrema[-1]]):
                extrema[-1] = k
        else:
            extrema.append(k)
    if len(extrema) <= count:
        return extrema
    top = max(range(len(extrema)), key=lambda j: abs(errors[extrema[j]]))
    starts = range(max(0, top - count + 1), min(top, len(extrema) - count) + 1)
    windows = [extrema[start : start + count] for start in starts]
    return max(windows, key=lambda window: min(abs(errors[k]) for k in window))


def rounded(x: mpf, element: str) -> float:
    if element == "double":
        return float(x)
    # Twice rounded, which is right but for ties of one in 2**29.
    return float(struct.unpack("f", struct.pack("f", float(x)))[0])


def fit(task: Fit, element: str) -> tuple[list[float], mpf]:
    """The rounded coefficients and the largest weighted error."""
    xs = chebyshev_grid(mpf(task.low), mpf(task.high), 24 * (task.degree + 2))
    ys = [task.function(x) for x in xs]
    ws = [abs(task.weight(x)) for x in xs]
    coefficients = remez(xs, ys, ws, task.degree)
    for k in range(task.degree + 1):
        lost = coefficients[k] - mpf(rounded(coefficients[k], element))
        coefficients[k] -= lost
        if lost and k < task.degree:
            for j, c in enumerate(substitute(k, task.degree, xs[::8], ws[::8]), start=k + 1):
                coefficients[j] += lost * c
    result = [rounded(c, element) for c in coefficients]
    errors = weighted_errors([mpf(c) for c in result], xs, ys, ws)
    return result, max(abs(e) for e in errors)


def substitute(k: int, degree: int, xs: list[mpf], ws: list[mpf]) -> list[mpf]:
    """The combination of higher powers up to `degree` next to x**k, by least squares."""
    rows, columns = len(xs), degree - k
    matrix, right = mpmath.matrix(rows, columns), mpmath.matrix(rows, 1)
    for row, (x, w) in enumerate(zip(xs, ws)):
        right[row] = w * x**k
        for column in range(columns):
            matrix[row, column] = w * x ** (k + 1 + column)
    transposed = matrix.T
    with mpmath.workdps(2 * mpmath.mp.dps):
        solution = mpmath.lu_solve(transposed * matrix, transposed * right)
    return [solution[j] for j in range(columns)]


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


def pair(function: Real, low: mpf, high: mpf, degrees: tuple[int, int], weight: Real = one):
    """The same for both element types, to a degree for each."""
    double, float_ = degrees
    return {
        "double": Fit(function, low, high, double, weight),
        "float": Fit(function, low, high, float_, weight),
    }


def log_erfc(x: mpf) -> mpf:
    return mpmath.log(mpmath.erfc(x))


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


def tasks() -> dict[str, dict[str, Fit]]:
    """What is approximated, by name and element type."""
    margin = mpf("1.0005")
    ln2, ln10, root = mpmath.log(2), mpmath.log(10), mpmath.sqrt(2)
    exponent = ln2 / 2 * margin
    eighth = (mpmath.pi / 4 * margin) ** 2
    tiny = mpf(10) ** -12
    square = lambda x: x * x + tiny
    linear = lambda x: abs(x) + tiny
    factorial = mpmath.factorial
    sixteenth = mpf("0.0475")  # how near to 1 the inverse to a sixteenth brings m
    quotient = (mpf("0.2") * margin) ** 2  # s for f from sqrt(1/2) - 1 to 1/2
    # m - 1 with m in [sqrt(1/2), sqrt(2)), and in [3/4, 3/2)
    below, above = 1 / root - 1 - tiny, mpf("0.5005")

    def log1p_rest(f: mpf) -> mpf:
        if abs(f) < mpf("0.01"):
            return mpmath.polyval([mpf(-1) ** k / (k + 3) for k in range(40)][::-1], f)
        return (mpmath.log1p(f) - f + f * f / 2) / f**3

    def log1p_ratio(base: mpf) -> Real:
        def ratio(f: mpf) -> mpf:
            return mpmath.log1p(f) / f / base if abs(f) > mpf(10) ** -20 else 1 / base

        return ratio

    def erf_rest(z: mpf) -> mpf:
        return (
            series(lambda n: (-1) ** n / factorial(n) / (2 * n + 1), 0)(z)
            * 2
            / (mpmath.sqrt(mpmath.pi))
            - 1
        )

    def erfc_fit(shift: list[float], high: mpf, degree: int) -> Fit:
        c, v0 = (mpf(x) for x in shift)

        def scaled(t: mpf) -> mpf:
            v = t + v0
            x = 1 / v - c
            return mpmath.erfc(x) * mpmath.exp(x * x) / v

        low = 1 / (mpf("0.7499") + c)
        return Fit(scaled, 1 / (high + c) - v0, low - v0, degree, inverse(scaled))

    def inverse(f: Real) -> Real:
        return lambda x: 1 / f(x)

    def around(f: Real, at: mpf) -> Real:
        return lambda t: f(at + t)

    def erfinv_of_root(s: mpf) -> mpf:
        return erfinv_ratio(s * s)

    def divided(f: Real, at: mpf, slope: mpf) -> Real:
        """f(at + t) / t, where f(at) = 0."""
        return lambda t: f(at + t) / t if abs(t) > mpf(10) ** -15 else slope

    def stirling(z: mpf) -> mpf:
        if z < mpf(10) ** -8:
            return mpf(1) / 12 - z / 360 + z * z / 1260
        x = 1 / mpmath.sqrt(z)
        leading = (x - mpf(1) / 2) * (mpmath.log(x) - 1) + (mpmath.log(2 * mpmath.pi) - 1) / 2
        return (mpmath.loggamma(x) - leading) * x

    def digamma_tail(z: mpf) -> mpf:
        if z < mpf(10) ** -8:
            return mpf(1) / 12 - z / 120 + z * z / 252
        x = 1 / mpmath.sqrt(z)
        return (mpmath.log(x) - 1 / (2 * x) - digamma(x)) / z

    digamma = lambda x: mpmath.psi(0, x)
    zero = mpmath.findroot(digamma, mpf("1.46"))
    gamma_1 = divided(mpmath.loggamma, mpf(1), -mpmath.euler)
    gamma_2 = divided(mpmath.loggamma, mpf(2), 1 - mpmath.euler)

    def digamma_ratio(t: mpf) -> mpf:
        x = t + 2
        return digamma(x) / (x - zero) if abs(x - zero) > mpf(10) ** -15 else mpmath.psi(1, zero)

    def gamma_least(t: mpf) -> mpf:
        if abs(t) < mpf(10) ** -10:
            return mpmath.psi(1, zero) / 2 + t * mpmath.psi(2, zero) / 6
        return (mpmath.loggamma(zero + t) - mpmath.loggamma(zero)) / t**2

    least = zero
    erfinv_low = lambda at: around(erfinv_ratio, mpf(at))
    half_root = lambda low, high, at: (
        mpmath.sqrt(low) - at - mpf("0.001"),
        mpmath.sqrt(high) - at + mpf("0.001"),
    )

    return {
        # exp(r) = 1 + r + r² P(r)
        "EXP": pair(series(lambda n: 1 / factorial(n), 2), -exponent, exponent, (9, 4), square),
        # expm1(r) = r + r²/2 + r³ P(r), relative to r
        "EXPM1": pair(series(lambda n: 1 / factorial(n), 3), -exponent, exponent, (9, 4), square),
        # 2**r = 1 + r P(r)
        "EXP2": pair(
            series(lambda n: ln2**n / factorial(n), 1), -margin / 2, margin / 2, (10, 5), linear
        ),
        # log((1 + s) / (1 - s)) = 2s + s z P(z), z = s²
        "LOG_QUOTIENT": pair(
            series(lambda n: mpf(2) / (2 * n + 1), 1), 0, quotient, (7, 3), linear
        ),
        # log((1 + s) / (1 - s)) = 2s + 2/3 s³ + s⁵ P(z)
        "LOG_FIFTH": pair(series(lambda n: mpf(2) / (2 * n + 1), 2), 0, quotient, (7, 2), square),
        # log(1 + f) = f - f²/2 + f³ P(f)
        "LOG": {"float": Fit(log1p_rest, below, above, 8, square)},
        # log(1 + r) = r - r²/2 + r³ P(r) for m brought nearer to 1, and some ten bits finer
        "LOG_NEAR_1": {"double": Fit(log1p_rest, -sixteenth, sixteenth, 7, square)},
        "LOG_NEAR_1_FINELY": {
            "double": Fit(log1p_rest, -sixteenth, sixteenth, 9, square),
            "float": Fit(log1p_rest, -sixteenth / 2, sixteenth / 2, 3, square),
        },
        # log2(1 + r) = r P(r), and log10
        "LOG2": {
            "double": Fit(log1p_ratio(ln2), -sixteenth, sixteenth, 9),
            "float": Fit(log1p_ratio(ln2), below, above, 9),
        },
        "LOG10": {
            "double": Fit(log1p_ratio(ln10), -sixteenth, sixteenth, 9),
            "float": Fit(log1p_ratio(ln10), below, above, 9),
        },
        # sin(r) = r + r³ P(r²), cos(r) = 1 - r²/2 + r⁴ P(r²)
        "SIN": pair(
            series(lambda n: (-1) ** n / factorial(2 * n + 1), 1), 0, eighth, (5, 2), linear
        ),
        "COS": pair(series(lambda n: (-1) ** n / factorial(2 * n), 2), 0, eighth, (5, 2), square),
        # tan(r) = r + r³ P(r²)
        "TAN": pair(odd_rest(mpmath.tan, mpf(1) / 3), 0, eighth, (14, 6), linear),
        # arcsin(y) = y + y³ P(y²) for y <= 1/2
        "ASIN": pair(odd_rest(mpmath.asin, mpf(1) / 6), 0, margin / 4, (11, 4), linear),
        # arctan(t) = t + t³ P(t²) for t <= tan(pi/8)
        "ATAN": pair(
            odd_rest(mpmath.atan, -mpf(1) / 3), 0, ((root - 1) * margin) ** 2, (10, 4), linear
        ),
        # sinh(r) = r + r³ P(r²), cosh(r) = 1 + r²/2 + r⁴ P(r²)
        "SINH": pair(series(lambda n: 1 / factorial(2 * n + 1), 1), 0, exponent**2, (4, 2), linear),
        "COSH": pair(series(lambda n: 1 / factorial(2 * n), 2), 0, exponent**2, (3, 1), square),
        # artanh(s) = s + s³ P(s²) for s <= 1/3
        "ATANH": pair(odd_rest(mpmath.atanh, mpf(1) / 3), 0, (margin / 3) ** 2, (9, 4), linear),
        # m**(-1/3), to about a third of the bits
        "CBRT": pair(
            lambda m: m ** (-mpf(1) / 3), 1 + below, mpf(2), (6, 4), lambda m: m ** (mpf(1) / 3)
        ),
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
        # erfinv(x) = x P(w - c), w = -log(1 - x²), and x P(sqrt(w) - c) from w = 5 on
        "ERFINV_0": pair(
            erfinv_low(0.85), mpf("-0.85"), mpf("0.851"), (15, 6), inverse(erfinv_low(0.85))
        ),
        "ERFINV_2": pair(
            erfinv_low(3.25), mpf("-1.551"), mpf("1.751"), (19, 8), inverse(erfinv_low(3.25))
        ),
        "ERFINV_5": {
            "double": Fit(
                around(erfinv_of_root, mpf("3.1")),
                *half_root(5, 16, mpf("3.1")),
                21,
                inverse(around(erfinv_of_root, mpf("3.1"))),
            ),
            "float": Fit(
                around(erfinv_of_root, mpf("3")),
                *half_root(5, 16, mpf("3")),
                9,
                inverse(around(erfinv_of_root, mpf("3"))),
            ),
        },
        "ERFINV_16": {
            "double": Fit(
                around(erfinv_of_root, mpf("5")),
                *half_root(16, 36.5, mpf("5")),
                18,
                inverse(around(erfinv_of_root, mpf("5"))),
            ),
        },
        # lgamma(x) = (x - 1) P(x - 1) on [1/2, 6/5], least + t² P(t) on [6/5, 7/4] with t = x less
        # the minimum, (x - 2) P(x - 2) on [7/4, 3], and for the
        # rest (x - 1/2) (log(x) - 1) + (log(2 pi) - 1) / 2 + P(1/x²) / x
        "LGAMMA_1": {"double": Fit(gamma_1, mpf("-0.5001"), mpf("0.2001"), 22, inverse(gamma_1))},
        "LGAMMA_LEAST": {
            "double": Fit(gamma_least, mpf("1.1999") - least, mpf("1.7501") - least, 18)
        },
        "LGAMMA_2": {"double": Fit(gamma_2, mpf("-0.2501"), mpf("1.0001"), 20, inverse(gamma_2))},
        "LGAMMA_TAIL": {"double": Fit(stirling, 0, mpf("0.1112"), 10)},
        # digamma(x) = (x - zero) P(x - 2) on [1, 3], and for the rest
        # log(x) - 1/(2x) - P(1/x²) / x²
        "DIGAMMA": {
            "double": Fit(digamma_ratio, mpf("-1.0001"), mpf("1.0001"), 28, inverse(digamma_ratio))
        },
        "DIGAMMA_TAIL": {"double": Fit(digamma_tail, 0, mpf("0.1112"), 11)},
        # sin(pi f) = f P(f²) for |f| <= 1/2
        "SIN_PI": {
            "double": Fit(
                series(lambda n: (-1) ** n * mpmath.pi ** (2 * n + 1) / factorial(2 * n + 1), 0),
                0,
                mpf("0.2501"),
                9,
            )
        },
    }


def split(x: mpf, element: str, bits: int, count: int) -> list[float]:
    """Numbers that add up to `x`: all but the last have `bits` significant bits, and its sign."""
    parts = []
    for _ in range(count - 1):
        mantissa, exponent = mpmath.frexp(x)
        parts.append(
            float(mpmath.ldexp(mpmath.floor(mpmath.ldexp(mantissa, bits)), exponent - bits))
        )
        x -= mpf(parts[-1])
    return [*parts, rounded(x, element)]


def constants() -> dict[str, dict[str, list[float]]]:
    """Constants in several parts, by name and element type."""
    ln2, half_pi = mpmath.log(2), mpmath.pi / 2
    full = lambda x, count: {
        "double": split(x, "double", 53, count),
        "float": split(x, "float", 24, count),
    }
    # The first part times an exponent is exact.
    short = lambda x: {"double": split(x, "double", 32, 2), "float": split(x, "float", 12, 2)}
    return {
        "LN2": short(ln2),
        "LOG2_E": full(1 / ln2, 2),
        "LOG10_2": short(ln2 / mpmath.log(10)),
        "LOG10_E": full(1 / mpmath.log(10), 2),
        "HALF_PI": full(half_pi, 3),
        "DIGAMMA_ROOT": {
            "double": split(mpmath.findroot(lambda x: mpmath.psi(0, x), 1.46), "double", 53, 2)
        },
        "ERFC_SHIFT": {
            element: [rounded(mpf(x), element) for x in row] for element, row in ERFC_SHIFT.items()
        },
        "LGAMMA_MINIMUM": {
            "double": split(
                -mpmath.loggamma(mpmath.findroot(lambda x: mpmath.psi(0, x), 1.46)), "double", 53, 2
            )
        },
        "LOG_2_PI": {"double": split((mpmath.log(2 * mpmath.pi) - 1) / 2, "double", 53, 2)},
        # -log(c / 16) at c modulo 16, for the inverses c / 16 of [3/4, 3/2)
        "LOG_SIXTEENTHS": sixteenths(mpf(1)),
        "LOG2_SIXTEENTHS": sixteenths(ln2),
        "LOG10_SIXTEENTHS": sixteenths(mpmath.log(10)),
        # The same in two parts, of which the first may be added to k LN2[0] without error, and for
        # single precision by 32
        "LOG_STEPS": {"double": short_steps(16, 42)[0], "float": short_steps(32, 16)[0]},
        "LOG_STEPS_LOW": {"double": short_steps(16, 42)[1], "float": short_steps(32, 16)[1]},
        "THIRD": full(mpf(1) / 3, 2),
    }


def sixteenths(base: mpf) -> dict[str, list[float]]:
    """The table, and what its rounding lost."""
    entries = [-mpmath.log(mpf(c) / 16) / base for c in [*range(16, 24), *range(8, 16)]]
    table = [float(x) + 0.0 for x in entries]
    return {"double": table, "low": [float(x - mpf(t)) for x, t in zip(entries, table)]}


def short_steps(count: int, bits: int) -> tuple[list[float], list[float]]:
    """-log(c / count) to a multiple of 2**-bits, and the rest, at c modulo count."""
    half = count // 2
    order = [*range(count, count + half), *range(half, count)]
    entries = [-mpmath.log(mpf(c) / count) for c in order]
    table = [float(mpmath.ldexp(mpmath.nint(mpmath.ldexp(x, bits)), -bits)) + 0.0 for x in entries]
    return table, [float(x - mpf(t)) for x, t in zip(entries, table)]


def table(name: str, values: dict[str, list[float]]) -> list[str]:
    rows = [f'    "{element}": ({", ".join(map(repr, row))},),' for element, row in values.items()]
    return [f"{name}: Mapping[str, tuple[float, ...]] = {{", *rows, "}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", help="compute and print these; write nothing")
    options = parser.parse_args()
    mpmath.mp.dps = 50
    lines = []
    for name, values in constants().items():
        lines += table(name, values)
    chosen = {k: v for k, v in tasks().items() if not options.only or k in options.only}
    for name, elements in chosen.items():
        fitted = {}
        for element, task in elements.items():
            coefficients, error = fit(task, element)
            bits = float(-mpmath.log(error, 2))
            print(f"{name:20} {element:7} degree {task.degree:2}  {bits:6.1f} bits", flush=True)
            fitted[element] = coefficients
        lines += table(name, fitted)
    with mpmath.workprec(1300):
        digits = int(mpmath.floor(mpmath.ldexp(2 / mpmath.pi, 1216)))
    lines += ["# The first 1216 bits after the point of 2/pi", f"TWO_OVER_PI_BITS = {digits:#x}"]
    names = [*constants(), *chosen, "TWO_OVER_PI_BITS"]
    if not options.only:
        OUTPUT.write_text(HEADER.format(names=names) + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
