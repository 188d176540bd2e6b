"""Loops that sort, permute and search along one axis.

A few elements are compared neighbour by neighbour, as values that may be in registers; more are
merged, run by run, from one row of scratch memory into another. Both are stable, and a NaN comes
last. They import the nest that is written, and nothing that decides when they are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.loops import (
    Address,
    Buffer,
    Carry,
    Combine,
    Const,
    For,
    Let,
    Load,
    Operand,
    Require,
    Store,
)
from funcgrad.compile.nest import Nest, whole_strides
from funcgrad.compile.scalars import NATIVE
from funcgrad.graph.ir import Equation
from funcgrad.passes.views import View, whole

__all__ = ["inside", "permuted", "searched", "sorted_line"]

FEW = 8  # elements that are compared neighbour by neighbour: 28 times
Body = list[Any]
Source = View | Const


class Line(NamedTuple):
    """The loops around a line: their indices, with a place for that of the axis, and their body."""

    indices: list[str]
    axis: int
    length: int
    body: Body

    def at(self, index: str) -> list[str]:
        return [*self.indices[: self.axis], index, *self.indices[self.axis :]]


def _line(nest: Nest, shape: Sequence[int], axis: int) -> Line:
    axis %= len(shape)
    rest = [n for k, n in enumerate(shape) if k != axis]
    indices, body = nest.loops(rest, "sequential")
    return Line(indices, axis, shape[axis], body)


class _Writer:
    """Statements of one block."""

    def __init__(self, nest: Nest, body: Body) -> None:
        self.nest, self.body = nest, body

    def let(self, op: str, *args: Operand, dtype: str = "int64") -> str:
        name = self.nest.fresh("v")
        self.body.append(Let(name, dtype, op, args))
        return name

    def test(self, op: str, *args: Operand) -> str:
        return self.let(op, *args, dtype="bool")

    def load(self, address: Address, dtype: str) -> str:
        name = self.nest.fresh("v")
        self.body.append(Load(name, dtype, address))
        return name

    def before(self, x: Operand, y: Operand, dtype: str) -> str:
        """Whether `x` comes before `y`: NaN is larger than every number."""
        if dtype == "bool":
            return self.test("and", self.test("not", x), y)
        less = self.test("lt", x, y)
        if not dtype.startswith("float"):
            return less
        number, unknown = self.test("eq", x, x), self.test("ne", y, y)
        return self.test("or", less, self.test("and", number, unknown))


def _number(value: int) -> Const:
    return Const(value, "int64")


# --------------------------------------------------------------------------------- sorting


def sorted_line(gives_order: bool) -> Callable[[Nest, Equation], bool]:
    """The elements along an axis in their order, or where they were. A sort is a partition."""

    def write(nest: Nest, e: Equation) -> bool:
        (out,), (a,) = e.outputs, e.inputs
        x = nest.view(a)
        if a.type.ndim == 0 or not out.type.size:
            return False
        line = _line(nest, a.type.shape, e.params["axis"])
        dtype = NATIVE[a.type.dtype]
        step = _sorted_few if line.length <= FEW else _merged
        step(nest, line, x, whole(out), dtype, gives_order)
        return True

    return write


def _fixed(view: Source, line: Line, k: int) -> Source:
    """A view at place `k` of the line."""
    if isinstance(view, Const):
        return view
    keep = [j for j in range(len(view.shape)) if j != line.axis]
    return View(
        view.base,
        view.offset + k * view.strides[line.axis],
        tuple(view.shape[j] for j in keep),
        tuple(view.strides[j] for j in keep),
    )


def _sorted_few(nest: Nest, line: Line, x: Source, out: View, dtype: str, order: bool) -> None:
    """By exchanging neighbours that are in the wrong order, as often as there are elements."""
    w = _Writer(nest, line.body)
    values = [nest.read(_fixed(x, line, k), line.indices, w.body) for k in range(line.length)]
    places: list[Operand] = [_number(k) for k in range(line.length)]
    for turn in range(line.length):
        for k in range(turn % 2, line.length - 1, 2):
            swap = w.before(values[k + 1], values[k], dtype)
            values[k : k + 2] = _exchanged(w, swap, values[k], values[k + 1], dtype)
            if order:
                places[k : k + 2] = _exchanged(w, swap, places[k], places[k + 1], "int64")
    for k, found in enumerate(places if order else values):
        into = _fixed(out, line, k)
        assert isinstance(into, View)
        at = nest.at(into, line.indices, "output")
        w.body.append(Store(at, found, "int64" if order else dtype))


def _exchanged(w: _Writer, swap: str, x: Operand, y: Operand, dtype: str) -> list[Any]:
    return [
        w.let("select", swap, y, x, dtype=dtype),
        w.let("select", swap, x, y, dtype=dtype),
    ]


class _Rows:
    """Scratch memory of a line: its elements, and where they come from."""

    def __init__(self, nest: Nest, length: int, dtype: str, order: bool) -> None:
        self.kinds = [dtype, "int64"] if order else [dtype]
        self.names = [nest.fresh("row") for _ in self.kinds]
        pairs = zip(self.names, self.kinds, strict=True)
        nest.code.locals += [Buffer(n, kind, "local", length) for n, kind in pairs]

    def load(self, w: _Writer, index: Operand) -> list[str]:
        pairs = zip(self.names, self.kinds, strict=True)
        return [w.load(Address(n, ((str(index), 1),)), kind) for n, kind in pairs]

    def store(self, w: _Writer, index: str, values: Sequence[Operand]) -> None:
        for name, kind, x in zip(self.names, self.kinds, values, strict=True):
            w.body.append(Store(Address(name, ((index, 1),)), x, kind))


def _merged(nest: Nest, line: Line, x: Source, out: View, dtype: str, order: bool) -> None:
    """Runs of 1, 2, 4, … elements merged in pairs."""
    source, target = (_Rows(nest, line.length, dtype, order) for _ in range(2))
    fill = For(nest.fresh("i"), line.length, "sequential")
    first = _Writer(nest, fill.body)
    given = nest.read(x, line.at(fill.index), fill.body)
    source.store(first, fill.index, [given, fill.index][: len(source.kinds)])
    line.body.append(fill)
    width = 1
    while width < line.length:
        _merge_pairs(nest, line, width, source, target)
        source, target = target, source
        width *= 2
    drain = For(nest.fresh("i"), line.length, "sequential")
    last = _Writer(nest, drain.body)
    found = source.load(last, drain.index)[-1]
    at = nest.at(out, line.at(drain.index), "output")
    drain.body.append(Store(at, found, "int64" if order else dtype))
    line.body.append(drain)


def _merge_pairs(nest: Nest, line: Line, width: int, source: _Rows, target: _Rows) -> None:
    """One run after the other of both halves of each pair; of equal elements the left one first."""
    length = _number(line.length)
    pair = For(nest.fresh("i"), -(-line.length // (2 * width)), "sequential")
    line.body.append(pair)
    w = _Writer(nest, pair.body)
    low = w.let("mul", pair.index, _number(2 * width))
    middle = w.let("min", w.let("add", low, _number(width)), length)
    high = w.let("min", w.let("add", low, _number(2 * width)), length)
    merge = For(nest.fresh("i"), w.let("sub", high, low), "steps")
    left, right = nest.fresh("a"), nest.fresh("a")
    merge.carries = [Carry(left, "int64", "next", low), Carry(right, "int64", "next", middle)]
    w.body.append(merge)
    w = _Writer(nest, merge.body)
    on_left, on_right = w.test("lt", left, middle), w.test("lt", right, high)
    one = source.load(w, w.let("select", on_left, left, low))
    two = source.load(w, w.let("select", on_right, right, low))
    better = w.test("and", on_right, w.before(two[0], one[0], source.kinds[0]))
    takes_right = w.test("or", better, w.test("not", on_left))
    found = [
        w.let("select", takes_right, y, x, dtype=kind)
        for x, y, kind in zip(one, two, source.kinds, strict=True)
    ]
    target.store(w, w.let("add", low, merge.index), found)
    moved = w.let("cast", takes_right)
    w.body += [
        Combine(right, w.let("add", right, moved)),
        Combine(left, w.let("sub", w.let("add", left, _number(1)), moved)),
    ]


# ---------------------------------------------------------------- permutations, searching


def inside(nest: Nest, index: Operand, n: int, body: Body) -> str:
    """A place of `n`, negative ones from the end; the kernel fails where there is none."""
    w = _Writer(nest, body)
    nest.code.requires = True
    moved = w.let("add", index, _number(n))
    index = w.let("select", w.test("lt", index, _number(0)), moved, index)
    above, below = w.test("ge", index, _number(0)), w.test("lt", index, _number(n))
    held = w.test("and", above, below)
    body.append(Require(held))
    return w.let("select", held, index, _number(0))


def permuted(nest: Nest, e: Equation) -> bool:
    """`take_along_axis` of whole permutations, or `put_along_axis`."""
    (out,), (a, order) = e.outputs, e.inputs
    x, at, dtype = nest.view(a), nest.view(order), NATIVE[a.type.dtype]
    if order.type.dtype != np.int64:
        return False
    if a.type.shape != order.type.shape or a.type.dtype != out.type.dtype:
        return False
    line = _line(nest, order.type.shape, e.params["axis"])
    along = For(nest.fresh("i"), line.length, "sequential")
    line.body.append(along)
    here = line.at(along.index)
    there = line.at(inside(nest, nest.read(at, here, along.body), line.length, along.body))
    source, target = (here, there) if e.params["back"] else (there, here)
    value = nest.read(x, source, along.body)
    along.body.append(Store(nest.at(whole(out), target, "output"), value, dtype))
    return True


def searched(nest: Nest, e: Equation) -> bool:
    """Where elements would go in a sorted line: its middle, again and again."""
    (out,), (a, v, *sorter) = e.outputs, e.inputs
    line, keys = nest.view(a), nest.view(v)
    common = np.result_type(a.type.dtype, v.type.dtype)
    if sorter or isinstance(line, Const) or common not in NATIVE or not a.type.size:
        return False
    dtype, n = NATIVE[common], a.type.size
    indices, body = nest.loops(v.type.shape, "sequential")
    w = _Writer(nest, body)

    def read(view: Source, at: Sequence[str], kind: Any) -> Operand:
        x = nest.read(view, at, w.body)
        return x if kind == common else w.let("cast", x, dtype=dtype)

    key = read(keys, indices, v.type.dtype)
    halves = For(nest.fresh("i"), n.bit_length(), "steps")
    low, high = nest.fresh("a"), nest.fresh("a")
    halves.carries = [
        Carry(low, "int64", "next", _number(0)),
        Carry(high, "int64", "next", _number(n)),
    ]
    body.append(halves)
    w = _Writer(nest, halves.body)
    left = w.test("lt", low, high)
    middle = w.let("div", w.let("add", low, high), _number(2))
    x = read(line, [w.let("min", middle, _number(n - 1))], a.type.dtype)
    if e.params["side"] == "left":
        later = w.before(x, key, dtype)
    else:
        later = w.test("not", w.before(key, x, dtype))
    up = w.test("and", left, later)
    down = w.test("and", left, w.test("not", later))
    w.body += [
        Combine(low, w.let("select", up, w.let("add", middle, _number(1)), low)),
        Combine(high, w.let("select", down, middle, high)),
    ]
    target = View(out, 0, v.type.shape, whole_strides(v.type.shape))
    body.append(Store(nest.at(target, indices, "output"), low, NATIVE[out.type.dtype]))
    return True
