"""What is not a race: garbage left behind, memory per operation, and the cost of importing."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.measure import gradient_of, takes
from benchmarks.peers import Peer
from benchmarks.workloads import WORKLOADS, deep_chain

ROOT = Path(__file__).parent.parent

MEMORY_SCRIPT = """
import sys
from benchmarks.measure import gradient_of
from benchmarks.peers import LOADERS
from benchmarks.probes import peak
from benchmarks.workloads import deep_chain

peer, operations = LOADERS[sys.argv[1]](), int(sys.argv[2])
small, large = deep_chain(1000), deep_chain(operations)
gradient_of(small, peer)(small.argument)
before = peak()
gradient_of(large, peer)(large.argument)
print(peak() - before)
"""

IMPORT_SCRIPT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def garbage(peers: list[Peer], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    """Objects that 100 gradients leave to the cycle collector; funcgrad must leave none."""
    workload = WORKLOADS["chain-vector"]
    found: dict[str, float] = {}
    for peer in peers:
        if not takes(workload, peer):
            continue
        call = gradient_of(workload, peer)
        call(workload.argument)
        gc.collect()
        gc.disable()
        try:
            for _ in range(100):
                call(workload.argument)
            found[peer.name] = gc.collect()
        finally:
            gc.enable()
    problems = {
        name: f"{count:.0f} objects were left to the cycle collector"
        for name, count in found.items()
        if count and name.startswith("funcgrad")
    }
    return found, problems


def memory(peers: list[Peer], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    """Peak memory of the process per operation of a chain of 10⁶, each peer in its own process."""
    operations = 1_000_000
    found = {
        peer.name: python("-c", MEMORY_SCRIPT, peer.name, str(operations)) / operations
        for peer in peers
        if takes(deep_chain(operations), peer)
    }
    return found, {}


def peak() -> int:
    """The largest resident size of this process so far, in bytes.

    Linux counts `ru_maxrss` of a child from its parent's on, so VmHWM is read where there is one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def imports(peers: list[Peer], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    """Milliseconds to import each library in a new process, NumPy's among them."""
    names = ["numpy", *dict.fromkeys(peer.name.removesuffix("-np") for peer in peers)]
    rounds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(repeat):
        for name in names:
            rounds[name].append(1000 * python("-c", IMPORT_SCRIPT.format(name)))
    return {name: statistics.median(times) for name, times in rounds.items()}, {}


def python(*arguments: str) -> float:
    """Run Python in the root of the project; the number that it prints."""
    command: Iterable[str] = (sys.executable, *arguments)
    return float(subprocess.check_output(list(command), cwd=ROOT, text=True))


Probe = Callable[[list[Peer], int], tuple[dict[str, float], dict[str, str]]]

PROBES: dict[str, tuple[str, str, Probe]] = {
    "garbage": ("100 gradients in a loop, left to the cycle collector", "objects", garbage),
    "memory": ("a chain of 1,000,000 operations", "bytes/op", memory),
    "import": ("import in a new process", "ms", imports),
}
