"""A worker of a loader: a process that reads batches and sends them back through a pipe.

Tensors go as what they are, bytes: a message is a pickle without its arrays, then the arrays, and
arrives in memory of the reader's own. What a data set raises goes back with its traceback.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import queue
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import funcgrad.torch as torch
from funcgrad.torch.utils.data.fetch import Fetch, fetcher

__all__ = [
    "OVER", "Failure", "Job", "Over", "WorkerInfo", "get_worker_info", "receive", "run", "send",
]  # fmt: skip

CHECK_INTERVAL = 5.0  # seconds after which a worker asks whether its parent still lives


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker of how many this process is, its seed, and its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _Present:
    info: WorkerInfo | None = None  # of this process


def get_worker_info() -> WorkerInfo | None:
    """What this worker process is; None in the process that has the loader.

    Examples
    --------
    >>> from funcgrad.torch.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return _Present.info


class Over:
    """Sent by a worker whose stream has ended."""


OVER = Over()


@dataclass(frozen=True)
class Job:
    """What a worker needs to know to read."""

    dataset: Any
    batched: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    worker_id: int
    num_workers: int

    def start(self) -> Fetch:
        """Begin an epoch."""
        return fetcher(self.dataset, self.batched, self.collate_fn, self.drop_last)


class _Message(str):
    """Text that shows itself as it is: `KeyError` prints the repr of what it is given."""

    def __repr__(self) -> str:
        return str(self)


class Failure:
    """What was raised in a worker: its class and its traceback as text, which can be sent."""

    def __init__(self, error: BaseException, worker_id: int) -> None:
        self.kind: type[BaseException] = type(error)
        text = "".join(traceback.format_exception(error))
        name = self.kind.__name__
        self.text = f"Caught {name} in DataLoader worker process {worker_id}.\nOriginal {text}"
        try:
            pickle.dumps(self.kind)
        except Exception:  # a class within a function: the text says what it was
            self.kind = RuntimeError

    def error(self) -> BaseException:
        """An error of the same class if one can be made of a text, else a RuntimeError."""
        try:
            if getattr(self.kind, "message", None):
                return self.kind(message=self.text)  # type: ignore[call-arg]
            return self.kind(_Message(self.text))
        except Exception:
            return RuntimeError(self.text)


def send(pipe: Connection, message: Any) -> None:
    """Write one message; what cannot be pickled raises before anything is written."""
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    pieces = [buffer.raw() for buffer in buffers]
    pipe.send(([piece.nbytes for piece in pieces], text))
    for piece in pieces:
        if piece.nbytes:
            pipe.send_bytes(piece)


def receive(pipe: Connection) -> Any:
    """Read one message of `send`."""
    sizes, text = pipe.recv()
    buffers = [bytearray(size) for size in sizes]
    for buffer in buffers:
        if buffer:
            pipe.recv_bytes_into(buffer)
    return pickle.loads(text, buffers=buffers)


def _seed(job: Job) -> int:
    """Begin all sources of random numbers of this worker, each where PyTorch's begin."""
    seed = job.base_seed + job.worker_id
    random.seed(seed)
    torch.manual_seed(seed)
    words = [job.worker_id, job.base_seed & 0xFFFFFFFF, job.base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))
    return seed


def _parent_lives() -> bool:
    parent = multiprocessing.parent_process()
    return parent is not None and parent.is_alive()


def run(job: Job, tasks: Any, pipe: Connection, read: Connection) -> None:
    """The life of a worker: tasks are (number, indices), None for a new epoch, or "stop".

    `read` is the other end of its `pipe`: as long as a process has that open, a worker that writes
    into a full pipe does not see that its loader was killed.
    """
    read.close()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):  # the loader tells of these
        torch.set_num_threads(1)
        seed = _seed(job)
        _Present.info = WorkerInfo(job.worker_id, job.num_workers, seed, job.dataset)
        fetch = _started(job)
        while True:
            try:
                task = tasks.get(timeout=CHECK_INTERVAL)
            except queue.Empty:
                if not _parent_lives():
                    return
                continue
            if task == "stop":
                return
            if task is None:
                fetch = _restarted(job)
            else:
                number, indices = task
                _answer(pipe, number, _fetched(fetch, indices, job), job)


def _failing(failure: Failure) -> Fetch:
    """What is read from a data set that could not be begun: the failure, once."""

    def fetch(_: Any) -> Any:
        return failure

    return fetch


def _started(job: Job) -> Fetch:
    try:
        if job.init_fn is not None:
            job.init_fn(job.worker_id)
        return job.start()
    except Exception as error:
        return _failing(Failure(error, job.worker_id))


def _restarted(job: Job) -> Fetch:
    try:
        return job.start()
    except Exception as error:
        return _failing(Failure(error, job.worker_id))


def _fetched(fetch: Fetch, indices: Any, job: Job) -> Any:
    try:
        return fetch(indices)
    except StopIteration as error:
        is_stream = isinstance(job.dataset, torch.utils.data.IterableDataset)
        return OVER if is_stream else Failure(error, job.worker_id)
    except Exception as error:
        return Failure(error, job.worker_id)


def _answer(pipe: Connection, number: int, data: Any, job: Job) -> None:
    try:
        send(pipe, (number, data))
    except BrokenPipeError:
        raise
    except Exception as error:  # a batch that cannot be sent
        send(pipe, (number, Failure(error, job.worker_id)))
