"""What NumPy refuses, or warns of, when values are stored or converted: so do traced arrays."""

import warnings

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import OperandError

RUNS = [
    lambda f: fg.vjp(f, 2.0)[0],
    lambda f: fg.jvp(f, (2.0,), (1.0,))[0],
    lambda f: fg.jit(f)(2.0),
]
INDICES = [
    (0, 0), (np.int64(0), 1), (-1, 0), (np.array(0), 0), (0, [0]), (..., 0, 0), (None, 0, 0),
    (True, 0, 0), (0,), 0,
]  # fmt: skip


def outcome(call):
    """The array, or the class of the error; older NumPy only warns of arrays of one element."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            return np.asarray(call())
    except (ValueError, DeprecationWarning) as error:
        return type(error)


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,)])
def test_one_element_takes_what_it_takes_in_numpy(index, shape):
    def stored(t, numpy):
        y = numpy.zeros((2, 2))
        y[index] = t * numpy.ones(shape)
        return y

    wanted = outcome(lambda: stored(2.0, np))
    for run in RUNS:
        found = outcome(lambda: run(lambda t: stored(t, fnp)))
        np.testing.assert_array_equal(found, wanted)


def test_one_element_takes_no_list():
    def stored(t):
        y = fnp.zeros((2, 2))
        y[0, 1] = [t]
        return y

    for run in RUNS:
        assert outcome(lambda: run(stored)) in (ValueError, DeprecationWarning)


@pytest.mark.parametrize(
    "make",
    [
        lambda t: fnp.full_like(t * np.ones(2), 1j),
        lambda t: fnp.full_like(np.ones(2), t * 1j),
        lambda t: fnp.full(2, t * 1j, dtype=float),
        lambda t: fnp.array([t, 1j], dtype=float),
        lambda t: fnp.asarray([t, 1j], dtype=float),
        lambda t: fnp.array(t * 1j).astype(float),
    ],
)
def test_lost_imaginary_parts_are_told(make):
    for run in RUNS:
        with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
            assert run(make).dtype == float


def test_a_list_that_holds_itself_is_refused():
    plain = [1.0]
    plain.append(plain)
    with pytest.raises(ValueError, match="inhomogeneous"):
        fnp.array(plain)

    def traced(t):
        mine = [t]
        mine.append(mine)
        return fnp.sum(fnp.array(mine))

    def around(t):
        mine, other = [], []
        mine.extend([other, t])
        other.append(mine)
        return fnp.sum(t + fnp.array(mine))

    class Named(list):
        pass

    def derived(t):
        mine = Named([t])
        mine.append(mine)
        return fnp.sum(t + fnp.array(mine))

    for run in RUNS:
        for function in (traced, around, derived):
            with pytest.raises(OperandError, match="a list that holds itself is no array"):
                run(function)
