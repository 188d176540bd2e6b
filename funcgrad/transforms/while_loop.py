"""`while_loop` and `fori_loop`: loops whose steps may depend on what is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from operator import length_hint
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import concrete, operand, staged, type_of, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import LoopLimitError, LoopTypeError, located
from funcgrad.graph.build import Trial, stage
from funcgrad.graph.ir import Graph, Var
from funcgrad.graph.loop import Loop
from funcgrad.ops.arithmetic import cast, less
from funcgrad.transforms.arguments import integer, leaves_of, name_of
from funcgrad.transforms.loop import run_loop
from funcgrad.transforms.loop_body import (
    Body,
    alike,
    as_type,
    invariant,
    number,
    on_arrays,
    once,
    traced,
    types_of,
)
from funcgrad.transforms.loop_graphs import INTEGER
from funcgrad.transforms.results import handed_back, handed_in
from funcgrad.transforms.scan import staged_scan
from funcgrad.transforms.segments import distances
from funcgrad.transforms.written_steps import NOTHING, written

__all__ = ["fori_loop", "while_loop"]

Function = Callable[..., Any]
ROWS = 2**20  # steps of which the indices are kept: what depends on them alone leaves the loop


@boundary
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Function,
    init_val: Any,
    *,
    unroll: int | bool | None = None,
    checkpoint: bool | int | Sequence[int] = False,
) -> Any:
    """``for i in range(lower, upper): val = body_fun(i, val)``.

    Parameters
    ----------
    lower, upper : int
        The bounds. They may be traced.
    body_fun : callable
        A function of the index and the value, which returns the next value, with the same tree,
        shapes and dtypes. It may close over traced values; gradients reach them.
    init_val : tree of arrays
    unroll : int or bool
        Accepted for JAX's sake.
    checkpoint : bool, int or sequence of int
        How far apart values are kept for the backward pass, as of `scan`; where a bound is traced,
        as of `while_loop`.

    Returns
    -------
    tree
        The last value. All derivatives go through, reverse mode also where a bound is traced.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: fg.fori_loop(0, 4, lambda i, v: v * x + i, 1.0))(2.0)
    np.float64(38.0)
    """
    bounds = [operand(b) for b in (lower, upper)]
    for b in bounds:
        aval = type_of(b)
        if aval.shape or aval.dtype.kind not in "iu":
            raise TypeError(located(f"fori_loop: a bound has type {aval}; bounds are integers"))
    if not all(concrete(b) for b in bounds):
        _, found = while_loop(
            lambda c: less(c[0], bounds[1]),
            lambda c: (c[0] + 1, body_fun(c[0], c[1])),
            (number(cast(bounds[0], INTEGER.dtype)), init_val),
            checkpoint=checkpoint,
        )
        return found
    first, last = (int(value(b)) for b in bounds)
    count = max(last - first, 0)
    segments = distances(checkpoint, count, "fori_loop")

    state, definition = leaves_of(init_val, "the initial value of fori_loop")
    body = Body(body_fun, "fori_loop", definition)
    if segments:
        return _counted(body, state, first, count, segments)
    val = handed_in(init_val)
    types, trial = list(types_of(state)), Trial()
    if count and not any(map(staged, state)):
        indices = iter(range(first, last))
        val, types = body.handed_on(body_fun(next(indices), val), types)
        if not any(map(staged, body.next(val))):
            return _rest(body, indices, val, types)
    elif not count and not _may_change(types):
        return val
    trial.undo()
    return _counted(body, state, first, count, segments)


def _rest(body: Body, indices: Iterator[int], val: Any, types: list[ArrayType]) -> Any:
    """The steps of `fori_loop` in Python that follow the first one."""
    quick = True
    for i in indices:
        before = types
        val, types = body.handed_on(body.f(i, val), types)
        steps = written("fori", val) if quick and types is before else None
        if types is before:
            quick = steps is not None
        if steps is not None:
            val, new = steps.run(body.f, val, indices, *steps.given)
            if new is not NOTHING:
                val, types = body.handed_on(new, types)
    return val


def _may_change(types: Sequence[ArrayType]) -> bool:
    """Whether a step might have made an array of another dtype of a value: of Python's numbers.

    What a loop without steps returns has the dtypes that it has after some; only tracing tells.
    """
    return any(t.weak for t in types)


def _counted(
    body: Body, state: Sequence[Array], first: int, count: int, segments: tuple[int, ...]
) -> Any:
    """The loop of so many steps: the index is a row where memory for all of them is small."""
    definition = body.carry
    if count <= ROWS:

        def step(carry: Any, i: Any) -> Any:
            return body.f(number(i), carry), None

        step.__qualname__ = name_of(body.f)  # whose name errors tell
        inner, rows = Body(step, "fori_loop", definition), [np.arange(first, first + count)]
        return staged_scan(inner, state, rows, tree.LEAF, count, segments=segments)[0]

    def counting(carry: Any, _: Any) -> Any:
        i, value = carry
        return (i + 1, body.f(i, value)), None

    both = tree.flatten((0, tree.unflatten(definition, state)))[1]
    inner, nothing = Body(counting, "fori_loop", both), tree.flatten(None)[1]
    found, _ = staged_scan(inner, [first, *state], [], nothing, count, segments=segments)
    return found[1]


@boundary
def while_loop(
    cond_fun: Function,
    body_fun: Function,
    init_val: Any,
    *,
    max_steps: int | None = None,
    checkpoint: bool | int | Sequence[int] = False,
) -> Any:
    """``while cond_fun(val): val = body_fun(val)``.

    Parameters
    ----------
    cond_fun : callable
        A function of the value that returns a bool, a scalar.
    body_fun : callable
        A function of the value that returns the next one, with the same tree, shapes and dtypes.
        Both may close over traced values; gradients reach what `body_fun` closes over.
    init_val : tree of arrays
    max_steps : int, optional
        The most steps that are to be run. Reverse mode under `jit` then has memory for the values
        of so many; without it, it keeps those of 256 steps, and of what follows a value every 256
        and every 65,536 steps, from which the others are computed again (up to 2²⁴ steps).
    checkpoint : bool, int or sequence of int
        How far apart values are kept for the backward pass, as of `scan`: √max_steps where it is
        True. Without `max_steps` it is 256 then, and one more distance is added so that 2²⁴ steps
        have a place. The loop is one operation, as under `jit`.

    Returns
    -------
    tree
        The first value for which `cond_fun` does not hold. All derivatives go through, reverse mode
        too. Under `vmap` each example runs its own steps; those that have ended change no more.

    Raises
    ------
    LoopTypeError
        The value changes its tree, shape or dtype, or `cond_fun` returns no scalar bool.
    LoopLimitError
        The condition still holds after `max_steps`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> root = lambda a: fg.while_loop(lambda x: abs(x * x - a) > 1e-12,
    ...                                lambda x: 0.5 * (x + a / x), a)
    >>> round(float(fg.grad(root)(4.0)), 9)
    0.25
    """
    if max_steps is not None:
        max_steps = integer(max_steps, "while_loop: max_steps must be an integer")
        if max_steps < 0:
            raise ValueError(located(f"while_loop: max_steps is {max_steps}; it is 0 or more"))
    segments = distances(checkpoint, max_steps, "while_loop")
    state, definition = leaves_of(init_val, "the initial value of while_loop")
    body = Body(body_fun, "while_loop", definition)
    val, done, types = handed_in(init_val), 0, types_of(state)
    leaves, trial = state, Trial()
    held, quick = NOTHING, True
    while not segments and not any(map(staged, leaves)):
        held = _predicate(cond_fun, cond_fun(val) if held is NOTHING else held)
        if not concrete(held):
            break
        if not value(held):
            if not done and _may_change(types):
                break
            return val
        if done == max_steps:
            raise LoopLimitError(
                located(
                    f"while_loop has run {max_steps} steps, its max_steps, and {name_of(cond_fun)} "
                    "still holds"
                )
            )
        new, held = body_fun(val), NOTHING
        done += 1
        if alike(new, body.last):
            val, new = new, NOTHING
            kind = "while" if max_steps is None else "while within"
            steps = written(kind, val) if quick else None
            quick = steps is not None
            if steps is not None:
                times = repeat(None) if max_steps is None else repeat(None, max_steps - done)
                held, val, new = steps.run(cond_fun, body_fun, val, times, *steps.given)
                if max_steps is not None:
                    done = max_steps - length_hint(times)
                if held is True:
                    held = NOTHING
                else:  # which is looked at, and its step has not been made
                    done, quick = done - 1, False
        if new is not NOTHING:
            val, types = body.handed_on(new, types)
            leaves = body.next(val)
    trial.undo()
    return _staged_while(body, cond_fun, state, max_steps, segments)


def _predicate(cond_fun: Function, held: Any) -> Any:
    """What a condition has returned, which is a bool."""
    if type(held) is np.bool_ or type(held) is bool:
        return held
    held = operand(held)
    aval = type_of(held)
    if aval.shape or aval.dtype.kind != "b":
        raise LoopTypeError(
            located(
                f"while_loop: {name_of(cond_fun)} returns a value of type {aval}; a condition is a "
                "single bool"
            )
        )
    return held


def _staged_while(
    body: Body,
    cond_fun: Function,
    state: Sequence[Array],
    max_steps: int | None,
    segments: tuple[int, ...],
) -> Any:
    def flat(*given: Any) -> list[Any]:
        return body.next(body.f(tree.unflatten(body.carry, given)))

    graph, captured, types = traced(body, flat, types_of(state), [])
    graph, constants = invariant(graph, captured)
    test, more = stage(
        lambda *xs: [_predicate(cond_fun, cond_fun(tree.unflatten(body.carry, body.numbers(xs))))],
        types,
        body=once("the condition of while_loop"),
    )
    test = on_arrays(test)
    count = len(types)
    before = len(constants)
    inputs = tuple(Var(v.type, -1 - k) for k, v in enumerate(graph.inputs[:before]))
    own = (*inputs, *test.inputs[count:], *test.inputs[:count])
    condition = Graph(own, test.equations, test.outputs, test.constants)
    unread = tuple(Var(v.type, -1 - k) for k, v in enumerate(test.inputs[count:]))
    whole = Graph(
        (*graph.inputs[:before], *unread, *graph.inputs[before:]),
        graph.equations,
        graph.outputs,
        graph.constants,
    )
    operands = [*constants, *more, *(as_type(x, t) for x, t in zip(state, types, strict=True))]
    held, most = before + len(more), max_steps
    loop = Loop(whole, condition, held, count, most, strict=most, segments=segments)
    found = run_loop(loop, operands)
    return handed_back(body.carry, body.numbers(found[:count]), operands)
