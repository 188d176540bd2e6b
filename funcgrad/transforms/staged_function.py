"""A function staged to a graph, with what it captures as the last inputs of that.

Captured arrays become inputs, unless they changed meanwhile; numbers that are another time another
one do where a graph like this one is known (`passes.templates`); steps that repeat become loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.core.collector import uncollected
from funcgrad.core.tracer import running, uncompiled
from funcgrad.core.types import Array, ArrayType
from funcgrad.graph.build import Stage, finish, holds
from funcgrad.graph.ir import Graph, Var
from funcgrad.passes.templates import Templates
from funcgrad.transforms.arguments import leaves_of, name_of
from funcgrad.transforms.captures import Captures, capture
from funcgrad.transforms.deferred import deferring, deferring_if_long
from funcgrad.transforms.rolling import rolled
from funcgrad.transforms.selection_sizes import Sizes, sizes_of

__all__ = ["Staged", "stage_flat", "stage_function"]

Function = Callable[..., Any]


class Staged(NamedTuple):
    """A graph, what it takes after the arguments, and the tree of its output.

    That are adopted values, the `captured` arrays of these numbers, and `numbers` that are another
    time another one. `asked` are the arguments whose layout in memory has made a difference,
    `notes` what is said of the loops that were found.
    """

    graph: Graph
    captured: tuple[int, ...]
    numbers: tuple[Any, ...]
    consts: tuple[Any, ...]
    out: tree.TreeDef
    reusable: bool
    sizes: Sizes
    asked: tuple[int, ...]
    notes: tuple[str, ...] = ()

    def held(self, captures: Captures) -> tuple[Any, ...]:
        """The operands behind arguments and adopted values."""
        return (*(captures.arrays[i] for i in self.captured), *self.numbers)


def stage_function(
    flat: Function,
    types: Sequence[ArrayType],
    leaves: Sequence[Array | None],
    captures: Captures,
    name: str,
    templates: Templates | None = None,
    roll: bool = True,
    drawn: Callable[[], bool] = bool,
) -> Staged:
    """Stage a flat function; captured arrays become inputs unless they changed meanwhile.

    Steps that repeat become loops, unless it shall not `roll`; for that it may be staged twice, if
    no random numbers were `drawn`. With `templates` the graph may be one that was staged before.
    """
    once = partial(_stage_once, flat, types, leaves, captures, name, templates, roll)
    return deferring_if_long(once, lambda: not drawn()) if roll else once()


def _stage_once(
    flat: Function,
    types: Sequence[ArrayType],
    leaves: Sequence[Array | None],
    captures: Captures,
    name: str,
    templates: Templates | None,
    roll: bool,
) -> Staged:
    definition: list[tree.TreeDef] = []
    with uncollected(), Stage() as trace:
        if uncompiled and running.locks is not None:
            for array in captures.arrays:
                running.locks.hold(trace, array)
        inputs = [trace.input(t, x) for t, x in zip(types, leaves, strict=True)]
        variables = [t.variable for t in inputs]
        outputs, out = leaves_of(flat(*inputs), f"the output of {name}")
        definition.append(out)
        graph, consts = finish(trace, variables, outputs)
        arrays = {v: a for v, _, a in trace.constants.values()}
        asked = tuple(k for k, v in enumerate(variables) if v in trace.asked)
    changed = set(map(id, captures.changed()))
    position = {id(x): i for i, x in enumerate(captures.arrays)}
    moved: list[tuple[Var, int]] = []
    fixed: list[tuple[Var, Any]] = []
    reusable = not consts and not deferring.changed
    for v, array in graph.constants:
        where = position.get(id(arrays[v]))
        if where is None:
            fixed.append((v, array))
        elif id(arrays[v]) in changed:  # a workspace: what it held when it was used
            fixed.append((v, array))
            reusable = False
        elif not holds(captures.arrays[where], array):  # it was another one for a while
            fixed.append((v, array))
        else:
            moved.append((v, where))
    whole = Graph(
        (*graph.inputs, *(v for v, _ in moved)), graph.equations, graph.outputs, tuple(fixed)
    )
    sizes = sizes_of(whole)
    numbers: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    if roll and not sizes:
        with uncollected():
            whole, notes = rolled(whole)
        notes = (*dict.fromkeys((*deferring.notes, *notes)),)
    if templates is not None and not sizes:
        whole, numbers = templates.fit(whole)
    used = tuple(i for _, i in moved)
    out = definition[0]
    return Staged(whole, used, numbers, tuple(consts), out, reusable, sizes, asked, notes)


def stage_flat(
    flat: Function, fun: Function, types: Sequence[ArrayType], roll: bool = False
) -> tuple[Staged, list[np.ndarray[Any, Any]]]:
    """A flat function made of `fun`, staged for these types, and the captured arrays it takes."""
    captures = capture(fun)
    staged = stage_function(flat, types, [None] * len(types), captures, name_of(fun), roll=roll)
    return staged, [captures.arrays[i] for i in staged.captured]
