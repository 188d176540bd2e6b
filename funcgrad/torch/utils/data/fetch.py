"""Reading the samples of one batch from a data set, in the loader's process or in a worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import funcgrad.torch as torch
from funcgrad.torch.utils.data.collate import default_collate, default_collate_fn_map
from funcgrad.torch.utils.data.dataset import IterableDataset, Subset, TensorDataset

__all__ = ["Fetch", "fetcher"]

Fetch = Callable[[Any], Any]
DEFAULT_RULES = dict(default_collate_fn_map)


def fetcher(dataset: Any, batched: bool, collate_fn: Any, drop_last: bool) -> Fetch:
    """A function of an index, or of a list of them; a stream that is over raises StopIteration."""
    if isinstance(dataset, IterableDataset):
        return _of_stream(dataset, batched, collate_fn, drop_last)
    if not batched:
        return lambda index: collate_fn(dataset[index])

    def fetch(indices: Any) -> Any:
        if collate_fn is default_collate and (rows := _rows(dataset, indices)) is not None:
            return rows
        at_once = getattr(dataset, "__getitems__", None)
        return collate_fn(at_once(indices) if at_once else [dataset[i] for i in indices])

    return fetch


def _of_stream(dataset: Any, batched: bool, collate_fn: Any, drop_last: bool) -> Fetch:
    stream = iter(dataset)
    over = False

    def fetch(indices: Any) -> Any:
        nonlocal over
        if not batched:
            return collate_fn(next(stream))
        found = [] if over else list(itertools.islice(stream, len(indices)))
        over = len(found) < len(indices)
        if not found or (drop_last and over):
            raise StopIteration
        return collate_fn(found)

    return fetch


def _rows(dataset: Any, indices: Sequence[int]) -> list[Any] | None:
    """A batch of a plain `TensorDataset`, or of a `Subset` of one, in one reading a tensor.

    The same numbers as stacked rows. None where somebody would see that rows were not read one
    by one: classes of the user's, rules of collation of the user's, tensors with gradients.
    """
    while type(dataset) is Subset:
        indices = [dataset.indices[i] for i in indices]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or default_collate_fn_map != DEFAULT_RULES:
        return None
    tensors = dataset.tensors
    if not all(type(x) is torch.Tensor and not x.requires_grad for x in tensors):
        return None
    if not all(type(i) is int for i in indices):
        return None
    at = torch.from_numpy(np.array(indices, np.int64))  # once for all, and no list to look through
    return [x[at] for x in tensors]
