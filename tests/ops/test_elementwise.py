"""The precision of partial derivatives, infinite tangents, and scalars under ufuncs."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

MIXED = ["add", "subtract", "multiply", "divide", "power", "float_power", "arctan2", "hypot"]
MIXED += ["logaddexp", "logaddexp2", "maximum", "minimum", "fmod", "remainder", "copysign"]


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("narrow", [np.float32, np.float16, np.int8, bool])
def test_partials_are_computed_in_the_precision_of_the_output(name, narrow):
    f = getattr(np, name)
    x, y = np.array([1.7, 2.9, 0.3]), np.array([3, 1, 1]).astype(narrow)
    y = y + narrow(1) / narrow(3) if np.dtype(narrow).kind == "f" else y
    for pair in (
        lambda g: (lambda x: g(x, y), lambda x: g(x, y.astype(float))),
        lambda g: (lambda x: g(y, x), lambda x: g(y.astype(float), x)),
    ):
        mixed, wide = pair(f)
        w = np.array([1.0, -2.0, 0.5])
        np.testing.assert_array_equal(fg.vjp(mixed, x)[1](w), fg.vjp(wide, x)[1](w))
        np.testing.assert_array_equal(fg.jvp(mixed, (x,), (w,))[1], fg.jvp(wide, (x,), (w,))[1])


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_an_infinite_tangent_of_the_operand_not_chosen_is_dropped(f):
    low, high = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    dropped = low if f in (np.maximum, np.fmax) else high
    ts = [np.full(2, np.inf) if v is dropped else np.ones(2) for v in (low, high)]
    np.testing.assert_array_equal(fg.jvp(f, (low, high), ts)[1], [1.0, 1.0])
    _, pull = fg.vjp(f, low, high)
    for v, c in zip((low, high), pull(np.full(2, np.inf)), strict=True):
        np.testing.assert_array_equal(c, [0.0, 0.0] if v is dropped else [np.inf, np.inf])


def test_an_infinite_tangent_outside_of_the_interval_is_dropped():
    x = np.array([-5.0, 0.5, 5.0])
    moved = fg.jvp(lambda x: np.clip(x, -1.0, 1.0), (x,), (np.full(3, np.inf),))[1]
    np.testing.assert_array_equal(moved, [0.0, np.inf, 0.0])


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("y", [True, np.True_, np.array(True)])
def test_a_bool_is_a_number_beside_a_traced_value(name, y):
    f, xs = getattr(np, name), np.array([1.7, 2.9, 0.3])
    for x in (xs, xs[0]):
        got, pull = fg.vjp(lambda x: f(y, x), x)
        identical(got, f(y, x))
        np.testing.assert_array_equal(pull(got)[0], fg.vjp(lambda x: f(1.0, x), x)[1](got)[0])


def identical(got, want):
    assert type(got) is type(want)
    assert got.dtype == want.dtype
    assert got.tobytes() == want.tobytes()


SCALARS = {
    "multiply": lambda x, y: np.multiply(x, y),
    "multiply by a number": lambda x, y: np.multiply(2 + 1j, x),
    "power": lambda x, y: np.power(x, y),
    "square by power": lambda x, y: np.power(x, 2),
    "root by power": lambda x, y: np.power(x, 0.5),
    "absolute": lambda x, y: np.absolute(x),
    "x * y": lambda x, y: x * y,
    "x ** y": lambda x, y: x**y,
    "x ** 2": lambda x, y: x**2,
    "x ** 0.5": lambda x, y: x**0.5,
    "abs": lambda x, y: abs(x),
    "fnp": lambda x, y: fnp.multiply(fnp.power(x, 3), y),
    "dot": lambda x, y: np.dot(x, y),
    "inner": lambda x, y: np.inner(x, y),
    # NumPy hands these to the ufunc, but computes them by other code when both are scalars
    "NumPy scalar * x": lambda x, y: np.complex128(0.3 + 0.7j) * x,
    "NumPy scalar / x": lambda x, y: np.complex64(0.3 + 0.7j) / x,
    "NumPy scalar - x": lambda x, y: np.float32(0.3) - x,
    "NumPy scalar ** x": lambda x, y: np.float64(0.3) ** x,
    "NumPy integer ** x": lambda x, y: np.int16(3) ** x,
}


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("dtype", ["c16", "c8", "f8", "f4", "f2"])
def test_scalars_round_as_the_ufunc_or_the_operator_that_the_program_names(name, dtype):
    f, rng = SCALARS[name], np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.uniform(0.1, 2.0, (2, 2)) @ [1, 1j if dtype[0] == "c" else 0]
        if dtype[0] == "f":
            x, y = x.real, y.real
        x, y = np.dtype(dtype).type(x), np.dtype(dtype).type(y)
        want = f(x, y)
        identical(fg.vjp(f, x, y)[0], want)
        identical(fg.jvp(f, (x, y), (x, y))[0], want)


@pytest.mark.parametrize("f", [np.multiply, np.power, lambda x, y: x * y, lambda x, y: x**y])
def test_python_numbers_become_numpy_scalars_under_ufuncs_only(f):
    for x, y in [(1.5, 2.5), (1.5, 2), (1 + 2j, 2.0), (2.0, 1 + 1j)]:
        got, want = fg.vjp(f, x, y)[0], f(x, y)
        assert type(got) is type(want)
        assert got == want


def test_power_as_a_ufunc_and_as_an_operator_have_the_same_derivative():
    x = np.array([0.0, 0.5, 2.0, -1.5]) + 0.5j
    for p in (0, 1, 2, 0.5, -1, 3):
        one = fg.vjp(lambda x, p=p: np.power(x, p), x)[1](np.ones(4, complex))[0]
        two = fg.vjp(lambda x, p=p: x**p, x)[1](np.ones(4, complex))[0]
        np.testing.assert_allclose(one, two, rtol=1e-14)
