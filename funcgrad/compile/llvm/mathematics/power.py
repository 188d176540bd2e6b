"""sqrt."""

from __future__ import annotations

from funcgrad.compile.llvm.emit import Emitter, Value

__all__ = ["sqrt"]


def sqrt(e: Emitter, x: Value) -> Value:
    return e.square_root(x)
