"""Forward mode: dual numbers, a value together with its tangent.

A tangent has the shape and dtype of its value; a value without a tangent is no dual number but a
constant, so that zero tangents cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad.core.leaks import noted
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Trace, Tracer, bind, plain, running, serial, type_of, uncompiled
from funcgrad.core.types import Array, is_inexact
from funcgrad.core.watching import found_in, numbers, refuse
from funcgrad.errors import repeated, user_line
from funcgrad.graph.effects import quieted
from funcgrad.transforms.optimism import settled
from funcgrad.transforms.presence import Presence

__all__ = ["DualTracer", "Forward"]


class DualTracer(Tracer):
    """A value and its tangent."""

    __slots__ = ("born", "tangent")
    tangent: Array

    def __init__(self, value: Array, trace: Forward, tangent: Array) -> None:
        self.value, self.owner, self.tangent = value, trace, tangent
        self.born = next(serial)

    def assign(self, new: Tracer) -> None:
        assert isinstance(new, DualTracer)
        self.value, self.tangent = new.value, new.tangent


def _staged_alone(x: Any) -> bool:
    """Whether `x` is a value of a graph that is staged beside numbers at hand."""
    while isinstance(x, Tracer):
        if x.owner.stages:
            return not x.owner.acting
        x = x.value
    return False


def _symbolic(t: Any) -> bool:
    """Whether a tangent stands for any: staged, or taped at zero to be transposed."""
    return numbers(t) is None or (isinstance(t, Tracer) and getattr(t.owner, "linear", False))


def _of_ones(
    prim: Primitive, xs: Sequence[Array], ts: Sequence[Any], params: Params, ys: Sequence[Array]
) -> Sequence[Any]:
    """The tangents that ones give, in the place of symbolic ones."""
    values, made = [[numbers(v) for v in vs] for vs in (xs, ys)]
    if prim.opaque or prim.form == "higher_order" or any(v is None for v in (*values, *made)):
        return ()
    ones = [None if t is None else np.ones_like(x) for x, t in zip(values, ts, strict=True)]
    with np.errstate(all="ignore"):
        found = prim.jvp(tuple(made) if prim.multiple else made[0], values, ones, params)
    return (found or ()) if prim.multiple else (found,)


class Forward(Trace):
    """The trace of forward mode."""

    __slots__ = ("marked", "marks", "presence", "spoiled")
    what: ClassVar[str] = "a jvp"
    hides: ClassVar[bool] = False

    def __init__(self, marked: bool = True, marks: bool = True) -> None:
        super().__init__()
        self.presence = Presence()  # of the tangents
        self.marks = marks  # whether 0 times infinity is 0 of elements that are absent
        self.marked = marked and marks  # whether it follows which elements of them are there
        self.spoiled = False  # whether a NaN that may come of not following was given away

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        if self.closed:
            raise self.leaked()
        opens = prim.form == "higher_order" and prim.opens
        made = self._beside(prim, args, params) if opens else prim.forward(self, args, params)
        if uncompiled and running.watching:
            self._look(prim, args, params, made)
        return noted(made) if uncompiled else made

    def _look(self, prim: Primitive, args: Sequence[Array], params: Params, made: Any) -> None:
        """Raise where the tangent of an operation has what is looked for, and nothing given has."""
        xs, ts = self.split_marked(args)
        ys = made if isinstance(made, tuple) else (made,)
        mine = [y for y in ys if isinstance(y, DualTracer) and y.owner is self]
        tangents: Sequence[Any] = [y.tangent for y in mine]
        if any(map(_symbolic, tangents)):
            tangents = _of_ones(prim, xs, ts, params, ys)
        found = found_in(*tangents)
        if found and not found_in(*ts, *xs, *(y.value for y in mine)):
            place = f"\n  at {repeated.line or user_line()}"
            raise refuse(found, f"the derivative of {prim.name}", place)

    def _beside(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """An operation over graphs: its values are known where the tangents are staged alone.

        So they are by `linearize`; with its tangents the operation would be one of their graph.
        """
        xs, ts = self.split_marked(args)
        if not any(map(_staged_alone, ts)) or any(map(_staged_alone, xs)):
            return prim.forward(self, args, params)
        values = bind(prim, xs, params)
        made = prim.forward(self, args, quieted(params))
        return tuple(
            DualTracer(x, self, y.tangent) if isinstance(y, DualTracer) and y.owner is self else x
            for x, y in zip(values, made, strict=True)
        )

    def split(self, args: Sequence[Array]) -> tuple[list[Array], list[Array | None]]:
        """Values one level down, and tangents with None for zero; absent elements are zeros."""
        xs, ts = self.split_marked(args)
        if self.marks and not self.marked and not all(t is None or settled(t) for t in ts):
            self.spoiled = True
        return xs, [self.presence.dense(t) for t in ts]

    def whole(self, t: Array) -> Array:
        """A tangent, as an operation takes it that may leave elements absent."""
        return self.presence.whole(t) if self.marked else t

    def split_marked(self, args: Sequence[Array]) -> tuple[list[Array], list[Array | None]]:
        """Values one level down, and tangents, of which elements may be absent."""
        xs: list[Array] = []
        ts: list[Array | None] = []
        for a in args:
            if isinstance(a, Tracer) and a.owner is self:
                xs.append(a.value)
                ts.append(a.tangent)
            else:
                xs.append(a)
                ts.append(None)
        return xs, ts

    def push(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """Value and tangent of one operation: the default action."""
        xs, ts = self.split_marked(args)
        y = bind(prim, xs, params)
        if not prim.differentiable:
            return y
        if self.marked and (prim.chooses or any(map(self.presence.mine, ts))):
            ts = [None if t is None else self.presence.whole(t) for t in ts]
        with np.errstate(all="ignore"):
            t = prim.jvp(y, xs, ts, params)
        if not prim.multiple:
            return self.dual(y, plain(t))
        tangents = (None,) * len(y) if t is None else t
        return tuple(self.dual(o, plain(s)) for o, s in zip(y, tangents, strict=True))

    def dual(self, y: Array, t: Array | None) -> Array:
        """`y` with the tangent `t`; `y` itself where there is none."""
        if t is None or not is_inexact(type_of(y).dtype):
            return y
        return DualTracer(y, self, self.presence.lower(t) if self.marked else t)

    def tangent(self, x: Any) -> Array | None:
        """The tangent of a result one level down, None where there is none."""
        mine = isinstance(x, DualTracer) and x.owner is self
        return self.presence.dense(x.tangent) if mine else None
