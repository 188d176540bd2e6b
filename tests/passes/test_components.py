"""Small arrays made of numbers become numbers: what is left of the arrays, and the same results."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.compile.execute import executable
from funcgrad.graph.check import check
from funcgrad.graph.interpret import evaluate
from funcgrad.passes.components import components
from funcgrad.passes.dead_code import dead_code

A, B = np.array([1.0, 0.1, 1.5, 0.075]), np.array([10.0, 5.0])


def runge_kutta(p, y, steps=3):
    def f(y):
        return fnp.array([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])

    for _ in range(steps):
        k1 = f(y)
        k2 = f(y + 0.025 * k1)
        k3 = f(y + 0.025 * k2)
        k4 = f(y + 0.05 * k3)
        y = y + 0.05 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return (y**2).sum()


def matrix(p, y):
    m = fnp.array([[p[0], y[1]], [np.sin(p[1]), 2.0]])
    t = m.T[::-1] * y + m[:, :1]
    return t[0, 1] * t[1, 0] + np.exp(t).sum(axis=0)[1]


def writes(p, y):
    z = fnp.zeros(5, p.dtype)
    z[1] = p[0] * y[0]
    z[3:] = y
    return np.concatenate([z, p])[::2].prod() + z[1] * z[4]


def pieces(p, y):
    return np.stack([y[0] * p, p[1] * p, p])[:, 1] * fnp.array([p[2], y[1], 1.0])


@pytest.mark.costly
@pytest.mark.parametrize("f", [runge_kutta, matrix, writes, pieces])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_values_and_derivatives(f, dtype):
    p, y = A.astype(dtype), B.astype(dtype)
    for g in (f, fg.jacrev(f, (0, 1)), fg.hessian(f)):
        found, expected = fg.jit(g)(p, y), g(p, y)
        for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            close = 64 * np.finfo(dtype).eps
            np.testing.assert_allclose(a, b, rtol=close, atol=close * np.max(np.abs(b)))


@pytest.mark.parametrize("steps", [1, 30])
def test_steps_through_time_are_one_kernel(steps):
    graph = fg.make_graph(fg.value_and_grad(lambda p, y: runge_kutta(p, y, steps)))(A, B)
    assert sum("operations in one kernel" in n for n in executable(graph).explain().split("\n")) < 4


def names(f, *args):
    graph = dead_code(components(fg.make_graph(f)(*args)))
    return [e.prim.name for e in graph.equations if e.outputs[0].type.ndim]


def test_only_arrays_that_are_needed_are_left():
    assert names(lambda a, b: fnp.array([a, b])[1] * 2, 1.0, 2.0) == []
    assert names(lambda a, b: (fnp.array([a, b]) * fnp.array([b, 3.0]))[::-1][0], 1.0, 2.0) == []
    assert "concatenate" in names(lambda a, b: fnp.array([a, b, a]) * 2, 1.0, 2.0)


def test_places_where_nothing_was_put_cost_nothing():
    graph = fg.make_graph(fg.grad(lambda x: x[0] * x[3] + x[7]))(np.ones(40))
    made = dead_code(components(graph))
    assert sum(e.prim.name == "add" for e in made.equations) <= 3


def test_large_arrays_and_many_operations_stay_arrays():
    large = np.ones(65)
    assert "place" in names(fg.grad(lambda x: x[0] * x[1]), large)
    many = np.ones(40)
    f = lambda x, a: np.sin(np.concatenate([np.stack([a, a]), x[2:]]) * x)[0]
    assert "sin" in names(f, many, 1.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_sign_of_zero(sign):
    zero = np.copysign(0.0, sign)
    functions = (
        lambda a: fnp.array([a, 1.0])[0],
        lambda a: (fnp.array([a, 1.0]) + fnp.array([0.0, a]))[0],
        lambda a: (fnp.array([a, 1.0]) + fnp.array([-0.0, a]))[0],
        lambda a: (-fnp.array([a, 1.0]))[0],
        lambda a: fnp.array([a, a]).sum(),
        fg.grad(lambda a: fnp.array([a * zero, 1.0])[0]),
    )
    for f in functions:
        found, expected = fg.jit(f)(zero), f(zero)
        assert found == expected and np.signbit(found) == np.signbit(expected)


def test_nan_and_inf_go_where_they_go():
    def f(a, b):
        m = fnp.array([[a, b], [b, a]])
        return m @ m, (m * m)[0, 1], m.max(axis=0)[1]

    for a in (np.nan, np.inf, -np.inf):
        with np.errstate(all="ignore"):
            expected = f(a, 2.0)
        for x, y in zip(fg.jit(f)(a, 2.0), expected, strict=True):
            np.testing.assert_array_equal(x, y)


def test_integers_and_booleans():
    def f(a, b):
        n = fnp.array([a, b, a + b])
        return (n // 2)[1], (n > 3)[2], np.where(n > 3, n, -n)[0], n.astype(float)[1] / 2

    for x, y in zip(fg.jit(f)(3, 5), f(3, 5), strict=True):
        assert x == y and np.asarray(x).dtype == np.asarray(y).dtype


def drawn(seed):
    """A program of numbers, small arrays of them and arrays in memory."""
    draw = np.random.default_rng(seed)

    def program(a, b, c, x, m):
        numbers, arrays = [a, b, c, x[1], m[0, 1]], [x, m]
        for _ in range(14):
            n = [numbers[draw.integers(len(numbers))] for _ in range(3)]
            y, z = (arrays[draw.integers(len(arrays))] for _ in range(2))
            kind = draw.integers(12)
            if kind == 0:
                arrays.append(fnp.stack(n))
            elif kind == 1:
                arrays.append(fnp.array([[n[0], 2.0, n[1]], [-0.0, n[2], n[0]]]))
            elif kind == 2:
                arrays.append(np.concatenate([y.reshape(-1)[:4], fnp.stack(n[:2]), z.reshape(-1)]))
            elif kind == 3:
                numbers.append(y.reshape(-1)[draw.integers(y.size)])
            elif kind == 4:
                arrays.append((np.sin(y) if draw.random() < 0.5 else -y) * n[0])
            elif kind == 5:
                arrays.append(np.where(y > n[0], y, n[1] - y))
            elif kind == 6:
                arrays.append(np.sum(y, axis=-1, keepdims=True) + y)
            elif kind == 7:
                numbers.append(np.max(y) if draw.random() < 0.5 else np.sum(y))
            elif kind == 8:
                arrays.append(y.T[::-1])
            elif kind == 9:
                w = fnp.zeros(y.shape)
                w[..., draw.integers(y.shape[-1])] = n[0]
                w[..., 0] += n[1]
                arrays.append(w + y if draw.random() < 0.5 else w)
            elif kind == 10 and y.shape == z.shape:
                arrays.append(y + z)
            else:
                numbers.append(np.tanh(n[0]) + n[1] * n[2])
            if arrays[-1].size > 20:
                arrays.pop()
        return numbers[-1] + numbers[-2] * np.sum(arrays[-1]), arrays[-1], arrays[-2]

    return program


@pytest.mark.parametrize("seed", range(60))
def test_drawn_programs(seed):
    arguments = (0.7, -1.3, -0.0, np.array([0.3, -0.0, 2.0]), np.arange(6.0).reshape(2, 3) - 2.5)
    f = drawn(seed)
    gradient = fg.grad(lambda *xs: sum(np.sum(y) for y in drawn(seed)(*xs)), (0, 1, 2, 3, 4))
    for g in (f, gradient):
        graph = fg.make_graph(g)(*arguments)
        made = components(graph)
        check(made)
        leaves = fg.tree.leaves(arguments)
        for x, y in zip(evaluate(made, *leaves), evaluate(graph, *leaves), strict=True):
            assert np.shape(x) == np.shape(y) and np.asarray(x).dtype == np.asarray(y).dtype
            np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)
            close = (np.abs(y) > 1e-12) | (np.asarray(y) == 0)
            same = np.signbit(x) == np.signbit(y)
            assert np.all(same | ~close)


def test_an_array_without_elements_is_joined_with_small_ones():
    """Its numbers, none, were floats, which are no places in a list."""
    si = pytest.importorskip("scipy.integrate")
    f = lambda a: si.odeint(lambda y, t: [a * y[1], -y[0]], [1.0, 0.5], [0.0, 1.0])[1, 0]
    assert np.isfinite(fg.grad(f)(1.5))
