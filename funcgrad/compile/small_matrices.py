"""Factorisations of small matrices, element by element, for the bodies of loops.

A filter solves for two or three unknowns in each step; a call of LAPACK takes longer than all else
that the step does. All elements are values here, rows are exchanged by choices, and no memory is
read twice. What LAPACK would refuse (a pivot that is 0, a matrix that is not positive definite)
fails the kernel, and NumPy's run says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from funcgrad.compile.code import Written
from funcgrad.compile.loops import INDEFINITE, SINGULAR, Const, Let, Operand, Require, Store
from funcgrad.compile.nest import Nest, whole_strides
from funcgrad.compile.scalars import NATIVE
from funcgrad.core.primitive import Primitive
from funcgrad.graph.ir import Equation, Var
from funcgrad.ops import records
from funcgrad.passes.plan import Plan
from funcgrad.passes.views import View

__all__ = ["small_matrix_step"]

LARGEST = 3000  # operations
Rows = list[list[Operand]]


def small_matrix_step(e: Equation, plan: Plan, name: str) -> Written | None:
    """The operations of a factorisation; None where there are none for it, or too many."""
    write = STEPS.get(e.prim)
    if write is None:
        return None
    a, out = e.inputs[0].type, e.outputs[0].type
    if a.dtype not in NATIVE or a.dtype.kind != "f" or not out.size:
        return None
    n, columns = a.shape[-1], e.inputs[-1].type.shape[-1]
    times = n * n // 3 if e.prim is records.COFACTORS else 1
    if n * n * (n + columns) * times > LARGEST or any(x.type.dtype != a.dtype for x in e.inputs):
        return None
    nest = Nest(plan, name)
    step = _Step(nest, e)
    write(step)
    nest.code.requires |= step.requires
    return nest.written()


class _Step:
    """One matrix of a stack while its operations are written."""

    def __init__(self, nest: Nest, e: Equation) -> None:
        self.nest, self.e = nest, e
        self.n = e.inputs[0].type.shape[-1]
        self.dtype = NATIVE[e.inputs[0].type.dtype]
        rank = 1 if e.prim in (records.DET, records.SLOGDET) else 2
        shape = e.outputs[0].type.shape
        self.lead = shape if rank == 1 else shape[:-2]
        self.indices, self.body = nest.loops(self.lead, "sequential")
        self.requires = False

    def let(self, op: str, *args: Operand, dtype: str = "") -> str:
        name = self.nest.fresh("v")
        self.body.append(Let(name, dtype or self.dtype, op, args))
        return name

    def number(self, value: float) -> Const:
        return Const(value, self.dtype)

    def compare(self, op: str, x: Operand, y: Operand) -> str:
        return self.let(op, x, y, dtype="bool")

    def require(self, condition: str, kind: int) -> None:
        self.requires = True
        self.body.append(Require(condition, kind))

    def rows(self, which: int) -> Rows:
        """The elements of an operand."""
        a = self.e.inputs[which]
        view = self.nest.view(a)
        m, n = a.type.shape[-2:]
        if isinstance(view, Const):
            return [[view] * n for _ in range(m)]
        own = len(view.shape) - 2
        lead = (0,) * (len(self.lead) - own) + tuple(
            0 if size == 1 else s
            for size, s in zip(view.shape[:-2], view.strides[:-2], strict=True)
        )
        down, along = view.strides[-2:]

        def element(i: int, j: int) -> Operand:
            one = View(view.base, view.offset + i * down + j * along, self.lead, lead)
            return self.nest.read(one, self.indices, self.body)

        return [[element(i, j) for j in range(n)] for i in range(m)]

    def store(self, out: Var, values: Sequence[Operand]) -> None:
        strides = whole_strides(out.type.shape)[: len(self.lead)]
        for k, x in enumerate(values):
            view = View(out, k, self.lead, strides)
            self.body.append(Store(self.nest.at(view, self.indices, "output"), x, self.dtype))

    def eliminate(self, rows: Rows, singular: bool) -> tuple[Rows, list[str]]:
        """Upper triangular rows, by partial pivoting, and when two were exchanged.

        `singular` matrices are gone through to the end; otherwise they fail the kernel.
        """
        exchanged, n = [], len(rows)
        for k in range(n):
            for i in range(k + 1, n):
                old, new = self.let("abs", rows[k][k]), self.let("abs", rows[i][k])
                better = self.compare("gt", new, old)
                exchanged.append(better)
                for j in range(k, len(rows[k])):
                    x, y = rows[k][j], rows[i][j]
                    rows[k][j] = self.let("select", better, y, x)
                    rows[i][j] = self.let("select", better, x, y)
            pivot = rows[k][k]
            regular = self.compare("ne", pivot, self.number(0.0))
            if not singular:
                self.require(regular, SINGULAR)
            for i in range(k + 1, n):
                factor: Operand = self.let("div", rows[i][k], pivot)
                if singular:
                    factor = self.let("select", regular, factor, self.number(0.0))
                for j in range(k + 1, len(rows[k])):
                    term = self.let("mul", factor, rows[k][j])
                    rows[i][j] = self.let("sub", rows[i][j], term)
        return rows, exchanged

    def determinant(self, rows: Rows) -> Operand:
        rows, exchanged = self.eliminate(rows, True)
        found: Operand = self.number(1.0)
        for k in range(len(rows)):
            found = self.let("mul", found, rows[k][k])
        for swap in exchanged:
            found = self.let("select", swap, self.let("neg", found), found)
        return found

    def solved(self, a: Rows, b: Rows) -> Rows:
        rows, _ = self.eliminate([[*x, *y] for x, y in zip(a, b, strict=True)], False)
        found: Rows = [[] for _ in rows]
        for i in reversed(range(self.n)):
            for j in range(self.n, len(rows[i])):
                x = rows[i][j]
                for k in range(i + 1, self.n):
                    x = self.let("sub", x, self.let("mul", rows[i][k], found[k][j - self.n]))
                found[i].append(self.let("div", x, rows[i][i]))
        return found


def _solve(s: _Step) -> None:
    found = s.solved(s.rows(0), s.rows(1))
    s.store(s.e.outputs[0], [x for row in found for x in row])


def _inverse(s: _Step) -> None:
    one: Rows = [[s.number(float(i == j)) for j in range(s.n)] for i in range(s.n)]
    found = s.solved(s.rows(0), one)
    s.store(s.e.outputs[0], [x for row in found for x in row])


def _determinant(s: _Step) -> None:
    s.store(s.e.outputs[0], [s.determinant(s.rows(0))])


def _cofactors(s: _Step) -> None:
    """Determinants of what is left without a row and a column: also of singular matrices."""
    rows, found = s.rows(0), []
    for i in range(s.n):
        for j in range(s.n):
            minor = s.determinant([r[:j] + r[j + 1 :] for k, r in enumerate(rows) if k != i])
            found.append(s.let("neg", minor) if (i + j) % 2 else minor)
    s.store(s.e.outputs[0], found)


def _sign_and_logarithm(s: _Step) -> None:
    rows, exchanged = s.eliminate(s.rows(0), True)
    sign: Operand = s.number(1.0)
    total: Operand = s.number(0.0)
    zero = s.number(0.0)
    for k in range(s.n):
        pivot = rows[k][k]
        other = s.let("select", s.compare("eq", pivot, zero), zero, pivot)  # a NaN stays
        minus = s.let("select", s.compare("lt", pivot, zero), s.number(-1.0), other)
        own = s.let("select", s.compare("gt", pivot, zero), s.number(1.0), minus)
        sign = s.let("mul", sign, own)
        total = s.let("add", total, s.let("log", s.let("abs", pivot)))
    for swap in exchanged:
        sign = s.let("select", swap, s.let("neg", sign), sign)
    s.store(s.e.outputs[0], [sign])
    s.store(s.e.outputs[1], [total])


def _cholesky(s: _Step) -> None:
    upper = s.e.params.get("upper", False)
    a, n = s.rows(0), s.n
    low: Rows = [[s.number(0.0)] * n for _ in range(n)]
    for j in range(n):
        for i in range(j, n):
            x = a[j][i] if upper else a[i][j]
            for k in range(j):
                x = s.let("sub", x, s.let("mul", low[i][k], low[j][k]))
            if i == j:
                s.require(s.compare("gt", x, s.number(0.0)), INDEFINITE)
                low[j][j] = s.let("sqrt", x)
            else:
                low[i][j] = s.let("div", x, low[j][j])
    turned = [[low[j][i] for j in range(n)] for i in range(n)] if upper else low
    s.store(s.e.outputs[0], [x for row in turned for x in row])


STEPS: dict[Primitive, Callable[[_Step], None]] = {
    records.SOLVE: _solve,
    records.INV: _inverse,
    records.DET: _determinant,
    records.SLOGDET: _sign_and_logarithm,
    records.CHOLESKY: _cholesky,
    records.COFACTORS: _cofactors,
}
