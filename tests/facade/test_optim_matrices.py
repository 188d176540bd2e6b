"""Adafactor and Muon beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs

SETTINGS = [
    {}, {"lr": 0.3, "weight_decay": 0.1}, {"maximize": True}, {"eps": (1e-8, 1e-2), "d": 2.0},
    {"beta2_decay": -0.5},
]  # fmt: skip


def trained(torch, settings, dtype):
    rng = np.random.default_rng(0)
    shapes = ((4,), (3, 4), (2, 3, 4), ())
    params = [torch.tensor(rng.normal(size=s).astype(dtype), requires_grad=True) for s in shapes]
    optimizer = torch.optim.Adafactor(params, **settings)
    for _ in range(5):
        optimizer.zero_grad()
        sum((p.sin() * p * (k + 1)).sum() for k, p in enumerate(params)).backward()
        optimizer.step()
    state = [v for p in params for v in optimizer.state[p].values()]
    return [v.detach().numpy() for v in (*params, *state)], [
        list(optimizer.state[p]) for p in params
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_adafactor_makes_pytorchs_steps(settings, dtype):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    (expected, keys), (got, own) = (trained(t, settings, dtype) for t in (theirs, ours))
    assert own == keys
    for e, g in zip(expected, got, strict=True):
        assert e.dtype == g.dtype
        assert e.shape == g.shape
        close = 1e-4 if dtype == np.float32 else 1e-6
        np.testing.assert_allclose(g, e, rtol=close, atol=close)


@pytest.mark.parametrize("shape", [(3, 4), (5, 2)])
@pytest.mark.parametrize(
    "settings",
    [{}, {"nesterov": False}, {"adjust_lr_fn": "match_rms_adamw"}, {"weight_decay": 0.0}],
    ids=str,
)
def test_muon_makes_pytorchs_steps_but_for_bfloat16(settings, shape):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    found = []
    for torch in (theirs, ours):
        p = torch.tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)
        optimizer = torch.optim.Muon([p], lr=0.1, **settings)
        for _ in range(2):
            optimizer.zero_grad()
            (p.sin() * p).sum().backward()
            optimizer.step()
        found.append(p.detach().numpy())
    np.testing.assert_allclose(found[1], found[0], atol=0.02)


def settings_refused(torch, say):
    p, q = torch.ones(2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    a, m = torch.optim.Adafactor, torch.optim.Muon
    say(a([p]), m([q]))
    for call in (
        lambda: a([p], lr=-1), lambda: a([p], beta2_decay=1.0), lambda: a([p], eps=(-1, 1)),
        lambda: a([p], eps=(None, -1)), lambda: a([p], d=0.5), lambda: a([p], weight_decay=-1),
        lambda: m([p]), lambda: m([q], lr=-1), lambda: m([q], momentum=-1),
        lambda: m([q], weight_decay=-1), lambda: m([q], adjust_lr_fn="more"),
        lambda: a([p], lr=torch.ones(2)),
    ):  # fmt: skip
        try:
            call()
        except ValueError as error:
            say(error)


def test_settings():
    same(settings_refused)
