"""Basic indices (integers, slices, new axes), which choose a view, and their transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import Linear, linear
from funcgrad.core.layout import moved
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Tracer, bind
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.samples import draw

__all__ = ["GETITEM", "PLACE", "Slice", "decode", "encode", "getitem", "place"]

Slice = tuple[Any, ...]  # ints, (start, stop, step) triples, None, Ellipsis


def encode(index: Any) -> Slice:
    """A basic index as hashable data: slices become triples."""
    items = index if isinstance(index, tuple) else (index,)
    if len(items) == 1 and type(items[0]) is int:
        return items
    return tuple((i.start, i.stop, i.step) if isinstance(i, slice) else _basic(i) for i in items)


def _basic(item: Any) -> Any:
    """`item`, unless it is part of no basic index: the transpose would add to wrong places."""
    whole = type(item) is int or isinstance(item, np.integer)
    if not whole and item is not None and item is not Ellipsis:
        raise AssertionError(
            "getitem takes basic indices, which are integers, slices, None and Ellipsis, not "
            f"{item!r} of {type(item).__name__}; ops.index.gather takes arrays"
        )
    return item


def decode(index: Slice) -> tuple[Any, ...]:
    """The index that `encode` was given."""
    if len(index) == 1 and type(index[0]) is int:
        return index
    return tuple(slice(*i) if type(i) is tuple else i for i in index)


def _shape_after(shape: tuple[int, ...], index: Slice) -> tuple[int, ...]:
    single = len(index) <= len(shape) and all([type(i) is int for i in index])
    if single and all([-n <= i < n for i, n in zip(index, shape)]):
        return shape[len(index) :]
    found: tuple[int, ...] = np.broadcast_to(np.int8(0), shape)[decode(index)].shape
    return found


def _inner(index: Slice) -> Slice:
    return ((None, None, None), *index)


GETITEM: Linear = linear(
    "getitem",
    lambda x, index: x[decode(index)],
    lambda g, x, *, index: place(g, x, index),
    lambda x, *, index: ArrayType(_shape_after(x.shape, index), x.dtype),
    lambda size, xs, batched, params: bind(GETITEM, xs, {"index": _inner(params["index"])}),
    sample=lambda: [
        Sample((draw((3, 4)),), {"index": (1,)}),
        Sample((draw((3, 4)),), {"index": encode((slice(None, None, -1), 2))}),
        Sample((draw((3, 4)),), {"index": encode((Ellipsis, None, slice(1, 3)))}),
    ],
    moves="adds",
)


def getitem(x: Array, index: Any) -> Array:
    """`x[index]` for a basic index: integers, slices, None, Ellipsis."""
    return bind(GETITEM, (x,), {"index": encode(index)})


def _place(g: Any, *, shape: tuple[int, ...], index: Slice) -> Any:
    full = np.zeros(shape, np.asarray(g).dtype)
    full[decode(index)] = g
    return full


PLACE: Linear = linear(
    "place",
    _place,
    lambda g, x, *, shape, index: bind(GETITEM, (g,), {"index": index}),
    lambda x, *, shape, index: ArrayType(shape, x.dtype),
    lambda size, xs, batched, params: bind(
        PLACE, xs, {"shape": (size, *params["shape"]), "index": _inner(params["index"])}
    ),
    sample=lambda: [Sample((draw((2,)),), {"shape": (4,), "index": ((1, 3, None),)})],
    moves="places",
)


def place(g: Array, aval: ArrayType, index: Slice) -> Array:
    """Zeros of shape `kind.shape` with `g` at `index`: the transpose of `getitem`."""
    if isinstance(g, Tracer):
        return bind(PLACE, (g,), {"shape": aval.shape, "index": index})
    return algebra.scatter(aval, decode(index), g)


algebra.getitem = getitem

GETITEM.lies = moved
