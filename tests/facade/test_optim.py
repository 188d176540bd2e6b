"""Optimisers and schedules against PyTorch's: 100 steps, state, printed form and refusals."""

import collections
import copy
import warnings

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same

try:
    import torch as theirs
except ImportError:
    theirs = None

pytestmark = [pytest.mark.peers, pytest.mark.skipif(theirs is None, reason="needs torch")]
PROGRAMS = {}
NAMES = (
    *("SGD", "ASGD", "Rprop", "Adam", "AdamW", "Adamax", "NAdam", "RAdam"),
    *("RMSprop", "Adagrad", "Adadelta"),
)


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def refused(say, name, call):
    try:
        say(name, call())
    except Exception as error:
        say(name, type(error).__name__, error)


def short(t):
    return [float(f"{v:.5g}") for v in t.detach().reshape(-1).tolist()]


# ---------------------------------------------------------------------------------- L-BFGS

LINE_SEARCHES = [
    {"max_iter": 5, "line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe"},
    {"max_iter": 4, "history_size": 3, "line_search_fn": "strong_wolfe"},
    {"lr": 0.5, "max_iter": 8, "max_eval": 9, "line_search_fn": "strong_wolfe"},
    {"lr": 0.001, "max_iter": 10},
    {"lr": 0.0005, "tolerance_change": 1e-3},
    {"max_iter": 30, "line_search_fn": "strong_wolfe", "tolerance_grad": 1.0},
]


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def minimised(torch, settings, steps=6, start=None):
    x = torch.tensor([-1.2, 1.0, 0.5, -0.3], dtype=torch.float64, requires_grad=True)
    y = torch.tensor(2 - 1j, dtype=torch.complex128, requires_grad=True)
    unused = torch.ones(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([x, y, unused], **settings)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(x) + (y - x[0]).abs().pow(2)
        loss.backward()
        return loss

    curve = []
    for _ in range(steps):
        loss = optimizer.step(closure).item()
        parts = torch.view_as_real(y.detach()).tolist()
        curve.append([loss, *x.detach().tolist(), *parts])
    state = optimizer.state_dict()["state"][0]
    return np.array(curve), (x._version, state["func_evals"], state["n_iter"]), optimizer, closure


@pytest.mark.parametrize("settings", LINE_SEARCHES, ids=lambda s: "-".join(map(str, s)))
def test_lbfgs_takes_the_same_points(settings):
    one, counts, *_ = minimised(ours, settings)
    other, their_counts, *_ = minimised(theirs, settings)
    assert counts == their_counts
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_lbfgs_goes_on_from_a_state_of_pytorch():
    import io

    settings = {"max_iter": 3, "line_search_fn": "strong_wolfe"}
    _, _, theirs_optimizer, their_closure = minimised(theirs, settings, 2)
    data = io.BytesIO()
    theirs.save(theirs_optimizer.state_dict(), data)
    data.seek(0)
    _, _, optimizer, closure = minimised(ours, settings, 2)
    optimizer.load_state_dict(ours.load(data))
    optimizer.step(closure)
    theirs_optimizer.step(their_closure)
    for p, q in zip(
        optimizer.param_groups[0]["params"], theirs_optimizer.param_groups[0]["params"], strict=True
    ):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-9)


@program
def lbfgs_refusals(torch, say):
    x = torch.ones(1, requires_grad=True)
    say(torch.optim.LBFGS([x], lr=0.5))
    refused(say, "groups", lambda: torch.optim.LBFGS([{"params": [x]}, {"params": []}]))
    refused(say, "lr", lambda: torch.optim.LBFGS([x], lr=-1.0))
    optimizer = torch.optim.LBFGS([x], line_search_fn="armijo")

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    refused(say, "line search", lambda: optimizer.step(closure))
    try:
        optimizer.step()
    except TypeError as error:
        say("'closure'" in str(error))


# ------------------------------------------------------------------------- the base class


@program
def printed(torch, say):
    x = torch.ones(2, requires_grad=True)
    for name in NAMES:
        optimizer = getattr(torch.optim, name)([x])
        say(optimizer, optimizer.defaults)
    y = torch.ones(1, requires_grad=True)
    say(torch.optim.SGD([{"params": x}, {"params": [y], "lr": 5.0, "note": "b"}], lr=1.0))
    say(torch.optim.SGD([("x", x), ("y", y)], lr=1.0))


@program
def groups(torch, say):
    x, y, z = (torch.ones(k, requires_grad=True) for k in (1, 2, 3))
    optimizer = torch.optim.SGD([x], lr=0.5, momentum=0.9)
    optimizer.add_param_group({"params": y, "lr": 2.0})
    say(len(optimizer.param_groups), [g["lr"] for g in optimizer.param_groups])
    say(optimizer.param_groups[1]["params"][0] is y, optimizer.param_groups[1]["momentum"])
    frozen = torch.ones(1)
    other = torch.optim.SGD([x, frozen], lr=0.5)
    other.step()
    say(x, frozen)
    for name, call in {
        "tensor": lambda: torch.optim.SGD(x, lr=1.0),
        "empty": lambda: torch.optim.SGD([], lr=1.0),
        "number": lambda: torch.optim.SGD([1.0], lr=1.0),
        "text": lambda: torch.optim.SGD(["a"], lr=1.0),
        "non-leaf": lambda: torch.optim.SGD([x * 2], lr=1.0),
        "twice": lambda: torch.optim.SGD([x, x], lr=1.0).param_groups[0]["lr"],
        "two groups": lambda: torch.optim.SGD([{"params": [x]}, {"params": [x]}], lr=1.0),
        "set": lambda: torch.optim.SGD([{"params": {x, y}}], lr=1.0),
        "list": lambda: optimizer.add_param_group([z]),
        "again": lambda: optimizer.add_param_group({"params": [x]}),
        "names": lambda: torch.optim.SGD([("x", x), y], lr=1.0),
        "names later": lambda: optimizer.add_param_group({"params": [("z", z)]}),
    }.items():
        refused(say, name, call)


@program
def settings_out_of_range(torch, say):
    x = [torch.ones(1, requires_grad=True)]
    for name, settings in [
        ("SGD", {"lr": -1.0}), ("SGD", {"momentum": -1.0}), ("SGD", {"weight_decay": -1.0}),
        ("SGD", {"nesterov": True}), ("SGD", {"nesterov": True, "momentum": 1, "dampening": 1}),
        ("SGD", {"lr": torch.ones(2)}),
        ("Adam", {"lr": -1.0}), ("Adam", {"eps": -1.0}), ("Adam", {"betas": (1.0, 0.5)}),
        ("Adam", {"betas": (0.5, -0.1)}), ("Adam", {"weight_decay": -1.0}),
        ("AdamW", {"lr": -1.0}), ("RMSprop", {"lr": -1.0}), ("RMSprop", {"eps": -1.0}),
        ("RMSprop", {"momentum": -1.0}), ("RMSprop", {"alpha": -1.0}),
        ("RMSprop", {"weight_decay": -1.0}), ("Adagrad", {"lr": -1.0}),
        ("Adagrad", {"lr_decay": -1.0}), ("Adagrad", {"initial_accumulator_value": -1.0}),
        ("Adagrad", {"eps": -1.0}), ("Adagrad", {"weight_decay": -1.0}),
        *((n, {"lr": -1.0}) for n in NAMES), *((n, {"lr": torch.ones(2)}) for n in NAMES),
        *((n, {s: -1.0}) for n in ("Adamax", "NAdam", "RAdam") for s in ("eps", "weight_decay")),
        *((n, {"betas": b}) for n in ("Adamax", "NAdam", "RAdam") for b in ((1.0, 0), (0, -0.1))),
        ("NAdam", {"momentum_decay": -1.0}), ("ASGD", {"weight_decay": -1.0}),
        ("Rprop", {"etas": (0.5, 0.9)}), ("Rprop", {"etas": (0.0, 1.2)}),
        ("Adadelta", {"rho": 1.5}), ("Adadelta", {"eps": -1.0}),
        ("Adadelta", {"weight_decay": -1.0}),
        *((n, {"fused": True, "foreach": True}) for n in ("SGD", "Adam", "AdamW", "Adagrad")),
    ]:  # fmt: skip
        refused(say, name, lambda n=name, s=settings: getattr(torch.optim, n)(x, **s))


@program
def clearing(torch, say):
    x, y, z = (torch.ones(2, requires_grad=True) for _ in range(3))
    (x * y * z).sum().backward()
    optimizer = torch.optim.SGD([x, y], lr=0.1)
    g = x.grad
    optimizer.zero_grad(set_to_none=False)
    say(x.grad is g, x.grad, y.grad, z.grad)
    optimizer.zero_grad()
    say(x.grad, y.grad, z.grad)
    (g2,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    x.grad = g2
    optimizer.zero_grad(set_to_none=False)
    say(x.grad, x.grad.requires_grad)


@program
def closures(torch, say):
    x = torch.tensor([2.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        say(torch.is_grad_enabled())
        return loss

    say(optimizer.step(closure), x)
    with torch.no_grad():
        say(optimizer.step(closure), x)
    say(optimizer.step())


@program
def steps_and_versions(torch, say):
    x = torch.tensor([2.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)
    y = x * x
    y.backward(retain_graph=True)
    optimizer.step()
    say(x.is_leaf, x.grad_fn, x._version)
    refused(say, "stale", y.backward)


@program
def tensor_rate(torch, say):
    x = torch.tensor([2.0], requires_grad=True)
    lr = torch.tensor(0.5)
    optimizer = torch.optim.SGD([x], lr=lr)
    x.grad = torch.ones(1)
    optimizer.step()
    say(x, optimizer.param_groups[0]["lr"] is lr)
    lr.fill_(1.0)
    optimizer.step()
    say(x)


@program
def hooks(torch, say):
    x = torch.tensor([2.0], requires_grad=True)
    x.grad = torch.ones(1)
    optimizer = torch.optim.SGD([x], lr=0.5)
    a = optimizer.register_step_pre_hook(lambda o, a, k: say("pre", o is optimizer, len(a), k))
    optimizer.register_step_post_hook(lambda o, a, k: say("post", x))
    optimizer.step()
    a.remove()
    optimizer.step()
    optimizer.register_state_dict_pre_hook(lambda o: say("state pre"))
    optimizer.register_state_dict_post_hook(lambda o, s: {**s, "more": 1})
    s = optimizer.state_dict()
    say(sorted(s))

    def changed(o, s):
        say("load pre", sorted(s))
        s["param_groups"][0]["lr"] = 7.0
        return s

    optimizer.register_load_state_dict_pre_hook(changed)
    optimizer.register_load_state_dict_post_hook(lambda o: say("load post"))
    optimizer.load_state_dict(s)
    say(optimizer.param_groups[0]["lr"])
    optimizer.register_step_pre_hook(lambda o, a, k: 5)
    try:
        optimizer.step()
    except RuntimeError as error:
        say(str(error).split(" must ")[1])


@program
def state(torch, say):
    x, y = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    optimizer = torch.optim.Adam([{"params": [x]}, {"params": [y], "lr": 0.5}], lr=0.1)
    x.grad, y.grad = torch.ones(2), torch.ones(1)
    optimizer.step()
    s = optimizer.state_dict()
    say(s)
    say(s["state"][0]["exp_avg"] is optimizer.state[x]["exp_avg"])
    one = torch.optim.Adam([x], lr=0.1)
    refused(say, "groups", lambda: one.load_state_dict(s))
    two = torch.optim.Adam([{"params": [x, y]}, {"params": [torch.ones(1)]}], lr=0.1)
    refused(say, "sizes", lambda: two.load_state_dict(s))
    z = [torch.ones(2, dtype=torch.float64, requires_grad=True), y]
    wide = torch.optim.Adam([{"params": [z[0]]}, {"params": [z[1]]}], lr=9.0)
    wide.load_state_dict(s)
    say(wide.state[z[0]]["exp_avg"].dtype, wide.state[z[0]]["step"].dtype)
    say(wide.param_groups[1]["lr"], wide.param_groups[0]["params"][0] is z[0])


@program
def own_optimizer(torch, say):
    class Sign(torch.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.state[p]["count"] = self.state[p].get("count", 0) + 1
                        p.add_(p.grad.sign(), alpha=-group["lr"])

    x = torch.tensor([2.0], requires_grad=True)
    optimizer = Sign([x], 0.25)
    optimizer.register_step_post_hook(lambda o, a, k: say("post"))
    for _ in range(2):
        optimizer.zero_grad()
        (x * x).sum().backward()
        optimizer.step()
    say(x, optimizer.state_dict(), optimizer)
    torch.optim.lr_scheduler.StepLR(optimizer, 1)


@program
def copied(torch, say):
    import pickle

    x = torch.tensor([2.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.5, momentum=0.9)
    x.grad = torch.ones(1)
    optimizer.step()
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        p = other.param_groups[0]["params"][0]
        say(p, p is x, other.state[p]["momentum_buffer"])


# ------------------------------------------------------------------------------ schedules

SCHEDULES = {
    "StepLR": lambda s, o: s.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.5),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01),
    "CosineAnnealingLR-long": lambda s, o: s.CosineAnnealingLR(o, 40),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "LambdaLR-each": lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: e]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.5, 4),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.25, 0.75, 6),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 8, 2.0),
}


def schedule(torch, make, epochs=20, tensor=False):
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    lr = torch.tensor(0.1, dtype=torch.float64) if tensor else 0.1
    optimizer = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 1.0}], lr=lr)
    scheduler = make(torch.optim.lr_scheduler, optimizer)
    rates = [list(map(float, scheduler.get_last_lr()))]
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
        rates.append([float(g["lr"]) for g in optimizer.param_groups])
    return rates, scheduler


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("tensor", [False, True])
def test_schedule(name, tensor):
    """Bit by bit."""
    one, other = (schedule(t, SCHEDULES[name], tensor=tensor)[0] for t in (ours, theirs))
    assert one == other


@pytest.mark.parametrize("name", SCHEDULES)
def test_closed_form_of_a_schedule(name):
    def run(torch):
        optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        optimizer.add_param_group({"params": [torch.ones(1, requires_grad=True)]})
        scheduler = SCHEDULES[name](torch.optim.lr_scheduler, optimizer)
        rates = []
        for epoch in (1, 2, 7, 3):
            optimizer.step()
            scheduler.step(epoch)
            rates.append(scheduler.get_last_lr())
        return rates

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(ours) == run(theirs)


@pytest.mark.parametrize("name", SCHEDULES)
def test_state_of_a_schedule(name):
    _, one = schedule(ours, SCHEDULES[name], 4)
    _, other = schedule(theirs, SCHEDULES[name], 4)
    found, expected = one.state_dict(), other.state_dict()
    hidden = {"lr_lambdas", "_is_initial", "_get_lr_called_within_step"}
    assert {k: v for k, v in found.items() if k not in hidden} == {
        k: v for k, v in expected.items() if k not in hidden
    }
    _, again = schedule(ours, SCHEDULES[name], 0)
    again.load_state_dict(found)
    for group, rate in zip(again.optimizer.param_groups, one.get_last_lr(), strict=True):
        group["lr"] = rate
    for scheduler in (one, again):
        scheduler.optimizer.step()
        scheduler.step()
    assert one.get_last_lr() == again.get_last_lr()


LOSSES = [3.0, 2.0, 2.0, 1.9999, 2.5, 2.5, 1.0, 1.0, 1.0, 1.0, 1.0, float("nan"), 0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    "settings",
    [
        {"patience": 1},
        {"mode": "max", "patience": 0, "factor": 0.5},
        {"patience": 0, "cooldown": 2, "threshold": 0.1},
        {"patience": 0, "threshold": 0.1, "threshold_mode": "abs"},
        {"mode": "max", "patience": 0, "threshold_mode": "abs", "threshold": 0.2},
        {"patience": 0, "min_lr": [0.05, 0.3]},
        {"patience": 0, "min_lr": 0.01, "eps": 0.02},
    ],
)
def test_reduce_on_plateau(settings):
    def run(torch):
        make = lambda s, o: s.ReduceLROnPlateau(o, **settings)
        a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        optimizer = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 1.0}], lr=0.1)
        scheduler = make(torch.optim.lr_scheduler, optimizer)
        rates = []
        for loss in LOSSES:
            scheduler.step(torch.tensor(loss) if loss > 2 else loss)
            rates.append([g["lr"] for g in optimizer.param_groups])
        state = {k: v for k, v in scheduler.state_dict().items() if not k.startswith("_")}
        return rates, scheduler.get_last_lr(), state

    assert run(ours) == run(theirs)


@program
def schedule_warnings(torch, say):
    s = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    scheduler = s.ExponentialLR(optimizer, 0.5)
    scheduler.step()
    optimizer.step()
    scheduler.step(5)
    say(scheduler.get_last_lr(), scheduler.get_lr())


@program
def schedule_errors(torch, say):
    s = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    for name, call in {
        "optimizer": lambda: s.StepLR(5, 1),
        "resume": lambda: s.StepLR(optimizer, 1, last_epoch=3),
        "lambdas": lambda: s.LambdaLR(optimizer, [len, len]),
        "factor": lambda: s.ReduceLROnPlateau(optimizer, factor=2.0),
        "mode": lambda: s.ReduceLROnPlateau(optimizer, mode="zzz"),
        "threshold": lambda: s.ReduceLROnPlateau(optimizer, threshold_mode="zzz"),
        "min": lambda: s.ReduceLROnPlateau(optimizer, min_lr=[1.0, 2.0]),
        "constant": lambda: s.ConstantLR(optimizer, 2.0),
        "linear": lambda: s.LinearLR(optimizer, 2.0),
        "linear end": lambda: s.LinearLR(optimizer, 0.5, 2.0),
    }.items():
        refused(say, name, call)


@program
def chained_schedules(torch, say):
    s = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    first, second = s.ConstantLR(optimizer, 0.5, 2), s.ExponentialLR(optimizer, 0.9)
    for _ in range(5):
        optimizer.step()
        first.step()
        second.step()
        say(optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["initial_lr"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    same(PROGRAMS[name])


def test_a_step_that_should_be_recorded_is_refused():
    for name in NAMES:
        with pytest.raises(RuntimeError, match="differentiable=True is not available"):
            getattr(ours.optim, name)([ours.ones(1, requires_grad=True)], differentiable=True)


def test_groups_may_be_ordered_dictionaries():
    x = ours.ones(1, requires_grad=True)
    group = collections.OrderedDict(params=[x], lr=2.0)
    assert ours.optim.SGD([group], lr=1.0).param_groups[0]["lr"] == 2.0
