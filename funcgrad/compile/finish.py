"""The kernel that runs when all chunks are done: totals of partial results, scalars of totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.compile.code import Argument, Code, Written
from funcgrad.compile.eligible import REDUCTIONS
from funcgrad.compile.loops import Address, Carry, Combine, Const, For, Let, Load, Store, Term
from funcgrad.compile.reads import Reads
from funcgrad.compile.scalars import NATIVE, Scalar, Writer, apply, resolve
from funcgrad.graph.ir import Atom, Equation, Literal, Var

__all__ = ["finish", "compensated"]


def compensated(op: str, dtype: str) -> str:
    return "compensated" if op == "add" and dtype.startswith("float") else op


def finish(low: Reads, partials: Sequence[Argument], late: Sequence[Equation]) -> Written:
    """The kernel that combines the chunks' partial results and computes scalars of totals."""
    code = Code(low.code.name + "_finish")
    chunks = code.integer("chunks", low.layout.chunks)
    body: list[Any] = []
    values: dict[Var, Scalar] = {}
    for a in partials:
        _combine(code, low, a, chunks, body, values)
    _late(code, low, late, body, values)
    return code.written(body)


def _combine(
    code: Code, low: Reads, a: Argument, chunks: Term, body: list[Any], values: dict[Var, Scalar]
) -> None:
    v = a.var
    op = REDUCTIONS[low.made[v].prim]
    source = code.argument(("partial", v), v, "partial", a.dtype, a.size)
    wide = low.is_column(low.reductions[v])
    index, loop_index, carry, x = code.fresh("j"), code.fresh("k"), code.fresh("a"), code.fresh()
    loop = For(loop_index, chunks, "sequential")
    loop.carries.append(Carry(carry, a.dtype, compensated(op, a.dtype)))
    if wide:
        width = code.integer(("width", source), v.type.size)
        at = Address(source, ((index, 1), (loop_index, width)))
    else:
        at = Address(source, ((loop_index, 1),))
    loop.body = [Load(x, a.dtype, at), Combine(carry, x)]
    if wide:
        target = code.argument(v, v, "output", a.dtype, v.type.size)
        columns = For(index, width, "vector")
        columns.body = [loop, Store(Address(target, ((index, 1),)), carry, a.dtype)]
        body.append(columns)
        return
    body.append(loop)
    values[v] = Scalar(carry, a.dtype)
    if v in low.outputs:
        target = code.argument(v, v, "output", a.dtype, 1)
        body.append(Store(Address(target, ()), carry, a.dtype))


def _late(
    code: Code, low: Reads, late: Sequence[Equation], body: list[Any], values: dict[Var, Scalar]
) -> None:
    def let(op: str, dtype: str, args: tuple[str | Const, ...]) -> str:
        name = code.fresh()
        given = tuple(code.number(a.value, a.dtype) if isinstance(a, Const) else a for a in args)
        body.append(Let(name, dtype, op, given))
        return name

    for e in late:
        xs = [_late_operand(code, low, a, body, values) for a in e.inputs]
        resolved = resolve(e, low.functions)
        assert resolved is not None
        v = e.outputs[0]
        values[v] = apply(Writer(let), e, resolved, xs)
        if v in low.outputs:
            dtype = NATIVE[v.type.dtype]
            target = code.argument(v, v, "output", dtype, 1)
            body.append(Store(Address(target, ()), values[v].operand, dtype))


def _late_operand(
    code: Code, low: Reads, a: Atom, body: list[Any], values: dict[Var, Scalar]
) -> Scalar:
    plan = low.plan
    if isinstance(a, Var) and a in plan.uniform:
        a = plan.uniform[a]
    if isinstance(a, Literal):
        return Scalar(Const(a.value, NATIVE[a.type.dtype]), NATIVE[a.type.dtype])
    base = plan.same.get(a, a)
    if base in values:
        return values[base]
    view = plan.views[a]
    dtype = NATIVE[view.base.type.dtype]
    buffer = code.argument(view.base, view.base, "input", dtype, view.base.type.size)
    offset = code.integer(("offset", a), view.offset) if view.offset else 0
    name = code.fresh()
    body.append(Load(name, dtype, Address(buffer, (), offset)))
    return Scalar(name, dtype)
