"""The loops of models that users write are found: value, gradient, second order and examples."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.graph.interpret import evaluate
from funcgrad.transforms.rolling import rolled
from tests.transforms.rolling_models import MODELS, N
from tests.transforms.rolling_programs import close

P, X = np.array([0.3, 0.7, 0.2, 0.5]), np.random.default_rng(0).normal(size=N)


def product(f):
    return lambda p, x: fg.jvp(lambda p: fg.grad(f)(p, x), (p,), (np.ones(4),))[1]


def mapped(f):
    return lambda p, x: fg.vmap(fg.grad(f), (None, 0))(p, x)


@pytest.mark.parametrize("f", MODELS, ids=lambda f: f.__name__)
def test_value_and_gradient_compiled(f):
    compiled = fg.jit(fg.value_and_grad(f, (0, 1)))
    close(compiled(P, X), fg.value_and_grad(f, (0, 1))(P, X))
    assert "a loop of" in compiled.explain(P, X)


@pytest.mark.parametrize("f", MODELS, ids=lambda f: f.__name__)
def test_second_order_and_examples(f):
    for g, given in ((product(f), (P, X)), (mapped(f), (P, np.stack([X, 0.5 * X])))):
        graph = fg.make_graph(g)(*given)
        made = rolled(graph)
        close(evaluate(made.graph, *given), evaluate(graph, *given))
        if len(graph.equations) > 300:  # shorter programs stay as they are
            assert len(made.graph.equations) < len(graph.equations) / 3
