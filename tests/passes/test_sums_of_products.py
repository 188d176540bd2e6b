"""Sums over rows and columns of products: taken first, with the same values."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.graph.check import check
from funcgrad.graph.interpret import evaluate
from funcgrad.passes.pipeline import optimize
from funcgrad.passes.sums_of_products import sums_of_products

rng = np.random.default_rng(0)

CASES = {
    "rows": (lambda x, y: np.sum(x @ y, 0), (6, 3), (3, 5)),
    "columns": (lambda x, y: np.sum(x @ y, 1, keepdims=True), (6, 3), (3, 5)),
    "both": (lambda x, y: np.sum(x @ y), (6, 3), (3, 5)),
    "stack": (lambda x, y: np.sum(x @ y, -2), (4, 6, 3), (4, 3, 5)),
    "stack and rows": (lambda x, y: np.sum(x @ y, (0, 1)), (4, 6, 3), (3, 5)),
    "other stack": (lambda x, y: np.sum(x @ y, (0, 2), keepdims=True), (6, 3), (4, 3, 5)),
    "stack of both": (lambda x, y: np.sum(x @ y, (0, 1)), (4, 6, 3), (4, 3, 5)),
    "taken away": (lambda x, y: np.sum(-(x - x @ y), 0), (6, 3), (3, 3)),
    "two products": (lambda x, y: np.sum(x @ y - (x - np.sin(x) @ y), 0), (6, 3), (3, 3)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case, dtype):
    f, *shapes = CASES[case]
    x, y = (rng.standard_normal(s).astype(dtype) for s in shapes)
    graph = fg.make_graph(f)(x, y)
    small = sums_of_products(graph)
    check(small)
    assert small.equations != graph.equations
    (got,), want = evaluate(optimize(small), x, y), f(x, y)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=100 * np.finfo(dtype).eps)
    np.testing.assert_allclose(fg.jit(f)(x, y), want, rtol=0, atol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: (np.sum(x @ y, 0), np.exp(x @ y)),  # is needed as it is
        lambda x, y: np.sum(np.exp(x @ y), 0),
        lambda x, y: np.sum((x @ y) * 2.0, 0),
        lambda x, y: np.sum(x @ y, 0, dtype=np.float32),
    ],
)
def test_other_sums_stay(f):
    x, y = rng.standard_normal((6, 3)), rng.standard_normal((3, 5))
    graph = fg.make_graph(f)(x, y)
    assert sums_of_products(graph).equations == graph.equations


def test_a_sum_of_a_stack_of_products_stays():
    x, y = rng.standard_normal((4, 6, 3)), rng.standard_normal((4, 3, 5))
    graph = fg.make_graph(lambda x, y: np.sum(x @ y, 0))(x, y)
    assert sums_of_products(graph).equations == graph.equations


def test_infinities_and_nan_are_kept():
    x = np.array([[1.0, 2.0], [np.inf, 1.0], [3.0, -4.0]])
    y = np.array([[1.0, 0.0, -1.0], [2.0, np.nan, 1.0]])
    f = fg.jit(lambda x, y: np.sum(x @ y, 0))
    np.testing.assert_array_equal(f(x, y), np.sum(x @ y, 0))


def test_the_gradient_of_a_mean_of_squares_has_one_product_less():
    def loss(shift, scale, x):
        return np.sum(np.sin((x - shift) @ scale))

    shift, scale, x = (
        rng.standard_normal(4),
        rng.standard_normal((4, 4)),
        rng.standard_normal((50, 4)),
    )
    graph = optimize(fg.make_graph(fg.grad(loss, (0, 1)))(shift, scale, x))
    products = [e for e in graph.equations if e.prim.name == "matmul"]
    assert sum(e.outputs[0].type.size >= 50 for e in products) == 1
