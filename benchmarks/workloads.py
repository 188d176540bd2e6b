"""The timed workloads: functions of one argument, written once for every peer.

Each takes the namespace `m` of a peer. Names that share the part before the last dash form a
family: the same work at several sizes, whose time per operation should be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

EVERYONE = ("funcgrad", "funcgrad-np", "torch", "autograd", "jax", "mygrad")
NOT_JAX = ("funcgrad", "funcgrad-np", "torch", "autograd", "mygrad")  # eager JAX takes minutes
ITERATIVE = ("funcgrad", "torch")  # MyGrad recurses, autograd takes minutes at a million


@dataclass(frozen=True)
class Workload:
    """A function of a peer's namespace and one argument, and who takes part."""

    name: str
    title: str
    function: Callable[[Any, Any], Any]
    argument: Any
    operations: int
    peers: tuple[str, ...] = EVERYONE

    @property
    def family(self) -> str:
        return self.name.rpartition("-")[0]


def chain(m: Any, x: Any) -> Any:
    """25 times four operations."""
    y = x
    for _ in range(25):
        y = m.sin(y * x) + y
        y = y * x
    return y


def chain_of_vectors(m: Any, x: Any) -> Any:
    return m.sum(chain(m, x))


def sum_of_squares(m: Any, x: Any, steps: int) -> Any:
    """A Python loop that indexes: one element and two operations a step."""
    s = 0.0
    for i in range(steps):
        s = s + x[i] * x[i]
    return s


def rosenbrock(m: Any, x: Any) -> Any:
    return m.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def elementwise(m: Any, x: Any) -> Any:
    """Nine operations and a sum, where time is arithmetic and memory."""
    return m.sum(m.exp(-x * x) * m.tanh(x) + m.sin(x) / (1.0 + x))


def deep(m: Any, x: Any, operations: int) -> Any:
    """One long dependency; its gradient stays a number of ordinary size."""
    y = x
    for _ in range(operations // 2):
        y = m.sin(y) + x
    return y


def loop(steps: int) -> Workload:
    return Workload(
        f"loop-{steps}",
        f"s = s + x[i] * x[i], {steps} steps",
        partial(sum_of_squares, steps=steps),
        np.linspace(-1.0, 1.0, steps),
        3 * steps,
        NOT_JAX,
    )


def deep_chain(operations: int) -> Workload:
    return Workload(
        f"deep-{operations}",
        f"{operations:,} operations in a row on a scalar",
        partial(deep, operations=operations),
        1.0,
        operations,
        ITERATIVE,
    )


WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload(
            "chain-vector",
            "100 operations on 3-vectors",
            chain_of_vectors,
            np.array([0.5, 0.7, 0.9]),
            100,
        ),
        Workload("chain-scalar", "100 operations on Python floats", chain, 0.7, 100),
        *map(loop, (500, 1000, 2000, 4000)),
        Workload(
            "rosenbrock-10",
            "Rosenbrock function of 10 variables",
            rosenbrock,
            np.linspace(-1.0, 1.5, 10),
            12,
        ),
        Workload(
            "elementwise-1000000",
            "an elementwise chain on 10⁶ elements",
            elementwise,
            np.linspace(0.1, 1.0, 10**6),
            10,
        ),
        *map(deep_chain, (100_000, 300_000, 1_000_000)),
    )
}
