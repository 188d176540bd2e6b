"""The first programs of a tutorial: a cubic fitted to a sine, in six forms that grow."""

import math

import pytest

from .compare import agree, learned

STEPS = 100


def points(t):
    x = t.linspace(-math.pi, math.pi, 200)
    return x, t.sin(x)


def by_hand(t):
    x, y = points(t)
    a, b, c, d = (t.randn(()) for _ in range(4))
    losses = []
    for _ in range(STEPS):
        y_pred = a + b * x + c * x**2 + d * x**3
        losses.append((y_pred - y).pow(2).sum().item())
        grad = 2.0 * (y_pred - y)
        a -= 1e-5 * grad.sum()
        b -= 1e-5 * (grad * x).sum()
        c -= 1e-5 * (grad * x**2).sum()
        d -= 1e-5 * (grad * x**3).sum()
    return {"loss": losses, "found": [v.item() for v in (a, b, c, d)]}


def by_autograd(t):
    x, y = points(t)
    a, b, c, d = (t.randn((), requires_grad=True) for _ in range(4))
    losses = []
    for _ in range(STEPS):
        loss = (a + b * x + c * x**2 + d * x**3 - y).pow(2).sum()
        losses.append(loss.item())
        loss.backward()
        with t.no_grad():
            for v in (a, b, c, d):
                v -= 1e-5 * v.grad
                v.grad = None
    return {"loss": losses, "found": [v.item() for v in (a, b, c, d)]}


def by_function(t):
    class LegendrePolynomial3(t.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            ctx.save_for_backward(input)
            return 0.5 * (5 * input**3 - 3 * input)

        @staticmethod
        def backward(ctx, grad_output):
            (input,) = ctx.saved_tensors
            return grad_output * 1.5 * (5 * input**2 - 1)

    x, y = points(t)
    a, b, c, d = (t.full((), v, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
    losses = []
    for _ in range(STEPS):
        y_pred = a + b * LegendrePolynomial3.apply(c + d * x)
        loss = (y_pred - y).pow(2).sum()
        losses.append(loss.item())
        loss.backward()
        with t.no_grad():
            for v in (a, b, c, d):
                v -= 5e-6 * v.grad
                v.grad = None
    return {"loss": losses, "found": [v.item() for v in (a, b, c, d)]}


def by_layers(t):
    x, y = points(t)
    xx = x.unsqueeze(-1).pow(t.tensor([1, 2, 3]))
    model = t.nn.Sequential(t.nn.Linear(3, 1), t.nn.Flatten(0, 1))
    loss_fn = t.nn.MSELoss(reduction="sum")
    losses = []
    for _ in range(STEPS):
        loss = loss_fn(model(xx), y)
        losses.append(loss.item())
        model.zero_grad()
        loss.backward()
        with t.no_grad():
            for param in model.parameters():
                param -= 1e-5 * param.grad
    linear_layer = model[0]
    return {"loss": losses, "bias": linear_layer.bias.item(), "weight": linear_layer.weight}


def by_optimizer(t):
    x, y = points(t)
    xx = x.unsqueeze(-1).pow(t.tensor([1, 2, 3]))
    model = t.nn.Sequential(t.nn.Linear(3, 1), t.nn.Flatten(0, 1))
    loss_fn = t.nn.MSELoss(reduction="sum")
    optimizer = t.optim.RMSprop(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        loss = loss_fn(model(xx), y)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"loss": losses, "model": dict(model.named_parameters())}


def by_module(t):
    class Polynomial3(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = t.nn.Parameter(t.randn(()))
            self.b = t.nn.Parameter(t.randn(()))
            self.c = t.nn.Parameter(t.randn(()))
            self.d = t.nn.Parameter(t.randn(()))

        def forward(self, x):
            return self.a + self.b * x + self.c * x**2 + self.d * x**3

        def string(self):
            found = (p.item() for p in (self.a, self.b, self.c, self.d))
            return "y = {:.3f} + {:.3f} x + {:.3f} x^2 + {:.3f} x^3".format(*found)

    x, y = points(t)
    model = Polynomial3()
    criterion = t.nn.MSELoss(reduction="sum")
    optimizer = t.optim.SGD(model.parameters(), lr=1e-6)
    losses = []
    for _ in range(STEPS):
        loss = criterion(model(x), y)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"loss": losses, "said": model.string(), "shown": repr(model)}


def by_control_flow(t):
    """A network whose depth is drawn at each step, and whose weights are shared."""

    class DynamicNet(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = t.nn.Linear(1, 8)
            self.middle = t.nn.Linear(8, 8)
            self.last = t.nn.Linear(8, 1)

        def forward(self, x):
            h = self.first(x).clamp(min=0)
            for _ in range(int(t.randint(0, 4, ()).item())):
                h = self.middle(h).clamp(min=0)
            return self.last(h)

    x, y = points(t)
    model = DynamicNet()
    optimizer = t.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for _ in range(STEPS):
        loss = t.nn.functional.mse_loss(model(x[:, None]), y[:, None])
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"loss": losses, "model": dict(model.named_parameters())}


FORMS = [by_hand, by_autograd, by_function, by_layers, by_optimizer, by_module, by_control_flow]


@pytest.mark.parametrize("program", FORMS, ids=lambda f: f.__name__)
def test_a_cubic_is_fitted_to_a_sine(program):
    learned(agree(program)["loss"], 0.9)
