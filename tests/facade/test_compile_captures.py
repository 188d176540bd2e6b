"""The facade's `compile` sees every change of what a step reaches, or runs it eagerly."""

import types
import warnings

import numpy as np
import pytest
from captured_programs import SEEN, UNSEEN

import funcgrad.torch as torch
from funcgrad.compile import execute as execution
from funcgrad.config import config


def check(make):
    f, change = make()
    run = torch.compile(f)
    x = torch.tensor([2.0, 3.0])
    for _ in range(3):
        assert torch.equal(run(x), f(x))
    change()
    for _ in range(3):
        assert torch.equal(run(x), f(x))
    return run


@pytest.mark.parametrize("make", SEEN, ids=lambda f: f.__name__)
def test_a_change_is_seen(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(make)


@pytest.mark.parametrize("make", [f for f in UNSEEN if f.__name__ != "iterator"])
def test_what_cannot_be_followed_runs_eagerly(make):
    with pytest.warns(UserWarning, match=r"(calls|uses) "):
        run = check(make)
    assert run.calls == 0


def by_a_path(path):
    return lambda x: x * float(path.read_text())


def by_numpy(path):
    return lambda x: x * float(np.loadtxt(path))


@pytest.mark.parametrize("read", [by_a_path, by_numpy])
def test_a_step_that_reads_a_file_runs_eagerly(read, tmp_path):
    path = tmp_path / "number"
    path.write_text("2.0")
    with pytest.warns(UserWarning, match=r"(open|getcwd)\(\) was called at .*_captures"):
        run = check(lambda: (read(path), lambda: path.write_text("3.0")))
    assert run.calls == 0


def test_a_step_that_asks_for_numpys_settings_runs_eagerly():
    f = lambda x: x * (2.0 if np.geterr()["divide"] == "warn" else 3.0)
    with np.errstate(), pytest.warns(UserWarning, match=r"uses numpy\.geterr"):
        run = check(lambda: (f, lambda: np.seterr(divide="ignore")))
    assert run.calls == 0


def test_a_number_and_an_array_that_change_at_each_call_are_compiled_twice_at_most(monkeypatch):
    seen = []
    real = execution.compile_graph
    monkeypatch.setattr(config, "cache", False)
    monkeypatch.setattr(execution, "compile_graph", lambda *a: (seen.append(a), real(*a))[1])
    o = types.SimpleNamespace(k=1.1, a=np.cos(np.arange(3.0)))
    weight = [torch.ones(3, dtype=torch.float64, requires_grad=True) for _ in range(2)]

    def step(w, x):
        loss = ((w * x).tanh() * o.k + torch.tensor(o.a)).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
        return loss.detach()

    run = torch.compile(step)
    x = torch.linspace(0.5, 2.5, 3, dtype=torch.float64)
    for _ in range(8):
        found, want = run(weight[0], x), step(weight[1], x)
        assert torch.allclose(found, want, 1e-12) and torch.allclose(*weight, 1e-12)
        o.k, o.a = o.k + 0.31, o.a * 1.5
    assert len(seen) <= 3, run.report()  # with the first call, which makes gradients


def test_a_step_that_counts_in_its_class_sees_its_own_count():
    """The dictionary of a class is looked at, and never written behind Python's back."""

    class Counted:
        steps = 0

        def step(self, x):
            type(self).steps += 1
            return x * float(self.steps)

    x, counted = torch.tensor([2.0, 3.0]), Counted()
    run = torch.compile(counted.step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(6):
            found = run(x)
            assert torch.equal(found, x * float(counted.steps))
            assert counted.steps == Counted.steps == vars(Counted)["steps"]
