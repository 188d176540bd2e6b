"""What a transform adds to a staged program has the line of the operation that it belongs to.

`explain`, errors and profiles of the loops that are found in it name lines: those of the user's
function, not the one at which its gradient was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.graph.ir import Equation, Graph
from funcgrad.transforms.deferred import deferring
from funcgrad.transforms.rolling import rolled


def loop(x, t):
    h = x[0]
    for i in range(100):
        h = np.tanh(h * t[0]) + fnp.take(x, i)
        h = np.sin(h * t[1])
    return h * np.sum(t)


def straight(x, t):
    a = np.sort(x)
    return np.sum(np.cumsum(a) * t[0]) + np.max(x) * np.exp(t[1])


def scanned(x, t):
    def step(c, r):
        c = np.tanh(c * t[0] + r)
        return c, np.sin(c)

    last, rows = fg.scan(step, t[1], x)
    return last + np.sum(rows)


def equations_of(graph: Graph) -> Iterator[Equation]:
    """All equations, those of bodies included."""
    for e in graph.equations:
        yield e
        for value in e.params.values():
            for g in value if isinstance(value, tuple | list) else [value]:
                if isinstance(g, Graph):
                    yield from equations_of(g)


def own(f) -> range:
    first = f.__code__.co_firstlineno
    return range(first, first + 8)


WAYS = {
    "gradient": lambda f: fg.grad(f, (0, 1)),
    "gradient of jit": lambda f: fg.grad(fg.jit(f), (0, 1)),
    "tangent": lambda f: lambda x, t: fg.jvp(f, (x, t), (x, t)),
    "hessian": lambda f: fg.hessian(f, 1),
    "of examples": lambda f: fg.vmap(fg.grad(f), (None, 0)),
    "checkpointed": lambda f: fg.grad(fg.checkpoint(f)),
    "pullback": lambda f: lambda x, t: fg.vjp(f, x, t)[1](1.0),
}


@pytest.mark.parametrize("first", [False, True], ids=["loops last", "loops first"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [loop, straight, scanned])
def test_equations_of_derivatives_have_the_lines_of_the_function(f, way, first):
    x, t = np.linspace(0.1, 1.0, 100), np.array([0.5, 0.3])
    t = np.stack([t, t]) if way == "of examples" else t
    deferring.on = first
    try:
        graph = rolled(fg.make_graph(WAYS[way](f))(x, t)).graph
    finally:
        deferring.on = False
    made = list(equations_of(graph))
    assert made
    elsewhere = [e for e in made if e.source.line not in own(f)]
    # operands and results of a call may be brought into form where it stands
    assert {e.prim.name for e in elsewhere} <= {"reshape", "transpose"}
    assert {e.source.file for e in made} == {__file__}


def test_an_operation_without_native_form_in_a_backward_loop_is_named_with_its_line():
    def f(x):
        h = x
        for _ in range(60):
            h = np.linalg.eigh(np.outer(h, h) + np.diag(x))[0] * 0.3
        return np.sum(h)

    told = fg.jit(fg.grad(f)).explain(np.array([0.5, 0.7, 0.2]))
    line = f.__code__.co_firstlineno + 3
    own_line = f'{__file__}", line {line}, in f'
    said = [row for row in told.splitlines() if "line " in row]
    assert said
    assert all(own_line in row for row in said)
