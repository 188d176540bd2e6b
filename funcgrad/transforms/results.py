"""What a transform hands back: arrays of the caller's own, which another transform can trace into.

One policy says what may share memory. What a transform computes (the results of `jit` and `vmap`;
values, gradients, cotangents, tangents and Jacobians of `grad`, `vjp`, `jvp`, `linearize` and what
is made of them) shares it with no argument, no captured array and no other result, and may be
written: `own` and `apart` see to that, and `unshared` where the compiler knows which results they
are. The results of `checkpoint` and custom rules share it with no argument. What is handed through
(``aux``, and the results of control flow where nothing is staged) is what the function returned, as
if it had been called; `stop_gradient` gives views. The functions of control flow are handed arrays
of their own (`handed_in`): what they write into these is never seen by the caller, whether they run
in Python or as one operation.

Inside another transform the results are boxes, as what a creation function makes: the program may
write traced values into them; traced ones are tracers of their own. What shares memory with an
argument stays NumPy's, so that a write is either seen by all its names or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.memory import SMALLEST, is_shown_once
from funcgrad.core.tracer import Trace, Tracer, running, twin, type_of
from funcgrad.core.types import is_inexact
from funcgrad.kernels.spread import written_out
from funcgrad.ops.storage import Box, boxed
from funcgrad.transforms.arguments import lower, name_of, no_tangent, present, rebuild

__all__ = [
    "apart",
    "as_trees",
    "handed_back",
    "handed_in",
    "lowered",
    "own",
    "own_copy",
    "unshared",
    "untraced",
    "with_aux",
    "zero_tangent",
]

Function = Callable[..., Any]
ndarray = np.ndarray


def handed_back(definition: tree.TreeDef, found: Sequence[Any], given: Sequence[Any] = ()) -> Any:
    """The tree of the results `found`, computed from the operands `given`."""
    if running.count:
        found = [_apart_from(x, given) for x in found]
    return rebuild(definition, found)


def handed_in(given: Any) -> Any:
    """A tree as a function gets it that may write into it: the caller's arrays stay as they are."""
    if type(given) is float or type(given) is int:
        return given
    return tree.map(own_copy, given)


def own_copy(x: Any) -> Any:
    """An array of its own, what is no array as it is."""
    if type(x) is ndarray:
        made = x.copy("K")
        return boxed(made) if running.count else made
    if isinstance(x, Box):
        held = x.content()
        return twin(held) if isinstance(held, Tracer) else own_copy(held)
    return twin(x) if isinstance(x, Tracer) else x


def _apart_from(x: Any, given: Sequence[Any]) -> Any:
    """A result as the program that is traced may write into it."""
    if isinstance(x, Tracer):
        return twin(x)
    return x if _shares(x, given) else boxed(x)


def _shares(x: Any, given: Sequence[Any]) -> bool:
    return type(x) is ndarray and any(
        isinstance(g, ndarray) and np.may_share_memory(x, g) for g in given
    )


def own(found: Sequence[Any], given: Sequence[Any] = ()) -> list[Any]:
    """Derivatives that the caller may change, in C order where they are copied."""
    owned = _apart(found, given, written_out)
    for k, x in enumerate(owned):
        if type(x) is ndarray and not x.ndim:
            owned[k] = x[()]
    return owned


def apart(found: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """Values that the caller may change, in the layout that they have."""
    return _apart(found, given, lambda x: x.copy("K"))


def _apart(
    found: Sequence[Any], given: Sequence[Any], copied: Callable[[ndarray[Any, Any]], Any]
) -> list[Any]:
    """Results, of which arrays show no memory twice, and none of those that are `given`.

    They are no views, except of memory that nobody else knows.
    """
    seen: set[int] | None = None
    out = []
    for x in found:
        if type(x) is ndarray:
            if seen is None:
                seen = set()
                for g in given:
                    seen.add(id(g))
                    base = getattr(g, "base", None)
                    if base is not None:
                        seen.add(id(base))
            if x.base is None:  # the common case, without a call
                kept = id(x) not in seen and x.flags.writeable
            else:
                x = _whole(x)
                kept = _may_keep(x, seen)
            if not kept:
                x = copied(x)
            seen.add(id(x if x.base is None else x.base))
        out.append(x)
    return out


def _may_keep(x: ndarray[Any, Any], seen: set[int]) -> bool:
    """Whether a result is an array of the caller's own as it is."""
    if x.base is None:
        return x.flags.writeable and id(x) not in seen
    return x.nbytes >= SMALLEST and id(x.base) not in seen and is_shown_once(x)


def _whole(x: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """The array that `x` shows as it is, turned there and back; else `x`."""
    whole = x.base
    if type(whole) is ndarray and whole.strides == x.strides and whole.shape == x.shape:
        return whole if whole.dtype is x.dtype else x
    return x


def untraced(outputs: Sequence[Any]) -> list[Any]:
    """What a function returned without computing it: arrays that it captured."""
    return [x for x in outputs if type(x) is ndarray]


def unshared(found: Sequence[Any], which: Sequence[int]) -> list[Any]:
    """Results, arrays among `which` in memory of their own."""
    results = list(found)
    for k in which:
        if type(results[k]) is ndarray:
            results[k] = results[k].copy()
    return results


def as_trees(found: Sequence[Any], flat: Sequence[Any]) -> tuple[Any, ...]:
    """Cotangents as trees, one for each group of leaves."""
    if len(found) == len(flat) == 1 and flat[0][1] is tree.LEAF and not running.count:
        c = found[0]
        return (present(own([zero_tangent(flat[0][0][0]) if c is None else c])[0]),)
    leaves = [x for group, _ in flat for x in group]
    whole = own([zero_tangent(x) if c is None else c for c, x in zip(found, leaves, strict=True)])
    out, at = [], 0
    for group, definition in flat:
        out.append(handed_back(definition, whole[at : at + len(group)]))
        at += len(group)
    return tuple(out)


def zero_tangent(x: Any) -> Any:
    aval = type_of(x)
    return np.zeros(aval.shape, aval.dtype)[()] if is_inexact(aval.dtype) else no_tangent(aval)


def with_aux(out: Any, f: Function) -> tuple[Any, Any]:
    """The value and the rest of what a function with ``has_aux=True`` returned."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError(f"with has_aux=True, {name_of(f)} has to return a pair (value, aux)")
    return out[0], out[1]


def lowered(aux: Any, trace: Trace, kept: bool = False) -> Any:
    """The tree `aux` one level down. An array of an outer transform stays the box that it is.

    Where the values of the trace are `kept` for later, arrays are copies of them.
    """

    def one(x: Any) -> Any:
        low = lower(x, trace)
        if kept and type(low) is ndarray and low is not x:
            low = low.copy("K")
        if running.count == 1:  # the transform itself, and no other
            return present(low)
        if isinstance(x, Box) and x.content() is low:
            return x
        return present(low if low is x else twin(low) if isinstance(low, Tracer) else boxed(low))

    return tree.map(one, aux)
