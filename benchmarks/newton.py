"""A Newton iteration of unknown length and its reverse gradient: `while_loop`, and Python's own.

Kepler's equation for eight planets, until the largest residual is small. JAX refuses the gradient
of its `while_loop`, so the peers are the same loop in Python, here and in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.compiled import disagreements, flat
from benchmarks.peers import Peer
from benchmarks.rounds import Call
from benchmarks.rounds import race as rounds

__all__ = ["PROBES"]

ECCENTRICITY = np.linspace(0.1, 0.95, 8)
ANOMALY = np.linspace(0.05, 3.0, 8)
TOLERANCE = 1e-12
Loop = Callable[[Callable[[Any], Any], Callable[[Any], Any], Any], Any]


def python_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], x: Any) -> Any:
    while cond(x):
        x = body(x)
    return x


def kepler(m: Any, loop: Loop, e: Any, anomaly: Any) -> Any:
    """The sum of the squares of the eccentric anomalies."""

    def residual(x: Any) -> Any:
        return x - e * m.sin(x) - anomaly

    unfinished = lambda x: m.max(m.abs(residual(x))) > TOLERANCE
    step = lambda x: x - residual(x) / (1 - e * m.cos(x))
    return m.sum(loop(unfinished, step, anomaly + 0.85 * e) ** 2)


def with_funcgrad(compiled: bool, **options: Any) -> Call:
    import funcgrad as fg

    loop: Loop = partial(fg.while_loop, **options) if compiled else python_loop
    f = fg.value_and_grad(partial(kepler, np, loop), (0, 1))
    f = fg.jit(f) if compiled else f
    return lambda: f(ECCENTRICITY, ANOMALY)


def with_torch() -> Call:
    import torch

    def call() -> Any:
        given = [torch.tensor(x, requires_grad=True) for x in (ECCENTRICITY, ANOMALY)]
        out = kepler(torch, python_loop, *given)
        out.backward()
        return out.item(), tuple(x.grad.numpy() for x in given)

    return call


MAKERS: dict[str, Callable[[], Call]] = {
    "funcgrad": partial(with_funcgrad, True, max_steps=50),
    "funcgrad unbounded": partial(with_funcgrad, True),
    "funcgrad python": partial(with_funcgrad, False),
    "torch python": with_torch,
}


def race(peers: list[Peer], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    """Microseconds of one call, and the ratios to those of the compiled loop."""
    outcome = rounds(MAKERS, flat, repeat, partial(disagreements, tolerance=1e-8))
    ours = outcome.timings.get("funcgrad")
    found = {peer: timing.median * 1e6 for peer, timing in outcome.timings.items()}
    for peer, timing in outcome.timings.items():
        if ours and peer != "funcgrad":
            found[f"ratio to {peer}"] = ours.ratio(timing)
    first = {f"{peer} first": seconds * 1e6 for peer, seconds in outcome.first.items()}
    return {**found, **first}, outcome.problems


PROBES = {"while-newton": ("Newton iteration, value and reverse gradient", "µs", race)}
