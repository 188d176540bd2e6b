"""What loops make of the functions that they are given: leaves in, leaves out, types that stay.

Traced values over which a body closes are adopted as constants of the loop; what depends on these
alone is computed once, before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.compile.imports import importing
from funcgrad.core.tracer import Tracer, bind, type_of
from funcgrad.core.types import Array, ArrayType, promote
from funcgrad.errors import LoopTypeError, RandomnessError, located
from funcgrad.graph.build import stage
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph, Var
from funcgrad.graph.raising import may_raise
from funcgrad.ops.arithmetic import WEAKEN, cast
from funcgrad.transforms.arguments import leaves_of, name_of
from funcgrad.transforms.captures import walked
from funcgrad.transforms.node import TapeTracer
from funcgrad.transforms.random_draws import SharedDraws
from funcgrad.transforms.rolling import rolled
from funcgrad.transforms.written_steps import NUMBERS

__all__ = [
    "Body",
    "alike",
    "as_type",
    "invariant",
    "number",
    "on_arrays",
    "once",
    "traced",
    "types_of",
]

Function = Callable[..., Any]
TRIALS = 4  # times that a body is traced until the types of its carries stay, and one for each


_NOTHING = object()  # which is like no carry


def alike(x: Any, y: Any) -> bool:
    """Whether two trees are sure to have one structure and types, and nothing in them is staged.

    It takes a tenth of what taking them apart does, which would be most of a short step.
    """
    kind = type(x)
    if kind is not type(y):
        return False
    if kind is np.ndarray:
        return x.dtype is y.dtype and x.shape == y.shape
    if kind in NUMBERS or x is None:
        return True
    if kind is TapeTracer:
        return x.kind is not None and x.kind is y.kind and type(x.value) is type(y.value)
    if kind is tuple or kind is list:
        return len(x) == len(y) and all(map(alike, x, y))
    if kind is dict:
        return x.keys() == y.keys() and all([alike(x[k], y[k]) for k in x])
    return False


def types_of(leaves: Sequence[Array]) -> list[ArrayType]:
    return [type_of(x) for x in leaves]


class Body:
    """A function of a loop: leaves in, leaves out, and what it closes over."""

    def __init__(self, f: Function, what: str, carry: tree.TreeDef) -> None:
        self.f, self.what, self.carry = f, what, carry
        self.rows: tree.TreeDef | None = None
        self.weak: list[bool] = []  # which carries are Python's numbers in all steps
        self.last: Any = _NOTHING  # of a loop in Python the last carry that was looked at

    def numbers(self, carries: Sequence[Array]) -> list[Array]:
        """The carries of a loop, which are arrays, as the program has them: numbers among them."""
        return [
            number(x) if k < len(self.weak) and self.weak[k] else x for k, x in enumerate(carries)
        ]

    def next(self, found: Any) -> list[Array]:
        """The leaves of the next carry, which has the tree of the first."""
        leaves, definition = leaves_of(found, ("the new carry", self.f))
        if definition != self.carry:
            raise LoopTypeError(
                located(
                    f"{self.what}: {name_of(self.f)} is given a carry of the tree {self.carry} and "
                    f"returns one of the tree {definition}; return the same tree"
                )
            )
        return leaves

    def handed_on(self, carry: Any, types: list[ArrayType]) -> tuple[Any, list[ArrayType]]:
        """The next carry after one of these types, and its own: an array is followed by an array.

        A Python number in the place of one takes its dtype, as it does beside one.
        """
        if alike(carry, self.last):
            return carry, types
        leaves = self.next(carry)
        after = types_of(leaves)
        if after == types:
            self.last = carry
            return carry, types
        self.check(types, after)
        settled = list(map(_settled, types, after))
        if settled != after:
            leaves = [
                x if t == a else (number if t.weak else _itself)(cast(x, t.dtype))
                for x, a, t in zip(leaves, after, settled, strict=True)
            ]
            carry = tree.unflatten(self.carry, leaves)
        return carry, settled

    def check(self, before: Sequence[ArrayType], after: Sequence[ArrayType]) -> None:
        """Raise unless a carry of `after` can take the place of one of `before`."""
        for k, (x, y) in enumerate(zip(before, after, strict=True)):
            if not _fits(x, y):
                raise LoopTypeError(
                    located(
                        f"{self.what}: the carry{tree.paths(self.carry)[k]} has type {x}, and "
                        f"{name_of(self.f)} returns {y} for it; a carry has one type in all steps: "
                        "cast or broadcast the initial value, or what the function returns"
                    )
                )


def _fits(before: ArrayType, after: ArrayType) -> bool:
    """Whether a carry can be followed by another one: of two types Python's numbers give way."""
    return before.shape == after.shape and (
        before.dtype == after.dtype
        or (before.weak and promote(before, after) == after.dtype)
        or (after.weak and promote(before, after) == before.dtype)
    )


def _settled(before: ArrayType, after: ArrayType) -> ArrayType:
    """The type of a carry that fits, of which it is to be from then on."""
    weak = before.weak and after.weak
    return ArrayType(after.shape, promote(before, after) if after.weak else after.dtype, weak)


def number(x: Array) -> Array:
    """An array without axes as a Python number."""
    return bind(WEAKEN, (x,))


def _itself(x: Array) -> Array:
    return x


def traced(
    body: Body, flat: Function, types: list[ArrayType], avals: Sequence[ArrayType]
) -> tuple[Graph, list[Tracer], list[ArrayType]]:
    """The graph (captured, carries, xs) → (carries, ys), what it captured, the types of carries."""
    count = len(types)
    given = types
    reached = walked(body.f)
    draws = SharedDraws(reached.generators, reached.random)

    def step(*xs: Array) -> Any:
        return flat(*body.numbers(xs[:count]), *xs[count:])

    for _ in range(TRIALS + count):  # each may turn one number more into an array
        body.weak = [t.weak for t in given]
        inputs = [*map(_array, given), *avals]
        graph, consts = stage(step, inputs, body=once(f"the body of {body.what}"))
        after = [o.type for o in graph.outputs[:count]]
        body.check(given, after)
        settled = list(map(_settled, given, after))
        if settled == given:
            break
        given = settled
    else:
        body.check(types, after)
    given = list(map(_array, given))
    if draws.happened():
        raise RandomnessError(
            located(
                f"{body.what}: {name_of(body.f)} draws random numbers, and as one operation all "
                "its steps would share them; draw an array before the loop and go through its rows"
            )
        )
    own = count + len(avals)
    whole = Graph(
        (*graph.inputs[own:], *graph.inputs[:own]), graph.equations, graph.outputs, graph.constants
    )
    return _with_types(on_arrays(rolled(whole).graph), given), consts, given


def once(part: str) -> str:
    """What a part of a loop is for a message, as `graph.build.stage` takes it."""
    return f"{part}, which is traced once for all steps,"


def _array(aval: ArrayType) -> ArrayType:
    return ArrayType(aval.shape, aval.dtype)


def on_arrays(graph: Graph) -> Graph:
    """The graph without Python numbers (`passes/strong.py`)."""
    made = (v for e in graph.equations for v in e.outputs)
    if not any(v.type.weak for v in (*graph.inputs, *made)):
        return graph
    with importing:
        from funcgrad.passes.strong import strong

    return strong(graph)


def _with_types(graph: Graph, types: Sequence[ArrayType]) -> Graph:
    """The graph with outputs that have the types of the carries, and none of which is weak."""
    wanted = [*types, *(_array(o.type) for o in graph.outputs[len(types) :])]
    if all(isinstance(o, Var) and o.type == t for o, t in zip(graph.outputs, wanted, strict=True)):
        return graph

    def run(*xs: Array) -> list[Array]:
        found = evaluate(graph, *xs)
        return [as_type(o, t) for o, t in zip(found, wanted, strict=True)]

    return stage(run, [v.type for v in graph.inputs])[0]


def as_type(x: Array, aval: ArrayType) -> Array:
    return x if type_of(x) == aval else cast(x, aval.dtype)


def invariant(graph: Graph, captured: Sequence[Array]) -> tuple[Graph, list[Array]]:
    """The body without what is the same in every step, and its constants, these among them.

    What may raise stays: a loop of no steps raises nothing.
    """
    known = {*graph.inputs[: len(captured)], *(v for v, _ in graph.constants)}
    constant = set(known)
    early, late = [], []
    for e in graph.equations:
        same = all(a in known for a in e.inputs if isinstance(a, Var))
        if same and not e.scope and not may_raise([e]):
            early.append(e)
            known.update(e.outputs)
        else:
            late.append(e)
    if not early:
        return graph, list(captured)
    read = {a for e in late for a in e.inputs} | set(graph.outputs)
    made = tuple(v for e in early for v in e.outputs if v in read)
    before = Graph(graph.inputs[: len(captured)], tuple(early), made, graph.constants)
    held = tuple(v for v in graph.inputs[: len(captured)] if v in read)
    values = [x for v, x in zip(graph.inputs, captured, strict=False) if v in read]
    left = tuple((v, a) for v, a in graph.constants if v in read and v in constant)
    inputs = (*held, *made, *graph.inputs[len(captured) :])
    return Graph(inputs, tuple(late), graph.outputs, left), [*values, *evaluate(before, *captured)]
