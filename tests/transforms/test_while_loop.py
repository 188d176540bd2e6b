"""`while_loop`, `switch` and `associative_scan` in every transform."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors


def newton(a, **options):
    """The square root of `a`."""
    return fg.while_loop(
        lambda c: (abs(c[0] * c[0] - a) > 1e-13) & (c[1] < 60),
        lambda c: (0.5 * (c[0] + a / c[0]), c[1] + 1),
        (a, 0),
        **options,
    )[0]


AS = np.array([4.0, 0.3, 2.0, 7.0, 1e4])
OPTIONS = [{}, {"max_steps": 60}]


@pytest.mark.parametrize("options", OPTIONS, ids=["unbounded", "bounded"])
def test_while_loop_in_every_transform(options):
    def f(a):
        return newton(a, **options)

    for a in AS:
        slope = 0.5 / np.sqrt(a)
        for g in (fg.grad(f), fg.jit(fg.grad(f)), fg.grad(fg.jit(f)), fg.jit(fg.jacfwd(f))):
            np.testing.assert_allclose(g(a), slope, rtol=1e-9)
        for g in (fg.jit(fg.grad(fg.grad(f))), fg.jit(fg.hessian(f)), fg.hessian(fg.jit(f))):
            np.testing.assert_allclose(g(a), -0.5 * slope / a, rtol=1e-6)


@pytest.mark.parametrize("options", OPTIONS, ids=["unbounded", "bounded"])
def test_each_example_takes_its_own_steps(options):
    def f(a):
        return newton(a, **options)

    np.testing.assert_array_equal(fg.vmap(f)(AS), [f(a) for a in AS])
    np.testing.assert_allclose(fg.jit(fg.vmap(f))(AS), np.sqrt(AS), rtol=1e-12)
    slopes = 0.5 / np.sqrt(AS)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(AS), slopes, rtol=1e-9)
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(f)))(AS), slopes, rtol=1e-9)
    np.testing.assert_allclose(
        fg.jit(fg.grad(lambda a: np.sum(fg.vmap(f)(a))))(AS), slopes, rtol=1e-9
    )


def test_examples_that_have_ended_leak_no_nan():
    """One step more would divide by zero in those that ended first."""

    def f(x):
        return fg.while_loop(lambda c: c > 1.5, lambda c: c - 1.0 / np.sqrt(c - 1.0), x)

    xs = np.array([1.0, 2.0, 5.0])
    wanted = [fg.grad(f)(x) for x in xs]
    for g in (fg.vmap(fg.grad(f)), fg.jit(fg.vmap(fg.grad(f)))):
        np.testing.assert_allclose(g(xs), wanted, rtol=1e-12)


def test_examples_that_have_ended_read_nothing_out_of_bounds():
    """One step more would read behind the end."""
    x = np.arange(1.0, 5.0)

    def f(n, x):
        def step(c):
            return c[0] + 1, c[1] + fnp.take(x, c[0]) ** 2

        return fg.while_loop(lambda c: c[0] < n, step, (0, 0.0))[1]

    ns = np.array([4, 1, 2, 3])
    each = fg.vmap(f, in_axes=(0, None))
    for g in (each, fg.jit(each)):
        np.testing.assert_array_equal(g(ns, x), [30.0, 1.0, 5.0, 14.0])
    slopes = fg.jit(fg.vmap(fg.grad(f, argnums=1), in_axes=(0, None)))(ns, x)
    np.testing.assert_allclose(slopes, [2 * x * (np.arange(4) < n) for n in ns])


def test_more_steps_than_a_segment_have_a_gradient():
    def f(x, n):
        return fg.while_loop(lambda c: c[1] < n, lambda c: (np.sin(c[0]) + x, c[1] + 1), (x, 0))[0]

    value, slope = fg.value_and_grad(lambda x: f(x, 1000))(0.3)
    found = fg.jit(fg.value_and_grad(f))(0.3, 1000)
    np.testing.assert_allclose(found, (value, slope), rtol=1e-12)


def test_memory_of_an_unbounded_loop_is_that_of_segments():
    def f(x, n):
        return fg.while_loop(lambda c: c[1] < n, lambda c: (np.sin(c[0]), c[1] + 1), (x, 0))[0]

    graph = fg.make_graph(fg.grad(f))(0.3, 10**6)
    assert all(v.type.size <= 256 for e in graph.equations for v in e.outputs)


def test_memory_of_unbounded_loops_in_each_other_is_no_product():
    """Found by random programs: three of them, for three examples, asked for 50 GB."""

    def loop(v, step):
        more = lambda c: (c[0] < 1.0) & (c[1] < 4)
        return fg.while_loop(more, lambda c: (c[0] + 0.3, c[1] + 1, step(c[2])), (v * v, 0, v))[2]

    def f(v):
        return loop(v, lambda a: np.sin(a) + loop(a, np.cos))

    def written(v, inner=False):
        t, k, c = v * v, 0, v
        while t < 1.0 and k < 4:
            c = np.cos(c) if inner else np.sin(c) + written(c, True)
            t, k = t + 0.3, k + 1
        return c

    xs = np.array([0.1, 0.4, 0.9])
    g = fg.grad(lambda xs: np.sum(fg.vmap(f)(xs)))
    np.testing.assert_allclose(fg.jit(g)(xs), [fg.grad(written)(x) for x in xs], rtol=1e-12)

    def largest(graph):
        within = [p for e in graph.equations for p in e.params.values() if type(p) is type(graph)]
        own = [v.type.size for e in graph.equations for v in e.outputs]
        return max([*own, *map(largest, within)], default=0)

    assert largest(fg.make_graph(g)(xs)) < 10_000


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit, lambda f: fg.jit(fg.grad(f))])
def test_beyond_max_steps(wrap):
    def f(x):
        return fg.while_loop(lambda c: c > -1.0, lambda c: c * 0.5, x, max_steps=5)

    with pytest.raises(errors.LoopLimitError, match="has run 5 steps, its max_steps"):
        wrap(f)(1.0)


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit])
def test_bad_conditions_are_refused(wrap):
    with pytest.raises(errors.LoopTypeError, match=r"type bool\[2\].*single bool"):
        wrap(lambda x: fg.while_loop(lambda c: c > 0, lambda c: c - 1, x))(np.ones(2))
    with pytest.raises(errors.LoopTypeError, match=r"type float64.*single bool"):
        wrap(lambda x: fg.while_loop(lambda c: c, lambda c: c - 1, x))(1.0)
    with pytest.raises(errors.LoopTypeError, match="carry has type"):
        wrap(lambda x: fg.while_loop(lambda c: c > 0, lambda c: c * np.ones(2), x))(1.0)


def test_a_condition_that_closes_over_a_traced_value():
    @fg.jit
    def f(x, limit):
        return fg.while_loop(lambda c: c < limit, lambda c: c * x, 1.0)

    assert f(2.0, 100.0) == 128.0
    assert fg.grad(f)(2.0, 100.0) == 7 * 2.0**6


@pytest.mark.parametrize("k", [-3, 0, 1, 2, 3, 9])
def test_switch_in_every_transform(k):
    branches = [np.sin, np.cos, lambda v: v**2, lambda v: np.sqrt(v - 5)]
    chosen = branches[min(max(k, 0), 3)]
    x = 7.0 if chosen is branches[3] else 1.2

    def f(x, k):
        return fg.switch(k, branches, x)

    value, slope = fg.value_and_grad(chosen)(x)
    assert f(x, k) == value
    np.testing.assert_allclose(fg.jit(fg.value_and_grad(f))(x, k), (value, slope), rtol=1e-14)
    ks = np.array([0, 1, 2])
    each = fg.jit(fg.vmap(fg.grad(f), in_axes=(None, 0)))(1.2, ks)
    np.testing.assert_allclose(each, [np.cos(1.2), -np.sin(1.2), 2.4], rtol=1e-14)


def test_bad_switches_are_refused():
    with pytest.raises(ValueError, match="one branch"):
        fg.switch(0, [], 1.0)
    with pytest.raises(TypeError, match="one integer"):
        fg.switch(0.5, [np.sin], 1.0)
    with pytest.raises(TypeError, match="functions of switch return"):
        fg.jit(lambda k, x: fg.switch(k, [lambda v: v, lambda v: v * np.ones(1)], x))(0, 1.0)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_associative_scan_is_a_running_result(n, reverse):
    rng = np.random.default_rng(n)
    a, b = rng.uniform(0.5, 1.5, (2, n))

    def compose(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    def f(a, b):
        return fg.associative_scan(compose, (a, b), reverse=reverse)[1]

    wanted, y = np.zeros(n), 0.0
    for i in range(n - 1, -1, -1) if reverse else range(n):
        y = y * a[i] + b[i]
        wanted[i] = y
    np.testing.assert_allclose(f(a, b), wanted, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(f)(a, b), wanted, rtol=1e-13)

    def by_loop(a, b):
        return fg.scan(lambda c, x: (c * x[0] + x[1],) * 2, 0.0, (a, b), reverse=reverse)[1]

    for g in (
        fg.grad(lambda a: np.sum(f(a, b) ** 2)),
        fg.jit(fg.grad(lambda a: fnp.sum(f(a, b) ** 2))),
    ):
        np.testing.assert_allclose(
            g(a), fg.grad(lambda a: np.sum(by_loop(a, b) ** 2))(a), rtol=1e-12
        )


def test_associative_scan_along_another_axis():
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(fg.associative_scan(np.add, x, axis=1), np.cumsum(x, 1))
    np.testing.assert_allclose(fg.associative_scan(np.add, x, axis=-2), np.cumsum(x, 0))
    with pytest.raises(ValueError, match="out of range"):
        fg.associative_scan(np.add, x, axis=2)


@pytest.mark.parametrize("start", [3, 3.0])
@pytest.mark.parametrize("add", [1, 0.5, np.float32(0.5), 1j])
def test_loops_without_steps_have_the_dtype_of_loops_with_steps(start, add):
    """A carry that is one of Python's numbers may become another one in a step."""

    def loops(steps):
        yield fg.fori_loop(0, steps, lambda i, c: c + add, start)
        yield fg.while_loop(lambda c: c[1] < steps, lambda c: (c[0] + add, c[1] + 1), (start, 0))[0]
        yield fg.scan(lambda c, x: (c + add, None), start, length=steps)[0]

    wanted = [np.result_type(x) for x in loops(2)]
    assert [np.result_type(x) for x in loops(0)] == wanted
    assert [np.result_type(x) for x in fg.jit(lambda: list(loops(0)))()] == wanted
    assert all(x == start for x in loops(0))
