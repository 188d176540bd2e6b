"""Random programs and their gradients in native code against the interpreter, as many as wanted.

    python -m benchmarks.random_graphs 10000

The programs are those of `tests/compile/random_graphs.py`, numbered, so that one that fails can be
run again: ``python -m benchmarks.random_graphs --first 366 1``.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import funcgrad as fg

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "compile"))
from native import check
from random_graphs import Program
from test_random_graphs import loss


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failed, begin = 0, time.perf_counter()
    for number in range(options.first, options.first + options.count):
        program = Program(random.Random(number))
        which = tuple(range(len(program.inputs)))
        gradient = fg.value_and_grad(loss(program), which)
        for name, f, ulp in (("value", program, 1e4), ("gradient", gradient, 1e5)):
            try:
                with np.errstate(all="ignore"):
                    check(fg.make_graph(f)(*program.inputs), *program.inputs, ulp=ulp, size=1.0)
            except Exception as error:
                failed += 1
                text = " ".join(str(error).split())
                print(f"{number} {name}: {type(error).__name__} {text[:300]}", flush=True)
    print(f"{options.count} programs, {failed} failures, {time.perf_counter() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
