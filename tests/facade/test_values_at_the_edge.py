"""Values and gradients at numbers that are none, infinite, denormal or at the end of a domain."""

import numpy as np
import pytest

import funcgrad.torch as ours

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peers
INF, NAN = np.inf, np.nan
POINTS = [-INF, -2.0, -1.0, 0.0, 0.25, 0.5, 1.0, 2.0, INF, NAN, 1e-40]

FUNCTIONS = {
    "abs": lambda t, x: t.abs(x),
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


LIMITED = {  # PyTorch's loop of vectors; the rest behind it, of few elements, has other answers
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x),
    "hardsigmoid": lambda t, x: t.nn.functional.hardsigmoid(x),
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "logit with eps": lambda t, x: t.logit(x, eps=0.1),
    "relu6": lambda t, x: t.nn.functional.relu6(x),
}


@pytest.mark.parametrize("size", [64, 6400])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LIMITED)
def test_a_nan_moves_nothing_that_is_limited(name, dtype, size):
    for t in (torch, ours):
        x = t.full((size,), NAN, dtype=getattr(t, dtype), requires_grad=True)
        y = LIMITED[name](t, x)
        y.sum().backward()
        assert np.isnan(y.detach().numpy()).all()
        assert not x.grad.numpy().any()


PAIRS = {
    "clamp to at least": lambda t, x, y: t.clamp(x, min=y),
    "clamp to at most": lambda t, x, y: t.clamp(x, max=y),
    "clamp between": lambda t, x, y: t.clamp(x, y, y + 1),
    "copysign": lambda t, x, y: t.copysign(x, y),
    "l1_loss": lambda t, x, y: t.nn.functional.l1_loss(x, y, reduction="sum"),
    "logaddexp": lambda t, x, y: t.logaddexp(x, y),
    "logaddexp2": lambda t, x, y: t.logaddexp2(x, y),
    "maximum": lambda t, x, y: t.maximum(x, y),
    "minimum": lambda t, x, y: t.minimum(x, y),
    "nextafter": lambda t, x, y: t.nextafter(x, y),
    "smooth_l1_loss": lambda t, x, y: t.nn.functional.smooth_l1_loss(x, y, beta=0.0),
}


@pytest.mark.parametrize("times", [1, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PAIRS)
def test_both_gradients_are_those_of_pytorch(name, dtype, times):
    grid = np.meshgrid(POINTS[:-1], POINTS[:-1])
    pairs = [np.tile(part.ravel().astype(dtype), times) for part in grid]
    found = []
    for t in (torch, ours):
        x, y = (t.tensor(part, requires_grad=True) for part in pairs)
        PAIRS[name](t, x, y).sum().backward()
        found.append((x.grad.numpy(), y.grad.numpy()))
    for theirs, own in zip(*found):
        np.testing.assert_allclose(own, theirs, rtol=64 * np.finfo(dtype).eps)


ROWS = [
    [1.0, 2.0, 2.0], [NAN, 1.0, 2.0], [INF, 1.0, 2.0], [-INF, 1.0, 2.0], [INF, INF, 1.0],
    [-INF, -INF, -INF], [INF, -INF, 3.0], [NAN, NAN, NAN], [2.0, NAN, 2.0], [-3.0, 3.0, 1.0],
]  # fmt: skip
REDUCTIONS = {
    "amax": lambda t, x: t.amax(x, -1),
    "amin": lambda t, x: t.amin(x, -1),
    "aminmax": lambda t, x: sum(t.aminmax(x, dim=-1)),
    "logsumexp": lambda t, x: t.logsumexp(x, -1),
    "nanmean": lambda t, x: t.nanmean(x, -1),
    "norm 1": lambda t, x: t.linalg.vector_norm(x, 1, -1),
    "norm inf": lambda t, x: t.linalg.vector_norm(x, INF, -1),
    "norm -inf": lambda t, x: t.linalg.vector_norm(x, -INF, -1),
    "norm 1 of two axes": lambda t, x: t.linalg.vector_norm(x.reshape(-1, 3, 1), 1, (1, 2)),
    "prod": lambda t, x: t.prod(x, -1),
}


@pytest.mark.parametrize("times", [1, 3000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_gradients_of_reductions_are_those_of_pytorch(name, dtype, times):
    rows = np.tile(np.array(ROWS, dtype), (times, 1))
    found = []
    for t in (torch, ours):
        x = t.tensor(rows, requires_grad=True)
        y = REDUCTIONS[name](t, x)
        y.sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
    for theirs, own in zip(*found):
        np.testing.assert_allclose(own, theirs, rtol=64 * np.finfo(dtype).eps)


@pytest.mark.parametrize("row", [*ROWS, [0.0, INF, 2.0], [NAN, 0.0, 2.0]])
def test_the_product_of_all_has_the_gradient_of_pytorch(row):
    found = []
    for t in (torch, ours):
        x = t.tensor(row, requires_grad=True)
        x.prod().backward()
        found.append(x.grad.tolist())
    np.testing.assert_allclose(*found[::-1], rtol=1e-6)


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
