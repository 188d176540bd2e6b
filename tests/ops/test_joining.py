"""Joined arrays: the cotangents of all operands are cut out in one walk over them."""

import numpy as np

import funcgrad as fg
from funcgrad.core.types import ArrayType
from funcgrad.ops.shape import CONCATENATE


class Counted(ArrayType):
    """A type that counts how often its shape is read."""

    reads = 0

    @property
    def shape(self):
        Counted.reads += 1
        return (1,)


def test_the_cotangents_of_n_operands_take_n_reads_of_their_shapes():
    many = [Counted((1,), np.dtype(float)) for _ in range(500)]
    found = CONCATENATE.transpose(np.arange(500.0), *many, axis=0, needs=[True] * 500)
    np.testing.assert_array_equal(np.concatenate(found), np.arange(500.0))
    assert Counted.reads <= 3 * 500


def test_what_is_not_needed_is_not_cut_out():
    types = [ArrayType((2,), np.dtype(float)), ArrayType((3,), np.dtype(np.float32))]
    one, two = CONCATENATE.transpose(np.arange(5.0), *types, axis=0, needs=[False, True])
    assert one is None
    np.testing.assert_array_equal(two, np.arange(2, 5, dtype=np.float32))
    assert two.dtype == np.float32


def test_constants_among_the_operands():
    gradient = fg.grad(lambda x: np.sum(np.concatenate([np.ones(2), x, np.ones(1), 2 * x]) ** 2))
    np.testing.assert_array_equal(gradient(np.array([1.0, 3.0])), [10.0, 30.0])
