"""Indices that NumPy takes and that are easily forgotten, and updates at repeated positions."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

PARTS = [np.True_, np.False_, True, [0, 1], 0, slice(None), None, Ellipsis, np.array([[0], [1]])]


def found(f, x):
    try:
        return f(x)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_bools_without_axes_anywhere_in_an_index(count):
    x = np.arange(6.0).reshape(2, 3)
    for index in itertools.product(PARTS, repeat=count):
        for y in (x, x[0], np.array(2.0)):
            want = found(lambda y, index=index: y[index], y)
            got = found(lambda y, index=index: fg.vjp(lambda y: y[index], y)[0], y)
            if isinstance(want, type):
                assert got is want, index
                continue
            assert got.shape == want.shape, index
            np.testing.assert_array_equal(got, want)


def test_the_gradient_through_a_bool_without_axes():
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(fg.grad(lambda x: (x[np.True_] * x).sum())(x), [2.0, 4.0])
    np.testing.assert_array_equal(fg.grad(lambda x: (x[np.False_] * x).sum())(x), [0.0, 0.0])


def test_an_array_without_axes_where_there_is_an_ellipsis():
    x = np.array([1.0, 2.0])
    for index in ((..., np.array(1)), (np.array(1), ...), (np.array(1),), (..., 1), 1):
        got, want = fg.vjp(lambda x, index=index: x[index], x)[0], x[index]
        assert type(got) is type(want), index
        assert got == want


@pytest.mark.parametrize("space", [np, fnp])
def test_add_at_adds_in_the_common_precision(space):
    rng = np.random.default_rng(0)
    b, v = rng.uniform(0, 1, 40).astype(np.float32), rng.uniform(0, 1, 99)
    at = rng.integers(0, 40, 99)

    def f(b, v):
        c = b.copy()
        space.add.at(c, at, v)
        return c

    want = b.copy()
    np.add.at(want, at, v)
    got, pull = fg.vjp(f, b, v)
    assert got.tobytes() == want.tobytes()
    for g, x in zip(pull(np.ones_like(b)), (b, v), strict=True):
        assert g.dtype == x.dtype
        np.testing.assert_array_equal(g, np.ones_like(x))


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply])
def test_an_update_of_integers_by_a_traced_value_is_refused(ufunc):
    def f(x):
        counts = fnp.array([1, 2, 3])
        ufunc.at(counts, [0, 0], x)
        return np.sum(counts) * 1.0

    with pytest.raises(TypeError, match="the gradient would be cut"):
        fg.grad(f)(2.0)
