"""Eager gradients side by side: check that the peers agree, then time those that do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import LOADERS, Gradient, Peer
from benchmarks.rounds import Call, Timing, race
from benchmarks.workloads import WORKLOADS, Workload

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Result:
    """What came out of one workload: a timing for each peer, and who disagreed or failed."""

    workload: Workload
    timings: dict[str, Timing]
    problems: dict[str, str]


def run(workload: Workload, peers: list[Peer], repeat: int) -> Result:
    """Every peer that takes part, in a process of its own."""
    makers = {
        peer.name: partial(prepared, workload.name, peer.name)
        for peer in peers
        if takes(workload, peer)
    }
    outcome = race(makers, tuple, repeat, disagreements)
    return Result(workload, outcome.timings, outcome.problems)


def prepared(workload_name: str, peer_name: str) -> Call:
    """The call that is timed, made where it is timed."""
    workload = WORKLOADS[workload_name]
    return partial(gradient_of(workload, LOADERS[peer_name]()), workload.argument)


def takes(workload: Workload, peer: Peer) -> bool:
    return peer.name in workload.peers


def gradient_of(workload: Workload, peer: Peer) -> Gradient:
    assert peer.value_and_grad is not None
    return peer.value_and_grad(lambda x: workload.function(peer.numpy, x))


def disagreements(answers: Mapping[str, tuple[Any, Any]]) -> dict[str, str]:
    """Who differs from the majority in value or gradient; of two peers, the second."""

    def agree(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
        return all(
            np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE)
            for a, b in zip(one, other, strict=True)
        )

    votes = {
        name: sum(agree(answer, other) for other in answers.values())
        for name, answer in answers.items()
    }
    if not votes:
        return {}
    chosen = max(votes, key=lambda name: votes[name])
    return {
        name: f"disagrees with {chosen}: {answer} is not {answers[chosen]}"
        for name, answer in answers.items()
        if not agree(answer, answers[chosen])
    }
