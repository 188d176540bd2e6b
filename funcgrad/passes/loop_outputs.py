"""Loops without what nobody reads of them: results, carries that lead to none, operands.

Under `jit(grad(f))` nobody reads the value that the forward loop computes besides its residuals.
Operands that are the same value are one.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.graph.live import needed
from funcgrad.graph.loop import Loop

__all__ = ["loop_outputs"]


def loop_outputs(graph: Graph) -> Graph:
    """The graph in which loops give what is read, of operands that are all read and differ."""
    if not any(e.prim.loops for e in graph.equations):
        return graph
    read: set[Atom] = set(graph.outputs)
    found: list[Equation] = []
    for e in reversed(graph.equations):
        if e.prim.loops and not read.isdisjoint(e.outputs):
            e = _narrowed(e, read)
        found.append(e)
        read.update(e.inputs)
    return Graph(graph.inputs, tuple(reversed(found)), graph.outputs, graph.constants)


def _narrowed(e: Equation, read: set[Atom]) -> Equation:
    p = Loop(**e.params)
    counts, constants, state, xs = p.parts(e.inputs)
    inputs, outputs = p.body.inputs, p.body.outputs
    held, carried, rows = p.split(inputs)
    kept = _needed(p, [v in read for v in e.outputs])
    ys = [k for k in range(p.carries, len(outputs)) if e.outputs[k] in read]
    ends = [*(outputs[k] for k in kept), *(outputs[k] for k in ys)]
    equations = needed(p.body.equations, ends)
    graphs = [(equations, ends)]
    if p.condition is not None:
        graphs.append((p.condition.equations, list(p.condition.outputs)))
    used = {a for each, last in graphs for e_ in each for a in e_.inputs}
    used.update(a for _, last in graphs for a in last)
    if p.condition is not None:  # which has variables of its own
        used.update(v for v, w in zip(inputs, p.condition.inputs, strict=False) if w in used)
    one, same = _distinct(held, constants, used)
    other, more = _distinct(rows, xs, used)
    same.update(more)
    if len(one) + len(kept) + len(other) == len(inputs) and len(kept) + len(ys) == len(outputs):
        return e
    chosen = [carried[k] for k in kept]
    body = Graph(
        (*(held[k] for k in one), *chosen, *(rows[k] for k in other)),
        tuple(_renamed(each, same) for each in equations),
        tuple(_read(o, same) for o in ends),
        p.body.constants,
    )
    condition = p.condition
    if condition is not None:
        first, second = list(condition.inputs[: p.consts]), condition.inputs[p.consts :]
        places = {w: v for v, w in zip(first, held, strict=True)}
        turned = {places[v]: places[w] for v, w in same.items() if v in places}
        condition = Graph(
            (*(first[k] for k in one), *(second[k] for k in kept)),
            tuple(_renamed(each, turned) for each in condition.equations),
            tuple(_read(o, turned) for o in condition.outputs),
            condition.constants,
        )
    loop = p._replace(body=body, condition=condition, consts=len(one), carries=len(kept))
    steps = e.outputs[len(outputs) :]
    return e._replace(
        inputs=(
            *counts,
            *(constants[k] for k in one),
            *(state[k] for k in kept),
            *(xs[k] for k in other),
        ),
        params=loop.params,
        outputs=(*(e.outputs[k] for k in (*kept, *ys)), *steps),
    )


def _needed(p: Loop, flags: Sequence[bool]) -> list[int]:
    """The carries that are read afterwards, or lead to something that is."""
    carried = p.body.inputs[p.consts : p.consts + p.carries]
    ends = [o for o, f in zip(p.body.outputs, flags, strict=False) if f]
    found = {k for k in range(p.carries) if flags[k]}
    if p.condition is not None:
        last = p.condition.inputs[p.consts :]
        tested = {a for e in p.condition.equations for a in e.inputs} | set(p.condition.outputs)
        found |= {k for k, v in enumerate(last) if v in tested}
        ends += [p.body.outputs[k] for k in found]
    while True:
        equations = needed(p.body.equations, ends)
        read = {a for e in equations for a in e.inputs} | set(ends)
        more = {k for k, v in enumerate(carried) if v in read} - found
        if not more:
            return sorted(found)
        found |= more
        ends += [p.body.outputs[k] for k in more]


def _distinct(
    variables: Sequence[Var], operands: Sequence[Atom], used: set[Atom]
) -> tuple[list[int], dict[Var, Var]]:
    """The operands that are read, each once, and what stands for the others in the body."""
    first: dict[Atom, int] = {}
    same: dict[Var, Var] = {}
    for k, (v, a) in enumerate(zip(variables, operands, strict=True)):
        if v not in used:
            continue
        if isinstance(a, Var) and a in first:
            same[v] = variables[first[a]]
        else:
            first[a] = k
    return sorted(first.values()), same


def _renamed(e: Equation, same: dict[Var, Var]) -> Equation:
    if not any(a in same for a in e.inputs):
        return e
    return e._replace(inputs=tuple(_read(a, same) for a in e.inputs))


def _read(a: Atom, same: dict[Var, Var]) -> Atom:
    return same.get(a, a) if isinstance(a, Var) else a
