"""Random programs with loops: compiled loops agree with the same loops written out in Python.

Programs are drawn from a number: several carries of several kinds, rows, tables that are read by an
index, masks, branches, loops in loops, loops that end by themselves, in any order and nested. Each
is run with the loops of funcgrad and with Python's, under nests of transforms.
"""

from __future__ import annotations

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp

TABLE = np.cos(np.arange(20.0)).reshape(5, 4)
TENTHS = np.full(4, 0.1)


class Written:
    """The loops as what they stand for."""

    @staticmethod
    def scan(f, init, xs, reverse=False, **_):
        leaves, definition = fg.tree.flatten(xs)
        n = leaves[0].shape[0]
        carry, ys = init, []
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


class Draws:
    """A program, written down while it is drawn; it can be run again and again."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def among(self, *options):
        return options[self.rng.integers(len(options))]

    def expression(self, depth):
        """A function of a list of values, numbers or vectors of 4; the result is like the first."""
        pick = self.rng.integers(0, 100, 3)
        scale = self.rng.uniform(-1, 1)
        index = int(self.rng.integers(0, 4))
        if depth == 0:
            return lambda vs, x: vs[pick[0] % len(vs)]
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        one = {
            "sum": lambda vs, x: np.sum(a(vs, x)) * 0.3 + b(vs, x),
            "sin": lambda vs, x: np.sin(a(vs, x) * x[index] + b(vs, x)),
            "tanh": lambda vs, x: np.tanh(a(vs, x) - scale * b(vs, x)),
            "product": lambda vs, x: 0.5 * a(vs, x) * b(vs, x),
            "quotient": lambda vs, x: a(vs, x) / (1.5 + np.cos(b(vs, x))),
            "where": lambda vs, x: root(a(vs, x), b(vs, x), scale),
            "max": lambda vs, x: fnp.maximum(a(vs, x), scale * b(vs, x)),
            "exp": lambda vs, x: np.exp(-np.abs(a(vs, x))) * x[index] + b(vs, x) * scale,
            "turned": lambda vs, x: a(vs, x) + (np.ones(4) * b(vs, x))[::-1],
            "matrix": lambda vs, x: np.outer(x, np.ones(4) * a(vs, x)) @ TENTHS + b(vs, x),
            "row": lambda vs, x: a(vs, x) * TABLE[index] + b(vs, x) * x,
            "branch": lambda vs, x: branch(a(vs, x), b(vs, x), scale),
            "sorted": lambda vs, x: np.sort(np.ones(4) * a(vs, x) + x * scale) * b(vs, x),
            "written": lambda vs, x: written(a(vs, x) * np.ones(4), b(vs, x), index),
            "running": lambda vs, x: np.cumprod(np.tanh(x + a(vs, x))) - b(vs, x),
        }  # fmt: skip
        return one[self.among(*one)]

    def update(self, kind):
        """The next value of a carry of a kind."""
        e = self.expression(int(self.rng.integers(1, 3)))
        if kind == "number":
            return lambda vs, x: np.tanh(np.sum(np.ones(4) * e(vs, x)) * 0.4)
        return lambda vs, x: np.tanh(np.ones(4) * e(vs, x))

    def loop(self, depth):
        """A function of the loops, a number, a vector and the parameters, which gives a number."""
        kinds = [self.among("number", "vector") for _ in range(self.rng.integers(1, 3))]
        updates = [self.update(kind) for kind in kinds]
        made = self.update(self.among("number", "vector"))
        inner = self.loop(depth - 1) if depth and self.rng.random() < 0.6 else None
        length, reverse = int(self.among(1, 2, 3, 6)), bool(self.rng.integers(2))
        rows = self.rng.uniform(-1, 1, (length, 4))
        places = self.rng.integers(0, 4, length)
        way = self.among("scan", "scan", "scan", "fori", "while")
        limit = self.rng.uniform(0.5, 3.0)
        bounded = bool(self.rng.integers(2))
        counts = bool(self.rng.integers(2))

        def step(loops, x, carry, row, place):
            place = fnp.where(place < 4, place, 0)
            values = [*carry, row, fnp.take(TABLE, place, 0), x[place], row[0]]
            if inner is not None:
                number = carry[0][1] if np.ndim(carry[0]) else carry[0]
                values.append(inner(loops, number, row, x))
            new = [u(values, x) for u in updates]
            return new, made([*values, *new], x)

        def run(loops, number, vector, x):
            first = [number * 1.0 if k == "number" else vector * 1.0 for k in kinds]
            if way == "scan":

                def body(c, r):
                    new, y = step(loops, x, c[0], r[0] * (x if counts else 1.0), r[1])
                    return (new, c[1] + 1), y

                (last, n), y = loops.scan(body, (first, 0), (rows, places), reverse=reverse)
                return total(last) + np.sum(y) * 0.3 + n * 0.1
            if way == "fori":
                last = loops.fori_loop(
                    0, length, lambda i, c: step(loops, x, c, vector + i, i)[0], first
                )
                return total(last)

            def more(c):
                return (c[1] < limit) & (c[2] < 7)

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


def branch(a, b, bound):
    """A branch with an infinite derivative at its border."""
    return fg.cond(
        np.sum(a) > bound,
        lambda a: np.sqrt(np.ones(4) * np.sum(a) - bound) + b,
        lambda a: np.cumsum(np.ones(4) * a) * b,
        a,
    )


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
    return settings(max_examples=examples(count), deadline=None, derandomize=True)


@pytest.mark.parametrize("way", WAYS)
@drawn(40)
@given(SEEDS)
def test_compiled_loops_are_the_loops_written_out(way, seed):
    program = Draws(seed).program()
    compiled, plain = WAYS[way]
    x = np.random.default_rng(seed).uniform(0.1, 1.0, 4)
    with np.errstate(all="ignore"):
        found = compiled(lambda x: program(fg, x))(x)
        agree(found, plain(lambda x: program(Written, x))(x))


@drawn(40)
@given(SEEDS)
def test_examples_run_their_own_steps(seed):
    program = Draws(seed).program()
    xs = np.random.default_rng(seed).uniform(0.1, 1.0, (3, 4))
    with np.errstate(all="ignore"):
        wanted = np.stack([fg.grad(lambda x: program(Written, x))(x) for x in xs])
        each = fg.vmap(fg.grad(lambda x: program(fg, x)))
        agree(fg.jit(each)(xs), wanted)
        one = fg.grad(lambda xs: np.sum(fg.vmap(lambda x: program(fg, x))(xs)))
        agree(fg.jit(one)(xs), wanted)


@drawn(40)
@given(SEEDS)
def test_loops_with_numbers_at_hand_have_the_bits_of_python(seed):
    program = Draws(seed).program()
    x = np.random.default_rng(seed).uniform(0.1, 1.0, 4)
    with np.errstate(all="ignore"):
        wanted = program(Written, x)
        assert program(fg, x) == wanted
        assert fg.value_and_grad(lambda x: program(fg, x))(x)[0] == wanted
