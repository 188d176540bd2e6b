"""Averages of models against PyTorch's, and within compiled steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad.torch as ours
from funcgrad.torch import optim

from .compiled_steps import check, network

try:
    import torch as theirs
except ImportError:
    theirs = None

KINDS = {
    "swa": lambda u: {},
    "swa avg": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "swa multi": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "ema": lambda u: {"avg_fn": u.get_ema_avg_fn(0.9)},
    "ema multi": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9), "use_buffers": True},
}


def averaged(torch: Any, kind: str) -> list[Any]:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 2)
            self.register_buffer("scale", torch.ones(2))
            self.register_buffer("count", torch.zeros((), dtype=torch.int64))

        def forward(self, x: Any) -> Any:
            return self.layer(x) * self.scale

    import torch.optim.swa_utils as their_utils

    utils = their_utils if torch is theirs else ours.optim.swa_utils
    model = Model()
    found = utils.AveragedModel(model, **KINDS[kind](utils))
    rng = np.random.default_rng(0)
    trail = []
    for _ in range(5):
        with torch.no_grad():
            for p in (*model.parameters(), model.scale):
                p.copy_(torch.from_numpy(rng.normal(size=tuple(p.shape)).astype(np.float32)))
            model.count += 4
        found.update_parameters(model)
        state = found.state_dict()
        trail.append([(k, v.detach().numpy().copy()) for k, v in state.items()])
    with pytest.raises(AssertionError, match="Only one of"):
        utils.AveragedModel(model, avg_fn=len, multi_avg_fn=len)
    with pytest.raises(ValueError, match="Invalid decay value"):
        utils.get_ema_avg_fn(1.5)
    return trail


@pytest.mark.peers
@pytest.mark.skipif(theirs is None, reason="needs torch")
@pytest.mark.parametrize("kind", KINDS)
def test_the_averages_are_those_of_pytorch(kind: str) -> None:
    for one, other in zip(averaged(ours, kind), averaged(theirs, kind), strict=True):
        assert [k for k, _ in one] == [k for k, _ in other]
        for (_, x), (_, y) in zip(one, other, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, 1e-6, 1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_an_average_in_a_compiled_step(kind: str) -> None:
    def build(wrap: Any) -> Any:
        model = network(dropout=0.2)
        optimizer = optim.Adam(model.parameters(), lr=0.01)
        found = optim.swa_utils.AveragedModel(model, **KINDS[kind](optim.swa_utils))

        @wrap
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = ours.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            found.update_parameters(model)
            return loss

        return lambda: [model.state_dict(), found.state_dict()], step

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = check(build)
    assert compiled.calls >= 18, compiled.report()
