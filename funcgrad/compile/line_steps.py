"""Loops along one axis in the order of its elements: running sums, recurrences, positions.

They import the nest that is written, and nothing that decides when they are taken: see `steps`.
"""

from __future__ import annotations

from collections.abc import Callable

from funcgrad.compile.loops import Carry, Combine, Const, For, Let, Load, Store
from funcgrad.compile.nest import Nest, whole_strides
from funcgrad.compile.scalars import NATIVE
from funcgrad.graph.ir import Equation
from funcgrad.passes.views import View, whole

__all__ = ["accumulated", "position", "recurrence"]


def accumulated(op: str) -> Callable[[Nest, Equation], bool]:
    """Running sums or products along an axis, in the order of the elements."""

    def write(nest: Nest, e: Equation) -> bool:
        (out,) = e.outputs
        x, axis = nest.view(e.inputs[0]), e.params["axis"]
        if isinstance(x, Const) or axis is None or e.inputs[0].type.dtype != out.type.dtype:
            return False
        dtype, into = NATIVE[out.type.dtype], whole(out)
        axis %= out.type.ndim
        shape = list(out.type.shape)
        length = shape.pop(axis)
        indices, body = nest.loops(shape, "sequential")
        along, carry = For(nest.fresh("i"), length, "sequential"), nest.fresh("a")
        # unlike a sum, a running one keeps a first -0
        start = Const(-0.0, dtype) if op == "add" and out.type.dtype.kind == "f" else None
        along.carries.append(Carry(carry, dtype, op, start))
        indices.insert(axis, along.index)
        value = nest.read(x, indices, along.body)
        store = Store(nest.at(into, indices, "output"), carry, dtype)
        along.body += [Combine(carry, value), store]
        body.append(along)
        return True

    return write


def recurrence(nest: Nest, e: Equation) -> bool:
    """s[i] = a[i] s[i-1] + b[i] along an axis."""
    (out,) = e.outputs
    a, b = (nest.view(x) for x in e.inputs)
    if any(x.type.dtype != out.type.dtype or x.type.shape != out.type.shape for x in e.inputs):
        return False
    dtype, into, axis = NATIVE[out.type.dtype], whole(out), e.params["axis"] % out.type.ndim
    shape = list(out.type.shape)
    length = shape.pop(axis)
    indices, body = nest.loops(shape, "sequential")
    along = For(nest.fresh("i"), length, "sequential")
    body.append(along)
    indices.insert(axis, along.index)
    later, last, term, total, found = (nest.fresh("v") for _ in range(5))
    start = nest.read(b, indices, along.body)
    factor = nest.read(a, indices, along.body)
    address = nest.at(into, indices, "output")
    before = address._replace(offset=-into.strides[axis])
    along.body += [
        Let(later, "bool", "gt", (along.index, Const(0, "int64"))),
        Load(last, dtype, before, later),
        Let(term, dtype, "mul", (factor, last)),
        Let(total, dtype, "add", (term, start)),
        Let(found, dtype, "select", (later, total, start)),
        Store(address, found, dtype),
    ]
    return True


def position(op: str) -> Callable[[Nest, Equation], bool]:
    """Where the first extreme element stands along an axis, or in C order; a NaN is extreme."""

    def write(nest: Nest, e: Equation) -> bool:
        (out,), (a,), axis = e.outputs, e.inputs, e.params["axis"]
        x, dtype, index = nest.view(a), NATIVE[a.type.dtype], NATIVE[out.type.dtype]
        if isinstance(x, Const) or dtype == "bool" or (axis is None and a.type.ndim != 1):
            return False
        axis = (axis or 0) % a.type.ndim
        shape = [n for k, n in enumerate(a.type.shape) if k != axis]
        target = View(out, 0, tuple(shape), whole_strides(shape))
        indices, body = nest.loops(shape, "sequential")
        into = nest.at(target, indices, "output")
        along = For(nest.fresh("i"), a.type.shape[axis], "sequential")
        body += [Store(into, Const(0, index), index), along]
        best, old, better, found = (nest.fresh("v") for _ in range(4))
        along.body.append(Load(best, index, into))
        new = nest.read(x, [*indices[:axis], along.index, *indices[axis:]], along.body)
        along.body += [
            Load(old, dtype, nest.at(x, [*indices[:axis], best, *indices[axis:]], "input")),
            Let(better, "bool", op, (new, old)),
        ]
        if dtype.startswith("float"):
            unknown, known, first, either = (nest.fresh("v") for _ in range(4))
            along.body += [
                Let(unknown, "bool", "ne", (new, new)),
                Let(known, "bool", "eq", (old, old)),
                Let(first, "bool", "and", (unknown, known)),
                Let(either, "bool", "or", (better, first)),
            ]
            better = either
        along.body += [
            Let(found, index, "select", (better, along.index, best)),
            Store(into, found, index),
        ]
        return True

    return write
