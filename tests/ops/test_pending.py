"""Arrays that are written row by row: what is read of them, and what they are in the end."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.ops.storage import Cell

X = np.linspace(0.5, 1.5, 6)


def recurrence(x):
    y = fnp.zeros(6)
    y[0] = x[0]
    for i in range(1, 6):
        y[i] = 0.5 * y[i - 1] + x[i]
    return np.sum(y**2)


def written_twice(x):
    y = fnp.ones(6)
    y[2] = x[0]
    first = y[2] * 3.0
    y[2] = x[1] * x[2]
    y[-4] += x[3]
    return first + np.sum(y * y)


def constants_between(x):
    y = fnp.zeros(6)
    y[1] = x[1]
    y[1] = 2.0
    y[3] = x[3]
    y[4] = 5.0
    return np.sum(y * x)


def views_see_rows(x):
    y = fnp.zeros((3, 2))
    row = y[1]
    y[1] = x[:2]
    before = row[0] * 1.0
    row[0] = x[2] * x[2]
    y[2, :] = row
    row *= 2.0
    return before + np.sum(y[1] * 3.0) + np.sum(y[2] ** 2) + y[1, 0] * x[5]


def the_value_that_was_written(x):
    y, v = fnp.zeros((2, 6)), x * 2.0
    y[0] = v
    v[0] = 7.0
    v += 1.0
    return np.sum(y[0] * v) + np.sum(y)


def windows(x):
    y = fnp.zeros(6)
    y[:2] = x[:2]
    for i in range(2, 6):
        y[i] = np.sum(y[i - 2 : i]) * x[i] + y[i::-1][1] + y[0:i:2][0]
    return np.sum(y * y)


def rows_of_elements(x):
    y = fnp.zeros((2, 3))
    for i in range(2):
        for j in range(3):
            y[i, j] = x[3 * i + j] ** 2
    s = np.sum(y[0] * y[1]) + np.sum(y[:, 2]) + y[-1, -1]
    y[1] = 0.0
    y[0, 0] = x[0]
    return s + np.sum(y)


def other_places_end_it(x):
    y = fnp.zeros(6)
    y[0] = x[0]
    y[1:3] = x[1] * x[2]
    y[[4, 5]] = x[4:]
    y[5] = x[0] * y[4]
    y[np.array([True] + [False] * 5)] *= 3.0
    return np.sum(y * y)


def a_copy(x):
    y = x.copy()
    y[0] = y[1] * y[2]
    y[3] = 0.0
    return np.sum(y * x)


def broadcast_rows(x):
    y = fnp.zeros((3, 2))
    y[0] = x[0]
    y[1] = x[None, :2]
    y[2, ...] = x[:1]
    return np.sum(y**2) * x[0]


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__]
BY_NAME = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)


def slope(f, x):
    """The derivative by complex steps, which writes into NumPy's own arrays."""
    found = np.empty(len(x))
    kept = fnp.zeros, fnp.ones
    try:
        fnp.zeros, fnp.ones = (lambda n: np.zeros(n, complex)), (lambda n: np.ones(n, complex))
        for k in range(len(x)):
            moved = x.astype(complex)
            moved[k] += 1e-30j
            found[k] = f(moved).imag / 1e-30
    finally:
        fnp.zeros, fnp.ones = kept
    return found


@BY_NAME
def test_value_and_derivatives(f):
    want, value = slope(f, X.copy()), f(X.copy())
    for g in (fg.value_and_grad(f), fg.jit(fg.value_and_grad(f)), fg.value_and_grad(fg.jit(f))):
        found, gradient = g(X.copy())
        assert found == pytest.approx(value, rel=1e-15)
        np.testing.assert_allclose(gradient, want, rtol=1e-13)
    np.testing.assert_allclose(fg.jacfwd(f)(X.copy()), want, rtol=1e-13)
    many = np.stack([X, X[::-1]])
    found = fg.vmap(fg.grad(f))(many)
    np.testing.assert_allclose(found, [slope(f, row.copy()) for row in many], rtol=1e-13)
    np.testing.assert_allclose(fg.hessian(f)(X), fg.jacfwd(fg.jacfwd(f))(X), rtol=1e-12, atol=1e-14)


def test_the_number_of_equations_is_linear_and_no_row_is_spliced_in():
    graph = fg.make_graph(fg.grad(recurrence))(X)
    assert "put" not in {e.prim.name for e in graph.equations}
    assert len(graph.equations) < 20 * len(X)


def test_elements_that_are_read_are_those_that_were_written():
    def f(x):
        y = fnp.zeros(3)
        y[0] = x[0]
        assert isinstance(y, Cell)
        assert len(y) == 3
        assert y.shape == (3,)
        assert y.pending is not None
        assert type(y[0]) is type(x[0])
        np.sum(y)
        assert y.pending is None
        return y[0]

    fg.grad(f)(X)


ERRORS = {
    "out of bounds": (lambda y, x: y.__setitem__(7, x[0]), IndexError),
    "does not fit": (lambda y, x: y.__setitem__(0, x), ValueError),
    "too many indices": (lambda y, x: y.__setitem__((0, 0), x[0]), IndexError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_does_not_fit_changes_nothing(name):
    write, kind = ERRORS[name]

    def f(x):
        y = fnp.zeros(3)
        y[1] = x[1]
        with pytest.raises(kind):
            write(y, x)
        return np.sum(y)

    np.testing.assert_array_equal(fg.grad(f)(X), [0, 1, 0, 0, 0, 0])


def test_values_of_a_later_transform_are_refused():
    def f(x):
        y = fnp.zeros(3)

        def inner(z):
            y[0] = z
            return z

        with pytest.raises(fg.errors.LaterTransformError):
            fg.grad(inner)(x[0])
        return np.sum(y) + x[0]

    fg.grad(f)(X)


def test_a_traced_value_in_an_array_of_integers_is_refused():
    def f(x):
        y = fnp.zeros(3, dtype=int)
        with pytest.raises(TypeError, match="gradient would be cut"):
            y[0] = x[0]
        return x[0]

    fg.grad(f)(X)
