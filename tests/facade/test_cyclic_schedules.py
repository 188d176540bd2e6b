"""Schedules with cycles, restarts and parts: rates, momenta, states and errors as in PyTorch."""

from __future__ import annotations

import pytest

from .both import same

S = "lr_scheduler"


def optimizer_of(torch, kind="SGD", **settings):
    parts = [torch.zeros(2, requires_grad=True), torch.ones(3, requires_grad=True)]
    if kind == "SGD":
        settings.setdefault("momentum", 0.9)
    return getattr(torch.optim, kind)(
        [{"params": parts[:1]}, {"params": parts[1:], "lr": 0.05}], lr=0.1, **settings
    )


def told(say, optimizer, scheduler, steps=25):
    for _ in range(steps):
        say(
            scheduler.last_epoch if hasattr(scheduler, "last_epoch") else "",
            scheduler.get_last_lr(),
            [(g["lr"], g.get("momentum"), g.get("betas")) for g in optimizer.param_groups],
        )
        optimizer.step()
        scheduler.step()


SCHEDULES = {
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4),
    "cyclic unequal": lambda s, o: s.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], 3, 5),
    "cyclic triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, mode="triangular2"),
    "cyclic exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.97),
    "cyclic own": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, 3, scale_fn=lambda x: 0.5 / x, cycle_momentum=False
    ),
    "cyclic own by steps": lambda s, o: s.CyclicLR(
        o,
        0.01,
        0.1,
        3,
        scale_fn=lambda x: 0.9**x,
        scale_mode="iterations",
        base_momentum=[0.1, 0.2],
    ),
    "one cycle": lambda s, o: s.OneCycleLR(o, 1.0, 30),
    "one cycle linear": lambda s, o: s.OneCycleLR(
        o, [1.0, 2.0], epochs=5, steps_per_epoch=6, anneal_strategy="linear", pct_start=0.25
    ),
    "one cycle of three phases": lambda s, o: s.OneCycleLR(
        o, 1.0, 26, three_phase=True, div_factor=10, final_div_factor=100, cycle_momentum=False
    ),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5),
    "longer restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "sequential": lambda s, o: s.SequentialLR(
        o,
        [s.LinearLR(o, 0.1, total_iters=4), s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.8)],
        [5, 11],
    ),
    "sequential of chained": lambda s, o: s.SequentialLR(
        o,
        [
            s.ChainedScheduler([s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.9)]),
            s.CosineAnnealingLR(o, 10),
        ],
        [6],
    ),
    "sequential at once": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.5, 3), s.StepLR(o, 4)], [0]
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 4), s.ExponentialLR(o, 0.9)]),
}


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_and_momenta(name, kind):
    def program(torch, say):
        optimizer = optimizer_of(torch, kind)
        scheduler = SCHEDULES[name](torch.optim.lr_scheduler, optimizer)
        told(say, optimizer, scheduler)

    same(program)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_state_goes_on(name):
    def program(torch, say):
        first = optimizer_of(torch)
        one = SCHEDULES[name](torch.optim.lr_scheduler, first)
        for _ in range(7):
            first.step()
            one.step()
        second = optimizer_of(torch)
        other = SCHEDULES[name](torch.optim.lr_scheduler, second)
        other.load_state_dict(one.state_dict())
        second.load_state_dict(first.state_dict())
        told(say, second, other, 10)

    same(program)


def rates_in_tensors(torch, say):
    for make in ("cyclic", "restarts", "sequential", "one cycle"):
        w = torch.zeros(2, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=torch.tensor(0.5), momentum=0.9)
        made = SCHEDULES[make](torch.optim.lr_scheduler, optimizer)
        held = optimizer.param_groups[0]["lr"]
        for _ in range(4):
            optimizer.step()
            made.step()
        say(held, made.get_last_lr(), held is optimizer.param_groups[0]["lr"])


def epochs_of_restarts(torch, say):
    for times in (1, 2, 3):
        optimizer = optimizer_of(torch)
        s = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 4, times)
        for epoch in (0.5, 1.25, 3.9, 4, 5.5, 12.5, 30, None, None, 2, None):
            optimizer.step()
            s.step(epoch)
            say(s.last_epoch, s.get_last_lr())
    s.step(-1)


def averaging(torch, say):
    for strategy in ("cos", "linear"):
        for epochs in (0, 1, 4):
            optimizer = optimizer_of(torch)
            s = swa(torch).SWALR(optimizer, [0.01, 0.2], epochs, strategy)
            told(say, optimizer, s, 6)
            say(sorted(s.state_dict()))
    for wrong in ({"anneal_strategy": "no"}, {"anneal_epochs": -1}, {"swa_lr": [1]}):
        try:
            swa(torch).SWALR(optimizer, **{"swa_lr": 0.1, **wrong})
        except ValueError as error:
            say(error)


def swa(torch):
    import importlib

    return importlib.import_module(f"{torch.__name__}.optim.swa_utils")


def batch_norms_anew(torch, say):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Dropout(0.5)
    )
    model.eval()
    batches = [(torch.randn(5, 3), torch.zeros(5)) for _ in range(3)]
    swa(torch).update_bn(batches, model)
    norm = model[1]
    say(norm.running_mean, norm.running_var, norm.num_batches_tracked, norm.momentum)
    say(model.training)
    swa(torch).update_bn([x for x, _ in batches], model, "cpu")
    say(norm.running_mean)


def refusals(torch, say):
    s, o = torch.optim.lr_scheduler, optimizer_of(torch)
    plain = torch.optim.Adagrad([torch.zeros(1, requires_grad=True)])
    other = optimizer_of(torch)
    for make in (
        lambda: s.CyclicLR(o, [0.1], 0.2),
        lambda: s.CyclicLR(o, 0.1, 0.2, mode="no"),
        lambda: s.CyclicLR(plain, 0.1, 0.2),
        lambda: s.CyclicLR(3, 0.1, 0.2),
        lambda: s.OneCycleLR(3, 0.1, 5),
        lambda: s.OneCycleLR(o, 0.1),
        lambda: s.OneCycleLR(o, 0.1, 0),
        lambda: s.OneCycleLR(o, 0.1, epochs=1.5, steps_per_epoch=2),
        lambda: s.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=-2),
        lambda: s.OneCycleLR(o, 0.1, 5, pct_start=1.5),
        lambda: s.OneCycleLR(o, 0.1, 5, pct_start=1),
        lambda: s.OneCycleLR(o, 0.1, 5, anneal_strategy="no"),
        lambda: s.OneCycleLR(plain, 0.1, 5),
        lambda: s.CosineAnnealingWarmRestarts(o, 0),
        lambda: s.CosineAnnealingWarmRestarts(o, 2, 0),
        lambda: s.CosineAnnealingWarmRestarts(o, 2, 1, "a"),
        lambda: s.SequentialLR(o, [], []),
        lambda: s.SequentialLR(o, [3], []),
        lambda: s.SequentialLR(o, [s.StepLR(o, 1)], [1]),
        lambda: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
        lambda: s.ChainedScheduler([]),
        lambda: s.ChainedScheduler([s.StepLR(o, 1), s.ReduceLROnPlateau(o)]),
    ):
        try:
            make()
        except (ValueError, TypeError) as error:
            say(type(error).__name__, error)
    try:
        s.ChainedScheduler([s.StepLR(o, 1), s.StepLR(other, 1)])
    except ValueError as error:
        say(str(error).split(" has ")[0])
    one = s.OneCycleLR(o, 0.1, 3)
    for _ in range(5):
        o.step()
        one.step()


PROGRAMS = [rates_in_tensors, epochs_of_restarts, averaging, batch_norms_anew, refusals]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_says_the_same(program):
    same(program)
