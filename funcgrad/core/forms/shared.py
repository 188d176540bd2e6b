"""What several forms share: which values a rule needs, and batching over leading axes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from funcgrad.core.algebra import algebra
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array

__all__ = ["align", "needed", "union"]


def needed(rule: Any, count: int) -> tuple[bool, ...]:
    """Which of the first `count` positional arguments a rule names without an underscore."""
    if not callable(rule):
        return (False,) * count
    positional = [
        p
        for p in inspect.signature(rule).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    flags = [not p.name.startswith("_") for p in positional[:count]]
    rest = any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(rule).parameters.values())
    return tuple(flags) + (rest,) * (count - len(flags))


def union(rows: Sequence[tuple[bool, ...]], mask: int, count: int) -> tuple[bool, ...]:
    """The union of the rows of the traced operands."""
    chosen = [row for i, row in enumerate(rows) if mask >> i & 1]
    return (
        tuple(any(column) for column in zip(*chosen, strict=True)) if chosen else (False,) * count
    )


def align(
    xs: Sequence[Array], batched: Sequence[bool], core_ranks: Sequence[int] | None = None
) -> list[Array]:
    """The operands with their batch axes in the same place, counted from the right.

    NumPy broadcasts from the right, so an operand of lower rank gets axes of length 1 after its
    batch axis. `core_ranks` says how many of the last axes do not take part in broadcasting.
    """
    shapes = [type_of(x).shape for x in xs]
    cores = core_ranks or (0,) * len(xs)
    extra = [len(s) - b - c for s, b, c in zip(shapes, batched, cores, strict=True)]
    lead = max(extra)
    aligned = []
    for x, s, b, e in zip(xs, shapes, batched, extra, strict=True):
        if b and e < lead:
            x = algebra.reshape(x, s[:1] + (1,) * (lead - e) + s[1:])
        aligned.append(x)
    return aligned
