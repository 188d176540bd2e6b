"""Reverse mode: the backward pass over what a tape has recorded.

It never recurses: it collects the reachable nodes with a stack, orders them by the serial number
of their creation and hands each its cotangent. `None` stands for zero throughout.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.effects import logged
from funcgrad.core.tracer import Tracer, plain, running, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.core.watching import found_in, line_of, place_of, refuse
from funcgrad.errors import (
    AbstractValueError,
    NotDifferentiableError,
    SourceLine,
    located,
    repeated,
)
from funcgrad.graph.build import StageTracer, stage
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph
from funcgrad.graph.linearity import linear_flow
from funcgrad.graph.straight import straight
from funcgrad.transforms.guard import verify
from funcgrad.transforms.node import (
    PICK,
    Buffer,
    Cotangents,
    Node,
    OpaqueRule,
    StagedNode,
    add,
    dense,
    leaf_node,
)
from funcgrad.transforms.optimism import SMALL, has_nan, seen, settled
from funcgrad.transforms.presence import Presence
from funcgrad.transforms.presence_pass import pull_marked
from funcgrad.transforms.tape import PLAIN, Tape

__all__ = [
    "Tape",
    "backward",
    "node_of",
    "pull_each",
    "pulled",
    "transpose_linear",
    "verify",
    "within",
]

ndarray = np.ndarray


def reachable(roots: Sequence[Node]) -> list[Node]:
    """The nodes that the roots depend on, latest first."""
    seen = set(roots)
    found = list(seen)
    for node in found:  # which grows, nearly in order, so that little is left to sort
        for p in node.parents:
            if p is not None and p not in seen:
                seen.add(p)
                found.append(p)
    found.sort(key=_seq, reverse=True)
    return found


_seq = operator.attrgetter("seq")


def backward(
    roots: Sequence[tuple[Node, Array]],
    leaves: Sequence[Node],
    traced: bool = True,
    hidden: bool = True,
    marks: bool = True,
    order: Sequence[Node] | None = None,
) -> list[Array | None]:
    """The cotangents of `leaves`, given those of `roots`; None where it is zero.

    `order`, where it is known, has every node that the roots depend on, latest first.
    Without `marks` 0 times infinity is NaN everywhere, as it is in PyTorch.

    Raw cotangents take the quick rules first, which know nothing of absent elements, so that a 0
    in the place of one times an infinite partial is NaN. A NaN survives every linear operation
    that does not drop it, so a result without one is right; otherwise, and where a rule runs code
    of the user, the pass is repeated and follows which elements are there. So does every pass
    over values that are `traced` by what hides their numbers, or from such cotangents.
    """
    with np.errstate(all="ignore"):
        if not marks:
            return bare(roots, leaves, traced, order)
        return within(roots, leaves, traced, hidden, order)


def within(
    roots: Sequence[tuple[Node, Array]],
    leaves: Sequence[Node],
    traced: bool,
    hidden: bool = True,
    order: Sequence[Node] | None = None,
) -> list[Array | None]:
    """`backward` as a part of a pass in which NumPy does not warn."""
    if order is None:
        order = reachable([node for node, _ in roots])
    if running.watching:  # node by node
        return _pull_marked(order, roots, leaves)
    with logged() as log:
        found = _quickly(order, roots, leaves, traced, hidden)
        if found is not None:
            return found
        log.again()
        return _pull_marked(order, roots, leaves)


def _quickly(
    order: Sequence[Node],
    roots: Sequence[tuple[Node, Array]],
    leaves: Sequence[Node],
    traced: bool,
    hidden: bool,
) -> list[Array | None] | None:
    """The cotangents without marks of what is absent; None where these are needed."""
    if not traced and True not in [isinstance(g, Tracer) for _, g in roots]:
        try:
            found = pulled(order, roots, leaves, True)
        except (OpaqueRule, ZeroDivisionError):  # Python's numbers know no infinity
            return None
        if not _to_repeat(found, order):
            return found
    elif not (traced and hidden) and all(seen(g) for _, g in roots) and not _opaque(order):
        found = pulled(order, roots, leaves, False)
        if all(c is None or settled(c) for c in found):
            return found
    return None


def _opaque(order: Sequence[Node]) -> bool:
    return any(node.prim is not None and node.prim.opaque for node in order)


def bare(
    roots: Sequence[tuple[Node, Array]],
    leaves: Sequence[Node],
    traced: bool,
    order: Sequence[Node] | None = None,
) -> list[Array | None]:
    """`within` without following which elements are there."""
    if order is None:
        order = reachable([node for node, _ in roots])
    if not traced and True not in [isinstance(g, Tracer) for _, g in roots]:
        with contextlib.suppress(OpaqueRule, ZeroDivisionError):
            return pulled(order, roots, leaves, True)
    return pulled(order, roots, leaves, False)


def _to_repeat(found: Sequence[Any], order: Sequence[Node]) -> bool:
    """Whether a result holds a NaN that may come from a quick rule."""
    quick = None
    for c in found:
        if type(c) is ndarray and c.size > SMALL:
            if quick is None:  # operations on large arrays have none, and to look takes a while
                quick = any(node.quick for node in order)
            if not quick:
                continue
        if c is not None and has_nan(c):
            return True
    return False


def pulled(
    order: Sequence[Node], roots: Sequence[tuple[Node, Array]], leaves: Sequence[Node], quick: bool
) -> list[Array | None]:
    """One pass over the nodes, latest first, in which absent elements are zeros."""
    cts = _started(roots)
    pull_each(order, cts, quick)
    found = []
    for leaf in leaves:
        g = cts.get(leaf)
        found.append(g if type(g) is ndarray else dense(g))
    return found


def pull_each(order: Sequence[Node], cts: Cotangents, quick: bool) -> None:
    """Take the cotangents of the nodes, latest first, and add what they mean for their parents."""
    take = cts.pop
    for node in order:
        g = take(node, None)
        if g is None:
            continue
        if quick and type(g) is ndarray:  # the hot case
            node.pull_quick(cts, g)
            continue
        if type(g) is Buffer:
            g = g.array
            if quick and type(g) is ndarray:
                node.pull_owned(cts, g)
                continue
        if quick and (type(g) in PLAIN or (type(g) is list and node.quick and _raw(g))):
            node.pull_quick(cts, g)
        else:
            if quick and type(g) is list and _is_given_nan(node, g):
                raise OpaqueRule
            if type(node) is StagedNode:
                _pull_staged(node, cts, dense(g))
            else:
                node.pull(cts, dense(g))


def _raw(slots: Sequence[Any]) -> bool:
    """Whether the cotangents of a node with several outputs are arrays and numbers."""
    return all(c is None or type(c) is ndarray or type(c) in PLAIN for c in slots)


def _is_given_nan(node: Node, g: Sequence[Any]) -> bool:
    """Whether code of the user would be given a NaN, which the other pass may know to be absent."""
    return (
        node.prim is not None
        and node.prim.opaque
        and any(c is not None and has_nan(dense(c)) for c in g)
    )


def _started(roots: Sequence[tuple[Node, Array]]) -> Cotangents:
    if len(roots) == 1:
        return dict(roots)
    cts: Cotangents = {}
    for node, g in roots:
        cts[node] = g if node not in cts else add(cts[node], g)
    return cts


def _pull_marked(
    order: Sequence[Node], roots: Sequence[tuple[Node, Array]], leaves: Sequence[Node]
) -> list[Array | None]:
    """One pass over the nodes, latest first, that follows which elements are there."""
    trace = Presence()
    cts = _started(roots)
    around = repeated.line
    try:
        for node in order:
            g = cts.pop(node, None)
            if g is None:
                continue
            repeated.line = _line(node, around)
            pull_marked(node, trace, cts, g)
            if running.watching:
                _look(node, cts, g)
    finally:
        repeated.line = around
    return [trace.dense(dense(cts.get(leaf))) for leaf in leaves]


def _pull_staged(node: StagedNode, cts: Cotangents, g: Any) -> None:
    """`Node.pull`, of which the equations have the line of the operation."""
    around, repeated.line = repeated.line, _line(node, repeated.line)
    try:
        node.pull(cts, g)
    finally:
        repeated.line = around


def _line(node: Node, around: SourceLine | None) -> SourceLine | None:
    """The line of what a rule does: that of the operation, where somebody may ask for it.

    A rule of the user's has lines of its own.
    """
    if node.prim is not None and node.prim.opaque:
        return None
    if type(node) is StagedNode:
        return node.line
    return (line_of(node) if running.watching else None) or around


def _look(node: Node, cts: Cotangents, g: Any) -> None:
    """Raise where the rule of a node has made what is looked for."""
    what = found_in(*(_there(cts[p]) for p in node.parents if p in cts))
    if node.prim is None or not what:
        return
    saved = node.saved if isinstance(node.saved, tuple) else ()
    if not found_in(*(g if type(g) is list else [_there(g)]), *saved):
        raise refuse(what, f"the derivative of {node.prim.name}", place_of(node))


def _there(c: Any) -> Any:
    """A cotangent, also of a sum that is not finished."""
    return getattr(c, "g", c)


def node_of(x: Any, tape: Tape) -> Any:
    inner = x.content() if hasattr(x, "content") else x
    return inner.node if isinstance(inner, Tracer) and inner.owner is tape else None


# ------------------------------------------------------------- transposing linear functions


OF_A_RULE = "; a rule from which the other mode is derived has to be linear in its (co)tangents"


def transpose_linear(
    fn: Callable[..., Any],
    types: Sequence[ArrayType],
    cotangents: Any,
    known: bool = False,
    advice: str = OF_A_RULE,
    seen: bool = False,
) -> list[Array]:
    """The transpose of a linear function of operands of `types`, applied to `cotangents`.

    It is taped at zero, where its value has to be zero, and every node on the way has to be
    linear in what is traced; unless a graph of it has been `seen` to be. Where a node is not, a
    graph is asked, which knows of zeros (`sum` of Python begins with one). With `known` neither is
    looked at: the function is one of ours.
    An error ends with the `advice`.
    """
    with Tape(linear=True) as tape:
        start = map(zeros, types)  # ours: nobody changes them, so they are not watched
        inputs = [tape.tracer(x, leaf_node(type_of(x))) for x in start]
        out = fn(*inputs)
    outputs = [plain(o) for o in (out if isinstance(out, (tuple, list)) else (out,))]
    given = cotangents if isinstance(cotangents, (tuple, list)) else (cotangents,)
    roots = [
        (o.node, g)
        for o, g in zip(outputs, given, strict=True)
        if isinstance(o, Tracer) and o.owner is tape and g is not None
    ]
    if not known:
        if not seen and _not_linear([node for node, _ in roots]):
            graph, captured = stage(fn, types)
            mask = [True] * len(types) + [False] * len(captured)
            require_linear(linear_flow(graph, mask)[0], advice)
        for o in outputs:
            _check_zero(o, advice)
    traced = any(isinstance(o.value, Tracer) for o in outputs if isinstance(o, Tracer))
    found = backward(roots, [x.node for x in inputs], traced)
    return [zeros(t) if c is None else c for c, t in zip(found, types, strict=True)]


def _not_linear(roots: Sequence[Node]) -> bool:
    """Whether a node is not linear in its traced operands, whatever the others are."""
    return any(
        not node.prim.is_linear([p is not None for p in node.parents], node.params)
        for node in reachable(roots)
        if node.prim is not None and node.prim is not PICK
    )


def require_linear(name: str, advice: str = OF_A_RULE) -> None:
    """Raise where an operation of this name keeps a function from being linear; "" is none."""
    if name:
        raise NotDifferentiableError(
            located(f"a function to be transposed is not linear: it applies {name}{advice}")
        )


def _check_zero(x: Array, advice: str) -> None:
    """Raise for what is not zero at zero: an affine function has linear nodes too.

    A NaN is let pass (0 times an infinite factor), and so is what is abstract under `jit`.
    """
    while isinstance(x, Tracer):
        if isinstance(x, StageTracer):
            return
        x = x.value
    if np.any((x != 0) & (x == x)):
        raise NotDifferentiableError(
            located(
                f"a function to be transposed is not linear: its value at zero is not zero{advice}"
            )
        )


MOST_DERIVED = 64  # graphs that a record keeps


def transposed(
    fn: Callable[..., Any],
    operands: Sequence[Array],
    types: Sequence[ArrayType],
    cotangents: Any,
    derived: dict[Any, Any],
    key: Any,
    known: bool = False,
) -> Sequence[Array]:
    """The transpose of ``fn(operands, moving)``, linear in what moves, applied to cotangents.

    Where `key` says what the function is, the transpose of one that comes again is staged, and kept
    in `derived` for operands of these types. With `known` it is surely linear.
    """
    given = cotangents if isinstance(cotangents, (tuple, list)) else (cotangents,)
    count, present = len(operands), [c for c in given if c is not None]

    def whole(*values: Array) -> list[Array]:
        cts = iter(values[count:])
        whole = tuple(None if c is None else next(cts) for c in given)
        apply = lambda *moving: fn(values[:count], moving)
        return transpose_linear(apply, types, whole, known)

    values = (*operands, *present)
    if key is None:
        return whole(*values)
    avals = tuple(map(type_of, values))
    try:
        found = derived.get(key := (key, avals, tuple(c is None for c in given)), 0)
    except TypeError:  # parameters without a hash
        return whole(*values)
    if found == 0:
        if len(derived) >= MOST_DERIVED:
            derived.clear()
        derived[key] = 1
        return whole(*values)
    if found == 1:
        found = derived[key] = _staged(whole, avals)
    return whole(*values) if found is None else _run(found, values)


FEW = 2**14  # elements of all operands up to which a look at each of them costs


def _run(graph: Graph, values: Sequence[Array]) -> Sequence[Array]:
    """The outputs of a graph of ours; of small raw arrays by lines of Python, which is what takes
    1.3 of the time of a rule that is stated where `evaluate` takes 1.5."""
    if running.watching or any(isinstance(x, Tracer) for x in values):
        return evaluate(graph, *values)
    run = graph.derived.get("straight", 0)
    if run == 0:
        small = sum(v.type.size for v in graph.inputs) <= FEW
        raw = small and not any(v.type.weak for v in graph.inputs)
        run = graph.derived["straight"] = straight(graph) if raw else None
    return evaluate(graph, *values) if run is None else run(*values)


def _staged(function: Callable[..., Any], avals: Sequence[ArrayType]) -> Graph | None:
    """The graph of a function, if it can do without the numbers."""
    try:
        graph, consts = stage(function, avals)
    except AbstractValueError:
        return None
    return None if consts else graph


algebra.transposed = transposed
