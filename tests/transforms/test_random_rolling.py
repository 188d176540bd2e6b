"""Random programs with Python loops: what `rolled` makes of them computes the same.

The graph is interpreted before and after, so no compiler takes part. Steps are drawn with several
carries, rows at places that move by any number, numbers and arrays of the step, lists, branches on
the step, inner loops and irregular ends; then derivatives of them are.
"""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.graph.interpret import evaluate
from funcgrad.transforms.rolling import rolled
from tests.amount import examples

COLUMNS = 3
FUNCTIONS = [
    np.sin,
    np.tanh,
    lambda v: v / (1.0 + v * v),
    lambda v: np.where(v > 0.1, v, 0.3 * v),
    np.arctan,
]


class Drawn:
    """A program of (x, w): x has a row for each step and some more, w a row for each carry."""

    def __init__(self, seed: int) -> None:
        draw = self.draw = np.random.default_rng(seed)
        self.count = int(draw.integers(50, 62))
        self.carries = int(draw.integers(1, 4))
        self.scalar = bool(draw.integers(2))
        self.data = draw.normal(size=(self.count, COLUMNS))
        self.terms = [self.term() for _ in range(int(draw.integers(1, 5)))]
        self.lists = bool(draw.integers(2))
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
            str(draw.choice(["row", "two rows", "number", "data", "weight", "lag", "column"])),
            FUNCTIONS[int(draw.integers(len(FUNCTIONS)))],
            int(draw.choice([1, 1, 2, -1])),  # how the place moves
            int(draw.integers(0, 4)),
        )

    def row(self, x, i, move, offset):
        at = move * i + offset if move > 0 else self.rows - 1 - i - offset
        return x[at, 1] if self.scalar else x[at]

    def operand(self, x, w, i, before, kind, move, offset):
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
        return before[-1 - min(offset, len(before) - 1)]

    def __call__(self, x, w):
        c = [w[k, k] if self.scalar else w[k] * 1.0 for k in range(self.carries)]
        kept, before = [], [c[0]]
        total = 0.0
        steps = range(self.count)
        for n, i in enumerate(steps if self.order > 0 else reversed(steps)):
            if n == 0 and self.ends[0]:
                c[0] = c[0] * x[0, 0]
            for k, (target, read, kind, f, move, offset) in enumerate(self.terms):
                if i % self.period and k == 0:
                    continue
                c[target] = 0.6 * f(
                    c[read] + 0.5 * self.operand(x, w, i, before, kind, move, offset)
                )
            for _ in range(self.inner if n < 3 or self.inner < 3 else 0):
                c[-1] = np.sin(c[-1] * w[1, 1])
            before.append(c[0])
            if self.lists:
                kept.append(c[0] * 0.5)
            else:
                total = total + np.sum(c[0] * c[-1])
            if n == self.count - 1 and self.ends[1]:
                c[0] = np.tanh(c[0])
        if self.lists:
            total = np.sum(np.stack(kept) ** 2 * np.sum(w))
            for y in kept[:: max(1, self.order)]:
                total = total * 0.97 + np.sum(y)
        return total + sum(np.sum(v) for v in c)

    def arguments(self):
        return self.draw.normal(size=(self.rows, COLUMNS)), self.draw.normal(size=(3, COLUMNS))


def forms(f, x, w):
    many = np.stack([x, 0.5 * x])
    ones = (np.ones_like(x), np.ones_like(w))
    return {
        "value": (f, (x, w)),
        "gradient": (fg.grad(f, (0, 1)), (x, w)),
        "tangent": (lambda x, w: fg.jvp(f, (x, w), ones)[1], (x, w)),
        "product": (lambda x, w: fg.jvp(fg.grad(f, (0, 1)), (x, w), ones)[1], (x, w)),
        "mapped": (fg.vmap(fg.grad(f), (0, None)), (many, w)),
    }


@pytest.mark.parametrize("seed", range(examples(40)))
def test_random_loops(seed):
    f = Drawn(seed)
    x, w = f.arguments()
    found = 0
    for name, (g, given) in forms(f, x, w).items():
        graph = fg.make_graph(g)(*given)
        made = rolled(graph)
        found += made.graph is not graph
        for a, b in zip(evaluate(made.graph, *given), evaluate(graph, *given), strict=True):
            scale = np.max(np.abs(b), initial=1e-30)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11 * scale, err_msg=name)
    if f.count * len(f.terms) > 300:
        assert found
