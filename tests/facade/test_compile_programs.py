"""Many small steps, compiled and eager: the same results, states, gradients and errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad.torch as torch
from funcgrad.torch import nn, optim

COUNTER = [0]
NUMBER = 0.0


def arrays(x: Any) -> list[Any]:
    """The arrays of all tensors in a tree."""
    if isinstance(x, torch.Tensor):
        return [x.detach().numpy().copy()]
    if isinstance(x, dict):
        x = list(x.values())
    return [a for item in x for a in arrays(item)] if isinstance(x, (list, tuple)) else []


class Thrice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x * g


def train(m: Any, o: Any, x: Any) -> Any:
    o.zero_grad()
    loss = m(x).square().mean()
    loss.backward()
    o.step()
    return loss


def assigned_gradients(m: Any, o: Any, x: Any) -> None:
    o.zero_grad()
    m(x).sum().backward()
    for p in m.parameters():
        p.grad = p.grad * 2
    o.step()


def written_arguments(m: Any, o: Any, x: Any) -> Any:
    x.mul_(2)
    y = x[1:3]
    y.add_(1)
    return x.sum(), train(m, o, x)


def closure(m: Any, o: Any, x: Any) -> Any:
    def evaluate() -> Any:
        o.zero_grad()
        loss = m(x).square().mean()
        loss.backward()
        return loss

    return o.step(evaluate)


def penalty(m: Any, o: Any, x: Any) -> Any:
    o.zero_grad()
    x = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(m(x).sum(), x, create_graph=True)
    loss = ((g * g).sum(1).sqrt() - 1).square().mean() + m(x).square().mean()
    loss.backward()
    o.step()
    return loss.detach()


def custom_function(m: Any, o: Any, x: Any) -> Any:
    o.zero_grad()
    loss = Thrice.apply(m(x)).mean()
    loss.backward()
    o.step()
    return loss


def retained(m: Any, o: Any, x: Any) -> Any:
    o.zero_grad()
    h = m[0](x)
    h.retain_grad()
    loss = m[2](torch.tanh(h)).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    return h.grad, loss.detach()


def shared_memory(m: Any, o: Any, x: Any) -> Any:
    with torch.no_grad():
        for p in m.parameters():
            p.detach().mul_(0.9)
            p.data.add_(0.1)
            p.view(-1)[0] = 3.0
            p[...] = p + 1
    return m(x).detach()


def buffers(m: Any, o: Any, x: Any) -> Any:
    made = torch.zeros(5)
    made[0] = x.sum()
    made[1:3] = x[0, :2]
    made.view(5, 1)[4] = 7
    return made * 2, torch.zeros_like(x).copy_(x).add_(1)


def results(m: Any, o: Any, x: Any) -> Any:
    counts = {"a": x.T @ x, "b": (x > 0).sum(), "c": x.argmax(1)}
    return [train(m, o, x.t().t()), counts, x.shape[0], None]


def stored(m: Any, o: Any, x: Any) -> Any:
    m.last = m(x)
    return train(m, o, x)


def caught(m: Any, o: Any, x: Any) -> Any:
    try:
        factor = m(x).sum().item()
    except TypeError:
        factor = 1.0
    return x * factor


def used_up(m: Any, o: Any, x: Any) -> None:
    loss = m(x).sum()
    loss.backward()
    loss.backward()


def modified(m: Any, o: Any, x: Any) -> None:
    w = m[0].weight
    loss = (w * w).sum()
    with torch.no_grad():
        w.add_(1)
    loss.backward()


def counted(m: Any, o: Any, x: Any) -> Any:
    COUNTER[0] += 1
    return x + COUNTER[0]


def global_number(m: Any, o: Any, x: Any) -> Any:
    global NUMBER
    NUMBER += 1
    return x + NUMBER


COMPILED = (
    train, assigned_gradients, written_arguments, closure, penalty, custom_function, retained,
    shared_memory, buffers, results,
)  # fmt: skip
EAGER = (stored, caught, used_up, modified, counted, global_number)


def compare(body: Callable[..., Any], between: Callable[..., Any] | None = None) -> Any:
    """What six steps leave, eagerly and compiled; the compiled function."""
    global NUMBER
    found = []
    compiled: Any = None
    for compiling in (False, True):
        torch.manual_seed(1)
        COUNTER[0], NUMBER = 0, 0.0
        rng = np.random.default_rng(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = optim.SGD(model.parameters(), 0.1, momentum=0.5)

        def step(x: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            return body(model, optimizer, x)

        run = compiled = torch.compile(step) if compiling else step
        trail: list[Any] = []
        for k in range(6):
            if between is not None:
                between(model, optimizer, k)
            x = torch.from_numpy(rng.normal(size=(5, 4)).astype(np.float32))
            try:
                trail += arrays(run(x))
            except RuntimeError as error:
                trail.append(str(error))
            trail += arrays([x, list(model.parameters()), [p.grad for p in model.parameters()]])
        found.append(trail)
    assert len(found[0]) == len(found[1])
    for a, b in zip(*found, strict=True):
        if isinstance(a, str) or isinstance(b, str):
            assert a == b
        else:
            np.testing.assert_allclose(b, a, 1e-4, 1e-5)
    return compiled


@pytest.mark.parametrize("body", COMPILED, ids=lambda f: f.__name__)
def test_runs_as_a_program(body: Callable[..., Any]) -> None:
    compiled = compare(body)
    assert compiled.calls >= 5, compiled.report()


@pytest.mark.parametrize("body", EAGER, ids=lambda f: f.__name__)
def test_runs_eagerly(body: Callable[..., Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = compare(body)
    assert compiled.calls == 0 and "ran eagerly" in compiled.report()


def freeze(m: Any, o: Any, k: int) -> None:
    m[0].weight.requires_grad_(k != 3)


def replace(m: Any, o: Any, k: int) -> None:
    if k == 3:
        for p in m.parameters():
            p.data = p.data * 0.5
    if k == 4:
        o.param_groups[0]["lr"] = 0.01
        for p in m.parameters():
            p.grad = None
    if k == 5:
        o.param_groups[0]["weight_decay"] = 0.1


def extend(m: Any, o: Any, k: int) -> None:
    if k == 3:
        m[2] = nn.Linear(8, 2)
        o.add_param_group({"params": m[2].parameters()})
    if k == 5:
        o.load_state_dict(o.state_dict())


@pytest.mark.parametrize("between", (freeze, replace, extend), ids=lambda f: f.__name__)
def test_changes_between_calls_are_seen(between: Callable[..., Any]) -> None:
    assert compare(train, between).calls >= 3


def test_positions_out_of_bounds_are_refused() -> None:
    pick = torch.compile(lambda x, i: torch.gather(x, 1, i))
    x = torch.ones(5, 4)
    assert pick(x, torch.full((5, 1), 3)).shape == (5, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for bad in (-1, 4):
            with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds for dimension 1"):
                pick(x, torch.full((5, 1), bad))
    assert pick.calls == 1
