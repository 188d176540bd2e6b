"""The backward pass of elementwise operations on large arrays: by a kernel, or by the rule.

It decides nothing about derivatives: kernels are printed from the partials of the records (see
`write`), and what they do not take goes to the record's own rule.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import memory
from funcgrad.core.primitive import Primitive
from funcgrad.core.types import Array
from funcgrad.kernels import pieces
from funcgrad.kernels.choice import FLOATS, Entry, entry_of
from funcgrad.kernels.operands import Arranged, arrange
from funcgrad.kernels.pieces import LENGTH, Cut
from funcgrad.ops import activation, arithmetic, logistic, pointwise, transcendental
from funcgrad.ops.arithmetic.power import ufunc_power
from funcgrad.ops.error import erf
from funcgrad.ops.records import ADD, POWER, SUBTRACT, WHERE
from funcgrad.ops.shape import unbroadcast

__all__ = ["FLOATS", "execute", "primitives", "pull", "serve"]

ndarray = np.ndarray


def primitives() -> list[Primitive]:
    """Those whose rules are printed as kernels; `ufunc_power` shares the kernels of `power`."""
    a, t = arithmetic, transcendental
    ops: list[Any] = [
        *(a.add, a.subtract, a.multiply, a.divide, a.negative, a.reciprocal, a.square, a.power),
        *(a.sqrt, a.cbrt, a.absolute, a.maximum, a.minimum, a.hypot, a.fmax, a.fmin),
        *(t.exp, t.exp2, t.expm1, t.log, t.log2, t.log10, t.log1p, logistic.logaddexp),
        *(t.sin, t.cos, t.tan, t.arcsin, t.arccos, t.arctan, t.arctan2),
        *(t.sinh, t.cosh, t.tanh, t.arcsinh, t.arccosh, t.arctanh),
        *(erf, logistic.expit, activation.relu, activation.silu, activation.gelu),
        pointwise.clip,
    ]
    return [op.primitive for op in ops]


POWERS: tuple[Primitive, ...] = (POWER, ufunc_power.primitive)  # type: ignore[attr-defined]
SAME = frozenset((ADD, SUBTRACT))  # the cotangent goes on as it is


def pull(
    node: Any, g: ndarray[Any, Any], owned: bool = False
) -> tuple[Sequence[Array | None], bool]:
    """The cotangents of the operands of `node`, and whether they are arrays of nobody else.

    Where `g` is `owned`, an array of the pass that nobody reads afterwards, one of them may take
    its place: a third less time where memory limits a kernel.
    """
    if g.dtype in FLOATS:
        arranged, shapes = _arranged(node, g)
        if arranged is not None:
            place = _replaced(g, arranged, shapes) if owned else None
            entry = entry_of(_kernel(node), _types(g, arranged, shapes, place))
            if entry.taken():
                found = _run(entry, node, g, arranged, shapes, place)
                if found is not None:
                    return found, True
    return node.prim.vjp(node, g), False


def _replaced(g: ndarray[Any, Any], arranged: Arranged, shapes: Sequence[Any]) -> int | None:
    """The operand whose cotangent is written to where `g` lies; None if there is none."""
    first = arranged.arguments[0]
    if not arranged.kinds.startswith("f") or not np.may_share_memory(first, g):
        return None  # the kernel reads a copy, or one that is repeated
    fitting = (k for k, s in enumerate(shapes) if s == g.shape and k not in arranged.rows_of)
    return next(fitting, None)


def _kernel(node: Any) -> str:
    if node.prim in POWERS:
        exponent = node.saved[2]
        if type(exponent) in (int, float) and exponent in (2, 3) and node.parents[1] is None:
            return f"power_{int(exponent)}_backward"
        return "power_backward"
    return f"{node.prim.name}_backward"


def _arranged(node: Any, g: Any) -> tuple[Arranged | None, list[Any]]:
    """The arguments, and for each operand the shape of its cotangent, None if it is not wanted."""
    avals = node.avals
    if avals is None:
        return None, []
    shapes = []
    for p, t in zip(node.parents, avals, strict=True):
        if p is not None and t.dtype is not g.dtype:
            return None, []
        shapes.append(None if p is None else t.shape)
    if node.prim in SAME and all(s is None or s == g.shape for s in shapes):
        return None, []  # nothing to compute, or the sign only
    masks = (1,) if node.prim is WHERE else ()
    return arrange(g, node.saved, shapes, masks), shapes


def _types(g: Any, arranged: Arranged, shapes: Sequence[Any], place: int | None) -> str:
    wanted = (
        "-" if s is None else "r" if k in arranged.rows_of else "g" if k == place else "f"
        for k, s in enumerate(shapes)
    )
    return f"{g.dtype.char} {arranged.kinds} {''.join(wanted)}"


def _run(
    entry: Entry,
    node: Any,
    g: Any,
    arranged: Arranged,
    shapes: Sequence[Any],
    place: int | None,
) -> list[Any] | None:
    rows, columns, arguments, _, rows_of, order = arranged
    outs: list[Any] = []
    for k, s in enumerate(shapes):
        if s is None:
            outs.append(None)
        elif k == place:
            outs.append(g)
        elif k in rows_of:
            outs.append(np.zeros(columns, g.dtype))
        else:
            outs.append(memory.empty(g.shape, g.dtype, order))
    seen = [
        True if k == place else
        c if c is None or k in rows_of else (c.T if order == "F" else c).reshape(rows, columns)
        for k, c in enumerate(outs)
    ]  # fmt: skip
    if node.prim is WHERE:
        seen = seen[1:]
    elif entry.name.startswith("power_") and entry.name != "power_backward":
        seen = seen[:1]
    if not execute(entry, rows, columns, [*arguments, *seen], bool(rows_of)):
        return None
    return [_fitted(c, s, g.shape, node.avals[k]) for k, (c, s) in enumerate(zip(outs, shapes))]


def execute(entry: Entry, rows: int, columns: int, arguments: list[Any], adds_up: bool) -> bool:
    """Run the kernel: in several threads where its pieces do not add into the same elements."""
    if adds_up:
        return pieces.run(entry, [rows, columns, *arguments])
    along = 1 if rows == 1 else 0
    parts = [
        Cut(x, along) if type(x) is ndarray and x.ndim in (2, 3 - along) else x for x in arguments
    ]
    extents = (1, LENGTH) if along else (LENGTH, columns)
    return pieces.run(entry, [*extents, *parts], columns if along else rows, rows * columns)


def _fitted(c: Any, shape: Any, whole: tuple[int, ...], kind: Any) -> Any:
    if c is None or c.shape == shape:
        return c
    if c.shape == whole:
        return unbroadcast(c, kind)
    return c.reshape(shape)


for _prim in (*primitives(), WHERE, POWERS[1]):
    _prim.take_backward_kernel(pull)


def serve(prim: Primitive, like: Primitive) -> None:
    """Let the kernel of `like` serve `prim`, of the same value and two operands, both saved.

    Its rule is the same where no result is NaN; the result, which `like` saves, is computed again.
    """

    def pull_alike(
        node: Any, g: ndarray[Any, Any], owned: bool = False
    ) -> tuple[Sequence[Array | None], bool]:
        _, x, y = node.saved
        if g.dtype in FLOATS and x is not None and y is not None:
            z = like.impl(x, y)
            if not np.isnan(z).any():
                saved, parents, avals = (z, x, y), node.parents, node.avals
                alike = types.SimpleNamespace(
                    prim=like, saved=saved, parents=parents, avals=avals, params=node.params
                )
                return pull(alike, g, owned)
        return node.prim.vjp(node, g), False

    prim.take_backward_kernel(pull_alike)
