"""Constant positions recognised as slices."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.compile.execute import executable
from funcgrad.passes.slices import grid

INDICES = [
    (slice(None),),
    (slice(1, 4), slice(2, None)),
    (slice(None, None, -1), slice(5, 0, -2)),
    (slice(2, 3), slice(None, None, 3)),
    (slice(3, None, -1), slice(1, 2)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_slice_is_found(index):
    x = np.arange(30).reshape(5, 6)
    found, extents = grid(x[index].reshape(-1), x.shape)
    chosen = x[tuple(slice(*i) for i in found)]
    assert chosen.shape == extents
    np.testing.assert_array_equal(chosen, x[index])


@pytest.mark.parametrize(
    "positions", [[0, 1, 3], [0, 7], [3, 3], [0, 1, 6, 8], [], [99], [1, 0, 6, 7]]
)
def test_other_positions_are_not(positions):
    assert grid(np.array(positions, int), (5, 6)) is None


def test_negative_positions_count_from_the_end():
    assert grid(np.array([-2, -1]), (8,)) == (((6, 8, 1),), (2,))


def written(x):
    y = fnp.array(x)
    y[1:3] = y[2:4] * 2.0
    return y


@pytest.mark.parametrize("f", [written, lambda x: fnp.pad(x, 2), lambda x: x[np.arange(1, 4)]])
def test_no_positions_are_left(f):
    x = np.linspace(0, 1, 7)
    graph = fg.make_graph(fg.value_and_grad(lambda x: (f(x) ** 2).sum()))(x)
    assert "NumPy" not in executable(graph).explain()
    np.testing.assert_array_equal(executable(fg.make_graph(f)(x))(x)[0], f(x))
