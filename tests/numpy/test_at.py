"""``x.at[index]`` beyond what is compared with JAX: errors, and arrays of transforms."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

METHODS = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")


@pytest.mark.parametrize("method", METHODS)
def test_an_index_out_of_bounds_is_an_error_unless_a_mode_is_said(method):
    call = lambda x, **o: getattr(fg.at(x)[np.array([0, 7])], method)(2.0, **o)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        call(np.ones(3))
    dropped = call(np.ones(3), mode="drop")
    assert dropped.shape == (3,)
    np.testing.assert_array_equal(dropped[1:], [1.0, 1.0])


def test_the_array_stays_as_it_is():
    x = np.ones(3)
    y = fg.at(x)[1].set(5.0)
    np.testing.assert_array_equal(x, np.ones(3))
    np.testing.assert_array_equal(y, [1.0, 5.0, 1.0])


def test_repeated_places():
    at = fg.at(np.ones(3))[np.array([0, 0, 2])]
    np.testing.assert_array_equal(at.add(2.0), [5.0, 1.0, 3.0])
    np.testing.assert_array_equal(at.multiply(np.array([2.0, 3.0, 4.0])), [6.0, 1.0, 4.0])
    np.testing.assert_array_equal(at.divide(np.array([2.0, 2.0, 4.0])), [0.25, 1.0, 0.25])
    np.testing.assert_array_equal(at.max(np.array([2.0, 3.0, 0.0])), [3.0, 1.0, 1.0])
    np.testing.assert_array_equal(at.set(np.array([2.0, 3.0, 4.0])), [3.0, 1.0, 4.0])


def test_modes_of_reading():
    x = np.array([1.0, 2.0, 3.0])
    index = np.array([-4, -1, 1, 5])
    np.testing.assert_array_equal(fg.at(x)[index].get(mode="clip"), [1.0, 3.0, 2.0, 3.0])
    np.testing.assert_array_equal(fg.at(x)[index].get(mode="wrap"), [3.0, 3.0, 2.0, 3.0])
    np.testing.assert_array_equal(fg.at(x)[index].get(mode="fill"), [np.nan, 3.0, 2.0, np.nan])
    whole = np.arange(3)
    assert fg.at(whole)[9].get(mode="fill") == np.iinfo(whole.dtype).min
    with pytest.raises(ValueError, match="mode is 'clip'"):
        fg.at(x)[0].get(mode="near")


def test_what_cannot_be_stored_is_an_error():
    with pytest.raises(TypeError, match="cannot be stored in an array of dtype int64"):
        fg.grad(lambda v: fg.at(np.arange(3))[0].set(v).sum() * 1.0)(2.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        fg.at(np.ones(2))[0].set(1.0, axis=0)


def test_arrays_of_a_transform_have_it_and_results_can_be_written_into():
    def f(x):
        y = fnp.zeros(3).at[0].set(x)
        y[1] = 2.0 * x
        z = y.at[1].add(x)
        return (y * y).sum() + z[1]

    assert fg.grad(f)(3.0) == 33.0
    assert fg.jit(fg.grad(f))(3.0) == 33.0
    assert fg.vmap(fg.grad(f))(np.array([3.0])).tolist() == [33.0]


def test_a_traced_index():
    f = lambda x, i: fg.at(x)[i].multiply(10.0)
    x = np.arange(3.0)
    np.testing.assert_array_equal(fg.jit(f)(x, 2), [0.0, 1.0, 20.0])
    np.testing.assert_array_equal(
        fg.vmap(f, (None, 0))(x, np.array([0, 1])), [[0.0, 1.0, 2.0], [0.0, 10.0, 2.0]]
    )
    drop = fg.jit(lambda x, i: x.at[i].set(9.0, mode="drop"))
    np.testing.assert_array_equal(drop(x, 7), x)
    np.testing.assert_array_equal(drop(x, -1), [0.0, 1.0, 9.0])
