"""Steps that run eagerly and compiled, and what has to agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad.torch as torch
from funcgrad.torch import nn
from funcgrad.torch.nn import functional as F

__all__ = ["arrays", "check", "data", "network", "training"]

TOLERANCE = 3e-5  # float32 over 20 steps that feed back into themselves


def arrays(x: Any) -> list[Any]:
    """The arrays of all tensors in a tree."""
    if isinstance(x, torch.Tensor):
        return [x.detach().numpy().copy()]
    if isinstance(x, dict):
        return [a for k in x for a in arrays(x[k])]
    if isinstance(x, (list, tuple)):
        return [a for item in x for a in arrays(item)]
    return [] if x is None else [np.asarray(x)] if isinstance(x, (int, float)) else []


def network(dropout: float = 0.0) -> Any:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(dropout), nn.Linear(16, 3))


def data(k: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(k)
    return torch.from_numpy(rng.normal(size=(8, 6)).astype(np.float32)), torch.from_numpy(
        rng.integers(0, 3, 8)
    )


def check(build: Callable[[Any], tuple[Any, Callable[..., Any]]], steps: int = 20) -> Any:
    """Run a step eagerly and compiled; states, gradients and results have to agree.

    `build` takes a function that compiles and gives the state to be compared and the step.
    """
    found = []
    compiled = []

    def compiling(f: Any) -> Any:
        compiled.append(torch.compile(f))
        return compiled[-1]

    for wrap in (lambda f: f, compiling):
        state, step = build(wrap)
        torch.manual_seed(3)
        trail = []
        for k in range(steps):
            result = step(*data(k))
            trail.append([*arrays(result), *arrays(state())])
        trail.append(arrays(torch.rand(4)))  # the source of random numbers is where it should be
        found.append(trail)
    for eager, program in zip(*found, strict=True):
        assert len(eager) == len(program)
        for x, y in zip(eager, program, strict=True):
            assert x.dtype == y.dtype and x.shape == y.shape
            np.testing.assert_allclose(y, x, TOLERANCE, TOLERANCE)
    return compiled[0]


def training(
    make: Callable[[Any], Any], dropout: float = 0.0
) -> Callable[[Any], tuple[Any, Callable[..., Any]]]:
    def build(wrap: Any) -> Any:
        model = network(dropout)
        optimizer = make(model.parameters())

        @wrap
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        def state() -> Any:
            grads = [p.grad for p in model.parameters()]
            return [model.state_dict(), optimizer.state_dict()["state"], grads]

        return state, step

    return build
