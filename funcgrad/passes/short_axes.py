"""Short axes written out: the three components of a vector as three values.

A sum over an axis of two to four elements is no loop worth having, and inside other loops it keeps
reductions over their axes from being one kernel. Where such an axis is reduced, the elementwise
operations before and after are done for each component, and what is needed as a whole is stacked.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.ops import records
from funcgrad.ops.index import GETITEM
from funcgrad.ops.shape import BROADCAST, CONCATENATE, RESHAPE
from funcgrad.passes.rewrite import Rewriter

__all__ = ["fold", "is_aligned", "is_plain_reduction", "short_axes"]

SHORT = range(2, 5)
WORTHWHILE = 256  # elements for each component
PAIR = {
    records.SUM: records.ADD,
    records.MAX: records.MAXIMUM,
    records.MIN: records.MINIMUM,
    records.PROD: records.MULTIPLY,
}


def short_axes(graph: Graph) -> Graph:
    """The graph with short axes that are reduced written out."""
    marks = _Marks(graph).found
    return _Split(graph, marks).run() if marks else graph


def is_aligned(e: Equation) -> bool:
    """Whether operands lie along the axes of the result as in NumPy's broadcasting."""
    return e.prim.aligned and not e.prim.multiple


def _own(a: Atom, axis: int, rank: int) -> int | None:
    """The axis of an operand that lies along one of the result, if it has more than one element."""
    own = axis - (rank - a.type.ndim)
    return own if own >= 0 and a.type.shape[own] != 1 else None


class _Marks:
    """Which values are written out, along which axis."""

    def __init__(self, graph: Graph) -> None:
        self.found: dict[Var, int] = {}
        self.made = {v: e for e in graph.equations for v in e.outputs}
        self.uses: dict[Var, list[Equation]] = {}
        for e in graph.equations:
            for a in e.inputs:
                if isinstance(a, Var):
                    self.uses.setdefault(a, []).append(e)
        for e in graph.equations:
            self.seed(e)

    def seed(self, e: Equation) -> None:
        x = e.inputs[0] if e.inputs else None
        if e.prim not in PAIR or not isinstance(x, Var):
            return
        shape, axes = x.type.shape, e.params["axes"]
        short = [a for a in axes if shape[a] in SHORT]
        made = self.made.get(x)
        if len(short) != 1 or made is None or not is_aligned(made) or not is_plain_reduction(e):
            return
        if len(axes) == len(shape):  # of a total any order is as good
            return
        if x.type.size >= WORTHWHILE * shape[short[0]]:
            self.spread(x, short[0])

    def spread(self, v: Var, axis: int) -> None:
        waiting = [(v, axis)]
        while waiting:
            v, axis = waiting.pop()
            if v in self.found or v not in self.made:
                continue
            e = self.made[v]
            if is_aligned(e):
                before = [(a, _own(a, axis, v.type.ndim)) for a in e.inputs]
                waiting += [(a, k) for a, k in before if isinstance(a, Var) and k is not None]
            elif not _carries(e, axis):
                continue
            self.found[v] = axis
            for use in self.uses.get(v, ()):
                after = self.after(use, v, axis)
                if after is not None:
                    waiting.append((use.outputs[0], after))

    def after(self, e: Equation, v: Var, axis: int) -> int | None:
        """The axis of the result of a use, if it has it and can be written out as well."""
        if is_aligned(e):
            return e.outputs[0].type.ndim - v.type.ndim + axis
        if is_plain_reduction(e):
            return _left(e, axis)
        return None


def is_plain_reduction(e: Equation) -> bool:
    """Whether an equation reduces floats, all of them and to their own dtype."""
    if e.prim not in PAIR or len(e.inputs) != 1:
        return False
    x, out, p = e.inputs[0].type, e.outputs[0].type, e.params
    same = x.dtype == out.dtype and x.dtype.kind == "f"
    return same and p.get("dtype") is None and p.get("initial") is None


def fold(r: Rewriter, e: Equation, parts: Sequence[Atom]) -> Atom:
    """Values that a reduction makes one, as it does: one after the other."""
    pair = PAIR[e.prim]
    total = parts[0]
    if e.prim is records.SUM:  # which starts from 0: that of -0 is 0
        zero = r.literal(e.outputs[0].type.dtype.type(0))
        (total,) = r.append(pair, (total, zero))
    for part in parts[1:]:
        (total,) = r.append(pair, (total, part))
    return total


def _left(e: Equation, axis: int) -> int | None:
    """Where an axis is after a reduction over others."""
    axes = e.params["axes"]
    if axis in axes:
        return None
    return axis if e.params["keepdims"] else axis - sum(a < axis for a in axes)


def _carries(e: Equation, axis: int) -> bool:
    """Whether the components of a reduction or a broadcast are made of those of the operand."""
    if e.prim is records.BROADCAST:
        return _own(e.inputs[0], axis, e.outputs[0].type.ndim) is None
    return is_plain_reduction(e)


class _Split:
    def __init__(self, graph: Graph, marks: dict[Var, int]) -> None:
        self.graph, self.marks = graph, marks
        self.r = Rewriter(graph)
        self.parts: dict[Var, list[Atom]] = {}

    def run(self) -> Graph:
        return self.r.rewritten(self.split, self.whole)

    def split(self, e: Equation) -> bool:
        """Write an equation out; False if it stays as it is."""
        v = e.outputs[0]
        axis = self.marks.get(v)
        if e.prim is GETITEM and self.pick(e):
            return True
        if is_plain_reduction(e):
            (x,) = e.inputs
            if isinstance(x, Var) and x in self.parts:
                self.reduce(e, x, self.marks[x])
                return True
            return False
        if axis is None:
            return False
        shape = v.type.shape
        rest = (*shape[:axis], *shape[axis + 1 :])
        made = []
        for k in range(shape[axis]):
            xs = [self.component(a, axis, len(shape), k) for a in e.inputs]
            if e.prim is records.BROADCAST:
                made.append(self.spread(xs[0], rest))
            else:
                made.append(self.r.append(e.prim, xs, e.params)[0])
        self.parts[v] = made
        return True

    def pick(self, e: Equation) -> bool:
        """Whether an index chooses one of the components of its operand, which is then that."""
        (x,), (v,) = e.inputs, e.outputs
        if not isinstance(x, Var) or x not in self.parts:
            return False
        axis, index = self.marks[x], e.params["index"]
        chosen = index[axis] if len(index) == x.type.ndim else None
        others = [i for k, i in enumerate(index) if k != axis]
        if not isinstance(chosen, tuple) or any(i != (None, None, None) for i in others):
            return False
        taken = range(*slice(*chosen).indices(x.type.shape[axis]))
        if len(taken) != 1:
            return False
        part = self.parts[x][taken[0]]
        (self.r.known[v],) = self.r.append(RESHAPE, (part,), {"shape": v.type.shape})
        return True

    def spread(self, x: Atom, shape: tuple[int, ...]) -> Atom:
        return x if x.type.shape == shape else self.r.append(BROADCAST, (x,), {"shape": shape})[0]

    def component(self, a: Atom, axis: int, rank: int, k: int) -> Atom:
        """Component k of an operand of a result with this axis and rank."""
        own = axis - (rank - a.type.ndim)
        if isinstance(a, Literal) or own < 0:
            return self.whole(a)
        if isinstance(a, Var) and a in self.parts and self.marks[a] == own:
            return self.parts[a][k]
        x, shape = self.whole(a), a.type.shape
        if shape[own] == 1:
            return self.r.append(RESHAPE, (x,), {"shape": (*shape[:own], *shape[own + 1 :])})[0]
        return self.r.append(GETITEM, (x,), {"index": (*[(None, None, None)] * own, k, Ellipsis)})[
            0
        ]

    def reduce(self, e: Equation, x: Var, axis: int) -> None:
        (v,) = e.outputs
        axes, keep = e.params["axes"], e.params["keepdims"]
        others = tuple(a - (a > axis) for a in axes if a != axis)
        made = self.parts[x]
        if others:
            params = {**e.params, "axes": others}
            made = [self.r.append(e.prim, (c,), params)[0] for c in made]
        if axis not in axes:
            self.parts[v] = made
            self.marks[v] = axis if keep else axis - sum(a < axis for a in axes)
            return
        total = fold(self.r, e, made)
        if total.type.shape != v.type.shape:
            (total,) = self.r.append(RESHAPE, (total,), {"shape": v.type.shape})
        self.r.known[v] = total

    def whole(self, a: Atom) -> Atom:
        """A value as one array, stacked if it was written out."""
        if isinstance(a, Var) and a in self.parts and a not in self.r.known:
            axis, shape = self.marks[a], a.type.shape
            one = (*shape[:axis], 1, *shape[axis + 1 :])
            rows = [self.r.append(RESHAPE, (c,), {"shape": one})[0] for c in self.parts[a]]
            (self.r.known[a],) = self.r.append(CONCATENATE, rows, {"axis": axis})
        return self.r.read(a)
