"""What a call of `jit(f).njit` from inside a function of Numba's costs above the work itself.

Each program runs in a loop of `@njit` that feeds its result back, once by the compiled gradient and
once by a derivative written by hand for Numba, with the same loops and allocations. Also a fused
kernel with a function taken in by `from_numba`, against the same function written in NumPy's
operations.

    python -m benchmarks.numba_calls
"""

from __future__ import annotations

import time

import numba
import numpy as np

import funcgrad as fg
from funcgrad.extend import from_numba

ROUNDS = 9


@numba.njit
def slope_by_hand(x, y):
    return np.cos(x) * y + 3 * x * x


@numba.njit
def sum_by_hand(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i] * x[i]
    return total


@numba.njit
def gradient_by_hand(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = 3 * x[i] * x[i]
    return out


def cube(x):
    return np.sum(x * x * x)


slope = fg.jit(fg.grad(lambda x, y: np.sin(x) * y + x**3)).njit
value = fg.jit(cube).njit
gradient = fg.jit(fg.grad(cube)).njit


def on_numbers(f):
    @numba.njit
    def loop(count, y):
        x = 0.5
        for _ in range(count):
            x = f(x, y) * 1e-3
        return x

    return loop


def on_arrays(f, scalar):
    pick = numba.njit((lambda y: y) if scalar else (lambda y: y[0]))

    @numba.njit
    def loop(count, x):
        total = 0.0
        for _ in range(count):
            x[0] = total * 1e-9
            total += pick(f(x))
        return total

    return loop


def medians(loops, count, argument):
    """Nanoseconds for each call, the loops taking turns."""
    for loop in loops:
        loop(3, argument)
    times = [[] for _ in loops]
    for _ in range(ROUNDS):
        for loop, found in zip(loops, times, strict=True):
            start = time.perf_counter()
            loop(count, argument)
            found.append((time.perf_counter() - start) / count * 1e9)
    return [float(np.median(t)) for t in times]


@numba.njit
def polynomial(x):
    return ((0.3 * x - 1.0) * x + 0.5) * x + 2.0


def main():
    print("| call inside @njit | by hand, ns | jit(f).njit, ns | above the work, ns |")
    print("|---|---|---|---|")
    rows = [("gradient of two numbers", on_numbers, (slope_by_hand, slope), 2.0, 10**6)]
    for n, count in ((3, 10**6), (100, 10**5), (10_000, 2000)):
        x = np.ones(n)
        rows.append((f"value on {n} elements", lambda f: on_arrays(f, True),
                     (sum_by_hand, value), x, count))  # fmt: skip
        rows.append((f"gradient on {n} elements", lambda f: on_arrays(f, False),
                     (gradient_by_hand, gradient), x, count))  # fmt: skip
    for name, make, functions, argument, count in rows:
        hand, ours = medians([make(f) for f in functions], count, argument)
        print(f"| {name} | {hand:.1f} | {ours:.1f} | {ours - hand:.1f} |")
    taken = from_numba(polynomial, elementwise=True)
    kernels = [
        fg.jit(lambda x: np.tanh(x) * taken(x)),
        fg.jit(lambda x: np.tanh(x) * (((0.3 * x - 1.0) * x + 0.5) * x + 2.0)),
    ]
    x = np.linspace(-2, 2, 10**5)
    calls = [lambda count, x, k=k: [k(x) for _ in range(count)] for k in kernels]
    one, two = medians(calls, 20, x)
    print(
        f"\ntanh(x) · p(x) on 10⁵ elements: p by from_numba {one / 1e3:.0f} µs, by operations "
        f"{two / 1e3:.0f} µs, ratio {one / two:.2f}"
    )


if __name__ == "__main__":
    main()
