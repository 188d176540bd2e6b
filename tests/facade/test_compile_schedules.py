"""Learning rates in compiled steps: schedules inside, rates that change, and what is reported."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import funcgrad.torch as torch
from funcgrad.torch import nn, optim
from funcgrad.torch.nn import functional as F
from funcgrad.torch.optim import lr_scheduler as s

from .compiled_steps import check, network

STEPS = 50


class Halving(s.LRScheduler):
    """A schedule of the user's own, with state."""

    def __init__(self, optimizer: Any) -> None:
        self.seen: list[int] = []
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        self.seen.append(self.last_epoch)
        return [group["lr"] * (0.5 if self.last_epoch % 7 == 6 else 1) for group in self.groups()]

    def groups(self) -> Any:
        return self.optimizer.param_groups


SCHEDULES = {
    "StepLR": lambda o: [s.StepLR(o, 5, 0.7)],
    "MultiStepLR": lambda o: [s.MultiStepLR(o, [3, 9, 20], 0.5)],
    "ExponentialLR": lambda o: [s.ExponentialLR(o, 0.95)],
    "CosineAnnealingLR": lambda o: [s.CosineAnnealingLR(o, 20)],
    "LinearLR": lambda o: [s.LinearLR(o, 0.1, total_iters=10)],
    "PolynomialLR": lambda o: [s.PolynomialLR(o, 60, 2.0)],
    "LambdaLR": lambda o: [s.LambdaLR(o, lambda e: 1 / math.sqrt(1 + e))],
    "MultiplicativeLR": lambda o: [s.MultiplicativeLR(o, lambda e: 0.9 if e % 3 else 1.05)],
    "chained": lambda o: [s.ConstantLR(o, 0.5, 4), s.ExponentialLR(o, 0.9)],
    "CyclicLR": lambda o: [s.CyclicLR(o, 0.01, 0.2, 5, cycle_momentum=False)],
    "OneCycleLR": lambda o: [s.OneCycleLR(o, 0.2, 60, cycle_momentum=False)],
    "restarts": lambda o: [s.CosineAnnealingWarmRestarts(o, 7, 2)],
    "SequentialLR": lambda o: [
        s.SequentialLR(o, [s.LinearLR(o, 0.1), s.ExponentialLR(o, 0.9)], [6])
    ],
    "own": lambda o: [Halving(o)],
}


def scheduled(
    make: Callable[[Any], Any], schedules: Callable[[Any], Any], inner: int = 1
) -> Callable[[Any], Any]:
    """Steps with the schedule inside, `inner` of them in a call; rates are part of the state."""

    def build(wrap: Any) -> Any:
        model = network()
        layers: Any = model
        optimizer = make([{"params": layers[0].parameters()},
                          {"params": layers[3].parameters(), "lr": 0.02}])  # fmt: skip
        all_ = schedules(optimizer)

        @wrap
        def step(x: Any, y: Any) -> Any:
            for _ in range(inner):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                for each in all_:
                    each.step()
            return loss, all_[-1].get_last_lr()

        def state() -> Any:
            rates = [float(group["lr"]) for group in optimizer.param_groups]
            return [list(model.parameters()), rates, [each.last_epoch for each in all_],
                    [each.get_last_lr() for each in all_]]  # fmt: skip

        return state, step

    return build


def few_traces(compiled: Any, calls: int) -> None:
    assert compiled.calls >= calls, compiled.report()
    assert len(compiled.programs) <= 3, compiled.report()


@pytest.mark.costly
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_inside(name: str) -> None:
    few_traces(check(scheduled(lambda p: optim.SGD(p, lr=0.1), SCHEDULES[name]), STEPS), STEPS - 2)


@pytest.mark.parametrize("name", ["StepLR", "LambdaLR", "chained"])
def test_several_steps_of_a_schedule_in_one_call(name: str) -> None:
    build = scheduled(lambda p: optim.Adam(p, lr=0.01), SCHEDULES[name], inner=3)
    few_traces(check(build, 20), 18)


@pytest.mark.costly
@pytest.mark.parametrize(
    "kind",
    ["SGD", "ASGD", "Rprop", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad"],
)
def test_every_optimizer_with_a_schedule(kind: str) -> None:
    make = lambda p: getattr(optim, kind)(p, lr=0.005)
    few_traces(check(scheduled(make, SCHEDULES["CosineAnnealingLR"]), STEPS), STEPS - 2)


def weights(change: Callable[[Any, Any], Any], lr: Any = 0.5) -> Callable[[Any], Any]:
    """A step in which `change` gets a weight and its optimizer."""

    def build(wrap: Any) -> Any:
        w = torch.ones(6, requires_grad=True)
        optimizer = optim.SGD([w], lr=lr)

        @wrap
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            (w * x).mean().backward()
            return change(w, optimizer.param_groups[0])

        def stepped(x: Any, y: Any) -> Any:
            out = step(x, y)
            optimizer.step()
            return out

        return lambda: [w, float(optimizer.param_groups[0]["lr"])], stepped

    return build


def multiplied(w: Any, group: Any) -> None:
    group["lr"] *= 0.9


def computed(w: Any, group: Any) -> Any:
    before = rate = group["lr"]
    rate *= 0.5  # a number: `before` stays as it is
    group["lr"] = (before + rate) / 2 + 0.01
    return before, {"now": group["lr"]}


def constant(w: Any, group: Any) -> None:
    group["lr"] = 0.25


def by_hand(w: Any, group: Any) -> Any:
    with torch.no_grad():
        w -= group["lr"] * w.grad
    group["lr"] = 1 / (1 / group["lr"] + 0.1)
    return group["lr"]


@pytest.mark.parametrize("change", [multiplied, computed, constant, by_hand])
def test_a_step_sets_the_rate(change: Callable[[Any, Any], Any]) -> None:
    few_traces(check(weights(change)), 18)


def test_the_rate_is_a_tensor() -> None:
    def build(wrap: Any) -> Any:
        model = network()
        rate = torch.tensor(0.05)
        optimizer = optim.Adam(model.parameters(), lr=rate)

        @wrap
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            rate.mul_(0.9)

        return lambda: [list(model.parameters()), rate], step

    few_traces(check(build), 18)


@pytest.mark.parametrize("lr", [1, 0.5])
def test_rates_from_outside_need_no_trace(lr: Any) -> None:
    def build(wrap: Any) -> Any:
        model = network()
        optimizer = optim.SGD(model.parameters(), lr=lr)
        count = iter(range(100))

        @wrap
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

        def whole(x: Any, y: Any) -> Any:
            optimizer.param_groups[0]["lr"] = lr / (1 + next(count))
            return step(x, y)

        return lambda: list(model.parameters()), whole

    few_traces(check(build), 18)


# ----------------------------------------------------------------- what runs eagerly, and why


def reported(use: Callable[[Any, Any], Any], make: Callable[[Any], Any], calls: int = 6) -> str:
    """The report of a step that uses a schedule so; it has to do what eager code does."""
    found, text = [], ""
    for compiled in (False, True):
        w = torch.ones(3, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.5)
        schedule = make(optimizer)

        def step(x: Any, w: Any = w, optimizer: Any = optimizer, schedule: Any = schedule) -> Any:
            optimizer.zero_grad()
            loss = (w * x).sum()
            loss.backward()
            optimizer.step()
            return use(schedule, loss)

        run: Any = torch.compile(step) if compiled else step
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = [repr(run(torch.ones(3) * k)) for k in range(calls)]
        found.append((out, w.tolist(), optimizer.param_groups[0]["lr"], schedule.last_epoch))
        text = run.report() if compiled else text
    assert found[0] == found[1]
    return text


def looks(schedule: Any, loss: Any) -> Any:
    schedule.step()
    return schedule.last_epoch


def asks_first(schedule: Any, loss: Any) -> Any:
    rates = schedule.get_last_lr()
    schedule.step()
    return rates


def sets(schedule: Any, loss: Any) -> Any:
    schedule.last_epoch += 2
    schedule.step()


def sets_rate_first(schedule: Any, loss: Any) -> Any:
    schedule.optimizer.param_groups[0]["lr"] = 0.3
    schedule.step()


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (looks, "asks a schedule of learning rates for last_epoch"),
        (asks_first, "asks a schedule for its rates before it steps"),
        (sets, "asks a schedule of learning rates for last_epoch"),
        (sets_rate_first, "sets a learning rate and then steps its schedule"),
        (lambda schedule, loss: schedule.step(5), "gives a schedule of learning rates the epoch"),
    ],
)
def test_other_uses_of_a_schedule_run_eagerly(use: Callable[..., Any], reason: str) -> None:
    assert reason in reported(use, lambda o: s.StepLR(o, 2, 0.5))


def test_a_plateau_depends_on_the_loss() -> None:
    text = reported(lambda schedule, loss: schedule.step(loss), s.ReduceLROnPlateau)
    assert "0 calls in 0 compiled programs" in text


def test_a_schedule_that_looks_at_tensors_runs_eagerly() -> None:
    scale = torch.tensor(0.5)
    text = reported(lambda schedule, loss: schedule.step(),
                    lambda o: s.LambdaLR(o, lambda e: float(scale)))  # fmt: skip
    assert "a schedule of learning rates looks at what the call changes" in text


def test_a_schedule_that_raises_leaves_what_eager_code_leaves() -> None:
    def failing(epoch: int) -> float:
        if epoch == 4:
            raise ArithmeticError("no more")
        return 0.9**epoch

    found = []
    for compiled in (False, True):
        w = torch.ones(2, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.5)
        schedule = s.LambdaLR(optimizer, failing)

        def step(w: Any = w, optimizer: Any = optimizer, schedule: Any = schedule) -> Any:
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
            schedule.step()
            optimizer.step()

        run: Any = torch.compile(step) if compiled else step
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(3):
                run()
            with pytest.raises(ArithmeticError, match="no more"):
                run()
        assert not compiled or run.calls == 2
        found.append((w.tolist(), optimizer.param_groups[0]["lr"], schedule.last_epoch))
    assert found[0] == found[1]


def test_two_models_share_a_program() -> None:
    def made() -> tuple[Any, ...]:
        model = nn.Linear(6, 3)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        return model, optimizer, s.StepLR(optimizer, 2, 0.5)

    @torch.compile
    def step(model: Any, optimizer: Any, schedule: Any, x: Any) -> Any:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        schedule.step()

    both = made(), made()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(6):
            for each in both:
                step(*each, torch.ones(2, 6) * (k + 1))
    assert [each[2].last_epoch for each in both] == [6, 6]
    assert [each[1].param_groups[0]["lr"] for each in both] == [0.1 * 0.5**3] * 2
    assert step.calls >= 10 and len(step.programs) <= 2, step.report()
