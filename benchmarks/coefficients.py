"""Compute the polynomials of the vector mathematics and write them as a Python file.

    python -m benchmarks.coefficients  # writes compile/llvm/mathematics/coefficients.py

What is approximated stands in `polynomials`, how in `remez`; the constants and tables are here. The
table that is printed gives the largest error of each rounded polynomial in bits, relative to what
its weight says.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import mpmath
from mpmath import mpf

from benchmarks.polynomials import ERFC_SHIFT, root_of_psi, tasks
from benchmarks.remez import fit, rounded

__all__ = ["constants", "fit", "tasks"]

OUTPUT = Path(__file__).parent.parent / "funcgrad/compile/llvm/mathematics/coefficients.py"
HEADER = '''"""Polynomials of the vector mathematics, constant term first.

Written by `python -m benchmarks.coefficients`: change that file, not this one.
"""

# ruff: noqa: E501
# fmt: off

from collections.abc import Mapping

__all__ = {names}

'''


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
        "DIGAMMA_ROOT": {"double": split(root_of_psi(), "double", 53, 2)},
        "ERFC_SHIFT": {
            element: [rounded(mpf(x), element) for x in row] for element, row in ERFC_SHIFT.items()
        },
        "LGAMMA_MINIMUM": {"double": split(-mpmath.loggamma(root_of_psi()), "double", 53, 2)},
        "LOG_2_PI": {"double": split((mpmath.log(2 * mpmath.pi) - 1) / 2, "double", 53, 2)},
        # -log(c / 16) at c modulo 16, for the inverses c / 16 of [3/4, 3/2), in two parts, of which
        # the first may be added to k LN2[0] without error; for single precision by 32
        **steps("LOG", mpf(1)),
        **steps("LOG2", ln2),
        **steps("LOG10", mpmath.log(10)),
        "THIRD": full(mpf(1) / 3, 2),
    }


def steps(name: str, base: mpf) -> dict[str, dict[str, list[float]]]:
    """The table of a logarithm, and that of what it leaves."""
    double, single = short_steps(16, 42, base), short_steps(32, 16, base)
    return {
        f"{name}_STEPS": {"double": double[0], "float": single[0]},
        f"{name}_STEPS_LOW": {"double": double[1], "float": single[1]},
    }


def short_steps(count: int, bits: int, base: mpf) -> tuple[list[float], list[float]]:
    """-log(c / count) / base to a multiple of 2**-bits, and the rest, at c modulo count."""
    half = count // 2
    order = [*range(count, count + half), *range(half, count)]
    entries = [-mpmath.log(mpf(c) / count) / base for c in order]
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
