"""Dtypes that follow from those of the operands by a rule of the function's own."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

TRANSFORMS = {"eager": lambda f: lambda x: fg.vjp(f, x)[0], "jit": fg.jit}
WHOLE = [np.arange(3), np.arange(3, dtype=np.uint8), np.int16(3), np.array([True]), 3]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("x", [*WHOLE, np.float16(1.5), 2.5], ids=repr)
def test_modf_of_whole_numbers_is_floating_point(x, transform):
    for got, want in zip(TRANSFORMS[transform](np.modf)(x), np.modf(x), strict=True):
        assert (type(got), got.dtype) == (type(want), want.dtype)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(
    "ends", [{"to_end": 1.5}, {"to_begin": 2}, {"to_end": [1.5], "to_begin": 1}]
)
def test_ends_of_differences_take_their_dtype(ends, transform):
    x = np.arange(4, dtype=np.float32)
    got, want = TRANSFORMS[transform](lambda x: fnp.ediff1d(x, **ends))(x), np.ediff1d(x, **ends)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_ends_of_differences_have_to_fit(transform):
    with pytest.raises(TypeError, match="must be compatible with input `ary`"):
        TRANSFORMS[transform](lambda x: fnp.ediff1d(x, to_end=1.5))(np.arange(3))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sums_of_taken_elements_have_the_bits_of_numpy(axis):
    x = np.random.default_rng(0).normal(size=(40, 37))
    for y in (x, x.T, x[::-1]):
        for over in (0, 1, None):

            def f(y, over=over):
                return np.sum(np.take(y, [0, 3, 3, 5] * 9, axis=axis), axis=over)

            np.testing.assert_array_equal(fg.vjp(f, y)[0], f(y))
