"""Reverse mode for any output: `vjp`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary, bounded
from funcgrad.core.tracer import Tracer, running, type_of, uncompiled
from funcgrad.core.types import ArrayType, is_inexact
from funcgrad.ops.arithmetic import cast
from funcgrad.transforms.arguments import (
    check_matches,
    leaves_of,
    lower,
)
from funcgrad.transforms.deferred import applied
from funcgrad.transforms.guard import lock_again
from funcgrad.transforms.optimism import seen
from funcgrad.transforms.results import as_trees, handed_back, lowered, own, with_aux
from funcgrad.transforms.reverse import Tape, backward, node_of, verify
from funcgrad.transforms.signatures import R
from funcgrad.transforms.transformed import derived

__all__ = ["pullback", "vjp"]

Function = Callable[..., Any]


@overload
def vjp(
    f: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...
@overload
def vjp(f: Function, *primals: Any, has_aux: bool) -> Any: ...
@boundary
def vjp(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `f` and the function that pulls cotangents back.

    Parameters
    ----------
    f : callable
        Its output may be any tree of arrays.
    *primals
        Its arguments: trees of arrays. Integer leaves get cotangents of dtype ``float0``.
    has_aux : bool, optional
        `f` returns ``(output, aux)``.

    Returns
    -------
    output, pull[, aux]
        ``pull(cotangent)`` takes a tree like `output` and returns a tuple of trees like `primals`.
        It may be called several times.

    Raises
    ------
    CotangentError
        The cotangent has another tree, shape or dtype than the output.
    MutatedCaptureError
        A large array that is still needed was changed between `vjp` and `pull`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> y, pull = fg.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pull(np.ones(2))
    (array([2., 4.]),)
    """
    return pullback(f, primals, has_aux)


def pullback(f: Function, primals: Sequence[Any], has_aux: bool, marks: bool = True) -> Any:
    """`vjp`; without `marks` its backward passes do not follow which elements are there."""
    flat = [leaves_of(p, (k, f)) for k, p in enumerate(primals)]
    aux = None
    with Tape(marks=marks) as tape:
        inputs = [
            [tape.input(x) if is_inexact(type_of(x).dtype) else x for x in leaves]
            for leaves, _ in flat
        ]
        args = [tree.unflatten(d, xs) for xs, (_, d) in zip(inputs, flat, strict=True)]
        nodes = [node_of(t, tape) for group in inputs for t in group]
        wanted = [n for n in nodes if n is not None]
        out = applied(f, args, {}, tape)
        if has_aux:
            out, aux = with_aux(out, f)
            aux = lowered(aux, tape, kept=True)
        outputs, definition = leaves_of(out, ("the output", f))
        roots = [node_of(o, tape) for o in outputs]
        # own buffers: what is saved for `pull` must not change with what is returned
        lows = [lower(o, tape) for o in outputs]
        values = [x.copy("K") if type(x) is np.ndarray else x for x in lows]
        tape.forget()
        order = [*reversed(tape.nodes), *wanted]
    types = [type_of(v) for v in values]
    traced = any(isinstance(v, Tracer) for v in values)
    hidden = traced and not all(map(seen, values))
    primal_types = [([_no_value(x) for x in leaves], d) for leaves, d in flat]

    @bounded
    def pull(cotangent: Any) -> tuple[Any, ...]:
        cts = check_matches(cotangent, definition, types, "the cotangent")
        if uncompiled and running.locks is not None:
            running.locks.release(tape)
        verify(tape.watches)
        pairs = [
            (root, cast(c, aval.dtype))
            for root, c, aval in zip(roots, cts, types, strict=True)
            if root is not None and c is not None
        ]
        cotangents = backward(pairs, wanted, traced, hidden, marks, order)
        found = iter(own(cotangents, [c for _, c in pairs]))
        return as_trees([None if n is None else next(found) for n in nodes], primal_types)

    if uncompiled and running.locks is not None:
        lock_again(tape, tape.watches)
        weakref.finalize(pull, running.locks.release, tape)
    result = (handed_back(definition, values), derived("pullback", f, pull))
    return (*result, aux) if has_aux else result


class _Stand(Tracer):
    """Remembers the type of a primal and nothing of its value."""

    __slots__ = ("aval",)
    aval: ArrayType

    @property
    def type(self) -> ArrayType:
        return self.aval


def _no_value(x: Any) -> Any:
    stand = _Stand()
    stand.aval = type_of(x)
    return stand
