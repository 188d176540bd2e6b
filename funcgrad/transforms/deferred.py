"""How a transform calls its function: a long one becomes a graph with loops first.

Under `jit` a Python loop is traced step by step, and a derivative follows each of the steps again:
the program is several times as long, until its loops are found (`rolling`). So where a function
has turned out long within a transform, staging begins anew, and from then on each transform
stages its function alone, looks for loops, and transforms these: their derivatives are made once,
of one step. A function whose values can be looked at is never deferred.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from funcgrad import tree
from funcgrad.core.tracer import Operand, Trace, Tracer, operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import LaterTransformError, LeakedTracerError
from funcgrad.graph.build import Stage, StageTracer, finish, holds
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph, Var
from funcgrad.ops.storage import OlderWrites, write
from funcgrad.transforms.rolling import rolled
from funcgrad.transforms.selection_sizes import sizes_of

__all__ = ["applied", "deferring", "deferring_if_long"]

Function = Callable[..., Any]
T = TypeVar("T")
LONG = 1024  # equations of a function, from which on it is worth to begin anew


class _LongFunction(BaseException):
    """Raised where a function turns out long: whoever stages shall begin anew."""


class _State(threading.local):
    """What holds while a thread stages."""

    on = False  # whether functions are deferred
    again: Callable[[], bool] | None = None  # whether it may begin anew, where somebody would

    def __init__(self) -> None:
        self.notes: list[str] = []  # what is said of the loops that were found
        self.changed = False  # whether an array was written into after it was used


deferring = _State()


def deferring_if_long(run: Callable[[], T], may_repeat: Callable[[], bool]) -> T:
    """What ``run()`` stages; where a transformed function in it is long, a second time, deferred.

    Not if it may not be repeated, because the first time has drawn random numbers, say, or has
    written into an array of an outer transform; nor where the function hands on, past its results,
    what the transform does not follow.
    """
    if deferring.on or deferring.again is not None:
        return run()
    deferring.notes, deferring.changed = [], False
    with OlderWrites() as writes:
        return _twice_if_long(run, may_repeat, writes)


def _twice_if_long(run: Callable[[], T], may_repeat: Callable[[], bool], writes: OlderWrites) -> T:
    try:
        deferring.again = lambda: may_repeat() and not writes.happened()
        with contextlib.suppress(_LongFunction):
            return run()
        deferring.on, deferring.again = True, None
        try:
            return run()
        except (LaterTransformError, LeakedTracerError):
            if writes.happened():
                raise
            deferring.on = False
            return run()
    finally:
        deferring.on, deferring.again = False, None


def applied(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], trace: Trace
) -> Any:
    """``f(*args, **kwargs)``, whose arguments hold values of `trace`."""
    if not deferring.on and deferring.again is None:
        return f(*args, **kwargs)
    stage = _stage_below(args, kwargs, trace)
    if stage is None:
        return f(*args, **kwargs)
    if deferring.on:
        return _by_graph(f, args, kwargs, trace)
    if stage.limit < sys.maxsize:
        return f(*args, **kwargs)
    stage.limit, stage.full = len(stage.equations) + LONG, _begin_anew
    try:
        found = f(*args, **kwargs)
    except Exception:
        _check_length(stage)
        raise
    else:
        _check_length(stage)
        return found
    finally:
        stage.limit = sys.maxsize


def _begin_anew() -> int:
    """Let the program be staged anew; where it may not be repeated, it is as long as it is."""
    if deferring.again is not None and deferring.again():
        raise _LongFunction
    return sys.maxsize


def _check_length(stage: Stage) -> None:
    """Begin anew for a long function even if its code has caught what said so."""
    if len(stage.equations) >= stage.limit:
        stage.full()


def _stage_below(args: Sequence[Any], kwargs: dict[str, Any], trace: Trace) -> Stage | None:
    """The graph that all values of the trace belong to; None where one can be looked at."""
    found = None
    for x in tree.leaves((args, kwargs)):
        if isinstance(x, Tracer) and x.owner is trace:
            found = _stage_of(x.value)
            if found is None:
                return None
    return found


def _stage_of(x: Any) -> Stage | None:
    while isinstance(x, Tracer):
        if isinstance(x.owner, Stage):
            return x.owner
        x = x.value
    return None


def _by_graph(f: Function, args: Sequence[Any], kwargs: dict[str, Any], trace: Trace) -> Any:
    """`f` staged alone, and its graph applied to its arguments."""
    with Stage() as inner:
        given: list[tuple[Tracer, StageTracer, Var]] = []

        def inside(x: Any) -> Any:
            if not isinstance(x, Tracer) or _stage_of(x) is None:
                return x
            made = inner.input(type_of(x), x)
            given.append((x, made, made.variable))
            return made

        out = f(*tree.map(inside, tuple(args)), **tree.map(inside, dict(kwargs)))
        leaves, definition = tree.flatten(out)
        leaves = [_content(x) for x in leaves]
        where = [k for k, x in enumerate(leaves) if isinstance(x, Tracer) and x.owner is inner]
        written = [(x, made) for x, made, v in given if made.variable is not v]
        ends = [*(leaves[k] for k in where), *(made for _, made in written)]
        graph, consts = finish(inner, [v for _, _, v in given], ends)
        graph = _with_own_arrays(graph, inner)
    if not sizes_of(graph):
        graph, notes = rolled(graph)
        deferring.notes += notes
    found = evaluate(graph, *(x for x, _, _ in given), *consts)
    for k, x in zip(where, found, strict=False):
        leaves[k] = x
    for (x, _), new in zip(written, found[len(where) :], strict=True):
        if x.owner is not trace:  # whose values nobody else has
            write(x, new)
    return tree.unflatten(definition, leaves)


def _content(x: Any) -> Any:
    """A leaf of what a function returned; a traced one without the box that it lies in."""
    if isinstance(x, Operand):
        inside = x.content()
        return inside if isinstance(inside, Tracer) else x
    if getattr(getattr(x, "dtype", None), "char", "") == "O":
        return operand(x)
    return x


def _with_own_arrays(graph: Graph, stage: Stage) -> Graph:
    """The graph with the user's arrays for the copies of them, by which the caller knows them."""
    own = {v: a for v, _, a in stage.constants.values()}
    constants: list[tuple[Any, Array]] = []
    for v, kept in graph.constants:
        same = holds(own[v], kept)
        deferring.changed |= not same
        constants.append((v, own[v] if same else kept))
    return Graph(graph.inputs, graph.equations, graph.outputs, tuple(constants))
