"""`funcgrad.torch` against PyTorch in eager mode: the same program with another import line.

A program makes its tensors once and returns the call that is timed: forward and backward. In each
round both libraries run it, in changing order and in processes of their own; the ratio is the
median of those of the rounds, and below 1 where funcgrad is faster. Both have all cores.
"""

from __future__ import annotations

import gc
import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.facade_models import block, compiled_step, epoch, lenet, lstm
from benchmarks.peers import Peer
from benchmarks.rounds import Call
from benchmarks.rounds import race as rounds

__all__ = ["PROBES"]

OURS, THEIRS = "funcgrad.torch", "torch"
Found = tuple[dict[str, float], dict[str, str]]
TOLERANCE = 1e-4
THREADS = 2
WARM = 2.0  # seconds: kernels are loaded once NumPy has taken as long as that takes


@dataclass(frozen=True)
class Program:
    """What is timed: `make` takes the library; a call returns a tensor that both must agree on."""

    title: str
    make: Callable[[Any], Call]
    operations: int = 1
    target: float = 1.0  # the ratio that is aimed at


# --------------------------------------------------------------------------------- programs


def chain(size: int, torch: Any) -> Call:
    """25 times four operations on a vector, and their gradient."""
    x = torch.linspace(0.1, 1.0, size).requires_grad_()

    def call() -> Any:
        y = x
        for _ in range(25):
            y = torch.sin(y * x) + y
            y = y * x
        x.grad = None
        y.sum().backward()
        return x.grad

    return call


def elementwise(size: int, torch: Any) -> Call:
    """A chain of elementwise operations on a large vector."""
    x = torch.linspace(0.1, 1.0, size).requires_grad_()

    def call() -> Any:
        x.grad = None
        y = torch.exp(-x * x) * torch.tanh(x) + torch.sin(x) / (1 + x)
        y.sum().backward()
        return x.grad

    return call


def network(torch: Any, batch: int = 128) -> tuple[Any, Any, Any]:
    """A network of three layers, and a batch."""
    torch.set_num_threads(THREADS)
    nn = torch.nn
    layers = [nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)]
    model = nn.Sequential(*layers)
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0, 0.1, tuple(p.shape)).astype(np.float32)))
    images = torch.from_numpy(rng.random((batch, 64), np.float32))
    return model, images, torch.from_numpy(rng.integers(0, 10, batch))


def gradient(batch: int, torch: Any) -> Call:
    """The loss of the network and its gradient, without an optimizer."""
    model, images, labels = network(torch, batch)

    def call() -> Any:
        model.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        return loss.detach()

    return call


def training(optimizer: str, torch: Any, batch: int = 128) -> Call:
    """One step: forward, backward, and the optimizer."""
    model, images, labels = network(torch, batch)
    adapt = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)

    def call() -> Any:
        adapt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        adapt.step()
        return loss.detach()

    return call


def compiled(torch: Any) -> Call:
    """The same step, as each library's `compile` runs it."""
    model, images, labels = network(torch)
    adapt = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(images: Any, labels: Any) -> Any:
        adapt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        adapt.step()
        return loss.detach()

    run = torch.compile(step)
    return lambda: run(images, labels)


def compiled_against_eager(torch: Any) -> Call:
    """A compiled step here, an eager one in PyTorch."""
    return compiled(torch) if torch.__name__ == OURS else training("Adam", torch)


def forward(torch: Any) -> Call:
    """The network alone, without gradients."""
    model, images, _ = network(torch)

    def call() -> Any:
        with torch.no_grad():
            return model(images)

    return call


def convolutions(torch: Any) -> Call:
    """Two layers of 3x3 filters over eight images of 32x32 with three channels."""
    return convolution_step(torch)[0]


def compiled_convolutions(torch: Any) -> Call:
    """The same as each library's `compile` runs it."""
    step, weight = convolution_step(torch)
    run = torch.compile(step)

    def call() -> Any:
        run()
        return weight.grad

    return call


def convolution_step(torch: Any) -> tuple[Call, Any]:
    """The value of two layers of filters and its gradients, and the first filters."""
    torch.set_num_threads(THREADS)
    nn = torch.nn
    layers = [nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1)]
    model = nn.Sequential(*layers)
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0, 0.1, tuple(p.shape)).astype(np.float32)))
    images = torch.from_numpy(rng.random((8, 3, 32, 32), np.float32)).requires_grad_()

    def call() -> Any:
        model.zero_grad()
        images.grad = None
        model(images).square().mean().backward()
        return layers[0].weight.grad

    return call, layers[0].weight


PROGRAMS = {
    "chain-3": Program("100 operations on 3-vectors", partial(chain, 3), 100, 0.5),
    "chain-1000": Program("100 operations on 1000-vectors", partial(chain, 1000), 100, 1.0),
    "chain-1000000": Program(
        "ten operations on 10⁶ elements", partial(elementwise, 10**6), 10, 2.2
    ),
    "mlp-gradient-128": Program(
        "MLP 64-256-128-10, batch 128: value and gradient", partial(gradient, 128), 1, 0.8
    ),
    "mlp-gradient-1024": Program(
        "MLP 64-256-128-10, batch 1024: value and gradient", partial(gradient, 1024), 1, 0.8
    ),
    "mlp-adam": Program("MLP 64-256-128-10, batch 128: Adam", partial(training, "Adam"), 1, 0.5),
    "mlp-adam-1024": Program(
        "MLP 64-256-128-10, batch 1024: Adam", partial(training, "Adam", batch=1024), 1, 0.8
    ),
    "mlp-sgd": Program("MLP 64-256-128-10, batch 128: SGD", partial(training, "SGD"), 1, 1.1),
    "mlp-compiled": Program(
        "MLP 64-256-128-10, batch 128: Adam, compiled here", compiled_against_eager, 1, 0.75
    ),
    "mlp-both-compiled": Program(
        "MLP 64-256-128-10, batch 128: Adam, compiled by both", compiled, 1, 1.0
    ),
    "convolution": Program("two 3x3 convolutions of 8x3x32x32: gradients", convolutions, 1, 1.2),
    "convolution-compiled": Program(
        "two 3x3 convolutions of 8x3x32x32: gradients, compiled by both",
        compiled_convolutions,
        1,
        0.8,
    ),
    "mlp-forward": Program("MLP 64-256-128-10, batch 128: forward", forward, 1, 1.5),
    "lenet": Program("LeNet, batch 64: Adam", lenet, 1, 1.2),
    "lstm": Program("LSTM 128, 50 steps, batch 32: Adam", lstm, 1, 1.0),
    "block": Program("transformer block 64, 128 tokens, batch 16: Adam", block, 1, 1.0),
    "digits-0": Program("an epoch of digits through a loader", partial(epoch, 0), 1, 1.0),
    "digits-2": Program("the same with two workers", partial(epoch, 2), 1, 1.0),
    **{
        f"{name}-compiled": Program(
            f"{name}, compiled by both", partial(compiled_step, name), 1, 0.8
        )
        for name in ("lenet", "lstm", "block")
    },
}


def prepared(name: str, library: str) -> Call:
    """The call that is timed, made where it is timed."""
    return PROGRAMS[name].make(importlib.import_module(library))


def shown(result: Any) -> Any:
    return np.asarray(result.tolist())


def disagreements(answers: dict[str, Any]) -> dict[str, str]:
    one, *others = answers.values()
    agree = all(np.allclose(one, other, TOLERANCE, TOLERANCE) for other in others)
    return {} if agree else {OURS: "differs from torch"}


def race(name: str, peers: list[Peer], repeat: int) -> Found:
    """Microseconds per operation of both, and their ratio."""
    program = PROGRAMS[name]
    present = [OURS] + [THEIRS] * any(peer.name == THEIRS for peer in peers)
    makers = {library: partial(prepared, name, library) for library in present}
    outcome = rounds(makers, shown, repeat, disagreements, WARM)
    timings = outcome.timings
    found = {peer: t.median * 1e6 / program.operations for peer, t in timings.items()}
    if OURS in timings and THEIRS in timings:
        found["ratio"] = timings[OURS].ratio(timings[THEIRS])
        found["target"] = program.target
    return found, outcome.problems


# ------------------------------------------------------------------------ what is not a race


def deep(peers: list[Peer], repeat: int) -> Found:
    """Seconds of 10⁶ operations in a row, forward and backward, and for giving them back."""
    import funcgrad.torch as torch

    x = torch.tensor(0.5, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        begin = perf_counter()
        y = x
        for _ in range(500_000):
            y = torch.sin(y) + x
        middle = perf_counter()
        y.backward()
        end = perf_counter()
        del y
        left = gc.collect()
        freed = perf_counter()
    finally:
        gc.enable()
    problems = {OURS: f"{left} objects were left to the cycle collector"} if left else {}
    return {"forward": middle - begin, "backward": end - middle, "release": freed - end}, problems


def garbage(peers: list[Peer], repeat: int) -> Found:
    """Objects that 100 training steps leave to the cycle collector, and their growth in bytes."""
    import tracemalloc

    import funcgrad.torch as torch

    step = training("Adam", torch)
    step()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(80):  # until recipes are made of the calls that come again
            step()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(100):
            step()
        growth = tracemalloc.get_traced_memory()[0] - before
        left = gc.collect()
    finally:
        tracemalloc.stop()
        gc.enable()
    problems = {OURS: f"{left} objects were left to the cycle collector"} if left else {}
    return {"objects": left, "bytes": growth}, problems


def threads(peers: list[Peer], repeat: int) -> Found:
    """8 threads, 200 backward passes each, into one leaf: what is missing from the sum."""
    import funcgrad.torch as torch

    x = torch.zeros(4, dtype=torch.float64, requires_grad=True)

    def work() -> None:
        for _ in range(200):
            (x * 3).sum().backward()

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    missing = float(np.max(np.abs(np.asarray(x.grad.tolist()) - 8 * 200 * 3)))
    return {"missing": missing}, {OURS: "gradients were lost"} if missing else {}


PROBES: dict[str, tuple[str, str, Callable[[list[Peer], int], Found]]] = {
    **{
        f"facade-{name}": (program.title, "µs", partial(race, name))
        for name, program in PROGRAMS.items()
    },
    "facade-deep": ("1,000,000 operations in a row on a scalar tensor", "s", deep),
    "facade-garbage": ("100 training steps, left to the cycle collector", "", garbage),
    "facade-threads": ("8 threads × 200 backward passes into one leaf", "", threads),
}
