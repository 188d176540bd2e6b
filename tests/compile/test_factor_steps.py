"""Factorisations in the bodies of compiled loops, for matrices of up to 64 rows: native, and right.

The oracle is LAPACK, through NumPy: the residual is that of a backward stable method, and what
LAPACK refuses is refused.
"""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg

EPS = np.finfo(float).eps
OPERATIONS = {
    "solve": lambda a, b: np.linalg.solve(a, b),
    "solve one column": lambda a, b: np.linalg.solve(a, b[..., 0, :][..., None]) * b,
    "inv": lambda a, b: np.linalg.inv(a) + b,
    "cholesky": lambda a, b: np.linalg.cholesky(symmetric(a)) + b,
    "upper": lambda a, b: np.linalg.cholesky(symmetric(a), upper=True) + b,
    "det": lambda a, b: np.linalg.det(a)[..., None, None] * b,
    "slogdet": lambda a, b: np.linalg.slogdet(a)[0][..., None, None] * b
    + np.linalg.slogdet(a)[1][..., None, None],
}  # fmt: skip


def symmetric(a):
    return a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1], dtype=a.dtype)


def drawn(*shape, seed=0):
    """Matrices with no order among their rows, so that elimination has to exchange some."""
    a = np.random.default_rng(seed).normal(size=shape)
    return a / np.sqrt(shape[-1])


def stepped(operation, steps=2):
    """A loop whose carry is a right side, and whose rows are matrices."""

    def f(a, b):
        rows = np.stack([a * (1 + 0.1 * k) for k in range(steps)])
        c, ys = fg.scan(lambda c, a: (operation(a, c) * 0.5, operation(a, c)), b, rows)
        return c, ys

    return f


def weighed(f):
    def g(*xs):
        return sum(np.sum(y * np.cos(np.arange(y.size).reshape(y.shape))) for y in f(*xs))

    return g


def condition(a, name):
    c = np.max(np.linalg.cond(a))
    return c**2 if name in ("cholesky", "upper") else c


@pytest.mark.parametrize("shape", [(15, 15), (33, 33), (64, 64), (2, 17, 17)], ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_the_loop_is_native_and_its_values_those_of_lapack(name, shape):
    a, b, f = drawn(*shape), drawn(*shape, seed=1), stepped(OPERATIONS[name])
    compiled = fg.jit(f)
    assert "in Python" not in compiled.explain(a, b)
    for found, wanted in zip(compiled(a, b), f(a, b), strict=True):
        limit = 50 * shape[-1] * EPS * condition(a, name) ** 2 * np.max(np.abs(wanted))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=limit)


@pytest.mark.parametrize("n", [15, 30])
@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_go_through_native_loops(name, n):
    a, b = drawn(n, n) + 2 * np.eye(n), drawn(n, n, seed=1)
    both = fg.value_and_grad(weighed(stepped(OPERATIONS[name])), (0, 1))
    compiled = fg.jit(both)
    assert "in Python" not in compiled.explain(a, b)
    value, slopes = compiled(a, b)
    wanted, slopes_ = both(a, b)
    np.testing.assert_allclose(value, wanted, rtol=1e-11)
    for x, y in zip(slopes, slopes_, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * np.max(np.abs(y)))


def test_a_matrix_beside_a_stack_of_right_sides():
    a, b = drawn(20, 20), drawn(3, 20, 5, seed=1)
    f = lambda a, b: fg.scan(lambda c, _: (np.linalg.solve(a, c), None), b, length=2)[0]
    compiled = fg.jit(f)
    np.testing.assert_allclose(compiled(a, b), f(a, b), rtol=1e-9, atol=1e-9)
    each = fg.jit(fg.vmap(f, (None, 0)))
    np.testing.assert_allclose(each(a, b), f(a, b), rtol=1e-9, atol=1e-9)
    assert "in Python" not in compiled.explain(a, b) + each.explain(a, b)


def test_single_precision():
    a, b = (x.astype(np.float32) for x in (drawn(24, 24) + 2 * np.eye(24), drawn(24, 24, seed=1)))
    f = stepped(OPERATIONS["solve"])
    for found, wanted in zip(fg.jit(f)(a, b), f(a, b), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("name", ["solve", "inv"])
def test_a_singular_matrix_is_an_error_with_the_line(name, n):
    f = fg.jit(stepped(OPERATIONS[name]))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as caught:
        f(np.ones((n, n)), np.ones((n, n)))
    assert any(__file__ in note for note in caught.value.__notes__)


@pytest.mark.parametrize("name", ["det", "slogdet"])
def test_a_singular_matrix_has_a_determinant(name):
    f = stepped(OPERATIONS[name])
    a = np.ones((20, 20))
    for found, wanted in zip(fg.jit(f)(a, a), f(a, a), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_an_indefinite_matrix_is_an_error():
    f = fg.jit(lambda a: fg.scan(lambda c, _: (np.linalg.cholesky(c), None), a, length=1)[0])
    assert f(np.eye(20)).trace() == 20
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        f(np.diag(np.arange(20.0) - 3))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n", [6, 20])
def test_what_rounding_makes_indefinite_for_us_alone_lapack_factors(n, seed):
    half = drawn(n, n - 1, seed=seed)
    a = half @ half.T  # of one rank less: its last pivot is rounding
    f = fg.jit(lambda a: fg.scan(lambda c, _: (np.linalg.cholesky(c), None), a, length=1)[0])
    try:
        wanted = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return
    for _ in range(2):  # and the kernel is as good as new
        np.testing.assert_allclose(f(a), wanted, atol=1e-6)
    np.testing.assert_allclose(f(np.eye(n)), np.eye(n))


@pytest.mark.parametrize("gap", [0.0, 1e-9])
def test_the_gradient_of_a_determinant_that_is_nearly_zero(gap):
    half = drawn(20, 19) * 2
    a = np.concatenate([half, half[:, :1] + gap], 1)

    def f(a):
        return np.sum(fg.scan(lambda c, _: (c + np.linalg.det(c), None), a, length=2)[0])

    wanted = fg.grad(f)(a)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(a), wanted, rtol=1e-6, atol=1e-9)


def test_more_rows_are_left_to_lapack():
    a = drawn(65, 65)
    f = fg.jit(lambda a: fg.scan(lambda c, _: (np.linalg.inv(c), None), a, length=2)[0])
    assert "inv of float64[65,65] has no native form" in f.explain(a)
    np.testing.assert_allclose(f(a), a, atol=1e-9)
