"""The kernels of eager mode: what they cost to load, and what they save.

    python -m benchmarks.kernels            costs, then one backward pass of each operation
    python -m benchmarks elementwise        an elementwise chain against the peers

Each cost is that of a fresh process; each ratio is the median over interleaved rounds, below 1
where the kernel is faster than the rule in NumPy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

SIZE = 10**6
ROUNDS = 11
COST = """
import sys, time
import numpy as np
import funcgrad as fg
from funcgrad.kernels import load, native
x, y = np.ones((1, 8)), np.ones((1, 1, 1, 8))
for name, arguments in (
    ("cos_backward", (1, 8, x, None, x, x.copy())),
    ("sin_backward", (1, 8, x, None, x, x.copy())),
    ("softmax_backward_along", (0, 1, y, y, None, None, y.copy())),
):
    kernel = native.Kernel(name, "pieces", tuple(map(native.kind, arguments)))
    begin = time.perf_counter()
    if load.stored(kernel) is None:
        load.made(kernel)
    print(time.perf_counter() - begin)
"""


def costs() -> None:
    """Building kernels, and reading them from disk, the first one apart: medians of processes."""
    found: dict[str, list[list[float]]] = {"built": [], "read": []}
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"FUNCGRAD_CACHE_DIR": folder}
            for times in found.values():
                out = subprocess.run(
                    [sys.executable, "-c", COST], env=environment, capture_output=True, check=True
                )
                times.append([float(t) * 1e3 for t in out.stdout.split()])
    for what, times in found.items():
        first, one, two = (median(column) for column in zip(*times, strict=True))
        print(
            f"{what}: the first one {first:.1f} ms, another elementwise kernel {one:.1f} ms, "
            f"softmax {two:.1f} ms"
        )


def ratio(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds of the first, and the ratio to the second."""
    times: list[tuple[float, float]] = []
    for k in range(ROUNDS + 3):
        pair = []
        for call in (first, second) if k % 2 else (second, first):
            begin = perf_counter()
            call()
            pair.append(perf_counter() - begin)
        times.append((pair[0], pair[1]) if k % 2 else (pair[1], pair[0]))
    return median(a for a, _ in times[3:]) * 1e3, median(a / b for a, b in times[3:])


def single(threads: int) -> None:
    """One backward pass of each operation: by the kernel and by the rule."""
    import funcgrad as fg
    import funcgrad.torch as torch

    fg.config.threads = threads
    shape = (SIZE // 1000, 1000)
    factor: Any = None  # of `mul`, whose both operands have a cotangent
    programs: dict[str, Callable[[Any], Any]] = {
        "tanh": torch.tanh,
        "sin": torch.sin,
        "exp": torch.exp,
        "mul": lambda x: x * factor,
        "div": lambda x: 1.0 / x,
        "softmax": lambda x: torch.softmax(x, 1),
        "logsumexp": lambda x: torch.logsumexp(x, 1),
        "max": lambda x: torch.amax(x, 1),
        "var": lambda x: torch.var(x, 1),
        "layer norm": lambda x: torch.nn.functional.layer_norm(x, (1000,)),
    }
    for dtype in (torch.float64, torch.float32):
        factor = torch.rand(*shape, dtype=dtype).requires_grad_()
        for name, function in programs.items():
            x = (torch.rand(*shape, dtype=dtype) + 0.1).requires_grad_()
            y = function(x)
            one = torch.rand(*y.shape, dtype=dtype)

            def call(
                kernels: bool, x: Any = x, y: Any = y, one: Any = one, factor: Any = factor
            ) -> None:
                fg.config.kernels = "always" if kernels else False
                x.grad = factor.grad = None
                y.backward(one, retain_graph=True)

            ms, against = ratio(lambda: call(True), lambda: call(False))
            print(f"{threads} thread(s) {dtype} {name:11s} {ms:7.2f} ms  {against:.2f} of NumPy")


def main() -> None:
    costs()
    single(2)


if __name__ == "__main__":
    main()
