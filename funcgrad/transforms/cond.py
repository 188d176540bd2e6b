"""`cond`: one of two functions, chosen by a value that need not be known while it is traced.

With a number at hand it is a Python branch. Under `jit` both branches are staged, and the equation
`cond` runs the graph of one of them; under `vmap`, where each example chooses for itself, both run
and every element is chosen. Traced values over which a branch closes are adopted as operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.compile.execute import execute
from funcgrad.core.boundary import boundary
from funcgrad.core.forms import HigherOrder, filled
from funcgrad.core.layout import Ask, key_of, standard
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import bind, concrete, type_of, value
from funcgrad.core.tracer import operand as as_operand
from funcgrad.core.types import Array, ArrayType, is_inexact, zeros
from funcgrad.errors import located
from funcgrad.graph.effects import effects_of, guarded
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.graph.layouts import through
from funcgrad.graph.linearity import Flow, either, linear_flow
from funcgrad.graph.loop import Loop
from funcgrad.graph.raising import may_raise
from funcgrad.ops import constant
from funcgrad.ops.arithmetic import cast, logical_not, not_equal, subtract, where
from funcgrad.ops.index import gather
from funcgrad.passes.rewrite import Rewriter
from funcgrad.transforms.arguments import (
    NOT_GIVEN,
    given_by_name,
    leaves_of,
)
from funcgrad.transforms.call import (
    Marks,
    as_linear,
    batched_graph,
    joined_marks,
    marked_graph,
    reverse_graphs,
    split_marks,
    tangent_graph,
)
from funcgrad.transforms.known_branch import (
    common_type,
    run_branch,
    same_trees,
    staged_function,
    unless_again,
)
from funcgrad.transforms.loop import LOOP
from funcgrad.transforms.loop_graphs import INTEGER, staged_graph
from funcgrad.transforms.loop_of_examples import each_chosen
from funcgrad.transforms.results import handed_back
from funcgrad.transforms.rolling import rolled

__all__ = ["choose", "cond"]

Function = Callable[..., Any]
Branches = tuple[Graph, Graph]  # where the condition holds, and where not


def _params(branches: Branches) -> Params:
    return {"true": branches[0], "false": branches[1]}


def _branches(params: Params) -> Branches:
    return params["true"], params["false"]


def _types(graph: Graph) -> list[ArrayType]:
    return [v.type for v in graph.inputs]


class CondPullback(Primitive):
    """The node of a `cond`: the backward graphs of both branches, and the residuals of both."""

    chooses = True

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return True  # where it is asked, the operation has been

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        cts = filled(g, node.outputs)
        found = iter(bind(COND, [*node.saved, *cts], node.params))
        return [None if p is None else next(found) for p in node.parents]


class Cond(HigherOrder):
    """The condition, and the operands of both branches.

    What both branches lay out alike lies so; where they differ, the result is in C order.
    """

    branches = True

    @staticmethod
    def lies(prim: Any, ask: Ask, types: Sequence[ArrayType], params: Any, out: Any) -> Any:
        one, other = (
            through(prim, lambda k: ask(k + 1), types[1:], {"graph": graph}, out)
            for graph in _branches(params)
        )
        return tuple(
            a if key_of(a) == key_of(b) else standard(aval)
            for a, b, aval in zip(one, other, out, strict=True)
        )

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return tuple(o.type for o in params["true"].outputs)

    def linear_flow(self, mask: Sequence[Flow], params: Params) -> tuple[str, list[Flow]]:
        flows = [linear_flow(graph, mask[1:]) for graph in _branches(params)]
        (one, some), (other, others) = flows
        name = self.name if mask[0] else one or other
        return name, [mask[0] or either(a, b) for a, b in zip(some, others, strict=True)]

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        branches = _branches(params)
        nodes, (condition, *xs), _ = trace.split(args)
        moving = tuple(
            n is not None and is_inexact(type_of(x).dtype)
            for n, x in zip(nodes[1:], xs, strict=True)
        )
        forward, backward, operands = _reversed(branches, moving, trace.marks)
        results = bind(self, [condition, *xs], _params(forward))
        count = len(branches[0].outputs)
        raw = {id(x) for x, n in zip(xs, nodes[1:], strict=True) if n is None}
        kept = (condition, *(xs[k] for k in operands), *results[count:])
        saved = [trace.keep(r) if id(r) in raw else r for r in kept]
        parents = (None, *(n if m else None for n, m in zip(nodes[1:], moving, strict=True)))
        outputs = results[:count]
        found = trace.record_multiple(COND_PULLBACK, parents, _params(backward), saved, outputs)
        return as_linear(self, trace, (False, *moving), params, found, outputs)

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        branches = _branches(params)
        (condition, *xs), (_, *ts) = trace.split_marked(args)
        made, has = _pushed(branches, tuple(t is not None for t in ts), trace.marks)
        given = [condition, *xs, *(trace.whole(t) for t in ts if t is not None)]
        results = bind(self, given, _params(made))
        count = len(branches[0].outputs)
        moved = iter(results[count:])
        return tuple(
            trace.dual(o, next(moved) if h else None)
            for o, h in zip(results[:count], has, strict=True)
        )

    def mark(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        condition, *xs = args
        xs, marks = split_marks(trace, xs)
        made, has = _marked(_branches(params), marks)
        return joined_marks(trace, bind(self, [condition, *xs], _params(made)), has)

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        (condition, *xs), (chosen, *batched) = trace.split(args)
        if chosen:
            held = not_equal(condition, False)
            ours, theirs = (
                _for_all(graph, trace.size, own, xs, batched)
                for graph, own in zip(_branches(params), (held, logical_not(held)), strict=True)
            )
            found = [each_chosen(condition, a, b) for a, b in zip(ours, theirs, strict=True)]
        else:
            one, other = (
                batched_graph(graph, trace.size, tuple(batched)) for graph in _branches(params)
            )
            found = bind(self, [condition, *xs], _params((one, other)))
        made: Any = trace.results(self, args, params, found)
        return made


def _for_all(
    branch: Graph, count: int, held: Array, xs: Sequence[Array], batched: Sequence[bool]
) -> Sequence[Array]:
    """What a branch gives for all examples, of which those count for which it is `held`.

    Where it may raise, the others run it on the operands of the first that takes it; where none
    does, nothing runs. Its effects happen for those that take it.
    """
    acting = effects_of(branch)
    graph = batched_graph(
        guarded(branch) if acting else branch, count, (*([True] if acting else []), *batched)
    )
    if not may_raise(graph.equations):
        return evaluate(graph, *xs)
    (size,) = type_of(held).shape
    places = where(held, np.arange(size), constant.argmax(cast(held, INTEGER.dtype), 0))
    given = [gather(x, places) if b else x for x, b in zip(xs, batched, strict=True)]
    if acting:
        given.insert(0, held)
    nothing = [np.zeros(o.type.shape, o.type.dtype) for o in graph.outputs]
    taken = constant.any(held)
    if concrete(taken):
        return evaluate(graph, *given) if value(taken) else nothing
    idle = staged_graph(lambda *_: nothing, _types(graph))
    found: Sequence[Array] = bind(COND, [taken, *given], _params((graph, idle)))
    return found


def _run(condition: Any, *xs: Any, true: Graph, false: Graph) -> tuple[Any, ...]:
    return execute(true if condition else false, *xs)


def _as_loops(r: Rewriter, e: Equation) -> list[Atom]:
    """Two loops, of which one runs a single step: native code has no other branches.

    Each carries the results, which the other one leaves as they are.
    """
    condition, *xs = e.inputs

    def steps(held: Array) -> list[Array]:
        count = cast(not_equal(held, False), INTEGER.dtype)
        return [count, subtract(1, count)]

    counts = r.inline(staged_graph(steps, [condition.type]), [condition])
    state: list[Atom] = [Literal(v.type.dtype.type(0), _strong(v.type)) for v in e.outputs]
    for graph, count in zip(_branches(e.params), counts, strict=True):
        carries = tuple(map(r.var, (_strong(v.type) for v in e.outputs)))
        body = Graph((*graph.inputs, *carries), graph.equations, graph.outputs, graph.constants)
        loop = Loop(body, None, len(xs), len(carries), 1, counted=True)
        found = tuple(r.var(v.type) for v in e.outputs)
        r.add(Equation(LOOP, (count, *xs, *state), loop.params, found, e.scope, e.source))
        state = list(found)
    return state


COND = Cond("cond", _run)
COND.within_loops = _as_loops
COND_PULLBACK = CondPullback("cond_pullback", lambda *_: ())


class _Reversed(NamedTuple):
    """Forward graphs that return residuals, backward graphs, and what else these read.

    `operands` are the numbers of those that are saved as they are, before the residuals.
    """

    forward: Branches
    backward: Branches
    operands: tuple[int, ...]


def _reversed(branches: Branches, mask: tuple[bool, ...], marks: bool) -> _Reversed:
    """Residuals of the same type share a slot; those of the branch that is not taken are zeros."""
    key = ("cond", mask, marks, branches[1])
    if key not in branches[0].derived:
        count = len(branches[0].outputs)
        pairs = [reverse_graphs(g, mask, marks) for g in branches]
        slots: list[ArrayType] = []
        places = [_places(one, count, slots) for one, _ in pairs]
        operands = tuple(sorted({-1 - k for each in places for k in each if k < 0}))
        held = [branches[0].inputs[k].type for k in operands]
        cts = _types(pairs[0][1])[len(places[0]) :]
        branches[0].derived[key] = _Reversed(
            _each(lambda g, own: _kept(g, count, own, slots), [g for g, _ in pairs], places),
            _each(
                lambda g, own: _given(g, own, operands, [*held, *slots, *cts]),
                [g for _, g in pairs],
                places,
            ),
            operands,
        )
    found: _Reversed = branches[0].derived[key]
    return found


def _each(make: Callable[..., Graph], graphs: Sequence[Graph], places: Any) -> Branches:
    one, other = map(make, graphs, places)
    return one, other


def _places(one: Graph, count: int, slots: list[ArrayType]) -> list[int]:
    """The slots of the residuals of a branch, which adds what it lacks; -1 - k: operand k."""
    given = {v: k for k, v in enumerate(one.inputs)}
    found: list[int] = []
    for r in one.outputs[count:]:
        if isinstance(r, Var) and r in given:
            found.append(-1 - given[r])
            continue
        fit = (s for s, t in enumerate(slots) if t == r.type and s not in found)
        place = next(fit, len(slots))
        if place == len(slots):
            slots.append(r.type)
        found.append(place)
    return found


def _kept(graph: Graph, count: int, places: Sequence[int], slots: Sequence[ArrayType]) -> Graph:
    """The forward graph of a branch, with the slots behind its outputs."""

    def run(*xs: Array) -> list[Array]:
        found = evaluate(graph, *xs)
        rows = list(map(_nothing, slots))
        for place, r in zip(places, found[count:], strict=True):
            if place >= 0:
                rows[place] = r
        return [*found[:count], *rows]

    return staged_graph(run, _types(graph))


def _given(
    graph: Graph, places: Sequence[int], operands: Sequence[int], types: Sequence[ArrayType]
) -> Graph:
    """The backward graph of a branch, of operands, slots and cotangents."""
    first = len(operands)
    cotangents = len(graph.inputs) - len(places)

    def run(*xs: Array) -> Sequence[Array]:
        own = [xs[first + p] if p >= 0 else xs[operands.index(-1 - p)] for p in places]
        return evaluate(graph, *own, *xs[len(xs) - cotangents :])

    return staged_graph(run, types)


def _nothing(aval: ArrayType) -> Any:
    """A residual that nobody reads."""
    return np.zeros(aval.shape, aval.dtype)[()]


def _pushed(
    branches: Branches, mask: tuple[bool, ...], marks: bool
) -> tuple[Branches, tuple[bool, ...]]:
    """The branches with tangents of those outputs that have one in either, and which these are."""
    pushed = [tangent_graph(g, mask, marks) for g in branches]
    has = tuple(a or b for a, b in zip(pushed[0][1], pushed[1][1], strict=True))
    count = len(has)

    def whole(graph: Graph, own: tuple[bool, ...]) -> Graph:
        def run(*xs: Array) -> list[Array]:
            found = evaluate(graph, *xs)
            moved = iter(found[count:])
            tangents = [
                next(moved) if mine else zeros(_strong(o.type))
                for o, mine, wanted in zip(graph.outputs, own, has, strict=False)
                if wanted
            ]
            return [*found[:count], *tangents]

        return graph if own == has else staged_graph(run, _types(graph))

    one, other = (whole(*each) for each in pushed)
    return (one, other), has


def _marked(branches: Branches, marks: Marks) -> tuple[Branches, Marks]:
    """The branches with masks of the outputs that have one, or are cotangents, in only one."""
    pairs = [marked_graph(g, marks) for g in branches]
    has = tuple(a if a == b else True for a, b in zip(pairs[0][1], pairs[1][1], strict=True))

    def whole(graph: Graph, own: Marks) -> Graph:
        def run(*xs: Array) -> list[Array]:
            found = evaluate(graph, *xs)
            masks = iter(found[len(own) :])
            shapes = [type_of(o).shape for o in found[: len(own)]]
            given = [
                next(masks) if mine else np.full(shape, mine is False)
                for shape, mine, wanted in zip(shapes, own, has, strict=True)
                if wanted
            ]
            return [*found[: len(own)], *given]

        return graph if own == has else staged_graph(run, _types(graph))

    one, other = (whole(*each) for each in pairs)
    return (one, other), has


def _strong(aval: ArrayType) -> ArrayType:
    return ArrayType(aval.shape, aval.dtype)


# ------------------------------------------------------------------------------- the function


@boundary
def cond(
    pred: Any, true_fun: Function, false_fun: Function, *operands: Any, operand: Any = NOT_GIVEN
) -> Any:
    """``true_fun(*operands)`` where `pred` holds, else ``false_fun(*operands)``.

    Parameters
    ----------
    pred : scalar
        A bool or a number, of which 0 is false. It may be traced.
    true_fun, false_fun : callable
        Functions of the operands, which return trees of the same structure, shapes and dtypes.
        They may close over traced values. Where `pred` is known, one of them runs; the other one is
        traced when the two meet operands of these types first, to compare the types of what they
        return. Under `jit` both are traced, and under `vmap` with a `pred` for each example both
        run.
    *operands
        Trees of arrays. What a function writes into them the caller does not see.
    operand : tree of arrays, optional
        The only operand, by name.

    Returns
    -------
    tree
        What the chosen function returns. Its gradient is that of the chosen function; the other
        one contributes exactly 0, even if its own derivative is infinite or NaN.

    Raises
    ------
    ValueError
        `pred` is no scalar.
    TypeError
        `pred` is no bool or real number, or the functions return different trees, shapes or dtypes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> f = fg.jit(lambda x: fg.cond(x > 0, np.sqrt, lambda v: v**2, x))
    >>> f(4.0), fg.grad(f)(4.0), fg.grad(f)(-3.0)
    (np.float64(2.0), np.float64(0.25), np.float64(-6.0))
    """
    operands = given_by_name(operands, operand, "cond")
    condition = as_operand(pred)
    aval = type_of(condition)
    if aval.shape != ():
        raise ValueError(
            located(
                f"the condition of cond has shape {aval.shape}, not (); choose between the "
                "elements of arrays with funcgrad.numpy.where"
            )
        )
    if aval.dtype.kind not in "biuf":
        raise TypeError(
            located(f"the condition of cond has type {aval}; it is a single bool or real number")
        )
    if concrete(condition):
        return run_branch((true_fun, false_fun), 0 if value(condition) else 1, operands, "cond")
    return choose(condition, true_fun, false_fun, operands, "cond")


def choose(
    condition: Array, true_fun: Function, false_fun: Function, operands: Sequence[Any], what: str
) -> Any:
    """`cond` where the condition is not known; errors call it `what`."""
    functions = (true_fun, false_fun)
    unless_again(functions)
    leaves, definition = leaves_of(operands, f"the operands of {what}")
    (one, mine, out), (other, theirs, out_other) = (
        staged_function(f, leaves, definition, what) for f in functions
    )
    same_trees(functions, (out, out_other), what)
    results = [
        common_type(a.type, b.type, path, what)
        for path, a, b in zip(tree.paths(out), one.outputs, other.outputs, strict=True)
    ]
    one, other = rolled(one).graph, rolled(other).graph
    given = [*leaves, *mine, *theirs]
    types = [type_of(x) for x in given]
    own, first = range(len(leaves)), len(leaves) + len(mine)
    branches = (
        _fitted(one, [*own, *range(len(leaves), first)], types, results),
        _fitted(other, [*own, *range(first, len(given))], types, results),
    )
    given = [condition, *given]
    return handed_back(out, bind(COND, given, _params(branches)), given)


def _fitted(
    graph: Graph, own: Sequence[int], types: Sequence[ArrayType], results: Sequence[ArrayType]
) -> Graph:
    """The graph over the operands of both branches, of which it takes its `own`."""

    def run(*xs: Array) -> list[Array]:
        outs = evaluate(graph, *(xs[k] for k in own))
        return [
            o if type_of(o) == aval else cast(o, aval.dtype)
            for o, aval in zip(outs, results, strict=True)
        ]

    return staged_graph(run, types)
