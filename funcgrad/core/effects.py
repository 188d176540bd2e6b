"""Effects happen once, also where what they are part of is run again.

Derivatives that meet a NaN are computed a second time (`transforms/optimism.py`), a program whose
index is out of bounds is run again by NumPy, and one whose mask selects another number of elements
from the start. Such a run goes through a log: of what has happened already, it takes the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.core.tracer import running

__all__ = ["logged", "perform"]


class Log:
    """The results of effects, and how many of them a run has gone through.

    `starts` are these numbers at the beginning of each block that is running.
    """

    __slots__ = ("done", "place", "starts")

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.place = 0
        self.starts: list[int] = []

    def again(self) -> None:
        """The innermost block is about to run again what it has run."""
        self.place = self.starts[-1]


def perform(run: Callable[[], Any]) -> Any:
    """What an effect gives, which happens unless it has happened in a run before this one."""
    log: Log | None = running.log
    if log is None:
        return _alone(run)
    if log.place == len(log.done):
        log.done.append(_alone(run))
    log.place += 1
    return log.done[log.place - 1]


def _alone(run: Callable[[], Any]) -> Any:
    """Code of the user's is no part of the run that calls it."""
    before = running.log, running.stage, running.silent
    running.log, running.stage, running.silent = None, None, False
    try:
        return run()
    finally:
        running.log, running.stage, running.silent = before


class logged:
    """A block that may run something again: it says ``again()`` of the log before it does."""

    __slots__ = ("log", "outer")

    def __enter__(self) -> Log:
        self.outer: Log | None = running.log
        log = self.log = self.outer or Log()
        if self.outer is None:
            running.log = log
        log.starts.append(log.place)
        return log

    def __exit__(self, *_: object) -> None:
        self.log.starts.pop()
        if self.outer is None:
            running.log = None
