"""The operation of basic indices takes nothing else: its transpose would be silently wrong."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops import index


@pytest.mark.parametrize(
    "at",
    [
        np.array([0, 0]),
        [0, 0],
        (slice(None), np.array([1])),
        np.array(1),
        True,
        np.True_,
        (0, (1, 2)),
    ],
    ids=repr,
)
def test_what_is_no_basic_index_is_refused(at):
    with pytest.raises(AssertionError, match="takes basic indices"):
        index.getitem(np.ones((3, 3)), at)


@pytest.mark.parametrize("at", [1, np.int64(-1), (0, np.uint8(2)), (..., None, slice(2, None, -1))])
def test_basic_indices_choose_and_are_transposed(at):
    x = np.arange(9.0).reshape(3, 3)
    assert np.array_equal(index.getitem(x, at), x[at])
    wanted = np.zeros((3, 3))
    wanted[at] = 1.0
    assert np.array_equal(fg.grad(lambda x: np.sum(x[at]))(x), wanted)
    pulled = fg.grad(lambda x: np.sum(index.getitem(x.content(), at)))
    assert np.array_equal(pulled(x), wanted)


@pytest.mark.parametrize("at", [np.array([0, 0]), [2, 2], (slice(None), [1, 1]), np.array(1)])
def test_arrays_are_counted_as_often_as_they_choose(at):
    wanted = np.zeros((3, 3))
    np.add.at(wanted, at, 1.0)
    assert np.array_equal(fg.grad(lambda x: np.sum(x[at]))(np.ones((3, 3))), wanted)
