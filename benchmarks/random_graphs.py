"""Random programs and their gradients in native code against the interpreter, as many as wanted.

    python -m benchmarks.random_graphs 10000
    python -m benchmarks.random_graphs --wide 10000

The programs are those of `tests/compile/random_graphs.py`, numbered, so that one that fails can be
run again: ``python -m benchmarks.random_graphs --first 366 1``. With ``--wide`` they are those of
`random_steps.py`, which draw on most of NumPy and are compared with NumPy itself.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import funcgrad as fg

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "compile"))
import random_steps
from derived import derived
from native import check, check_jit
from random_graphs import Program
from test_random_graphs import loss

Check = tuple[str, Callable[[], object]]


def usual(number: int) -> Iterator[Check]:
    program = Program(random.Random(number))
    which = tuple(range(len(program.inputs)))
    gradient = fg.value_and_grad(loss(program), which)
    for name, f, ulp in (("value", program, 1e4), ("gradient", gradient, 1e5)):
        graph = fg.make_graph(f)(*program.inputs)
        yield name, lambda graph=graph, ulp=ulp: check(graph, *program.inputs, ulp=ulp, size=1.0)


def wide(number: int) -> Iterator[Check]:
    program = random_steps.Program(random.Random(number))
    for name, (f, args) in derived(program).items():
        yield name, lambda f=f, args=args: check_jit(f, *args, ulp=1e5, size=1.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--wide", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failed, begin = 0, time.perf_counter()
    for number in range(options.first, options.first + options.count):
        for name, run in (wide if options.wide else usual)(number):
            try:
                with np.errstate(all="ignore"):
                    run()
            except Exception as error:
                failed += 1
                text = " ".join(str(error).split())
                print(f"{number} {name}: {type(error).__name__} {text[:300]}", flush=True)
    print(f"{options.count} programs, {failed} failures, {time.perf_counter() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
