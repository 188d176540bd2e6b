"""`torch.compile`: steps that run as programs leave what eager code leaves, or run eagerly."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad.torch as torch
from funcgrad.torch import nn, optim
from funcgrad.torch.nn import functional as F

from .compiled_steps import check, data, network


def test_modes_and_new_parameters_trace_anew() -> None:
    model = network(dropout=0.5)
    compiled = torch.compile(model)
    x, _ = data(0)
    torch.manual_seed(0)
    a = compiled(x)
    torch.manual_seed(0)
    np.testing.assert_allclose(a.detach().numpy(), model(x).detach().numpy(), 1e-5, 1e-6)
    compiled.eval()
    assert not model.training and not model[2].training
    np.testing.assert_allclose(compiled(x).detach().numpy(), model(x).detach().numpy(), 1e-5, 1e-6)
    with torch.no_grad():
        model[0].weight = nn.Parameter(model[0].weight * 2)
    np.testing.assert_allclose(compiled(x).detach().numpy(), model(x).detach().numpy(), 1e-5, 1e-6)
    model.load_state_dict({k: v * 0.5 for k, v in model.state_dict().items()})
    np.testing.assert_allclose(compiled(x).detach().numpy(), model(x).detach().numpy(), 1e-5, 1e-6)
    with torch.no_grad():
        out = compiled(x)
    assert not out.requires_grad


def test_a_module_as_in_pytorch() -> None:
    model = network()
    compiled = torch.compile(model)
    assert isinstance(compiled, nn.Module)
    assert next(iter(compiled.state_dict())) == "_orig_mod.0.weight"
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in model.parameters()]
    assert repr(compiled).startswith("OptimizedModule(\n  (_orig_mod): Sequential(")
    compiled.train(False)
    assert not model.training


def test_the_forward_is_differentiable() -> None:
    model = network()
    compiled = torch.compile(model)
    x, y = data(0)
    x.requires_grad_()
    found = []
    for f in (model, compiled):
        model.zero_grad()
        x.grad = None
        out = f(x * 2)
        assert out.requires_grad and not out.is_leaf
        F.cross_entropy(out, y).backward()
        found.append([x.grad.numpy().copy(), *(p.grad.numpy().copy() for p in model.parameters())])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, 1e-5, 1e-7)
    assert out.grad_fn.name() == "CompiledFunctionBackward"
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.sum().backward()


def test_second_derivatives_go_through() -> None:
    f = torch.compile(lambda x: (x**3).sum())
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), [6.0, 12.0], 1e-6)


def test_the_graph_of_a_step_is_used_up() -> None:
    w = torch.ones(3, requires_grad=True)

    @torch.compile
    def step(x: Any) -> Any:
        loss = (w * w * x).sum()
        loss.backward()
        return loss

    loss = step(torch.ones(3))
    assert step.calls == 1
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_gradients_are_the_objects_that_eager_code_leaves() -> None:
    w = torch.ones(3, requires_grad=True)

    @torch.compile
    def step() -> None:
        (w * 2).sum().backward()

    step()
    held = w.grad
    seen = held.numpy()
    step()
    step()
    assert w.grad is held and step.calls == 3
    np.testing.assert_array_equal(seen, [6.0, 6.0, 6.0])
    assert held._version == 2


def test_versions_and_memory() -> None:
    w = torch.ones(3, requires_grad=True)
    shared, array = w.detach(), w.detach().numpy()
    optimizer = optim.SGD([w], 0.5)

    @torch.compile
    def step() -> None:
        optimizer.zero_grad()
        (w * 2).sum().backward()
        optimizer.step()

    before = w._version
    step()
    assert w._version == before + 1 and shared._version == w._version
    np.testing.assert_array_equal(array, [0.0, 0.0, 0.0])
    old = (w * w).sum()
    step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        old.backward()


def test_hooks_run_in_the_program() -> None:
    def build(wrap: Any) -> Any:
        model = network()
        optimizer = optim.SGD(model.parameters(), 0.1)
        for p in model.parameters():
            p.register_hook(lambda g: g.clamp(-0.01, 0.01))
        model[0].register_forward_hook(lambda m, args, out: out * 0.5)
        model[3].register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))

        @wrap
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            hidden = model[1](model[0](x))
            hidden.register_hook(lambda g: g * 3)
            loss = F.cross_entropy(model[3](hidden), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.05)
            optimizer.step()
            return loss

        return lambda: [list(model.parameters()), [p.grad for p in model.parameters()]], step

    assert check(build).calls >= 19


def test_buffers_and_writing() -> None:
    class Centred(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(6))
            self.register_buffer("mean", torch.zeros(6))
            self.register_buffer("count", torch.zeros((), dtype=torch.int64))

        def forward(self, x: Any) -> Any:
            if self.training:
                with torch.no_grad():
                    self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
                    self.mean[1:3] *= 0.5
                    self.mean.view(2, 3)[0].add_(1)
                    self.count += 1
            return (x - self.mean) * self.weight

    def build(wrap: Any) -> Any:
        model = Centred()

        @wrap
        def step(x: Any, y: Any) -> Any:
            out = model(x)
            model.zero_grad()
            out.square().sum().backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.01 * p.grad
                    p.data = p.data * 0.99
            return out.detach()

        return lambda: [model.state_dict(), model.weight.grad], step

    assert check(build).calls >= 19


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda w, log: log.append(w.sum().item()), "asks for the number"),
        (lambda w, log: w.mul_(2) if w.sum() > 1 else w.mul_(3), "asks for the array"),
        (lambda w, log: log.append(1), "changes"),
        (lambda w, log: print("step"), "print"),
        (lambda w, log: w.add_(float(np.random.rand())), "numpy.random"),
        (lambda w, log: w.numpy(), "asks for the array"),
        (lambda w, log: torch.manual_seed(0), "random numbers"),
    ],
)
def test_what_cannot_be_compiled_runs_eagerly(
    body: Callable[..., Any], reason: str, capsys: Any
) -> None:
    found = []
    for compiled in (False, True):
        w, log = torch.ones(3), []

        def step(w: Any = w, log: Any = log) -> None:
            w.mul_(1.5)
            body(w, log)

        run = torch.compile(step) if compiled else step
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.random.seed(0)
            for _ in range(12):
                run()
        found.append((w.numpy().tolist(), list(log), capsys.readouterr().out))
    assert found[0] == found[1]
    assert run.calls == 0
    assert reason in run.report()
    assert any("runs eagerly" in str(c.message) for c in caught)
    assert caught[0].filename == __file__


def test_fullgraph_raises() -> None:
    f = torch.compile(lambda x: x * x.sum().item(), fullgraph=True)
    with pytest.raises(RuntimeError, match=r"fullgraph=True.*asks for the number"):
        f(torch.ones(2))


def test_bad_targets_are_refused_as_in_eager_mode() -> None:
    model = network()
    optimizer = optim.SGD(model.parameters(), 0.1)

    @torch.compile
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    x, y = data(0)
    step(x, y)
    step(x, y)
    kept = [p.detach().numpy().copy() for p in model.parameters()]
    for bad in (-1, 3):
        wrong = y.clone()
        wrong[2] = bad
        with (
            warnings.catch_warnings(),
            pytest.raises(IndexError, match=f"Target {bad} is out of bounds"),
        ):
            step(x, wrong)
        for p, before in zip(model.parameters(), kept, strict=True):
            np.testing.assert_array_equal(p.detach().numpy(), before)


def test_an_error_changes_nothing() -> None:
    w = torch.ones(3, requires_grad=True)
    optimizer = optim.SGD([w], 0.1, momentum=0.9)

    @torch.compile
    def step(x: Any) -> None:
        (w * x).sum().backward()

    step(torch.ones(3))
    before = w.grad.numpy().copy()
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="must match the size"):
        step(torch.ones(4))
    np.testing.assert_array_equal(w.grad.numpy(), before)
    assert w.requires_grad and w.is_leaf and not optimizer.state
    step(torch.ones(3))
    np.testing.assert_array_equal(w.grad.numpy(), 2 * before)


def test_shared_memory_runs_eagerly() -> None:
    x = torch.zeros(4)

    @torch.compile
    def step(a: Any, b: Any) -> Any:
        a += 1
        return b * 2

    step(x, torch.ones(4))
    assert step.calls == 1
    with pytest.warns(UserWarning, match="shares memory"):
        out = step(x, x[:3])
    np.testing.assert_array_equal(out.numpy(), [4.0, 4.0, 4.0])
    step(x, x)
    np.testing.assert_array_equal(x.numpy(), [3.0] * 4)


def test_results_that_share_memory() -> None:
    x = torch.ones(3)

    @torch.compile
    def f(x: Any) -> Any:
        y = x * 2
        return x, x.detach(), y, y.detach(), [1, "a", None], {"k": y + 0}

    for _ in range(2):
        a, b, y, z, rest, d = f(x)
        assert a is x and rest == [1, "a", None]
        b += 1
        np.testing.assert_array_equal(x.numpy(), b.numpy())
        z += 1
        np.testing.assert_array_equal(y.numpy(), z.numpy())
        np.testing.assert_array_equal(d["k"].numpy(), y.numpy() - 1)
    assert f.calls == 2


def test_decorators_and_arguments() -> None:
    @torch.compile(mode="reduce-overhead", dynamic=False)
    def f(x: Any, *, k: int = 2) -> Any:
        return x * k

    x = torch.ones(2)
    assert f.__name__ == "f"
    assert f(x, k=3).tolist() == [3.0, 3.0]
    assert f(x).tolist() == [2.0, 2.0]
    assert f(x.double()).dtype is torch.float64
    assert f(torch.ones(2, 2)).shape == (2, 2)
    assert f.calls == 4
    for wrong, text in (
        ({"mode": "nope"}, "Unrecognized mode=nope, should be one of: default, lite"),
        ({"mode": "default", "options": {}}, "Either mode or options can be specified"),
        ({"backend": "nope"}, "Invalid backend: 'nope'"),
        ({"dynamic": True}, "dynamic=True is not available"),
        ({"options": {}}, "options="),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.compile(lambda x: x, **wrong)
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'>"):
        torch.compile(3)
    assert torch.compile(len, backend="eager") is len


def test_inside_each_other_and_inside_transforms() -> None:
    model = torch.compile(network())
    outer = torch.compile(lambda x: model(x).sum())
    x, _ = data(0)
    np.testing.assert_allclose(outer(x).item(), model._orig_mod(x).sum().item(), 1e-5)
    g = torch.func.grad(lambda x: outer(x))(x)
    np.testing.assert_allclose(
        g.detach().numpy(),
        torch.func.grad(lambda x: model._orig_mod(x).sum())(x).detach().numpy(),
        1e-5,
        1e-7,
    )
    inner = torch.compile(lambda x: torch.func.vmap(torch.func.grad(lambda r: (r**2).sum()))(x))
    np.testing.assert_allclose(inner(x).numpy(), 2 * x.numpy(), 1e-6)


def test_closures_and_globals_are_looked_at() -> None:
    scale, holder = 2.0, {"t": torch.ones(2)}

    @torch.compile
    def f(x: Any) -> Any:
        return x * scale + holder["t"] + OFFSET[0]

    x = torch.ones(2)
    assert f(x).tolist() == [4.0, 4.0]
    scale = 5.0
    assert f(x).tolist() == [7.0, 7.0]
    holder["t"] = torch.zeros(2)
    assert f(x).tolist() == [6.0, 6.0]
    holder["t"].add_(1)
    assert f(x).tolist() == [7.0, 7.0]
    OFFSET[0] = 2.0
    assert f(x).tolist() == [8.0, 8.0]
    OFFSET[0] = 1.0


OFFSET = [1.0]


def test_the_same_program_serves_two_models() -> None:
    def step(model: Any, x: Any) -> Any:
        return model(x).sum()

    compiled = torch.compile(step)
    x, _ = data(0)
    one, two = network(), network()
    with torch.no_grad():
        two[0].weight.mul_(2)
    for model in (one, two, one, two):
        np.testing.assert_allclose(compiled(model, x).item(), model(x).sum().item(), 1e-5)
    assert len(compiled.programs) == 1 and compiled.calls == 4
