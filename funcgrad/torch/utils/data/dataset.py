"""Data sets: what a loader reads one by one (by an index, or as a stream)."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, cast

import funcgrad.torch as torch
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset",
    "TensorDataset", "random_split",
]  # fmt: skip

T = TypeVar("T", covariant=True)

MUST_OVERRIDE_BOTH = (
    "{name} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
    "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with "
    "your custom logic. A simple implementation:\n\n"
    "def __getitems__(self, indices):\n"
    "    return [self.__getitem__(idx) for idx in indices]"
)


class Dataset(Generic[T]):
    """Samples by index: a subclass has `__getitem__`, for most samplers `__len__` too.

    `__getitems__(indices)`, where a subclass has it, gives the samples of one batch at once.

    Examples
    --------
    >>> from funcgrad.torch.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> Squares()[3]
    9
    """

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Samples as a stream: a subclass has `__iter__`. Each worker of a loader reads it whole,
    unless it asks `get_worker_info` for its own part."""

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors that have equally many.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.utils.data import TensorDataset
    >>> TensorDataset(torch.arange(3.0), torch.arange(3))[1]
    (tensor(1.), tensor(1))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != x.size(0) for x in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(x[index] for x in self.tensors)

    def __len__(self) -> int:
        return cast(int, self.tensors[0].size(0))


def _items(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """The samples at `indices`, by `__getitems__` where the data set has it."""
    at_once = getattr(dataset, "__getitems__", None)
    if not callable(at_once):
        return [dataset[i] for i in indices]
    found: list[Any] = at_once(indices)
    return found


class StackDataset(Dataset[Any]):
    """Samples put together of several data sets of one length: tuples, or dictionaries by name.

    Examples
    --------
    >>> from funcgrad.torch.utils.data import StackDataset
    >>> StackDataset(letter="abc", number=[1, 2, 3])[1]
    {'letter': 'b', 'number': 2}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(x) for x in self._parts]
        if any(length != lengths[0] for length in lengths):
            raise ValueError("Size mismatch between datasets")
        self._length = lengths[0]

    @property
    def _parts(self) -> tuple[Any, ...]:
        found = self.datasets
        return tuple(found.values()) if isinstance(found, dict) else found

    def _sample(self, parts: Iterable[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, parts, strict=True))
        return tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([x[index] for x in self._parts])

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        columns = [_items(x, indices) for x in self._parts]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(
                    "Nested dataset's output size mismatch. "
                    f"Expected {len(indices)}, got {len(column)}"
                )
        return [self._sample(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T]):
    """Several data sets one after the other.

    Examples
    --------
    >>> from funcgrad.torch.utils.data import ConcatDataset
    >>> both = ConcatDataset([range(3), range(10, 12)])
    >>> len(both), both[3], both[-1]
    (5, 10, 11)
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each data set ends."""
        return list(itertools.accumulate(len(x) for x in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(x, IterableDataset) for x in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]


class ChainDataset(IterableDataset[T]):
    """Several streams one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for stream in self.datasets:
            if not isinstance(stream, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield stream

    def __iter__(self) -> Iterator[Any]:
        for stream in self._streams():
            yield from stream

    def __len__(self) -> int:
        return sum(len(stream) for stream in self._streams())


class Subset(Dataset[T]):
    """The samples of a data set at given indices.

    Examples
    --------
    >>> from funcgrad.torch.utils.data import Subset
    >>> list(Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        own = type(self)
        alone = own.__getitem__ is not Subset.__getitem__
        if alone and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(MUST_OVERRIDE_BOTH.format(name=own.__name__))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        return _items(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def _sizes_of_fractions(total: int, fractions: Sequence[float]) -> list[int]:
    """Numbers of samples, rounded down; what is left goes one by one to the first."""
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    sizes = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(sizes)):
        sizes[i % len(sizes)] += 1
    for i, size in enumerate(sizes):
        if size == 0:
            warnings.warn(
                f"Length of split at index {i} is 0. This might result in an empty dataset.",
                stacklevel=outside(),
            )
    return sizes


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Any = None
) -> list[Subset[Any]]:
    """Split a data set at random into subsets of given lengths, or of fractions of one.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.utils.data import random_split
    >>> g = torch.Generator().manual_seed(42)
    >>> [list(part) for part in random_split(range(10), [0.3, 0.7], generator=g)]
    [[2, 6, 1], [8, 4, 5, 0, 9, 3, 7]]

    Raises
    ------
    ValueError
        Lengths that do not add up to the data set, or a fraction outside of 0 and 1.
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _sizes_of_fractions(total, lengths)
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    sizes = cast(Sequence[int], lengths)
    order = torch.randperm(total, generator=generator).tolist()
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
