"""Long axes last: stacks of tall and narrow matrices are computed as their transposes.

Vectors of ten components fill no lanes, and loops over them are short. Where products of matrices
make such values, the elementwise operations and reductions around them are done with the last two
axes exchanged, so that loops run along the long one. The transpose of a product is that of the
transposes in turned order; what is needed in its own order is a view.
"""

from __future__ import annotations

from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.ops.nonlinear_reductions import MAX, MIN, PROD
from funcgrad.ops.product import MATMUL
from funcgrad.ops.shape import BROADCAST, RESHAPE, TRANSPOSE
from funcgrad.ops.sums import SUM
from funcgrad.passes.rewrite import Rewriter
from funcgrad.passes.short_axes import is_aligned

__all__ = ["long_axes"]

NARROW = range(2, 49)
TALL = 256
REDUCTIONS = (SUM, MAX, MIN, PROD)


def long_axes(graph: Graph) -> Graph:
    """The graph with tall and narrow matrices turned."""
    marks = _marked(graph)
    return _Turn(graph, marks).run() if marks else graph


def _is_tall(aval: ArrayType) -> bool:
    if aval.ndim < 3 or aval.dtype.kind != "f":
        return False
    rows, columns = aval.shape[-2:]
    return columns in NARROW and rows >= TALL


def _marked(graph: Graph) -> set[Var]:
    """What is computed turned: some products, and all that is elementwise around them."""
    made = {v: e for e in graph.equations for v in e.outputs}
    uses: dict[Var, list[Equation]] = {}
    for e in graph.equations:
        for a in e.inputs:
            if isinstance(a, Var):
                uses.setdefault(a, []).append(e)
    waiting = [v for v, e in made.items() if _is_mixed(e)]
    waiting = [v for v in waiting if any(_may_turn(u) for u in uses.get(v, ()))]
    found: set[Var] = set()
    while waiting:
        v = waiting.pop()
        if v in found or v not in made or not _may_turn(made[v]) or not _is_tall(v.type):
            continue
        found.add(v)
        e = made[v]
        around = [a for a in e.inputs if isinstance(a, Var)] if e.prim is not MATMUL else []
        around += [w for u in uses.get(v, ()) if u.prim is not MATMUL for w in u.outputs[:1]]
        waiting += [a for a in around if a.type.shape[-2:] == v.type.shape[-2:]]
    return found


def _is_mixed(e: Equation) -> bool:
    """Whether rows are multiplied by a small square matrix."""
    if e.prim is not MATMUL or not _is_tall(e.outputs[0].type):
        return False
    return e.inputs[0].type.shape == e.outputs[0].type.shape


def _may_turn(e: Equation) -> bool:
    """Whether the transposed result is made of transposed operands."""
    return is_aligned(e) or e.prim in (MATMUL, BROADCAST) or _reduces(e)


def _reduces(e: Equation) -> bool:
    return e.prim in REDUCTIONS and len(e.inputs) == 1


def _turned(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2])


class _Turn:
    def __init__(self, graph: Graph, marks: set[Var]) -> None:
        self.graph, self.marks = graph, marks
        self.r = Rewriter(graph)
        self.turned: dict[Var, Atom] = {}

    def run(self) -> Graph:
        return self.r.rewritten(self.turn, self.whole)

    def turn(self, e: Equation) -> bool:
        """Write the transpose of a result; False if the equation stays as it is."""
        (x, *_), v = e.inputs, e.outputs[0]
        if _reduces(e) and isinstance(x, Var) and x in self.turned:
            self.reduce(e, x)
            return True
        if v not in self.marks or _reduces(e):
            return False
        if e.prim is MATMUL:
            made = self.r.append(MATMUL, [self.transposed(a, 2) for a in reversed(e.inputs)])
        elif e.prim is BROADCAST:
            shape = {"shape": _turned(v.type.shape)}
            made = self.r.append(BROADCAST, (self.transposed(x, v.type.ndim),), shape)
        else:
            xs = [self.transposed(a, v.type.ndim) for a in e.inputs]
            made = self.r.append(e.prim, xs, e.params)
        (self.turned[v],) = made
        return True

    def transposed(self, a: Atom, rank: int) -> Atom:
        """An operand with its last two axes exchanged, for a result of so many axes."""
        if isinstance(a, Var) and a in self.turned:
            return self.turned[a]
        x, aval = self.whole(a), a.type
        if isinstance(x, Literal) or aval.ndim == 0:
            return x
        if aval.ndim == 1:  # along the last axis
            return self.r.append(RESHAPE, (x,), {"shape": (*aval.shape, 1)})[0]
        return self.swap(x)

    def swap(self, x: Atom) -> Atom:
        axes = tuple(range(x.type.ndim))
        return self.r.append(TRANSPOSE, (x,), {"axes": _turned(axes)})[0]

    def reduce(self, e: Equation, x: Var) -> None:
        """A reduction of a transpose, over the axes where they are now."""
        (v,), n = e.outputs, x.type.ndim
        place = dict(zip(range(n), _turned(tuple(range(n))), strict=True))
        axes = tuple(sorted(place[k] for k in e.params["axes"]))
        (made,) = self.r.append(e.prim, (self.turned[x],), {**e.params, "axes": axes})
        if e.params["keepdims"] or not {n - 2, n - 1} & set(axes):
            self.turned[v] = made
        else:
            self.r.known[v] = made

    def whole(self, a: Atom) -> Atom:
        """A value in its own order."""
        if isinstance(a, Var) and a in self.turned and a not in self.r.known:
            self.r.known[a] = self.swap(self.turned[a])
        return self.r.read(a)
