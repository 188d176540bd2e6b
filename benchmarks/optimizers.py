"""Steps of the optimisers of `funcgrad.torch` and of PyTorch, with gradients that are there.

One large parameter, as the memory is the limit; and fifty small ones, where a call is. Both
libraries run with their defaults. Numba is there from the start, as in a training that takes longer
than a second; ratios are medians of those of the rounds, below 1 where funcgrad is faster.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.facade import OURS, THEIRS, Found, disagreements, shown
from benchmarks.peers import Peer
from benchmarks.rounds import Call
from benchmarks.rounds import race as rounds

__all__ = ["PROBES"]

WARM = 0.7
OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {}),
    "momentum": ("SGD", {"momentum": 0.9}),
    **{
        name: (name, {})
        for name in (
            *("ASGD", "Rprop", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adadelta"),
            *("Adagrad", "RMSprop"),
        )
    },
}
SIZES = {"1000000": [(1000, 1000)], "50x256": [(16, 16)] * 50}


def step(size: str, name: str, library: str) -> Call:
    """One step of an optimiser."""
    torch = importlib.import_module(library)
    if library == OURS:
        importlib.import_module("numba")
    kind, settings = OPTIMIZERS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in SIZES[size]]
    params = [torch.from_numpy(a).requires_grad_() for a in arrays]
    for p in params:
        p.grad = torch.from_numpy(rng.normal(size=tuple(p.shape)).astype(np.float32))
    optimizer = getattr(torch.optim, kind)(params, lr=1e-4, **settings)

    def call() -> Any:
        optimizer.step()
        return params[-1].detach()

    return call


def race(size: str, peers: list[Peer], repeat: int) -> Found:
    """The ratio for each optimiser."""
    found: dict[str, float] = {}
    problems: dict[str, str] = {}
    if not any(peer.name == THEIRS for peer in peers):
        return found, problems
    for name in OPTIMIZERS:
        makers = {library: partial(step, size, name, library) for library in (OURS, THEIRS)}
        outcome = rounds(makers, shown, repeat, disagreements, WARM)
        problems |= {f"{name} of {k}": v for k, v in outcome.problems.items()}
        if len(outcome.timings) == 2:
            found[name] = outcome.timings[OURS].median * 1e6
            found[f"ratio {name}"] = outcome.timings[OURS].ratio(outcome.timings[THEIRS])
    return found, problems


PROBES: dict[str, tuple[str, str, Callable[[list[Peer], int], Found]]] = {
    f"facade-optimisers-{size}": (f"one step of each optimiser, {size} elements", "µs",
                                  partial(race, size))
    for size in SIZES
}  # fmt: skip
