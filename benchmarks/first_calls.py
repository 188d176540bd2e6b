"""The first calls of a process: an elementwise chain, value and gradient, against eager peers.

    python -m benchmarks.first_calls            every size, dtype and face
    python -m benchmarks.first_calls 10000      one size

Each figure is that of twenty calls, from the first one on, in a process of its own that has made
its arrays and imported what it needs; the kernels lie on disk, as from the second process of a
machine on. Processes of the peers come one after the other, and each has the least of `ROUNDS`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

SIZES = (10**4, 10**5, 10**6)
DTYPES = ("float64", "float32")
PEERS = ("functional", "facade", "torch", "autograd")
CALLS, ROUNDS = 20, 5


def prepared(peer: str, size: int, dtype: str) -> Callable[[], Any]:
    """The call of a peer: the value and the gradient of the chain."""
    x = np.linspace(-2.0, 2.0, size).astype(dtype)
    if peer in ("functional", "autograd"):
        if peer == "functional":
            import numpy as module

            import funcgrad as library
        else:
            import autograd as library
            import autograd.numpy as module
        f = library.value_and_grad(
            lambda x: module.sum(module.tanh(x) * module.exp(-(x**2)) + module.log1p(x**2))
        )
        return lambda: f(x)
    if peer == "facade":
        import funcgrad.torch as torch
    else:
        import torch
    leaf = torch.tensor(x).requires_grad_()

    def call() -> Any:
        leaf.grad = None
        value = (torch.tanh(leaf) * torch.exp(-(leaf**2)) + torch.log1p(leaf**2)).sum()
        value.backward()
        return value

    return call


def child(peer: str, size: int, dtype: str) -> None:
    call = prepared(peer, size, dtype)
    begin = perf_counter()
    for _ in range(CALLS):
        call()
    print((perf_counter() - begin) * 1e3)


def milliseconds(peer: str, size: int, dtype: str, **settings: str) -> float:
    """What the first calls of a new process take; infinite where the peer is not there."""
    command = [sys.executable, "-m", "benchmarks.first_calls", peer, str(size), dtype]
    run = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
    return float(run.stdout) if run.returncode == 0 else float("inf")


def main(sizes: tuple[int, ...]) -> None:
    with tempfile.TemporaryDirectory() as place:
        own = {"FUNCGRAD_CACHE_DIR": place, "FUNCGRAD_BUILD_KERNELS": "off"}
        for size in sizes:
            for dtype in DTYPES:
                for peer in ("functional", "facade"):
                    milliseconds(peer, size, dtype, FUNCGRAD_KERNELS="always", **own)
                best = dict.fromkeys(PEERS, float("inf"))
                for _ in range(ROUNDS):
                    for peer in PEERS:
                        best[peer] = min(best[peer], milliseconds(peer, size, dtype, **own))
                ratios = "  ".join(
                    f"{mine} {best[mine]:7.2f} ms, {best[mine] / best['torch']:.2f} of torch, "
                    f"{best[mine] / best['autograd']:.2f} of autograd"
                    for mine in PEERS[:2]
                )
                print(f"{size:8d} {dtype}  {ratios}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in PEERS:
        child(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        main(tuple(map(int, sys.argv[1:])) or SIZES)
