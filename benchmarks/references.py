"""What the functions of the vector mathematics are compared with: mpmath, and where to look.

`operands` gives points in ranges that reach over each function's domain, near its zeros and poles
and beside the numbers at which an implementation may change its formula; `Exact` has the results
of mpmath there, in two parts, so that errors far below the last place can be told.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import mpmath
import numpy as np
import scipy.special
from mpmath import mpf

__all__ = ["EXACT", "Exact", "REFERENCES", "exact", "operands", "reference", "ulps"]

DTYPES = {"double": np.float64, "float": np.float32}


def _lgamma(x: mpf) -> mpf:
    return mpmath.loggamma(x) if x > 0 else mpmath.log(abs(mpmath.gamma(x)))


def _logaddexp(x: mpf, y: mpf) -> mpf:
    return max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y)))


EXACT: dict[str, Callable[..., mpf]] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpf(2) ** x,
    "expm1": mpmath.expm1,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "log1p": mpmath.log1p,
    "logaddexp": _logaddexp,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arctan2": mpmath.atan2,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "erfinv": mpmath.erfinv,
    "lgamma": _lgamma,
    "digamma": mpmath.digamma,
    "sqrt": mpmath.sqrt,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "hypot": mpmath.hypot,
    "power": mpmath.power,
}

# The same in NumPy or SciPy, where the name is another.
REFERENCES: dict[str, Callable[..., np.ndarray]] = {
    "sigmoid": scipy.special.expit,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erfinv": scipy.special.erfinv,
    "lgamma": scipy.special.gammaln,
    "digamma": scipy.special.psi,
}


def reference(name: str) -> Callable[..., np.ndarray]:
    function: Callable[..., np.ndarray] = REFERENCES.get(name) or getattr(np, name)
    return function


@dataclass(frozen=True)
class Log:
    """Numbers of one sign, equally frequent in every power of two."""

    low: float
    high: float
    sign: float = 1.0


Range = Log | tuple[float, float]
SMALL = [Log(1e-300, 0.1), Log(1e-300, 0.1, -1.0)]
POSITIVE = Log(5e-324, 1.7e308)
ODD: list[Range] = [(-1.0, 1.0), *SMALL]
ANGLES: list[Range] = [(-4.0, 4.0), (-1e5, 1e5), (-1e12, 1e12), *SMALL, Log(1e12, 1.7e308)]


def ranges(name: str, double: bool) -> list[Range]:
    """Where one-operand functions are looked at."""
    top, bottom, denormal = (709.7, -708.3, -745.1) if double else (88.7, -87.3, -103.9)
    saturated = 40.0 if double else 20.0
    table: dict[str, list[Range]] = {
        "exp": [(bottom, top), (denormal, bottom), *ODD],
        "exp2": [(-1021.0, 1023.9), (-1074.0, -1021.0), *ODD]
        if double
        else [(-125.0, 127.9), (-149.0, -125.0), *ODD],
        "expm1": [(-saturated, saturated), (saturated, top), *ODD],
        "sigmoid": [(-saturated, saturated), (denormal, -saturated), *ODD],
        "log": [POSITIVE, (0.5, 2.0), (0.99, 1.01)],
        "log1p": [(-0.999, 3.0), Log(1.0, 1.7e308), *ODD],
        "sin": ANGLES,
        "cos": ANGLES,
        "tan": ANGLES,
        "arcsin": [*ODD, (0.99, 1.0)],
        "arccos": [*ODD, (0.99, 1.0), (-1.0, -0.99)],
        "arctan": [(-10.0, 10.0), Log(1.0, 1.7e308), *ODD],
        "sinh": [(-saturated, saturated), (-top, top), *ODD],
        "cosh": [(-saturated, saturated), (-top, top), *ODD],
        "tanh": [(-saturated, saturated), *ODD],
        "arcsinh": [(-10.0, 10.0), Log(1.0, 1.7e308), Log(1.0, 1.7e308, -1.0), *ODD],
        "arccosh": [(1.0, 2.0), (1.0, 1.01), Log(1.0, 1.7e308)],
        "arctanh": [*ODD, (0.99, 1.0)],
        "erf": [(-6.0, 6.0), (0.8, 1.2), *ODD],
        "erfc": [(-6.0, 1.0), (1.0, 26.5 if double else 9.1), *ODD],
        "erfinv": [*ODD, (0.99, 1.0), (0.999999, 1.0)],
        "lgamma": [(0.0, 4.0), (0.95, 1.05), (1.95, 2.05), (3.0, 50.0), Log(5e-324, 2.5e305)],
        "digamma": [(0.0, 4.0), (1.45, 1.47), (3.0, 50.0), Log(1e-300, 1.7e308)],
        "sqrt": [POSITIVE],
        "cbrt": [POSITIVE, (-8.0, 8.0)],
    }
    table["log2"] = table["log10"] = table["log"]
    if name == "lgamma" and not double:
        return [*table[name][:-1], Log(1e-45, 4e36)]
    return table[name]


def sample(kind: Range, count: int, dtype: type, generator: np.random.Generator) -> np.ndarray:
    info = np.finfo(dtype)
    if isinstance(kind, tuple):
        return generator.uniform(*kind, count).astype(dtype)
    low = max(kind.low, float(info.smallest_subnormal))
    high = min(kind.high, float(info.max) * 0.99)
    return (kind.sign * np.exp2(generator.uniform(math.log2(low), math.log2(high), count))).astype(
        dtype
    )


def boundaries() -> Iterator[float]:
    """Numbers beside which a formula may change."""
    yield from (k / 16 for k in range(1, 65))
    yield from (k * math.pi / 4 for k in range(1, 17))
    yield from ((k + 0.5) * math.log(2.0) for k in range(8))
    yield from (math.sqrt(2.0) - 1.0, math.sqrt(2.0) + 1.0, math.sqrt(0.5), math.sqrt(2.0))
    yield from (1.2, 1.4616321449683623, 5.95, 1e3, 2.0**15, 2.0**30, 2.0**40, 2.0**60)


def domain(name: str, x: np.ndarray) -> np.ndarray:
    """The operands at which the function is real and finite."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(reference(name)(x.astype(np.float64)).astype(x.dtype))
    kept: np.ndarray = x[finite & (x > 0) if name in ("lgamma", "digamma") else finite]
    return kept


@functools.cache
def operands(name: str, element: str, count: int) -> tuple[np.ndarray, ...]:
    """`count` operands in each range, and those beside boundaries."""
    dtype = DTYPES[element]
    generator = np.random.default_rng(sum(map(ord, name)))
    if name in PAIRS:
        return PAIRS[name](generator, 4 * count, dtype)
    parts = [sample(kind, count, dtype, generator) for kind in ranges(name, element == "double")]
    edges = np.array(list(boundaries()), dtype)
    edges = np.concatenate([edges, np.nextafter(edges, dtype(0)), np.nextafter(edges, dtype(9e9))])
    parts += [generator.permutation(np.concatenate([edges, -edges]))[:count]]
    return (domain(name, np.concatenate(parts)),)


Pair = tuple[np.ndarray, np.ndarray]


def _quotients(generator: np.random.Generator, count: int, dtype: type) -> Pair:
    """Operands of any size, most of them with a quotient that is neither huge nor tiny."""
    top = 150.0 if dtype is np.float64 else 18.0
    x = 10.0 ** generator.uniform(-top, top, count) * generator.choice([-1.0, 1.0], count)
    y = x * 10.0 ** generator.uniform(-3.0, 3.0, count) * generator.choice([-1.0, 1.0], count)
    return x.astype(dtype), y.astype(dtype)


def _sums(generator: np.random.Generator, count: int, dtype: type) -> Pair:
    x = generator.uniform(-1.0, 1.0, count) * 10.0 ** generator.uniform(0.0, 3.0, count)
    y = x + generator.uniform(-1.0, 1.0, count) * 10.0 ** generator.uniform(-1.0, 2.0, count)
    return x.astype(dtype), y.astype(dtype)


def _powers(generator: np.random.Generator, count: int, dtype: type) -> Pair:
    """Bases far from 1 and near it, exponents that go to the ends of the range."""
    top = 705.0 if dtype is np.float64 else 86.0
    log_x = generator.uniform(-1.0, 1.0, count) * 10.0 ** generator.uniform(-4.0, 2.0, count)
    x = np.exp(np.clip(log_x, -top, top)).astype(dtype)
    x[x == 1] = 2
    y = generator.uniform(-top, top, count) / np.log(x.astype(np.float64))
    return x, y.astype(dtype)


PAIRS: dict[str, Callable[[np.random.Generator, int, type], Pair]] = {
    "arctan2": _quotients,
    "hypot": _quotients,
    "logaddexp": _sums,
    "power": _powers,
}


@dataclass(frozen=True)
class Exact:
    """Results as head + tail in double precision, and the size by whose last place to measure."""

    head: np.ndarray
    tail: np.ndarray
    size: np.ndarray


@functools.cache
def exact(name: str, element: str, count: int) -> Exact:
    """mpmath's results at `operands(name, element, count)`."""
    points = operands(name, element, count)
    heads, tails = [], []
    with mpmath.workprec(160):
        for row in zip(*(x.tolist() for x in points), strict=True):
            value = EXACT[name](*map(mpf, row))
            heads.append(float(value))
            tails.append(float(value - heads[-1]))
    head = np.array(heads)
    size = np.abs(head)
    if name == "logaddexp":  # a sum that may cancel: its error is in proportion to its terms
        size = np.maximum(size, np.maximum(*(np.abs(x) for x in points)))
    return Exact(head, np.array(tails), size)


def ulps(got: np.ndarray, wanted: Exact) -> np.ndarray:
    """The error in units of the last place of the exact result."""
    spacing = np.spacing(wanted.size.astype(got.dtype)).astype(np.float64)
    error: np.ndarray = np.abs((got.astype(np.float64) - wanted.head) - wanted.tail) / spacing
    return error
