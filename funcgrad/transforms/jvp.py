"""Forward mode: `jvp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.core.tracer import type_of
from funcgrad.ops.arithmetic import cast
from funcgrad.transforms.arguments import (
    check_matches,
    leaves_of,
    lower,
    name_of,
)
from funcgrad.transforms.forward import DualTracer, Forward
from funcgrad.transforms.results import (
    apart,
    handed_back,
    lowered,
    own,
    untraced,
    with_aux,
    zero_tangent,
)

__all__ = ["jvp"]

Function = Callable[..., Any]


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
    kept.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp takes primals and tangents as tuples, one item for each argument")
    leaves, definition = leaves_of(tuple(primals), "the primals")
    types = [type_of(x) for x in leaves]
    ts = check_matches(tuple(tangents), definition, types, "the tangent")
    aux = None
    with Forward() as trace:
        duals = [
            x if t is None else DualTracer(x, trace, cast(t, kind.dtype))
            for x, t, kind in zip(leaves, ts, types, strict=True)
        ]
        out = f(*tree.unflatten(definition, duals))
        if has_aux:
            out, aux = with_aux(out, f)
            aux = lowered(aux, trace)
        outputs, out_definition = leaves_of(out, f"the output of {name_of(f)}")
        moved = [trace.tangent(o) for o in outputs]
        values = apart([lower(o, trace) for o in outputs], [*leaves, *untraced(outputs)])
    moved = own(
        [zero_tangent(v) if t is None else t for v, t in zip(values, moved, strict=True)],
        [*ts, *values],
    )
    result = (handed_back(out_definition, values), handed_back(out_definition, moved))
    return (*result, aux) if has_aux else result
