"""By default the backward pass of each hot operation on a large array runs native code."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.kernels import explain
from funcgrad.kernels.choice import entries
from funcgrad.ops import activation, logistic, softmax
from funcgrad.ops.arithmetic import power
from funcgrad.ops.error import erf
from funcgrad.ops.nonlinear_reductions import prod

SHAPE = (1000, 1000)
ROW = np.linspace(0.5, 1.5, SHAPE[1])
COLUMN = ROW[:, None]


def others(x):
    """What an array is combined with: a row, a column, an array like it."""
    row = ROW.astype(x.dtype)
    return row, row[:, None], np.outer(row, row)


# By the name of the kernel: the function of an array. Sums of what comes out are differentiated.
FUNCTIONAL = {
    "add": lambda x: np.tanh(x[:1] + others(x)[2]),
    "subtract": lambda x: np.tanh(others(x)[2] - x[:1]) + np.tanh(x[:1] - others(x)[2]),
    "multiply": lambda x: x * others(x)[0] + x * others(x)[1] + x * others(x)[2],
    "divide": lambda x: others(x)[0] / x + x / others(x)[1],
    "power": lambda x: x ** others(x)[0] + x**1.7,
    "power_2": lambda x: power(x, 2),  # x**2 is recorded as a square
    "power_3": lambda x: x**3,
    "absolute": lambda x: abs(x),
    "where": lambda x: np.where(x > 1, x, others(x)[0]),
    "maximum": lambda x: np.maximum(x, others(x)[0]),
    "minimum": lambda x: np.minimum(x, 1.0),
    "clip": lambda x: np.clip(x, 0.7, 1.2),
    "error_function": erf,
    "expit": logistic.expit,
    "relu": activation.relu,
    "gelu": activation.gelu,
    **{
        name: getattr(np, name)
        for name in ("exp", "log", "log1p", "expm1", "sqrt", "sin", "cos", "tan", "tanh", "square")
    },
    "var": lambda x: np.var(x, axis=1) + np.var(x, axis=0),
    "prod": lambda x: prod(x, axis=1) + prod(x / 1.01, axis=0),
    "extremum": lambda x: np.max(x, axis=0) + np.min(x, axis=1),
    "norm": lambda x: np.linalg.norm(x, axis=0) + np.linalg.norm(x, axis=1) + np.linalg.norm(x),
    "logsumexp": lambda x: softmax.logsumexp(x, 0) + softmax.logsumexp(x, 1),
    "softmax": lambda x: softmax.softmax(x, 0) * x + softmax.softmax(x, 1) * x,
    "log_softmax": lambda x: softmax.log_softmax(x, 0) * x + softmax.log_softmax(x, 1) * x,
}


def parts(x):
    return [torch.tensor(a) for a in others(x.detach().numpy())]


# What has operands of one shape is in `tests/facade/test_flat.py`: tensors have other code for it.
TENSORS = {
    "add": lambda x: torch.tanh(x[:1] + parts(x)[2]),
    "subtract": lambda x: torch.tanh(x[:1] - parts(x)[2]),
    "multiply": lambda x: x * parts(x)[0] + x * parts(x)[1] + x * parts(x)[2],
    "divide": lambda x: parts(x)[0] / x + x / parts(x)[1],
    "power": lambda x: x ** parts(x)[0] + x**1.7,
    "where": lambda x: torch.where(parts(x)[2] > 1, x[:1], parts(x)[2]),
    "maximum": lambda x: torch.maximum(x, parts(x)[0]),
    "minimum": lambda x: torch.minimum(x, parts(x)[1]),
    "var": lambda x: torch.var(x, 1) + torch.var(x, 0),
    "prod": lambda x: torch.prod(x, 1) + torch.prod(x / 1.01, 0),
    "extremum": lambda x: torch.amax(x, 0) + torch.amin(x, 1),
    "norm": lambda x: torch.norm(x, dim=0) + torch.norm(x, dim=1) + torch.norm(x),
    "logsumexp": lambda x: torch.logsumexp(x, 0) + torch.logsumexp(x, 1),
    "softmax": lambda x: torch.softmax(x, 0) * x + torch.softmax(x, 1) * x,
    "log_softmax": lambda x: torch.log_softmax(x, 0) * x + torch.log_softmax(x, 1) * x,
}


def calls(name):
    """How often kernels of an operation have run."""
    return sum(
        e.calls
        for e in entries.values()
        if e.name in (name, f"{name}_backward") or e.name.startswith(f"{name}_backward_")
    )


def by_kernels(name, step, monkeypatch):
    """The gradient, of which a kernel of the operation has a part; each step has the same bits."""
    monkeypatch.setattr(fg.config, "kernels", "always")
    before = calls(name)
    found = step().copy()
    assert calls(name) > before, explain()
    np.testing.assert_array_equal(found, step())
    return found


def argument(dtype):
    return np.random.default_rng(0).uniform(0.6, 1.4, SHAPE).astype(dtype)


def close(found, expected):
    eps = np.finfo(found.dtype).eps
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=2000 * eps, atol=2000 * eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_grad(name, dtype, monkeypatch):
    x = argument(dtype)
    gradient = fg.grad(lambda x: np.sum(FUNCTIONAL[name](x)))
    found = by_kernels(name, lambda: gradient(x), monkeypatch)
    monkeypatch.setattr(fg.config, "kernels", False)
    close(found, gradient(x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", TENSORS)
def test_backward(name, dtype, monkeypatch):
    x = torch.tensor(argument(dtype)).requires_grad_()

    def step():
        x.grad = None
        TENSORS[name](x).sum().backward()
        return x.grad.numpy()

    found = by_kernels(name, step, monkeypatch)
    monkeypatch.setattr(fg.config, "kernels", False)
    close(found, step())
