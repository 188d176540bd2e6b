"""Products with identity matrices: the same values, infinities, NaN and signs of zero."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.graph.check import check
from funcgrad.graph.interpret import evaluate
from funcgrad.passes.identities import identities
from funcgrad.passes.pipeline import optimize

SPECIAL = [1.5, -2.0, 0.0, -0.0, np.inf, -np.inf, np.nan]


def products(graph):
    return [e for e in graph.equations if e.prim.name == "matmul"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.eye(3, dtype=x.dtype) @ x,
        lambda x: x.T @ np.eye(3, dtype=x.dtype),
        lambda x: np.eye(3, dtype=x.dtype) @ np.stack([x, 2 * x]),
        lambda x: np.stack([x.T, 2 * x.T]) @ np.eye(3, dtype=x.dtype),
        lambda x: np.eye(3, dtype=x.dtype) @ x[:, 0],
        lambda x: x[:, 0] @ np.eye(3, dtype=x.dtype),
    ],
)
def test_values(f, dtype):
    columns = list(itertools.product(SPECIAL, repeat=3))
    for x in (np.array(columns, dtype).T.copy(), np.ones((3, 1), dtype)):
        graph = fg.make_graph(f)(x)
        small = identities(graph)
        check(small)
        assert not products(small)
        with np.errstate(all="ignore"):
            (got,), want = evaluate(small, x), f(x)
        native = fg.jit(f)(x)
        for found in (got, native):
            assert found.dtype == want.dtype
            np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("n", [2, 5])
def test_other_matrices_are_multiplied(n):
    x = np.arange(n * 3.0).reshape(n, 3)
    for matrix in (2 * np.eye(n), np.ones((n, n)), np.eye(n)[::-1].copy()):
        graph = fg.make_graph(lambda x, m=matrix: m @ x)(x)
        assert len(products(identities(graph))) == 1


def test_a_hessian_multiplies_once():
    def loss(w, x):
        return np.sum(np.log1p(np.exp(x @ w)))

    rng = np.random.default_rng(0)
    w, x = rng.standard_normal(6), rng.standard_normal((40, 6))
    graph = fg.make_graph(fg.hessian(loss))(w, x)
    matrices = [e for e in products(optimize(graph)) if all(a.type.ndim == 2 for a in e.inputs)]
    assert len(matrices) == 1
    np.testing.assert_allclose(fg.jit(fg.hessian(loss))(w, x), fg.hessian(loss)(w, x), rtol=1e-12)
