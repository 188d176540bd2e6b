"""The first call, and the memory of a call, each in a process of its own.

A workload is called first in a process that has compiled something else and has nothing on disk:
what that takes beyond a later call is the time to compile; `well` is when the good code is in use
that follows from another process. Then in a second one that finds what the
first one kept (`jax` with its persistent cache); there JAX has computed something before, for us it
is the first call. Imports are not counted: ours of llvmlite, JAX's of itself. The peak is what the
process needs beyond what it had before the first call, arguments made; `process` is all of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.compiled import prepared
from benchmarks.compiled_workloads import WORKLOADS
from benchmarks.peers import Peer

__all__ = ["PROBES"]

PEERS = ("funcgrad", "jax")
CHAINS = (10, 100, 500)


def chain(sin: Callable[[Any], Any], count: int, x: Any) -> Any:
    """So many operations, one after the other."""
    for k in range(count // 2):
        x = sin(x) * (1.0 + 1.0 / (k + 1))
    return x.sum()


def warm(peer: str) -> None:
    """Imports, and what the first compilation of a process sets up."""
    if peer == "funcgrad":
        import llvmlite.binding  # noqa: F401
    else:
        import jax

        jax.config.update("jax_compilation_cache_dir", os.environ["BENCHMARK_CACHE"])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        jax.block_until_ready(jax.numpy.zeros(3) + 1.0)


def gradient(peer: str, count: int) -> Callable[[], Any]:
    x = np.linspace(0.0, 1.0, 1000)
    if peer == "funcgrad":
        import funcgrad as fg

        f = fg.jit(fg.grad(partial(chain, np.sin, count)))
        return lambda: f(x)
    import jax

    jax.config.update("jax_enable_x64", True)
    g, own = jax.jit(jax.grad(partial(chain, jax.numpy.sin, count))), jax.numpy.asarray(x)
    return lambda: jax.block_until_ready(g(own))


def child(name: str, peer: str, warmed: bool) -> dict[str, float]:
    """What one process measures: milliseconds of the first call and of a later one, and the
    megabytes at its peak.
    """
    warm(peer)
    if warmed:
        gradient(peer, 4)()
        settle(peer)
    if name.startswith("chain-of-"):
        call = gradient(peer, int(name[9:]))
    else:
        call = prepared(name, "float64", peer)
    before = peak()
    begin = perf_counter()
    first, *later = [milliseconds(call) for _ in range(4)]
    settle(peer)
    well = (perf_counter() - begin) * 1e3
    most = peak()
    return {
        "first": first,
        "later": min(later),
        "well": well,
        "peak": most - before,
        "process": most,
    }


def settle(peer: str) -> None:
    """Wait for code that is made in another process; we do that, JAX does not."""
    if peer == "funcgrad":
        from funcgrad.compile.llvm import tiering

        tiering.settle()


def milliseconds(call: Callable[[], Any]) -> float:
    begin = perf_counter()
    result = call()
    taken = (perf_counter() - begin) * 1e3
    del result
    return taken


def peak() -> float:
    """Megabytes that this process has had at most.

    Not `ru_maxrss`: a child begins with that of its parent, which may have been larger.
    """
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024e-6 for line in file if line.startswith("VmHWM"))


def measure(name: str, peers: list[Peer], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    found: dict[str, float] = {}
    for peer in [p.name for p in peers if p.name in PEERS]:
        with tempfile.TemporaryDirectory() as place:
            settings = {**os.environ, "FUNCGRAD_CACHE_DIR": place, "BENCHMARK_CACHE": place}
            settings.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, as usual
            command = [sys.executable, "-m", "benchmarks.cold", name, peer]
            for what in ("compile", "again"):
                run = subprocess.run([*command, what], env=settings, capture_output=True, text=True)
                if run.returncode:
                    return found, {peer: run.stderr.splitlines()[-1]}
                seen = json.loads(run.stdout.splitlines()[-1])
                found[f"{peer} {what}"] = seen["first"] - seen["later"]
                if what == "compile" and peer == "funcgrad":
                    found["funcgrad well"] = seen["well"]
            found[f"{peer} peak"], found[f"{peer} process"] = seen["peak"], seen["process"]
    for what in ("compile", "again", "peak", "process"):
        if f"jax {what}" in found and f"funcgrad {what}" in found:
            found[f"ratio {what}"] = found[f"funcgrad {what}"] / max(found[f"jax {what}"], 1e-9)
    return found, {}


PROBES = {
    f"cold-{name}": (
        f"{name}: compiled, again in a second process (ms), and peak memory (MB)",
        "",
        partial(measure, name),
    )
    for name in (*WORKLOADS, *(f"chain-of-{n}" for n in CHAINS))
}

if __name__ == "__main__":
    workload, library, step = sys.argv[1:]
    print(json.dumps(child(workload, library, step == "compile")))
