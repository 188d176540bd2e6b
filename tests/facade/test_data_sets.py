"""Data sets, samplers and collation: each program says in both libraries the same."""

from __future__ import annotations

import collections
import types

import numpy as np
import pytest

from .both import same

Point = collections.namedtuple("Point", ["x", "y"])  # as a program would write it


def tensor_dataset(torch, say):
    data = torch.utils.data.TensorDataset(torch.arange(6.0).view(3, 2), torch.arange(3))
    say(len(data), data[1], data[-1], data[:2])
    torch.utils.data.TensorDataset(torch.ones(2), torch.ones(3))


def stacked(torch, say):
    d = torch.utils.data
    say(d.StackDataset("abc", [1, 2, 3])[1], d.StackDataset(a="abc", b=range(3))[2])
    say(d.StackDataset(d.Subset("abcd", [3, 1]), range(2)).__getitems__([0, 1]))
    for args, kwargs in [(("ab", "abc"), {}), ((), {}), (("ab",), {"a": "ab"})]:
        try:
            d.StackDataset(*args, **kwargs)
        except ValueError as error:
            say(error)


def concatenated(torch, say):
    d = torch.utils.data
    both = d.ConcatDataset([range(3), range(10, 12)])
    say(list(both), len(both), both[-1], both[-5], both.cumulative_sizes)
    for wrong in (-6, 5):
        try:
            both[wrong]
        except (ValueError, IndexError) as error:
            say(type(error).__name__, error)
    for wrong in ([], [Stream(torch)(3)]):
        try:
            d.ConcatDataset(wrong)
        except AssertionError as error:
            say(error)

    class Set(d.Dataset):
        def __init__(self, n):
            self.n = n

        def __len__(self):
            return self.n

        def __getitem__(self, i):
            return self.n * 10 + i

    added = Set(2) + Set(1)
    say(type(added).__name__, [added[i] for i in range(3)])
    d.Dataset()[0]


def Stream(torch):
    class OfNumbers(torch.utils.data.IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return iter(range(self.n))

        def __len__(self):
            return self.n

    return OfNumbers


def chained(torch, say):
    numbers = Stream(torch)
    chain = numbers(3) + numbers(2)
    say(type(chain).__name__, list(chain), len(chain))
    list(torch.utils.data.ChainDataset([[1, 2]]))


def subsets(torch, say):
    d = torch.utils.data
    part = d.Subset(d.TensorDataset(torch.arange(5.0)), [4, 0, 2])
    say(len(part), part[0], part[[0, 1]], part.__getitems__([2, 1]))

    class Doubled(d.Subset):
        def __getitem__(self, i):
            return 2 * self.dataset[self.indices[i]]

    Doubled(range(3), [0])


def split(torch, say):
    def parts(n, lengths):
        g = torch.Generator().manual_seed(42)
        found = torch.utils.data.random_split(range(n), lengths, generator=g)
        return [list(part) for part in found]

    say(parts(10, [3, 7]), parts(10, [0.3, 0.3, 0.4]), parts(11, [0.5, 0.5]))
    say(parts(2, [0.9, 0.05, 0.05]))
    torch.manual_seed(7)
    say([list(p) for p in torch.utils.data.random_split(range(5), [2, 3])], torch.rand(1))
    for wrong in ([1, 2], [-0.5, 1.5]):
        try:
            parts(5, wrong)
        except ValueError as error:
            say(error)


def samplers(torch, say):
    d = torch.utils.data
    torch.manual_seed(3)
    say(list(d.SequentialSampler(range(3))), len(d.SequentialSampler("ab")))
    for n in (None, 3, 5, 12):
        for replacement in (False, True):
            sampler = d.RandomSampler(range(5), replacement, n)
            say(len(sampler), list(sampler), list(sampler))
    say(len(list(d.RandomSampler(range(5), True, 70))), torch.rand(1))
    g = torch.Generator().manual_seed(1)
    say(list(d.RandomSampler(range(6), generator=g)), list(d.RandomSampler(range(6), generator=g)))
    say(list(d.SubsetRandomSampler([5, 7, 9], generator=g)))
    weights = [0.1, 0.9, 0.4, 0.7, 3.0, 0.6]
    say(list(d.WeightedRandomSampler(weights, 5, generator=g)))
    say(list(d.WeightedRandomSampler(weights, 5, replacement=False, generator=g)))
    for n, size, drop in [(10, 3, False), (10, 3, True), (9, 3, True), (2, 3, True)]:
        batches = d.BatchSampler(d.SequentialSampler(range(n)), size, drop)
        say(len(batches), list(batches))
    for rank in range(3):
        for drop in (False, True):
            for shuffle in (False, True):
                sampler = d.DistributedSampler(range(10), 3, rank, shuffle, seed=5, drop_last=drop)
                sampler.set_epoch(2)
                say(len(sampler), list(sampler))
    say(list(d.DistributedSampler(range(2), 7, 6)))


def refused_samplers(torch, say):
    d = torch.utils.data
    for make in (
        lambda: d.RandomSampler([]),
        lambda: d.RandomSampler("ab", num_samples=0),
        lambda: d.RandomSampler("ab", replacement=1),
        lambda: d.BatchSampler([1], 0, False),
        lambda: d.BatchSampler([1], True, False),
        lambda: d.BatchSampler([1], 2.0, False),
        lambda: d.BatchSampler([1], 2, 0),
        lambda: d.WeightedRandomSampler([1.0], 0),
        lambda: d.WeightedRandomSampler([1.0], 1, 1),
        lambda: d.WeightedRandomSampler([[1.0]], 1),
        lambda: d.DistributedSampler([1], 2, 2),
        lambda: iter(d.Sampler()),
    ):
        try:
            make()
        except (ValueError, TypeError, NotImplementedError) as error:
            say(type(error).__name__, error)


def collation(torch, say):
    d = torch.utils.data
    text = np.array(["a", "b"])
    for batch in (
        [0, 1, 2],
        [1.5, 2],
        [True, False],
        [np.float32(1), np.float32(2)],
        [np.int16(1), np.int16(2)],
        [np.ones(2), np.zeros(2)],
        ["a", "b"],
        [b"a", b"b"],
        [torch.ones(2), torch.zeros(2)],
        [{"a": 0, "b": 1.0}, {"a": 100, "b": 2.0}],
        [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
        [types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2})],
        [Point(0, 1), Point(2, 3)],
        [(0, 1.0), (2, 3.0)],
        [[0, 1], [2, 3]],
        [collections.deque([0, 1]), collections.deque([2, 3])],
        [range(2), range(2)],
        [((1, "a"), {"k": [1, 2]}), ((2, "b"), {"k": [3, 4]})],
        [(), ()],
        [(1, 2), (1,)],
        [torch.ones(2), torch.ones(3)],
        [object(), object()],
        [text, text],
        [{"a": 1}, {"b": 1}],
        [{1}, {2}],
    ):
        try:
            say(d.default_collate(batch))
        except (TypeError, RuntimeError, KeyError) as error:
            say(type(error).__name__, str(error).replace(repr(batch), ""))
    for item in (0, "a", np.array([0, 1]), np.float64(2), Point(np.ones(1), 2), (np.ones(1), 1),
                 [np.ones(1), "b"], {"a": np.ones(1)}, text, None, {1}, torch.ones(1)):  # fmt: skip
        say(d.default_convert(item))


def own_collation(torch, say):
    from_map = torch.utils.data.dataloader.default_collate  # noqa: F841  # it is reachable there

    class Box:
        def __init__(self, x):
            self.x = x

    def boxes(batch, *, collate_fn_map=None):
        return [box.x for box in batch]

    import importlib

    collate_name = {"torch": "torch.utils.data._utils.collate"}.get(
        torch.__name__, "funcgrad.torch.utils.data.collate"
    )
    collating = importlib.import_module(collate_name)
    rules = {**collating.default_collate_fn_map, Box: boxes}
    say(collating.collate([(Box(1), 2), (Box(3), 4)], collate_fn_map=rules))


PROGRAMS = [tensor_dataset, stacked, concatenated, chained, subsets, split, samplers,
            refused_samplers, collation, own_collation]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_says_the_same(program):
    same(program)
