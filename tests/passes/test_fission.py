"""Fission of loops: what leaves a step, what stays, how much memory it takes, and that it is right.

Random programs are run with all that can leave a loop leaving it, however short the loop is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.config import config
from funcgrad.graph.check import check
from funcgrad.graph.loop import Loop
from funcgrad.passes import fission, loop_parts
from funcgrad.passes.pipeline import optimize

sys.path.insert(0, str(Path(__file__).parents[1]))

from test_random_loops import WAYS, Draws, Ours, Written, agree

ROWS = np.sin(np.arange(300.0)) * 0.1
THETA = np.array([0.05, 0.1, 0.85])


def garch(th):
    def step(s, r):
        q = r * r
        return th[0] + th[1] * q + th[2] * s, np.log(s) + q / s

    return np.sum(fg.scan(step, ROWS[0] ** 2 + 0.01, ROWS)[1])


def divided(f, *args):
    """The graph after the passes, and the loops that are left in it."""
    graph = optimize(fg.make_graph(f)(*args), lambda _, g: check(g))
    return graph, [Loop(**e.params) for e in graph.equations if e.prim.loops]


def names(graph):
    return [e.prim.name for e in graph.equations]


def as_interpreted(f, *args, rtol=1e-10):
    """What compiled code gives, which has to be what the interpreter does."""
    before = config.backend
    found = fg.jit(f)(*args)
    config.backend = "interpreter"
    try:
        wanted = fg.jit(f)(*args)
    finally:
        config.backend = before
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)
    return found


def test_what_reads_a_carry_or_rows_alone_leaves_the_loop():
    graph, (loop,) = divided(garch, THETA)
    assert set(names(loop.body)) == {"add", "multiply"}
    assert {"log", "divide"} <= set(names(graph))


def test_sums_in_the_backward_loop_become_sums_of_stacks():
    _, (one, two) = divided(fg.value_and_grad(garch), THETA)
    assert one.carries == 1
    carried = two.body.outputs[: two.carries]
    assert [o.type.dtype for o in carried].count(np.float64) == 1
    assert not {"divide", "log"} & set(names(two.body))
    as_interpreted(fg.value_and_grad(garch), THETA)


def test_products_that_are_added_up_become_one_product():
    def f(w, u, xs):
        def step(h, x):
            return np.tanh(x @ w + h @ u), None

        return np.sum(fg.scan(step, np.zeros(40), xs)[0] ** 2)

    rng = np.random.default_rng(0)
    args = [rng.standard_normal(shape) * 0.2 for shape in ((40, 40), (40, 40), (30, 40))]
    graph, (one, two) = divided(fg.grad(f, (0, 1)), *args)
    assert names(one.body).count("matmul") == names(two.body).count("matmul") == 1
    assert names(graph).count("matmul") == 3
    assert one.carries == two.carries == 1
    as_interpreted(fg.grad(f, (0, 1)), *args)


def test_products_of_examples_are_added_up_for_each():
    def f(w):
        return np.sum(fg.scan(lambda h, x: (np.tanh(w @ h + x), None), np.zeros(20), xs)[0] ** 2)

    xs = np.random.default_rng(0).standard_normal((30, 20))
    ws = np.random.default_rng(1).standard_normal((3, 20, 20)) * 0.2
    _, (_, two) = divided(fg.vmap(fg.grad(f)), ws)
    assert two.carries == 1 and names(two.body).count("matmul") == 1
    found = fg.jit(fg.vmap(fg.grad(f)))(ws)
    wanted = np.stack([fg.grad(f)(w) for w in ws])
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_rows_of_a_table_are_added_up_at_once():
    def f(table, places):
        return fg.scan(lambda c, k: (np.sin(c * table[k]), None), np.ones(3), places)[0].sum()

    args = np.linspace(0, 1, 60).reshape(20, 3), np.arange(50) * 7 % 20
    graph, (_, two) = divided(fg.grad(f), *args)
    assert "scatter_add" in names(graph) and "scatter_add" not in names(two.body)
    as_interpreted(fg.grad(f), *args)


def test_a_loop_without_carries_is_no_loop():
    graph, loops = divided(lambda xs: fg.map(lambda x: np.exp(np.sin(x)) * x, xs), ROWS)
    assert not loops and {"sin", "exp"} <= set(names(graph))
    as_interpreted(lambda xs: fg.map(lambda x: np.exp(np.sin(x)) * x, xs), ROWS)


def test_results_that_nobody_reads_are_not_computed():
    _, (loop,) = divided(lambda x: fg.scan(lambda c, r: ((c[0] * x, c[1] + r), np.log(c[1])),
                                           (x, x), ROWS)[0][0], 1.0)  # fmt: skip
    assert (loop.carries, len(loop.body.outputs), names(loop.body)) == (1, 1, ["multiply"])


def test_operands_that_are_the_same_are_one():
    def f(p):
        return fg.scan(lambda c, _: (c * p[0] + np.sin(c * p[0]), None), p[1], length=30)[0]

    _, (loop,) = divided(fg.grad(f), np.array([0.5, 1.0]))[1], divided(f, np.array([0.5, 1.0]))[1]
    assert loop.consts == 1


@pytest.mark.parametrize("rows", [100, 2000])
def test_stacks_take_no_more_memory_than_the_rows_of_the_loop(rows, monkeypatch):
    """Sums over matrices of which a step makes many from few numbers."""
    monkeypatch.setattr(loop_parts, "MEMORY", 1 << 16)

    def f(w, xs):
        def step(c, x):
            wide = np.exp(np.outer(x * c[0], np.ones(40)) * w)
            return (np.tanh(c[0] * 0.5 + x), c[1] + wide), np.sum(np.sin(wide))

        (c, total), y = fg.scan(step, (np.ones(40), np.zeros((40, 40))), xs)
        return np.sum(c) + np.sum(total) + np.sum(y)

    args = np.ones((40, 40)), np.linspace(0, 1, rows * 40).reshape(rows, 40)
    graph, _ = divided(f, *args)
    assert max(v.type.size for e in graph.equations for v in e.outputs) <= rows * 41


def test_short_loops_and_those_that_end_by_themselves_stay():
    def short(x):
        return fg.scan(lambda c, r: (c * x, np.log(c * c + r)), x, np.ones(5))[1]

    def until(x):
        return fg.while_loop(lambda c: c[1] < 90, lambda c: (c[0] + np.exp(x), c[1] + 1), (x, 0))[0]

    for f in (short, until):
        _, (loop,) = divided(f, 0.5)
        assert {"log", "exp"} & set(names(loop.body)) or f is until
        as_interpreted(f, 0.5)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_sums_of_every_kind(reverse, dtype):
    xs = (np.arange(90) % 7).astype(dtype).reshape(30, 3)

    def f(xs):
        def step(c, x):
            a, b, n, flag = c
            return (a + x + np.flip(x) * 2, b + a, n + 1, False), (a * 2, x[0], flag)

        zero = np.zeros(3, dtype)
        return fg.scan(step, (zero + 1, zero, 0, True), xs, reverse=reverse)

    for a, b in zip(fg.tree.leaves(as_interpreted(f, xs)), fg.tree.leaves(f(xs)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_an_index_out_of_range_in_what_has_left_names_the_line():
    @fg.jit
    def f(table, places):
        return fg.scan(lambda c, k: (c * 0.5 + 1, np.exp(np.sin(table[k] * c))), 1.0, places)[1]

    places = np.arange(20)
    np.testing.assert_allclose(f(np.ones(20), places)[0], np.exp(np.sin(1.0)), rtol=1e-15)
    with pytest.raises(IndexError) as error:
        f(np.ones(19), places)
    assert any(__file__ in note for note in error.value.__notes__)


@pytest.mark.parametrize(
    "way", [lambda f: f, fg.grad, fg.hessian], ids=["value", "grad", "hessian"]
)
def test_parts_of_loops_in_loops(way):
    rows = np.linspace(-1, 1, 60).reshape(20, 3)

    def f(p):
        def inner(c, x):
            return (c[0] * 0.9 + x * p[0], c[1] + np.sin(c[0] * p[1])), np.log(1 + c[0] ** 2)

        def outer(c, row):
            d, ys = fg.scan(inner, (c[0], 0.0), np.tile(row, 10))
            return (d[0], c[1] + d[1]), np.sum(ys)

        c, y = fg.scan(outer, (p[2], 0.0), rows)
        return c[1] + np.sum(y * y)

    p = np.array([0.3, 0.8, 0.1])
    found, wanted = fg.jit(way(f))(p), way(f)(p)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9 * np.max(np.abs(wanted)))


def test_infinities_and_nan_stay_where_they_are():
    xs = np.r_[np.ones(20), np.inf, np.nan, np.zeros(20)]

    def f(x, xs):
        def step(c, r):
            return (c[0] + np.where(r > 0, r * x, 0.0), c[1] + 1.0), np.log(c[0] - r)

        (total, n), y = fg.scan(step, (x, 0.0), xs)
        return total * n, y

    with np.errstate(all="ignore"):
        as_interpreted(f, 0.5, xs)
        as_interpreted(fg.grad(lambda x: np.sum(np.where(xs < 2, f(x, xs)[1], 0.0))), 0.5)


@pytest.fixture
def everything(monkeypatch):
    """All that can leave a loop leaves it."""
    monkeypatch.setattr(fission, "SHORTEST", 1)
    monkeypatch.setattr(loop_parts.Parts, "gain", lambda *_: 1 << 20)
    monkeypatch.setattr(loop_parts.Parts, "worth", lambda *_: 1 << 20)
    monkeypatch.setattr(config, "cache", False)


def drawn(count):
    from hypothesis import HealthCheck

    return settings(
        max_examples=examples(count),
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )


@drawn(24)
@given(seed=st.integers(0, 2**20), way=st.sampled_from(sorted(WAYS)))
def test_random_programs_of_which_all_leaves_that_can(everything, way, seed):
    program = Draws(seed).program()
    compiled, plain = WAYS[way]
    x = np.random.default_rng(seed).uniform(0.1, 1.0, 4)
    with np.errstate(all="ignore"):
        found = compiled(lambda x: program(Ours, x))(x)
        agree(found, plain(lambda x: program(Written, x))(x))


class Recurrent:
    """A step of sums of products, tables, rows and functions, drawn from a number."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.kinds = [self.among("state", "sum", "sum", "table", "product", "mask")
                      for _ in range(rng.integers(2, 6))]  # fmt: skip
        self.places = [int(k) for k in rng.integers(0, 9, 40)]
        self.steps = int(self.among(16, 17, 33))
        self.reverse = bool(rng.integers(2))
        self.xs = rng.uniform(-1, 1, (self.steps, 3))
        self.indices = rng.integers(0, 4, self.steps)

    def among(self, *options):
        return options[self.rng.integers(len(options))]

    def __call__(self, p):
        table, w = p[:12].reshape(4, 3), p[12:21].reshape(3, 3)
        kinds = ["state", *self.kinds]

        def step(carry, row):
            x, k, flag = *row, carry[-1]
            values = [x, table[k], carry[0], np.sin(x * 2), x @ w, np.exp(-(carry[0] ** 2))]
            pick = iter(self.places * 4)
            new = []
            for kind, c in zip(kinds, carry, strict=False):
                a, b = (values[next(pick) % len(values)] for _ in range(2))
                if kind == "state":
                    new.append(np.tanh(c * 0.5 + a * b @ w))
                elif kind == "sum":
                    new.append(c + a * b + b)
                elif kind == "table":
                    new.append(c + fnp.where(flag, a, 0.0) * table[(k + 1) % 4])
                elif kind == "product":
                    new.append(c + np.outer(a, b))
                else:
                    new.append(fnp.where(b > 0.1, c + a, c))
                values.append(new[-1] if kind == "state" else a * 0.5)
            y = values[next(pick) % len(values)] * values[next(pick) % len(values)]
            return (*new, False), np.log(1 + y * y)

        first = [np.ones(3) if k != "product" else np.zeros((3, 3)) for k in kinds]
        last, y = fg.scan(step, (*first, True), (self.xs, self.indices), reverse=self.reverse)
        return sum(np.sum(np.sin(c)) for c in last[:-1]) + np.sum(y * y)


P = np.linspace(-0.5, 0.6, 21)


def eager_product(f, p):
    return fg.jvp(fg.grad(f), (p,), (np.cos(np.arange(21.0)),))[1]


RECURRENT_WAYS = {
    "gradient": (lambda f: fg.jit(fg.grad(f))(P), lambda f: fg.grad(f)(P)),
    "product": (lambda f: fg.jit(lambda p: eager_product(f, p))(P), lambda f: eager_product(f, P)),
    "examples": (
        lambda f: fg.jit(fg.vmap(fg.grad(f)))(np.stack([P, P * 0.9])),
        lambda f: np.stack([fg.grad(f)(P), fg.grad(f)(P * 0.9)]),
    ),
    "gradient of compiled": (lambda f: fg.grad(fg.jit(f))(P), lambda f: fg.grad(f)(P)),
}


@drawn(60)
@given(seed=st.integers(0, 2**20), way=st.sampled_from(sorted(RECURRENT_WAYS)))
def test_random_recurrences_agree_with_their_loops_in_python(seed, way):
    f = Recurrent(seed)
    compiled, plain = RECURRENT_WAYS[way]
    wanted = plain(f)
    np.testing.assert_allclose(compiled(f), wanted, rtol=1e-7, atol=1e-8 * abs(wanted).max())
