"""Attention as one operation: products of queries and keys, their softmax, means of the values.

Several heads of raw arrays that are not large are attended to by one loop nest, see
`attention_heads`; large ones, or few, some at a time by products of matrices, which have threads,
so that what lies between these stays in the cache. Queries, keys, values and cotangents are read
where they lie, between those of other heads. Weights that are many are computed again on the way
back, by the same operations. It imports the facade's native code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.core.primitive import Params
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops.nonlinear_reductions import max as largest
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import swap_last
from funcgrad.ops.softmax import softmax
from funcgrad.torch import lines
from funcgrad.torch.attention_heads import in_rows, suits, write_cotangents, write_means
from funcgrad.torch.composite import Composite, Inside, inside, spread_over
from funcgrad.torch.flat import FLOATS
from funcgrad.torch.matrix_products import write_product

__all__ = ["ATTENTION", "MASKED_ATTENTION"]

ndarray = np.ndarray
Raw = ndarray[Any, Any]
TOGETHER = 1 << 19  # bytes of weights that are computed at a time, if one head has fewer
KEPT = 1 << 26  # bytes of weights that are kept for the way back


def _attention(*arrays: Array, scale: float) -> Array:
    """Of queries, keys and values, each (batch, heads, places, size), and perhaps a bias."""
    if _is_native(arrays):
        made = _like(arrays[0])
        _forward(Heads.of(arrays, scale), scale, False, made)
        return made
    q, k, v, *bias = arrays
    factor = math.sqrt(abs(scale))
    scores = matmul(a.multiply(q, math.copysign(factor, scale)), a.multiply(swap_last(k), factor))
    if not bias:
        return matmul(softmax(scores, -1), v)
    alone = a.equal(largest(bias[0], -1, keepdims=True), -math.inf)  # a query without keys
    weights = softmax(a.where(alone, 0.0, a.add(scores, bias[0])), -1)
    return matmul(a.where(alone, 0.0, weights), v)


def _is_native(arrays: Sequence[Any]) -> bool:
    dtype = getattr(arrays[0], "dtype", None)
    return bool(
        config.kernels
        and dtype in FLOATS
        and all(type(x) is ndarray and x.dtype == dtype and x.size for x in arrays)
    )


Part = tuple[slice, slice]


class Heads(NamedTuple):
    """The operands, of which the queries are scaled but for a nest; how many heads are taken at a
    time.
    """

    q: Raw
    k: Raw
    v: Raw
    bias: Raw | None  # of the shape of the weights
    few: int
    nested: bool

    @classmethod
    def of(cls, arrays: Sequence[Raw], scale: float) -> Heads:
        q, k, v, *bias = arrays
        shape = (*q.shape[:3], k.shape[2])
        few = max(1, TOGETHER // (shape[2] * shape[3] * q.itemsize))
        nested = suits(shape)
        if nested:
            q, k, v = (in_rows(x) for x in (q, k, v))
        else:
            q = np.multiply(q, q.dtype.type(scale), order="C")
        return cls(q, k, v, np.broadcast_to(bias[0], shape) if bias else None, few, nested)

    def parts(self) -> Iterator[Part]:
        """The heads that are taken at a time: all of some examples, or some of one."""
        examples, heads = self.q.shape[:2]
        some, few = max(1, self.few // heads), min(self.few, heads)
        for example in range(0, examples, some):
            for first in range(0, heads, few):
                yield (
                    slice(example, min(example + some, examples)),
                    slice(first, min(first + few, heads)),
                )

    def rooms(self, count: int) -> Raw:
        """Room for the weights of a part, so many times."""
        return memory.empty((count, self.few, *self.kept_shape[2:]), self.q.dtype)

    def some(self, part: Part) -> tuple[Raw, Raw, Raw, Raw | None]:
        """The operands of some heads."""
        bias = None if self.bias is None else self.bias[part]
        return self.q[part], self.k[part], self.v[part], bias

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """That of the weights."""
        return (*self.q.shape[:3], self.k.shape[2])

    @property
    def kept_shape(self) -> tuple[int, int, int, int]:
        """The same as it is stored: a nest has a row for each key."""
        examples, heads, queries, keys = self.shape
        return (examples, heads, *((keys, queries) if self.nested else (queries, keys)))

    def write_weights(self, part: Part, scores: Raw, weights: Raw) -> None:
        """The weights of some heads, given room for the scores."""
        write_product(self.q[part], self.k[part].swapaxes(2, 3), scores)
        alone = None
        if self.bias is not None:
            bias = self.bias[part]
            scores += bias
            alone = np.isneginf(bias).all(-1)
        lines.rows("softmax", [scores, weights])
        if alone is not None and alone.any():
            weights[alone] = 0


def _of_part(room: Raw, like: Raw) -> Raw:
    """As much of a room as some heads take, without gaps."""
    return room[: like.shape[0] * like.shape[1]].reshape(*like.shape[:2], *room.shape[1:])


def _forward(heads: Heads, scale: float, recorded: bool, out: Raw) -> Raw | None:
    """Write the means of all heads into `out`; the weights if they are kept."""
    kept = None
    if recorded and math.prod(heads.shape) * heads.q.itemsize <= KEPT:
        kept = memory.empty(heads.kept_shape, heads.q.dtype)
    if heads.nested:
        for part, weights in _weights(heads, kept):
            write_means(*heads.some(part), scale, weights, out[part])
        return kept
    rooms = heads.rooms(2)
    for part in heads.parts():
        means = out[part]
        scores, other = (_of_part(room, means) for room in rooms)
        weights = other if kept is None else kept[part]
        heads.write_weights(part, scores, weights)
        write_product(weights, heads.v[part], means)
    return kept


def _weights(heads: Heads, kept: Raw | None) -> Iterator[tuple[Part, Raw]]:
    """The parts of a nest with their weights: all at once, if these are kept."""
    if kept is not None:
        yield (slice(None), slice(None)), kept
        return
    (room,) = heads.rooms(1)
    for part in heads.parts():
        yield part, _of_part(room, heads.q[part])


def _back(heads: Heads, scale: float, kept: Raw | None, g: Raw, found: Mapping[int, Raw]) -> None:
    """Write the cotangents of operands into the arrays of `found`."""
    if heads.nested:
        g = in_rows(g)
        for part, weights in _weights(heads, kept):
            arrays = heads.some(part)
            if kept is None:
                write_means(*arrays, scale, weights, _like(g[part]))
            cotangents = [found[n][part] if n in found else None for n in range(3)]
            write_cotangents(g[part], *arrays[:3], scale, weights, cotangents)
        return
    rooms = heads.rooms(3)
    for part in heads.parts():
        given = g[part]
        scores, slopes, weights = (_of_part(room, given) for room in rooms)
        if kept is None:
            heads.write_weights(part, scores, weights)
        else:
            weights = kept[part]
        if 2 in found:
            write_product(weights.swapaxes(2, 3), given, found[2][part])
        if 0 not in found and 1 not in found:
            continue
        write_product(given, heads.v[part].swapaxes(2, 3), scores)
        lines.rows("softmax_backward", [scores, weights, slopes])
        if 0 in found:
            write_product(slopes, heads.k[part], found[0][part])
            found[0][part] *= g.dtype.type(scale)
        if 1 in found:
            write_product(slopes.swapaxes(2, 3), heads.q[part], found[1][part])


def _like(x: Raw) -> Raw:
    """Memory for what lies as an operand does."""
    order = sorted(range(3), key=lambda k: -x.strides[k])
    made = memory.empty((*(x.shape[k] for k in order), x.shape[3]), x.dtype)
    return made.transpose([*(order.index(k) for k in range(3)), 3])


class Attended(Inside):
    """What the native code has left for the way back."""

    __slots__ = ("heads", "kept", "operands", "scale")

    def __init__(
        self, operands: Sequence[Any], scale: float, heads: Heads, kept: Raw | None
    ) -> None:
        self.operands, self.scale, self.heads, self.kept = operands, scale, heads, kept
        self.saved = None

    def pull(
        self, cts: Sequence[Any], wanted: Sequence[int], count: int, quick: bool = False
    ) -> list[Array | None]:
        (g,) = cts
        if quick and type(g) is ndarray and g.dtype == self.heads.q.dtype:
            made = [_like(self.operands[n]) for n in wanted]
            found = dict(zip(wanted, made, strict=True))
            _back(self.heads, self.scale, self.kept, g, found)
            return spread_over(wanted, made, count)
        other = inside(_attention, self.operands, {"scale": self.scale}, wanted)[1]
        return other.pull(cts, wanted, count, quick)


def _recorded(xs: Sequence[Any], params: Params) -> tuple[Any, Inside] | None:
    if not _is_native(xs):
        return None
    heads = Heads.of(xs, params["scale"])
    out = _like(xs[0])
    kept = _forward(heads, params["scale"], True, out)
    return out, Attended(xs, params["scale"], heads, kept)


ATTENTION = Composite("attention", _attention, recorded=_recorded)
MASKED_ATTENTION = Composite("masked_attention", _attention, fixed=1, recorded=_recorded)
