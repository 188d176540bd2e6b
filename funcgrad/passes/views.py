"""Views: index maps that cost nothing, as an offset and strides into a buffer in C order.

Reshapes that keep the order, transposes, broadcasts, slices and reversals of a value that lies in
memory are read through strides; no operation and no copy is needed for them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from funcgrad.graph.ir import Equation, Var
from funcgrad.ops.index import GETITEM, decode
from funcgrad.ops.shape import BROADCAST, FLIP, RESHAPE, TRANSPOSE

__all__ = ["View", "keeps_elements", "view_of", "whole"]


class View(NamedTuple):
    """Elements of `base`: offset and strides, counted in elements."""

    base: Var
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def whole(v: Var) -> View:
    """The value itself, in C order."""
    return View(v, 0, v.type.shape, _c_strides(v.type.shape))


def _c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def view_of(e: Equation, source: View) -> View | None:
    """What the equation makes of a view; None if it has to copy."""
    aval = e.outputs[0].type
    probe = _probe(source)
    if probe is None:
        return None
    base, x = probe
    if e.prim is RESHAPE:
        try:
            y = np.reshape(x, aval.shape, copy=False)
        except ValueError:
            return None
    elif e.prim is TRANSPOSE:
        y = np.transpose(x, e.params["axes"])
    elif e.prim is BROADCAST:
        y = np.broadcast_to(x, aval.shape)
    elif e.prim is FLIP:
        # without axes NumPy gives a number, which lies elsewhere
        y = np.flip(x, e.params["axes"]) if x.ndim else x
    else:
        index = decode(e.params["index"])
        y = x[index if Ellipsis in index else (*index, ...)]  # without axes still an array
    start = (y.__array_interface__["data"][0] - base) if y.size else 0
    return View(source.base, start, aval.shape, tuple(y.strides))


def _probe(source: View) -> tuple[int, np.ndarray[tuple[int, ...], np.dtype[np.int8]]] | None:
    """An array of bytes laid out like the view, over memory that is never touched.

    NumPy itself then says what an index does to offset and strides.
    """
    if any(n == 0 for n in source.shape):
        return None
    memory = np.empty(1, np.int8)
    base = memory.__array_interface__["data"][0]
    x = np.lib.stride_tricks.as_strided(memory, source.shape, source.strides)
    return base - source.offset, x


def keeps_elements(e: Equation) -> list[int | None] | None:
    """For each axis of the result the axis of the operand that it is; None for a new or unit axis.

    Only for views that take every element: a transpose, a broadcast, axes of extent 1 that come
    and go. None for all others.
    """
    source, target = e.inputs[0].type, e.outputs[0].type
    if e.prim is TRANSPOSE:
        return [a if source.shape[a] != 1 else None for a in e.params["axes"]]
    if e.prim is BROADCAST:
        lead = target.ndim - source.ndim
        kept: list[int | None] = [None] * lead
        return kept + [k if n != 1 else None for k, n in enumerate(source.shape)]
    if e.prim is RESHAPE or (e.prim is GETITEM and source.size == target.size):
        if e.prim is GETITEM and not _forward(e):
            return None
        return _matched(source.shape, target.shape)
    return None


def _forward(e: Equation) -> bool:
    """Whether an index that takes every element keeps their order."""
    return all(not isinstance(i, tuple) or i[2] in (None, 1) for i in e.params["index"])


def _matched(source: tuple[int, ...], target: tuple[int, ...]) -> list[int | None] | None:
    old = [(k, n) for k, n in enumerate(source) if n != 1]
    new = [n for n in target if n != 1]
    if [n for _, n in old] != new:
        return None
    axes = iter(old)
    return [None if n == 1 else next(axes)[0] for n in target]
