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
