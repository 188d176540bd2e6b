"""`scan`: a loop with a carry over the rows of arrays, one operation under `jit`.

With numbers at hand it is a Python loop, and costs what the loop written out costs. Where a value
is staged the body is traced once and becomes an operation (`transforms/loop.py`).
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from operator import length_hint
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import Tracer, running, staged, twin, type_of
from funcgrad.core.types import Array, ArrayType, promote
from funcgrad.errors import LoopTypeError, located
from funcgrad.graph.build import Trial
from funcgrad.graph.loop import Loop
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.shape import stack
from funcgrad.transforms.arguments import integer, leaves_of, name_of
from funcgrad.transforms.loop import run_loop
from funcgrad.transforms.loop_body import Body, alike, as_type, invariant, traced
from funcgrad.transforms.results import handed_back, handed_in, own_copy
from funcgrad.transforms.segments import distances
from funcgrad.transforms.written_steps import NOTHING, NUMBERS, written

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
    given, trial = _each(rows, n, reverse), Trial()
    made: tree.TreeDef | None = None  # the structure of what is stacked
    stacks: list[_Stack] = []
    before: Any = body  # what was stacked last; at first like nothing
    quick = True
    for row in given:
        found = body.f(carry, tree.unflatten(definition, [row] if len(rows) == 1 else row))
        while found is not NOTHING:
            last = types
            new, y = _pair(body, found)
            carry, types = body.handed_on(new, types)
            outputs, structure = leaves_of(y, ("what is stacked", body.f))
            if made is None:
                if any(map(staged, [*body.next(carry), *outputs])):
                    return trial.undo()
                made, stacks = structure, [_Stack(n, reverse) for _ in outputs]
            elif structure != made:
                raise LoopTypeError(
                    located(
                        f"scan: {name_of(body.f)} returns the trees {made} and {structure} to stack"
                    )
                )
            for each, x in zip(stacks, outputs, strict=True):
                each.rows.append(_as_it_is(x))
            same, before, found = alike(y, before) and types is last, y, NOTHING
            if not (quick and same):
                continue
            steps = written("scan", carry, y, definition)
            quick = steps is not None
            if steps is not None:
                places = [each.place() for each in stacks]
                done = len(stacks[0].rows) if stacks else 0
                order = iter(range(n - 1 - done, -1, -1) if reverse else range(done, n))
                carry, found = steps.run(body.f, carry, given, order, places, *steps.given)
                more = n - done - length_hint(order) - (found is not NOTHING)
                arrays = [each.took(more) for each in stacks]
                quick = not any(arrays)  # which have room for all steps already
    assert made is not None
    body.rows = made
    return carry, handed_back(made, [each.whole() for each in stacks])


class _Stack:
    """What the steps return for one leaf of what is stacked, in their order.

    Arrays are written into one of all rows; for numbers a list is quicker.
    """

    def __init__(self, n: int, reverse: bool) -> None:
        self.rows: list[Any] = []
        self.array: np.ndarray[Any, Any] | None = None
        self.n, self.reverse = n, reverse

    def place(self) -> Any:
        """Where steps put what is like the last one: an array, or a function that appends."""
        last = self.rows[-1]
        if type(last) is not np.ndarray:
            return self.rows.append
        self.array = np.empty((self.n, *last.shape), last.dtype)
        return self.array

    def took(self, more: int) -> bool:
        """So many more steps have put something into the array, if there is one."""
        if self.array is None:
            return False
        array = self.array[::-1] if self.reverse else self.array
        done = len(self.rows)
        if done + more == self.n and all(alike(x, array[0]) for x in self.rows):
            for k, x in enumerate(self.rows):
                array[k] = x
        else:
            self.rows += list(array[done : done + more])
            self.array = None
        return True

    def whole(self) -> Array:
        if self.array is not None:
            return self.array
        return _stacked(self.rows[::-1] if self.reverse else self.rows)


def _each(rows: Sequence[Array], n: int, reverse: bool) -> Iterator[Any]:
    """The row of each step, or of several arrays a tuple of them."""
    each = [_rows(x, n, reverse) for x in rows]
    if len(each) == 1:
        return each[0]
    return zip(*each, strict=True) if each else repeat((), n)


def _rows(x: Array, n: int, reverse: bool) -> Iterator[Any]:
    """The rows, which a step may write into; of what is traced the loop has a twin."""
    if isinstance(x, Tracer):
        x = twin(x)
        return builtins.map(x.__getitem__, range(n - 1, -1, -1) if reverse else range(n))
    assert isinstance(x, np.ndarray)
    if reverse:
        x = x[::-1]
    if x.ndim == 1:
        return iter(x)
    return builtins.map(own_copy if running.count else np.ndarray.__copy__, x)


def _stacked(rows: Sequence[Any]) -> Array:
    """The rows as one array; Python's numbers among arrays have the dtype of these."""
    kinds = dict(zip(map(type, rows), rows, strict=True))  # one of each
    if kinds.keys() <= NUMBERS.keys():
        with contextlib.suppress(OverflowError):  # of integers beyond 64 bits
            return np.array(rows, _dtype(list(map(type_of, kinds.values()))))
    if len(kinds) > 1:
        types = list(map(type_of, rows))
        dtype = _dtype(types)
        if not all(t.weak for t in types):
            rows = [cast(x, dtype) if t.weak else x for x, t in zip(rows, types, strict=True)]
    return stack(rows)


def _dtype(types: Sequence[ArrayType]) -> np.dtype[Any]:
    strong = [t.dtype for t in types if not t.weak]
    if 0 < len(strong) < len(types):
        return promote(*types)
    return np.result_type(*(t.dtype for t in types))


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
