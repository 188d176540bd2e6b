"""NumPy's own `array` and `asarray` of traced values, which no protocol reaches."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import UnsupportedCallError

X = np.array([[0.5, 1.5, -2.0], [3.0, 0.25, 1.0]])
W = np.linspace(0.5, 2.0, 6).reshape(2, 3)

PROGRAMS = {
    "array of rows": lambda x: np.array([x[0], x[1]]) * W,
    "array of rows and constants": lambda x: np.array([x[0], [1.0, 2.0, 3.0]]) * W,
    "array of traced rows": lambda x: np.array([x[0] * 2, x[1] * 3]) * W,
    "array of elements": lambda x: np.array([[x[0, 0], 1.0], [x[1, 1], x[0, 2]]]),
    "array": lambda x: np.array(x * 1) * W,
    "asarray": lambda x: np.asarray(x) * W,
    "asarray in an operation": lambda x: x * np.asarray(x),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x) * W,
    "shape": lambda x: x * np.asarray(x).shape[0],
    "sum": lambda x: np.sum(np.asarray(x)),
    "sum of an axis": lambda x: np.asarray(x).sum(axis=0) * W[0],
    "elements": lambda x: np.asarray(x)[0, 1] * np.asarray(x)[1, 2],
    "rows": lambda x: np.asarray(x)[1] * W[0],
    "functions": lambda x: np.sin(np.asarray(x)) + np.asarray(x) ** 2,
    "reversed": lambda x: fnp.cumsum(np.asarray(x)[::-1], 0),
    "transposed": lambda x: fnp.sin(np.asarray(x).T) * W.T,
    "chosen": lambda x: np.asarray(x)[:, [2, 0]] * W[:, :2],
    "a number": lambda x: np.asarray(x[0, 0]) * W,
    "full": lambda x: np.full((2,), x[0, 0]) * 2.0,
    "full of a row": lambda x: np.full((2, 3), x[0]) * W,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_value_gradient_and_shape(name):
    f = PROGRAMS[name]
    want = f(X)
    value, pull = fg.vjp(f, X)
    assert value.shape == want.shape
    np.testing.assert_allclose(value, want, rtol=1e-15)
    g = np.cos(np.arange(want.size)).reshape(want.shape)[()]
    t = np.sin(np.arange(6.0)).reshape(2, 3)
    step = (f(X + 1e-30j * t)).imag / 1e-30
    np.testing.assert_allclose(np.sum(pull(g)[0] * t), np.sum(g * step), rtol=1e-14)
    np.testing.assert_allclose(fg.jvp(f, (X,), (t,))[1], step, rtol=1e-14)
    np.testing.assert_allclose(fg.jit(f)(X), want, rtol=1e-14)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([X, X]))[1], want, rtol=1e-14)


def test_an_array_of_a_list_is_a_copy():
    def f(x):
        b = fnp.array(x)
        rows = np.array([b[0], b[1]])
        b[0] = 9.0
        return np.sum(rows * W) + np.sum(b)

    np.testing.assert_array_equal(fg.grad(f)(X), W + [[0.0] * 3, [1.0] * 3])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex64, np.longdouble])
def test_python_objects_would_forget_the_precision(dtype):
    x = X.astype(dtype)
    for f in (lambda x: np.array([x[0], x[1]]), np.asarray, lambda x: np.array([x[0, 0]])):
        with pytest.raises(UnsupportedCallError, match=r"do not promote as arrays do"):
            fg.vjp(f, x)
    value, pull = fg.vjp(lambda x: fnp.array([x[0], x[1]]) * W, x)
    assert value.dtype == np.promote_types(dtype, W.dtype)
    assert pull(np.ones_like(value))[0].dtype == dtype


def test_asarray_refuses_to_show_an_old_content():
    def f(x):
        b = fnp.array(x)
        seen = np.asarray(b)
        b[0] = 9.0
        return np.sum(seen * 1.0)

    with pytest.raises(UnsupportedCallError, match=r"written\s+into since"):
        fg.grad(f)(X)


def test_asarray_cannot_be_written_into():
    def f(x):
        a = np.asarray(x)
        a[0, 0] = 1.0
        return np.sum(x)

    with pytest.raises(ValueError, match="read-only"):
        fg.grad(f)(X)


def test_a_copy_can_be_written_into():
    def f(x):
        a = np.array(x)
        a[0] = x[1] * 2.0
        return np.sum(a * W)

    np.testing.assert_allclose(fg.grad(f)(X), [[0.0] * 3, W[1] + 2 * W[0]])


def test_numpy_writes_into_an_object_array():
    def f(x):
        a = np.array(x)
        np.add.at(a, [0, 0], x[1])
        np.multiply(a, x, out=a)
        np.copyto(a[1], x[0])
        a[:, 2] = 1.0
        return np.sum(a * W)

    want = np.array([(2 * X[0] + 2 * X[1]) * W[0] + W[1], 2 * X[0] * W[0]])
    want[:, 2] = 0.0
    np.testing.assert_allclose(fg.grad(f)(X), want)


def test_an_object_array_that_was_written_over_holds_numbers():
    def f(x):
        a = np.array([x[0], x[1]])
        np.add(1.0, 1.0, out=a)
        return np.sum(fnp.asarray(a) * x)

    np.testing.assert_array_equal(fg.grad(f)(X), np.full((2, 3), 2.0))


def test_elements_are_scalars():
    def f(x):
        s = np.asarray(x)[0, 0]
        s += x[0, 1]  # rebinds the name
        return s * np.asarray(x)[0, 0]

    np.testing.assert_array_equal(fg.grad(f)(X), [[2.5, 0.5, 0.0], [0.0] * 3])


def test_an_untraced_box_shares_its_memory():
    def f(x):
        b = fnp.zeros(3)
        np.asarray(b)[1] = 4.0
        return np.sum(b * x)

    np.testing.assert_array_equal(fg.grad(f)(X[0]), [0.0, 4.0, 0.0])


def test_an_object_array_handed_back_is_lowered():
    value, aux = fg.value_and_grad(lambda x: (np.sum(x), np.asarray(x)), has_aux=True)(X)[0]
    assert value == X.sum()
    np.testing.assert_array_equal(aux, X)
    assert aux.dtype == X.dtype
