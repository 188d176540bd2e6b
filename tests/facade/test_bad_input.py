"""Bad input of loaders, states and devices: PyTorch's classes, and how its texts begin."""

import os
import re
import signal
import sys

import pytest

import funcgrad.torch as ours

from .both import theirs

pytestmark = [
    pytest.mark.peers, pytest.mark.skipif(theirs is None, reason="needs torch"),
    pytest.mark.filterwarnings("ignore"),
]  # fmt: skip


class Numbers:
    """A data set of eight rows, of which the fifth does what a subclass says."""

    def __init__(self, torch):
        self.torch = torch

    def __len__(self):
        return 8

    def __getitem__(self, k):
        return self.fifth() if k == 5 else self.torch.tensor([float(k)])


class Raising(Numbers):
    def fifth(self):
        raise KeyError("the fifth")


class TwoArguments(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


class RaisingOddly(Numbers):
    def fifth(self):
        raise TwoArguments(1, 2)


class Dying(Numbers):
    def fifth(self):
        os.kill(os.getpid(), signal.SIGKILL)


class Leaving(Numbers):
    def fifth(self):
        sys.exit(3)


class Ragged(Numbers):
    def __getitem__(self, k):
        return self.torch.ones(k + 1)


def rows(torch, kind, workers):
    loader = torch.utils.data.DataLoader(kind(torch), batch_size=2, num_workers=workers)
    return [batch.flatten().tolist() for batch in loader]


def interrupted(torch, workers):
    """Two batches of an epoch that is left, and a whole one."""
    loader = torch.utils.data.DataLoader(list(range(20)), batch_size=2, num_workers=workers)
    found = []
    for k, batch in enumerate(loader):
        found.append(batch.tolist())
        if k == 1:
            break
    return found + [batch.tolist() for batch in loader]


def net(torch):
    return torch.nn.Sequential(
        torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)
    )  # fmt: skip


def loaded(torch, missing=(), strict=True, **given):
    model = net(torch)
    state = model.state_dict()
    for name in missing:
        del state[name]
    state.update({name.replace("_", "."): x for name, x in given.items()})
    return str(model.load_state_dict(state, strict=strict))


def optimizer_of_another(torch):
    state = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1).state_dict()
    torch.optim.SGD(net(torch).parameters(), lr=0.1).load_state_dict(state)


CASES = {
    "a data set that raises": lambda t: rows(t, Raising, 0),
    "in a worker": lambda t: rows(t, Raising, 2),
    "an exception that cannot be made again": lambda t: rows(t, RaisingOddly, 2),
    "a worker that dies": lambda t: rows(t, Dying, 2),
    "a worker that leaves": lambda t: rows(t, Leaving, 2),
    "rows of many lengths": lambda t: rows(t, Ragged, 0),
    "in workers": lambda t: rows(t, Ragged, 2),
    "an epoch that is left": lambda t: interrupted(t, 0),
    "with workers": lambda t: interrupted(t, 2),
    "a missing key": lambda t: loaded(t, ["0.bias"]),
    "an unexpected key": lambda t: loaded(t, x=t.ones(1)),
    "a wrong shape": lambda t: loaded(t, **{"0_bias": t.ones(5)}),
    "all three": lambda t: loaded(t, ["2.bias"], x=t.ones(1), **{"0_bias": t.ones(5)}),
    "not strict": lambda t: loaded(t, ["2.bias"], False, x=t.ones(1)),
    "a state that is no tensor": lambda t: loaded(t, **{"0_bias": 3}),
    "no state": lambda t: net(t).load_state_dict(3),
    "an optimizer's state": optimizer_of_another,
    "a device that is not here": lambda t: t.ones(2, device="cuda"),
    "a module for it": lambda t: net(t).to("cuda"),
    "a device that there is nowhere": lambda t: t.ones(2, device="foo"),
    "a number that is none": lambda t: t.device("cpu:x"),
    "no number": lambda t: t.device("cuda:"),
    "a dtype as text": lambda t: t.ones(2, dtype="float32"),
    "dtypes of a layer": lambda t: t.nn.Linear(3, 2)(t.ones(1, 3, dtype=t.float64)),
    "in bfloat16": lambda t: t.nn.Linear(3, 2)(t.ones(1, 3, dtype=t.bfloat16)),
    "of a product": lambda t: t.ones(2, 3) @ t.ones(3, 2, dtype=t.bfloat16),
    "shapes of a layer": lambda t: t.nn.Linear(3, 2)(t.ones(1, 4)),
    "of a convolution": lambda t: t.nn.Conv2d(3, 4, 3)(t.ones(1, 2, 8, 8)),
    "classes beyond": lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 3])),
    "an index beyond": lambda t: t.nn.Embedding(3, 2)(t.tensor([3])),
    "a sampler and shuffle": lambda t: t.utils.data.DataLoader(
        [1], shuffle=True, sampler=t.utils.data.SequentialSampler([1])
    ),
    "batches of none": lambda t: next(iter(t.utils.data.DataLoader([None, None], batch_size=2))),
}


ENDING = ("a worker that dies", "a worker that leaves")


def answer(torch, call):
    try:
        return "", str(call(torch))
    except Exception as error:
        text = re.sub(r"\d+", "N", str(error).replace("funcgrad.", ""))[:36]
        # which of two texts PyTorch has for a worker that ends depends on who sees it first
        return type(error).__name__, re.sub("(DataLoader worker) .*", r"\1", text, flags=re.S)


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_answered_as_by_pytorch(case):
    found, wanted = (answer(torch, CASES[case]) for torch in (ours, theirs))
    if case in ENDING and wanted[0] in ("FileNotFoundError", "ConnectionResetError", "EOFError"):
        # its last rows lay in the memory of the worker, and were asked for before it was missed
        wanted = "RuntimeError", "DataLoader worker"
    assert found == wanted
