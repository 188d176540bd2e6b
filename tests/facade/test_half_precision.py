"""Half precision: computed in single precision where PyTorch does so, and running sums wider."""

import numpy as np
import pytest

import funcgrad.torch as ours

try:
    import torch as theirs
except ImportError:
    theirs = None

needs_torch = pytest.mark.skipif(theirs is None, reason="PyTorch is not installed")
RANDOM = np.random.RandomState(0)
DATA = {
    "large": np.full((300, 4), 300.0),  # a square overflows
    "long": np.ones((6000, 3)),  # a sum stops at 2048
    "spread": RANDOM.randn(200, 5) * 100,
}
OPERATIONS = {
    "sum": lambda m, x: x.sum(0),
    "mean": lambda m, x: x.mean(0),
    "nansum": lambda m, x: x.nansum(0),
    "prod": lambda m, x: (x / 300).prod(0),
    "std": lambda m, x: x.std(0),
    "std of all": lambda m, x: x.std(),
    "var_mean": lambda m, x: m.var_mean(x / 10, 0)[0],
    "norm": lambda m, x: x.norm(dim=0),
    "norm of all": lambda m, x: x.norm(),
    "norm 1": lambda m, x: x.norm(p=1, dim=0),
    "dist": lambda m, x: m.dist(x, x + 1),
    "renorm": lambda m, x: m.renorm(x, 2, 0, 1.0),
    "logsumexp": lambda m, x: m.logsumexp(x, 0),
    "softmax": lambda m, x: m.softmax(x, 0),
    "cumsum": lambda m, x: (x / 10).cumsum(0),
    "cumprod": lambda m, x: (x / 300).cumprod(0),
    "normalize": lambda m, x: m.nn.functional.normalize(x, dim=0),
    "cosine_similarity": lambda m, x: m.nn.functional.cosine_similarity(x, x + 1, dim=0),
    "pairwise_distance": lambda m, x: m.nn.functional.pairwise_distance(x, x * 0),
    "addcmul": lambda m, x: m.addcmul(x, x, x, value=0.001),
    "lerp": lambda m, x: m.lerp(x, x + 1, 0.3),
    "index_add": lambda m, x: m.zeros(2, x.shape[1], dtype=x.dtype).index_add(
        0, m.zeros(x.shape[0], dtype=m.int64), x / 10
    ),
    "scatter_add": lambda m, x: m.zeros(1, x.shape[1], dtype=x.dtype).scatter_add(
        0, m.zeros(x.shape, dtype=m.int64), x / 10
    ),
}


def evaluated(m, operation, data):
    x = m.tensor(data.astype(np.float16)).requires_grad_()
    y = operation(m, x)
    (y.float() * 0.01).sum().backward()
    return str(y.dtype).split(".")[-1], y.detach().float().numpy(), x.grad.float().numpy()


@pytest.mark.peers
@needs_torch
@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("name", OPERATIONS)
def test_value_and_gradient(name, kind):
    expected = evaluated(theirs, OPERATIONS[name], DATA[kind])
    found = evaluated(ours, OPERATIONS[name], DATA[kind])
    assert found[0] == expected[0] == "float16"
    for mine, other in zip(found[1:], expected[1:], strict=True):
        assert (np.isfinite(mine) == np.isfinite(other)).all()
        finite = np.isfinite(other)
        size = np.abs(other[finite]).max(initial=1e-3)
        # the derivative of a deviation is a difference, which PyTorch rounds in half precision
        tolerance = 0.1 if name.startswith(("std", "normalize", "cosine")) else 5e-3
        np.testing.assert_allclose(mine[finite], other[finite], atol=tolerance * size, rtol=5e-3)


@pytest.mark.peers
@needs_torch
def test_running_sums_of_single_precision_have_the_bits_of_double():
    x = np.full(10**6, 0.1, np.float32)
    for name in ("cumsum", "cumprod"):
        expected = getattr(theirs.tensor(x), name)(0).numpy()
        np.testing.assert_array_equal(getattr(ours.tensor(x), name)(0).numpy(), expected)


@pytest.mark.peers
@needs_torch
@pytest.mark.parametrize("order", [1.0, 2.0, float("inf")])
def test_clipping_does_not_overflow(order):
    def clipped(m):
        p = m.zeros(10, dtype=m.float16, requires_grad=True)
        p.grad = m.full((10,), 300.0, dtype=m.float16)
        total = m.nn.utils.clip_grad_norm_([p], 1.0, order)
        return total.item(), p.grad.tolist()

    assert clipped(ours) == clipped(theirs)
