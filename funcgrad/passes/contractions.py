"""Contractions as matrix products: `einsum`, `tensordot`, `inner` and `dot`.

NumPy's `einsum` multiplies element by element. Two operands at a time are a matrix product where an
axis of both is summed, and a product element by element elsewhere, which fuses with what stands
around it. Of more than two operands those come first whose result is the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from string import ascii_letters
from typing import NamedTuple

from funcgrad.graph.ir import Atom, Equation, Graph
from funcgrad.ops import records
from funcgrad.ops.contraction import DOT, INNER, TENSORDOT
from funcgrad.ops.einsum import EINSUM
from funcgrad.ops.product import MATMUL
from funcgrad.ops.shape import RESHAPE, TRANSPOSE
from funcgrad.ops.sums import SUM
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["contractions"]


class Factor(NamedTuple):
    """An operand, and the letter of each of its axes."""

    value: Atom
    letters: str


def contractions(graph: Graph) -> Graph:
    """The graph with contractions written as matrix products and sums."""

    def rule(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
        terms = _letters(e)
        (out,) = e.outputs if len(e.outputs) == 1 else (None,)
        if terms is None or out is None or out.type.dtype.kind != "f" or out.type.weak:
            return None
        avals = [a.type for a in e.inputs]
        if any(t.dtype != out.type.dtype or t.size == 0 for t in avals) or len(avals) < 2:
            return None
        *left, kept = terms
        if any(len(set(term)) < len(term) for term in (*left, kept)):
            return None  # a diagonal
        factors = [_squeezed(r, Factor(*p)) for p in zip(e.inputs, left, strict=True)]
        if not set(kept) <= set().union(*(f.letters for f in factors)):
            return None  # an axis of one element
        found = _contracted(r, factors, kept)
        return (found,) if found.type == out.type else None

    return rewrite(graph, rule)


def _letters(e: Equation) -> list[str] | None:
    """The axes of the operands and of the result, if an equation is a contraction."""
    if e.prim is EINSUM:
        left, out = e.params["spec"].split("->")
        return [*left.split(","), out]
    if e.prim not in (TENSORDOT, INNER, DOT) or len(e.inputs) != 2:
        return None
    m, n = (a.type.ndim for a in e.inputs)
    if m + n > len(ascii_letters) or (e.prim is not TENSORDOT and 0 in (m, n)):
        return None
    chosen = {INNER: ((m - 1,), (n - 1,)), DOT: ((m - 1,), (max(n - 2, 0),))}
    one, two = chosen.get(e.prim) or e.params["axes"]
    x, y = list(ascii_letters[:m]), list(ascii_letters[m : m + n])
    for k, j in zip(one, two, strict=True):
        y[j] = x[k]
    kept = [c for k, c in enumerate(x) if k not in one]
    kept += [c for k, c in enumerate(y) if k not in two]
    return ["".join(x), "".join(y), "".join(kept)]


def _squeezed(r: Rewriter, f: Factor) -> Factor:
    """Without axes of one element, which may be repeated for those of another operand."""
    pairs = [(c, n) for c, n in zip(f.letters, f.value.type.shape, strict=True) if n != 1]
    return _shaped(r, f.value, "".join(c for c, _ in pairs), [n for _, n in pairs])


def _shaped(r: Rewriter, a: Atom, letters: str, shape: Sequence[int]) -> Factor:
    if a.type.shape != tuple(shape):
        (a,) = r.append(RESHAPE, (a,), {"shape": tuple(shape)})
    return Factor(a, letters)


def _contracted(r: Rewriter, factors: list[Factor], kept: str) -> Atom:
    extents = {c: n for f in factors for c, n in zip(f.letters, f.value.type.shape, strict=True)}
    while len(factors) > 1:
        i, j = min(
            combinations(range(len(factors)), 2), key=lambda p: _costs(factors, p, kept, extents)
        )
        x, y = factors[i], factors[j]
        factors = [f for k, f in enumerate(factors) if k not in (i, j)]
        needed = set(kept).union(*(f.letters for f in factors))
        x, y = _summed(r, x, needed | set(y.letters)), _summed(r, y, needed | set(x.letters))
        factors.append(_product(r, x, y, needed, kept, extents))
    last = _summed(r, factors[0], set(kept))
    return _ordered(r, last, kept).value


def _costs(
    factors: list[Factor], pair: tuple[int, int], kept: str, extents: dict[str, int]
) -> tuple[int, int]:
    """Elements of the product of two factors, and multiplications for it."""
    others = [f for k, f in enumerate(factors) if k not in pair]
    needed = set(kept).union(*(f.letters for f in others))
    both = set(factors[pair[0]].letters) | set(factors[pair[1]].letters)
    return (
        math.prod(extents[c] for c in both & needed),
        math.prod(extents[c] for c in both),
    )


def _summed(r: Rewriter, f: Factor, needed: set[str]) -> Factor:
    """The sum over axes that nothing else has."""
    axes = tuple(k for k, c in enumerate(f.letters) if c not in needed)
    if not axes:
        return f
    (total,) = r.append(SUM, (f.value,), {"axes": axes, "keepdims": False, "dtype": None})
    return Factor(total, "".join(c for c in f.letters if c in needed))


def _product(
    r: Rewriter, x: Factor, y: Factor, needed: set[str], kept: str, extents: dict[str, int]
) -> Factor:
    stack = [c for c in x.letters if c in y.letters and c in needed]
    terms = [c for c in x.letters if c in y.letters and c not in needed]
    if not terms:
        return _side_by_side(r, x, y)
    rows = [c for c in x.letters if c not in y.letters]
    columns = [c for c in y.letters if c not in x.letters]
    if rows and columns and kept.find(columns[0]) < kept.find(rows[0]):
        x, y, rows, columns = y, x, columns, rows  # in the order of the result

    def matrix(f: Factor, *groups: list[str]) -> Atom:
        ordered = _ordered(r, f, "".join([*stack, *groups[0], *groups[1]]))
        sizes = [math.prod(extents[c] for c in g) for g in groups]
        return _shaped(r, ordered.value, "", [*(extents[c] for c in stack), *sizes]).value

    (made,) = r.append(MATMUL, (matrix(x, rows, terms), matrix(y, terms, columns)))
    letters = "".join([*stack, *rows, *columns])
    return _shaped(r, made, letters, [extents[c] for c in letters])


def _side_by_side(r: Rewriter, x: Factor, y: Factor) -> Factor:
    """The product of what no axis of both is summed for, element by element."""
    letters = x.letters + "".join(c for c in y.letters if c not in x.letters)
    spread = []
    for f in (x, y):
        ordered = _ordered(r, f, "".join(c for c in letters if c in f.letters))
        known = dict(zip(ordered.letters, ordered.value.type.shape, strict=True))
        spread.append(_shaped(r, ordered.value, "", [known.get(c, 1) for c in letters]).value)
    return Factor(r.append(records.MULTIPLY, spread)[0], letters)


def _ordered(r: Rewriter, f: Factor, letters: str) -> Factor:
    if f.letters == letters:
        return f
    axes = tuple(f.letters.index(c) for c in letters)
    return Factor(r.append(TRANSPOSE, (f.value,), {"axes": axes})[0], letters)
