"""`linearize`: the derivative at a point as a function of tangents.

Forward mode is run on the primals as they are and on tangents that are staged. What depends on
primals alone is computed there and then, so the graph holds the linear part and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from funcgrad import tree
from funcgrad.core.boundary import boundary, bounded
from funcgrad.core.tracer import plain, running, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact
from funcgrad.graph.build import stage
from funcgrad.ops.arithmetic import cast
from funcgrad.transforms.arguments import check_matches, leaves_of, no_tangent
from funcgrad.transforms.call import call_graph
from funcgrad.transforms.jvp import pushforward
from funcgrad.transforms.results import handed_back, own
from funcgrad.transforms.signatures import R
from funcgrad.transforms.transformed import derived

__all__ = ["linearize"]

Function = Callable[..., Any]


@overload
def linearize(
    f: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(f: Function, *primals: Any, has_aux: bool) -> Any: ...
@boundary
def linearize(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `f` and its derivative at `primals` as a linear function of tangents.

    Parameters
    ----------
    f : callable
        Its output may be any tree of arrays. It runs once.
    *primals
        Its arguments: trees of arrays.
    has_aux : bool, optional
        `f` returns ``(output, aux)``.

    Returns
    -------
    output, push[, aux]
        ``push(*tangents)`` takes trees like `primals` and returns a tree like `output`. It may be
        called several times, and costs what `jvp` costs beyond the function itself.

    Raises
    ------
    CotangentError
        A tangent has another tree, shape or dtype than its primal.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> y, push = fg.linearize(lambda x: x**2, 3.0)
    >>> push(1.0), push(0.5)
    (np.float64(6.0), np.float64(3.0))
    """
    return linearized(f, primals, True, has_aux)


def linearized(
    f: Function, primals: Sequence[Any], marks: bool = True, has_aux: bool = False
) -> Any:
    """`linearize`; without `marks` it does not follow which elements are there."""
    leaves, definition = leaves_of(tuple(primals), "the primals")
    types = [type_of(x) for x in leaves]
    moving = [i for i, t in enumerate(types) if is_inexact(t.dtype)]
    outputs: list[Any] = []

    def pushed(*ts: Array) -> list[Array]:
        given = [no_tangent(t) for t in types]
        for i, t in zip(moving, ts, strict=True):
            given[i] = t
        tangents = tree.unflatten(definition, given)
        out, moved, *more = pushforward(f, tuple(primals), tangents, has_aux, marks)
        outputs[:] = [out, *more]
        return [t for t, o in zip(*map(tree.leaves, (moved, out)), strict=True) if _moves(o)]

    graph, consts = stage(
        pushed, [ArrayType(types[i].shape, types[i].dtype) for i in moving], acting=False
    )
    if not running.count:  # no transform is left for which results are boxed
        outputs = tree.map(plain, outputs)
    out, *aux = outputs
    found, out_definition = tree.flatten(out)

    @bounded
    def push(*tangents: Any) -> Any:
        ts = check_matches(tuple(tangents), definition, types, "the tangent")
        given = [cast(ts[i], types[i].dtype) for i in moving]
        moved = iter(own(call_graph(graph, *given, *consts), given))
        whole = [next(moved) if _moves(o) else no_tangent(type_of(o)) for o in found]
        return handed_back(out_definition, whole)

    whole = derived("pushforward", f, push)
    return (out, whole, *aux) if has_aux else (out, whole)


def _moves(x: Any) -> bool:
    return is_inexact(type_of(x).dtype)
