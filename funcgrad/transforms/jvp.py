"""Forward mode: `jvp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import type_of
from funcgrad.core.types import ArrayType
from funcgrad.ops.arithmetic import cast
from funcgrad.transforms.arguments import (
    check_matches,
    leaves_of,
    lower,
)
from funcgrad.transforms.deferred import applied
from funcgrad.transforms.forward import DualTracer, Forward
from funcgrad.transforms.optimism import MarksNeededError, optimistic
from funcgrad.transforms.results import (
    apart,
    handed_back,
    lowered,
    own,
    untraced,
    with_aux,
    zero_tangent,
)
from funcgrad.transforms.signatures import R

__all__ = ["jvp", "moved_along", "pushforward"]

Function = Callable[..., Any]


@overload
def jvp(
    f: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
) -> tuple[R, R]: ...
@overload
def jvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool) -> Any: ...
@boundary
def jvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of `f` and its derivative along `tangents`, in forward mode.

    Parameters
    ----------
    f : callable
        Its output may be any tree of arrays.
    primals, tangents : tuple
        The arguments and the direction: trees of the same structure, shapes and dtypes.
    has_aux : bool, optional
        `f` returns ``(output, aux)``.

    Returns
    -------
    output, tangent[, aux]
        The tangent is a tree like the output; integer leaves have one of dtype ``float0``.

    Raises
    ------
    CotangentError
        A tangent has another tree, shape or dtype than its primal.

    Notes
    -----
    Forward mode: the cost is about twice that of `f`, for each direction. No intermediate value is
    kept. Where the tangent has a NaN, `f` is called a second time, to follow which elements a
    `where` or an index did not take; what it then returns is the result. It must not have written
    into an array of an outer transform by then (`LaterTransformError`).

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    return pushforward(f, primals, tangents, has_aux)


def pushforward(
    f: Function, primals: Any, tangents: Any, has_aux: bool = False, marks: bool = True
) -> Any:
    """`jvp`; without `marks` it does not follow which elements are there."""
    given = _checked(primals, tangents)
    if not marks:
        return _run(f, given, has_aux, Forward(marks=False))[0]
    looked_at = [t for t in (*given[0], *given[3]) if t is not None]
    return optimistic(lambda marked: _moved(f, given, has_aux, marked), looked_at)


def moved_along(
    f: Function, primals: Any, tangents: Any, marked: bool, has_aux: bool = False
) -> Any:
    """The tangent of `jvp`, which follows which elements are there only if `marked`.

    With `has_aux`, what `f` returned besides, too.
    """
    _, moved, *aux = _moved(f, _checked(primals, tangents), has_aux, marked)[0]
    return (moved, *aux) if has_aux else moved


Given = tuple[list[Any], tree.TreeDef, list[ArrayType], Sequence[Any]]


def _checked(primals: Any, tangents: Any) -> Given:
    """The leaves of the primals, their tree and types, and the tangents."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp takes primals and tangents as tuples, one item for each argument")
    leaves, definition = leaves_of(tuple(primals), "the primals")
    types = [type_of(x) for x in leaves]
    ts = check_matches(tuple(tangents), definition, types, "the tangent")
    return leaves, definition, types, ts


def _moved(f: Function, given: Given, has_aux: bool, marked: bool) -> tuple[Any, list[Any]]:
    """The result of `jvp`, and the leaves of its tangent."""
    trace = Forward(marked)
    try:
        found = _run(f, given, has_aux, trace)
    except Exception:
        if trace.spoiled:
            raise MarksNeededError from None
        raise
    if trace.spoiled:
        raise MarksNeededError
    return found


def _run(f: Function, given: Given, has_aux: bool, trace: Forward) -> tuple[Any, list[Any]]:
    leaves, definition, types, ts = given
    aux = None
    with trace:
        duals = [
            x if t is None else DualTracer(x, trace, cast(t, aval.dtype))
            for x, t, aval in zip(leaves, ts, types, strict=True)
        ]
        out = applied(f, tree.unflatten(definition, duals), {}, trace)
        if has_aux:
            out, aux = with_aux(out, f)
            aux = lowered(aux, trace)
        outputs, out_definition = leaves_of(out, ("the output", f))
        moved = [trace.tangent(o) for o in outputs]
        values = apart([lower(o, trace) for o in outputs], [*leaves, *untraced(outputs)])
    derivatives = [t for t in moved if t is not None]
    moved = own(
        [zero_tangent(v) if t is None else t for v, t in zip(values, moved, strict=True)],
        [*ts, *values],
    )
    result = (handed_back(out_definition, values), handed_back(out_definition, moved))
    return ((*result, aux) if has_aux else result), derivatives
