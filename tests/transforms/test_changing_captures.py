"""Captures that change at each call: traced again, but compiled once, and never stale.

The oracle is the plain function, and, to the bit, the same function jitted anew.
"""

import random
import types

import numpy as np
import pytest
from amount import examples

import funcgrad as fg
from funcgrad.compile import execute as execution
from funcgrad.config import config
from funcgrad.extend import elementwise
from funcgrad.lax import cond, fori_loop, scan, while_loop
from funcgrad.numpy import cos
from funcgrad.transforms.captures import COPIED

X = np.linspace(-1.0, 2.0, 7)


@pytest.fixture
def compiled(monkeypatch):
    """How many graphs were compiled; programs on disk would hide it."""
    monkeypatch.setattr(config, "cache", False)
    seen = []
    real = execution.compile_graph
    monkeypatch.setattr(execution, "compile_graph", lambda *a: (seen.append(a), real(*a))[1])
    return seen


def array_in_a_cell():
    w = np.arange(7.0)

    def change(k):
        nonlocal w
        w = w + k

    return lambda x: np.sum(np.tanh(x * w)), change


def array_written_in_place():
    w = np.arange(7.0)
    return lambda x: np.sum(np.tanh(x * w)), lambda k: w.__setitem__(1, k + 0.5)


def large_array():
    w = np.full(COPIED, 0.125)
    return lambda x: np.sum(x) * w[7], lambda k: w.__setitem__(7, k + 0.25)


def view_of_an_array():
    whole = np.arange(14.0).reshape(7, 2)
    column = whole[:, 1]
    return lambda x: np.sum(x * column), lambda k: whole.__setitem__((3, 1), k + 0.5)


def array_of_which_another_is_made():
    w = np.arange(7.0)
    return lambda x: np.sum(x * np.exp(-w)), lambda k: w.__setitem__(1, k + 0.5)


def number_in_a_cell():
    k = 1.1

    def change(n):
        nonlocal k
        k = 1.1 + n

    return lambda x: np.sum(np.tanh(x * k) * np.exp(-k * x)), change


def attributes():
    o = types.SimpleNamespace(k=1.1, w=np.arange(7.0), n=11)

    def change(n):
        o.k, o.w, o.n = o.k + 0.31, o.w * 1.5, o.n + 1

    return lambda x: np.sum(np.tanh(x * o.w * o.k) * o.n), change


def numpy_number():
    o = types.SimpleNamespace(k=np.float32(1.3))
    return lambda x: np.sum(x * o.k), lambda n: setattr(o, "k", np.float32(1.3 + n))


def exponent():
    o = types.SimpleNamespace(k=5.5)
    return lambda x: np.sum(np.abs(x) ** o.k), lambda n: setattr(o, "k", 5.5 + n)


def parameters_in_a_list():
    held = [(np.cos(np.arange(49.0)).reshape(7, 7), np.arange(7.0)) for _ in range(3)]

    def net(x):
        for w, b in held:
            x = np.tanh(x @ w + b)
        return np.sum(x)

    def change(n):
        for k, (w, b) in enumerate(held):
            held[k] = w + 0.125, b - 0.5

    return net, change


def number_in_a_loop():
    o = types.SimpleNamespace(k=0.013)
    f = lambda x: np.sum(fori_loop(0, 9, lambda i, y: y + o.k * np.sin(y), x))
    return f, lambda n: setattr(o, "k", o.k + 0.01)


def array_in_a_scan():
    o = types.SimpleNamespace(w=np.cos(np.arange(7.0)), k=1.1)

    def f(x):
        last, rows = scan(lambda c, v: (c * o.w + v * o.k, np.sum(c)), x, x[:3])
        return np.sum(last) * np.sum(rows)

    return f, lambda n: o.__dict__.update(w=o.w * 1.1, k=o.k + 0.31)


def numbers_in_loops_within_loops():
    o = types.SimpleNamespace(k=0.13, m=0.23)

    def f(x):
        step = lambda _, y: fori_loop(0, 3, lambda i, z: z * o.k + np.cos(z), y - o.m)
        return np.sum(fori_loop(0, 4, step, x) * o.k)

    return f, lambda n: o.__dict__.update(k=o.k + 0.11, m=o.m + 0.07)


def numbers_in_branches():
    o = types.SimpleNamespace(k=0.13, w=np.cos(np.arange(7.0)))

    def f(x):
        one, other = (lambda y: np.sin(y * o.k) * o.w), (lambda y: (y - o.k) / o.w)
        return np.sum(cond(np.sum(x) > 0.0, one, other, x) * o.k)

    return f, lambda n: o.__dict__.update(k=o.k + 0.11, w=o.w * 1.1)


def numbers_in_branches_of_a_loop():
    o = types.SimpleNamespace(k=0.13, m=0.31)

    def f(x):
        def step(i, y):
            inner = lambda z: cond(i > 2, lambda u: u * o.k, lambda u: fg.checkpoint(part)(u), z)
            return inner(y) + o.m

        part = lambda u: np.cos(u * o.k) - o.m
        return np.sum(fori_loop(0, 5, step, x))

    return f, lambda n: o.__dict__.update(k=o.k + 0.11, m=o.m + 0.07)


def number_in_what_is_computed_again():
    o = types.SimpleNamespace(k=0.13)
    f = lambda x: np.sum(fg.checkpoint(lambda y: np.exp(np.sin(y * o.k)) + o.k)(x))
    return f, lambda n: setattr(o, "k", o.k + 0.11)


BRANCHING = numbers_in_branches, numbers_in_branches_of_a_loop
PLACES = (
    *BRANCHING, number_in_what_is_computed_again,
    number_in_a_loop, array_in_a_scan, numbers_in_loops_within_loops,
    array_in_a_cell, array_written_in_place, large_array, view_of_an_array, attributes, exponent,
    array_of_which_another_is_made, number_in_a_cell, numpy_number, parameters_in_a_list,
)  # fmt: skip


def bits(tree):
    return [np.asarray(x).tobytes() for x in fg.tree.leaves(tree)]


@pytest.mark.parametrize("transform", [lambda f: f, fg.value_and_grad], ids=["value", "gradient"])
@pytest.mark.parametrize("make", PLACES)
def test_what_changes_at_each_call_is_compiled_twice_at_most(make, transform, compiled):
    f, change = make()
    f = transform(f)
    jitted = fg.jit(f)
    for n in range(12):
        found = jitted(X)
        for one, other in zip(fg.tree.leaves(found), fg.tree.leaves(f(X)), strict=True):
            np.testing.assert_allclose(one, other, 1e-12, 1e-12)
        if n == 1:
            programs = len(compiled)  # with those of branches
            assert make in BRANCHING or programs <= 2
        assert n < 1 or len(compiled) == programs
        assert bits(found) == bits(jitted(X)) == bits(jitted(X))
        if n % 4 == 3:
            own = len(compiled)
            assert bits(fg.jit(lambda x: f(x))(X)) == bits(found)
            del compiled[own:]
        change(n + 1.0)


def test_numbers_by_which_passes_go_are_a_program_of_their_own():
    """What `simplify` makes of x**2 or x*1 does not serve x**2.5, nor the other way round."""
    o = types.SimpleNamespace(k=5.5)
    f = fg.jit(fg.grad(lambda x: np.sum(np.abs(x) ** o.k * o.k)))
    for k in (5.5, 6.5, 2.0, 7.5, 1.0, 0.0, 3.0, -0.0, np.inf, 2.5, -1.0, 0.5, 5, 2, 7, 8, 2.0):
        o.k = k
        assert bits(f(X)) == bits(fg.jit(fg.grad(lambda x: np.sum(np.abs(x) ** o.k * o.k)))(X))


def test_two_numbers_that_were_alike_may_part():
    o = types.SimpleNamespace(a=1.5, b=1.5)
    f = fg.jit(lambda x: np.sum(x * o.a + o.b))
    for a, b in ((1.5, 1.5), (2.5, 2.5), (3.5, 3.5), (3.5, 4.5), (6.5, 6.5), (1.5, 8.5)):
        o.a, o.b = a, b
        np.testing.assert_allclose(f(X), np.sum(X * a + b), 1e-14)


def test_an_integer_that_does_not_fit_is_refused_as_numpy_does():
    o = types.SimpleNamespace(k=11)
    small = np.arange(4, dtype=np.int8)
    f = fg.jit(lambda x: x + o.k)
    for k in (11, 12, 13):
        o.k = k
        np.testing.assert_array_equal(f(small), small + k)
    o.k = 300
    with pytest.raises(OverflowError):
        f(small)


def test_weights_that_begin_as_one_number_are_folded_only_while_they_are():
    held = [np.full((7, 7), 0.25), np.zeros(7)]
    f = fg.value_and_grad(lambda x: np.sum(np.tanh(x @ held[0] + held[1])))
    jitted = fg.jit(f)
    for n in range(6):
        assert bits(jitted(X)) == bits(fg.jit(lambda x: f(x))(X))
        np.testing.assert_allclose(jitted(X)[1], f(X)[1], 1e-12, 1e-14)
        held[n % 2] = held[n % 2] + (0.3 if n < 3 else X)


def test_a_branch_on_what_has_changed_is_taken_anew(compiled):
    w, o = np.arange(7.0), types.SimpleNamespace(k=1.5)

    def f(x):
        y = x * w if w[0] > 0 else x + w
        return np.sum(y * o.k if o.k > 2.0 else y - o.k)

    jitted = fg.jit(f)
    for n in range(16):
        w[0], o.k = (-1.0) ** n, 1.25 + n % 3
        np.testing.assert_allclose(jitted(X), f(X), 1e-13)
    assert len(compiled) <= 8  # the four ways through it


def test_derivatives_of_the_outside_serve_what_comes_later(monkeypatch):
    """`grad` of a jitted function cuts its graph once, whatever number it closes over."""
    from funcgrad.transforms import call

    seen = []
    real = call._cut
    monkeypatch.setattr(call, "_cut", lambda *a: (seen.append(a), real(*a))[1])
    o = types.SimpleNamespace(k=1.5)
    g = fg.grad(fg.jit(lambda x: np.sum(np.sin(x * o.k))))
    for n in range(8):
        o.k = 1.5 + n
        np.testing.assert_allclose(g(X), o.k * np.cos(X * o.k), 1e-13)
    assert len(seen) <= 2


def test_a_condition_of_a_loop_that_changes(compiled):
    o = types.SimpleNamespace(most=11.5, k=1.37, n=7)

    def f(x):
        going = lambda s: (np.sum(s[0]) < o.most) & (s[1] < o.n + 20)
        return while_loop(going, lambda s: (s[0] * o.k, s[1] + 1), (x, 0), max_steps=40)

    jitted = fg.jit(f)
    x = np.linspace(0.1, 0.4, 5)
    for _ in range(6):
        for y in (x, x.astype(np.float32)):
            found, want = jitted(y), f(y)
            np.testing.assert_allclose(found[0], want[0], 1e-6 if y is not x else 1e-13)
            assert found[0].dtype == want[0].dtype and found[1] == want[1]
        o.most, o.k = o.most + 3.25, o.k + 0.06
    assert len(compiled) <= 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64])
def test_numbers_in_loops_keep_their_dtypes(dtype):
    o = types.SimpleNamespace(k=0.7, n=7, s=np.float32(0.3), w=np.arange(3.0, dtype=np.float32))

    def f(x):
        def step(c, v):
            z = np.where(v.real > o.k, v * o.n, v) + (o.n if dtype is np.int64 else o.k)
            return c + np.sum(z).astype(dtype), z * o.s + np.maximum(o.w, o.k)

        return scan(step, x[0, 0], x)

    jitted = fg.jit(f)
    x = np.arange(12).reshape(4, 3).astype(dtype)
    for _ in range(5):
        for one, other in zip(fg.tree.leaves(jitted(x)), fg.tree.leaves(f(x)), strict=True):
            np.testing.assert_allclose(one, other, 1e-5 if dtype is np.float32 else 1e-13)
            assert np.asarray(one).dtype == np.asarray(other).dtype
        o.k, o.n, o.s, o.w = o.k + 0.21, o.n + 1, o.s + np.float32(0.11), o.w + np.float32(0.2)


def test_rules_of_the_users_that_read_what_changes_are_not_taken_from_before():
    o = types.SimpleNamespace(k=1.5, c=2.5)

    @fg.custom_vjp
    def f(x):
        return np.sin(x)

    f.defvjp(lambda x: (np.sin(x), x), lambda x, g: (g * o.k * np.cos(x),))
    stretched = elementwise(lambda x: np.sin(x), lambda _, x: o.k * cos(x), name="stretched")
    for function in (f, stretched):
        outer = fg.grad(fg.jit(lambda x, f=function: np.sum(f(x)) * o.c))
        inner = fg.jit(fg.grad(lambda x, f=function: np.sum(f(x)) * o.c))
        for k in (1.5, 2.75, 3.75, 7.25, 1.5):
            o.k, o.c = k, k + 1.0
            want = k * np.cos(X) * o.c
            np.testing.assert_allclose(outer(X), want, 1e-14)
            np.testing.assert_allclose(inner(X), want, 1e-14)


def test_results_that_are_a_captured_number_or_array_are_the_callers_own():
    o = types.SimpleNamespace(w=np.arange(3.0), k=1.5)
    f = fg.jit(lambda x: (fg.numpy.exp(o.w), o.k, x * o.k))
    for _ in range(5):
        o.w, o.k = o.w + 1.0, o.k + 1.0
        first = f(X)
        first[0][:] = 9.0
        np.testing.assert_allclose(f(X)[0], np.exp(o.w), 1e-14)
        assert f(X)[1] == o.k


# ------------------------------------------------------------------------- random programs


def random_program(draw):
    """A function of arrays, views and numbers in an object, by operations drawn at random."""
    whole = np.array([draw.uniform(0.2, 2.0) for _ in range(14)]).reshape(7, 2)
    o = types.SimpleNamespace(
        w=np.array([draw.uniform(0.2, 2.0) for _ in range(7)]), k=draw.uniform(0.2, 2.0),
        n=draw.randint(2, 9), view=whole[:, 1], s=np.float64(draw.uniform(0.2, 2.0)),
    )  # fmt: skip
    steps = draw.choices(
        [
            lambda y: y * o.k, lambda y: y + o.w, lambda y: np.sin(y) * o.view, lambda y: y - o.n,
            lambda y: y / (o.k + 3.0), lambda y: np.tanh(y) ** o.n, lambda y: y * np.exp(-o.w),
            lambda y: np.where(o.w > 1.0, y, o.k), lambda y: np.maximum(y, o.k),
            lambda y: y if o.k > 1.0 else -y, lambda y: y[::-1] if o.w[0] > 1.0 else y,
            lambda y: np.clip(y, -o.k, o.k), lambda y: np.abs(y) ** o.k, lambda y: y * o.s,
            lambda y: fori_loop(0, 4, lambda i, v: v * o.k - o.w / o.n, y),
            lambda y: scan(lambda c, v: (c * o.k + v, c - o.s), 0.5 * o.s + y[0], y)[1],
            lambda y: cond(o.s > 1.0, lambda v: v * o.k, lambda v: v - o.k, y),
            lambda y: cond(np.sum(y) > 1.0, lambda v: v * o.k, lambda v: v - o.w, y),
            lambda y: y * fg.vmap(lambda v: v * o.k)(o.w), lambda y: np.sum(y) * o.view,
            lambda y: fg.checkpoint(lambda v: np.cos(v * o.k))(y),
        ],
        k=draw.randint(2, 5),
    )  # fmt: skip

    def f(x):
        for step in steps:
            x = step(x)
        return np.sum(x)

    special = [0.0, 1.0, 2.0, 3.0, 0.5, 1.0, -1.0]
    some = lambda: draw.choice([draw.choice(special), draw.uniform(0.2, 2.0)])
    return f, [
        lambda: setattr(o, "k", some()),
        lambda: setattr(o, "n", draw.randint(0, 9)),
        lambda: setattr(o, "s", np.float64(some())),
        lambda: setattr(o, "w", o.w * draw.uniform(0.5, 1.5)),
        lambda: o.w.__setitem__(draw.randrange(7), some()),
        lambda: whole.__setitem__((draw.randrange(7), 1), some()),
        lambda: setattr(o, "view", whole[:, draw.randrange(2)]),
        lambda: setattr(o, "k", draw.choice([np.float64, np.float32, float])(o.k)),
    ]


@pytest.mark.parametrize("seed", range(examples(160)))
def test_random_programs_with_captures_that_change(seed):
    draw = random.Random(seed)
    f, changes = random_program(draw)
    plain = draw.choice([lambda f: f, fg.grad, fg.value_and_grad])(f)
    wraps = [fg.jit(plain)] if draw.random() < 0.7 else [fg.jit(plain), fg.jit(fg.jit(plain))]
    for _ in range(8):
        with np.errstate(all="ignore"):
            want = plain(X)
            for jitted in wraps:
                for _ in range(draw.randint(1, 3)):
                    found = jitted(X)
                    for one, other in zip(*map(fg.tree.leaves, (found, want)), strict=True):
                        np.testing.assert_allclose(one, other, 1e-9, 1e-9)
                        assert np.asarray(one).dtype == np.asarray(other).dtype
        for _ in range(draw.randint(1, 2)):
            draw.choice(changes)()
