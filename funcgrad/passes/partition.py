"""A graph with its backward pass cut in two, so that few bytes are kept in between.

What the backward part reads of the forward one is kept, or computed again of what is kept. Only
what is cheap may be: arithmetic, comparisons, choices, and elements moved about, which cost less
than the memory that they would take. Functions such as `exp`, products and reductions are done
once. Which values to keep is the minimum cut between the former and what the backward part reads,
with their sizes for capacities. It imports graphs, and views of values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from funcgrad.graph.effects import silenced
from funcgrad.graph.ir import Equation, Graph, Var
from funcgrad.ops.index import PLACE
from funcgrad.ops.shape import CONCATENATE
from funcgrad.passes.cut import UNLIMITED, Network

__all__ = ["Partition", "partition"]

CHEAP = 5  # additions to each element: one or so, or a few where the processor divides
DTYPES = ("float64", "float32", "int64", "int32", "bool")  # for which there are kernels
HANDLE = 64  # bytes: what it costs to keep an array, however small
OWNED = 8  # the caller has the inputs: to keep one costs that part of it
LIMIT = 20_000  # equations; of more, all that is read is kept


class Partition(NamedTuple):
    """(inputs → outputs and residuals), and (residuals and further inputs → the other outputs)."""

    forward: Graph
    backward: Graph
    residuals: tuple[Var, ...]
    again: tuple[Equation, ...]

    def explain(self) -> str:
        """What is kept for the backward pass, and what is computed again there."""
        inputs = set(self.forward.inputs)
        made = {v: e for e in self.forward.equations for v in e.outputs}
        kept = sum(_bytes(v) for v in self.residuals if v not in inputs)
        lines = [f"kept for the backward pass: {kept} bytes besides arguments"]
        for v in self.residuals:
            what = f"argument {self.forward.inputs.index(v)}" if v in inputs else made[v].prim.name
            lines.append(f"  {what} {v.type}")
        if self.again:
            names = " ".join(e.prim.name for e in self.again)
            lines.append(f"computed again: {names}")
        return "\n".join(lines)


Saves = Callable[[Equation], bool]


def partition(
    whole: Graph, inputs: int, outputs: int, first: set[int], saves: Saves | None = None
) -> Partition:
    """Cut a joint graph after the forward equations, whose identities are in `first`.

    Parameters
    ----------
    whole : Graph
        Its first `inputs` and `outputs` are those of the forward part.
    saves : callable, optional
        Which equations' results may be kept: all others are computed again, cheap or not.
    """
    forward = [e for e in whole.equations if id(e) in first]
    later = [e for e in whole.equations if id(e) not in first]
    results = whole.outputs[outputs:]
    known = set(whole.inputs[inputs:]) | {v for v, _ in whole.constants}
    read = {a for e in later for a in e.inputs if isinstance(a, Var)}
    read |= {a for a in results if isinstance(a, Var)}
    early = [*whole.inputs[:inputs], *(v for e in forward for v in e.outputs)]
    wanted = [v for v in early if v in read and v not in known]
    kept = _kept(whole.inputs[:inputs], forward, wanted, known, saves)
    again = _again(forward, wanted, kept | known)
    needed = {a for e in again for a in e.inputs} | set(wanted)
    residuals = tuple(v for v in early if v in kept and v in needed)
    one = Graph(
        whole.inputs[:inputs],
        tuple(forward),
        (*whole.outputs[:outputs], *residuals),
        whole.constants,
    )
    two = Graph((*residuals, *whole.inputs[inputs:]), (*again, *later), results, whole.constants)
    return Partition(one, two, residuals, again)


def _bytes(v: Var) -> int:
    return v.type.size * v.type.dtype.itemsize


def _is_cheap(e: Equation) -> bool:
    avals = [a.type for a in (*e.inputs, *e.outputs)]
    moves = e.prim.view or e.prim in (PLACE, CONCATENATE)
    cheap = moves or (e.prim.aligned and e.prim.cost <= CHEAP)
    return cheap and all(t.dtype.name in DTYPES for t in avals)


def _kept(
    inputs: Sequence[Var],
    forward: Sequence[Equation],
    wanted: Sequence[Var],
    known: set[Var],
    saves: Saves | None,
) -> set[Var]:
    """The values to keep: the minimum cut. A value is an edge, from its one node to its other."""
    if saves is not None:
        made = {v: e for e in forward for v in e.outputs if not (e.prim.effect or saves(e))}
    elif len(forward) > LIMIT:
        return set(wanted)
    else:
        made = {v: e for e in forward if _is_cheap(e) for v in e.outputs}
    number: dict[Var, int] = {}
    waiting = list(wanted)
    while waiting:
        v = waiting.pop()
        if v in number or v in known:
            continue
        number[v] = 2 + 2 * len(number)
        if v in made:
            waiting += [a for a in made[v].inputs if isinstance(a, Var)]
    network = Network(2 + 2 * len(number))
    owned = set(inputs)
    for v, n in number.items():
        size = _bytes(v) // OWNED if v in owned else _bytes(v)
        never = saves is not None and v in made
        network.connect(n, n + 1, UNLIMITED if never else HANDLE + size)
        if v not in made:
            network.connect(0, n, UNLIMITED)
            continue
        for a in dict.fromkeys(made[v].inputs):
            if isinstance(a, Var) and a in number:
                network.connect(number[a] + 1, n, UNLIMITED)
    for v in wanted:
        network.connect(number[v] + 1, 1, UNLIMITED)
    late = network.late()
    return {v for v, n in number.items() if late[n + 1] and not late[n]}


def _again(
    forward: Sequence[Equation], wanted: Sequence[Var], held: set[Var]
) -> tuple[Equation, ...]:
    """The equations that compute what is wanted of what is held, in their order."""
    missing = {v for v in wanted if v not in held}
    found: list[Equation] = []
    for e in reversed(forward):
        if not missing.isdisjoint(e.outputs):
            calm = silenced(e, missing)
            assert calm is not None
            found.append(calm)
            missing |= {a for a in e.inputs if isinstance(a, Var) and a not in held}
    return tuple(reversed(found))
