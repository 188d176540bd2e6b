"""Errors and speed of the vector mathematics, beside NumPy, SciPy, torch and JAX.

    python -m benchmarks.mathematics              # measures all and writes docs/mathematics.md
    python -m benchmarks.mathematics --only exp   # prints, and writes nothing

Errors are against mpmath, over random operands in every part of the domain and beside the numbers
at which a formula changes, with AVX-512 (where there is) and without. Speed is that of one thread
in nanoseconds per element, the fastest of interleaved rounds.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.references import REFERENCES, exact, operands, reference, ulps
from benchmarks.vector_loops import ELEMENTS, compile_loop
from funcgrad.compile.llvm import target
from funcgrad.compile.llvm.mathematics import ARITY, FUNCTIONS

PAGE = Path(__file__).parent.parent / "docs/mathematics.md"
SIZE = 49152  # operand and result stay in the second-level cache
DTYPE_NAMES = {"double": "float64", "float": "float32"}
SPEED_RANGES = {
    "exp": (-10, 10), "exp2": (-10, 10), "expm1": (-10, 10), "sigmoid": (-8, 8),
    "log": (1e-3, 100), "log2": (1e-3, 100), "log10": (1e-3, 100), "log1p": (-0.9, 50),
    "logaddexp": (-5, 5), "sin": (-10, 10), "cos": (-10, 10), "tan": (-10, 10),
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctan": (-10, 10), "arctan2": (-5, 5),
    "sinh": (-8, 8), "cosh": (-8, 8), "tanh": (-4, 4), "arcsinh": (-20, 20),
    "arccosh": (1, 20), "arctanh": (-0.999, 0.999), "erf": (-3, 3), "erfc": (-3, 10),
    "erfinv": (-0.999, 0.999), "lgamma": (0.1, 30), "digamma": (0.1, 30), "sqrt": (0, 50),
    "cbrt": (-50, 50), "hypot": (-5, 5), "power": (0.1, 10),
}  # fmt: skip
TORCH_NAMES = {"power": "pow"}
JAX_NAMES = {"erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "lgamma": "gammaln",
             "digamma": "digamma", "sigmoid": "expit"}  # fmt: skip
Call = Callable[[], object]


@dataclass
class Row:
    """What was measured of one function and element type."""

    error: float = 0.0
    worst_at: tuple[float, ...] = ()
    nanoseconds: dict[str, float] = field(default_factory=dict)

    @property
    def best_peer(self) -> str:
        peers = {k: v for k, v in self.nanoseconds.items() if not k.startswith("funcgrad")}
        return min(peers, key=lambda k: peers[k])

    @property
    def ratio(self) -> float:
        return self.nanoseconds["funcgrad"] / self.nanoseconds[self.best_peer]


def machines() -> dict[str, target.Target]:
    """The two code paths: what the processor has, and the same without AVX-512."""
    host = target.host()
    generic = {"funcgrad, AVX2": target.without_avx512(host)} if host.avx512 else {}
    return {"funcgrad": host, **generic}


def measure_error(name: str, element: str, count: int) -> Row:
    points = operands(name, element, count)
    wanted = exact(name, element, count)
    row = Row()
    for machine in machines().values():
        lanes = machine.vector_bits // (64 if element == "double" else 32)
        errors = ulps(compile_loop(name, element, lanes, machine)(*points), wanted)
        k = int(np.argmax(errors))
        if errors[k] > row.error:
            row.error, row.worst_at = float(errors[k]), tuple(float(x[k]) for x in points)
    return row


def numpy_call(name: str, arrays: list[np.ndarray]) -> Call:
    function, out = reference(name), np.empty_like(arrays[0])
    return lambda: function(*arrays, out=out)


def torch_call(name: str, arrays: list[np.ndarray]) -> Call | None:
    import torch

    torch.set_num_threads(1)
    torch_name = TORCH_NAMES.get(name, name)
    function = getattr(torch, torch_name, None) or getattr(torch.special, torch_name, None)
    if function is None:
        return None
    tensors = [torch.from_numpy(x) for x in arrays]
    out = torch.empty_like(tensors[0])
    return lambda: function(*tensors, out=out)


def jax_call(name: str, arrays: list[np.ndarray]) -> Call:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax_name = JAX_NAMES.get(name)
    function = getattr(jax.scipy.special, jax_name) if jax_name else getattr(jax.numpy, name)
    compiled = jax.jit(function)
    device_arrays = [jax.numpy.asarray(x) for x in arrays]
    return lambda: compiled(*device_arrays).block_until_ready()


def calls(name: str, element: str) -> dict[str, Call]:
    generator = np.random.default_rng(0)
    arrays = [
        generator.uniform(*SPEED_RANGES[name], SIZE).astype(ELEMENTS[element])
        for _ in range(ARITY[name])
    ]
    result: dict[str, Call] = {}
    for label, machine in machines().items():
        lanes = 2 * machine.vector_bits // (64 if element == "double" else 32)
        loop = compile_loop(name, element, lanes, machine)
        result[label] = loop.prepare(*arrays, np.empty_like(arrays[0]))
    result["SciPy" if name in REFERENCES else "NumPy"] = numpy_call(name, arrays)
    if (call := torch_call(name, arrays)) is not None:
        result["torch"] = call
    result["JAX"] = jax_call(name, arrays)
    return result


def measure_speed(name: str, element: str, rounds: int) -> dict[str, float]:
    chosen = calls(name, element)
    best = dict.fromkeys(chosen, float("inf"))
    for label in [*chosen] * (rounds + 2):
        start = perf_counter()
        chosen[label]()
        best[label] = min(best[label], perf_counter() - start)
    return {label: seconds / SIZE * 1e9 for label, seconds in best.items()}


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def table(rows: dict[str, Row]) -> str:
    labels: list[str] = []
    for row in rows.values():
        labels += [label for label in row.nanoseconds if label not in labels]
    order = [
        x for x in ("funcgrad", "funcgrad, AVX2", "NumPy", "SciPy", "torch", "JAX") if x in labels
    ]
    lines = ["| function | error | " + " | ".join(order) + " | ratio |"]
    lines.append("|---|---|" + "---|" * (len(order) + 1))
    for name, row in rows.items():
        cells = []
        for label in order:
            value = row.nanoseconds.get(label)
            text = "" if value is None else f"{value:.2f}"
            cells.append(f"**{text}**" if label == row.best_peer else text)
        lines.append(f"| {name} | {row.error:.2f} | " + " | ".join(cells) + f" | {row.ratio:.2f} |")
    return "\n".join(lines)


def page(results: dict[str, dict[str, Row]], count: int) -> str:
    versions = ", ".join(
        f"{p} {version(p)}" for p in ("numpy", "scipy", "torch", "jax", "llvmlite")
    )
    tables = "\n\n".join(
        f"## {DTYPE_NAMES[element]}\n\n{table(rows)}" for element, rows in results.items()
    )
    return TEXT.format(
        tables=tables, processor=processor(), versions=versions, count=count, size=SIZE
    )


TEXT = """# The mathematics

<!-- Written by `python -m benchmarks.mathematics`: change that file, not this one. -->

Compiled code does not call the C library for `exp` and its kin. funcgrad has vector forms of its
own, in one source, from which the compiler's kernels and the Numba kernels of eager mode are made.

**Error.** Each function is within two units of the last place (ulp) of the exact result over its
whole range, arguments of `sin`, `cos` and `tan` of any size included. The exceptions:

- `lgamma` and `digamma` of negative numbers pass through zero between the integers; there the
  error is within a few units of the last place of the largest of the terms that cancel.
- `logaddexp` is a sum that may cancel: its error is measured by the larger of its operands and its
  result.

**Derivatives at singular points.** The number 0 times an infinite derivative is NaN: the
gradients of `sqrt(x)**2` and `exp(log(x))` at 0 and of `cos(arccos(x))` at 1 are NaN, as in other
libraries. What a `where`, a `cond`, an index, a mask or a maximum did not take is no zero but
absent, and contributes nothing whatever its derivative is: the gradient of `where(x > 0, sqrt(x),
0)` is 0 for x ≤ 0, without a second `where` inside. This holds in every mode and to every order,
compiled or not, and a row of a Jacobian holds nothing of other elements. Where a one-sided
derivative is not 0, no gradient is 0 but by a subgradient that is stated with the function. In
`funcgrad.torch`, 0 times infinity is NaN everywhere, as in PyTorch.

**Special values** (signed zeros, infinities, NaN, denormals) are those of NumPy and SciPy, but
for `lgamma`: of a denormal it is the logarithm with the sign changed, where SciPy has infinity, and
infinite at -∞ as in C, where SciPy has -∞.

In single precision, `python -m benchmarks.exhaustive` takes the functions of one operand through
all 2³² operands.

Values may differ from NumPy's in the last places, and between a processor with AVX-512 and one
without. For one processor they are the same bits for any number of threads.

The error below is the worst that was seen against mpmath, in ulp, over {count} random operands in
each part of the domain and those beside every number at which a formula changes, with AVX-512 and
without. Times are nanoseconds per element for arrays of {size} elements on one thread, the best
of many interleaved rounds; the ratio is that of funcgrad to the best peer, which is set bold.

{processor}; {versions}.

{tables}

`python -m benchmarks.mathematics` measures this page anew, and `python -m benchmarks.coefficients`
computes the polynomials (Remez' exchange in mpmath).
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--only", nargs="*", choices=[*FUNCTIONS], help="print these; write nothing"
    )
    parser.add_argument("--count", type=int, default=2000, help="operands in each range")
    parser.add_argument("--rounds", type=int, default=100, help="rounds of timing")
    options = parser.parse_args()
    results: dict[str, dict[str, Row]] = {}
    for element in ELEMENTS:
        for name in options.only or FUNCTIONS:
            row = measure_error(name, element, options.count)
            row.nanoseconds = measure_speed(name, element, options.rounds)
            results.setdefault(element, {})[name] = row
            times = "  ".join(f"{k} {v:.2f}" for k, v in row.nanoseconds.items())
            at = ", ".join(map(repr, row.worst_at))
            print(
                f"{DTYPE_NAMES[element]} {name:9} {row.error:.2f} ulp at {at}  {times}", flush=True
            )
    if not options.only:
        PAGE.write_text(page(results, options.count))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
