"""Functions that are traced once and run any number of times write into nothing that is older.

The write would happen once, while they are traced. With numbers at hand they are Python functions,
and write as often as they are called.
"""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import LaterTransformError

X = np.array([1.0, 2.0, 3.0])


def loops(write):
    """Each way to run a function any number of times, with one that writes first."""

    def after(f):
        def writing(*args):
            write()
            return f(*args)

        return writing

    def plain(c, _):
        return c * 0.5, None

    return {
        "scan": lambda x: fg.scan(after(plain), x[0], x)[0],
        "scan in segments": lambda x: fg.scan(after(plain), x[0], x, checkpoint=True)[0],
        "a carry of numbers": lambda x: fg.scan(
            after(lambda c, r: (c + 1.0, x[0] * r)), 0.0, np.ones(3)
        )[1][0],
        "fori_loop": lambda x: fg.fori_loop(0, 3, after(lambda _, c: c * 0.5), x[0]),
        "traced bounds": lambda x: fg.fori_loop(
            0, x[0].astype(int), after(lambda _, c: c * 0.5), x[0]
        ),
        "while_loop": lambda x: fg.while_loop(lambda c: c > 0.1, after(lambda c: c * 0.5), x[0]),
        "its condition": lambda x: fg.while_loop(after(lambda c: c > 0.1), lambda c: c * 0.5, x[0]),
        "map": lambda x: fg.map(after(np.sin), x)[0],
        "cond": lambda x: fg.cond(x[0] > 5.0, after(np.sin), np.cos, x[0]),
        "the other function": lambda x: fg.cond(x[0] > 0.0, np.sin, after(np.cos), x[0]),
        "switch": lambda x: fg.switch(x[0].astype(int), [np.sin, after(np.cos), np.tan], x[0]),
        "cond within scan": lambda x: fg.scan(
            lambda c, r: (fg.cond(r > 1.0, after(np.sin), np.cos, c), None), x[0], x
        )[0],
    }


def add_one(y):
    y += 1.0


def set_one(y):
    y[1] = 7.0


def through_a_view(y):
    y[1:][0] += 1.0


def all_of_it(y):
    np.multiply(y, 2.0, out=y)


ARRAYS = {
    "traced": lambda x: x * 1.0,
    "made": lambda x: fnp.zeros(3),
    "made and written": lambda x: written(fnp.zeros(3), x),
    "a copy": lambda x: x.copy(),
    "the argument": lambda x: x,
    "reversed": lambda x: (x * 1.0)[::-1],
}


def written(y, x):
    y[0] = x[0]
    return y


def program(loop, array, write):
    def run(x):
        y = ARRAYS[array](x)
        found = loops(lambda: write(y))[loop](x)
        return found, y

    return run


@pytest.mark.parametrize("loop", loops(None))
def test_a_write_into_what_is_older_is_refused(loop):
    f = program(loop, "traced", set_one)
    for g in (fg.jit(f), fg.jit(fg.grad(lambda x: f(x)[0])), fg.grad(fg.jit(lambda x: f(x)[0]))):
        with pytest.raises(LaterTransformError, match=r"older than the call[\s\S]*in set_one"):
            g(X)


@pytest.mark.parametrize("write", [add_one, set_one, through_a_view, all_of_it])
@pytest.mark.parametrize("array", ARRAYS)
def test_arrays_of_each_kind(array, write):
    with pytest.raises(LaterTransformError, match="the body of scan, which is traced once"):
        fg.jit(program("scan", array, write))(X)


@pytest.mark.parametrize("loop", ["scan", "fori_loop", "while_loop", "map", "cond", "switch"])
def test_with_numbers_at_hand_each_step_writes(loop):
    steps = {"while_loop": 4, "cond": 0, "switch": 1}.get(loop, 3)
    _, y = program(loop, "made", add_one)(X)
    np.testing.assert_array_equal(y, np.full(3, float(steps)))
    np.testing.assert_array_equal(
        fg.grad(lambda x: program(loop, "traced", add_one)(x)[1][1] ** 2)(X),
        [0.0, 2.0 * (X[1] + steps), 0.0],
    )


def test_what_is_made_within_may_be_written():
    def of_the_outer_ones(c, r, x):
        t = x * 2.0
        t[0] = 0.0
        t += 1.0
        return c + np.sum(t) * r

    def of_the_carry(c, r, x):
        v = c * x
        v[1] = r
        w = fnp.zeros(3)
        w[2] = v[0]
        w[0] = x[2]
        return np.sum(v * w)

    def of_an_inner_gradient(c, r, x):
        def inner(a):
            b = a * x
            b[0] = 0.0
            a[1] = 4.0
            return np.sum(b * a) * c

        return np.sum(fg.grad(inner)(x)) * 0.01 + r

    def of_equal_values(c, r, x):
        t = x * 1.5  # the same operation as before the loop
        t[0] = 0.0
        return c + np.sum(t) * r

    for body in (of_the_outer_ones, of_the_carry, of_an_inner_gradient, of_equal_values):

        def f(x, body=body):
            same = x * 1.5
            return fg.scan(lambda c, r: (body(c, r, x), None), x[0], x)[0] + np.sum(same)

        for g in (f, fg.grad(f), lambda x, f=f: fg.jvp(f, (x,), (np.ones(3),))[1]):
            np.testing.assert_allclose(fg.jit(g)(X), g(X), rtol=1e-13)
        np.testing.assert_allclose(fg.grad(fg.jit(f))(X), fg.grad(f)(X), rtol=1e-13)
        np.testing.assert_allclose(fg.vmap(fg.jit(f))(X[None])[0], f(X), rtol=1e-13)


def test_what_is_made_within_of_outer_values_that_are_not_staged():
    def f(x):
        def step(c):
            t = x * 2.0
            t[0] = 1.0
            return c * 0.5 + 0.01 * np.sum(t)

        return fg.while_loop(lambda c: c > 1.0, step, 8.0 * x[1])

    np.testing.assert_allclose(fg.vmap(f)(np.stack([X, X]))[1], f(X), rtol=1e-13)
    pushed = fg.jvp(fg.checkpoint(f), (X,), (X,))
    np.testing.assert_allclose(pushed, fg.jvp(f, (X,), (X,)), rtol=1e-13)
    np.testing.assert_allclose(fg.grad(fg.checkpoint(f))(X), fg.grad(f)(X), rtol=1e-13)


def test_rows_stay_that_a_later_step_writes_over():
    def f(x):
        def step(c, r):
            c[0] += r
            return c, (c, c[:1])

        return fg.scan(step, x * 1.0, x)[1]

    first = X[0] + np.cumsum(X)
    whole = np.stack([first, np.full(3, X[1]), np.full(3, X[2])], 1)
    slopes = fg.jacrev(fg.jit(lambda x: f(x)[0]))(X)
    pushed = lambda x: fg.jvp(f, (x,), (np.ones(3),))[0]
    for g in (f, fg.jit(f), lambda x: fg.vjp(f, x)[0], pushed, lambda x: fg.vmap(f)(x[None])):
        rows, parts = g(X)
        np.testing.assert_array_equal(np.reshape(rows, (3, 3)), whole)
        np.testing.assert_array_equal(np.reshape(parts, 3), first)
    np.testing.assert_array_equal(fg.jacrev(lambda x: f(x)[0])(X), slopes)
    np.testing.assert_array_equal(fg.jacfwd(lambda x: f(x)[0])(X), slopes)


def with_a_rule(kind, f):
    if kind == "custom_vjp":
        g = fg.custom_vjp(f)
        g.defvjp(lambda v: (f(v), v), lambda v, c: (c * 2.0 * v,))
    elif kind == "custom_jvp":
        g = fg.custom_jvp(f)
        g.defjvp(lambda v, t: (f(*v), np.sum(2.0 * v[0] * t[0])))
    elif kind == "custom_vmap":
        g = fg.custom_vmap(f)
        g.def_vmap(lambda n, batched, v: (np.sum(v * v, -1), True))
    else:
        g = fg.custom_gradient(lambda v: (f(v), lambda c: c * 2.0 * v))
    return g


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp", "custom_vmap", "custom_gradient"])
def test_a_function_with_a_rule_is_traced_for_it(kind):
    def f(x):
        y = x * 1.0

        def square(v):
            set_one(y)
            return np.sum(v * v)

        return with_a_rule(kind, square)(x), y

    np.testing.assert_array_equal(f(X)[1], [1.0, 7.0, 3.0])
    np.testing.assert_array_equal(fg.vjp(f, X)[0][1], [1.0, 7.0, 3.0])
    with pytest.raises(LaterTransformError, match=r"a rule of its own .* writes into an array"):
        fg.jit(f)(X)


def test_segments_are_traced_once_with_numbers_at_hand_too():
    with pytest.raises(LaterTransformError, match="the body of scan"):
        fg.grad(lambda x: np.sum(program("scan in segments", "traced", set_one)(x)[1]))(X)


def test_after_a_refusal_arrays_can_be_written_again():
    def f(x):
        y = x * 1.0
        with pytest.raises(LaterTransformError):
            loops(lambda: set_one(y))["scan"](x)
        y[0] = 5.0
        return y

    np.testing.assert_array_equal(fg.jit(f)(X), [5.0, 2.0, 3.0])


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit, fg.jacfwd, lambda f: fg.jit(fg.jacfwd(f))])
def test_numbers_at_hand_are_written_at_places_that_are_traced(wrap):
    """Neither the array nor what is written into it is traced, but where it is written is."""

    def f(x):
        order = np.argsort(x)
        out, table = fnp.zeros(4), fnp.ones((2, 4))
        out[order] = np.array([2.0, 3.0, 4.0, 5.0])
        table[0, order[1]] = 7.0
        table[1, order] += 2.0
        table[1, [order[0], 0]] -= 0.5
        return out * x + table[0] * table[1]

    x = np.array([0.3, 0.1, 0.8, 0.5])
    values = np.array([3.0, 2.0, 5.0, 4.0])
    wanted = values * x + np.array([2.5 * 7.0, 2.5, 3.0, 3.0])
    found = wrap(f)(x)
    np.testing.assert_allclose(found, wanted if found.ndim == 1 else np.diag(values), rtol=1e-15)
