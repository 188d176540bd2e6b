"""`reduce`, `accumulate` and `reduceat` of any ufunc of two operands, as NumPy carries them out.

Where the namespace has a function for it, as `sum` for `np.add.reduce`, that is taken. Otherwise
the elements along the axis are taken one after the other, in NumPy's order, so values and
derivatives are those of the loop: n - 1 operations on what remains. (NumPy's own reductions by
`power` and `arctan2` are wrong on processors with AVX-512: they do not wait for the last result.)
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.function_calls import ABSENT, as_array, known, memory_of
from funcgrad.numpy.quantiles import one_axis
from funcgrad.numpy.reductions import given, take_slice
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import segment_sum
from funcgrad.ops import shape as shapes

__all__ = ["accumulated", "reduced", "reduced_at"]

Rule = Callable[[Any, Any], Any]


def _operand(ufunc: np.ufunc, x: Any, dtype: Any) -> Array:
    """The array in the dtype in which NumPy reduces it."""
    x = as_array(x)
    kind = type_of(x).dtype
    if dtype is None and ufunc.nout == 1:
        found = ufunc.resolve_dtypes((None, kind, None), reduction=True)
        dtype = found[0] if found[0] == found[2] else found[1]
    return ops.cast(x, dtype)


def _slices(x: Array, axis: int) -> list[Array]:
    return [take_slice(x, axis, k) for k in range(type_of(x).shape[axis])]


def reduced(
    ufunc: np.ufunc,
    rule: Rule,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = ABSENT,
    where: Any = True,
) -> Array:
    """``ufunc.reduce``."""
    x = _operand(ufunc, array, dtype)
    whole, rank = type_of(x).shape, type_of(x).ndim
    axes = tuple(range(rank)) if axis is None else normalize_axis_tuple(axis, rank)
    np_reduce: Any = ufunc.reduce
    np_reduce(np.ones((1,) * rank, type_of(x).dtype), axes)  # NumPy refuses what has an order
    line, kept = one_axis(x, axes)
    terms = _slices(line, type_of(line).ndim - 1)
    start = ufunc.identity if given(initial) is None else initial
    if where is not True:
        mask = one_axis(shapes.broadcast_to(as_array(where), whole), axes)[0]
        chosen = _slices(mask, type_of(mask).ndim - 1)
        out = _start(start, type_of(line), ufunc, "a `where` mask")
        for term, take in zip(terms, chosen, strict=True):
            out = ops.where(take, rule(out, term), out)
    elif not terms or given(initial) is not None:
        out = functools.reduce(rule, terms, _start(start, type_of(line), ufunc, "no elements"))
    else:
        out = functools.reduce(rule, terms)
    return shapes.reshape(out, kept) if keepdims else out


def _start(start: Any, line: Any, ufunc: np.ufunc, reason: str) -> Array:
    if start is None:
        raise ValueError(
            located(
                f"reduction operation {ufunc.__name__!r} does not have an identity, so to use "
                f"{reason} one has to specify 'initial'"
            )
        )
    return shapes.broadcast_to(ops.cast(as_array(start), line.dtype), line.shape[:-1])


def accumulated(ufunc: np.ufunc, rule: Rule, array: Any, axis: int = 0, dtype: Any = None) -> Array:
    """``ufunc.accumulate``."""
    x = _operand(ufunc, array, dtype)
    axis = normalize_axis_index(axis, type_of(x).ndim)
    terms = _slices(x, axis)
    if not terms:
        return x
    found = shapes.stack(list(itertools.accumulate(terms, rule)), axis)
    if type_of(found).ndim < 2:
        return found
    return shapes.lying_as(found, np.empty_like(memory_of(array)))


def reduced_at(
    ufunc: np.ufunc,
    reduce: Callable[..., Any],
    array: Any,
    indices: Any,
    axis: int = 0,
    dtype: Any = None,
) -> Array:
    """``ufunc.reduceat`` by `reduce`, the function that is ``ufunc.reduce``."""
    x = _operand(ufunc, array, dtype)
    axis = normalize_axis_index(axis, type_of(x).ndim)
    starts = tuple(int(i) for i in np.asarray(known(indices, f"{ufunc.__name__}.reduceat()")))
    extent = type_of(x).shape[axis]
    for i in starts:
        if not 0 <= i < extent:
            raise IndexError(
                located(f"index {i} out-of-bounds in {ufunc.__name__}.reduceat [0, {extent})")
            )
    if ufunc is np.add:
        return segment_sum.sum_runs(x, starts, axis)
    pieces = [take_slice(x, axis, slice(i, j)) for i, j in segment_sum.runs(starts, extent)]
    return shapes.stack([operand(reduce(piece, axis=axis)) for piece in pieces], axis)
