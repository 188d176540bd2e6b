"""The product of two vectors and its derivatives, which make no matrices of them."""

import numpy as np

import funcgrad as fg
from funcgrad.core.types import ArrayType
from funcgrad.graph.build import stage

X = np.array([0.5, -0.7, 0.9])


def test_the_product_of_vectors_is_transposed_without_matrices():
    gradient = fg.grad(lambda x, y: x @ y, (0, 1))
    graph, _ = stage(lambda x, y: gradient(x, y), [ArrayType((3,), np.dtype(float))] * 2)
    assert {e.prim.name for e in graph.equations} <= {"multiply", "matmul", "scale"}
    found = gradient(X, np.array([np.inf, 2.0, -0.0]))
    np.testing.assert_array_equal(found[0], [np.inf, 2.0, -0.0])
    assert fg.grad(lambda x: x @ X)(X.astype(np.float32)).dtype == np.float32


def test_inner_of_vectors_is_dot():
    other = np.array([np.inf, 2.0, -0.0])
    for vectors in (X, other), (X[::-1], X), (X, X.astype(np.float32)), (X + 1j, X), (X[:0], X[:0]):
        np.testing.assert_array_equal(np.inner(*vectors), np.dot(*vectors))
    gradients = [fg.grad(lambda x, y, f=f: f(x, y), (0, 1)) for f in (np.inner, np.dot)]
    graphs = [stage(lambda x, y, f=f: f(x, y), [ArrayType((3,), np.dtype(float))] * 2)[0]
              for f in gradients]  # fmt: skip
    assert graphs[0].digest() == graphs[1].digest()
    assert {e.prim.name for e in graphs[0].equations} <= {"multiply", "dot", "scale"}
    for found, wanted in zip(gradients[0](X, other), [other, X], strict=True):
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    rows = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(fg.vmap(lambda v: np.inner(v, X))(rows), np.inner(rows, X))
