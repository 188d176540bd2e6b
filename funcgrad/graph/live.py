"""Which equations have to run for some outputs."""

from __future__ import annotations

from collections.abc import Container, Sequence

from funcgrad.graph.effects import has_effect
from funcgrad.graph.ir import Atom, Equation, Var

__all__ = ["live", "needed"]


def live(
    equations: Sequence[Equation],
    outputs: Sequence[Atom],
    known: Container[Var] = (),
    acting: Container[int] = (),
) -> tuple[Equation, ...]:
    """The equations on which the outputs depend, where some variables are `known` already.

    Those `acting`, by their identity, are kept, too.
    """
    wanted = {o for o in outputs if isinstance(o, Var) and o not in known}
    kept = []
    for e in reversed(equations):
        if id(e) in acting or not wanted.isdisjoint(e.outputs):
            kept.append(e)
            wanted.update(a for a in e.inputs if isinstance(a, Var) and a not in known)
    return tuple(reversed(kept))


def needed(equations: Sequence[Equation], outputs: Sequence[Atom]) -> tuple[Equation, ...]:
    """The equations that have to run: also those that check something, and all effects."""
    acting = {id(e) for e in equations if e.prim.checks or has_effect(e)}
    return live(equations, outputs, acting=acting)
