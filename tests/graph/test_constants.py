"""Arrays that a function brings along: one constant for each content that it had while traced."""

import numpy as np
import pytest

import funcgrad as fg

CONSTANTS = {
    "floats": np.array([1.0, np.nan, -0.0]),
    "complex": np.array([1.0, 2j, 3.0]),
    "broadcast": np.broadcast_to(np.float64(3.0), (3,)),
    "reversed": np.arange(3.0)[::-1],
    "small integers": np.arange(3, dtype=np.int8),
    "truths": np.array([True, False, True]),
    "extended": np.arange(3, dtype=np.longdouble),
}


@pytest.mark.parametrize("w", CONSTANTS.values(), ids=CONSTANTS)
def test_each_use_is_the_same_constant(w):
    graph = fg.make_graph(lambda x: x * w + x * w)(np.ones(3))
    assert len(graph.constants) == 1


def test_zeros_of_another_sign_are_another_content():
    w = np.zeros(3)

    def f(x):
        first = x * w
        w[:] = -0.0
        second = x * w
        w[:] = 0.0
        return first, second, x * w

    graph = fg.make_graph(f)(np.ones(3))
    assert len(graph.constants) == 2
    a, b, c = fg.jit(f)(np.ones(3))
    np.testing.assert_array_equal(
        np.signbit([a, b, c]), np.repeat([[False], [True], [False]], 3, 1)
    )


def test_a_workspace_that_is_made_another_shape():
    w = np.ones(4)

    def f(x):
        first = np.sum(x * w[:2])
        w.shape = (2, 2)
        second = np.sum(w @ x)
        w.shape = (4,)
        return first + second

    assert fg.jit(f)(np.ones(2)) == f(np.ones(2))
