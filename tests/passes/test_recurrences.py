"""Linear recurrences: which loops become matrices, that these are right, and what stays as it was.

Random steps are rewritten however short their chain is, and run in every way that has loops;
``python -m tests.passes.test_recurrences FIRST LAST`` runs the seeds between, one way each.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.compile.execute import executable_for_program
from funcgrad.config import config
from funcgrad.graph.check import check
from funcgrad.graph.loop import Loop
from funcgrad.passes import recurrences
from funcgrad.passes.pipeline import optimize
from funcgrad.passes.recurrences import Form
from tests.amount import examples

P = np.array([9.81, 0.1, 1.0, 0.2])


def pendulum(p, steps=40, reverse=False):
    def slope(u):
        return fnp.stack([u[1], -p[0] * np.sin(u[0]) - p[1] * u[1]])

    def step(u, _):
        k1 = slope(u)
        k2 = slope(u + 0.005 * k1)
        k3 = slope(u + 0.005 * k2)
        u = u + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + slope(u + 0.01 * k3))
        return u, u

    _, path = fg.scan(step, p[2:], None, length=steps, reverse=reverse)
    return np.sum(path[:, 0] ** 2)


def by_hand(p, steps=40):
    class Python:
        @staticmethod
        def scan(step, u, _, length, reverse):
            path = []
            for _ in range(length):
                u, y = step(u, None)
                path.append(y)
            return u, np.stack(path)

    before, fg.scan = fg.scan, Python.scan
    try:
        return pendulum(p, steps)
    finally:
        fg.scan = before


def loops(f, *args):
    """The loops that are left after the passes."""
    graph = optimize(fg.make_graph(f)(*args), lambda _, g: check(g))
    return [Loop(**e.params) for e in graph.equations if e.prim.loops]


def matrices(found):
    """The numbers of carries of loops that only multiply and add."""
    short = {"multiply", "add"}
    return [p.carries for p in found
            if not p.counted and {e.prim.name for e in p.body.equations} <= short]  # fmt: skip


def as_interpreted(f, *args, rtol=1e-9, for_program=False):
    """What compiled code gives has to be what the interpreter does; that of programs as well."""
    before = config.backend
    found = fg.jit(f)(*args)
    if for_program:
        found = executable_for_program(fg.make_graph(f)(*args))(*fg.tree.leaves(args))
    config.backend = "interpreter"
    try:
        agree(found, fg.jit(f)(*args), rtol)
    finally:
        config.backend = before


def agree(found, wanted, rtol=1e-9):
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        size = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12 * size)


@pytest.fixture
def always(monkeypatch):
    """Whatever is linear in its carries, however short its chain."""
    monkeypatch.setattr(recurrences, "SHORTEST", 1)
    monkeypatch.setattr(recurrences._Program, "pays", lambda *_: True)
    monkeypatch.setattr(config, "cache", False)


# ------------------------------------------------------------------------------- what is taken


@pytest.mark.parametrize("f", [pendulum, by_hand], ids=["scan", "Python loop"])
def test_the_backward_half_of_a_chain_of_stages_is_a_matrix(f):
    way = fg.value_and_grad(f)
    found = loops(lambda p: fg.jit(way)(p), P)
    assert matrices(found) == [2]
    as_interpreted(way, P)


def test_what_no_carry_depends_on_leaves_with_the_functions_of_it():
    """Sums of cotangents and cosines are vector passes: no loop but those of carries is left."""
    found = loops(fg.value_and_grad(pendulum), P)
    assert sorted(p.carries for p in found) == [1, 2, 2]
    run = [p for p in found if not p.counted]  # the other one runs where numbers are not finite
    assert not {e.prim.name for p in run for e in p.body.equations} & {"cos", "place"}


def test_what_runs_where_numbers_are_not_finite_is_no_part_of_the_program():
    graph = fg.make_graph(fg.value_and_grad(pendulum))(P)
    found = optimize(graph, lambda _, g: check(g), Form.FINITE)
    every = [Loop(**e.params) for e in found.equations if e.prim.loops]
    assert sorted(p.carries for p in every) == [1, 2]
    assert [p.finite for p in every if p.carries == 2] == [True]
    assert not any(p.counted for p in every)


def test_short_chains_stay():
    rows = np.sin(np.arange(300.0)) * 0.1

    def garch(th):
        def step(s, r):
            q = r * r
            return th[0] + th[1] * q + th[2] * s, np.log(s) + q / s

        return np.sum(fg.scan(step, 0.01, rows)[1])

    found = loops(fg.value_and_grad(garch), np.array([0.05, 0.1, 0.85]))
    assert len(found) == 2 and not any(p.counted for p in found)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_numbers_stay(dtype):
    x = np.full(40, 0.5, dtype)

    def f(a):
        def step(c, r):
            for _ in range(12):
                c = c * a + r
            return c, None

        return fg.scan(step, a, x)[0]

    (loop,) = loops(f, dtype(0.5))
    assert not loop.counted
    as_interpreted(f, dtype(0.5), rtol=1e-5)


def test_many_carries_and_steps_that_are_not_linear_stay():
    def wide(x):
        def step(c, _):
            for _ in range(12):
                c = c[::-1] * x + 1.0
            return c, None

        return fg.scan(step, fnp.ones(5) * x, None, length=40)[0]

    def bent(x):
        def step(c, _):
            for _ in range(12):
                c = fnp.maximum(c * x, 0.1)
            return c, None

        return fg.scan(step, x, None, length=40)[0]

    for f in (wide, bent):
        (loop,) = loops(f, 0.5)
        assert loop.carries == 1 and not loop.counted


# ------------------------------------------------------------------------------ that it is right


@pytest.mark.parametrize("steps", [1, 2, 3, 33])
@pytest.mark.parametrize("reverse", [False, True])
def test_any_number_of_steps_in_both_directions(always, steps, reverse):
    as_interpreted(fg.value_and_grad(lambda p: pendulum(p, steps, reverse)), P)


def test_loops_of_no_steps(always):
    as_interpreted(fg.grad(lambda p: fg.scan(lambda c, x: (c * p + x, c), p, np.ones(0))[0]), 2.0)


WAYS = {
    "value": lambda f: f,
    "grad": fg.grad,
    "product with the Hessian": lambda f: lambda p: fg.jvp(fg.grad(f), (p,), (P,))[1],
    "hessian": fg.hessian,
    "forward": fg.jacfwd,
    "examples": lambda f: lambda p: fg.vmap(fg.grad(f))(np.stack([np.ones(4), P / 9]) * p),
    "gradient of compiled": lambda f: fg.grad(fg.jit(f)),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_transform_of_a_chain_of_stages(always, way):
    as_interpreted(WAYS[way](lambda p: pendulum(p, 20)), P, rtol=1e-8)


def test_what_a_step_writes_and_adds_up_is_that_of_the_program(always):
    rows = np.sin(np.arange(90.0)).reshape(30, 3)

    def f(p):
        def step(c, x):
            v, total, wide = c
            v = fnp.stack([v[1] * x[0] + p[0], v[0] - 0.5 * v[1] * p[1]]) * 0.5
            return (v, total + v[0] * x[1], wide + np.outer(v, x)), (np.sin(v), x[2] * v[1], 2.0)

        return fg.scan(step, (p[2:], 0.0, np.zeros((2, 3))), rows, reverse=True)

    as_interpreted(f, P)
    as_interpreted(fg.grad(lambda p: sum(np.sum(x * x) for x in fg.tree.leaves(f(p)))), P)


def test_masks_that_settle_after_two_steps(always):
    """Only the last of three numbers is read: the cotangent of the first is there from step 3 on.

    The derivative that meets it before is infinite.
    """

    def f(p):
        def step(c, x):
            a, b, d = c
            return (np.sqrt(x) * a * 0.5, a + 0.1 * b * b, b * p[0] * 0.1 + d * 0.2), None

        xs = fnp.where(np.arange(20) < 19, p[1] + 1.0, 0.0 * p[1])
        return fg.scan(step, (p[2], p[3], p[2] * p[3]), xs)[0][2]

    as_interpreted(fg.value_and_grad(f), P)


def test_flags_of_the_program_that_settle(always):
    def f(p):
        def step(c, x):
            v, started, twice = c
            w = fnp.where(started, v * p[0] * 0.1, x) + fnp.where(twice, 0.0, np.inf)
            return (fnp.where(twice, w, x * v), True, started), w

        return fg.scan(step, (p[1], False, False), np.linspace(0, 1, 20))

    as_interpreted(f, P)
    as_interpreted(fg.grad(lambda p: f(p)[0][0]), P)


def test_flags_that_go_on_changing_stay(always):
    def f(p):
        def step(c, x):
            v, flag = c
            return (fnp.where(flag, v * p[0], v + x), ~flag), v

        return fg.scan(step, (p[1], False), np.linspace(0, 1, 20))[0][0]

    assert not any(p.counted for p in loops(f, P))
    as_interpreted(fg.value_and_grad(f), P)


# -------------------------------------------------------------------- what rounding does not say


def stages(xs, start, reverse=False):
    """A chain of three factors for each step, of two numbers of which one takes from the other."""

    def step(c, x):
        a, b = c
        d = (a - b) * x[0] * x[1] * x[2]
        return (d, b * 0.5), d

    return fg.scan(step, start, xs, reverse=reverse)


ROWS = [
    (1e200, 1e200, 1.0),  # whose product is infinite, where all that it multiplies is small
    (1e200, 1e-250, 1e200),
    (np.inf, 1.0, 1.0),  # of the difference, infinite; of both numbers, no number
    (np.inf, 0.0, 1.0),
    (np.nan, 1.0, 1.0),
    (0.0, 1.0, 1.0),
    (-0.0, 1.0, 1.0),
]
STARTS = (3.0, 2.0), (3e-310, 2e-310), (0.0, 0.0), (2.0, 2.0)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("way", ["value", "grad"])
def test_infinities_and_nan_are_those_of_the_program(always, way, reverse):
    f = lambda xs, start: stages(xs, start, reverse)
    if way == "grad":
        f = fg.grad(lambda xs, start: stages(xs, start, reverse)[0][0], 1)
    compiled, tried = fg.jit(f), np.full((20, 3), 0.9)
    for row in ROWS:
        tried[13] = row
        for start in STARTS:
            with np.errstate(all="ignore"):
                start = tuple(map(np.float64, start))
                agree(compiled(tried, start), f(tried, start))


def test_two_infinities_of_which_the_program_makes_one(always):
    """Each number times infinity, and only then the difference, would be no number."""
    xs = np.ones((20, 3))
    xs[4, 1] = np.inf
    (d, _), ys = fg.jit(stages)(xs, (3.0, 2.0))
    assert np.isneginf(ys[4]) and np.isneginf(d)


# ------------------------------------------------------------------------------ random steps


class Drawn:
    """A step of a few numbers that is linear in them or not, drawn from a number."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.count = int(rng.integers(1, 5))
        self.vector = bool(rng.integers(2))
        self.stages = int(rng.integers(1, 4))
        self.linear = bool(rng.integers(2))
        self.steps = int(self.among(1, 2, 3, 16, 33))
        self.reverse = bool(rng.integers(2))
        self.read = int(rng.integers(0, 3))  # the rows of the first number, of the last, or none
        self.xs = rng.uniform(-1, 1, (self.steps, 3))
        self.k = rng.integers(0, 100, 200).tolist()
        self.special = self.among(None, None, None, np.inf, np.nan, 0.0)

    def among(self, *options):
        return options[self.rng.integers(len(options))]

    def next_numbers(self, cs, x, p, pick):
        """Numbers made of each other, and of what does not depend on them."""
        free = [p[0], p[1], x[0], x[1] * p[2], np.cos(x[2]), 0.7, np.sqrt(np.abs(x[0]))]
        made = []
        for _ in cs:
            a, b = cs[next(pick) % len(cs)], cs[next(pick) % len(cs)]
            f, g = free[next(pick) % len(free)], free[next(pick) % len(free)]
            kinds = [
                lambda a, b, f, g: a * f + b * 0.4,
                lambda a, b, f, g: a - b * g,
                lambda a, b, f, g: f - a * 0.5,
                lambda a, b, f, g: a / (2.0 + f * f) + g,
                lambda a, b, f, g: fnp.where(f > 0.2, a, g),
                lambda a, b, f, g: fnp.where(g > 0.2, -a, b * f),
                lambda a, b, f, g: (a + b) * f * 0.5 + a * g,
                lambda a, b, f, g: np.float64(0.5) * f,
            ]
            bent = [lambda a, b, f, g: np.tanh(a * b + f), lambda a, b, f, g: np.sin(a) * g]
            kinds = kinds if self.linear else [*kinds[:4], *bent]
            made.append(kinds[next(pick) % len(kinds)](a, b, f, g))
        return made

    def __call__(self, p):
        xs = self.xs * (1.0 + 0.1 * p[3])
        if self.special is not None:
            xs = fnp.where(np.arange(self.steps)[:, None] == self.steps // 2, self.special, xs)

        def step(c, x):
            v, total, flag = c
            cs, pick = [v[k] for k in range(self.count)], iter(self.k * 4)
            for _ in range(self.stages):
                cs = self.next_numbers(cs, x, p, pick)
            first = fnp.where(flag, cs[0] * 0.9, cs[0])
            cs = [first, *cs[1:]]
            y = cs[next(pick) % len(cs)] * x[0]
            new = fnp.stack(cs) if self.vector else tuple(cs)
            return (new, total + cs[-1] * p[1], True), (new, y)

        start = [p[k] * 0.5 for k in range(self.count)]
        first = fnp.stack(start) if self.vector else tuple(start)
        (v, total, _), (path, y) = fg.scan(step, (first, 0.0, False), xs, reverse=self.reverse)
        numbers = path.T if self.vector else path
        rows = [numbers[0], numbers[-1], 0.0][self.read]
        return np.sum(rows * rows) + total + 0.3 * v[0] + (np.sum(y) if self.read else 0.0)


RANDOM_WAYS = {
    "value": lambda f: f,
    "grad": fg.value_and_grad,
    "product": lambda f: lambda p: fg.jvp(fg.grad(f), (p,), (np.cos(P),))[1],
    "examples": lambda f: lambda p: fg.vmap(fg.grad(f))(np.stack([p, p * 0.9])),
    "reverse of forward": lambda f: fg.grad(lambda p: fg.jvp(f, (p,), (np.sin(P),))[1]),
}


def compare(seed, way):
    f = RANDOM_WAYS[way](Drawn(seed))
    p = np.random.default_rng(seed).uniform(0.1, 1.0, 4)
    with np.errstate(all="ignore"):
        as_interpreted(f, p, rtol=1e-7, for_program=bool(seed % 3 == 0))


@settings(
    max_examples=examples(12),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**20), way=st.sampled_from(sorted(RANDOM_WAYS)))
def test_random_steps_are_those_of_the_interpreter(always, seed, way):
    compare(seed, way)


def run(first, last):
    """The seeds from `first` on, one way each; print what fails."""
    recurrences.SHORTEST, recurrences._Program.pays = 1, lambda *_: True
    config.cache, failures = False, 0
    for seed in range(first, last):
        way = sorted(RANDOM_WAYS)[seed % len(RANDOM_WAYS)]
        try:
            compare(seed, way)
        except Exception as error:
            failures += 1
            print(f"seed {seed}, {way}: {type(error).__name__} {str(error)[:400]}", flush=True)
    print(f"{last - first} programs, {failures} failures: done", flush=True)


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]))
