"""Compute the polynomials of the vector mathematics and write them as a Python file.

    python -m benchmarks.coefficients  # writes compile/llvm/mathematics/coefficients.py

Each is a minimax polynomial: Remez' exchange over a dense grid of Chebyshev points, in mpmath. The
first coefficients are rounded one after the other, lowest first, and after each the rest are
fitted anew, so that the rounding of one is made good by the others. The table that is printed
gives the largest error of the rounded polynomial in bits, relative to what its weight says.
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
REFITS = 5
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
    ws = [task.weight(x) for x in xs]
    best: list[float] = []
    least = mpf("inf")
    fixed: list[float] = []
    rest, powers = ys, [mpf(1)] * len(xs)
    for k in range(min(task.degree + 1, REFITS)):
        weights = [w * abs(p) for w, p in zip(ws, powers)]
        floor = max(weights) * mpf("1e-18")  # points that no longer count would spoil the system
        usable = [j for j, w in enumerate(weights) if w > floor]
        tail = remez(
            [xs[j] for j in usable],
            [rest[j] / powers[j] for j in usable],
            [weights[j] for j in usable],
            task.degree - k,
        )
        candidate = fixed + [rounded(c, element) for c in tail]
        errors = weighted_errors([mpf(c) for c in candidate], xs, ys, ws)
        largest = max(abs(e) for e in errors)
        if largest < least:
            best, least = candidate, largest
        fixed.append(candidate[k])
        rest = [r - mpf(fixed[k]) * p for r, p in zip(rest, powers)]
        powers = [p * x for p, x in zip(powers, xs)]
    return best, least


def series(terms: Callable[[int], mpf], start: int, count: int = 60) -> Real:
    """The power series sum(terms(start + k) * x**k)."""
    values = [terms(start + k) for k in range(count)][::-1]
    return lambda x: mpmath.polyval(values, x)


def tasks() -> dict[str, dict[str, Fit]]:
    """What is approximated, by name and element type."""
    half_ln2 = mpmath.log(2) / 2 * mpf("1.0005")
    exp_from = lambda start: series(lambda n: 1 / mpmath.factorial(n), start)
    eighth = (mpmath.pi / 4 * mpf("1.0005")) ** 2
    root = mpmath.sqrt(2)
    log_limit = ((root - 1) / (root + 1) * mpf("1.0005")) ** 2
    tiny = mpf(10) ** -12
    square = lambda x: x * x + tiny
    linear = lambda x: abs(x) + tiny

    def pair(function: Real, low, high, degrees: tuple[int, int], weight: Real = one):
        double, float_ = degrees
        return {
            "double": Fit(function, low, high, double, weight),
            "float": Fit(function, low, high, float_, weight),
        }

    def log1p_rest(f: mpf) -> mpf:
        if abs(f) < mpf("0.01"):
            return mpmath.polyval([mpf(-1) ** k / (k + 3) for k in range(40)][::-1], f)
        return (mpmath.log1p(f) - f + f * f / 2) / f**3

    def erf_rest(z: mpf) -> mpf:
        return (
            series(lambda n: (-1) ** n / mpmath.factorial(n) / (2 * n + 1), 0)(z)
            * 2
            / (mpmath.sqrt(mpmath.pi))
            - 1
        )

    def scaled_erfc(t: mpf) -> mpf:
        x = 3 * (1 + t) / (1 - t)
        return mpmath.erfc(x) * mpmath.exp(x * x)

    return {
        # exp(r) = 1 + r + r² P(r)
        "EXP": pair(exp_from(2), -half_ln2, half_ln2, (9, 4), square),
        # expm1(r) = r + r²/2 + r³ P(r), relative to r
        "EXPM1": pair(exp_from(3), -half_ln2, half_ln2, (9, 4), square),
        # log((1 + s) / (1 - s)) = 2s + s z P(z), z = s²
        "LOG_QUOTIENT": pair(
            series(lambda n: mpf(2) / (2 * n + 1), 1), 0, log_limit, (6, 3), linear
        ),
        # log(1 + f) = f - f²/2 + f³ P(f)
        "LOG": pair(log1p_rest, 1 / root - 1 - tiny, root - 1 + tiny, (18, 7), square),
        # sin(r) = r + r³ P(r²), cos(r) = 1 - r²/2 + r⁴ P(r²)
        "SIN": pair(
            series(lambda n: (-1) ** n / mpmath.factorial(2 * n + 1), 1), 0, eighth, (5, 2), linear
        ),
        "COS": pair(
            series(lambda n: (-1) ** n / mpmath.factorial(2 * n), 2), 0, eighth, (5, 2), square
        ),
        # erf(x) = x + x P(x²) for |x| < 1
        "ERF": pair(erf_rest, 0, mpf("1.01"), (11, 6)),
        # erfc(x) = exp(-x²) P((x - 3) / (x + 3))
        "ERFC": {
            "double": Fit(scaled_erfc, mpf("-0.52"), mpf(1) / 3, 15),
            "float": Fit(scaled_erfc, mpf("-0.52"), mpf(1) / 7, 7),
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
    return {
        # The first part times an exponent is exact.
        "LN2": {"double": split(ln2, "double", 32, 2), "float": split(ln2, "float", 12, 2)},
        "HALF_PI": full(half_pi, 3),
    }


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
    if not options.only:
        OUTPUT.write_text(HEADER.format(names=[*constants(), *chosen]) + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
