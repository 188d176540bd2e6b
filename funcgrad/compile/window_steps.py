"""The convolution of two vectors as loops, for the bodies of loops and programs without Python.

It imports the nest that is written, and nothing that decides when it is taken: see `steps`.
"""

from __future__ import annotations

from funcgrad.compile.loops import Carry, Combine, Const, For, Let, Load, Operand, Store
from funcgrad.compile.nest import Nest
from funcgrad.compile.scalars import NATIVE
from funcgrad.graph.ir import Equation
from funcgrad.ops.convolution.vectors import window_of
from funcgrad.passes.views import View, whole

__all__ = ["convolved"]


def convolved(nest: Nest, e: Equation) -> bool:
    """out[i] = Σ short[k] long[t - k] with t = start + i, over those k for which both exist."""
    (out,) = e.outputs
    dtype = NATIVE[out.type.dtype]
    if dtype == "bool" or not out.type.size or any(not a.type.size for a in e.inputs):
        return False
    short, long = sorted(e.inputs, key=lambda a: a.type.shape[0])
    few, many = short.type.shape[0], long.type.shape[0]
    start, _ = window_of(few, many, e.params["mode"])
    (i,), body = nest.loops(out.type.shape, "sequential")

    def count(op: str, x: Operand, y: Operand) -> str:
        name = nest.fresh("n")
        body.append(Let(name, "int64", op, (x, y)))
        return name

    t = count("add", i, Const(start, "int64"))
    first = count("sub", t, Const(many - 1, "int64"))
    low = count("sub", first, count("min", first, Const(0, "int64")))  # or 0, if that is larger
    high = count("min", t, Const(few - 1, "int64"))
    terms = count("add", count("sub", high, low), Const(1, "int64"))
    along, carry = For(nest.fresh("i"), terms, "sequential"), nest.fresh("a")
    along.carries.append(Carry(carry, dtype, "add"))
    body.append(along)
    factors = []
    for a, steps in ((short, {low: 1, along.index: 1}), (long, {t: 1, low: -1, along.index: -1})):
        x: Operand = _element(nest, nest.view(a), steps, along)
        if NATIVE[a.type.dtype] != dtype:
            name = nest.fresh("v")
            along.body.append(Let(name, dtype, "cast", (x,)))
            x = name
        factors.append(x)
    product = nest.fresh("v")
    along.body += [Let(product, dtype, "mul", tuple(factors)), Combine(carry, product)]
    body.append(Store(nest.at(whole(out), (i,), "output"), carry, dtype))
    return True


def _element(nest: Nest, x: View | Const, steps: dict[str, int], along: For) -> Operand:
    """The element of a vector at the sum of these indices, each times its step."""
    if isinstance(x, Const):
        return x
    (stride,) = x.strides
    name = nest.fresh("v")
    at = nest.at(x._replace(strides=()), (), "input")
    at = at._replace(terms=tuple((i, k * stride) for i, k in steps.items() if stride))
    along.body.append(Load(name, NATIVE[x.base.type.dtype], at))
    return name
