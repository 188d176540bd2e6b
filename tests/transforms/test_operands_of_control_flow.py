"""What a function of control flow writes into its operands, carry or rows, the caller does not see.

Whether it runs in Python or as one operation is no difference, as of `jit`, `vmap` and `grad`.
"""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.array([1.0, 2.0, 3.0])


def put(v):
    v[0] = 10.0
    return np.sum(v)


def add_to_carry(c, r):
    c[0] += r
    return c


def written_rows(c, r):
    r[0] = 5.0
    return c + np.sum(r), r


def joined(a, b):
    a[0] = 5.0
    return a + b


def all_of_it(v):
    v *= 2.0
    v[1:][0] += 1.0
    return np.sum(v)


PROGRAMS = {
    "cond": lambda x, y: fg.cond(x[0] > 0.0, put, np.sum, y),
    "cond in place": lambda x, y: fg.cond(x[0] > 0.0, all_of_it, np.sum, y),
    "cond of a tree": lambda x, y: fg.cond(x[0] < 0.0, lambda t: t["a"][0], lambda t: put(t["a"]),
                                           {"a": y}),
    "cond of what it gives back": lambda x, y: put(fg.cond(x[0] > 0, lambda v: v, np.negative, y)),
    "switch": lambda x, y: fg.switch(x[0].astype(int), [np.sum, put, np.max], y),
    "carry of scan": lambda x, y: fg.scan(lambda c, r: (add_to_carry(c, r), r), y, x)[0],
    "no step of scan": lambda x, y: put(fg.scan(lambda c, r: (c, r), y, x[:0])[0]),
    "rows of scan": lambda x, y: fg.scan(written_rows, x[0], fnp.stack([y, y])),
    "the rows themselves": lambda x, y: fg.scan(written_rows, x[0], y[None])[0],
    "carry of fori_loop": lambda x, y: fg.fori_loop(0, 3, lambda i, c: add_to_carry(c, x[1]), y),
    "carry of while_loop": lambda x, y: fg.while_loop(
        lambda c: c[0] < 7.0, lambda c: add_to_carry(c, x[1]), y
    ),
    "map": lambda x, y: fg.map(put, y[None]),
    "associative_scan": lambda x, y: fg.associative_scan(joined, y[:, None]),
}  # fmt: skip
ARRAYS = {
    "traced": lambda x: x * 1.0,
    "the argument": lambda x: x,
    "a constant": lambda x: np.array([3.0, 2.0, 1.0]),
    "made": lambda x: fnp.full(3, 2.0),
    "made and written": lambda x: written(x),
    "a view": lambda x: (x * 1.0)[::-1],
}


def written(x):
    made = fnp.zeros(3)
    made[1] = x[0]
    return made


def leaves(found):
    return [np.asarray(x) for x in fg.tree.leaves(found)]


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_caller_keeps_its_array(program, array):
    def f(x):
        y = ARRAYS[array](x)
        found = PROGRAMS[program](x, y)
        return found, y

    def weighed(x):
        return sum(np.sum(np.sin(v)) for v in fg.tree.leaves(f(x)))

    x = X.copy()
    for got, wanted in zip(leaves(f(x)[1]), leaves(ARRAYS[array](X)), strict=True):
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(x, X)
    plain = leaves(f(X))
    ways = {
        "jit": lambda: fg.jit(f)(X),
        "vjp": lambda: fg.vjp(f, X)[0],
        "jvp": lambda: fg.jvp(f, (X,), (X,))[0],
        "vmap": lambda: [v[0] for v in leaves(fg.vmap(f)(X[None]))],
        "vjp of jit": lambda: fg.vjp(fg.jit(f), X)[0],
    }
    for way in ways.values():
        for got, wanted in zip(leaves(way()), plain, strict=True):
            np.testing.assert_array_equal(got, wanted)
    slopes = fg.grad(weighed)(X)
    for g in (fg.jit(fg.grad(weighed)), fg.grad(fg.jit(weighed)), fg.jacfwd(weighed)):
        np.testing.assert_allclose(g(X), slopes, rtol=1e-13, atol=1e-14)


def test_what_is_no_array_is_handed_in_as_it_is():
    marker = object()
    assert fg.cond(True, lambda m, n: (m, n), None, marker, 2) == (marker, 2)
    assert type(fg.switch(0, [lambda n: n], 2)) is int


def test_traced_values_may_be_written_into_operands_that_are_plain():
    def f(x):
        def branch(v):
            v[0] = x[1]
            return np.sum(v * v)

        return fg.cond(True, branch, branch, np.ones(3))

    np.testing.assert_array_equal(fg.grad(f)(X), [0.0, 4.0, 0.0])
    np.testing.assert_array_equal(fg.jit(fg.grad(f))(X), [0.0, 4.0, 0.0])
