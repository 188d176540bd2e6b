"""Products of stacks in native code: values as NumPy's, and what they are written as."""

import numpy as np
import pytest
from native import check

import funcgrad as fg

rng = np.random.default_rng(0)
SHAPES = [
    ((4, 3, 1), (4, 1, 5)),
    ((3, 1), (1, 5)),
    ((4, 1, 3), (4, 3, 1)),
    ((4, 1, 3), (3, 1)),
    ((2, 4, 3), (3, 5)),
    ((2, 4, 1, 3), (3, 5)),
    ((4, 3), (7, 3, 1)),
    ((4, 3), (2, 7, 3, 1)),
    ((2, 4, 3), (2, 3, 5)),
    ((4, 3), (3, 5)),
    ((5, 100, 2), (5, 2, 3)),
    ((100, 4), (4, 3)),
    ((5, 2, 300), (5, 300, 3)),
    ((3, 300), (5, 300, 4)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_values_and_gradients(shapes):
    x, y = (rng.standard_normal(s) for s in shapes)
    check(fg.make_graph(lambda x, y: x @ y)(x, y), x, y)
    both = fg.value_and_grad(lambda x, y: np.sin(x @ y).sum(), (0, 1))
    check(fg.make_graph(both)(x, y), x, y, size=1.0)  # the terms of the sum, which cancel


def test_gradients_of_examples_are_outer_products():
    def loss(w, x):
        return (np.tanh(x @ w) ** 2).sum()

    w, x = rng.standard_normal((3, 4)), rng.standard_normal((6, 3))
    made = check(fg.make_graph(fg.vmap(fg.grad(loss), (None, 0)))(w, x), w, x)
    assert made.explain().count("matmul") == 1  # the product of the examples with the weights


def test_a_stopped_gradient_costs_nothing():
    x = rng.standard_normal((5, 6))
    graph = fg.make_graph(lambda x: np.exp(x - fg.stop_gradient(x.max(1, keepdims=True))))(x)
    made = check(graph, x)
    assert made.explain().count("\n") == 0 and "NumPy" not in made.explain()


def test_the_transpose_of_a_product_is_made_in_order():
    def f(x, y):
        return np.sin((x @ y).T)

    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    compiled = fg.jit(f)
    np.testing.assert_allclose(compiled(x, y), f(x, y), 1e-14)
    assert "matmul of float64[4,3], float64[3,2]" in compiled.explain(x, y)


def test_a_number_is_computed_before_the_loops():
    def f(x, k):
        return x / np.sqrt(1 - 0.9**k)

    x, k = np.arange(12.0), np.float64(3.0)
    compiled = fg.jit(f)
    np.testing.assert_allclose(compiled(x, k), f(x, k), 1e-14)
    kernels = compiled.explain(x, k).splitlines()
    assert "sqrt" in kernels[0] and "sqrt" not in kernels[1]


def test_the_layers_of_a_network_are_kernels():
    from funcgrad.ops.activation import relu
    from funcgrad.ops.softmax import log_softmax, softmax

    x = np.array([[0.5, -0.0, -2.0, np.nan], [1e4, 0.0, -1e4, -np.inf], [np.inf, 1.0, -1.0, 2.0]])
    for dtype in (np.float64, np.float32):
        given = x.astype(dtype)
        for f, kernel in ((relu, "relu"), (softmax, "exp"), (log_softmax, "log")):
            compiled = fg.jit(f)
            found, expected = compiled(given), f(given)
            assert found.dtype == dtype and "NumPy" not in compiled.explain(given)
            assert kernel in compiled.explain(given)
            np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
            np.testing.assert_allclose(found, expected, 8 * np.finfo(dtype).eps)
        zero = fg.jit(relu)(given)[0, 1]
        assert np.signbit(zero) and zero == 0


def test_short_products_fuse():
    """Points against centres, each with a matrix of its own: one kernel, no array of all pairs."""

    def f(x, centres, matrices):
        away = (x - centres[:, None]) @ matrices
        return np.log(np.exp(-0.5 * (away * away).sum(2)).sum(0)).sum()

    x, centres = rng.standard_normal((1000, 2)), rng.standard_normal((5, 2))
    matrices = rng.standard_normal((5, 2, 2))
    both = fg.value_and_grad(f, (1, 2))
    made = check(fg.make_graph(both)(x, centres, matrices), x, centres, matrices)
    assert "NumPy" not in made.explain()
    assert "lanes over rows" in made.explain()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(7, 300, 6), (5, 1000, 13), (1, 257, 48)], ids=str)
def test_vectors_times_small_matrices_are_parts_of_kernels(shape, dtype):
    """Vectors between products with square matrices, forward and backward, and their sums."""
    count, length, width = shape

    def f(x, centres, matrices):
        away = np.tanh(x - centres[:, None])
        moved = 0.5 * away + away @ matrices
        again = np.sin(moved) @ np.swapaxes(matrices, 1, 2)
        return np.log(np.exp(-(again * away).sum(2)).sum(0)).sum() + moved.max()

    rng = np.random.default_rng(width)
    x, centres = rng.standard_normal((length, width)), rng.standard_normal((count, width))
    matrices = rng.standard_normal((count, width, width)) / width
    args = [a.astype(dtype) for a in (x, centres, matrices)]
    made = check(fg.make_graph(fg.value_and_grad(f, (0, 1, 2)))(*args), *args, size=100.0)
    inside = [line for line in made.explain().splitlines() if "in one kernel" in line]
    assert any("matmul" in line for line in inside)


def test_the_same_bits_of_small_products_for_any_number_of_threads(monkeypatch):
    def f(x, matrices):
        return ((np.tanh(x) @ matrices) ** 2).sum(2)

    x, matrices = rng.standard_normal((40, 1000, 8)), rng.standard_normal((40, 8, 8))
    both = fg.jit(fg.value_and_grad(lambda x, m: f(x, m).sum(), (0, 1)))
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(fg.config, "threads", threads)
        found.append(both(x, matrices))
    for value, (gx, gm) in found[1:]:
        assert value == found[0][0]
        np.testing.assert_array_equal(gx, found[0][1][0])
        np.testing.assert_array_equal(gm, found[0][1][1])
