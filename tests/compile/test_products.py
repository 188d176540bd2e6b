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
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_values_and_gradients(shapes):
    x, y = (rng.standard_normal(s) for s in shapes)
    check(fg.make_graph(lambda x, y: x @ y)(x, y), x, y)
    both = fg.value_and_grad(lambda x, y: np.sin(x @ y).sum(), (0, 1))
    check(fg.make_graph(both)(x, y), x, y)


def test_gradients_of_examples_are_outer_products():
    def loss(w, x):
        return (np.tanh(x @ w) ** 2).sum()

    w, x = rng.standard_normal((3, 4)), rng.standard_normal((6, 3))
    made = check(fg.make_graph(fg.vmap(fg.grad(loss), (None, 0)))(w, x), w, x)
    assert made.explain().count("NumPy") == 1  # the product of the examples with the weights


def test_a_stopped_gradient_costs_nothing():
    x = rng.standard_normal((5, 6))
    graph = fg.make_graph(lambda x: np.exp(x - fg.stop_gradient(x.max(1, keepdims=True))))(x)
    made = check(graph, x)
    assert made.explain().count("\n") == 0 and "NumPy" not in made.explain()
