"""Steps that come again have the bits of those that are looked at, whatever changes in between."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.torch.optim.optimizer import _known_steps
from funcgrad.torch.optim.repeated import Repeated

SETTINGS = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.02}),
    ("AdamW", {"lr": 0.02, "amsgrad": True}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("Adadelta", {"lr": 1.0}),
    ("Adamax", {"lr": 0.02, "maximize": True}),
]
SHAPES = ((200, 200), (7,), (200, 200), (40, 9))


def other_data(params, optimizer):
    params[0].data = params[0].data * 2


def other_state(params, optimizer):
    optimizer.load_state_dict(optimizer.state_dict())


def written_state(params, optimizer):
    for x in optimizer.state[params[1]].values():
        x.mul_(2)


def other_count(params, optimizer):
    optimizer.state[params[2]]["step"] = torch.tensor(3.0)


def no_gradient(params, optimizer):
    params[3].grad = None


def gradient_with_gaps(params, optimizer):
    params[0].grad = torch.linspace(0, 1, 200 * 200).reshape(200, 200).t()


def gradient_of_another(params, optimizer):
    params[2].grad = params[0].detach()


def other_settings(params, optimizer):
    optimizer.param_groups[0]["lr"] /= 2
    optimizer.param_groups[0]["weight_decay"] = 0.3


def fewer(params, optimizer):
    optimizer.param_groups[0]["params"].pop()


def frozen(params, optimizer):
    params[1].requires_grad_(False)


CHANGES = [other_data, other_state, written_state, other_count, no_gradient, gradient_with_gaps,
           gradient_of_another, other_settings, fewer, frozen]  # fmt: skip


def trained(name, options, change, kernels, dtype=torch.float32):
    """What 12 steps leave, one of them after a change, and how many were repeated."""
    rng = np.random.default_rng(0)
    params = [torch.tensor(rng.normal(size=s), dtype=dtype, requires_grad=True) for s in SHAPES]
    before, fg.config.kernels = fg.config.kernels, kernels
    try:
        optimizer = getattr(torch.optim, name)(params, **options)
        for step in range(12):
            for p in params:
                p.grad = torch.tensor(rng.normal(size=tuple(p.shape)), dtype=dtype)
            if step == 7 and change is not None:
                change(params, optimizer)
            optimizer.step()
    finally:
        fg.config.kernels = before
    state = [optimizer.state.get(p, {}) for p in params]
    left = [*params, *(s[k] for s in state for k in s if s[k] is not None)]
    return [x.detach().numpy() for x in left], [p._version for p in params]


@pytest.fixture
def taken(monkeypatch):
    """Of each step whether it was repeated."""
    found = []
    step = Repeated.step

    def watched(self, rule, states):
        found.append(step(self, rule, states))
        return found[-1]

    monkeypatch.setattr(Repeated, "step", watched)
    return found


@pytest.mark.parametrize("change", [None, *CHANGES])
@pytest.mark.parametrize("name, options", SETTINGS, ids=[s[0] for s in SETTINGS])
def test_bits_of_repeated_steps(name, options, change, taken):
    counted = name != "SGD"
    if change is other_count and not counted:
        pytest.skip("its state has no number of steps")
    if change is written_state and name == "SGD" and "momentum" not in options:
        pytest.skip("it has no state")
    expected = trained(name, options, change, False)
    taken.clear()
    found = trained(name, options, change, "always")
    for x, y in zip(expected[0], found[0], strict=True):
        np.testing.assert_array_equal(x, y)
    assert expected[1] == found[1]
    assert sum(taken[2:7]) == 5, "steps that are alike were looked at again"


def test_threads_change_no_bit():
    before = torch.get_num_threads()
    try:
        found = []
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            found.append(trained("Adam", {"lr": 0.1}, None, "always", torch.float64)[0])
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        for x, y in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(x, y)


def test_the_same_parameter_twice_is_not_repeated(taken):
    p = torch.zeros(40, 40, requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer = torch.optim.SGD([p, p], lr=1.0)
    for _ in range(4):
        p.grad = torch.ones(40, 40)
        optimizer.step()
    assert p[0, 0].item() == -8 and not any(taken)


def test_parameters_in_one_memory_are_stepped_in_order():
    whole = torch.zeros(200, 200)
    first, second = whole[:150].detach(), whole[50:].detach()
    optimizer = torch.optim.Adam([first.requires_grad_(), second.requires_grad_()], lr=0.1)
    alone = torch.zeros(200, 200)
    apart = [alone[:150].detach().requires_grad_(), alone[50:].detach().requires_grad_()]
    for p, q in zip((first, second), apart, strict=True):
        p.grad = torch.linspace(-1, 1, p.numel()).reshape(p.shape)
        q.grad = p.grad.clone()
    for k in range(6):
        optimizer.step()
        if k == 0:
            other = torch.optim.Adam(apart, lr=0.1)
        other.step()
        _known_steps.pop(other)
    np.testing.assert_array_equal(whole.numpy(), alone.numpy())
