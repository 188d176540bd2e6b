"""Sums of many products are one product, those of an array's rows a stack, with the same values."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.graph.check import check
from funcgrad.graph.interpret import evaluate
from funcgrad.ops.index import PLACE
from funcgrad.ops.product import MATMUL
from funcgrad.passes.dead_code import dead_code
from funcgrad.passes.long_sums import long_sums

rng = np.random.default_rng(0)
STEPS = 6


def numbers(*shape):
    return rng.standard_normal(shape)


def recurrent(w, v, xs):
    """A state that is multiplied in each step with the same matrix, from the rows of an array."""
    h = np.zeros((3, w.shape[0]))
    for k in range(len(xs)):
        h = np.tanh(xs[k] @ v + h @ w)
    return np.sum(h * h)


def count(graph, prim):
    return sum(e.prim is prim for e in graph.equations)


def shortened(f, *xs):
    """The graph of `f` before and after the pass, which agree."""
    graph = fg.make_graph(f)(*xs)
    small = dead_code(long_sums(graph))
    check(small)
    for got, want in zip(evaluate(small, *xs), evaluate(graph, *xs), strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    return dead_code(graph), small


def test_what_a_matrix_gets_from_each_step_is_one_product():
    xs = numbers(8, 8), numbers(5, 8), numbers(STEPS, 3, 5)
    before, after = shortened(fg.grad(recurrent, (0, 1)), *xs)
    # forward, back to the state before, and one for each matrix
    assert count(before, MATMUL) - count(after, MATMUL) >= 2 * (STEPS - 2)


def test_what_an_array_gets_row_by_row_is_a_stack():
    xs = numbers(8, 8), numbers(5, 8), numbers(STEPS, 3, 5)
    before, after = shortened(fg.grad(recurrent, 2), *xs)
    assert count(before, PLACE) == STEPS and count(after, PLACE) == 0


def test_a_row_of_negative_zeros_is_one_of_zeros_as_in_the_sum():
    def f(x, c):
        return sum(np.sum(x[k] * c[k]) for k in range(5))

    xs = np.ones((5, 3)), np.full((5, 3), -0.0)
    graph = fg.make_graph(fg.grad(f))(*xs)
    (got,), (want,) = evaluate(long_sums(graph), *xs), evaluate(graph, *xs)
    assert not np.signbit(want).any() and not np.signbit(got).any()


def read(*rows):
    return lambda x: sum(np.sum(np.sin(x[k])) for k in rows)


@pytest.mark.parametrize(
    "rows",
    [(0, 1, 2, 3, 4, 4, 2), (0, 1, 2, 3), (-1, 0, 1, 2, 3), (4, 3, 2, 1, 0, 0)],
    ids=str,
)
def test_rows_that_come_twice_or_never(rows):
    shortened(fg.grad(read(*rows)), numbers(5, 3))


def test_products_of_a_stack_that_are_added_up():
    def f(x, y):
        return np.sum(np.matmul(np.swapaxes(x, 1, 2), y), 0)

    xs = numbers(7, 2, 9), numbers(7, 2, 8)
    _, after = shortened(f, *xs)
    assert all(e.outputs[0].type.ndim == 2 for e in after.equations if e.prim is MATMUL)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: sum((x + k) @ y for k in range(3)),  # too few
        lambda x, y: sum(((x + k) @ (y - k) for k in range(6)), start=x @ y)[..., 0],
        lambda x, y: [p := [(x + k) @ y for k in range(5)], sum(p), p[2]][1:],  # one is needed
    ],
)
def test_other_sums(f):
    shortened(lambda x, y: tuple(np.atleast_1d(o) for o in f(x, y)), numbers(4, 3), numbers(3, 5))


def test_a_product_that_is_needed_elsewhere_stays():
    def f(x, y):
        products = [np.sin(x + k) @ y for k in range(6)]
        return sum(products[1:], products[0]), products[2]

    before, after = shortened(f, numbers(9, 2), numbers(2, 9))
    assert (count(before, MATMUL), count(after, MATMUL)) == (6, 2)


def test_nothing_passes_the_border_of_a_checkpoint():
    def f(w, x):
        total = x @ w
        for k in range(6):
            total = total + fg.checkpoint(lambda w, x, k=k: np.sin(x + k) @ w)(w, x)
        return np.sum(total**2)

    shortened(fg.grad(f), numbers(2, 9), numbers(9, 2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_gradients_agree(dtype):
    xs = [x.astype(dtype) for x in (0.1 * numbers(16, 16), numbers(5, 16), numbers(24, 3, 5))]
    gradient = fg.grad(recurrent, (0, 1, 2))
    for got, want in zip(fg.jit(gradient)(*xs), gradient(*xs), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=300 * np.finfo(dtype).eps)
