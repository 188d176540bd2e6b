"""Memory of the gradient of a loop of 10⁶ steps, with and without checkpoints.

Everybody has a process of its own, of which the peak is taken before and after. A step turns and
squashes a vector of eight numbers, so that what the backward steps read is more than the carry.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import Peer
from benchmarks.probes import peak

__all__ = ["PROBES"]

STEPS = 1_000_000
Distances = bool | int | tuple[int, ...]
Loop = Callable[..., Any]  # (namespace, step, start, length) -> the last carry


def squashed(m: Any, loop: Loop, steps: int, x: Any) -> Any:
    def step(c: Any) -> Any:
        return m.tanh(1.1 * m.roll(c, 1) + 0.1 * x)

    return m.sum(loop(m, step, x, steps))


def scanned(checkpoint: Distances) -> Loop:
    def loop(m: Any, step: Any, start: Any, length: int) -> Any:
        import funcgrad as fg

        return fg.scan(lambda c, _: (step(c), None), start, length=length, checkpoint=checkpoint)[0]

    return loop


def counted(bounded: bool, checkpoint: Distances = False) -> Loop:
    """A loop that nobody knows the number of steps of."""

    def loop(m: Any, step: Any, start: Any, length: int) -> Any:
        import funcgrad as fg

        limit: Any = {"max_steps": length} if bounded else {}
        body = lambda c: (step(c[0]), c[1] + 1)
        unfinished = lambda c: c[1] < length
        return fg.while_loop(unfinished, body, (start, 0), checkpoint=checkpoint, **limit)[0]

    return loop


def by_jax(m: Any, step: Any, start: Any, length: int) -> Any:
    import jax

    return jax.lax.scan(lambda c, _: (step(c), None), start, None, length=length)[0]


LOOPS: dict[str, Loop] = {
    "scan": scanned(False),
    "scan, checkpoint=True": scanned(True),
    "scan, checkpoint=100": scanned(100),
    "scan, checkpoint=(10000, 100)": scanned((10_000, 100)),
    "while_loop, max_steps": counted(True),
    "while_loop, max_steps, checkpoint=True": counted(True, True),
    "while_loop": counted(False),
    "jax scan": by_jax,
}


def child(name: str, steps: int) -> None:
    """Print the bytes by which the peak grows, the seconds of a second call, and the gradient."""
    m: Any = np
    if name.startswith("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        m = jax.numpy
        compiled: Any = lambda f: jax.jit(jax.grad(f))
    else:
        import funcgrad as fg

        compiled = lambda f: fg.jit(fg.grad(f))
    x = np.linspace(-1.0, 1.0, 8)
    np.asarray(compiled(partial(squashed, m, LOOPS[name], 300))(x))
    before = peak()
    f = compiled(partial(squashed, m, LOOPS[name], steps))
    found = np.asarray(f(x))
    grown = peak() - before
    begin = time.perf_counter()
    np.asarray(f(x))
    print(grown, time.perf_counter() - begin, *found)


def measure(what: int, peers: list[Peer], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    found: dict[str, float] = {}
    problems: dict[str, str] = {}
    wanted = None
    for name in LOOPS:
        command = [sys.executable, "-m", "benchmarks.loop_memory", name, str(STEPS)]
        for _ in range(2):  # the second one finds the code of the first: compiling takes memory
            run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            problems[name] = run.stderr.splitlines()[-1]
            continue
        numbers = list(map(float, run.stdout.split()))
        found[name] = numbers[what] * (1e-6, 1e3)[what]
        wanted = numbers[2:] if wanted is None else wanted
        if not np.allclose(numbers[2:], wanted, rtol=1e-6, atol=1e-12):
            problems[name] = "another gradient than that of the first"
    return found, problems


PROBES = {
    "loop-memory": (
        "peak memory of the gradient of a loop of 10⁶ steps",
        "MB",
        partial(measure, 0),
    ),
    "loop-memory-time": ("the same gradient: a call", "ms", partial(measure, 1)),
}

if __name__ == "__main__":
    child(sys.argv[1], int(sys.argv[2]))
