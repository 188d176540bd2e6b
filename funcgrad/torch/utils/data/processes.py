"""The worker processes of one loader's epoch: tasks out, answers in, and their end.

Each task has one answer. A worker that died is seen at once (the wait is for its end too), not
after a while of silence. However the epoch ends, the processes do too: `close` runs when the
iterator is collected and at exit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
import weakref
from collections.abc import Iterable
from multiprocessing.connection import Connection, wait
from typing import Any

from funcgrad.torch.utils.data import worker
from funcgrad.torch.utils.data.worker import Job

__all__ = ["Workers"]

PATIENCE = 5.0  # seconds that a worker has to end by itself


class _Worker:
    """One process, the queue of its tasks and the pipe of its answers."""

    def __init__(self, context: Any, job: Job) -> None:
        # the queue has a thread that writes: a full pipe must not stop who also has to read
        self.tasks = context.Queue()
        self.answers, answering = context.Pipe(duplex=False)
        self.process = context.Process(
            target=worker.run, args=(job, self.tasks, answering, self.answers), daemon=True
        )
        self.process.start()
        answering.close()

    def end_text(self) -> str:
        """What is known of the end of a process that should not have ended."""
        self.process.join(PATIENCE)
        code, pid = self.process.exitcode, self.process.pid
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                name = signal.strsignal(-code)
                return f"DataLoader worker (pid {pid}) is killed by signal: {name}."
        return (
            f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {code}. Details are "
            "lost due to multiprocessing. Rerunning with num_workers=0 may give better error trace."
        )


class Workers:
    """As many workers as there are jobs."""

    def __init__(self, context: Any, jobs: Iterable[Job]) -> None:
        self._workers: list[_Worker] = []
        self.close = weakref.finalize(self, _close, self._workers, os.getpid())
        for job in jobs:
            self._workers.append(_Worker(context, job))

    def give(self, which: int, task: Any) -> None:
        """Send a task."""
        self._workers[which].tasks.put(task)

    def take(self, timeout: float) -> tuple[int, Any]:
        """Wait for the next answer: which worker's, and what it says.

        Raises
        ------
        RuntimeError
            After `timeout` seconds if that is not 0, and for a worker that has died.
        """
        by_pipe = {w.answers: i for i, w in enumerate(self._workers)}
        by_end = {w.process.sentinel: w for w in self._workers}
        ready = wait([*by_pipe, *by_end], timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        # what a worker wrote before its end is read first
        for found in sorted(ready, key=lambda x: not isinstance(x, Connection)):
            try:
                if isinstance(found, Connection):
                    return by_pipe[found], worker.receive(found)
            except EOFError:
                self._raise_dead(self._workers[by_pipe[found]])
            else:
                self._raise_dead(by_end[found])
        raise AssertionError("unreachable")

    @staticmethod
    def _raise_dead(dead: _Worker) -> None:
        cause = RuntimeError(dead.end_text())
        text = f"DataLoader worker (pid(s) {dead.process.pid}) exited unexpectedly"
        raise RuntimeError(f"{text}: {cause}") from cause


def _close(workers: list[_Worker], owner: int) -> None:
    """End the processes: ask, read what they still write, then insist.

    Not in a child of fork, which has a copy of the loader: they still work for the parent.
    """
    if os.getpid() != owner:
        return
    for one in workers:
        one.tasks.put("stop")
    limit = time.monotonic() + PATIENCE
    for one in workers:
        _drain(one, limit)
        if one.process.is_alive():
            one.process.terminate()
        one.process.join()
        one.answers.close()
        one.tasks.cancel_join_thread()
        one.tasks.close()


def _drain(one: _Worker, limit: float) -> None:
    while one.process.is_alive() and time.monotonic() < limit:
        ready = wait([one.answers, one.process.sentinel], limit - time.monotonic())
        if one.answers not in ready:
            return
        try:
            one.answers.recv_bytes()
        except (EOFError, OSError):
            one.process.join(max(0.0, limit - time.monotonic()))
