"""What real training runs: a LeNet, an LSTM, a transformer's block, epochs through a loader.

Each takes the library and returns the call that is timed, one step (or epoch) with its optimizer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.rounds import Call

__all__ = ["block", "compiled_step", "epoch", "lenet", "lstm"]

THREADS = 2
Step = tuple[Any, Callable[[], Any]]  # a model, and what a step computes


def _filled(torch: Any, model: Any) -> Any:
    """The model with weights that both libraries have."""
    torch.set_num_threads(THREADS)
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for p in model.parameters():
            bound = 1 / math.sqrt(p.shape[-1])
            p.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(p.shape)).astype("f4")))
    return model


def _trained(torch: Any, model: Any, loss: Callable[[], Any]) -> Call:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def call() -> Any:
        optimizer.zero_grad()
        found = loss()
        found.backward()
        optimizer.step()
        return found.detach()

    return call


def _lenet(torch: Any) -> Step:
    nn = torch.nn
    model = _filled(
        torch,
        nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5),
            nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(),
            nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
        ),
    )  # fmt: skip
    rng = np.random.default_rng(1)
    images = torch.from_numpy(rng.random((64, 1, 28, 28), np.float32))
    labels = torch.from_numpy(rng.integers(0, 10, 64))
    return model, lambda: nn.functional.cross_entropy(model(images), labels)


def _lstm(torch: Any) -> Step:
    model = _filled(torch, torch.nn.LSTM(64, 128))
    x = torch.from_numpy(np.random.default_rng(1).random((50, 32, 64), np.float32))
    return model, lambda: model(x)[0].square().mean()


def _block(torch: Any) -> Step:
    layer = torch.nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True)
    model = _filled(torch, layer)
    x = torch.from_numpy(np.random.default_rng(1).random((16, 128, 64), np.float32))
    return model, lambda: model(x).square().mean()


def lenet(torch: Any) -> Call:
    """LeNet, batch 64: forward, backward and Adam."""
    return _trained(torch, *_lenet(torch))


def lstm(torch: Any) -> Call:
    """An LSTM of 128 states over 50 steps, batch 32: forward, backward and Adam."""
    return _trained(torch, *_lstm(torch))


def block(torch: Any) -> Call:
    """A block of a transformer, 64 features, 4 heads, 128 tokens, batch 16, and Adam."""
    return _trained(torch, *_block(torch))


STEPS = {"lenet": _lenet, "lstm": _lstm, "block": _block}


def compiled_step(which: str, torch: Any) -> Call:
    """A step as each library's `compile` runs it."""
    run = torch.compile(_trained(torch, *STEPS[which](torch)))
    return lambda: run()


def epoch(workers: int, torch: Any) -> Call:
    """An epoch of 1,797 digits of 8 × 8, batch 64, through a `DataLoader`."""
    nn, data = torch.nn, torch.utils.data
    layers = [nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)]
    model = _filled(torch, nn.Sequential(*layers))
    rng = np.random.default_rng(1)
    images = torch.from_numpy(rng.random((1797, 64), np.float32))
    labels = torch.from_numpy(rng.integers(0, 10, 1797))
    loader = data.DataLoader(
        data.TensorDataset(images, labels), 64, num_workers=workers,
        persistent_workers=bool(workers),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def call() -> Any:
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        return loss.detach()

    return call
