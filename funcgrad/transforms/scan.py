"""`scan`: a loop with a carry over the rows of arrays, one operation under `jit`.

With numbers at hand it is a Python loop, and costs what the loop written out costs. Where a value
is staged the body is traced once and becomes an operation (`transforms/loop.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import Tracer, staged, twin, type_of
from funcgrad.core.types import Array, ArrayType, promote
from funcgrad.errors import LoopTypeError, located
from funcgrad.graph.build import Trial
from funcgrad.graph.loop import Loop
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.shape import stack
from funcgrad.transforms.arguments import integer, leaves_of, name_of
from funcgrad.transforms.loop import run_loop
from funcgrad.transforms.loop_body import NUMBERS, Body, alike, as_type, invariant, traced
from funcgrad.transforms.results import handed_back, handed_in, own_copy
from funcgrad.transforms.segments import distances

__all__ = ["length_of", "scan", "staged_scan"]

Function = Callable[..., Any]


@boundary
def scan(
    f: Function,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoint: bool | int | Sequence[int] = False,
) -> Any:
    """Run ``carry, y = f(carry, x)`` for each `x` along the first axes of `xs`.

    Parameters
    ----------
    f : callable
        A function of a carry and one row of each array in `xs`, which returns the next carry, with
        the same tree, shapes and dtypes, and what is stacked (a tree of arrays, or None). It may
        close over traced values; gradients reach them.
    init : tree of arrays
        The first carry.
    xs : tree of arrays, shape (length, ...), or None
    length : int, optional
        The number of steps; it is needed where `xs` is None.
    reverse : bool
        Go from the last row to the first. Row `i` of the result still belongs to row `i` of `xs`.
    unroll : int or bool
        Accepted for JAX's sake: compiled loops choose for themselves.
    checkpoint : bool, int or sequence of int
        Keep the carry only every so many steps for the backward pass, √length where it is True,
        and compute what lies between again: the memory of a gradient is that of some √length steps.
        Of several numbers each is smaller than the one before: ``(10_000, 100)`` keeps the carry
        of every 10,000th step, and while it computes such a segment again that of every 100th, so
        a million steps take the memory of 300. The loop is one operation, as under `jit`.

    Returns
    -------
    carry, ys
        The last carry, and the stacked results, of shape (length, ...). All derivatives, `vmap` and
        `jit` go through; under `jit` the loop is one native loop where its body allows it.

    Raises
    ------
    LoopTypeError
        The carry changes its tree, shape or dtype between steps.
    ValueError
        The arrays in `xs` differ in length, or there is none and no `length`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> total, sums = fg.scan(lambda c, x: (c + x, c + x), 0.0, np.array([1.0, 2.0, 3.0]))
    >>> sums
    array([1., 3., 6.])
    >>> fg.grad(lambda a: fg.scan(lambda c, x: (c * a, None), 1.0, length=3)[0])(2.0)
    np.float64(12.0)
    """
    state, carry = leaves_of(init, "the carry of scan")
    rows, definition = leaves_of(xs, "the xs of scan")
    steps = length_of(rows, definition, length)
    body = Body(f, "scan", carry)
    segments = distances(checkpoint, steps, "scan")
    if steps and not segments and not any(map(staged, [*state, *rows])):
        found = _python_scan(body, init, rows, definition, steps, reverse)
        if found is not None:
            return found
    return staged_scan(body, state, rows, definition, steps, reverse, segments)


def length_of(
    rows: Sequence[Array], definition: tree.TreeDef, length: int | None, what: str = "scan"
) -> int:
    """The number of steps; errors call the loop `what`."""
    paths = tree.paths(definition)
    found: list[tuple[str, int]] = []
    for x, path in zip(rows, paths, strict=True):
        shape = type_of(x).shape
        if not shape:
            raise ValueError(
                located(f"{what}: xs{path} is a number, which has no rows to go through")
            )
        found.append((f"xs{path}", shape[0]))
    if length is not None:
        found.append(("length", integer(length, "scan: length must be an integer")))
    if not found:
        raise ValueError(located(f"{what}: without xs it takes length=, the number of steps"))
    if len({n for _, n in found}) > 1:
        told = ", ".join(f"{n} for {name}" for name, n in found)
        raise ValueError(located(f"{what}: the numbers of steps differ: {told}"))
    if found[0][1] < 0:
        raise ValueError(located(f"scan: length is {found[0][1]}, which is negative"))
    return found[0][1]


def _python_scan(
    body: Body, init: Any, rows: Sequence[Array], definition: tree.TreeDef, n: int, reverse: bool
) -> Any:
    """The loop in Python; None where its first step gives values of a graph."""
    carry, types = handed_in(init), [type_of(x) for x in leaves_of(init, "")[0]]
    rows = [twin(x) if isinstance(x, Tracer) else x for x in rows]
    order = range(n - 1, -1, -1) if reverse else range(n)
    trial = Trial()
    ys: list[Any] = []
    before: Any = body  # what was stacked last; at first like nothing
    for done, i in enumerate(order):
        given = [_row(x, i) for x in rows]
        row = given[0] if definition.kind is None else tree.unflatten(definition, given)
        carry, y = _pair(body, body.f(carry, row))
        carry, types = body.handed_on(carry, types)
        if alike(y, before) and (y is None or type(y) in LEAVES):  # the usual case, in few steps
            ys.append([] if y is None else [_as_it_is(y)])
            continue
        before = y
        outputs, made = leaves_of(y, ("what is stacked", body.f))
        if not done and any(map(staged, [*body.next(carry), *outputs])):
            return trial.undo()
        if body.rows is not None and made != body.rows:
            raise LoopTypeError(
                located(
                    f"scan: {name_of(body.f)} returns the trees {body.rows} and {made} to stack"
                )
            )
        body.rows = made
        ys.append([_as_it_is(o) for o in outputs])
    if reverse:
        ys.reverse()
    assert body.rows is not None
    stacked = [_stacked([y[k] for y in ys]) for k in range(body.rows.size)]
    return carry, handed_back(body.rows, stacked)


LEAVES = NUMBERS | {np.ndarray}


def _stacked(rows: Sequence[Any]) -> Array:
    """The rows as one array; Python's numbers among arrays have the dtype of these."""
    if len(set(map(type, rows))) > 1:
        types = list(map(type_of, rows))
        if any(t.weak for t in types) and not all(t.weak for t in types):
            dtype = promote(*types)
            rows = [cast(x, dtype) if t.weak else x for x, t in zip(rows, types, strict=True)]
    return stack(rows)


def _row(x: Any, i: int) -> Any:
    """A row that the step may write into; of what is traced the loop has a twin."""
    row = x[i]
    return row if isinstance(x, Tracer) else own_copy(row)


def _as_it_is(x: Array) -> Array:
    """What a step gives, whose array the next one may write into, as into its carry."""
    if isinstance(x, Tracer):
        made: Array = twin(x)
        return made
    return x.copy("K") if type(x) is np.ndarray else x


def _pair(body: Body, found: Any) -> tuple[Any, Any]:
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(
            located(
                f"{body.what}: {name_of(body.f)} has to return a pair (carry, y), not {found!r}"
            )
        )
    return found[0], found[1]


def staged_scan(
    body: Body,
    state: Sequence[Array],
    rows: Sequence[Array],
    definition: tree.TreeDef,
    n: int,
    reverse: bool = False,
    segments: tuple[int, ...] = (),
) -> Any:
    avals = [ArrayType(t.shape[1:], t.dtype) for t in map(type_of, rows)]

    def flat(*given: Any) -> list[Any]:
        carry = tree.unflatten(body.carry, given[: len(state)])
        found = body.f(carry, tree.unflatten(definition, given[len(state) :]))
        carry, y = _pair(body, found)
        outputs, body.rows = leaves_of(y, ("what is stacked", body.f))
        return [*body.next(carry), *outputs]

    graph, captured, types = traced(body, flat, list(map(type_of, state)), avals)
    graph, constants = invariant(graph, captured)
    first = [as_type(x, t) for x, t in zip(state, types, strict=True)]
    loop = Loop(graph, None, len(constants), len(first), n, reverse, segments=segments)
    operands = [*constants, *first, *rows]
    found = run_loop(loop, operands)
    assert body.rows is not None
    return (
        handed_back(body.carry, body.numbers(found[: len(first)]), operands),
        handed_back(body.rows, found[len(first) :], operands),
    )
