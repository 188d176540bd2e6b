"""The first calls of each operation of the facade in a process, with its backward pass: PyTorch's.

    python -m benchmarks.first_operations              every size and dtype
    python -m benchmarks.first_operations 1000 f32     one of them

Each figure is the processor time of twenty calls, from the first one on, with one thread. A process
makes those of all operations one after the other, so that the first of them has what comes with the
first backward pass of all; native code lies on disk, as from the second process of a machine on.
Processes of the two libraries take turns, and each operation has the least of `ROUNDS`.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
from time import process_time
from typing import Any

from benchmarks.facade_operations import CALLS, DTYPES, OPERATIONS, OURS, THEIRS, Given

FIRST, ROUNDS = 20, 3
ONE = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "FUNCGRAD_THREADS"), "1"
)
WORST = 1.2  # ratios from here on are named


def seconds(torch: Any, name: str, size: int, dtype: str) -> float:
    """What the first calls of an operation take, in this process."""
    kind = getattr(torch, DTYPES[dtype])
    function, given = OPERATIONS[name], Given(torch, size, kind)
    x = torch.linspace(0.1, 0.9, size, dtype=kind).requires_grad_()
    z = torch.linspace(0.9, 0.2, size, dtype=kind).requires_grad_()
    one = None
    begin = process_time()
    for _ in range(FIRST):
        x.grad = z.grad = None
        y = function(torch, x, z, given)
        if one is None:
            one = torch.ones(y.shape, dtype=kind)
        y.backward(one)
    return process_time() - begin


def child(library: str, size: int, dtype: str) -> None:
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    print(json.dumps({name: seconds(torch, name, size, dtype) for name in OPERATIONS}))


def measured(library: str, size: int, dtype: str, **settings: str) -> dict[str, float]:
    """The seconds of each operation, in a new process."""
    command = [sys.executable, "-m", "benchmarks.first_operations", library, str(size), dtype]
    run = subprocess.run(command, env=os.environ | ONE | settings, capture_output=True, text=True)
    run.check_returncode()
    found: dict[str, float] = json.loads(run.stdout)
    return found


def main(sizes: list[int], dtypes: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        own = {"FUNCGRAD_CACHE_DIR": place, "FUNCGRAD_BUILD_KERNELS": "off"}
        for size in sizes:
            for dtype in dtypes:
                measured(OURS, size, dtype, **own)  # native code is on disk now
                rounds = [
                    (measured(OURS, size, dtype, **own), measured(THEIRS, size, dtype))
                    for _ in range(ROUNDS)
                ]
                show(f"{size:8d} {dtype}", rounds)


def show(title: str, rounds: list[tuple[dict[str, float], dict[str, float]]]) -> None:
    """The mean of the ratios, and the worst of them with our milliseconds."""
    found = {}
    for name in OPERATIONS:
        mine, other = (min(each[name] for each in side) for side in zip(*rounds, strict=True))
        found[name] = mine / other, mine
    mean = math.exp(sum(math.log(ratio) for ratio, _ in found.values()) / len(found))
    print(f"{title}  geometric mean {mean:.2f}", flush=True)
    for name, (ratio, mine) in sorted(found.items(), key=lambda item: -item[1][0]):
        if ratio > WORST:
            print(f"    {name:14} {ratio:6.2f}  {mine * 1e3:8.3f} ms")


if __name__ == "__main__":
    given = sys.argv[1:]
    if given and given[0] in (OURS, THEIRS):
        child(given[0], int(given[1]), given[2])
    else:
        main([int(g) for g in given if g.isdecimal()] or list(CALLS),
             [g for g in given if g in DTYPES] or list(DTYPES))  # fmt: skip
