"""Contractions written as matrix products: values and gradients as NumPy's."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.graph.check import check
from funcgrad.graph.interpret import evaluate
from funcgrad.passes.contractions import contractions

rng = np.random.default_rng(0)
EXTENTS = dict(zip("abcdijklmn", [2, 3, 4, 5, 6, 7, 8, 4, 5, 9], strict=True))
SPECS = [
    "ij,jk->ik",
    "ij,jk->ki",
    "bij,bjk->bik",
    "bij,bkj->bki",
    "bi,kij,bj->bk",
    "n,ni,nj->ij",
    "ij,ij->",
    "ij,ij->i",
    "i,j->ji",
    "ijk,kl,lm->ijm",
    "ijk,jil->kl",
    "aibj,bjck->aick",
    "ij,k->k",
    "ij,kj->j",
    "ijk,ikj->",
    "abc,cd,bd->a",
    "ij,->i",
]


def names(graph):
    return {e.prim.name for e in graph.equations}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("spec", SPECS)
def test_einsum(spec, dtype):
    terms = spec.split("->")[0].split(",")
    xs = [rng.standard_normal([EXTENTS[c] for c in term]).astype(dtype) for term in terms]

    def f(*xs):
        return np.einsum(spec, *xs)

    graph = fg.make_graph(f)(*xs)
    small = contractions(graph)
    check(small)
    assert "einsum" not in names(small)
    (got,), want = evaluate(small, *xs), f(*xs)
    assert got.dtype == want.dtype and got.shape == want.shape
    near = {"rtol": 0, "atol": 2e4 * np.finfo(dtype).eps}
    np.testing.assert_allclose(got, want, **near)
    gradient = fg.grad(lambda *xs: np.sum(np.sin(f(*xs))), tuple(range(len(xs))))
    for a, b in zip(fg.jit(gradient)(*xs), gradient(*xs), strict=True):
        np.testing.assert_allclose(a, b, **near)


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (lambda x, y: np.tensordot(x, y, 1), [(2, 3, 4), (4, 5)]),
        (lambda x, y: np.tensordot(x, y, ((0, 2), (1, 0))), [(2, 3, 4), (4, 2, 5)]),
        (lambda x, y: np.tensordot(x, y, 0), [(2, 3), (4,)]),
        (lambda x, y: np.inner(x, y), [(2, 3, 4), (5, 4)]),
        (lambda x, y: np.dot(x, y), [(2, 3, 4), (6, 4, 5)]),
        (lambda x, y: np.dot(x, y), [(3, 4), (4,)]),
        (lambda x, y: np.einsum("ij,jk->ik", x, y), [(1, 4), (4, 5)]),  # an axis of one element
        (lambda x, y: np.einsum("ij,ik->jk", x, y), [(1, 4), (3, 5)]),  # which is repeated
        (lambda x, y: np.einsum("ii,i->i", x, y), [(4, 4), (4,)]),  # a diagonal
        (lambda x, y: np.einsum("ij,j->ij", x, y), [(0, 4), (4,)]),
    ],
)
def test_others(f, shapes):
    x, y = (rng.standard_normal(s) for s in shapes)
    graph = fg.make_graph(f)(x, y)
    small = contractions(graph)
    check(small)
    want = f(x, y)
    for got in (evaluate(small, x, y)[0], fg.jit(f)(x, y)):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


def test_the_smallest_result_comes_first():
    x, a, y = (rng.standard_normal(s) for s in [(20, 3), (10, 3, 4), (20, 4)])
    graph = fg.make_graph(lambda *xs: np.einsum("bi,kij,bj->bk", *xs))(x, a, y)
    largest = max(v.type.size for e in contractions(graph).equations for v in e.outputs)
    assert largest <= 20 * 10 * 4


def test_whole_numbers_stay():
    x = np.arange(12).reshape(3, 4)
    graph = fg.make_graph(lambda x: np.einsum("ij,kj->ik", x, x))(x)
    assert "einsum" in names(contractions(graph))
