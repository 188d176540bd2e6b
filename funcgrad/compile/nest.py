"""A loop nest over views while it is written, with all sizes in the code.

What an equation means in loops stands in `steps` and `line_steps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile.code import Code, Written
from funcgrad.compile.loops import Address, Const, For, Load, Store
from funcgrad.compile.scalars import NATIVE
from funcgrad.graph.ir import Atom, Literal, Var
from funcgrad.passes.plan import Plan
from funcgrad.passes.views import View

__all__ = ["Nest", "whole_strides"]


def whole_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """In elements, in C order."""
    return tuple(int(np.prod(shape[k + 1 :], dtype=int)) for k in range(len(shape)))


class Nest:
    """A kernel while it is written."""

    def __init__(self, plan: Plan | None, name: str) -> None:
        self.plan, self.code = plan, Code(name)
        self.body: list[Any] = []

    def written(self) -> Written:
        return self.code.written(self.body)

    def fresh(self, letter: str) -> str:
        return self.code.fresh(letter)

    def buffer(self, v: Var, role: str) -> str:
        name = self.code.argument(v, v, role, NATIVE[v.type.dtype], v.type.size)
        if role == "output":  # also of what was read before
            self.code.arguments[v].role = role
        return name

    def view(self, a: Atom) -> View | Const:
        """Where an operand lies, or the number that it is."""
        assert self.plan is not None
        if isinstance(a, Var) and a in self.plan.uniform:
            a = self.plan.uniform[a]
        if isinstance(a, Literal):
            return Const(a.value, NATIVE[a.type.dtype])
        return self.plan.views[a]

    def at(self, view: View, indices: Sequence[str], role: str) -> Address:
        terms = [(i, s) for i, s in zip(indices, view.strides, strict=True) if s]
        return Address(self.buffer(view.base, role), tuple(terms), view.offset)

    def read(self, x: View | Const, indices: Sequence[str], body: list[Any]) -> str | Const:
        if isinstance(x, Const):
            return x
        name = self.fresh("v")
        dtype = NATIVE[x.base.type.dtype]
        body.append(Load(name, dtype, self.at(x, indices, "input")))
        return name

    def loops(
        self, shape: Sequence[int], last: str = "vector", around: list[Any] | None = None
    ) -> tuple[list[str], list[Any]]:
        """Nested loops over a shape: their indices, and the body of the innermost."""
        body = self.body if around is None else around
        indices = [self.fresh("i") for _ in shape]
        for k, (index, n) in enumerate(zip(indices, shape, strict=True)):
            loop = For(index, n, last if k == len(shape) - 1 else "sequential")
            body.append(loop)
            body = loop.body
        return indices, body

    def fill(self, target: View, value: Const) -> None:
        indices, body = self.loops(target.shape)
        body.append(Store(self.at(target, indices, "output"), value, value.dtype))

    def copy(self, source: View | Const, target: View, dtype: str) -> None:
        indices, body = self.loops(target.shape)
        x = self.read(source, indices, body)
        body.append(Store(self.at(target, indices, "output"), x, dtype))
