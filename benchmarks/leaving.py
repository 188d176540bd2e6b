"""How long a fork and the end of a process take while good code of a long program is being made.

The same after a short program, whose good code is there, is what both take in any case.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.cold import chain
from benchmarks.peers import Peer

__all__ = ["PROBES"]

LONG, SHORT = 8000, 8


def child(count: int) -> None:
    """Call a program of so many operations; print when it forks, has forked, and ends."""
    import numpy as np

    import funcgrad as fg
    from funcgrad.compile.llvm import tiering

    fg.config.threads = max(fg.config.threads, 2)
    fg.jit(lambda x: chain(np.sin, count, x))(np.ones(()))
    if count == SHORT:
        tiering.settle()
    begin = time.time()
    number = os.fork()
    if not number:
        os._exit(0)
    forked = time.time()
    os.waitpid(number, 0)
    print(begin, forked, time.time(), flush=True)


def measure(peers: list[Peer], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    found: dict[str, float] = {}
    for name, count in (("long", LONG), ("short", SHORT)):
        with tempfile.TemporaryDirectory() as place:
            settings = {**os.environ, "FUNCGRAD_CACHE_DIR": place}
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.leaving", str(count)]
            run = subprocess.run(command, env=settings, capture_output=True, text=True)
            ended = time.time()
            if run.returncode:
                return found, {"funcgrad": run.stderr.splitlines()[-1]}
            begin, forked, left = map(float, run.stdout.split())
        found[f"fork {name}"], found[f"end {name}"] = (forked - begin) * 1e3, (ended - left) * 1e3
    return found, {}


PROBES = {"leaving": ("a fork and the end of a process while code is being made", "ms", measure)}

if __name__ == "__main__":
    child(int(sys.argv[1]))
