"""Interleaved timing: in each round every library runs once, in a rotating order.

A disturbance of the machine then meets all alike, and a ratio is the median of the ratios of the
rounds, not the ratio of two medians taken at different times. Each library has a process of its
own, because threads that wait by spinning (OpenMP's, OpenBLAS's) take the cores from whoever comes
next: in one process, a network of three layers in PyTorch made the same in NumPy ten times slower.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import median, quantiles
from time import perf_counter, sleep
from typing import Any

from benchmarks.elsewhere import Elsewhere, interpreter

__all__ = ["Call", "Outcome", "Timing", "race", "sample"]

Call = Callable[[], Any]

SAMPLE_SECONDS = 0.02  # a sample repeats a short call until it takes about this long
PATIENCE = 0.5  # a call that takes longer than this is timed without one to warm up
WARM_UP = 2.5  # for calls from LONG to PATIENCE, in seconds: until eager kernels have paid
LONG = 0.002
PAUSE = 0.01  # until the threads of who came before have gone to sleep


@dataclass(frozen=True)
class Timing:
    """Seconds for one call, one entry a round."""

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
class Outcome:
    """Of each library: what it answered, seconds of its first call, and its timing; or why not."""

    answers: dict[str, Any]
    first: dict[str, float]
    timings: dict[str, Timing]
    problems: dict[str, str]


def race(
    makers: Mapping[str, Callable[[], Call]],
    show: Callable[[Any], Any],
    repeat: int,
    disagreements: Callable[[dict[str, Any]], dict[str, str]],
    warm: float = 0.0,
) -> Outcome:
    """Let each library prepare its call, compare what `show` makes of the answers, then time.

    `makers` and `show` are sent to other processes: functions of modules, or partials of them.
    Who fails or disagrees is not timed. Before the rounds each repeats its call for `warm` seconds:
    what compiles while it runs, once it has paid, else does so in the middle of them.
    """
    answers: dict[str, Any] = {}
    first: dict[str, float] = {}
    problems: dict[str, str] = {}
    for name, make in makers.items():
        try:
            first[name], answers[name] = process(name).submit(_prepare, make, show).result()
        except Exception as error:
            problems[name] = f"{type(error).__name__}: {error}"
    problems |= disagreements(answers)
    names = [name for name in makers if name not in problems]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for name in names if warm else ():
        process(name).submit(_warm, warm).result()
    for number in range(repeat if names else 0):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            seconds[name].append(process(name).submit(_sample).result())
    for name in makers:
        process(name).submit(_forget).result()
    timings = {name: Timing(each) for name, each in seconds.items()}
    return Outcome(answers, first, timings, problems)


def sample(call: Call) -> float:
    """Seconds of one call; short ones are repeated."""
    begin = perf_counter()
    call()
    once = perf_counter() - begin
    if once > PATIENCE:
        return once
    begin = perf_counter()
    call()
    count = max(1, int(SAMPLE_SECONDS / (perf_counter() - begin)))
    begin = perf_counter()
    for _ in range(count):
        call()
    return (perf_counter() - begin) / count


@functools.cache
def process(name: str) -> ProcessPoolExecutor | Elsewhere:
    """The process of one library; it ends with this one."""
    other = interpreter(name)
    if other is not None:
        return Elsewhere(other)
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


# ------------------------------------------------------------------ in the library's process

_calls: list[Call] = []


def _prepare(make: Callable[[], Call], show: Callable[[Any], Any]) -> tuple[float, Any]:
    call = make()
    begin = perf_counter()
    answer = call()
    first = perf_counter() - begin
    shown = show(answer)
    while LONG < first < PATIENCE and perf_counter() - begin < WARM_UP:
        call()
    _calls[:] = [call]
    gc.collect()
    return first, shown


def _warm(seconds: float) -> None:
    begin = perf_counter()
    while perf_counter() - begin < seconds:
        _calls[0]()


def _sample() -> float:
    sleep(PAUSE)
    return sample(_calls[0])


def _forget() -> None:
    _calls.clear()
    gc.collect()
