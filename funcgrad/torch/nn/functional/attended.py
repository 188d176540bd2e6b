"""Attention as one operation: products of queries and keys, their softmax, means of the values.

Raw arrays are attended to some heads at a time, so that what lies between the products of matrices
stays in the cache. Weights that are many are computed again on the way back, by the same
operations. It imports the facade's native code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.config import config
from funcgrad.core.primitive import Params
from funcgrad.core.types import Array
from funcgrad.kernels import memory
from funcgrad.ops import arithmetic as a
from funcgrad.ops.nonlinear_reductions import max as largest
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import swap_last
from funcgrad.ops.softmax import softmax
from funcgrad.torch import lines
from funcgrad.torch.composite import Composite, Inside, inside, spread_over
from funcgrad.torch.flat import FLOATS

__all__ = ["ATTENTION", "MASKED_ATTENTION"]

ndarray = np.ndarray
Raw = ndarray[Any, Any]
TOGETHER = 1 << 19  # bytes of weights that are computed at a time, if one head has fewer
KEPT = 1 << 26  # bytes of weights that are kept for the way back


def _attention(*arrays: Array, scale: float) -> Array:
    """Of queries, keys and values, each (batch, heads, places, size), and perhaps a bias."""
    if _is_native(arrays):
        return _shaped(_forward(Heads.of(arrays, scale), False)[0], arrays[0])
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


class Heads(NamedTuple):
    """Arrays in C order of which the first axis is that of all heads, and how many are taken at a
    time. The queries are scaled.
    """

    q: Raw
    k: Raw
    v: Raw
    bias: Raw | None  # of all heads, or for each
    few: int

    @classmethod
    def of(cls, arrays: Sequence[Raw], scale: float) -> Heads:
        scaled = np.multiply(arrays[0], arrays[0].dtype.type(scale), order="C")
        whole = [scaled, *map(np.ascontiguousarray, arrays[1:3])]
        q, k, v = (x.reshape(-1, *x.shape[2:]) for x in whole)
        rows, columns = q.shape[1], k.shape[1]
        bias = None
        if len(arrays) > 3:
            lead = arrays[0].shape[:2] if math.prod(arrays[3].shape[:-2]) > 1 else (1, 1)
            bias = np.broadcast_to(arrays[3], (*lead, rows, columns)).reshape(-1, rows, columns)
        few = max(1, TOGETHER // (rows * columns * q.itemsize))
        return cls(q, k, v, bias, min(few, len(q)))

    def parts(self) -> Iterator[slice]:
        """The heads that are taken at a time."""
        for first in range(0, len(self.q), self.few):
            yield slice(first, min(first + self.few, len(self.q)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """That of the weights."""
        return len(self.q), self.q.shape[1], self.k.shape[1]

    def write_weights(self, part: slice, scores: Raw, weights: Raw) -> None:
        """The weights of some heads, given room for the scores."""
        np.matmul(self.q[part], self.k[part].swapaxes(1, 2), out=scores)
        alone = None
        if self.bias is not None:
            bias = self.bias if len(self.bias) == 1 else self.bias[part]
            scores += bias
            alone = np.isneginf(bias).all(-1)
        lines.rows("softmax", [scores, weights])
        if alone is not None and alone.any():
            weights[np.broadcast_to(alone, weights.shape[:2])] = 0


def _forward(heads: Heads, recorded: bool) -> tuple[Raw, Raw | None]:
    """The means of all heads, and the weights if they are kept."""
    dtype, shape = heads.q.dtype, heads.shape
    out = memory.empty((*shape[:2], heads.v.shape[2]), dtype)
    kept = None
    if recorded and math.prod(shape) * dtype.itemsize <= KEPT:
        kept = memory.empty(shape, dtype)
    scores = np.empty((heads.few, *shape[1:]), dtype)
    room = np.empty_like(scores) if kept is None else scores
    for part in heads.parts():
        count = part.stop - part.start
        weights = room[:count] if kept is None else kept[part]
        heads.write_weights(part, scores[:count], weights)
        np.matmul(weights, heads.v[part], out=out[part])
    return out, kept


def _back(
    heads: Heads, scale: float, kept: Raw | None, g: Raw, wanted: Sequence[int]
) -> dict[int, Raw]:
    """The cotangents of the operands `wanted`, of all heads."""
    dtype, shape = heads.q.dtype, heads.shape
    whole = np.ascontiguousarray(g).reshape(len(heads.q), *g.shape[2:])
    found = {n: memory.empty((heads.q, heads.k, heads.v)[n].shape, dtype) for n in wanted}
    rooms = np.empty((3, heads.few, *shape[1:]), dtype)
    for part in heads.parts():
        scores, slopes, weights = rooms[:, : part.stop - part.start]
        if kept is None:
            heads.write_weights(part, scores, weights)
        else:
            weights = kept[part]
        if 2 in found:
            np.matmul(weights.swapaxes(1, 2), whole[part], out=found[2][part])
        if 0 not in found and 1 not in found:
            continue
        np.matmul(whole[part], heads.v[part].swapaxes(1, 2), out=scores)
        lines.rows("softmax_backward", [scores, weights, slopes])
        if 0 in found:
            np.matmul(slopes, heads.k[part], out=found[0][part])
            found[0][part] *= dtype.type(scale)
        if 1 in found:
            np.matmul(slopes.swapaxes(1, 2), heads.q[part], out=found[1][part])
    return found


def _shaped(x: Raw, like: Raw) -> Raw:
    return x.reshape(*like.shape[:2], *x.shape[1:])


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
            found = _back(self.heads, self.scale, self.kept, g, wanted)
            shaped = [_shaped(found[n], self.operands[n]) for n in wanted]
            return spread_over(wanted, shaped, count)
        other = inside(_attention, self.operands, {"scale": self.scale}, wanted)[1]
        return other.pull(cts, wanted, count, quick)


def _recorded(xs: Sequence[Any], params: Params) -> tuple[Any, Inside] | None:
    if not _is_native(xs):
        return None
    heads = Heads.of(xs, params["scale"])
    out, kept = _forward(heads, True)
    return _shaped(out, xs[0]), Attended(xs, params["scale"], heads, kept)


ATTENTION = Composite("attention", _attention, recorded=_recorded)
MASKED_ATTENTION = Composite("masked_attention", _attention, fixed=1, recorded=_recorded)
