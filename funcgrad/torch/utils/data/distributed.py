"""The part of a data set that one of several processes reads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import funcgrad.torch as torch
from funcgrad.torch.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index beginning with `rank`, of an order that all processes share.

    There is no ``torch.distributed`` here, so both numbers have to be given.

    Examples
    --------
    >>> from funcgrad.torch.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available")
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        dropped = len(dataset) % num_replicas if drop_last else 0
        self.num_samples = math.ceil((len(dataset) - dropped) / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def _order(self) -> list[int]:
        if not self.shuffle:
            return list(range(len(self.dataset)))
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        found: list[int] = torch.randperm(len(self.dataset), generator=generator).tolist()
        return found

    def __iter__(self) -> Iterator[int]:
        order = self._order()
        repeats = math.ceil(self.total_size / len(order)) if order else 0
        order = (order * repeats)[: self.total_size]  # as many for each: the first come twice
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch begins: all processes shuffle alike, each epoch in another way."""
        self.epoch = epoch
