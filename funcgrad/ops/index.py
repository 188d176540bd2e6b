"""Indexing: static slices, gathers over leading axes, and their transposes.

`getitem` and `place` take the basic part of an index (integers, slices, new axes), `gather` and
`scatter_add` integer arrays over the leading axes. Repeated indices add up under `scatter_add`;
under `index_set` the last write wins, and the others get no gradient. Out of bounds is IndexError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import Linear, linear
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import Tracer, bind, concrete, operand, type_of, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import AbstractValueError, located
from funcgrad.ops.arithmetic import cast, where
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, conform, reshape, stack, transpose

Slice = tuple[Any, ...]  # ints, (start, stop, step) triples, None, Ellipsis

# --------------------------------------------------------------------------- basic indices


def encode(index: Any) -> Slice:
    """A basic index as hashable data: slices become triples."""
    items = index if isinstance(index, tuple) else (index,)
    if len(items) == 1 and type(items[0]) is int:
        return items
    return tuple((i.start, i.stop, i.step) if isinstance(i, slice) else i for i in items)


def decode(index: Slice) -> tuple[Any, ...]:
    """The index that `encode` was given."""
    if len(index) == 1 and type(index[0]) is int:
        return index
    return tuple(slice(*i) if type(i) is tuple else i for i in index)


def _shape_after(shape: tuple[int, ...], index: Slice) -> tuple[int, ...]:
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
)


def place(g: Array, kind: ArrayType, index: Slice) -> Array:
    """Zeros of shape `kind.shape` with `g` at `index`: the transpose of `getitem`."""
    if isinstance(g, Tracer):
        return bind(PLACE, (g,), {"shape": kind.shape, "index": index})
    return algebra.scatter(kind, decode(index), g)


# -------------------------------------------------------------------------- integer arrays


def _gather_type(x: ArrayType, *indices: ArrayType) -> ArrayType:
    where_ = np.broadcast_shapes(*(i.shape for i in indices))
    return ArrayType(where_ + x.shape[len(indices) :], x.dtype)


def _lanes(size: int, rank: int) -> Any:
    return np.arange(size).reshape((size,) + (1,) * rank)


def _align(i: Array, b: bool, rank: int) -> Array:
    shape = type_of(i).shape
    if b and len(shape) <= rank:
        return reshape(i, shape[:1] + (1,) * (rank + 1 - len(shape)) + shape[1:])
    return i


def _ranks(xs: Sequence[Array], batched: Sequence[bool]) -> int:
    return max(type_of(i).ndim - b for i, b in zip(xs, batched, strict=True))


def _gather_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    rank = _ranks(xs[1:], batched[1:])
    indices = [_align(i, b, rank) for i, b in zip(xs[1:], batched[1:], strict=True)]
    if batched[0]:
        indices.insert(0, _lanes(size, rank))
    return bind(GATHER, (xs[0], *indices))


def _gather_samples() -> list[Sample]:
    x = draw((3, 4))
    return [
        Sample((x, np.array([0, 2, 2]))),
        Sample((x, np.array([[0], [1]]), np.array([1, -1, 1]))),
        Sample((draw((3,)), np.array([], int))),
    ]


GATHER: Linear = linear(
    "gather",
    lambda x, *indices: np.asarray(x)[indices],
    (lambda g, x, *indices: scatter_add(g, x, indices),),
    _gather_type,
    _gather_batch,
    sample=_gather_samples,
)


def gather(x: Array, *indices: Array) -> Array:
    """``x[i0, i1, …]`` with integer arrays over the leading axes."""
    return bind(GATHER, (x, *indices))


def _scatter_add(g: Any, *indices: Any, shape: tuple[int, ...]) -> Any:
    g = np.asarray(g)
    full = np.zeros(shape, g.dtype)
    np.add.at(full, indices, g)
    return full


def _scatter_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    count = len(xs) - 1
    g, rank = xs[0], _ranks(xs[1:], batched[1:])
    if not batched[0]:
        g = broadcast_to(g, (size, *type_of(g).shape))
    indices = [_align(i, b, rank) for i, b in zip(xs[1:], batched[1:], strict=True)]
    shape = (size, *params["shape"])
    tail = params["shape"][count:]
    where_ = np.broadcast_shapes(*(type_of(i).shape for i in indices), (size, *(1,) * rank))
    g = broadcast_to(g, where_ + tail)
    return bind(SCATTER_ADD, (g, _lanes(size, rank), *indices), {"shape": shape})


SCATTER_ADD: Linear = linear(
    "scatter_add",
    _scatter_add,
    (lambda g, x, *indices, shape: conform(bind(GATHER, (g, *indices)), x),),
    lambda g, *indices, shape: ArrayType(shape, g.dtype),
    _scatter_batch,
    sample=lambda: [
        Sample((draw((3, 4)), np.array([0, 2, 2])), {"shape": (3, 4)}),
        Sample((draw((3,)), np.array([0, 1, 0]), np.array([1, 1, 1])), {"shape": (2, 2)}),
    ],
)


def scatter_add(g: Array, kind: ArrayType, indices: Sequence[Array]) -> Array:
    """Zeros of shape `kind.shape` into which `g` is added at integer arrays of leading axes."""
    return bind(SCATTER_ADD, (g, *indices), {"shape": kind.shape})


def take_along_axis(x: Array, indices: Array, axis: int) -> Array:
    """NumPy's `take_along_axis` for a non-negative axis."""
    shape, where_ = type_of(x).shape, type_of(indices).shape
    rank = len(where_)
    index = [
        indices if a == axis else np.arange(shape[a]).reshape((-1,) + (1,) * (rank - a - 1))
        for a in range(rank)
    ]
    return gather(x, *index)


# ------------------------------------------------------------------- any index, as a reading


def reads_view(index: Any) -> bool:
    """Whether NumPy gives a view for this index: it holds no arrays, lists or bools."""
    items = index if isinstance(index, tuple) else (index,)
    return all(
        i is None or i is Ellipsis or isinstance(i, (slice, int, np.integer))
        for i in items
        if not isinstance(i, (bool, np.bool_))
    ) and not any(isinstance(i, (bool, np.bool_)) for i in items)


def _static(i: Any) -> Any:
    """A concrete integer or slice bounds of a tracer or NumPy integer, as plain data."""
    if isinstance(i, slice):
        return slice(
            *(None if v is None else int(v.__index__()) for v in (i.start, i.stop, i.step))
        )
    return int(i) if isinstance(i, np.integer) else i


def read(x: Array, index: Any) -> Array:
    """``x[index]`` for every index that NumPy takes."""
    items = index if isinstance(index, tuple) else (index,)
    if reads_view(items):
        return getitem(x, tuple(map(_static, items)))
    x, arrays, order = _arrange(x, items)
    out = gather(x, *arrays)
    return out if order is None else transpose(out, order)


def _expand(items: Sequence[Any], ndim: int) -> list[Any]:
    """The items with lists made arrays, bool masks made integer arrays, Ellipsis filled in."""
    out: list[Any] = []
    for i in items:
        if i is None or i is Ellipsis or isinstance(i, slice):
            out.append(i)
            continue
        i = operand(i)
        kind = type_of(i)
        if kind.dtype.kind == "b":
            out.extend(_mask_positions(i))
        elif kind.dtype.kind in "iu":
            out.append(i)
        elif kind.size == 0 and not isinstance(i, Tracer):
            out.append(np.asarray(i).astype(np.intp))
        else:
            raise IndexError(
                located(f"arrays used as indices must be of integer or bool type, not {kind.dtype}")
            )
    used = sum(i is not None and i is not Ellipsis for i in out)
    if used > ndim:
        raise IndexError(
            located(f"too many indices: the array has {ndim} axes, {used} are indexed")
        )
    where_ = [k for k, i in enumerate(out) if i is Ellipsis]
    fill = [slice(None)] * (ndim - used)
    if not where_:
        return out + fill
    return out[: where_[0]] + fill + out[where_[0] + 1 :]


def _mask_positions(mask: Array) -> list[Any]:
    if isinstance(mask, Tracer):
        if not concrete(mask):
            raise AbstractValueError(
                located(
                    "a bool mask that is traced by jit or vmap selects an unknown number of "
                    "elements; use where(mask, x, other) instead"
                )
            )
        mask = value(mask)
    found = np.nonzero(np.asarray(mask))
    return list(found) if np.ndim(mask) else [np.zeros(int(bool(mask)), int)]


def _arrange(x: Array, items: Sequence[Any]) -> tuple[Array, list[Array], tuple[int, ...] | None]:
    """Bring the axes under integer arrays to the front: (array, indices, order of the result).

    The order says how to transpose the gathered array so that it stands as NumPy has it: the
    axes of the indices stay where they were if they are adjacent, else they go first.
    """
    plain = _expand(items, type_of(x).ndim)
    advanced = [k for k, i in enumerate(plain) if i is not None and not isinstance(i, slice)]
    # integers next to arrays count as arrays, as in NumPy
    basic = tuple(slice(None) if k in advanced else _static(i) for k, i in enumerate(plain))
    if any(i != slice(None) for i in basic):
        x = getitem(x, basic)
    arrays = [plain[k] for k in advanced]
    rest = [k for k in range(len(plain)) if k not in advanced]
    x = transpose(x, (*advanced, *rest))
    rank = len(np.broadcast_shapes(*(type_of(a).shape for a in arrays)))
    adjacent = advanced[-1] - advanced[0] == len(advanced) - 1
    first = advanced[0]
    if not adjacent or first == 0:
        return x, arrays, None
    order = (*range(rank, rank + first), *range(rank), *range(rank + first, rank + len(rest)))
    return x, arrays, order


# ------------------------------------------------------------------- any index, as a writing


def index_set(x: Array, index: Any, v: Array) -> Array:
    """A copy of `x` in which ``copy[index] = v`` has been done; the last of equal indices wins."""
    kind, kv = type_of(x), type_of(v)
    dtype = kind.dtype
    if isinstance(v, Tracer) and dtype.kind in "biu" and kv.dtype.kind in "fc":
        raise TypeError(
            located(
                f"a traced value of dtype {kv.dtype} cannot be stored in an array of dtype "
                f"{dtype}: the gradient would be cut; make the array floating point"
            )
        )
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, Tracer) for i in items) and not all(
        concrete(i) for i in items if isinstance(i, Tracer)
    ):
        positions = _traced_positions(kind, items)
    else:
        known = tuple(value(i) if isinstance(i, Tracer) else i for i in items)
        positions = np.arange(kind.size).reshape(kind.shape)[known]
    return set_positions(x, positions, cast(v, dtype))


def _traced_positions(kind: ArrayType, items: Sequence[Any]) -> Array:
    return read(np.arange(kind.size).reshape(kind.shape), tuple(items))


def set_positions(x: Array, positions: Array, v: Array) -> Array:
    """A copy of `x` with `v` written at the flat `positions`."""
    shape = type_of(positions).shape
    if not shape and not isinstance(positions, np.ndarray):
        positions = reshape(positions, (1,))
        v = reshape(v, (1,)) if type_of(v).ndim == 0 else reshape(v, (type_of(v).size,))
    else:
        lead = type_of(v).shape
        while len(lead) > len(shape) and lead[0] == 1:  # NumPy drops leading axes of extent 1
            lead = lead[1:]
        v = broadcast_to(reshape(v, lead), shape)
        count = type_of(positions).size
        positions, v = reshape(positions, (count,)), reshape(v, (count,))
    return bind(PUT, (x, positions, v))


def _put(x: Any, positions: Any, v: Any) -> Any:
    out = np.array(x, order="C")
    out.reshape(-1)[positions] = v
    return out


def winners(positions: Array, size: int) -> Array:
    """Which of the writes at flat `positions` is the last one at its place."""
    return bind(WINNERS, (positions,), {"size": size})


def _winners(positions: Any, size: int) -> Any:
    owner = np.empty(size, np.intp)
    order = np.arange(len(positions))
    owner[positions] = order
    return owner[positions] == order


def _winners_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    if isinstance(xs[0], Tracer):
        return stack([winners(getitem(xs[0], (i,)), params["size"]) for i in range(size)])
    out = np.zeros(xs[0].shape, bool)
    for i in range(size):
        out[i] = _winners(xs[0][i], params["size"])
    return out


WINNERS: Linear = linear(
    "winners",
    _winners,
    (None,),
    lambda p, *, size: ArrayType(p.shape, np.dtype(bool)),
    _winners_batch,
    sample=lambda: [Sample((np.array([0, 2, 0]),), {"size": 3})],
)


def _put_x(g: Any, x: Any, positions: Any, v: Any) -> Any:
    return bind(PUT, (g, positions, np.zeros(type_of(positions).shape, type_of(g).dtype)))


def _put_v(g: Any, x: Any, positions: Any, v: Any) -> Any:
    flat = reshape(g, (type_of(g).size,))
    return where(winners(positions, type_of(g).size), gather(flat, positions), 0.0)


def _put_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    x, positions, v = (
        a if b else broadcast_to(a, (size, *type_of(a).shape))
        for a, b in zip(xs, batched, strict=True)
    )
    extent = int(np.prod(type_of(x).shape[1:], dtype=int))
    wrapped = where_negative(positions, extent)
    lanes = (np.arange(size) * extent)[:, None]
    flat = wrapped + lanes
    count = int(np.prod(type_of(v).shape, dtype=int))
    return bind(PUT, (x, reshape(flat, (count,)), reshape(v, (count,))))


def where_negative(positions: Array, extent: int) -> Array:
    """Flat positions with the negative ones counted from the end."""
    return where(positions < 0, positions + extent, positions)


PUT: Linear = linear(
    "put",
    _put,
    (_put_x, None, _put_v),
    lambda x, positions, v: ArrayType(x.shape, x.dtype),
    _put_batch,
    sample=lambda: [
        Sample((draw((2, 3)), np.array([0, 5]), draw((2,)))),
        Sample((draw((4,)), np.array([1, 3, 1]), draw((3,)))),
    ],
)

algebra.take_lane = lambda x, i: getitem(x, (i,))
