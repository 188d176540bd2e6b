"""Errors of the facade show lines of the program only, and the way to that costs no call."""

import pathlib
import sys
import traceback
import types
import warnings

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.core.boundary import _needs_boundary, bounded
from funcgrad.torch.absent import _of_pytorch
from funcgrad.torch.utils.checkpoint import checkpoint

F = torch.nn.functional


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    monkeypatch.setattr(fg.config, "traceback", "program")


def leaf():
    return torch.ones(3, requires_grad=True)


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise KeyError("mine")


class Wide(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())

    def forward(self, x):
        return self.inner(x)


WAYS = {
    "operator": lambda: leaf() + torch.ones(4),
    "in-place operator": lambda: leaf().__iadd__(1),
    "function": lambda: torch.add(leaf(), torch.ones(4)),
    "method": lambda: leaf().reshape(5),
    "in-place method": lambda: leaf().add_(1),
    "reduction": lambda: torch.sum(leaf(), dim=4),
    "index": lambda: leaf()[7],
    "assignment": lambda: torch.ones(3).__setitem__(7, 1.0),
    "backward": lambda: leaf().backward(),
    "autograd.grad": lambda: torch.autograd.grad(leaf(), leaf()),
    "Function": lambda: Raises.apply(leaf()).sum().backward(),
    "hook": lambda: torch.ones(1).register_hook(print),
    "requires_grad": lambda: torch.ones(1, dtype=torch.int64).requires_grad_(),
    "gradient": lambda: setattr(leaf(), "grad", torch.ones(2)),
    "item": lambda: leaf().item(),
    "bool": lambda: bool(leaf()),
    "float": lambda: float(leaf()),
    "creation": lambda: torch.zeros(3, "a"),
    "data": lambda: torch.tensor("x"),
    "product": lambda: torch.matmul(leaf(), torch.ones(2, 2)),
    "joining": lambda: torch.cat([leaf(), torch.ones(2, 2)]),
    "linalg": lambda: torch.linalg.inv(torch.ones(3, 3)),
    "fft": lambda: torch.fft.fft(torch.ones(3), n=-1),
    "loss": lambda: F.mse_loss(leaf()),
    "softmax": lambda: F.softmax(leaf(), dim=3),
    "dropout": lambda: F.dropout(leaf(), p=2.0),
    "layer": lambda: torch.nn.Linear("a", 4),
    "call of a layer": lambda: torch.nn.Linear(3, 4)(torch.ones(5)),
    "attribute of a layer": lambda: torch.nn.Linear(3, 4).wieght,
    "state": lambda: torch.nn.Linear(3, 4).load_state_dict({"a": 1}),
    "optimizer": lambda: torch.optim.SGD([leaf()], lr=-1),
    "schedule": lambda: torch.optim.lr_scheduler.StepLR(3, 1),
    "loader": lambda: torch.utils.data.DataLoader([1, 2, 3], batch_size=-1),
    "distribution": lambda: torch.distributions.Normal(0.0, -torch.ones(1)),
    "func.grad": lambda: torch.func.grad(lambda x: x)(leaf()),
    "func.vjp": lambda: torch.func.vjp(torch.sin, leaf())[1](torch.ones(2)),
    "func.jacrev": lambda: torch.func.jacrev(lambda x: x @ torch.ones(2))(leaf()),
    "func.jvp": lambda: torch.func.jvp(torch.sin, (leaf(),), (torch.ones(2),)),
    "vmap": lambda: torch.vmap(lambda x: x.item())(torch.ones(3)),
    "compile": lambda: torch.compile(lambda x: x @ torch.ones(2))(torch.ones(3)),
    "forward": lambda: torch.nn.Linear(3, 4).forward(torch.ones(5)),
    "forward of several": lambda: torch.nn.Sequential(torch.nn.Linear(3, 4)).forward(leaf()[:2]),
    "property": lambda: leaf().mT,
    "call of a node": lambda: leaf().exp().grad_fn(1, 2),
    "NumPy": lambda: np.asarray(leaf()),
    "iteration": lambda: list(torch.tensor(1.0)),
    "membership": lambda: "a" in leaf(),
    "batches": lambda: list(torch.utils.data.DataLoader([1, "a"], batch_size=2)),
    "checkpoint": lambda: checkpoint(lambda x: x.add("a"), leaf(), use_reentrant=False),
    "name": lambda: torch.tensr,
    "name of a method": lambda: leaf().reshap(3),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_traceback_of_an_error_has_lines_of_the_program_only(way):
    with pytest.raises(Exception) as info:
        WAYS[way]()
    assert {entry.path for entry in info.traceback} == {pathlib.Path(__file__)}
    assert not isinstance(info.value, AssertionError)


def test_the_lines_of_a_module_of_the_program_stay():
    with pytest.raises(RuntimeError, match="cannot be multiplied") as info:
        Wide()(torch.ones(1, 3))
    assert [entry.name for entry in info.traceback] == [
        "test_the_lines_of_a_module_of_the_program_stay",
        "forward",
    ]
    assert any('traceback = "full"' in note for note in info.value.__notes__)


def test_all_lines_are_shown_on_request(monkeypatch):
    monkeypatch.setattr(fg.config, "traceback", "full")
    with pytest.raises(RuntimeError) as info:
        torch.ones(3) + torch.ones(4)
    assert len(traceback.extract_tb(info.value.__traceback__)) > 2


def public_functions():
    named = [name for name in sys.modules if name.startswith("funcgrad.torch")]
    for module in named:
        for name in _of_pytorch(module.removeprefix("funcgrad.")):
            found = vars(sys.modules[module]).get(name)
            if type(found) is types.FunctionType:
                yield f"{module}.{name}", found


def test_every_public_function_has_a_boundary():
    without = {name for name, function in public_functions() if _needs_boundary(function)}
    assert without == set()


def test_operations_have_theirs_without_a_call_more():
    code = bounded(len).__code__
    operations = [f for _, f in public_functions() if hasattr(f, "operation")]
    assert len(operations) > 300
    assert not [f for f in operations if f.__code__ is code]


def test_a_warning_names_the_line_of_the_program_behind_a_boundary():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        F.softmax(torch.ones(2))
        torch.nn.init.uniform(torch.ones(2))
    assert [w.filename for w in caught] == [__file__] * 2


def test_dir_has_the_names_of_pytorch_alone():
    assert {"Tensor", "nn", "tensor", "compile", "distributions", "linalg"} <= set(dir(torch))
    assert not {"engine", "hot", "recipes", "absent", "inf_"} & set(dir(torch))
    assert "Linear" in dir(torch.nn)
    assert not {"absent", "common"} & {*dir(F), *dir(torch.nn), *dir(torch.fft)}
