"""`rrelu`: PyTorch's slopes for the same seed, its derivatives and its refusals."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, same_derivatives

X = np.array([[-1.0, 2.0, 0.0, -0.5], [0.25, -3.0, -0.1, 1.5], [-2.0, -2.5, 0.75, -0.0]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slopes_are_drawn_as_pytorch_draws_them(dtype):
    def program(torch, say):
        f = torch.nn.functional
        x = torch.tensor(X.astype(dtype))
        torch.manual_seed(0)
        for y in (x, x.t(), x[:, ::2], x[0, 0], x[:0], x * np.nan):
            say(f.rrelu(y, training=True).tolist(), torch.rrelu(y, 0.2, 0.7, True).tolist())
        z = x.clone()
        say(f.rrelu_(z, training=True) is z, z.tolist(), z._version, torch.rand(1).item())
        say(torch.rrelu(x, 0.1, 0.2, True, torch.Generator().manual_seed(3)).tolist())
        say(torch.nn.RReLU(0.1, 0.4, inplace=True)(z).tolist())

    same(program)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_in_evaluation_the_slope_is_the_mean_of_the_bounds(dtype):
    x = ours.tensor(X.astype(dtype))
    expected = ours.nn.functional.leaky_relu(x, (1 / 8 + 1 / 3) / 2)
    assert ours.equal(ours.nn.functional.rrelu(x), expected)
    assert ours.equal(ours.nn.RReLU().eval()(x), expected)
    state = ours.get_rng_state()
    ours.rrelu(x)
    assert ours.equal(state, ours.get_rng_state())


@pytest.mark.parametrize("bounds", [(0.1, 0.4), (-0.2, -0.1), (0.2, 0.2)])
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_gradients_of_both_orders(training, inplace, bounds):
    if inplace and not training and bounds[0] < 0:
        pytest.skip("PyTorch has no derivative of it: it goes by the result")

    def function(torch, x):
        torch.manual_seed(0)
        return torch.nn.functional.rrelu(x * 1, *bounds, training=training, inplace=inplace)

    same_derivatives(function, X)


def test_the_nodes_are_pytorchs():
    def program(torch, say):
        x = torch.tensor(X, requires_grad=True)
        for training in (False, True):
            for inplace in (False, True):
                y = torch.nn.functional.rrelu(x * 1, 0.1, 0.4, training, inplace)
                node = y.grad_fn
                say(type(node).__name__, len(node.next_functions), node._saved_lower,
                    node._saved_upper, node._saved_training)  # fmt: skip

    same(program)


def test_bad_calls_are_refused_in_pytorchs_words():
    def program(torch, say):
        f, x = torch.nn.functional.rrelu, torch.tensor([-1.0, 1.0])
        calls = [
            lambda: f(x, 0.5, 0.1, True), lambda: f(x, 0.5, 0.1), lambda: f(x, np.nan, 1.0, True),
            lambda: f(x, 0.0, np.inf, True), lambda: f(1.0), lambda: f(x, -np.inf, 1.0),
            lambda: torch.rrelu_(x.clone().requires_grad_(), training=True),
        ]  # fmt: skip
        for dtype in (torch.float16, torch.int64, torch.bool, torch.complex64):
            calls.append(lambda d=dtype: f(x.to(d), training=True))
        for dtype in (torch.int64, torch.bool, torch.complex64):
            calls.append(lambda d=dtype: f(x.to(d)))
        for call in calls:
            try:
                call()
            except Exception as error:
                say(type(error).__name__, error)
            else:
                say("taken")

    same(program)


def test_the_layer_is_pytorchs():
    def program(torch, say):
        for layer in (torch.nn.RReLU(), torch.nn.RReLU(0.1, 0.2, True)):
            say(layer, layer.lower, layer.upper, layer.inplace, layer.state_dict())

    same(program)


def test_under_vmap_each_example_has_slopes_of_its_own():
    f = lambda x: ours.nn.functional.rrelu(x, training=True)
    found = ours.func.vmap(f, randomness="different")(-ours.ones(3, 4))
    assert found.unique().numel() == 12
    with pytest.raises(RuntimeError, match="randomness error mode"):
        ours.func.vmap(f)(-ours.ones(3, 4))
