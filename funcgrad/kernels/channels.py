"""Batch norm and group norm of large arrays, and their gradients: by a kernel each.

They stand in front of the values of the primitives, with the bits that those have in NumPy, and of
their rules. Arrays become matrices with a row for each channel of each sample; an array that has
one element in each such row is transposed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import memory
from funcgrad.kernels import pieces
from funcgrad.kernels.choice import entry_of
from funcgrad.kernels.layout import dense, letters
from funcgrad.kernels.normalization import ready, vector
from funcgrad.kernels.pieces import FIRST, LAST
from funcgrad.ops.channels import BATCH_NORM, GROUP_NORM

SHORTEST = 4  # elements of a row: NumPy is as good for shorter ones

ndarray = np.ndarray


class Rows(NamedTuple):
    """The matrix, and where its groups are: row p of group i is ``i * across + p * along``."""

    shape: tuple[int, int]
    groups: int
    across: int
    along: int
    rows: int
    channels: int
    turned: bool  # whether it is the transposed array

    def of(self, x: ndarray[Any, Any]) -> ndarray[Any, Any]:
        if self.turned:
            return np.ascontiguousarray(x.reshape(self.shape[::-1]).T)
        return dense(x).reshape(self.shape)

    def back(self, y: ndarray[Any, Any], shape: tuple[int, ...]) -> ndarray[Any, Any]:
        """A result as an array of the shape of the operand."""
        return np.ascontiguousarray(y.T if self.turned else y).reshape(shape)

    @property
    def steps(self) -> tuple[int, int, int, int]:
        return self.across, self.along, self.rows, self.channels


def _rows(shape: tuple[int, ...], groups: int | None) -> Rows | None:
    """How kernels see an operand of batch norm, or of group norm with so many `groups`."""
    samples, channels = shape[:2]
    length = math.prod(shape[2:])
    if length == 1 and groups is None:
        return Rows((channels, samples), channels, 1, 0, 1, channels, True)
    if length < SHORTEST:
        return None
    matrix = (samples * channels, length)
    if groups is None:
        return Rows(matrix, channels, 1, channels, samples, channels, False)
    each = channels // groups
    return Rows(matrix, samples * groups, each, 1, each, channels, False)


def _value(several: bool, impl: Callable[..., Any], x: Any, w: Any, b: Any, **params: Any) -> Any:
    rows = _rows(x.shape, params.get("groups")) if ready(x) else None
    scale = vector(w, x.dtype, params["scaled"]) if rows else False
    move = vector(b, x.dtype, params["moved"]) if rows else False
    if rows is None or scale is False or move is False:
        return impl(x, w, b, **params)
    entry = entry_of("channels_value", letters(x.dtype, [x, scale, move]))
    if entry.taken():
        y = memory.empty(rows.shape, x.dtype)
        moments = [np.empty(rows.groups, x.dtype) for _ in range(2)]
        given = [rows.of(x), scale, move, float(params["eps"]), *rows.steps, y, *moments]
        if pieces.run(entry, [FIRST, LAST, *given], rows.groups, x.size):
            out = rows.back(y, x.shape)
            return (out, *moments) if several else out
    return impl(x, w, b, **params)


def _pull(node: Any, g: Any) -> tuple[Sequence[Any], bool]:
    """The cotangents of the operands of `node`, and whether they are arrays of nobody else."""
    _, x, w, *_ = node.saved
    params = node.params
    given, others = (g[0], g[1:]) if node.prim.multiple else (g, ())
    rows = None
    if ready(x) and type(given) is ndarray and given.dtype == x.dtype:
        rows = _rows(x.shape, params.get("groups"))
    scale = vector(w, x.dtype, params["scaled"]) if rows else False
    if rows is None or scale is False or any(c is not None for c in others):
        return node.prim.vjp(node, g), False
    wanted = [p is not None for p in node.parents]
    cx = memory.empty(rows.shape, x.dtype) if wanted[0] else None
    entry = entry_of("channels_backward", letters(x.dtype, [given, x, scale, cx]))
    if entry.taken():
        sums = [np.empty(rows.shape[0], x.dtype) for _ in range(2)]
        arrays = [rows.of(given), rows.of(x), scale, float(params["eps"]), *rows.steps, cx, *sums]
        if pieces.run(entry, [FIRST, LAST, *arrays], rows.groups, x.size):
            out = None if cx is None else rows.back(cx, x.shape)
            return [out, *_added(node, rows, sums, wanted)], True
    return node.prim.vjp(node, g), False


def _added(node: Any, rows: Rows, sums: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    """The cotangents of weight and bias from the sums of the rows; zeros if they do not count."""
    out: list[Any] = []
    for k, there in ((1, node.params["scaled"]), (2, node.params["moved"])):
        aval = node.avals[k]
        if not wanted[k]:
            out.append(None)
        elif there:
            out.append(np.add.reduce(sums[k - 1].reshape(-1, rows.channels), 0))
        else:
            out.append(np.zeros(aval.shape, aval.dtype))
    return out


BATCH_NORM.take_kernel(functools.partial(_value, True))
GROUP_NORM.take_kernel(functools.partial(_value, False))
for prim in (BATCH_NORM, GROUP_NORM):
    prim.take_backward_kernel(_pull, of_operand=True)
