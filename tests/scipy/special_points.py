"""Points at which special functions are hard, and exact derivatives there.

Operands are drawn from lists of such values, some moved a little. The exact derivative is a central
difference of mpmath's function at many digits. What it would change by the rounding of operands is
its condition, which is allowed to be lost.
"""

import contextlib
import itertools
import signal
import zlib

import mpmath as m
import numpy as np
from special_oracles import Inverse, Slopes

__all__ = ["condition", "draw", "exact", "richardson", "solves", "within", "worth"]

TINY = [1e-12, 1e-8, 1e-5, 1e-3]
MIDDLE = [0.02, 0.1, 0.3, 0.5, 0.75, 0.9, 0.999, 1 - 1e-9, 1.0, 1 + 1e-9, 1.001, 1.5, 2.0, 2.5]
MIDDLE += [3.0, 3.7, 5.0, 7.9]
LARGE = [12.3, 20.0, 31.4, 50.0, 100.3, 300.0, 1e3]
HUGE = [1e4, 1e6, 1e10]
BESIDE = [
    k + s * e for k in (-1, -2, -3, -6) for e in (0.0, 1e-8, 1e-6, 1e-4, 1e-2) for s in (-1, 1)
]
NEGATIVE = [-x for x in TINY + MIDDLE]
UNIT = [1e-12, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.75, 0.9, 0.99, 1 - 1e-6]
LOW = [-0.3, -0.5, -1.5, -2.5]

KINDS = {
    "r": [0.0, *TINY, *NEGATIVE, *MIDDLE, *LARGE, *[-x for x in LARGE], *HUGE, -1e6],
    "p": [*TINY, *MIDDLE, *MIDDLE, *LARGE, *HUGE],  # positive
    "s": [1e-8, 1e-3, *MIDDLE, *MIDDLE, *LARGE],  # of a size that series bear
    "t": [0.0, 1e-8, 1e-3, *MIDDLE, 12.3, 20.0, 31.4],
    "u": UNIT,
    "v": [0.0, 1e-12, -1e-6, 1e-3, 0.02, -0.1, 0.3, -0.5, 0.75, -0.9, 0.99, 1 - 1e-6],
    "w": [1.001, 1.1, 1.5, 2.0, 3.0, 7.9, 12.3],
    "b": [0.0, *NEGATIVE, *[-x for x in LARGE], -1e6, *TINY, *[x for x in MIDDLE if x < 1]],
    "g": [-1e-12, -1e-6, *NEGATIVE, *[-x for x in LARGE], -1e6],
    "m": [0.0, *NEGATIVE[2:], *MIDDLE, 12.3, 20.0, -12.3],
    "n": list(range(12)),
    "k": list(range(1, 12)),
    "o": [0.0, 1e-3, *MIDDLE, 12.3, 31.4, 100.3, *LOW, -1.0, -3.0],  # orders
    "a": [*BESIDE, 1e-8, 1e-3, *MIDDLE, 12.3, 31.4, *LOW],  # parameters
    "d": [0.0, 4.0, 7.0, *BESIDE, 1e-3, *MIDDLE, 12.3, 31.4, *LOW],  # degrees
    "q": [*BESIDE, *TINY, *MIDDLE, *LARGE, *LOW, -12.3],
    "x": [0.0, 1e-8, -1e-3, 0.02, 0.1, -0.3, 0.4, -0.5, 0.75, 0.9, -0.999, 0.999, 1.001, 1.5, 3.7],
    "y": [0.0, 1e-8, -1e-3, *MIDDLE, -0.3, -1.0, -2.5, -7.9, 12.3, 31.4, -31.4],
    "z": [0.0, 1e-8, -1e-3, 0.02, 0.1, 0.3, 0.5, 0.75, 0.9, 0.97, -0.3, -0.5, -1.0, -7.9, -1e3],
}


def draw(name, kinds, count):
    """The same `count` points at every call."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    columns = []
    for kind in kinds.lower():
        values = np.array(KINDS[kind], float)
        found = rng.choice(values, count)
        if kind not in "nk":
            moved = found * (1 + 0.05 * rng.uniform(-1, 1, count))
            inner = (np.abs(found) < 0.9) | ((np.abs(found) > 1.2) & (kind not in "uvb"))
            found = np.where(inner & (rng.uniform(size=count) < 0.3), moved, found)
        columns.append(found.astype(int) if kind in "nk" else found)
    return columns


class Late(Exception):
    """mpmath needs too long."""


@contextlib.contextmanager
def within(seconds):
    """End what takes longer: mpmath's series are slow in places."""

    def end(*_):
        raise Late

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _difference(function, k, point, digits):
    with m.workdps(digits):
        xs = [m.mpf(x) for x in point]
        h = (abs(xs[k]) or m.mpf(1)) * m.mpf(10) ** -(digits // 3)
        low, high = (function(*xs[:k], xs[k] + s * h, *xs[k + 1 :]) for s in (-1, 1))
        return (high - low) / (2 * h)


def exact(oracle, k, point, value, digits=60):
    """The derivative by operand `k` where the function has that value; None where there is none."""
    if isinstance(oracle, Slopes):
        slope = oracle.slopes[k]
        with m.workdps(digits):
            return None if slope is None else complex(slope(*map(m.mpf, point)))
    if isinstance(oracle, Inverse):
        place, function = oracle.place, oracle.function
        at = [*point[:place], float(value), *point[place + 1 :]]
        by_value = _difference(function, place, at, digits)
        moved = 1 if k == place else -_difference(function, k, at, digits)
        return complex(moved / by_value)
    return complex(_difference(oracle, k, point, digits))


def worth(oracle, point):
    """The function itself; None of what is given by its slopes, or by an equation."""
    if isinstance(oracle, (Slopes, Inverse)):
        return None
    with m.workdps(60):
        return complex(oracle(*map(m.mpf, point)))


def solves(oracle, point, value):
    """Whether the value solves the equation: SciPy gives an end of its interval where none does."""
    with m.workdps(60):
        at = [m.mpf(x) for x in point]
        given, at[oracle.place] = at[oracle.place], m.mpf(float(value))
        return abs(oracle.function(*at) - given) <= 1e-8 * min(abs(given), abs(1 - given))


def condition(oracle, k, point, value):
    """How much the derivative changes where operands do by all of themselves."""
    base = exact(oracle, k, point, value)
    moved = [[x * (1 + 1e-9 * (i == j)) for i, x in enumerate(point)] for j in range(len(point))]
    total = sum(abs(exact(oracle, k, there, value) - base) for there in moved)
    if isinstance(oracle, Inverse):
        total += abs(exact(oracle, k, point, value * (1 + 1e-9)) - base)
    return total * 1e9


def richardson(function, k, point):
    """The derivative of SciPy's own values, and how sure it is."""
    best = (np.nan, np.inf)
    x = point[k]
    for step in 2.0 ** -np.arange(4, 10):
        table = []
        for h in step * (abs(x) if 0 < abs(x) < 1 else 1) / 2.0 ** np.arange(4):
            low, high = [*point], [*point]
            low[k], high[k] = x - h, x + h
            table.append((function(*high) - function(*low)) / (high[k] - low[k]))
        for n in range(1, 4):
            last = table[-1]
            table = [(4**n * b - a) / (4**n - 1) for a, b in itertools.pairwise(table)]
        error = abs(table[0] - last)
        if error < best[1]:
            best = table[0], error
    return best
