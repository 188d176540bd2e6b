"""One epoch of a loader: an iterator of batches, read here or by workers ahead of time."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from funcgrad.core.boundary import boundary
from funcgrad.errors import outside
from funcgrad.torch.utils.data.fetch import fetcher
from funcgrad.torch.utils.data.processes import Workers
from funcgrad.torch.utils.data.sampler import draw_seed
from funcgrad.torch.utils.data.worker import Failure, Job, Over

if TYPE_CHECKING:
    from funcgrad.torch.utils.data.dataloader import DataLoader

__all__ = ["Reading", "ReadingByWorkers", "ReadingHere"]

NO_ACCELERATOR = (
    "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory "
    "won't be used."
)
NO_MORE = object()  # a stream is asked for None again and again
TOO_LONG = (
    "Length of IterableDataset {dataset} was reported to be {length}(when accessing "
    "len(dataloader)), but {count} samples have been fetched. "
)
WORKERS_READ_ALL = (
    "For multiprocessing data-loading, this could be caused by not properly configuring the "
    "IterableDataset replica at each worker. Please see "
    "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
)


class Reading:
    """What both ways of reading share: the order of indices, the seed, and counting."""

    def __init__(self, loader: DataLoader) -> None:
        self.loader = loader
        if loader.pin_memory:
            warnings.warn(NO_ACCELERATOR, stacklevel=outside())
        self.begin()
        self.base_seed = draw_seed(loader.generator)

    def begin(self) -> None:
        """Go to the beginning of an epoch."""
        self.indices = iter(self.loader.index_sampler)
        self.count = 0
        self.length = self.loader.reported_length

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self.loader.index_sampler)

    @boundary
    def __next__(self) -> Any:
        data = self.next_batch()
        self.count += 1
        self._check_length()
        return data

    def next_batch(self) -> Any:
        """The next batch; StopIteration at the end."""
        raise NotImplementedError

    def _check_length(self) -> None:
        loader, length = self.loader, self.length
        if length is not None and self.count > length:
            text = TOO_LONG.format(dataset=loader.dataset, length=length, count=self.count)
            warnings.warn(text + WORKERS_READ_ALL * (loader.num_workers > 0), stacklevel=outside())

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class ReadingHere(Reading):
    """Read in the process of the loader, one batch when it is asked for."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self.fetch = fetcher(loader.dataset, loader.is_batched, loader.collate_fn, loader.drop_last)

    def next_batch(self) -> Any:
        return self.fetch(next(self.indices))


class ReadingByWorkers(Reading):
    """Read by processes, `prefetch_factor` batches ahead for each, and given out in order."""

    def __init__(self, loader: DataLoader) -> None:
        # a loader keeps its persistent workers: were it held by them, neither would end by itself
        super().__init__(copy.copy(loader) if loader.persistent_workers else loader)
        jobs = [
            Job(
                loader.dataset, loader.is_batched, loader.collate_fn, loader.drop_last,
                self.base_seed, loader.worker_init_fn, i, loader.num_workers,
            )
            for i in range(loader.num_workers)
        ]  # fmt: skip
        self.workers = Workers(loader.context, jobs)
        self.epoch = 0
        self._fill()

    def restart(self, reported_length: int | None) -> None:
        """Another epoch with the same processes; answers of the one before are passed over."""
        self.loader.reported_length = reported_length
        self.begin()
        self.epoch += 1
        for i in range(self.loader.num_workers):
            self.workers.give(i, None)
        self._fill()

    def _fill(self) -> None:
        number = self.loader.num_workers
        self.sent = self.wanted = 0
        self.asked: dict[int, int] = {}  # number of a task -> its worker, while it is unanswered
        self.answers: dict[int, Any] = {}
        self.reading = set(range(number))  # the workers whose stream has not ended
        self.turn = itertools.cycle(range(number))
        for _ in range((self.loader.prefetch_factor or 0) * number):
            self._ask()

    def _ask(self) -> None:
        """Give the next task to the next worker that still reads."""
        if not self.reading:
            return
        indices = next(self.indices, NO_MORE)
        if indices is NO_MORE:
            return
        which = next(i for i in self.turn if i in self.reading)
        self.asked[self.sent] = which
        self.workers.give(which, ((self.epoch, self.sent), indices))
        self.sent += 1

    def next_batch(self) -> Any:
        while self.asked or self.answers:
            found = self._take()
            if not isinstance(found, Over):
                self._ask()
                if isinstance(found, Failure):
                    raise found.error()
                return found
        if not self.loader.persistent_workers:
            self.workers.close()
        raise StopIteration

    def _take(self) -> Any:
        """The answer whose turn it is; with `in_order=False` any that is there."""
        in_order = self.loader.in_order
        while not (self.wanted in self.answers if in_order else self.answers):
            which, ((epoch, number), data) = self.workers.take(self.loader.timeout)
            if epoch != self.epoch:
                continue
            del self.asked[number]
            self.answers[number] = data
            if isinstance(data, Over) and which in self.reading:
                self.reading.remove(which)
                self._ask()
        number = self.wanted if in_order else next(iter(self.answers))
        self.wanted += 1
        return self.answers.pop(number)
