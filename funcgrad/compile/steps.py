"""Loop nests for what the host program leaves to NumPy: products, running sums, extrema, copying.

A program that runs without Python cannot call NumPy. What moves elements or multiplies small
matrices is written here as plain loops over views, with the sizes in the code. It imports the loop
nests, views and graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from funcgrad.compile.code import Written
from funcgrad.compile.factor_steps import FACTORS
from funcgrad.compile.line_steps import accumulated, position, recurrence
from funcgrad.compile.loops import Carry, Combine, Const, For, Let, Store
from funcgrad.compile.nest import Nest, whole_strides
from funcgrad.compile.order_steps import permuted, searched, sorted_line
from funcgrad.compile.scalars import NATIVE
from funcgrad.compile.window_steps import convolved
from funcgrad.compile.write_steps import added, put, scattered, winners
from funcgrad.core.primitive import Primitive
from funcgrad.graph.ir import Equation, Var
from funcgrad.ops import records
from funcgrad.passes.plan import Plan
from funcgrad.passes.views import View, view_of, whole

__all__ = ["copy_step", "fill_step", "step_of"]


def step_of(e: Equation, plan: Plan, name: str) -> Written | None:
    """The loops of an equation; None where there are none for it."""
    write = STEPS.get(e.prim)
    if write is None or any(a.type.dtype not in NATIVE for a in (*e.inputs, *e.outputs)):
        return None
    nest = Nest(plan, name)
    return nest.written() if write(nest, e) else None


def copy_step(source: View, target: Var, dtype: str, name: str) -> Written:
    """What copies a view into memory in C order."""
    nest = Nest(None, name)
    nest.copy(source, View(target, 0, source.shape, whole_strides(source.shape)), dtype)
    return nest.written()


def fill_step(value: Any, target: Var, name: str) -> Written:
    """What sets all elements of a variable to a number."""
    nest = Nest(None, name)
    nest.fill(whole(target), Const(value, NATIVE[target.type.dtype]))
    return nest.written()


def _copy(nest: Nest, e: Equation) -> bool:
    """A view of something that does not lie in memory in this order."""
    (out,) = e.outputs
    source = nest.view(e.inputs[0])
    if isinstance(source, Const):
        return False
    if e.prim is records.RESHAPE:  # in their order: the target is seen in the shape of the source
        target = View(out, 0, source.shape, whole_strides(source.shape))
        nest.copy(source, target, NATIVE[out.type.dtype])
        return True
    moved = view_of(e, source)
    if moved is not None:
        nest.copy(moved, whole(out), NATIVE[out.type.dtype])
    return moved is not None or out.type.size == 0


def _product(nest: Nest, e: Equation) -> bool:
    """A matrix product, with leading axes that broadcast."""
    (out,) = e.outputs
    dtype = NATIVE[out.type.dtype]
    kinds = [a.type for a in e.inputs]
    if e.prim is records.DOT and kinds[1].ndim > 2:
        return _tensordot(nest, e)
    if dtype == "bool" or any(t.dtype != out.type.dtype or t.ndim == 0 for t in kinds):
        return False
    left, right = (t.shape for t in kinds)
    left = left if len(left) > 1 else (1, *left)
    right = right if len(right) > 1 else (*right, 1)
    lead = np.broadcast_shapes(left[:-2], right[:-2])
    shape = (*lead, left[-2], right[-1])
    x = _operand(nest.view(e.inputs[0]), left, lead)
    y = _operand(nest.view(e.inputs[1]), right, lead)
    _sums(nest, x, y, View(out, 0, shape, whole_strides(shape)), left[-1], dtype)
    return True


def _operand(v: View | Const, shape: tuple[int, ...], lead: tuple[int, ...]) -> View | Const:
    """An operand as a matrix of this shape, with leading axes that broadcast to `lead`."""
    if isinstance(v, Const):
        return v
    strides = v.strides
    if len(strides) == 1:  # a row on the left, a column on the right
        strides = (0, *strides) if shape[-1] == v.shape[0] and shape[-2] == 1 else (*strides, 0)
    own = [0 if n == 1 else s for n, s in zip(shape[:-2], strides[:-2], strict=True)]
    more = (0,) * (len(lead) - len(own))
    return View(v.base, v.offset, (*lead, *shape[-2:]), (*more, *own, *strides[-2:]))


def _sums(nest: Nest, x: View | Const, y: View | Const, out: View, length: int, dtype: str) -> None:
    """out[…, i, j] = Σ x[…, i, k] y[…, k, j]; lanes run along j, or k where there is one column."""
    wide = out.shape[-1] > 1
    indices, body = nest.loops(out.shape[:-1], "sequential")
    column = For(nest.fresh("i"), out.shape[-1], "vector" if wide else "sequential")
    body.append(column)
    k, carry, product = nest.fresh("i"), nest.fresh("a"), nest.fresh("v")
    inner = For(k, length, "sequential" if wide else "vector")
    inner.carries.append(Carry(carry, dtype, "add"))
    one = nest.read(x, [*indices, k], inner.body)
    two = nest.read(y, [*indices[:-1], k, column.index], inner.body)
    inner.body += [Let(product, dtype, "mul", (one, two)), Combine(carry, product)]
    address = nest.at(out, [*indices, column.index], "output")
    column.body += [inner, Store(address, carry, dtype)]


def _contraction(nest: Nest, e: Equation, terms: Sequence[str], kept: str) -> bool:
    """out[kept] = Σ over all other letters of the product of the operands, axes by letters."""
    (out,) = e.outputs
    dtype = NATIVE[out.type.dtype]
    extents: dict[str, int] = {}
    views = []
    for a, term in zip(e.inputs, terms, strict=True):
        if dtype == "bool" or not np.can_cast(a.type.dtype, out.type.dtype, "same_kind"):
            return False
        for letter, n in zip(term, a.type.shape, strict=True):
            extents[letter] = max(n, extents.get(letter, n)) if n != 0 else 0
        views.append((nest.view(a), term, a.type))
    shape = tuple(extents[c] for c in kept)
    at, body = nest.loops(shape, "sequential")
    index = dict(zip(kept, at, strict=True))
    carries: list[tuple[list[Any], str]] = []
    outermost = body
    for letter in extents:
        if letter not in index:
            loop, carry = For(nest.fresh("i"), extents[letter], "sequential"), nest.fresh("a")
            loop.carries.append(Carry(carry, dtype, "add"))
            index[letter] = loop.index
            body.append(loop)
            body = loop.body
            carries.append((body, carry))
    value = _term(nest, views, index, dtype, body)
    while carries:
        inner, carry = carries.pop()
        inner.append(Combine(carry, value))
        value = carry
    target = View(out, 0, shape, whole_strides(shape))
    outermost.append(Store(nest.at(target, at, "output"), value, dtype))
    return True


def _term(
    nest: Nest, views: Sequence[Any], index: dict[str, str], dtype: str, body: list[Any]
) -> str | Const:
    """The product of one element of each operand; an axis of extent 1 is the same all along."""
    product: str | Const | None = None
    for view, letters, kind in views:
        if isinstance(view, View):
            pairs = zip(view.strides, kind.shape, strict=True)
            view = view._replace(strides=tuple(0 if n == 1 else s for s, n in pairs))
        x = nest.read(view, [index[c] for c in letters], body)
        if NATIVE[kind.dtype] != dtype:
            name = nest.fresh("v")
            body.append(Let(name, dtype, "cast", (x,)))
            x = name
        if product is not None:
            name = nest.fresh("v")
            body.append(Let(name, dtype, "mul", (product, x)))
            x = name
        product = x
    assert product is not None
    return product


def _einsum(nest: Nest, e: Equation) -> bool:
    left, out = e.params["spec"].split("->")
    return _contraction(nest, e, left.split(","), out)


def _tensordot(nest: Nest, e: Equation) -> bool:
    """Also `inner` and `dot`, which contract one axis of each."""
    m, n = (a.type.ndim for a in e.inputs)
    if m + n > len(ascii_letters) or (e.prim is not records.TENSORDOT and 0 in (m, n)):
        return False
    chosen: dict[Primitive, Any] = {
        records.INNER: ((m - 1,), (n - 1,)),
        records.DOT: ((m - 1,), (max(n - 2, 0),)),
    }
    left, right = chosen.get(e.prim) or e.params["axes"]
    x, y = ascii_letters[:m], list(ascii_letters[m : m + n])
    for one, two in zip(left, right, strict=True):
        y[two] = x[one]
    kept = [c for k, c in enumerate(x) if k not in left]
    kept += [c for k, c in enumerate(y) if k not in right]
    return _contraction(nest, e, [x, "".join(y)], "".join(kept))


def _sum(nest: Nest, e: Equation) -> bool:
    """Of integers and truth values, or of a single element: in any order the same."""
    (a, *mask), (out,) = e.inputs, e.outputs
    whole_numbers = out.type.dtype.kind == "i" and a.type.dtype.kind != "f"
    if mask or not (whole_numbers or (a.type.size == out.type.size and out.type.dtype.kind == "f")):
        return False
    letters, axes = ascii_letters[: a.type.ndim], e.params["axes"]
    over = range(a.type.ndim) if axes is None else [k % a.type.ndim for k in axes]
    return _contraction(
        nest, e, [letters], "".join(c for k, c in enumerate(letters) if k not in over)
    )


STEPS: dict[Primitive, Callable[[Nest, Equation], bool]] = {
    records.GETITEM: _copy,
    records.TRANSPOSE: _copy,
    records.BROADCAST: _copy,
    records.FLIP: _copy,
    records.RESHAPE: _copy,
    records.MATMUL: _product,
    records.DOT: _product,
    records.INNER: _tensordot,
    records.TENSORDOT: _tensordot,
    records.EINSUM: _einsum,
    records.SUM: _sum,
    records.CUMSUM: accumulated("add"),
    records.CUMPROD: accumulated("mul"),
    records.RECURRENCE: recurrence,
    records.ARGMAX: position("gt"),
    records.ARGMIN: position("lt"),
    records.SCATTER_ADD: scattered,
    records.SORT: sorted_line(False),
    records.ARGSORT: sorted_line(True),
    records.PARTITION: sorted_line(False),
    records.ARGPARTITION: sorted_line(True),
    records.PERMUTE: permuted,
    records.SEARCHSORTED: searched,
    records.PUT: put,
    records.ADD_AT: added,
    records.WINNERS: winners,
    records.CONVOLVE: convolved,
    **FACTORS,
}
