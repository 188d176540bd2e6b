"""The native code of a step of an LSTM, in both directions: all that is no product of matrices.

A row of the gates holds those of all states one after another: input, forget, cell, output. It
imports how nests are written.
"""

from __future__ import annotations

from typing import Any

from funcgrad.compile.loops import Const, Kernel, Let
from funcgrad.kernels.nests import Nest, each_row

__all__ = ["lstm_backward", "lstm_forward"]

GATES = range(4)


def _states(n: Nest, body: list[Any]) -> tuple[list[Any], Any, list[Any]]:
    """The loop over the states of a row: its body, a state's place, and those of its gates."""
    body += [Let("row", "int64", "mul", ("away", Const(4, "int64")))]
    body += [Let(f"gate{k}", "int64", "mul", ("columns", Const(k, "int64"))) for k in GATES]
    j, inner = n.loop(body, "columns", "vector")
    gates = [(("row", 1), (f"gate{k}", 1), (j, 1)) for k in GATES]
    return inner, (("away", 1), (j, 1)), gates


def _sigmoid(n: Nest, body: list[Any], x: str) -> str:
    small = n.let(body, "exp", n.let(body, "sub", 0.0, x))
    return n.let(body, "div", 1.0, n.let(body, "add", 1.0, small))


def _slope(n: Nest, body: list[Any], s: str) -> str:
    """The derivative of a sigmoid, of its value."""
    return n.let(body, "mul", s, n.let(body, "sub", 1.0, s))


def lstm_forward(n: Nest) -> Kernel:
    """States from the input's part of the gates, the state's and the biases; the gates stay where
    they were.
    """
    for name in ("product", "bias", "before"):
        n.array(name)
    for name in ("gates", "cell", "state"):
        n.array(name, "output")
    chunk, body = each_row(n)
    inner, at, places = _states(n, body)
    sums = []
    for place in places:
        parts = [n.load(inner, x, *place) for x in ("gates", "product")]
        bias = n.load(inner, "bias", *place[1:])
        sums.append(n.let(inner, "add", n.let(inner, "add", *parts), bias))
    new = n.let(inner, "tanh", sums[2])
    i, f, o = (_sigmoid(n, inner, sums[k]) for k in (0, 1, 3))
    kept = n.let(inner, "mul", f, n.load(inner, "before", *at))
    c = n.let(inner, "add", kept, n.let(inner, "mul", i, new))
    for x, place in zip((i, f, new, o), places, strict=True):
        n.store(inner, x, "gates", *place)
    n.store(inner, c, "cell", *at)
    n.store(inner, n.let(inner, "mul", o, n.let(inner, "tanh", c)), "state", *at)
    return n.kernel([], chunk)


def lstm_backward(n: Nest) -> Kernel:
    """Cotangents of what the gates are made of, and of the cell before, which takes the place of
    that of the cell.
    """
    for name in ("given", "later", "gates", "cell", "before"):
        n.array(name)
    for name in ("back", "cotangent"):
        n.array(name, "output")
    chunk, body = each_row(n)
    inner, at, places = _states(n, body)
    g = n.let(inner, "add", *(n.load(inner, x, *at) for x in ("given", "later")))
    i, f, new, o = (n.load(inner, "gates", *place) for place in places)
    tanh = n.let(inner, "tanh", n.load(inner, "cell", *at))
    through = n.let(inner, "mul", n.let(inner, "mul", g, o), _bend(n, inner, tanh))
    c = n.let(inner, "add", n.load(inner, "cotangent", *at), through)
    n.store(inner, n.let(inner, "mul", c, f), "cotangent", *at)
    found = [
        n.let(inner, "mul", n.let(inner, "mul", c, new), _slope(n, inner, i)),
        n.let(inner, "mul", n.let(inner, "mul", c, n.load(inner, "before", *at)),
              _slope(n, inner, f)),
        n.let(inner, "mul", n.let(inner, "mul", c, i), _bend(n, inner, new)),
        n.let(inner, "mul", n.let(inner, "mul", g, tanh), _slope(n, inner, o)),
    ]  # fmt: skip
    for x, place in zip(found, places, strict=True):
        n.store(inner, x, "back", *place)
    return n.kernel([], chunk)


def _bend(n: Nest, body: list[Any], y: str) -> str:
    """The derivative of tanh, of its value."""
    return n.let(body, "sub", 1.0, n.let(body, "mul", y, y))
