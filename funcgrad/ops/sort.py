"""Sorting, partitioning and searching.

A sorted array is a permutation of its input, and so is its tangent. Equal elements keep their
order for the purpose of derivatives; NaN comes last, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, each_lane, explicit, linear
from funcgrad.core.layout import kept, ordered
from funcgrad.core.primitive import PRIMITIVES, Params, Sample
from funcgrad.core.tracer import bind, operand
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import every_lane, line_of

__all__ = ["argpartition", "argsort", "partition", "permute", "searchsorted", "sort"]


def _shift(name: str) -> Callable[..., Any]:
    def batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        whole = every_lane(size, xs, batched)
        return bind(PRIMITIVES[name], whole, {**params, "axis": params["axis"] + 1})

    return batch


def _samples(**params: Any) -> list[Sample]:
    x = draw((3, 4))
    ties = np.array([2.0, 1.0, 2.0, np.nan, -0.0, 0.0])
    return [
        Sample((x,), {"axis": 0, **params}),
        Sample((x[:, ::-1],), {"axis": 1, **params}),
        Sample((x.astype(np.float32),), {"axis": 1, **params}),
        Sample((x + 1j * draw((3, 4), seed=1),), {"axis": 1, **params}),
        Sample((draw((0, 4)),), {"axis": 1, **params}),
        Sample((ties,), {"axis": 0, **params}, smooth=False),
    ]


# --------------------------------------------------------------------------- permutations


def _permute(x: Any, order: Any, axis: int, back: bool) -> Any:
    if not back:
        return np.take_along_axis(x, order, axis)
    out = np.empty(np.shape(order), np.asarray(x).dtype)
    np.put_along_axis(out, order, x, axis)
    return out


PERMUTE = linear(
    "permute",
    _permute,
    (lambda g, x, order, *, axis, back: permute(g, order, axis, not back),),
    lambda x, order, *, axis, back: ArrayType(x.shape, x.dtype),
    _shift("permute"),
    sample=lambda: [
        Sample((draw((2, 3)), np.array([[2, 0, 1], [0, 2, 1]])), {"axis": 1, "back": False}),
        Sample((draw((2, 3)), np.array([[1, 0, 1], [0, 1, 0]])), {"axis": 0, "back": True}),
    ],
    moves="adds",
)


def permute(x: Array, order: Array, axis: int, back: bool = False) -> Array:
    """`take_along_axis` where every line of `order` is a permutation; its inverse if `back`."""
    return bind(PERMUTE, (x, order), {"axis": axis, "back": back})


def _indices(x: ArrayType, **_: Any) -> ArrayType:
    return ArrayType(x.shape, np.dtype(np.intp))


ARGSORT = constant(
    "argsort",
    lambda x, axis, kind: np.argsort(x, axis=axis, kind=kind),
    _indices,
    _shift("argsort"),
    sample=lambda: _samples(kind="stable"),
)


def argsort(x: Array, axis: int | None = -1, kind: str | None = "stable") -> Array:
    """The permutation that sorts `x` along `axis`; `kind` as in NumPy, but stable by default."""
    x, axis = line_of(x, axis)
    return bind(ARGSORT, (x,), {"axis": axis, "kind": kind})


# ------------------------------------------------------------------- sorting, partitioning


def _native(x: ArrayType, **_: Any) -> ArrayType:
    return ArrayType(x.shape, x.dtype)


def _origin(y: Array, x: Array, axis: int, ordered: bool) -> Array:
    """The permutation that made `y` of `x`, found without asking how NumPy did it."""
    order = argsort(x, axis)
    # the k-th smallest of y is the k-th smallest of x
    return order if ordered else permute(order, argsort(argsort(y, axis), axis), axis)


def _rearrangement(
    name: str, impl: Callable[..., Any], ordered: bool, sample: Callable[[], list[Sample]]
) -> Explicit:
    def vjp(g: Any, y: Any, x: Any, *, axis: int, **_: Any) -> Any:
        return permute(g, _origin(y, x, axis, ordered), axis, back=True)

    return explicit(
        name,
        impl,
        type_rule=_native,
        vjp=(vjp,),
        batch=_shift(name),
        sample=sample,
    )


SORT = _rearrangement(
    "sort",
    lambda x, axis, kind: np.sort(x, axis=axis, kind=kind),
    True,
    lambda: [*_samples(kind=None), *_samples(kind="stable")[:2]],
)
PARTITION = _rearrangement(
    "partition",
    lambda x, kth, axis: np.partition(x, kth, axis=axis),
    False,
    lambda: [*_samples(kth=(1,)), *_samples(kth=(-1, 0))],
)
ARGPARTITION = constant(
    "argpartition",
    lambda x, kth, axis: np.argpartition(x, kth, axis=axis),
    _indices,
    _shift("argpartition"),
    sample=lambda: _samples(kth=(1,)),
)


def sort(x: Array, axis: int | None = -1, kind: str | None = None) -> Array:
    """`x` sorted along `axis`; its gradient takes the permutation back."""
    x, axis = line_of(x, axis)
    return bind(SORT, (x,), {"axis": axis, "kind": kind})


def _places(kth: Any) -> tuple[int, ...]:
    return tuple(int(k) for k in np.atleast_1d(np.asarray(kth)))


def partition(x: Array, kth: int | Sequence[int], axis: int | None = -1) -> Array:
    """`x` with the elements `kth` along `axis` where sorting would put them."""
    x, axis = line_of(x, axis)
    return bind(PARTITION, (x,), {"kth": _places(kth), "axis": axis})


def argpartition(x: Array, kth: int | Sequence[int], axis: int | None = -1) -> Array:
    """The permutation that partitions `x` along `axis`."""
    x, axis = line_of(x, axis)
    return bind(ARGPARTITION, (x,), {"kth": _places(kth), "axis": axis})


# ------------------------------------------------------------------------------ searching


def _search(a: Any, v: Any, *sorter: Any, side: Any) -> Any:
    return np.searchsorted(a, v, side=side, sorter=sorter[0] if sorter else None)


def _search_batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
    if not batched[0] and not (len(xs) > 2 and batched[2]):
        return bind(SEARCHSORTED, xs, params)
    return each_lane(SEARCHSORTED, size, xs, batched, params)


SEARCHSORTED: Constant = constant(
    "searchsorted",
    _search,
    lambda a, v, *sorter, side: ArrayType(v.shape, np.dtype(np.intp)),
    _search_batch,
    sample=lambda: [
        Sample((np.arange(4.0), draw((2, 3), 0, 3)), {"side": "left"}),
        Sample((np.arange(4.0), np.array([1.0, 2.0])), {"side": "right"}),
        Sample((np.array([2.0, 0.0, 1.0]), 1.5, np.array([1, 2, 0])), {"side": "left"}),
    ],
)


def searchsorted(a: Array, v: Array, side: str = "left", sorter: Array | None = None) -> Array:
    """Where the elements of `v` would go in the sorted vector `a`."""
    more = () if sorter is None else (operand(sorter),)
    return bind(SEARCHSORTED, (operand(a), operand(v), *more), {"side": side})


SORT.lies = PARTITION.lies = kept
PERMUTE.lies = ordered
