"""`roll`: the program with loops in the place of steps that repeat."""

from __future__ import annotations

from funcgrad.graph.ir import Equation, Graph
from funcgrad.transforms.loop import LOOP
from funcgrad.transforms.rolling.build import loop_of
from funcgrad.transforms.rolling.periods import kinds_of, runs
from funcgrad.transforms.rolling.program import Program
from funcgrad.transforms.rolling.steps import Refused, Steps, steps_of

__all__ = ["roll"]

STEPS = 48  # of a loop, at the least: shorter ones are faster written out
REPEATED = 96  # equations in all steps, at the least
LARGE = 4096  # elements of a value, from which on kernels of many operations are faster
MANY = 20_000  # equations, of which a loop is made even so


def roll(graph: Graph, least: int) -> tuple[Graph, tuple[str, ...]]:
    """The program with its loops, and what is said of them.

    Of what repeats and is no loop something is said from so many equations on.
    """
    program = Program(graph)
    notes: list[str] = []
    found, work = False, program.work()
    while _roll_once(program, notes, least):
        found, before, work = True, work, program.work()
        if work >= before:  # what is applied to one row at a time comes out as it went in
            break
    return program.finish() if found else graph, tuple(dict.fromkeys(notes))


def _roll_once(program: Program, notes: list[str], least: int) -> bool:
    """Put loops in the place of the runs of the shortest period that are any."""
    found: list[tuple[Steps, list[Equation]]] = []
    refused: list[str] = []
    for run in runs(kinds_of(program.equations), STEPS):
        if found and (run.period != found[0][0].period or run.start < found[-1][0].stop):
            break
        try:
            steps = steps_of(program, run, STEPS)
            if _pays(program, steps):
                found.append((steps, loop_of(program, steps)))
        except Refused as why:
            if run.stop - run.start >= least:
                where = program.equations[run.start].source
                refused.append(f"what repeats at {where} is no loop: {why}")
    if not found:
        notes += refused
        return False
    equations: list[Equation] = []
    at = 0
    for steps, made in found:
        equations += [*program.equations[at : steps.start], *made]
        at = steps.stop
        first = program.equations[steps.start].source
        kind = "a loop" if any(e.prim is LOOP for e in made) else "a map"
        notes.append(f"{kind} of {steps.number} steps of {steps.period} operations at {first}")
    program.arrange([*equations, *program.equations[at:]])
    return True


def _pays(program: Program, steps: Steps) -> bool:
    total = steps.number * steps.period
    if total < REPEATED:
        return False
    block = program.equations[steps.start : steps.start + steps.period]
    largest = max(v.type.size for e in block for v in e.outputs)
    return largest <= LARGE or total >= MANY
