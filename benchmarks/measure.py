"""Interleaved timing: in each round every peer runs once, in a rotating order.

A disturbance of the machine then meets all peers alike, and a ratio is the median of the ratios of
the rounds, not the ratio of two medians taken at different times.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.peers import Gradient, Peer
from benchmarks.workloads import Workload

SAMPLE_SECONDS = 0.02  # a sample repeats a short call until it takes about this long
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Timing:
    """Seconds for one value and gradient, one entry a round."""

    seconds: list[float]

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def fastest(self) -> float:
        return min(self.seconds)

    @property
    def spread(self) -> float:
        """The distance of the quartiles, as a fraction of the median."""
        if len(self.seconds) < 2:
            return 0.0
        low, _, high = quantiles(self.seconds, n=4, method="inclusive")
        return (high - low) / self.median

    def ratio(self, other: Timing) -> float:
        """How many times as long as `other` this takes."""
        return median(a / b for a, b in zip(self.seconds, other.seconds, strict=True))


@dataclass(frozen=True)
class Result:
    """What came out of one workload: a timing for each peer, and who disagreed or failed."""

    workload: Workload
    timings: dict[str, Timing]
    problems: dict[str, str]


def run(workload: Workload, peers: list[Peer], repeat: int) -> Result:
    """Check that the peers agree, then time those that do."""
    calls = {peer.name: gradient_of(workload, peer) for peer in peers if takes(workload, peer)}
    answers, counts, problems = {}, {}, {}
    for name, call in calls.items():
        try:
            call(workload.argument)  # the first call may import or compile something
            begin = perf_counter()
            answers[name] = call(workload.argument)
            counts[name] = max(1, math.ceil(SAMPLE_SECONDS / (perf_counter() - begin)))
        except Exception as error:
            problems[name] = f"{type(error).__name__}: {error}"
    problems |= disagreements(answers)
    counts = {name: count for name, count in counts.items() if name not in problems}
    return Result(workload, rounds(workload, calls, counts, repeat), problems)


def takes(workload: Workload, peer: Peer) -> bool:
    return peer.name in workload.peers


def gradient_of(workload: Workload, peer: Peer) -> Gradient:
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


def rounds(
    workload: Workload, calls: Mapping[str, Gradient], counts: Mapping[str, int], repeat: int
) -> dict[str, Timing]:
    """`repeat` rounds over the peers of `counts`, which says how often a sample calls each."""
    names = list(counts)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    for number in range(repeat if names else 0):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            call, count = calls[name], counts[name]
            begin = perf_counter()
            for _ in range(count):
                call(workload.argument)
            seconds[name].append((perf_counter() - begin) / count)
    return {name: Timing(samples) for name, samples in seconds.items()}
