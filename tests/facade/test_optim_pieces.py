"""Steps on large parameters, taken piece by piece in several threads, are those on small ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad.torch as torch
from funcgrad.kernels import threads
from funcgrad.torch import optim

MAKERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.01),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, maximize=True),
    "nesterov": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1),
    "amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True, maximize=True),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.001, momentum=0.5, centered=True),
    "rmsprop plain": lambda p: optim.RMSprop(p, lr=0.001, weight_decay=0.1),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.01, lr_decay=0.1),
    "adadelta": lambda p: optim.Adadelta(p, lr=0.5, eps=1e-3, weight_decay=0.01),
    "adamax": lambda p: optim.Adamax(p, lr=0.01, maximize=True),
    "nadam": lambda p: optim.NAdam(p, lr=0.01, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda p: optim.RAdam(p, lr=0.01, weight_decay=0.1),
    "asgd": lambda p: optim.ASGD(p, lr=0.1, lambd=0.01, t0=8),
    "rprop": lambda p: optim.Rprop(p, lr=0.001),
}
ROWS = 5


def steps(name: str, whole: bool) -> list[Any]:
    """The parameters after three steps, as one tensor or as one for each row."""
    rng = np.random.default_rng(0)
    shape = (ROWS, threads.PARALLEL // ROWS + 7)
    start = rng.normal(size=shape).astype(np.float32)
    gradients = [rng.normal(size=shape).astype(np.float32) for _ in range(3)]
    cut = (lambda x: [x]) if whole else list
    params = [torch.from_numpy(np.array(x)).requires_grad_() for x in cut(start)]
    optimizer = MAKERS[name](params)
    for g in gradients:
        for p, part in zip(params, cut(g), strict=True):
            p.grad = torch.from_numpy(np.array(part))
        optimizer.step()
    kept = [s[k].numpy() for s in optimizer.state.values() for k in s if k != "step"]
    versions = [p._version for p in params]
    return [[p.detach().numpy() for p in params], kept, versions[0]]


@pytest.mark.parametrize("name", MAKERS)
def test_pieces_give_the_same_bits(name: str) -> None:
    whole, parts = steps(name, True), steps(name, False)
    np.testing.assert_array_equal(whole[0][0], np.stack(parts[0]))
    count = len(whole[1])
    for k in range(count):
        np.testing.assert_array_equal(whole[1][k], np.stack(parts[1][k::count]))
    assert whole[2] == parts[2]
