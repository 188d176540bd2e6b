"""What a training gets without any setting: its steps run Numba's functions where that pays."""

import os
import subprocess
import sys

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.kernels import choice, explain, load
from funcgrad.kernels.choice import entries
from funcgrad.torch import optim

OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.1),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, maximize=True),
    "adam": lambda p: optim.Adam(p, lr=0.1),
    "amsgrad": lambda p: optim.AdamW(p, lr=0.1, amsgrad=True),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.1),
    "rmsprop_centered": lambda p: optim.RMSprop(p, lr=0.1, centered=True),
    "rmsprop_momentum": lambda p: optim.RMSprop(p, lr=0.1, momentum=0.5),
    "rmsprop_centered_momentum": lambda p: optim.RMSprop(p, lr=0.1, momentum=0.5, centered=True),
}


def calls():
    return sum(e.calls for e in entries.values() if e.name.endswith("_update"))


def trained(name, shapes, steps, kernels="always"):
    """The parameters after some steps, and whether kernels ran."""
    rng = np.random.default_rng(4)
    params = [torch.tensor(rng.normal(size=s).astype(np.float32)) for s in shapes]
    optimizer = OPTIMIZERS[name]([p.requires_grad_() for p in params])
    before = calls()
    fg.config.kernels = kernels
    try:
        for _ in range(steps):
            for p in params:
                p.grad = torch.tensor(rng.normal(size=p.shape).astype(np.float32))
            optimizer.step()
    finally:
        fg.config.kernels = True
    return [p.detach().numpy() for p in params], calls() - before


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_large_step_runs_functions_of_numba(name):
    import numba

    shapes = [(1000, 1000), (), (7,)]
    found, ran = trained(name, shapes, 3)
    assert ran >= 6, explain()
    entry = next(e for e in entries.values() if e.name == f"{name}_update" and e.calls)
    assert isinstance(load.dispatcher(entry.name), numba.core.dispatcher.Dispatcher)
    expected, ran = trained(name, shapes, 3, kernels=False)
    assert not ran
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_small_parameters_count_together(monkeypatch):
    monkeypatch.setattr(choice, "entries", {})
    trained("sgd", [(4, 10)] * 20, 1)
    assert not any(e.calls for e in choice.entries.values())  # too few to ask for the kernel
    trained("sgd", [(40, 1000)] * 20, 1)
    (entry,) = choice.entries.values()
    assert entry.calls == 20
    trained("sgd", [(4, 10)] * 20, 1)
    assert entry.calls == 40  # it is there now, and has the same bits


def test_a_short_training_does_not_wait_for_numba(tmp_path):
    code = """
import sys, funcgrad.torch as torch
x = torch.ones(1000, requires_grad=True)
optimizer = torch.optim.Adam([x])
for _ in range(300):
    optimizer.zero_grad()
    (x * x).sum().backward()
    optimizer.step()
print("numba" in sys.modules)
"""
    environment = os.environ | {"FUNCGRAD_CACHE_DIR": str(tmp_path)}
    out = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "False"
