"""Values and gradients at numbers that are none, infinite, denormal or at the end of a domain."""

import numpy as np
import pytest

import funcgrad.torch as ours

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peers
INF, NAN = np.inf, np.nan
POINTS = [-INF, -2.0, -1.0, 0.0, 0.25, 0.5, 1.0, 2.0, INF, NAN, 1e-40]

FUNCTIONS = {
    "angle": lambda t, x: t.angle(x),
    "entr": lambda t, x: t.special.entr(x),
    "frexp": lambda t, x: t.frexp(x)[0],
    "logit": lambda t, x: t.logit(x),
    "log_softmax": lambda t, x: t.nn.functional.log_softmax(x, -1),
    "softmax": lambda t, x: t.nn.functional.softmax(x, -1),
}


@pytest.mark.parametrize("times", [1, 3000])  # native code serves many elements
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_of_pytorch(name, dtype, times):
    numbers = np.tile(np.array(POINTS, dtype), times)
    found = []
    for t in (torch, ours):
        x = t.tensor(numbers, requires_grad=True)
        y = FUNCTIONS[name](t, x)
        y.sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
    for theirs, own in zip(*found):
        np.testing.assert_allclose(own, theirs, rtol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize("rows, classes", [(3, 4), (400, 33), (4000, 300)])
@pytest.mark.parametrize("edge", [INF, -INF, NAN])
def test_a_class_without_a_number_spoils_what_it_does_in_pytorch(edge, rows, classes):
    logits = np.random.default_rng(rows).normal(size=(rows, classes)).astype(np.float32)
    logits[1, 2] = edge
    found = []
    for t in (torch, ours):
        x = t.tensor(logits, requires_grad=True)
        target = t.tensor(np.arange(rows) % classes)
        loss = t.nn.functional.cross_entropy(x, target, reduction="none")
        loss.sum().backward()
        found.append((loss.detach().numpy(), x.grad.numpy()))
    for theirs, own in zip(*found):
        np.testing.assert_allclose(own, theirs, rtol=1e-4, atol=1e-5)


def test_heaviside_of_nan_is_zero():
    x = [-1.0, -0.0, 0.0, 2.0, NAN]
    theirs, own = (t.heaviside(t.tensor(x), t.tensor(0.5)).tolist() for t in (torch, ours))
    assert own == theirs == [0.0, 0.5, 0.5, 1.0, 0.0]


@pytest.mark.parametrize("line", [[1.0, NAN, NAN, 2.0], [NAN, 1.0, 1.0, NAN, NAN], [NAN, NAN]])
def test_nan_is_not_the_mode_of_numbers(line):
    theirs, own = (t.mode(t.tensor(line)) for t in (torch, ours))
    np.testing.assert_array_equal(own.values.numpy(), theirs.values.numpy())
    assert own.indices.item() == theirs.indices.item()
