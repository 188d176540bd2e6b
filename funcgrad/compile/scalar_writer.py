"""How scalar bodies are written: values of one element and the operations of loop nests on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from funcgrad.compile.loops import Const

__all__ = ["NATIVE", "Body", "Scalar", "Writer"]

NATIVE = {np.dtype(n): n for n in ("float64", "float32", "int64", "int32", "bool")}


class Scalar(NamedTuple):
    """A value of the loop: its name, or a constant, and its dtype."""

    operand: str | Const
    dtype: str


class Writer:
    """Appends operations to a block of a loop nest; the same operation is written once."""

    def __init__(self, let: Callable[[str, str, tuple[str | Const, ...]], str]) -> None:
        self.let = let

    def __call__(self, op: str, *xs: Scalar, dtype: str | None = None) -> Scalar:
        dtype = xs[0].dtype if dtype is None else dtype
        return Scalar(self.let(op, dtype, tuple(x.operand for x in xs)), dtype)

    def number(self, value: float, like: Scalar) -> Scalar:
        return Scalar(Const(value, like.dtype), like.dtype)

    def compare(self, op: str, x: Scalar, y: Scalar) -> Scalar:
        return self(op, x, y, dtype="bool")

    def select(self, c: Scalar, x: Scalar, y: Scalar) -> Scalar:
        return self("select", c, x, y, dtype=x.dtype)

    def is_nan(self, x: Scalar) -> Scalar:
        return self.compare("ne", x, x)

    def cast(self, x: Scalar, dtype: str) -> Scalar:
        if x.dtype == dtype:
            return x
        if dtype == "bool":
            return self.compare("ne", x, self.number(0, x))
        if isinstance(x.operand, Const):
            return Scalar(Const(np.dtype(dtype).type(x.operand.value), dtype), dtype)
        return self("cast", x, dtype=dtype)


Body = Callable[..., Scalar]
