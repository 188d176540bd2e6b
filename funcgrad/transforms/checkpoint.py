"""`checkpoint`: keep the inputs of a function and compute the rest again in the backward pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, overload

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.forms import HigherOrder
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Tracer, bind, type_of
from funcgrad.core.types import Array, is_inexact
from funcgrad.graph.build import Stage, stage
from funcgrad.graph.effects import quiet
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Equation
from funcgrad.graph.layouts import through
from funcgrad.graph.linearity import Flow, linear_flow
from funcgrad.passes.partition import Saves
from funcgrad.transforms.arguments import leaves_of, lower, positions
from funcgrad.transforms.call import (
    CallPullback,
    batched_graph,
    call_graph,
    joined_marks,
    marked_graph,
    reverse_graphs,
    split_marks,
    tangent_graph,
)
from funcgrad.transforms.results import apart, handed_back
from funcgrad.transforms.reverse import Tape, backward
from funcgrad.transforms.signatures import P, R, SameType
from funcgrad.transforms.static import Static
from funcgrad.transforms.transformed import transformed

__all__ = ["checkpoint"]

Function = Callable[..., Any]
Policy = Callable[..., Any]
scopes = count(1)


class Recompute(Primitive):
    """The node of a checkpointed call: it has the operands, and runs the graph again."""

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        marks = node.params["marks"]
        with _Scope([*node.saved, *(c for c in g if c is not None)]), Tape(marks=marks) as tape:
            inputs = [
                tape.input(x) if p is not None else x
                for x, p in zip(node.saved, node.parents, strict=True)
            ]
            outs = evaluate(quiet(node.params["graph"]), *inputs)
            roots = [
                (o.node, c)
                for o, c in zip(outs, g, strict=True)
                if c is not None and isinstance(o, Tracer) and o.owner is tape
            ]
            leaves = [x.node for x, p in zip(inputs, node.parents, strict=True) if p is not None]
            traced = any(isinstance(x, Tracer) for x in node.saved)
            found = iter(backward(roots, leaves, traced, marks=marks))
            for o in outs:
                lower(o, tape)
        return [None if p is None else next(found) for p in node.parents]


class _Scope:
    """While it runs, the graphs that are being staged keep what is computed again apart."""

    def __init__(self, values: Sequence[Array]) -> None:
        self.stages: list[tuple[Stage, int]] = []
        for x in values:
            while isinstance(x, Tracer):
                if isinstance(x.owner, Stage):
                    if all(x.owner is not s for s, _ in self.stages):
                        self.stages.append((x.owner, x.owner.scope))
                    break
                x = x.value

    def __enter__(self) -> None:
        scope = next(scopes)
        for s, _ in self.stages:
            s.scope = scope

    def __exit__(self, *_: object) -> None:
        for s, before in self.stages:
            s.scope = before


class Checkpoint(HigherOrder):
    """A graph whose intermediate values are not kept."""

    lies = staticmethod(through)
    wraps = True

    def linear_flow(self, mask: Sequence[Flow], params: Params) -> tuple[str, list[Flow]]:
        return linear_flow(params["graph"], mask)

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        if trace.linear:
            return evaluate(params["graph"], *args)
        nodes, xs, _ = trace.split(args)
        moving = tuple(
            n if is_inexact(type_of(x).dtype) else None for n, x in zip(nodes, xs, strict=True)
        )
        if "saves" in params:
            return _partly(trace, params, moving, xs)
        outs = bind(self, xs, params)
        kept = [x if n is not None else trace.keep(x) for x, n in zip(xs, nodes, strict=True)]
        return trace.record_multiple(
            RECOMPUTE, moving, {**params, "marks": trace.marks}, kept, outs
        )

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, ts = trace.split(args)
        moving = tuple(t is not None for t in ts)
        made, has = tangent_graph(params["graph"], moving, trace.marks)
        given = (*xs, *(t for t in ts if t is not None))
        results = bind(self, given, {**params, "graph": made})
        outputs = len(params["graph"].outputs)
        moved = iter(results[outputs:])
        return tuple(
            trace.dual(o, next(moved) if h else None)
            for o, h in zip(results[:outputs], has, strict=True)
        )

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, batched = trace.split(args)
        made = batched_graph(params["graph"], trace.size, tuple(batched))
        found: Any = trace.results(self, args, params, bind(self, xs, {**params, "graph": made}))
        return found

    def mark(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, marks = split_marks(trace, args)
        made, has = marked_graph(params["graph"], marks)
        return joined_marks(trace, bind(self, xs, {**params, "graph": made}), has)


def _partly(trace: Any, params: Params, moving: Any, xs: Sequence[Array]) -> Any:
    """A call of which the results of some operations are kept, besides the operands."""
    graph = params["graph"]
    mask = tuple(n is not None for n in moving)
    one, two = reverse_graphs(graph, mask, trace.marks, params["saves"])
    results = call_graph(one, *xs)
    count, raw = len(graph.outputs), {id(x) for x in xs}
    residuals = [trace.keep(r) if id(r) in raw else r for r in results[count:]]
    return trace.record_multiple(SAVED, moving, {"graph": two}, residuals, results[:count])


class Saved(CallPullback):
    """The node of such a call: what is computed again stands in a scope of its own."""

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        with _Scope([*node.saved, *(c for c in g if c is not None)]):
            return super().vjp(node, g)


CHECKPOINT = Checkpoint("checkpoint", lambda *xs, graph, saves=None: evaluate(graph, *xs))
SAVED = Saved("checkpoint_saved", lambda *_: ())
RECOMPUTE = Recompute("checkpoint_pullback", lambda *_: ())


@overload
def checkpoint(
    f: Callable[P, R],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Callable[P, R]: ...
@overload
def checkpoint(
    f: None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> SameType: ...
def checkpoint(
    f: Function | None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Any:
    """`f` with its intermediate values computed again in the backward pass instead of kept.

    Parameters
    ----------
    f : callable
        A function of trees of arrays. It is traced on abstract values, as under `jit`: Python
        branches on values raise `AbstractValueError`. Traced values over which it closes are
        adopted as further arguments, so gradients reach them.
    prevent_cse : bool, optional
        Accepted: what is computed again is never merged with what it computes again.
    policy : callable, optional
        Which results are kept nevertheless: one of `checkpoint_policies`, or a function
        ``policy(primitive, *types, **params)`` of an operation, the types of its operands and its
        parameters. Of those that it allows, what the backward pass needs and is smallest is kept.
    static_argnums, static_argnames : optional
        Arguments that `f` gets as they are: they need not be arrays.

    Effects, as lines that `debug.print` prints, happen once: not again when it is computed again.

    Returns
    -------
    callable
        The same value and derivatives of every order, with the memory of the arguments, and of
        what the policy keeps, at the cost of a second evaluation.

    See Also
    --------
    checkpoint_name : name a value for policies.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(fg.checkpoint(lambda x: np.sin(np.exp(x))))(0.0)
    np.float64(0.5403023058681398)
    >>> layer = fg.checkpoint(
    ...     lambda x, w: np.tanh(x @ w), policy=fg.checkpoint_policies.dots_saveable
    ... )
    >>> fg.grad(lambda w: layer(np.ones(2), w).sum())(np.zeros((2, 1)))
    array([[1.],
           [1.]])
    """
    if f is None:
        return functools.partial(
            checkpoint,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
        )
    places = positions(static_argnums, "checkpoint: static_argnums")
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    chosen = Static(f, places, names)
    more = {} if policy is None else {"saves": _saves(policy)}

    @transformed(
        checkpoint,
        f,
        policy=policy,
        static_argnums=places or None,
        static_argnames=names or None,
    )
    @boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        static, dynamic, named = chosen.divide(args, kwargs)
        leaves, definition = leaves_of((dynamic, named), ("the arguments", f))
        out: list[tree.TreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            new_args, new_kwargs = tree.unflatten(definition, xs)
            made = f(*Static.merge(static, new_args), **new_kwargs, **dict(static[1]))
            outputs, out_definition = leaves_of(made, ("the output", f))
            out.append(out_definition)
            return outputs

        graph, consts = stage(flat, [type_of(x) for x in leaves], leaves)
        given = [*leaves, *consts]
        found = bind(CHECKPOINT, given, {"graph": graph, **more})
        return handed_back(out[0], apart(found, [*given, *(a for _, a in graph.constants)]))

    return wrapped


@functools.lru_cache(256)
def _saves(policy: Policy) -> Saves:
    """The policy as the compiler asks it: the same function for the same policy."""

    def saves(e: Equation) -> bool:
        return bool(policy(e.prim, *(a.type for a in e.inputs), **e.params))

    return saves
