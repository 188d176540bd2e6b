"""Random programs with loops: compiled loops agree with the same loops written out in Python.

Programs are drawn from a number: several carries of several kinds and dtypes, Python numbers among
them, few and many steps, rows, none of them perhaps, tables that are read by an index, masks,
branches, factorisations, loops in loops, loops that end by themselves, each example for itself, in
any order and nested. Each is run with the loops of funcgrad and with Python's, under nests of
transforms.

``python -m tests.test_random_loops FIRST LAST`` runs the seeds between, one way each.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.config import config
from funcgrad.passes import fission, recurrences
from tests.amount import examples

TABLE = np.cos(np.arange(20.0)).reshape(5, 4)
KEY = fg.random.key(3)


class Written:
    """The loops as what they stand for."""

    @staticmethod
    def scan(f, init, xs, reverse=False, **_):
        leaves, definition = fg.tree.flatten(xs)
        n = leaves[0].shape[0]
        carry, ys = init, []
        if not n:
            return init, np.zeros(0)
        for i in range(n - 1, -1, -1) if reverse else range(n):
            carry, y = f(carry, fg.tree.unflatten(definition, [x[i] for x in leaves]))
            ys.append(y)
        ys = ys[::-1] if reverse else ys
        return carry, fg.tree.map(lambda *each: fnp.stack(each), *ys)

    @staticmethod
    def while_loop(cond, body, val, max_steps=None):
        while fg.value(cond(val)):
            val = body(val)
        return val

    @staticmethod
    def fori_loop(low, high, body, val):
        for i in range(low, high):
            val = body(i, val)
        return val

    @staticmethod
    def each(f, xs):
        return fnp.stack([f(xs[k]) for k in range(xs.shape[0])])


class Ours:
    """The loops of funcgrad."""

    scan, while_loop, fori_loop = fg.scan, fg.while_loop, fg.fori_loop

    @staticmethod
    def each(f, xs):
        return fg.vmap(f)(xs)


class AtHand(Ours):
    """Its loops where numbers are at hand.

    Those of several examples at once are compiled, and those that keep few carries.
    """

    each = Written.each

    @staticmethod
    def scan(*args, checkpoint=False, **more):
        return fg.scan(*args, **more)


class Draws:
    """A program, written down while it is drawn; it can be run again and again."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.empty = False  # whether a loop may have no steps

    def among(self, *options):
        return options[self.rng.integers(len(options))]

    def expression(self, depth):
        """A function of a list of values, numbers or vectors of 4; the result is like the first."""
        pick = self.rng.integers(0, 100, 3)
        scale = self.rng.uniform(-1, 1)
        index = int(self.rng.integers(0, 4))
        several = int(self.among(1, 1, 1, 1, 1, 1, 1, 4))
        if depth == 0:
            return lambda loops, vs, x: vs[pick[0] % len(vs)]
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        one = {
            "sum": lambda a, b, x: np.sum(a) * 0.3 + b,
            "sin": lambda a, b, x: np.sin(a * x[index] + b),
            "tanh": lambda a, b, x: np.tanh(a - scale * b),
            "product": lambda a, b, x: 0.5 * a * b,
            "quotient": lambda a, b, x: a / (1.5 + np.cos(b)),
            "where": lambda a, b, x: root(a, b, scale),
            "max": lambda a, b, x: fnp.maximum(a, scale * b),
            "exp": lambda a, b, x: np.exp(-np.abs(a)) * x[index] + b * scale,
            "turned": lambda a, b, x: a + (ones(x) * b)[::-1],
            "matrix": lambda a, b, x: np.outer(x, ones(x) * a) @ (0.1 * ones(x)) + b,
            "row": lambda a, b, x: a * TABLE[index].astype(x.dtype) + b * x,
            "branch": lambda a, b, x: branch(a, b, scale, x),
            "sorted": lambda a, b, x: np.sort(ones(x) * a + x * scale) * b,
            "written": lambda a, b, x: written(a * ones(x), b, index),
            "running": lambda a, b, x: np.cumprod(np.tanh(x + a)) - b,
            "solved": lambda a, b, x: np.linalg.solve(matrix(a, x), b * ones(x)),
            "factored": lambda a, b, x: np.linalg.cholesky(matrix(a, x)) @ x * b,
            "logarithm": lambda a, b, x: np.linalg.slogdet(matrix(b, x, several))[1] * a,
            "inverse": lambda a, b, x: np.linalg.inv(matrix(a, x, several))[:4, 0] * b,
            "custom": lambda a, b, x: bent(a) + stated(b) * scale,
            "masked": lambda a, b, x: fnp.where(x > 0.5, a, b) * (np.sum(b) > scale),
        }  # fmt: skip
        looped = {
            "until": lambda loops, a, b, x: until(loops, np.sum(a), scale) * b,
            "each": lambda loops, a, b, x: loops.each(lambda v: until(loops, v, scale), x * a) + b,
            "taken": lambda loops, a, b, x: taken(loops, a, b, x, several),
        }
        rare = ("solved", "factored", "logarithm", "inverse", *looped)
        name = self.among(*one, *looped)
        if name in rare and self.rng.random() < 0.6:
            name = self.among("sum", "tanh", "product", "row")
        if name in looped:
            return lambda loops, vs, x: looped[name](loops, a(loops, vs, x), b(loops, vs, x), x)
        return lambda loops, vs, x: one[name](a(loops, vs, x), b(loops, vs, x), x)

    def update(self, kind):
        """The next value of a carry of a kind."""
        e = self.expression(int(self.rng.integers(1, 3)))
        if kind in ("number", "counted"):
            return lambda loops, vs, x: np.tanh(np.sum(ones(x) * e(loops, vs, x)) * 0.4)
        return lambda loops, vs, x: np.tanh(ones(x) * e(loops, vs, x))

    def loop(self, depth):
        """A function of the loops, a number, a vector and the parameters, which gives a number."""
        kinds = [self.among("number", "vector", "counted") for _ in range(self.rng.integers(1, 3))]
        updates = [self.update(kind) for kind in kinds]
        made = self.update(self.among("number", "vector"))
        inner = self.loop(depth - 1) if depth and self.rng.random() < 0.6 else None
        length, reverse = int(self.among(0, 1, 2, 2, 3, 3, 6, 6)), bool(self.rng.integers(2))
        if inner is None and self.rng.random() < 0.08:
            length = int(self.among(17, 33, 40))  # such as passes take apart
        more_options = self.among(
            {}, {}, {}, {}, {"checkpoint": True}, {"checkpoint": 2}, {"unroll": 2}
        )
        small = self.among(0, 0.25, np.float32(0.5), True)
        rows = self.rng.uniform(-1, 1, (length, 4))
        places = self.rng.integers(0, 4, length)
        way = self.among("scan", "scan", "scan", "fori", "while")
        limit, least = self.rng.uniform(0.5, 3.0), int(self.rng.random() < 0.75)
        self.empty |= (least if way == "while" else length) == 0
        bounded = bool(self.rng.integers(2))
        counts = bool(self.rng.integers(2))
        noisy = self.rng.random() < 0.15

        def step(loops, x, carry, row, place):
            place = fnp.where(place < 4, place, 0)
            table = fnp.take(TABLE.astype(x.dtype), place, 0)
            zero = np.zeros((), x.dtype)[()]  # NumPy's functions make float64 of a Python number
            values = [*(c + zero for c in carry), row, table, fnp.take(x, place, 0), row[0]]
            if noisy:
                own = fg.random.fold_in(KEY, place)
                values.append(fg.random.uniform(own, (4,)).astype(x.dtype))
            if inner is not None:
                number = values[0][1] if np.ndim(values[0]) else values[0]
                values.append(inner(loops, number, row, x))
            new = [u(loops, values, x) for u in updates]
            return new, made(loops, [*values, *new], x)

        def run(loops, number, vector, x):
            starts = {"number": number * 1.0, "vector": vector * 1.0, "counted": 0.0}
            first = [starts[k] for k in kinds]
            if way == "scan":

                def body(c, r):
                    new, y = step(loops, x, c[0], r[0] * (x if counts else 1.0), r[1])
                    grown = c[2] + 1 if type(small) is not bool else c[2] & (r[1] < 3)
                    return (new, c[1] + 1, grown, c[3] * 0.5), y

                given = rows.astype(x.dtype), places
                start = first, 0, small, 1.0
                last, y = loops.scan(body, start, given, reverse=reverse, **more_options)
                last, n, grown, half = last
                return total(last) + np.sum(y) * 0.3 + n * 0.1 + (grown + half) * number
            if way == "fori":
                last = loops.fori_loop(
                    0, length, lambda i, c: step(loops, x, c, vector + i, i)[0], first
                )
                return total(last)

            def more(c):
                return (c[1] < limit) & (c[2] < 7) | (c[2] < least)

            def until(c):
                new, y = step(loops, x, c[0], vector, c[2])
                return new, c[1] + 0.3 + np.sum(y * y), c[2] + 1

            last, t, n = loops.while_loop(
                more, until, (first, number * number, 0), max_steps=7 if bounded else None
            )
            return total(last) + t + n

        return run

    def program(self):
        one, two = self.loop(1), self.loop(0)

        def f(loops, x):
            number = one(loops, x[0], x, x)
            return number + two(loops, np.sin(number), x * number, x)

        return f


def ones(x):
    return np.ones(4, x.dtype)


def branch(a, b, bound, x):
    """A branch with an infinite derivative at its border."""
    return fg.cond(
        np.sum(a) > bound,
        lambda a: np.sqrt(ones(x) * np.sum(a) - bound) + b,
        lambda a: np.cumsum(ones(x) * a) * b,
        a,
    )


def matrix(a, x, several=1):
    """A regular, symmetric matrix, of as many times four rows."""
    v = np.tanh(np.concatenate([a * ones(x) + 0.1 * k for k in range(several)]))
    return np.outer(v, v) + 2 * np.eye(4 * several, dtype=x.dtype)


def until(loops, v, bound):
    """As many steps as a number wants."""
    return loops.while_loop(
        lambda c: (c[0] < 1.0) & (c[1] < 4) | (c[1] < 1),
        lambda c: (c[0] + 0.3 + c[2] * c[2] * 0.1, c[1] + 1, np.sin(c[2] + bound * c[1])),
        (v * v, 0, v),
    )[2]


@fg.custom_vjp
def bent(a):
    """A rule of its own, which is not the derivative: who follows it is told apart.

    Rules call their function again, so that derivatives of any order follow them.
    """
    return np.sin(a)


bent.defvjp(lambda a: (bent(a), a), lambda a, g: (1.5 * g * np.cos(a),))


@fg.custom_jvp
def stated(a):
    return np.tanh(a)


@stated.defjvp
def _(primals, tangents):
    y = stated(primals[0])
    return y, tangents[0] * (1 - y) * 2.0


def taken(loops, a, b, x, several):
    """A loop within a branch."""
    steps = lambda a: loops.fori_loop(0, several, lambda i, c: np.cos(c * i + b) * ones(x), a)
    return fg.cond(np.sum(b) > 0, steps, lambda a: a * b, ones(x) * a)


def written(a, b, place):
    """An array of which an element is written over, at a position that values decide."""
    out = fnp.array(a)
    out[(place + fnp.argmax(a)) % 4] = np.sum(b)
    return out


def root(a, b, bound):
    """A mask with an infinite derivative at its border."""
    return fnp.where(a > bound, np.sqrt(fnp.where(a > bound, a - bound, 1.0)), b)


def total(values):
    return sum((np.sum(v) for v in values), 0.0)


WAYS = {
    "jit of grad": (lambda f: fg.jit(fg.value_and_grad(f)), fg.value_and_grad),
    "grad of jit": (lambda f: fg.grad(fg.jit(f)), fg.grad),
    "jit of jacfwd": (lambda f: fg.jit(fg.jacfwd(f)), fg.grad),
    "jit of hessian": (lambda f: fg.jit(fg.hessian(f)), fg.hessian),
    "checkpoint": (lambda f: fg.jit(fg.grad(fg.checkpoint(f))), fg.grad),
}
SEEDS = st.integers(0, 2**20)


def agree(found, wanted):
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        size = 1.0 + np.max(np.abs(b))
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9 * size)


def drawn(count):
    return settings(max_examples=examples(count, least=2), deadline=None, derandomize=True)


@contextmanager
def short_ones_in_parts():
    """Loops of few steps are taken apart as those of many are, whatever is quicker."""
    with ExitStack() as stack:
        for passes in (fission, recurrences):
            stack.enter_context(patch.object(passes, "SHORTEST", 1))
        stack.enter_context(patch.object(recurrences._Program, "pays", lambda *_: True))
        stack.enter_context(patch.object(config, "cache", False))
        yield


def compare(way, seed):
    program = Draws(seed).program()
    compiled, plain = WAYS[way]
    x = np.random.default_rng(seed).uniform(0.1, 1.0, 4)
    with np.errstate(all="ignore"):
        found = compiled(lambda x: program(Ours, x))(x)
        agree(found, plain(lambda x: program(Written, x))(x))


@pytest.mark.parametrize("way", [way for way in WAYS if way != "jit of hessian"])
@drawn(18)
@given(SEEDS)
def test_compiled_loops_are_the_loops_written_out(way, seed):
    compare(way, seed)


@drawn(8)
@given(SEEDS)
def test_short_loops_in_parts(seed):
    with short_ones_in_parts():
        compare(sorted(WAYS)[seed % 3], seed)


@drawn(8)  # each takes ten times as long as a gradient
@given(SEEDS)
def test_compiled_hessians_are_those_of_loops_written_out(seed):
    compare("jit of hessian", seed)


@drawn(10)
@given(SEEDS)
def test_examples_run_their_own_steps(seed):
    program = Draws(seed).program()
    xs = np.random.default_rng(seed).uniform(0.1, 1.0, (3, 4))
    with np.errstate(all="ignore"):
        wanted = np.stack([fg.grad(lambda x: program(Written, x))(x) for x in xs])
        each = fg.vmap(fg.grad(lambda x: program(Ours, x)))
        agree(fg.jit(each)(xs), wanted)
        one = fg.grad(lambda xs: np.sum(fg.vmap(lambda x: program(Ours, x))(xs)))
        agree(fg.jit(one)(xs), wanted)


@drawn(40)
@given(SEEDS)
def test_loops_with_numbers_at_hand_have_the_bits_of_python(seed):
    program = Draws(seed).program()
    x = np.random.default_rng(seed).uniform(0.1, 1.0, 4)
    with np.errstate(all="ignore"):
        wanted = program(Written, x)
        assert program(AtHand, x) == wanted
        assert fg.value_and_grad(lambda x: program(AtHand, x))(x)[0] == wanted


@drawn(16)
@given(SEEDS)
def test_numbers_beside_single_precision_leave_it_single(seed):
    """Dtypes are those of Python, where a number takes that of the array beside it."""
    draws = Draws(seed)
    program = draws.program()
    x = np.random.default_rng(seed).uniform(0.1, 1.0, 4).astype(np.float32)
    with np.errstate(all="ignore"):
        both = fg.value_and_grad(lambda x: program(Ours, x))
        try:
            wanted = both(x)
        except fg.errors.LoopTypeError:
            with pytest.raises(fg.errors.LoopTypeError):
                fg.jit(both)(x)
            return
        try:
            found = fg.jit(both)(x)
        except fg.errors.LoopTypeError:
            assert draws.empty  # whose steps only the compiler has looked at
            return
        exact = fg.value_and_grad(lambda x: program(Written, x))(x.astype(float))
    for a, b, c in zip(*map(fg.tree.leaves, (found, wanted, exact)), strict=True):
        assert draws.empty or np.asarray(a).dtype == np.asarray(b).dtype
        if np.allclose(b, c, rtol=1e-4, atol=1e-4):  # rounding has moved no border
            np.testing.assert_allclose(a, b, rtol=5e-3, atol=5e-3)


def run(first, last):
    """The seeds from `first` on, one way each; print what fails."""
    whole = [*(f"compare {way}" for way in WAYS if way != "jit of hessian"), "examples", "numbers"]
    failures = 0
    for seed in range(first, last):
        way = "compare jit of hessian" if seed % 40 == 0 else whole[seed % len(whole)]
        try:
            if way.startswith("compare") and seed % 2:
                with short_ones_in_parts():
                    compare(way.removeprefix("compare "), seed)
            elif way.startswith("compare"):
                compare(way.removeprefix("compare "), seed)
            elif way == "examples":
                test_examples_run_their_own_steps.hypothesis.inner_test(seed)
            else:
                inner = test_loops_with_numbers_at_hand_have_the_bits_of_python.hypothesis
                inner.inner_test(seed)
        except Exception as error:
            failures += 1
            print(f"seed {seed}, {way}: {type(error).__name__} {str(error)[:400]}", flush=True)
        if (seed - first) % 50 == 49:
            print(f"{seed - first + 1} programs, {failures} failures", flush=True)
    print(f"{last - first} programs, {failures} failures: done", flush=True)


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]))
