"""Anomaly mode: warnings that show the forward call."""

import warnings

import pytest

from .programs import agree, attempt, programs


def catch(say, f):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        attempt(say, f)
    for x in w:
        say("W", x.category.__name__, str(x.message))


def nan(torch, say):
    x = torch.tensor([-1.0, 1.0], requires_grad=True)

    def f():
        with torch.autograd.detect_anomaly():
            y = torch.sqrt(x)
            z = y.sum()
            z.backward()

    catch(say, f)


def nan_unchecked(torch, say):
    x = torch.tensor([-1.0, 1.0], requires_grad=True)

    def f():
        with torch.autograd.detect_anomaly(check_nan=False):
            y = torch.sqrt(x)
            z = y.sum()
            z.backward()
            return x.grad

    catch(say, f)


def forward_outside(torch, say):
    x = torch.tensor([-1.0, 1.0], requires_grad=True)
    y = torch.sqrt(x)
    z = y.sum()

    def f():
        with torch.autograd.detect_anomaly():
            z.backward()

    catch(say, f)


def function(torch, say):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("mine")

    x = torch.tensor([-1.0, 1.0], requires_grad=True)

    def f():
        with torch.autograd.detect_anomaly():
            y = F.apply(x)
            y.sum().backward()

    catch(say, f)


def inplace(torch, say):
    x = torch.tensor([-1.0, 1.0], requires_grad=True)

    def f():
        with torch.autograd.detect_anomaly():
            y = x.exp()
            y.add_(1)
            y.sum().backward()

    catch(say, f)


def double(torch, say):
    x = torch.tensor([-1.0, 1.0], requires_grad=True)

    def f():
        with torch.autograd.detect_anomaly():
            y = x**1.5
            (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            (g * 1).sum().backward()

    catch(say, f)


def setting(torch, say):
    a = torch.autograd
    say(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
    with a.set_detect_anomaly(True):
        say(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
    a.set_detect_anomaly(True, check_nan=False)
    say(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
    a.set_detect_anomaly(False)
    say(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
    with a.set_detect_anomaly(True, False):
        with a.set_detect_anomaly(False):
            say(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
        say(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())


def nested_fn(torch, say):
    def model(x):
        return helper(x)

    def helper(x):
        return torch.sqrt(x)

    x = torch.tensor([-1.0, 1.0], requires_grad=True)

    def f():
        with torch.autograd.set_detect_anomaly(True):
            model(x).sum().backward()

    catch(say, f)


def hook_raises(torch, say):
    x = torch.tensor([-1.0, 1.0], requires_grad=True)

    def h(g):
        raise ValueError("hook")

    def f():
        with torch.autograd.detect_anomaly():
            y = x * 2
            y.register_hook(h)
            y.sum().backward()

    catch(say, f)


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program)
