"""Keywords of calls of ufuncs on traced values: dtypes, orders of memory, and axes of products.

Which types a call takes and gives is NumPy's own answer (`resolve_dtypes`), in its words where it
refuses; how its axes lie is the signature of the ufunc. The rules know nothing of either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import dtype_meant
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array, memory_of
from funcgrad.ops import arithmetic as a
from funcgrad.ops.shape import copied, reshape, transpose

__all__ = ["apply", "meant"]

TYPES = ("dtype", "signature", "sig", "casting")
AXES = ("axes", "axis", "keepdims")
_WEAK = {"f": float, "c": complex}


def apply(
    ufunc: np.ufunc, rule: Callable[..., Any], operands: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    """`rule` on the operands as `keywords` have them; what is no keyword is a named error."""
    keywords = {k: v for k, v in keywords.items() if v is not None and k != "subok"}
    order = keywords.pop("order", "K")
    types = {k: keywords.pop(k) for k in TYPES if k in keywords}
    axes = {k: keywords.pop(k) for k in AXES if k in keywords and ufunc.signature}
    for key, given in keywords.items():
        raise UnsupportedCallError(
            located(
                f"np.{ufunc.__name__}: the keyword {key}={given!r} is not supported on "
                "traced values"
            )
        )
    kinds = _kinds(ufunc, operands, **types) if types else None
    if kinds:
        operands = [a.cast(x, kind) for x, kind in zip(operands, kinds)]
    made = _along(ufunc, rule, operands, **axes) if axes else rule(*operands)
    results = made if isinstance(made, tuple) else (made,)
    if kinds:
        results = tuple(a.cast(y, k) for y, k in zip(results, kinds[ufunc.nin :]))
    results = tuple(_ordered(y, meant(order, operands)) for y in results)
    return results if isinstance(made, tuple) else results[0]


def _kinds(
    ufunc: np.ufunc,
    operands: Sequence[Any],
    dtype: Any = None,
    signature: Any = None,
    sig: Any = None,
    casting: Any = "same_kind",
) -> tuple[np.dtype[Any], ...]:
    """The dtypes with which NumPy computes, of the operands and then of the results."""
    given = signature if signature is not None else sig
    if dtype is not None:
        if given is not None:
            raise TypeError(located("cannot specify both 'signature' and 'dtype'"))
        given = (None,) * ufunc.nin + (dtype_meant(dtype),) * ufunc.nout
    avals = [type_of(x) for x in operands]
    known = tuple(_WEAK.get(t.dtype.kind, int) if t.weak else t.dtype for t in avals)
    more = {} if given is None else {"signature": given}
    try:
        return ufunc.resolve_dtypes(known + (None,) * ufunc.nout, casting=casting, **more)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(located(str(error))) from error


def meant(order: str, operands: Sequence[Any]) -> str:
    """The order of memory that "A" means: "F" where all operands lie so, else "C"."""
    if order != "A":
        return order
    lie = [memory_of(x).flags for x in operands if type_of(operand(x)).ndim]
    return "F" if lie and all(f.f_contiguous for f in lie) else "C"


def _ordered(y: Any, order: str) -> Any:
    """A result in an order of memory."""
    if order == "K" or not type_of(y).ndim:
        return y
    flags = memory_of(y).flags
    return y if (flags.f_contiguous if order == "F" else flags.c_contiguous) else copied(y, order)


# ------------------------------------------------------------------------------ axes of products


def _cores(signature: str) -> list[list[str]]:
    """The names of the core axes of each operand and result."""
    return [re.findall(r"\w+\??", part) for part in re.findall(r"\(([^)]*)\)", signature)]


def _along(ufunc: np.ufunc, rule: Callable[..., Any], operands: Sequence[Any], **given: Any) -> Any:
    """`rule`, whose core axes are the last ones, with the core axes at the places `given`."""
    try:
        return _moved(ufunc, rule, list(map(as_array, operands)), **given)
    except (TypeError, ValueError, IndexError) as error:
        try:
            ufunc(*map(memory_of, operands), **given)  # NumPy says what is wrong
        except (TypeError, ValueError) as theirs:
            kind = type(theirs) if type(theirs) in (TypeError, ValueError) else ValueError
            raise kind(located(str(theirs))) from error
        raise


def _moved(
    ufunc: np.ufunc,
    rule: Callable[..., Any],
    operands: Sequence[Any],
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    *takes, gives = _cores(ufunc.signature or "")
    if (axis is not None and {len(c) for c in takes} != {1}) or (keepdims and gives):
        raise TypeError
    if axis is not None:
        axes = [axis] * ufunc.nin + [axis if keepdims else ()]
    if axes is None:
        axes = [tuple(range(-len(c), 0)) for c in takes]
    places = [p if isinstance(p, tuple) else (p,) for p in axes]
    if len(places) == ufunc.nin and not gives:  # else NumPy wants an entry for the result
        places.append(tuple(range(-len(takes[0]), 0)) if keepdims else ())
    made = rule(*(_last(x, p) for x, p in zip(operands, places, strict=False)))
    if keepdims:
        made = reshape(made, type_of(made).shape + (1,) * len(takes[0]))
    return _back(made, places[ufunc.nin])


def _last(x: Any, places: tuple[int, ...]) -> Any:
    """`x` with the axes at `places` behind the others."""
    rank = type_of(x).ndim
    found = normalize_axis_tuple(places, rank)
    return transpose(x, (*(k for k in range(rank) if k not in found), *found))


def _back(y: Any, places: tuple[int, ...]) -> Any:
    """`y` with its last axes at `places`."""
    rank = type_of(y).ndim
    found = normalize_axis_tuple(places, rank)
    order = list(range(rank - len(found)))
    for place, k in sorted(zip(found, range(rank - len(found), rank))):
        order.insert(place, k)
    return transpose(y, order)
