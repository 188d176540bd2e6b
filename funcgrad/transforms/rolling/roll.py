"""`roll`: the program with loops in the place of steps that repeat."""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.graph.ir import Equation, Graph
from funcgrad.transforms.loop import LOOP
from funcgrad.transforms.rolling.broken import difference
from funcgrad.transforms.rolling.build import loop_of
from funcgrad.transforms.rolling.periods import kinds_of, runs
from funcgrad.transforms.rolling.program import Program
from funcgrad.transforms.rolling.steps import Elsewhere, Refused, Steps, steps_of
from funcgrad.transforms.rolling.sums import Sum, sums_of

__all__ = ["roll"]

STEPS = 48  # of a loop, at the least: shorter ones are faster written out
FEWEST = 16  # of a loop that would take long to compile, written out
WRITTEN = 768  # operations that take long
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
    while _roll_once(program, notes, least, False) or _roll_once(program, notes, least, True):
        found, before, work = True, work, program.work()
        if work >= before:  # what is applied to one row at a time comes out as it went in
            break
    if not any("is no loop" in n for n in notes) and program.work() >= least:
        said = difference(program, kinds_of(program.equations), STEPS)
        notes += [said] if said is not None else []
    fewer = found or len(program.equations) < len(graph.equations) - STEPS  # rows that are joined
    return program.finish() if fewer else graph, tuple(dict.fromkeys(notes))


def _roll_once(program: Program, notes: list[str], least: int, gathers: bool) -> bool:
    """Put loops in the place of the runs of the shortest period that are any.

    Loops that have to put together values from `Elsewhere` come last: those may be rows of others.
    """
    found: list[tuple[Steps, list[Equation]]] = []
    refused: list[str] = []
    end = 0  # of what is a loop
    for run in runs(kinds_of(program.equations), FEWEST):
        if found and run.period != found[0][0].period:
            break
        waiting = [run._replace(start=max(run.start, end))]
        while waiting:
            run, fewest = waiting.pop(), _fewest(run.period)
            if run.stop - run.start < fewest * run.period:
                continue
            try:
                steps = steps_of(program, run, fewest)
                sums = sums_of(program, steps)
                if _pays(program, steps, sums, gathers):
                    found.append((steps, loop_of(program, steps, sums)))
                    end = max(end, steps.stop)
                    waiting += [run._replace(start=steps.stop), run._replace(stop=steps.start)]
            except Refused as why:
                if run.stop - run.start >= least:
                    where = program.equations[run.start].source
                    refused.append(f"what repeats at {where} is no loop: {why}")
    if not found:
        notes += refused if gathers else []
        return False
    found.sort(key=lambda made: made[0].start)
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


def _fewest(period: int) -> int:
    """The steps of a loop of so many operations, at the least."""
    return max(FEWEST, min(STEPS, -(-WRITTEN // period)))


def _pays(program: Program, steps: Steps, sums: Sequence[Sum], gathers: bool) -> bool:
    total = steps.number * steps.period
    if total < REPEATED:
        return False
    block = program.equations[steps.start : steps.start + steps.period]
    stacks = {x for row in steps.operands for x in row if isinstance(x, Elsewhere)}
    computed = sum(not program.moves(e) for e in block)
    if not computed or 2 * len(stacks) > (computed if gathers else 0):
        return False  # to put together what the steps read takes as long as they do
    outside = {q for s in sums for q in (*s.places, *s.adds)}
    inside = [e for q, e in enumerate(block) if q not in outside]
    largest = max((v.type.size for e in inside for v in e.outputs), default=0)
    return largest <= LARGE or total >= MANY
