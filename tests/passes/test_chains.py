"""Products of products in another order: the same values in fewer multiplications."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.graph.check import check
from funcgrad.graph.interpret import evaluate
from funcgrad.passes.chains import chains
from funcgrad.passes.pipeline import optimize

rng = np.random.default_rng(0)
A, B = rng.standard_normal((60, 50)), rng.standard_normal((50, 40))
X, Y = rng.standard_normal((40, 2)), rng.standard_normal((3, 60))
U, V = rng.standard_normal(60), rng.standard_normal(50)


def multiplications(graph):
    found = 0
    for e in graph.equations:
        if e.prim.name == "matmul":
            found += e.outputs[0].type.size * e.inputs[0].type.shape[-1]
    return found


SHORTER = [
    (lambda a, b, x: a @ b @ x, (A, B, X)),
    (lambda a, b, x: a @ b @ x[:, 0], (A, B, X)),
    (lambda y, a, b: y @ (a @ b), (Y, A, B)),
    (lambda y, a, b: y[0] @ (a @ b), (Y, A, B)),
    (lambda y, a, b: (a @ b).T @ y.T, (Y, A, B)),
    (lambda y, a, b, x: (y @ (a @ b), a @ b @ x), (Y, A, B, X)),
    (lambda a, b, x: a @ b @ (a @ b).T @ (a @ b) @ x, (A, B, X)),
    (lambda u, v, b: np.outer(u, v) @ b, (U, V, B)),
    (lambda u, v, b: (u[:, None] * v[None, :]) @ b, (U, V, B)),
    (lambda u, v, b: b.T @ (v[:, None] * u[None, :]), (U, V, B)),
    (lambda u, v, b: (v[:, None] * u[None, :]).T @ b, (U, V, B)),
]


@pytest.mark.parametrize(("f", "args"), SHORTER)
def test_shorter(f, args):
    graph = fg.make_graph(f)(*args)
    small = chains(optimize(graph))
    check(small)
    assert multiplications(small) < 0.6 * multiplications(graph)
    with np.errstate(all="ignore"):
        want = fg.tree.leaves(f(*args))
    for got in (evaluate(small, *args), fg.tree.leaves(fg.jit(f)(*args))):
        for g, w in zip(got, want, strict=True):
            assert g.dtype == w.dtype and g.shape == w.shape
            np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-11 * np.abs(w).max())


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda a, b, x: (a @ b, a @ b @ x), (A, B, X)),  # the product is a result
        (lambda a, b, x: np.exp(a @ b) @ x, (A, B, X)),
        (lambda a, b, x: (a @ b + 1) @ x + np.sum(np.sin(a @ b)), (A, B, X)),
        (lambda a, b, x: a @ b @ np.tile(x, (1, 40)), (A, B, X)),  # as wide as it is long
        (lambda u, v, b: np.outer(u, v) + u[:, None] @ v[None], (U, V, B)),
    ],
)
def test_others_stay(f, args):
    graph = optimize(fg.make_graph(f)(*args))
    assert chains(graph).equations == graph.equations


def test_the_gradient_of_a_product_with_a_vector_needs_vectors_only():
    def loss(u, v, w, x):
        return np.sum((u @ v @ w @ x) ** 2)

    u, v = rng.standard_normal((50, 4)), rng.standard_normal((4, 50))
    w, x = rng.standard_normal((50, 50)), rng.standard_normal(50)
    both = fg.value_and_grad(loss, (0, 1, 2, 3))
    small = optimize(fg.make_graph(both)(u, v, w, x))
    assert multiplications(small) < 10 * 50 * 50
    for a, b in zip(
        fg.tree.leaves(fg.jit(both)(u, v, w, x)), fg.tree.leaves(both(u, v, w, x)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(b).max())


def test_a_product_is_done_again_in_a_checkpoint():
    def loss(a, b, x):
        return np.sum(fg.checkpoint(lambda a: np.sin(a @ b @ x))(a))

    both = fg.value_and_grad(loss)
    got, want = fg.jit(both)(A, B, X), both(A, B, X)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-9)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-7, atol=1e-7)
