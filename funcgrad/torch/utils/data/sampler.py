"""Samplers: in which order a loader reads, and what makes a batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import funcgrad.torch as torch

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
    "WeightedRandomSampler",
]  # fmt: skip

T = TypeVar("T", covariant=True)
DRAWN_AT_ONCE = 32  # indices with replacement are drawn in pieces of this length


def draw_seed(generator: Any = None) -> int:
    """A seed of 63 bits, drawn where PyTorch draws one, so that what follows are its numbers."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


def check_positive(name: str, value: Any) -> None:
    """Refuse what is no positive whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler(Generic[T]):
    """An order of indices (or of lists of them): a subclass has `__iter__`, mostly `__len__`."""

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """The first to the last."""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A new random order in each epoch, or independent draws (`replacement=True`).

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.utils.data import RandomSampler
    >>> list(RandomSampler(range(5), generator=torch.Generator().manual_seed(0)))
    [4, 0, 1, 3, 2]

    Raises
    ------
    ValueError
        A number of samples that is not positive, that of an empty data set too.
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        check_positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices an epoch has; the data set may grow meanwhile."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = torch.Generator().manual_seed(draw_seed())
        draw = self._independent if self.replacement else self._orders
        return draw(len(self.data_source), generator)

    @staticmethod
    def _pieces(count: int, size: int) -> Iterator[int]:
        """Whole pieces of `size`, then the rest, which may be empty: it is drawn all the same."""
        return itertools.chain(itertools.repeat(size, count // size), [count % size])

    def _independent(self, total: int, generator: Any) -> Iterator[int]:
        for size in self._pieces(self.num_samples, DRAWN_AT_ONCE):
            drawn = torch.randint(total, (size,), dtype=torch.int64, generator=generator)
            yield from drawn.tolist()

    def _orders(self, total: int, generator: Any) -> Iterator[int]:
        for size in self._pieces(self.num_samples, total):
            yield from torch.randperm(total, generator=generator).tolist()[:size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in a new random order in each epoch."""

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in torch.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities in proportion to `weights`, which need not add up to 1.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.utils.data import WeightedRandomSampler
    >>> g = torch.Generator().manual_seed(0)
    >>> list(WeightedRandomSampler([0.1, 0.9, 0.0], 6, generator=g))
    [1, 1, 1, 1, 1, 1]
    """

    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        check_positive("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = torch.as_tensor(weights, dtype=torch.double)
        if self.weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = torch.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last is shorter, or left out.

    Examples
    --------
    >>> from funcgrad.torch.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        check_positive("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        total = len(self.sampler)  # type: ignore[arg-type]  # an iterable without one says so
        return (total if self.drop_last else total + self.batch_size - 1) // self.batch_size
