"""Every single-precision operand there is: the worst errors of the functions of one operand.

    python -m benchmarks.exhaustive            # all functions: some minutes each
    python -m benchmarks.exhaustive exp tan

Each of the 2**32 bit patterns goes through the function, with AVX-512 (where there is) and without.
The reference is that of NumPy or SciPy in double precision, whose own error is far below a last
place of single precision; where it says more than 1 ulp, mpmath is asked about the worst operand.
NaN, infinities and the signs of zeros are compared as well. The odd and the even functions are
measured for positive operands, and hold their symmetry bit for bit for the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numba
import numpy as np

from benchmarks.mathematics import machines
from benchmarks.references import EXACT, reference
from benchmarks.vector_loops import Loop, compile_loop
from funcgrad.compile.llvm.mathematics import ARITY, FUNCTIONS

BLOCK = 1 << 18
SIGN = 1 << 31
ODD = ("arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "erf", "sin", "sinh", "tan", "tanh")
EVEN = ("cos", "cosh")
ONE_OPERAND = [name for name in FUNCTIONS if ARITY[name] == 1]


@dataclass
class Found:
    """What one code path of a function was seen to do."""

    error: float = 0.0
    worst_at: float = 0.0
    special: list[float] = field(default_factory=list)  # operands with a wrong special value

    def add(self, error: float, x: np.float32, special: np.ndarray) -> None:
        if error > self.error:
            self.error, self.worst_at = error, float(x)
        self.special += special[: max(0, 8 - len(self.special))].tolist()


@numba.njit(nogil=True)
def compare(got: Any, expected: Any, wrong: Any) -> tuple[float, int]:
    """The largest error in ulp and where it is; `wrong` is set where a special value is."""
    worst, place = -1.0, 0
    for k in range(got.size):
        x, y = np.float64(got[k]), expected[k]
        wrong[k] = False
        if np.isnan(y) or np.isnan(x):
            wrong[k] = np.isnan(y) != np.isnan(x)
            continue
        if np.isinf(y):
            wrong[k] = x != y
            continue
        if y == 0.0:
            wrong[k] = x == 0.0 and np.signbit(x) != np.signbit(y)
        size = max(abs(y), 2.0**-126)  # denormals share a spacing
        if size >= 2.0**128:  # beyond the largest number infinity is right
            y, size = np.copysign(2.0**128, y), 2.0**127
        if np.isinf(x):
            x = np.copysign(2.0**128, x)
        spacing = np.int64(np.float64(size).view(np.int64) - (23 << 52) & (2047 << 52))
        error = abs(x - y) / spacing.view(np.float64)
        if error > worst:
            worst, place = error, k
    return worst, place


def blocks(name: str) -> Iterator[np.ndarray]:
    """The operands for which there is a reference: all, or all that are not negative."""
    end = SIGN if name in ODD + EVEN else 2 * SIGN
    for start in range(0, end, BLOCK):
        yield np.arange(start, start + BLOCK, dtype=np.uint32).view(np.float32)


def symmetric(name: str, loop: Loop, x: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Where the result for -x is not the one for x, or that with its sign changed."""
    mirrored = loop(-x).view(np.uint32)
    flip = np.uint32(SIGN if name in ODD else 0)
    return x[(mirrored != got.view(np.uint32) ^ flip) & ~np.isnan(got)]


def exact_error(name: str, x: float, got: float) -> float:
    """The error in ulp by mpmath."""
    with mpmath.workprec(400):
        value = EXACT[name](mpmath.mpf(x))
        spacing = mpmath.mpf(2) ** max(mpmath.frexp(abs(value))[1] - 24, -149)
        return float(abs(mpmath.mpf(got) - value) / spacing)


def measure(name: str) -> dict[str, Found]:
    """The worst of every operand, for each code path."""
    loops = {
        label: compile_loop(name, "float", machine.vector_bits // 32, machine)
        for label, machine in machines().items()
    }
    found = {label: Found() for label in loops}
    function, wrong = reference(name), np.empty(BLOCK, np.bool_)
    for x in blocks(name):
        with np.errstate(all="ignore"):
            expected = function(x.astype(np.float64))
        for label, loop in loops.items():
            got = loop(x)
            error, place = compare(got, expected, wrong)
            if error > max(1.0, found[label].error):
                error = exact_error(name, float(x[place]), float(got[place]))
            found[label].add(error, x[place], x[wrong])
            if name in ODD + EVEN and (bad := symmetric(name, loop, x, got)).size:
                found[label].add(0.0, x[place], bad)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="name", help="some of these functions")
    for name in parser.parse_args().names or ONE_OPERAND:
        for label, found in measure(name).items():
            print(
                f"{name:9} {label:14} {found.error:.3f} ulp at {found.worst_at!r}; "
                f"special values: {found.special or 'as the reference'}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
