"""`cumprod` at infinite factors and zeros: its derivative is that of the products written out."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as facade

INF = np.inf
POINTS = [
    [1.0, INF, 2.0],
    [INF, 1.0, 2.0],
    [1.0, 2.0, INF],
    [0.0, INF, 1.0],
    [INF, 0.0, 1.0],
    [1.0, 0.0, INF],
    [0.0, 0.0, INF],
    [1.0, np.nan, 0.0],
]
WEIGHTS = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


def products(x):
    first = x[0]
    second = first * x[1]
    return [first, second, second * x[2]]


def pulled(torch, function, x, w):
    t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    function(t).backward(torch.tensor(w, dtype=torch.float64))
    return np.array(t.grad.numpy())


@pytest.mark.parametrize("x", POINTS, ids=str)
@pytest.mark.parametrize("w", WEIGHTS, ids=str)
def test_the_number_0_times_infinity_is_nan_as_in_pytorch(x, w):
    torch = pytest.importorskip("torch")
    want = pulled(torch, lambda t: torch.stack(products(t)), x, w)
    np.testing.assert_array_equal(pulled(facade, lambda t: facade.cumprod(t, 0), x, w), want)
    with np.errstate(all="ignore"):
        for transform in (fg.grad, lambda f: fg.jit(fg.grad(f))):
            got = transform(lambda v: np.sum(np.array(w) * np.cumprod(v)))(np.array(x))
            np.testing.assert_array_equal(got, want)


JACOBIANS = {
    "jacrev": fg.jacrev,
    "jacfwd": fg.jacfwd,
    "jit of jacrev": lambda f: fg.jit(fg.jacrev(f)),
    "jit of jacfwd": lambda f: fg.jit(fg.jacfwd(f)),
    "gradients": lambda f: (
        lambda x: np.stack([fg.grad(lambda v, k=k: f(v)[k])(x) for k in range(3)])
    ),
}


@pytest.mark.parametrize("jacobian", JACOBIANS)
@pytest.mark.parametrize("x", POINTS, ids=str)
def test_products_that_were_not_taken_are_absent(x, jacobian):
    with np.errstate(all="ignore"):
        want = fg.jacrev(lambda v: np.stack(products(v)))(np.array(x))
        np.testing.assert_array_equal(JACOBIANS[jacobian](np.cumprod)(np.array(x)), want)


@pytest.mark.parametrize("shape", [(3, 10), (10, 3), (40, 300)])
def test_many_lines(shape):
    """Rows of arrays and native loops do what Python numbers do."""
    x = np.random.default_rng(0).normal(size=shape)
    x[1, 2] = INF
    w = np.where(np.arange(shape[1]) % 2, 0.0, 1.0)
    with np.errstate(all="ignore"):
        got = fg.grad(lambda v: np.sum(w * np.cumprod(v, 1)))(x)
        line = fg.grad(lambda v: np.sum(w * np.cumprod(v)))
        np.testing.assert_allclose(got, [line(row) for row in x], rtol=1e-9)
