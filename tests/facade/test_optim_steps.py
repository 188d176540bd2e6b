"""The steps of optimisers against PyTorch's: 100 steps, state, versions, complex parameters."""

import numpy as np
import pytest

import funcgrad.torch as ours

try:
    import torch as theirs
except ImportError:
    theirs = None

pytestmark = [pytest.mark.peers, pytest.mark.skipif(theirs is None, reason="needs torch")]
SETTINGS = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.001, "momentum": 0.5, "maximize": True}),
    ("Adam", {"lr": 0.02}),
    ("Adam", {"lr": 0.02, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.02, "amsgrad": True}),
    ("Adam", {"lr": 0.001, "maximize": True}),
    ("Adam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {"lr": 0.02}),
    ("AdamW", {"lr": 0.02, "weight_decay": 0.3, "amsgrad": True}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.001, "alpha": 0.5, "eps": 1e-3, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.001, "momentum": 0.9, "centered": True}),
    ("RMSprop", {"lr": 0.001, "maximize": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "eps": 1e-3}),
    ("Adagrad", {"lr": 0.01, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {"lr": 1.0}),
    ("Adadelta", {"lr": 0.05, "rho": 0.5, "eps": 1e-3, "weight_decay": 0.1}),
    ("Adadelta", {"lr": 0.01, "maximize": True}),
    ("Adamax", {"lr": 0.02}),
    ("Adamax", {"lr": 0.002, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.001, "maximize": True}),
    ("NAdam", {"lr": 0.02}),
    ("NAdam", {"lr": 0.002, "betas": (0.5, 0.9), "momentum_decay": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("NAdam", {"lr": 0.001, "maximize": True}),
    ("RAdam", {"lr": 0.02}),
    ("RAdam", {"lr": 0.02, "betas": (0.5, 0.6), "eps": 1e-3}),
    ("RAdam", {"lr": 0.02, "betas": (0.5, 0.9), "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.001, "maximize": True}),
    ("ASGD", {"lr": 0.02}),
    ("ASGD", {"lr": 0.02, "lambd": 0.1, "alpha": 0.5, "t0": 10, "weight_decay": 0.1}),
    ("ASGD", {"lr": 0.001, "t0": 3, "maximize": True}),
    ("Rprop", {"lr": 0.01}),
    ("Rprop", {"lr": 0.01, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1)}),
    ("Rprop", {"lr": 0.001, "step_sizes": (1e-6, 0.01), "maximize": True}),
]
IDS = [f"{n}-{'-'.join(s)}" for n, s in SETTINGS]


def objective(torch, w, v, c):
    """A function whose gradients are neither constant nor proportional to its arguments."""
    curved = ((w * w * c).sum() + torch.cos(w * v).sum() + torch.exp(0.1 * v).sum()) / 10
    return curved + (v - 1).pow(2).sum() / 20


def trained(torch, name, settings, dtype, steps=100):
    """The parameters after each step, the state and the versions."""
    rng = np.random.default_rng(0)
    kind = getattr(torch, dtype)
    c = torch.tensor(rng.uniform(0.5, 2.0, (3, 4)), dtype=kind)
    w = torch.tensor(rng.normal(size=(3, 4)), dtype=kind, requires_grad=True)
    v = torch.tensor(rng.normal(size=4), dtype=kind, requires_grad=True)
    unused = torch.ones(2, dtype=kind, requires_grad=True)
    groups = [{"params": [w]}, {"params": [v, unused], "lr": settings["lr"] * 2}]
    optimizer = getattr(torch.optim, name)(groups, **settings)
    curve = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = objective(torch, w, v, c)
        loss.backward()
        optimizer.step()
        curve.append([*w.detach().reshape(-1).tolist(), *v.tolist()])
    state = optimizer.state_dict()["state"]
    return np.array(curve), state, (w._version, v._version, unused._version)


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=IDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_hundred_steps(name, settings, dtype):
    curve, state, versions = trained(ours, name, settings, dtype)
    other, expected, their_versions = trained(theirs, name, settings, dtype)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(curve, other, rtol=500 * eps, atol=500 * eps)
    assert versions == their_versions
    assert list(state) == list(expected)
    for k, entries in expected.items():
        assert list(state[k]) == list(entries)
        for field, value in entries.items():
            mine = state[k][field]
            assert (type(mine).__name__, str(mine.dtype)) == ("Tensor", str(value.dtype))
            size = float(value.abs().max())
            np.testing.assert_allclose(mine.numpy(), value.numpy(), atol=2000 * eps * size)


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=IDS)
def test_complex_parameters(name, settings):
    def run(torch):
        rng = np.random.default_rng(1)
        start = rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
        z = torch.tensor(start).t().requires_grad_()  # in memory columns come first
        optimizer = getattr(torch.optim, name)([z], **settings)
        for _ in range(20):
            optimizer.zero_grad()
            ((z - (1 + 2j)).abs().pow(2).sum() + (z.real**3).sum() / 10).backward()
            optimizer.step()
        return z.detach().numpy(), optimizer.state_dict()["state"]

    one, state = run(ours)
    other, expected = run(theirs)
    np.testing.assert_allclose(one, other, rtol=1e-12)
    for field, value in expected.get(0, {}).items():
        assert str(state[0][field].dtype) == str(value.dtype)
        np.testing.assert_allclose(state[0][field].numpy(), value.numpy(), rtol=1e-12)


@pytest.mark.parametrize(("name", "settings"), SETTINGS[:1] + SETTINGS[5:6], ids=["SGD", "Adam"])
def test_half_precision_stays_finite(name, settings):
    x = ours.ones(3, dtype=ours.float16, requires_grad=True)
    optimizer = getattr(ours.optim, name)([x], **settings)
    (x * x).sum().backward()
    optimizer.step()
    assert x.dtype is ours.float16
    assert np.all(np.isfinite(x.detach().numpy()))


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=IDS)
def test_training_goes_on_from_a_state(name, settings):
    """The state of one library, given to the other in the middle."""
    data = io_of(theirs, *half(theirs, name, settings))
    model, optimizer = half(ours, name, {**settings, "lr": 123.0})
    found = ours.load(data)
    with ours.no_grad():
        for p, q in zip(model, found["model"], strict=True):
            p.copy_(q)
    optimizer.load_state_dict(found["optimizer"])
    other, their_optimizer = half(theirs, name, settings)
    their_optimizer.load_state_dict(their_optimizer.state_dict())  # numbers take the dtype of p
    for _ in range(10):
        advance(ours, model, optimizer)
        advance(theirs, other, their_optimizer)
    for p, q in zip(model, other, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-12)


def advance(torch, model, optimizer):
    optimizer.zero_grad()
    objective(torch, *model, torch.ones(3, 4, dtype=torch.float64)).backward()
    optimizer.step()


def half(torch, name, settings):
    rng = np.random.default_rng(0)
    model = [torch.tensor(rng.normal(size=s), requires_grad=True) for s in ((3, 4), (4,))]
    optimizer = getattr(torch.optim, name)(model, **settings)
    for _ in range(10):
        advance(torch, model, optimizer)
    return model, optimizer


def io_of(torch, model, optimizer):
    import io

    data = io.BytesIO()
    torch.save({"model": [p.detach() for p in model], "optimizer": optimizer.state_dict()}, data)
    data.seek(0)
    return data


DECAYING = [
    ("AdamW", {"weight_decay": 0.3}),
    ("AdamW", {"weight_decay": 0.3, "amsgrad": True}),
    ("Adam", {"weight_decay": 0.3}),
    ("NAdam", {"weight_decay": 0.3, "decoupled_weight_decay": True}),
    ("RAdam", {"weight_decay": 0.3, "decoupled_weight_decay": True}),
    ("SGD", {"momentum": 0.9, "weight_decay": 0.3}),
]


@pytest.mark.parametrize(("name", "settings"), DECAYING)
@pytest.mark.parametrize("shape", [(5,), (50, 100), (600, 500)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_gradient_that_is_the_parameters_own_memory(name, settings, shape, turned):
    """It decays with the parameter, in place, before it is read."""
    found = []
    for torch in (ours, theirs):
        x = torch.linspace(-1.0, 1.0, int(np.prod(shape)), dtype=torch.float64).reshape(shape)
        p = torch.nn.Parameter(x.t() if turned and len(shape) > 1 else x)
        optimizer = getattr(torch.optim, name)([p], lr=0.1, **settings)
        for k in range(5):  # steps that come again are repeated by a table
            p.grad = torch.ones_like(p) if k < 2 else p.detach()
            optimizer.step()
        found.append(np.array(p.detach().tolist()))
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-13)
