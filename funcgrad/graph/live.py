"""Which equations have to run for some outputs."""

from __future__ import annotations

from collections.abc import Container, Sequence

from funcgrad.graph.ir import Atom, Equation, Var

__all__ = ["demanded", "live"]


def live(
    equations: Sequence[Equation], outputs: Sequence[Atom], known: Container[Var] = ()
) -> tuple[Equation, ...]:
    """The equations on which the outputs depend, where some variables are `known` already."""
    needed = {o for o in outputs if isinstance(o, Var) and o not in known}
    kept = []
    for e in reversed(equations):
        if not needed.isdisjoint(e.outputs):
            kept.append(e)
            needed.update(a for a in e.inputs if isinstance(a, Var) and a not in known)
    return tuple(reversed(kept))


def demanded(equations: Sequence[Equation], outputs: Sequence[Atom]) -> list[Atom]:
    """The outputs, and what must be computed although nobody may read it."""
    checks = [v for e in equations if e.prim.checks for v in e.outputs]
    return [*outputs, *checks]
