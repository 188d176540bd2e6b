"""`DataLoader`: batches of a data set, in an order, by this process or by workers."""

from __future__ import annotations

import math
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from typing import Any

from funcgrad.errors import outside
from funcgrad.torch.utils.data.collate import default_collate, default_convert
from funcgrad.torch.utils.data.dataset import IterableDataset
from funcgrad.torch.utils.data.reading import Reading, ReadingByWorkers, ReadingHere
from funcgrad.torch.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from funcgrad.torch.utils.data.worker import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

FIXED = frozenset(
    ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
PREFETCHED = 2  # batches a worker reads ahead


class _Endless:
    """The order of a stream: it has none."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def _check_numbers(num_workers: int, timeout: float, prefetch: int | None) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if prefetch is not None and num_workers == 0:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch is not None and prefetch < 0:
        raise ValueError("prefetch_factor option should be non-negative")


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """A stream comes in its own order."""
    given = {
        "shuffle": shuffle if shuffle not in {False, None} else None,
        "sampler": sampler,
        "batch_sampler": batch_sampler,
    }
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )


def _check_order(
    batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                "and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


class DataLoader:
    """An iterable of batches of a data set.

    Seeds, orders and the random numbers within workers are PyTorch's: the same program reads the
    same batches in both.

    Parameters
    ----------
    dataset : Dataset or IterableDataset
        Anything with `__getitem__` and `__len__`, or a stream.
    batch_size : int or None
        Samples in a batch; None gives samples one by one, as `default_convert` makes them.
    shuffle : bool
        A new order in each epoch.
    sampler, batch_sampler : iterable
        Indices, or lists of them, instead of an order of the loader's.
    num_workers : int
        How many processes read ahead; 0 reads here.
    collate_fn : callable
        Makes a batch of a list of samples (`default_collate`).
    pin_memory : bool
        Accepted with a warning: there is no accelerator.
    drop_last : bool
        Leave out a last batch that is shorter.
    timeout : float
        Seconds to wait for a worker's batch; 0 waits for ever.
    worker_init_fn : callable
        Called with the number of the worker in each, after seeding.
    multiprocessing_context : str or context
        How processes are started ("fork", "spawn", "forkserver").
    generator : Generator
        Draws the order and the seeds of the workers.
    prefetch_factor : int
        Batches that each worker reads ahead (2).
    persistent_workers : bool
        Keep the processes for the next epoch.
    in_order : bool
        Give batches in the order of the sampler, not as they come.

    Raises
    ------
    ValueError
        Options that exclude each other.
    RuntimeError
        On reading: a worker that died, a batch that took too long.
    Exception
        What a data set raises; from a worker with the traceback there in its text.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.utils.data import DataLoader, TensorDataset
    >>> data = TensorDataset(torch.arange(5.0), torch.arange(5) % 2)
    >>> for x, y in DataLoader(data, batch_size=2):
    ...     print(x, y)
    tensor([0., 1.]) tensor([0, 1])
    tensor([2., 3.]) tensor([0, 1])
    tensor([4.]) tensor([0])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_numbers(num_workers, timeout, prefetch_factor)
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        if prefetch_factor is None and num_workers > 0:
            prefetch_factor = PREFETCHED
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        if isinstance(dataset, IterableDataset):
            _check_stream(shuffle, sampler, batch_sampler)
        _check_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_collate if self.is_batched else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.reported_length: int | None = None  # of a stream, once somebody asked
        self._reading: ReadingByWorkers | None = None
        self._initialized = True
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle: bool) -> Iterable[Any]:
        if isinstance(self.dataset, IterableDataset):
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    @property
    def is_batched(self) -> bool:
        """Whether samples are put together to batches."""
        return self.batch_sampler is not None

    @property
    def index_sampler(self) -> Any:
        """What each reading is asked for: batches of indices, or indices."""
        return self.batch_sampler if self.is_batched else self.sampler

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """How processes are started; None is Python's default."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            context = self._checked_context(context)
        self._context: BaseContext | None = context

    def _checked_context(self, context: Any) -> BaseContext:
        if self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers "
                f"> 0), but got num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise ValueError(
                    "multiprocessing_context option should specify a valid start method in "
                    f"{methods!r}, but got multiprocessing_context={context!r}"
                )
            return multiprocessing.get_context(context)
        if not isinstance(context, BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string "
                f"specifying the start method, but got multiprocessing_context={context}"
            )
        return context

    @property
    def context(self) -> BaseContext:
        """How processes are started."""
        return self._context or multiprocessing.get_context()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in FIXED and getattr(self, "_initialized", False):
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Reading:
        if self.num_workers == 0:
            return ReadingHere(self)
        if not self.persistent_workers:
            return ReadingByWorkers(self)
        if self._reading is None:
            self._reading = ReadingByWorkers(self)
        else:
            self._reading.restart(self.reported_length)
        return self._reading

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.index_sampler)
        length = self.reported_length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn of more workers than this process has cores."""
        counted = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if counted else os.cpu_count() or 1
        if self.num_workers <= cores:
            return
        note = "" if counted else " (`cpuset` is not taken into account)"
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. Our "
            f"suggested max number of worker in current system is {cores}{note}, which is smaller "
            "than what this DataLoader is going to create. Please be aware that excessive worker "
            "creation might get DataLoader running slow or even freeze, lower the worker number "
            "to avoid potential slowness/freeze if necessary.",
            stacklevel=outside(),
        )
