"""Python loops in the bodies of loops that are said outright, and in native code of callers."""

import numba
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.graph.ir import Graph
from funcgrad.transforms.loop import LOOP
from tests.transforms.rolling_programs import close

X, W = np.linspace(-1, 1, 90), np.array([0.3, 0.8])


def inner(s, w):
    for i in range(90):
        s = np.sin(s * w[1]) + 0.01 * i * w[0]
        s = s + 0.1 * X[i]
    return s


def in_scan(x, w):
    last, all_ = fg.scan(lambda s, row: (inner(s + row, w), s * s), w[0] * 0.5, x[:5])
    return last + np.sum(all_)


def in_while_loop(x, w):
    def body(state):
        k, s = state
        return k + 1, inner(s, w)

    return fg.while_loop(lambda state: state[0] < 4, body, (0, x[3] * w[0]), max_steps=9)[1]


def in_map(x, w):
    return np.sum(fg.map(lambda v: inner(v, w), x[:6]) ** 2)


@pytest.mark.parametrize("f", [in_scan, in_while_loop, in_map], ids=lambda f: f.__name__)
def test_a_python_loop_in_the_body_of_a_loop_is_found(f):
    graph = fg.make_graph(f)(X, W)
    loops = [e for e in graph.equations if e.prim is LOOP]
    assert loops
    for e in loops:
        assert len(e.params["body"].equations) < 60
        assert any(b.prim is LOOP for b in e.params["body"].equations)
    wanted = fg.value_and_grad(f, (0, 1))(X, W)
    close(fg.jit(fg.value_and_grad(f, (0, 1)))(X, W), wanted)
    close(fg.value_and_grad(fg.jit(f), (0, 1))(X, W), wanted)


def in_cond(x, w):
    return fg.cond(w[0] > 0, inner, lambda s, w: inner(s * 0.5, w), x[3] * w[0], w)


def in_switch(x, w):
    branches = [lambda s, w: s * w[0], inner, lambda s, w: inner(np.cos(s), w)]
    return np.sum(fg.switch(fnp.argmax(w), branches, x[4], w))


@pytest.mark.parametrize("f", [in_cond, in_switch], ids=lambda f: f.__name__)
def test_a_python_loop_in_a_branch_is_found(f):
    def within(graph):
        inner = [p for e in graph.equations for p in e.params.values() if isinstance(p, Graph)]
        return [*(e for e in graph.equations), *(e for g in inner for e in within(g))]

    equations = within(fg.make_graph(f)(X, W))
    assert len(equations) < 120
    assert any(e.prim is LOOP for e in equations)
    for w in (W, -W):
        wanted = fg.value_and_grad(f, (0, 1))(X, w)
        close(fg.jit(fg.value_and_grad(f, (0, 1)))(X, w), wanted)
        close(fg.value_and_grad(fg.jit(f), (0, 1))(X, w), wanted)


def test_a_found_loop_runs_within_code_of_numba():
    def f(x, a):
        y = fnp.zeros(len(x))
        y[0] = x[0]
        for i in range(1, len(x)):
            y[i] = a * np.tanh(y[i - 1]) + x[i]
        return np.sum(y**2)

    inside = fg.jit(fg.value_and_grad(f, (0, 1))).njit

    @numba.njit
    def caller(x, a):
        value, (slope, number) = inside(x, a)
        return value + number, slope

    value, (slope, number) = fg.value_and_grad(f, (0, 1))(X, 0.5)
    close(caller(X, 0.5), (value + number, slope))
