"""Minimax polynomials: Remez' exchange over a dense grid of Chebyshev points, in mpmath.

The coefficients are rounded one after the other, lowest first, and what the rounding of one does is
made good by the others (least squares).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
from mpmath import mpf

__all__ = ["Fit", "Real", "fit", "one", "pair", "rounded"]

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


def pair(function: Real, low: mpf, high: mpf, degrees: tuple[int, int], weight: Real = one):
    """The same for both element types, to a degree for each."""
    double, float_ = degrees
    return {
        "double": Fit(function, low, high, double, weight),
        "float": Fit(function, low, high, float_, weight),
    }
