"""Training steps that run as programs: optimizers, rates and what else goes in and out."""

from __future__ import annotations

from typing import Any

import pytest

import funcgrad.torch as torch
from funcgrad.torch import optim
from funcgrad.torch.nn import functional as F

from .compiled_steps import check, network, training

OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "adam with decay": lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1),
    "amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True, maximize=True),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.001, momentum=0.5, centered=True),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.01, lr_decay=0.1),
    "adadelta": lambda p: optim.Adadelta(p, lr=0.5, eps=1e-3, weight_decay=0.01),
    "adamax": lambda p: optim.Adamax(p, lr=0.01, maximize=True),
    "nadam": lambda p: optim.NAdam(p, lr=0.01, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda p: optim.RAdam(p, lr=0.01, weight_decay=0.1),
    "asgd": lambda p: optim.ASGD(p, lr=0.1, lambd=0.01, t0=8),
    "rprop": lambda p: optim.Rprop(p, lr=0.001),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training(name: str) -> None:
    compiled = check(training(OPTIMIZERS[name]))
    assert compiled.calls >= 19, compiled.report()


def test_dropout_draws_what_eager_code_draws() -> None:
    compiled = check(training(OPTIMIZERS["adam"], dropout=0.4))
    assert compiled.calls >= 19, compiled.report()


def test_random_numbers_in_a_step() -> None:
    def build(wrap: Any) -> Any:
        w = torch.ones(6, requires_grad=True)
        source = torch.Generator().manual_seed(1)

        @wrap
        def step(x: Any, y: Any) -> Any:
            noise = torch.randn(6) + torch.rand(6, generator=source) + torch.randint(0, 9, (6,))
            (w * noise * x).sum().backward()
            return torch.randn_like(x), torch.bernoulli(x, 0.3), torch.zeros(3).uniform_(1, 2)

        return lambda: [w.grad, torch.rand(2, generator=source)], step

    assert check(build).calls == 20


def test_accumulation_and_two_optimizers() -> None:
    def build(wrap: Any) -> Any:
        one, two = network(), network()
        first, second = optim.Adam(one.parameters(), 0.01), optim.SGD(two.parameters(), 0.1)

        @wrap
        def step(x: Any, y: Any, number: int) -> Any:
            loss = (one(x) - two(x).detach()).square().mean() / 2
            loss.backward()
            other = F.cross_entropy(two(x), y)
            other.backward()
            if number % 2:
                first.step()
                second.step()
                one.zero_grad(set_to_none=False)
                second.zero_grad()
            return {"loss": loss.detach(), "all": [other]}

        count = iter(range(100))
        grads = [*one.parameters(), *two.parameters()]
        return (
            lambda: [one.state_dict(), two.state_dict(), [p.grad for p in grads]],
            lambda x, y: step(x, y, next(count) % 2),
        )

    compiled = check(build)
    assert compiled.calls >= 16, compiled.report()


def test_learning_rates_are_inputs() -> None:
    def build(wrap: Any) -> Any:
        model = network()
        optimizer = optim.Adam(model.parameters(), lr=0.05)
        schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
        inner = training(lambda _: optimizer)(wrap)[1]  # of another model: no gradients, no steps

        @wrap
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        def whole(x: Any, y: Any) -> Any:
            out = step(x, y)
            schedule.step()
            return out

        assert inner is not None
        return lambda: [list(model.parameters())], whole

    found: list[Any] = []

    def keep(wrap: Any) -> Any:
        def also(f: Any) -> Any:
            found.append(wrap(f))
            return found[-1]

        return build(also)

    check(keep)
    assert found[-1].calls >= 19
    assert len(found[-1].programs) <= 3, found[-1].report()


def test_other_settings_trace_anew() -> None:
    def build(wrap: Any) -> Any:
        model = network()
        optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
        step = training(lambda _: optimizer)
        del step

        @wrap
        def run(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        count = iter(range(100))

        def whole(x: Any, y: Any) -> Any:
            if next(count) == 10:
                optimizer.param_groups[0]["momentum"] = 0.9
            return run(x, y)

        return lambda: [list(model.parameters())], whole

    assert check(build).calls >= 19
