"""Each check passes what is right and names what is wrong: vmap, jit, rules, everything."""

import functools
import time

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_all, check_jit, check_jvp, check_vjp, check_vmap

X = np.array([0.3, -0.6, 0.9])


def product(p, n):
    return {"y": np.sin(p["x"]) * p["w"], "total": (np.sum(np.exp(p["x"] * n)), n)}


RIGHT = {
    "a scalar": (lambda x: x**3 * np.exp(x), (0.7,)),
    "a vector": (lambda x: np.sum(np.tanh(x) * x[::-1]), (X,)),
    "trees": (product, ({"x": X, "w": 2.0}, 3.0)),
    "a matrix": (lambda a: np.linalg.inv(a), (np.eye(3) * 3 + np.outer(X, X),)),
    "float32": (lambda x: np.sin(x) * x, (X.astype(np.float32),)),
    "complex": (lambda z: np.exp(z) * z, (X + 0.5j,)),
    "a loop": (lambda x: fg.fori_loop(0, 4, lambda i, c: np.sin(c) * x, x), (X,)),
    "places": (lambda x, i: x[i] * x, (X, np.array([2, 0, 0]))),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_functions_pass(name):
    f, args = RIGHT[name]
    check_all(f, args)


@pytest.mark.parametrize("name", ["a scalar", "a vector"])
def test_the_complex_step(name):
    f, args = RIGHT[name]
    check_all(f, args, order=1, complex_step=True)
    with pytest.raises(AssertionError, match="jvp differs from the complex step"):
        check_all(lambda x: np.sum(np.abs(x) ** 2), (X,), order=1, complex_step=True)


def with_rule(rule):
    f = fg.custom_jvp(lambda x: np.sin(x) * x)
    f.defjvp(rule)
    return f


def right(xs, ts):
    return np.sin(xs[0]) * xs[0], (np.cos(xs[0]) * xs[0] + np.sin(xs[0])) * ts[0]


def without_a_term(xs, ts):
    return np.sin(xs[0]) * xs[0], np.cos(xs[0]) * xs[0] * ts[0]


def another_value(xs, ts):
    return np.sin(xs[0]) * xs[0] + 1e-12, right(xs, ts)[1]


def test_a_wrong_rule_is_found():
    check_all(with_rule(right), (X,))
    with pytest.raises(AssertionError, match=r"forward mode \(order 1\) is wrong for argument 0"):
        check_all(with_rule(without_a_term), (X,))
    with pytest.raises(AssertionError, match=r"the value of .* is not that of"):
        check_all(with_rule(another_value), (X,))


def test_rules_by_hand():
    check_jvp(np.sin, lambda x, t: (np.sin(x[0]), np.cos(x[0]) * t[0]), (X,))
    check_vjp(np.sin, lambda x: (np.sin(x), lambda g: (np.cos(x) * g,)), (X,))
    f = lambda x, y: np.sum(x) * np.exp(y)
    check_jvp(f, functools.partial(fg.jvp, f), (X, 0.3))
    check_vjp(f, functools.partial(fg.vjp, f), (X, 0.3))
    with pytest.raises(AssertionError, match="forward mode"):
        check_jvp(np.sin, lambda x, t: (np.sin(x[0]), -np.cos(x[0]) * t[0]), (X,))
    with pytest.raises(AssertionError, match="reverse mode"):
        check_vjp(np.sin, lambda x: (np.sin(x), lambda g: (np.sin(x) * g,)), (X,))


@pytest.mark.filterwarnings("ignore:jit of")
def test_what_changes_between_calls_is_found():
    check_jit(lambda x: x * 2.0, (X,))
    with pytest.raises(AssertionError, match=r"jit differs from the function.* by .* in output"):
        check_jit(lambda x: x * time.perf_counter_ns(), (X,))


def test_another_dtype_is_found():
    f = lambda x: x if type(x) is np.ndarray else x.astype(np.float32)
    with pytest.raises(AssertionError, match=r"output is float32\[3\], not float64\[3\]"):
        check_jit(f, (X,))


def test_vmap():
    x = np.arange(6.0).reshape(3, 2)
    check_vmap(lambda x: x * np.sum(x), (x,))
    check_vmap(lambda x, y: {"a": x @ y, "b": y}, (x.T, X[:2]), in_axes=(1, None))
    check_vmap(lambda x: x * 2.0, (x,), in_axes=1, out_axes=1)
    calls = []

    def counts(x):
        calls.append(0)
        return x + len(calls)

    with pytest.raises(AssertionError, match="vmap differs from a loop by"):
        check_vmap(counts, (x,))
