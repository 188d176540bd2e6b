"""What is stored in an array of another dtype: NumPy's errors and warnings, in every mode."""

import warnings

import numpy as np
import pytest

import funcgrad as fg

X = np.array([0.0, 1.0, 2.0])
TRANSFORMS = {
    "vjp": lambda f: fg.vjp(f, X)[0],
    "jit": lambda f: fg.jit(f)(X),
    "jvp": lambda f: fg.jvp(f, (X,), (X,))[0],
    "vmap": lambda f: fg.vmap(f)(X[None])[0],
}


def stored(dtype, number):
    def item(x):
        y = (0 * x).astype(dtype)
        y[1] = number
        return y

    def fill(x):
        y = (0 * x).astype(dtype)
        y.fill(number)
        return y

    def put(x):
        y = (0 * x).astype(dtype)
        np.put(y, [0], number)
        return y

    return [item, fill, put]


def said(f):
    """What a call returns or raises, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = f()
        except (TypeError, ValueError, OverflowError) as error:
            found = type(error)
    return found, {w.category for w in caught}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        (np.int8, 300), (np.uint8, -1), (int, np.nan), (int, 1e300), (float, 1j), (int, 1j),
        (np.int8, 100), (np.uint8, 2.7), (float, 2), (bool, 2.7), (np.float16, 1.5),
    ],
)  # fmt: skip
def test_a_number_of_pythons(dtype, number, transform):
    """Under `jit` a number that does not fit was cut to the bits that do."""
    for f in stored(dtype, float(number) if number is np.nan else number):
        want, got = said(lambda f=f: f(X))[0], said(lambda f=f: TRANSFORMS[transform](f))[0]
        if isinstance(want, type):
            assert got is want
        else:
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype


def kept_in_an_array(x):
    y = x * 1.0
    y[:2] = x[:2] * 1j
    return y


def a_constant(x):
    y = x * 1.0
    y[:2] = np.array([1j, 2j])
    return y


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", [kept_in_an_array, a_constant, lambda x: (x * 1j).astype(float)])
def test_imaginary_parts_are_not_lost_without_a_word(f, transform):
    want, warned = said(lambda: f(X))
    assert warned == {np.exceptions.ComplexWarning}
    got, warned = said(lambda: TRANSFORMS[transform](f))
    assert warned == {np.exceptions.ComplexWarning}
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("number", [1j, 2.5, 300])
def test_copyto(number, transform):
    def f(x):
        y = (0 * x).astype(float if number == 1j else np.int8)
        np.copyto(y, number)
        return y

    assert said(lambda: TRANSFORMS[transform](f))[0] is said(lambda: f(X))[0]
