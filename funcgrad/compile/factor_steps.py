"""Factorisations of matrices of up to 64 rows as loops, for the bodies of loops.

A filter factors a matrix in each step, and a loop with one call of LAPACK in it runs in Python.
The matrix is copied, with what stands on the right beside it, and eliminated there row by row:
lanes run along the rows. What LAPACK would refuse fails the kernel, and NumPy's run says why. A few
rows are written out element by element instead (`small_matrices.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from funcgrad.compile.loops import (
    INDEFINITE,
    SINGULAR,
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
from funcgrad.core.primitive import Primitive
from funcgrad.graph.ir import Equation, Var
from funcgrad.ops import records
from funcgrad.passes.views import View

__all__ = ["FACTORS"]

ROWS = 64  # beyond, LAPACK does it in less time, and a call of it is a small part of that
NEAR = 1e4  # the condition from which on cofactors are made of singular values
At = tuple[tuple[str, int], ...]  # the terms of an address


def _loop(write: Callable[[_Matrix], None]) -> Callable[[Nest, Equation], bool]:
    """The loops of an equation, for each matrix of a stack."""

    def written(nest: Nest, e: Equation) -> bool:
        types = [a.type for a in (*e.inputs, *e.outputs)]
        n = types[0].shape[-1]
        if any(t.dtype != types[0].dtype or not t.size for t in types):
            return False
        if types[0].dtype.kind != "f" or n > ROWS:
            return False
        write(_Matrix(nest, e))
        return True

    return written


class _Matrix:
    """One matrix of a stack, with its right side, while the loops are written."""

    def __init__(self, nest: Nest, e: Equation) -> None:
        self.nest, self.e = nest, e
        self.n = self.width = e.inputs[0].type.shape[-1]
        self.dtype = NATIVE[e.inputs[0].type.dtype]
        rank = 1 if e.prim in (records.DET, records.SLOGDET) else 2
        shape = e.outputs[0].type.shape
        self.lead = shape if rank == 1 else shape[:-2]
        self.indices, self.body = nest.loops(self.lead, "sequential")
        self.matrix = ""

    # ---------------------------------------------------------------------------- statements

    def let(self, op: str, *args: Operand, dtype: str = "") -> str:
        name = self.nest.fresh("v")
        self.body.append(Let(name, dtype or self.dtype, op, args))
        return name

    def count(self, op: str, x: Operand, y: Operand) -> str:
        return self.let(op, x, y, dtype="int64")

    def test(self, op: str, x: Operand, y: Operand) -> str:
        return self.let(op, x, y, dtype="bool")

    def number(self, value: float) -> Const:
        return Const(value, self.dtype)

    def within(self, count: int | str, kind: str = "sequential", *carries: Carry) -> _Within:
        return _Within(self, For(self.nest.fresh("i"), count, kind, [], list(carries)))

    def require(self, condition: str, kind: int) -> None:
        self.nest.code.requires = True
        self.body.append(Require(condition, kind))

    def local(self, size: int) -> str:
        name = self.nest.fresh("m")
        self.nest.code.locals.append(Buffer(name, self.dtype, "local", size))
        return name

    # ------------------------------------------------------------------------------ elements

    def load(self, *at: tuple[str, int], offset: int = 0, of: str = "") -> str:
        name = self.nest.fresh("v")
        self.body.append(Load(name, self.dtype, Address(of or self.matrix, at, offset)))
        return name

    def store(self, x: Operand, *at: tuple[str, int], offset: int = 0, of: str = "") -> None:
        self.body.append(Store(Address(of or self.matrix, at, offset), x, self.dtype))

    def given(self, which: int, i: str, j: str) -> Operand:
        """An element of an operand."""
        view = self.nest.view(self.e.inputs[which])
        if isinstance(view, Const):
            return view
        own = len(view.shape) - 2
        pairs = zip(view.shape[:own], view.strides[:own], strict=True)
        lead = [0] * (len(self.lead) - own) + [0 if size == 1 else s for size, s in pairs]
        strides = (*lead, *view.strides[-2:])
        shape = (*self.lead, *view.shape[-2:])
        whole = View(view.base, view.offset, shape, strides)
        return self.nest.read(whole, [*self.indices, i, j], self.body)

    def result(self, x: Operand, *at: str, out: int = 0) -> None:
        v: Var = self.e.outputs[out]
        view = View(v, 0, v.type.shape, whole_strides(v.type.shape))
        self.body.append(Store(self.nest.at(view, [*self.indices, *at], "output"), x, self.dtype))

    def copied(self, right: Callable[[str, str], Operand] | None, columns: int = 0) -> None:
        """Copy the matrix, and what stands on its right, to where they are worked on."""
        n = self.n
        self.width = n + columns
        self.matrix = self.local(n * self.width)
        with self.within(n) as i:
            with self.within(n, "vector") as j:
                self.store(self.given(0, i, j), (i, self.width), (j, 1))
            if right is not None:
                with self.within(columns, "vector") as j:
                    self.store(right(i, j), (i, self.width), (j, 1), offset=n)

    def identity(self) -> None:
        """The identity matrix on the right side."""
        self.copied(lambda i, j: self.number(0.0), self.n)
        with self.within(self.n) as i:
            self.store(self.number(1.0), (i, self.width + 1), offset=self.n)

    # --------------------------------------------------------------------------- elimination

    def eliminate(self, singular: bool = False, sign: str = "") -> None:
        """Make the matrix upper triangular, by partial pivoting, and the right side with it.

        `singular` matrices are gone through to the end; otherwise they fail the kernel. `sign` is
        memory for the sign of the permutation.
        """
        n, width = self.n, self.width
        with self.within(n) as k:
            below = self.count("sub", Const(n - 1, "int64"), k)
            place = self.largest(k, below)
            if sign:
                moved = self.test("ne", place, k)
                old = self.load(of=sign)
                self.store(self.let("select", moved, self.let("neg", old), old), of=sign)
            rest = self.count("sub", Const(width, "int64"), k)
            with self.within(rest, "vector") as j:
                one, two = (self.load((row, width), (k, 1), (j, 1)) for row in (k, place))
                self.store(two, (k, width), (k, 1), (j, 1))
                self.store(one, (place, width), (k, 1), (j, 1))
            pivot = self.load((k, width + 1))
            regular = self.test("ne", pivot, self.number(0.0))
            if not singular:
                self.require(regular, SINGULAR)
            right = self.count("sub", Const(width - 1, "int64"), k)
            with self.within(below) as i:
                here: At = ((k, width), (i, width), (k, 1))
                factor = self.let("div", self.load(*here, offset=width), pivot)
                if singular:
                    factor = self.let("select", regular, factor, self.number(0.0))
                with self.within(right, "vector") as j:
                    term = self.let("mul", factor, self.load((k, width + 1), (j, 1), offset=1))
                    x = self.load(*here, (j, 1), offset=width + 1)
                    self.store(self.let("sub", x, term), *here, (j, 1), offset=width + 1)

    def largest(self, k: str, below: str) -> str:
        """The row of the largest element of a column, from the diagonal on."""
        best, place = self.nest.fresh("a"), self.nest.fresh("a")
        start = self.let("abs", self.load((k, self.width + 1)))
        carries = Carry(best, self.dtype, "next", start), Carry(place, "int64", "next", k)
        with self.within(below, "steps", *carries) as i:
            at: At = ((k, self.width + 1), (i, self.width))
            x = self.let("abs", self.load(*at, offset=self.width))
            row = self.count("add", self.count("add", k, i), Const(1, "int64"))
            more = self.test("gt", x, best)
            found = self.let("select", more, x, best)
            row = self.let("select", more, row, place, dtype="int64")
            self.body += [Combine(best, found), Combine(place, row)]
        return place

    def substitute(self) -> None:
        """Solve for the right side, from the last row up; it stands there afterwards."""
        n, width = self.n, self.width
        lanes = "vector" if width - n > 1 else "sequential"
        with self.within(n) as k:
            row = self.count("sub", Const(n - 1, "int64"), k)
            pivot = self.load((row, width + 1))
            with self.within(width - n, lanes) as j:
                found = self.let("div", self.load((row, width), (j, 1), offset=n), pivot)
                self.store(found, (row, width), (j, 1), offset=n)
            with self.within(row) as i:
                factor = self.load((i, width), (row, 1))
                with self.within(width - n, lanes) as j:
                    x = self.load((i, width), (j, 1), offset=n)
                    term = self.let("mul", factor, self.load((row, width), (j, 1), offset=n))
                    self.store(self.let("sub", x, term), (i, width), (j, 1), offset=n)

    def handed_out(self) -> None:
        """The right side as the result."""
        with self.within(self.n) as i, self.within(self.width - self.n, "vector") as j:
            self.result(self.load((i, self.width), (j, 1), offset=self.n), i, j)

    def diagonal(self, op: str, sign: str, each: Callable[[str], Operand]) -> str:
        """A sum or product over the diagonal, which begins with what `sign` holds."""
        total = self.nest.fresh("a")
        start = self.load(of=sign) if sign else self.number(0.0)
        with self.within(self.n, "steps", Carry(total, self.dtype, "next", start)) as k:
            x = each(self.load((k, self.width + 1)))
            self.body.append(Combine(total, self.let(op, total, x)))
        return total

    def determinant(self, sign: str) -> str:
        return self.diagonal("mul", sign, lambda x: x)

    def sign(self) -> str:
        name = self.local(1)
        self.store(self.number(1.0), of=name)
        return name


class _Within:
    """A block of statements in a loop."""

    def __init__(self, matrix: _Matrix, loop: For) -> None:
        self.matrix, self.loop = matrix, loop

    def __enter__(self) -> str:
        self.around = self.matrix.body
        self.around.append(self.loop)
        self.matrix.body = self.loop.body
        return self.loop.index

    def __exit__(self, *_: object) -> None:
        self.matrix.body = self.around


# ------------------------------------------------------------------------------- operations


def _solve(m: _Matrix) -> None:
    m.copied(lambda i, j: m.given(1, i, j), m.e.inputs[1].type.shape[-1])
    m.eliminate()
    m.substitute()
    m.handed_out()


def _inverse(m: _Matrix) -> None:
    m.identity()
    m.eliminate()
    m.substitute()
    m.handed_out()


def _determinant(m: _Matrix) -> None:
    sign = m.sign()
    m.copied(None)
    m.eliminate(True, sign)
    m.result(m.determinant(sign))


def _sign_and_logarithm(m: _Matrix) -> None:
    sign = m.sign()
    m.copied(None)
    m.eliminate(True, sign)
    zero = m.number(0.0)

    def own(pivot: str) -> Operand:
        other = m.let("select", m.test("eq", pivot, zero), zero, pivot)  # a NaN stays
        minus = m.let("select", m.test("lt", pivot, zero), m.number(-1.0), other)
        return m.let("select", m.test("gt", pivot, zero), m.number(1.0), minus)

    m.result(m.diagonal("mul", sign, own))
    m.result(m.diagonal("add", "", lambda x: m.let("log", m.let("abs", x))), out=1)


def _cofactors(m: _Matrix) -> None:
    """The determinant times the inverse, turned; where that is not exact, the kernel fails."""
    sign = m.sign()
    m.identity()
    before = _norm(m, lambda i, j: m.given(0, i, j))
    m.eliminate(False, sign)
    total = m.determinant(sign)
    m.substitute()

    def right(i: str, j: str) -> Operand:
        return m.load((i, m.width), (j, 1), offset=m.n)

    after = _norm(m, right)
    size = m.let("mul", before, after)
    far = m.test("ge", size, m.number(NEAR))
    m.require(m.let("not", far, dtype="bool"), SINGULAR)
    with m.within(m.n) as i, m.within(m.n) as j:
        m.result(m.let("mul", total, right(i, j)), j, i)


def _norm(m: _Matrix, element: Callable[[str, str], Operand]) -> str:
    """The largest sum of the sizes of a row."""
    most = m.nest.fresh("a")
    with m.within(m.n, "steps", Carry(most, m.dtype, "next", m.number(0.0))) as i:
        total = m.nest.fresh("a")
        with m.within(m.n, "steps", Carry(total, m.dtype, "next", m.number(0.0))) as j:
            x = m.let("add", total, m.let("abs", element(i, j)))
            m.body.append(Combine(total, x))
        m.body.append(Combine(most, m.let("select", m.test("gt", total, most), total, most)))
    return most


def _cholesky(m: _Matrix) -> None:
    """Column after column, each subtracted from the rows below."""
    n, upper = m.n, m.e.params.get("upper", False)
    m.matrix, column = m.local(n * n), m.local(n)
    with m.within(n) as i, m.within(n, "vector") as j:
        m.store(m.given(0, j, i) if upper else m.given(0, i, j), (i, n), (j, 1))
    with m.within(n) as k:
        pivot = m.load((k, n + 1))
        m.require(m.test("gt", pivot, m.number(0.0)), INDEFINITE)
        root = m.let("sqrt", pivot)
        m.store(root, (k, n + 1))
        below = m.count("sub", Const(n - 1, "int64"), k)
        with m.within(below) as i:
            at: At = ((k, n + 1), (i, n))
            x = m.let("div", m.load(*at, offset=n), root)
            m.store(x, *at, offset=n)
            m.store(x, (i, 1), of=column)
        with m.within(below) as i:
            factor = m.load((i, 1), of=column)
            with m.within(m.count("add", i, Const(1, "int64")), "vector") as j:
                term = m.let("mul", factor, m.load((j, 1), of=column))
                here: At = ((k, n + 1), (i, n), (j, 1))
                m.store(m.let("sub", m.load(*here, offset=n + 1), term), *here, offset=n + 1)
    with m.within(n) as i:
        with m.within(m.count("add", i, Const(1, "int64")), _lanes(upper)) as j:
            _turned(m, m.load((i, n), (j, 1)), i, j, upper)
        with m.within(m.count("sub", Const(n - 1, "int64"), i), _lanes(upper)) as j:
            rest = m.count("add", m.count("add", i, j), Const(1, "int64"))
            _turned(m, m.number(0.0), i, rest, upper)


def _lanes(upper: bool) -> str:
    return "sequential" if upper else "vector"


def _turned(m: _Matrix, x: Operand, i: str, j: str, upper: bool) -> None:
    m.result(x, *((j, i) if upper else (i, j)))


FACTORS: dict[Primitive, Callable[[Nest, Equation], bool]] = {
    records.SOLVE: _loop(_solve),
    records.INV: _loop(_inverse),
    records.DET: _loop(_determinant),
    records.SLOGDET: _loop(_sign_and_logarithm),
    records.COFACTORS: _loop(_cofactors),
    records.CHOLESKY: _loop(_cholesky),
}
