"""Fission: what a step does not hand on leaves its loop, as one pass over the rows of all steps.

What depends on no carry can be computed before the loop, what no carry depends on after it, from
rows that the loop reads or writes anyway or from values that it is made to stack for that. A carry
that is only added to becomes a sum over a stack, and where products of matrices are added up, one
product. A step of what is left does less, one after the other; what leaves runs in lanes.

What to move (`passes.loop_parts`) is a minimum cut between what an operation costs more in a step
than in lanes, and what it costs to stack a value. A value is stacked only where all its rows take
no more memory than what the loop reads and writes for its steps anyway, or a few megabytes, which a
cache holds: so memory grows by a factor that is fixed. Loops that may end before their last row
stay as they are: behind it rows are zeros.
"""

from __future__ import annotations

from funcgrad.graph.build import stage
from funcgrad.graph.effects import has_effect
from funcgrad.graph.ir import Atom, Equation, Graph
from funcgrad.graph.loop import Loop
from funcgrad.passes.loop_in_parts import Program
from funcgrad.passes.loop_parts import Parts
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["fission"]

SHORTEST = 16  # steps


def fission(graph: Graph) -> Graph:
    """The graph with what its loops need not do step by step before and behind them."""
    if not any(e.prim.loops for e in graph.equations):
        return graph

    def rule(r: Rewriter, e: Equation) -> list[Atom] | None:
        p = Loop(**e.params) if e.prim.loops else None
        if p is None or p.condition is not None or p.counted or (p.length or 0) < SHORTEST:
            return None
        if p.finite:  # its kernel looks at its carries
            return None
        if has_effect(e):  # its steps run one after the other, all of them
            return None
        small = _divided(Parts(p), e)
        return None if small is None else r.inline(small, e.inputs)

    return rewrite(graph, rule)


def _divided(parts: Parts, e: Equation) -> Graph | None:
    """The operands of the loop → its results, in parts; None if it is best as it is."""
    late, totals = parts.later()
    gone = {id(x) for x in late} | {id(x) for t in totals for x in t.adds}
    rest = [x for x in parts.p.body.equations if id(x) not in gone]
    kept = [k for k in range(parts.p.carries) if k not in {t.carry for t in totals}]
    ends: set[Atom] = {parts.p.body.outputs[k] for k in kept}
    early = parts.earlier(rest, ends)
    if not late and not totals and not early:
        return None
    made, consts = stage(Program(parts, e.prim, late, totals, early), [a.type for a in e.inputs])
    assert not consts
    if [o.type for o in made.outputs] != [o.type for o in e.outputs]:
        return None
    return made
