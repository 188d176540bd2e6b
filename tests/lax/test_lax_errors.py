"""What `lax` refuses, by name."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax

X = np.ones((2, 3))
CASES = {
    "integer_pow": (lambda: lax.integer_pow(2.0, 0.5), TypeError, "must be an integer"),
    "select": (lambda: lax.select(X > 0, X, np.ones(3)), TypeError, "arrays of one shape"),
    "select_n": (lambda: lax.select_n(X > 0, X, X, X), TypeError, "between two cases"),
    "reduce_precision": (lambda: lax.reduce_precision(X, 0, 3), ValueError, "has 0 bits"),
    "reduce_precision of integers": (
        lambda: lax.reduce_precision(3, 5, 10), TypeError, "floating point numbers are needed"),
    "clz": (lambda: lax.clz(1.5), TypeError, "an integer is needed"),
    "broadcast_in_dim": (
        lambda: lax.broadcast_in_dim(X, (2, 3), (1, 0)), ValueError, "broadcast_dimensions=(1, 0)"),
    "split": (lambda: lax.split(X, (1, 2), 0), ValueError, "add up to 3"),
    "pad": (lambda: lax.pad(X, 0.0, [(1, 1, 0)]), ValueError, "for each of 2 axes"),
    "slice": (lambda: lax.slice(X, (0, 0), (3, 3)), ValueError, "do not fit an operand"),
    "dynamic_slice size": (
        lambda: lax.dynamic_slice(X, (0, 0), (3, 1)), TypeError, "does not fit the shape (2, 3)"),
    "dynamic_slice count": (
        lambda: lax.dynamic_slice(X, (0,), (1, 1)), TypeError, "1 starts and sizes (1, 1)"),
    "dynamic_slice dtype": (
        lambda: lax.dynamic_slice(X, (0.5, 0), (1, 1)), TypeError, "is an integer"),
    "scatter": (
        lambda: lax.scatter(np.ones(3), np.array([[0]]), np.ones(2),
                            lax.ScatterDimensionNumbers((), (0,), (0,))),
        TypeError, "updates have the shape (2,)"),
    "reduce": (lambda: lax.reduce((X, X), 0.0, lax.add, (0,)), TypeError, "as many initial values"),
    "reduce_window": (
        lambda: lax.reduce_window(X, 0.0, lax.add, (2,)), ValueError, "needs 2 positive numbers"),
    "reduce_and": (lambda: lax.reduce_and(X, (0,)), TypeError, "takes integers or bools"),
    "sort": (lambda: lax.sort((X, X), num_keys=3), ValueError, "at most all of them are keys"),
    "top_k": (lambda: lax.top_k(X, 4), ValueError, "k=4 for axis 1"),
    "dot": (lambda: lax.dot(np.ones((1, 1, 1)), X), TypeError, "vectors and matrices"),
    "dot_general": (
        lambda: lax.dot_general(X, X, (((0,), (1,)), ((), ()))), TypeError, "do not match"),
    "fft": (lambda: lax.fft(X, "FFT", (2,)), ValueError, "do not fit the last axes"),
    "conv_transpose": (
        lambda: lax.conv_transpose(np.ones((1, 2, 1)), np.ones((2, 1, 1)), (1,), "FULL"),
        ValueError, "conv_transpose: padding is"),
    "custom_root": (
        lambda: lax.custom_root(lambda x: (x, x), 1.0, lambda f, x: x, lambda g, y: y),
        fg.errors.TreeError, "they have to be alike"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_refused_by_name(name):
    call, kind, text = CASES[name]
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
    assert "test_lax_errors.py" in str(caught.value)  # the line of the program


def test_a_system_without_a_transposed_solver():
    solve = lambda mv, b: b / 2.0
    f = lambda b: lax.custom_linear_solve(lambda x: 2.0 * x, b, solve).sum()
    assert fg.jvp(f, (np.ones(2),), (np.ones(2),))[1] == 1.0
    with pytest.raises(fg.errors.NotDifferentiableError, match="give transpose_solve"):
        fg.grad(f)(np.ones(2))


def test_every_name_that_is_not_numpys_has_an_example():
    numpys = set(map(id, vars(fnp).values()))
    functions = {n: f for n in lax.__all__ if callable(f := getattr(lax, n)) and n[0].islower()}
    own = {n: f for n, f in functions.items() if id(f) not in numpys}
    assert [n for n, f in own.items() if ">>>" not in (f.__doc__ or "")] == []
