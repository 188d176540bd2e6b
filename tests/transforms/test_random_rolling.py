"""Random programs with Python loops: what `rolled` makes of them computes the same.

The graph is interpreted before and after, and as it is where loops are found before transforms
are applied; some are compiled. Steps are drawn with several carries, integers, truths, complex
numbers and keys among them, rows at places that move by any number or not evenly, windows,
numbers and arrays of the step, Python numbers that are given, lists, arrays that are written,
branches on the step, inner loops, which Python or funcgrad runs, sorted, searched and running
values, solutions and factors, rules of the user (`tests.transforms.rolling_steps`), and irregular
ends; then derivatives of them are, and nests of transforms.

A program takes three of the forms, another three each time: what is wrong in a form is so for many
programs. ``python -m tests.transforms.test_random_rolling FIRST LAST`` runs the seeds between, one
form each.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.graph.interpret import evaluate
from funcgrad.transforms.deferred import deferring
from funcgrad.transforms.rolling import rolled
from tests.amount import examples
from tests.transforms.rolling_steps import COLUMNS, EXTRAS, RICH, whole

OPERANDS = ["row", "two rows", "number", "data", "weight", "lag", "column"]
OPERANDS += ["given", "anywhere", "window", "extra", "drawn"]
FUNCTIONS = [
    np.sin,
    np.tanh,
    lambda v: v / (1.0 + v * v),
    lambda v: np.where(v > 0.1, v, 0.3 * v),
    np.arctan,
]


class Drawn:
    """A program of rows, a row for each step and some more, weights, and Python numbers."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        draw = self.draw = np.random.default_rng(seed)
        self.count = int(draw.integers(50, 62)) // (2 if seed % 4 == 3 else 1)
        self.carries = int(draw.integers(1, 4))
        self.scalar = bool(draw.integers(2))
        self.data = draw.normal(size=(2 * self.count, COLUMNS))[:: int(draw.choice([1, 2]))]
        self.extra = str(draw.choice(["none", "none", *EXTRAS]))
        self.single = self.extra == "single"  # which rounds sums to single precision
        self.rich = float(draw.choice([0.0, 0.3, 0.6]))
        self.terms = [self.term() for _ in range(int(draw.integers(1, 5)))]
        self.kept = str(draw.choice(["list", "array", "elements", "sum", "sum"]))
        self.multiple, self.shift = int(draw.integers(1, 6)), int(draw.integers(5))
        self.inner = int(draw.choice([0, 0, 2, 50]))
        self.period = int(draw.choice([1, 1, 2, 3]))
        self.ends = draw.integers(2, size=2)
        self.rows = 3 * self.count + 8
        self.order = int(draw.choice([1, -1]))

    def term(self):
        draw = self.draw
        return (
            int(draw.integers(self.carries)),  # the carry that it changes
            int(draw.integers(self.carries)),  # one that it reads
            str(draw.choice(OPERANDS)),
            self.function(),
            int(draw.choice([1, 1, 2, -1])),  # how the place moves
            int(draw.integers(0, 4)),
        )

    def function(self):
        """Of the value that a carry gets: elementwise, or one of the richer ones of `RICH`."""
        draw = self.draw
        if draw.random() >= self.rich:
            return FUNCTIONS[int(draw.integers(len(FUNCTIONS)))]
        f = list(RICH.values())[int(draw.integers(len(RICH)))]
        return lambda v: f(whole(v))[1] if self.scalar else f(v)

    def row(self, x, i, move, offset):
        at = move * i + offset if move > 0 else self.rows - 1 - i - offset
        return x[at, 1] if self.scalar else x[at]

    def operand(self, x, w, a, i, before, extra, kind, move, offset):
        if kind in ("extra", "drawn"):
            if kind == "drawn":
                extra = fg.random.fold_in(EXTRAS["key"].start(w), i)
            elif self.extra == "none":
                return self.data[i, 0]
            found = EXTRAS["key" if kind == "drawn" else self.extra].read(extra, x)
            return found[1] if self.scalar else found
        if kind == "row":
            return self.row(x, i, move, offset)
        if kind == "two rows":
            return self.row(x, i, 1, offset) * self.row(x, i, 1, offset + 1)
        if kind == "number":
            return 0.02 * i + offset
        if kind == "data":
            return self.data[i, 0] if self.scalar else self.data[i]
        if kind == "weight":
            return w[offset % 3, 0] if self.scalar else w[offset % 3]
        if kind == "column":
            return x.T[offset % 3, i]
        if kind == "given":
            return a[0] * (0.01 * i) + a[1]
        if kind == "anywhere":
            at = (self.multiple * i * i + self.shift) % self.rows
            return x[at, offset % 3] if self.scalar else x[at]
        if kind == "window":
            rows = x[i + offset : i + offset + 3]
            return np.sum(rows[:, 1]) if self.scalar else rows[0] * 0.5 + rows[2]
        return before[-1 - min(offset, len(before) - 1)]

    def array(self):
        return fnp.zeros(self.count) if self.scalar else fnp.zeros((self.count, COLUMNS))

    def write(self, y, n, v):
        """A step of a recurrence in an array, written by rows or by elements."""
        if self.kept == "elements" and not self.scalar:
            for k in range(COLUMNS):
                y[n, k] = 0.5 * v[k] + (0.2 * y[n - 1, k] * y[n - 1, 0] if n else 0.0)
            return
        y[n] = 0.5 * v
        if n > 2:
            y[n] += 0.1 * np.sum(y[n - 3 : n]) * y[n - 1]

    def __call__(self, x, w, *a):
        c = [w[k, k] if self.scalar else w[k] * 1.0 for k in range(self.carries)]
        kept, before, y = [], [c[0]], self.array()
        extra = EXTRAS[self.extra].start(w) if self.extra != "none" else None
        total = 0.0
        steps = range(self.count)
        for n, i in enumerate(steps if self.order > 0 else reversed(steps)):
            if n == 0 and self.ends[0]:
                c[0] = c[0] * x[0, 0]
            for k, (target, read, kind, f, move, offset) in enumerate(self.terms):
                if i % self.period and k == 0:
                    continue
                c[target] = 0.6 * f(
                    c[read] + 0.5 * self.operand(x, w, a, i, before, extra, kind, move, offset)
                )
            for _ in range(self.inner if n < 3 or self.inner < 3 else 0):
                c[-1] = np.sin(c[-1] * w[1, 1])
            if self.extra != "none":
                extra = EXTRAS[self.extra].next(extra, whole(c[0]))
            before.append(c[0])
            if self.kept == "list":
                kept.append(c[0] * 0.5)
            elif self.kept == "sum":
                total = total + np.sum(c[0] * c[-1])
            else:
                self.write(y, n, c[0])
            if n == self.count - 1 and self.ends[1]:
                c[0] = np.tanh(c[0])
        if self.kept in ("array", "elements"):
            total = np.sum(y**2) + np.sum(y[1:] * y[:-1]) * np.sum(w)
        if self.kept == "list":
            total = np.sum(np.stack(kept) ** 2 * np.sum(w))
            for y in kept[:: max(1, self.order)]:
                total = total * 0.97 + np.sum(y)
        if self.extra != "none":
            total = total + np.sum(EXTRAS[self.extra].read(extra, x))
        return total + sum(np.sum(v) for v in c)

    def arguments(self):
        rows, weights = (self.rows, COLUMNS), (3, COLUMNS)
        # small weights: a chaotic program says nothing of rounding
        return self.draw.normal(size=rows), 0.4 * self.draw.normal(size=weights), 0.3, -0.2


def forms(f, x, w, *a):
    many = np.stack([x, 0.5 * x])
    ones = (np.ones_like(x), np.ones_like(w))

    def tangent(g):
        return lambda x, w, *a: fg.jvp(lambda x, w: g(x, w, *a), (x, w), ones)[1]

    gradient = fg.grad(f, (0, 1))
    examples_ = (0, *(None,) * (1 + len(a)))
    return {
        "value": (f, (x, w, *a)),
        "gradient": (fg.grad(f, (0, 1, 2)), (x, w, *a)),
        "tangent": (tangent(f), (x, w, *a)),
        "product": (tangent(gradient), (x, w, *a)),
        "mapped": (fg.vmap(fg.grad(f), examples_), (many, w, *a)),
        "mapped product": (fg.vmap(tangent(fg.grad(f)), examples_), (many, w, *a)),
        "gradient of compiled": (fg.grad(fg.jit(f), (0, 1)), (x, w, *a)),
        "second tangent": (tangent(tangent(f)), (x, w, *a)),
        "columns": (fg.jacfwd(f, 1), (x, w, *a)),
        "recomputed": (fg.grad(fg.checkpoint(f), (0, 1)), (x, w, *a)),
        "Hessian": (fg.hessian(f, 1), (x, w, *a)),
        "compiled within": (fg.vmap(fg.jit(fg.grad(f)), examples_), (many, w, *a)),
    }


def compared(f, name, g, given):
    """Whether a loop was found; raises where it gives another result."""
    graph = fg.make_graph(g)(*given)
    wanted = evaluate(graph, *given)
    made = rolled(graph)
    agree(evaluate(made.graph, *given), wanted, f"{f.seed} {name}", f.single)
    agree(evaluate(deferred(g, given), *given), wanted, f"{f.seed} {name}, loops first", f.single)
    return made.graph is not graph


def deferred(g, given):
    """The graph of a function in which transforms stage theirs alone, as long ones are."""
    deferring.on = True
    try:
        return fg.make_graph(g)(*given)
    finally:
        deferring.on = False


def agree(found, wanted, name, single=False):
    for a, b in zip(found, wanted, strict=True):
        assert type(a) is type(b), name
        scale = np.max(np.abs(b), initial=1e-30)
        unit = 1e-4 if single else 1e-9
        np.testing.assert_allclose(a, b, rtol=unit, atol=0.01 * unit * scale, err_msg=name)


@pytest.mark.parametrize("seed", range(examples(40)))
def test_random_loops(seed):
    f = Drawn(seed)
    drawn = list(forms(f, *f.arguments()).items())
    chosen = [drawn[(seed + k) % len(drawn)] for k in (0, 2, 4)]
    found = sum([compared(f, name, *form) for name, form in chosen])
    if f.count > 48 and f.count * len(f.terms) > 300:
        assert found


@pytest.mark.parametrize("seed", range(1000, 1000 + examples(8)))
def test_random_loops_compiled(seed):
    f = Drawn(seed)
    drawn = list(forms(f, *f.arguments()).items())
    name, (g, given) = drawn[seed % len(drawn)]
    wanted = fg.tree.leaves(g(*given))
    agree(fg.tree.leaves(fg.jit(g)(*given)), wanted, f"{seed} {name} compiled", f.single)


def run(first, last):
    """The seeds from `first` on, one form each, every eighth compiled, too; print what fails."""
    failures = 0
    for seed in range(first, last):
        try:
            f = Drawn(seed)
            drawn = list(forms(f, *f.arguments()).items())
            name, (g, given) = drawn[seed % len(drawn)]
            compared(f, name, g, given)
            if seed // len(drawn) % 6 == 0:
                test_random_loops_compiled(seed)
        except Exception as error:
            failures += 1
            print(f"seed {seed}: {type(error).__name__} {str(error)[:400]}", flush=True)
        if seed % 50 == 0:
            print(f"{seed - first + 1} programs, {failures} failures", flush=True)
    print(f"{last - first} programs, {failures} failures: done", flush=True)


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]))
