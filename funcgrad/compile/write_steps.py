"""Loops that write at positions: into a copy of an array, or adding to it or to zeros.

Also who writes last at a position. They import the nest that is written, and nothing that decides
when they are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile.loops import Accumulate, Address, Buffer, Const, For, Let, Load, Store
from funcgrad.compile.nest import Nest, whole_strides
from funcgrad.compile.order_steps import inside
from funcgrad.compile.scalars import NATIVE
from funcgrad.graph.ir import Atom, Equation
from funcgrad.passes.operands import domain
from funcgrad.passes.views import View, whole

__all__ = ["added", "put", "scattered", "winners"]


def _writes(nest: Nest, at: Atom, size: int) -> tuple[For, str]:
    """The loop over flat positions, one after the other, and the position in it."""
    along = For(nest.fresh("i"), at.type.size, "sequential")
    nest.body.append(along)
    return along, _place(nest, at, nest.view(at), [along.index], size, along.body)


def _place(
    nest: Nest, at: Atom, view: View | Const, indices: Sequence[str], size: int, body: list[Any]
) -> str:
    """The position that an operand says, which has to be one of `size`."""
    index: Any = nest.read(view, indices, body)
    if at.type.dtype != np.int64:
        index, given = nest.fresh("v"), index
        body.append(Let(index, "int64", "cast", (given,)))
    return inside(nest, index, size, body)


def _is_written(e: Equation) -> bool:
    x, at, v = (a.type for a in e.inputs)
    return at.ndim == 1 and at.dtype.kind in "iu" and v.shape == at.shape and x.size > 0


def _copied(nest: Nest, e: Equation) -> str:
    """The result with the elements of the array, before anything is written."""
    (out,) = e.outputs
    nest.copy(nest.view(e.inputs[0]), whole(out), NATIVE[out.type.dtype])
    return nest.buffer(out, "output")


def put(nest: Nest, e: Equation) -> bool:
    """Of equal positions the last one wins."""
    x, at, v = e.inputs
    if not _is_written(e) or x.type.dtype != v.type.dtype:
        return False
    target, dtype = _copied(nest, e), NATIVE[x.type.dtype]
    along, place = _writes(nest, at, x.type.size)
    value = nest.read(nest.view(v), [along.index], along.body)
    along.body.append(Store(Address(target, ((place, 1),)), value, dtype))
    return True


def added(nest: Nest, e: Equation) -> bool:
    """In the dtype of the array: where that of the values is wider, NumPy rounds each sum."""
    x, at, v = e.inputs
    wide = x.type.dtype == np.result_type(x.type.dtype, v.type.dtype)
    if not _is_written(e) or not wide or x.type.dtype.kind == "b":
        return False
    target, dtype = _copied(nest, e), NATIVE[x.type.dtype]
    along, place = _writes(nest, at, x.type.size)
    value: Any = nest.read(nest.view(v), [along.index], along.body)
    if v.type.dtype != x.type.dtype:
        value, given = nest.fresh("v"), value
        along.body.append(Let(value, dtype, "cast", (given,)))
    along.body.append(Accumulate(Address(target, ((place, 1),)), "add", value, dtype))
    return True


def winners(nest: Nest, e: Equation) -> bool:
    """Whether a write is the last one at its place: each notes its number there."""
    (out,), (at,) = e.outputs, e.inputs
    size = e.params["size"]
    if at.type.ndim != 1 or at.type.dtype.kind not in "iu":
        return False
    owner = nest.fresh("row")
    nest.code.locals.append(Buffer(owner, "int64", "local", size))
    along, place = _writes(nest, at, size)
    along.body.append(Store(Address(owner, ((place, 1),)), along.index, "int64"))
    along, place = _writes(nest, at, size)
    last, won = nest.fresh("v"), nest.fresh("v")
    target = View(out, 0, out.type.shape, whole_strides(out.type.shape))
    along.body += [
        Load(last, "int64", Address(owner, ((place, 1),))),
        Let(won, "bool", "eq", (last, along.index)),
        Store(nest.at(target, [along.index], "output"), won, "bool"),
    ]
    return True


def scattered(nest: Nest, e: Equation) -> bool:
    """Zeros, to which elements are added at positions along the leading axes; truths are joined."""
    (out,), (g, *at) = e.outputs, e.inputs
    if g.type.dtype != out.type.dtype or any(a.type.dtype.kind not in "iu" for a in at):
        return False
    target, dtype, shape = whole(out), NATIVE[out.type.dtype], domain(e)
    nest.fill(target, Const(0, dtype))
    indices, body = nest.loops(shape, "sequential")
    lead = indices[: len(shape) - (out.type.ndim - len(at))]
    terms = []
    for a, n, stride in zip(at, out.type.shape, target.strides, strict=False):
        view = nest.view(a)
        place = _place(nest, a, _aligned(view, len(lead)), lead, n, body)
        terms.append((place, stride))
    tail = zip(indices[len(lead) :], target.strides[len(at) :], strict=True)
    value = nest.read(_aligned(nest.view(g), len(shape)), indices, body)
    buffer = nest.buffer(out, "output")
    address = Address(buffer, tuple(t for t in (*terms, *tail) if t[1]), 0)
    body.append(Accumulate(address, "or" if dtype == "bool" else "add", value, dtype))
    return True


def _aligned(view: View | Const, rank: int) -> View | Const:
    """A view that is repeated along axes of one element, and along leading ones."""
    if isinstance(view, Const):
        return view
    own = (0 if n == 1 else s for n, s in zip(view.shape, view.strides, strict=True))
    more = rank - len(view.shape)
    return view._replace(shape=(1,) * more + view.shape, strides=(0,) * more + tuple(own))
