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


TAKES_CLASSES = {
    "ufunc": lambda x, d: np.subtract(x, 1.5, dtype=d),
    "product": lambda x, d: np.matmul(x, x, dtype=d),
    "outer": lambda x, d: np.multiply.outer(x, x, dtype=d),
    "accumulate": lambda x, d: np.add.accumulate(x, dtype=d),
    "reduce": lambda x, d: np.add.reduce(x, dtype=d),
    "sum": lambda x, d: np.sum(x, dtype=d),
    "mean": lambda x, d: np.mean(x, dtype=d),
    "prod": lambda x, d: np.prod(x, dtype=d),
    "var": lambda x, d: np.var(x, dtype=d),
    "nansum": lambda x, d: np.nansum(x, dtype=d),
    "astype": lambda x, d: x.astype(d),
    "asarray": lambda x, d: fnp.asarray(x, dtype=d),
    "linspace": lambda x, d: np.linspace(x[0], x[1], 4, dtype=d),
}


@pytest.mark.parametrize("name", TAKES_CLASSES)
def test_classes_of_dtypes(name: str) -> None:
    """``np.dtype`` makes "object" of them, what takes a dtype here does not."""
    f, x = TAKES_CLASSES[name], np.array([0.1, 0.7])
    for kind in (np.dtypes.Float32DType, np.dtypes.Float64DType):
        want = f(x, kind)
        for run in (lambda g: lambda x: fg.vjp(g, x)[0], fg.jit):
            got = run(lambda x: f(x, kind))(x)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=2 * np.finfo(want.dtype).eps)


MIXED = {
    "where, a number": lambda x: fnp.where(x > 0, x, 0.0),
    "where, a number first": lambda x: fnp.where(x > 0, 1, x),
    "where, a bool": lambda x: fnp.where(x > 0, x, True),
    "where, integers": lambda x: fnp.where(x > 0, x, np.ones(2, np.int8)),
    "where, a complex number": lambda x: fnp.where(x > 0, x, 1j),
    "stack of integers": lambda x: fnp.stack([x, np.ones(2, np.int16)]),
    "NumPy's where": lambda x: np.where(x > 0, x, 0.0),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("name", MIXED)
def test_a_tangent_has_the_dtype_of_its_value(name: str, dtype: type) -> None:
    """What does not move beside it has a zero tangent, which took that of Python's floats."""
    f, x = MIXED[name], np.array([0.5, -0.7], dtype)
    for run in (fg.jvp, fg.jit(lambda f, x, t: fg.jvp(f, x, t), static_argnums=(0,))):
        y, t = run(f, (x,), (x,))
        assert y.dtype == f(x).dtype == t.dtype
        np.testing.assert_array_equal(t, np.where(t == 0, 0, np.broadcast_to(x, t.shape)))


def test_nan_to_num_keeps_the_order_of_bytes():
    x = np.array([1.0, np.nan, np.inf]).astype(">f8")
    found = fg.vjp(np.nan_to_num, x)[0]
    assert found.dtype == np.nan_to_num(x).dtype == np.dtype(">f8")
    np.testing.assert_array_equal(found, np.nan_to_num(x))


CLOSE = {
    "close": np.array([1.0 + 1e-16j, 2.0]),
    "far": np.array([1.0 + 1e-3j, 2.0]),
    "nan": np.array([complex(1.0, np.nan), 2.0]),
    "none": np.zeros(0, complex),
    "single": np.array([1.0 + 1e-8j, 2.0], np.complex64),
    "one": np.complex128(2.0 + 1e-16j),
    "real": np.array([1.0, 2.0]),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", CLOSE)
def test_what_is_nearly_real_is_real_in_every_mode(name, transform):
    """Under jit it had stayed complex, whatever its numbers were."""
    x = CLOSE[name]
    got, want = TRANSFORMS[transform](np.real_if_close)(x), np.real_if_close(x)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_one_compiled_function_sees_whether_its_numbers_are_nearly_real():
    f = fg.jit(lambda z: np.real_if_close(z * 2.0))
    for name in ("close", "far", "close", "nan", "far"):
        want = np.real_if_close(CLOSE[name] * 2.0)
        assert f(CLOSE[name]).dtype == want.dtype
        np.testing.assert_array_equal(f(CLOSE[name]), want)
    pairs = np.stack([CLOSE["close"], CLOSE["far"]])
    assert fg.vmap(np.real_if_close)(pairs).dtype == complex  # one array for all
    assert fg.vmap(np.real_if_close)(pairs[:1]).dtype == float
    g = fg.grad(lambda z: np.sum(np.real(np.real_if_close(z)) ** 2))
    np.testing.assert_array_equal(g(CLOSE["close"]), fg.jit(g)(CLOSE["close"]))
