"""What to say of a program in which much is alike and no loop was found: where it differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from funcgrad.graph.ir import Equation
from funcgrad.transforms.rolling.program import Program

__all__ = ["difference"]


def difference(program: Program, kinds: Sequence[int], steps: int) -> str | None:
    """Where the steps that come most often are followed by one of another kind.

    `kinds` are those of the equations. None where nothing comes `steps` times.
    """
    computed = [k for k, e in enumerate(program.equations) if not program.moves(e)]
    equations = [program.equations[k] for k in computed]
    kinds = [kinds[k] for k in computed]
    (kind, often), *_ = Counter(kinds).most_common(1) or [(0, 0)]
    if often < steps:
        return None
    places = [k for k, found in enumerate(kinds) if found == kind]
    blocks = [tuple(kinds[a:b]) for a, b in pairwise(places)]
    usual, _ = Counter(blocks).most_common(1)[0]
    for step, (block, following) in enumerate(pairwise(blocks)):
        if block != usual or following == usual:
            continue
        offset = next(k for k, (a, b) in enumerate(_beside(usual, following)) if a != b)
        before, now = equations[places[step] + offset], equations[places[step + 1] + offset]
        return _said(equations[places[0]], before, now)
    return None


def _beside(one: tuple[int, ...], other: tuple[int, ...]) -> list[tuple[int | None, int | None]]:
    """Two blocks side by side; what is missing in one of them is None."""
    length = max(len(one), len(other))
    return [
        (one[k] if k < len(one) else None, other[k] if k < len(other) else None)
        for k in range(length)
    ]


def _said(first: Equation, before: Equation, now: Equation) -> str:
    where = f"what repeats at {first.source} is no loop: "
    if before.prim is not now.prim:
        stood = f"{before.prim.name} of {before.source} stood"
        return f"{where}{now.prim.name} at {now.source} stands where {stood}"
    return f"{where}{now.prim.name} at {now.source} has other operands or types than before"
