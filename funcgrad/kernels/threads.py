"""Several threads for one operation on a large array: Python's own, around code without the GIL.

A range is cut into pieces of a fixed size, which the caller and the helpers take one after the
other, so a core that something else keeps busy delays nothing but the piece it has. Helpers sleep
in between, see NumPy's error state of the caller, and hand their exceptions to it. A child of fork
makes its own. What is native code altogether runs in the compiler's threads (see `native`). It
imports config.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import SimpleQueue

from funcgrad.config import config

__all__ = ["PARALLEL", "grain", "run"]

PARALLEL = 1 << 18  # elements: with fewer the second thread comes too late
PIECE = 1 << 16  # elements; a multiple of every vector, so that each lies in the same one as before
Work = Callable[[int, int], None]


class Job:
    """A range of which threads take pieces."""

    def __init__(self, work: Work, count: int, grain: int, helpers: int) -> None:
        self.work, self.count, self.grain = work, count, grain
        self.starts = iter(range(0, count, grain))
        self.tickets = [copy_context() for _ in range(helpers)]
        self.done: SimpleQueue[BaseException | None] = SimpleQueue()

    def take(self) -> None:
        """Work until nothing is left."""
        for first in self.starts:
            self.work(first, min(first + self.grain, self.count))

    def help(self) -> None:
        """What a helper does, unless the caller has finished already."""
        try:
            context: Context = self.tickets.pop()
        except IndexError:
            return
        try:
            context.run(self.take)
        except BaseException as error:
            self.starts = iter(range(0))
            self.done.put(error)
        else:
            self.done.put(None)

    def finish(self, helpers: int) -> BaseException | None:
        """Wait for the helpers that have begun; the first exception of theirs."""
        waiting = helpers
        while self.tickets:
            try:
                self.tickets.pop()
                waiting -= 1
            except IndexError:
                break
        failed: BaseException | None = None
        for _ in range(waiting):
            failed = self.done.get() or failed
        return failed


class Helpers:
    """The threads of this process."""

    def __init__(self) -> None:
        self.count = 0
        self.jobs: SimpleQueue[Job] = SimpleQueue()
        self.lock = threading.Lock()

    def call(self, job: Job, wanted: int) -> None:
        with self.lock:
            while self.count < wanted:
                self.count += 1
                threading.Thread(target=self._serve, name="funcgrad", daemon=True).start()
        for _ in range(wanted):
            self.jobs.put(job)

    def _serve(self) -> None:
        jobs = self.jobs
        while True:
            job = jobs.get()
            job.help()
            del job  # it holds arrays


helpers = Helpers()


def _after_fork() -> None:
    global helpers
    helpers = Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def grain(count: int, size: int) -> int:
    """How much of 0 … `count` is a piece, where `size` elements are behind it.

    It depends on nothing else, so results do not depend on the number of threads.
    """
    return max(1, PIECE * count // max(size, 1))


def run(work: Work, count: int, size: int) -> None:
    """Call `work(first, last)` in all threads for ranges that together are 0 … `count`.

    `size` is the number of elements behind the range.
    """
    each = grain(count, size)
    wanted = min(config.threads, -(-count // each)) - 1
    job = Job(work, count, each, max(wanted, 0))
    if wanted > 0:
        helpers.call(job, wanted)
    try:
        job.take()
    except BaseException:
        job.starts = iter(range(0))
        job.finish(wanted)  # they still write to the caller's memory
        raise
    failed = job.finish(max(wanted, 0))
    if failed is not None:
        raise failed
