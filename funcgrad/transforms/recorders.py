"""The hot paths of a tape: elementwise operations on small raw float64 values.

What a tape does with ``x * y`` is the same every time for one primitive and one set of traced
operands, so it is written out once, by a template, and nothing is decided while it runs: which
values to save, which parents there are, and the product of the cotangent with each partial. The
quick products know nothing of absent elements (see `transforms/presence.py`); the backward pass
looks at its results and starts again with the full rules when there is a NaN.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.core.forms import UNARY
from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import EMPTY, ArrayOperand
from funcgrad.core.types import ArrayType
from funcgrad.errors import NotDifferentiableError
from funcgrad.graph.build import stage
from funcgrad.graph.ir import Graph
from funcgrad.graph.straight import INFIX, Straight
from funcgrad.ops.arithmetic import scale
from funcgrad.ops.operators import BINARY, with_squares
from funcgrad.ops.sums import SUM
from funcgrad.transforms.node import Node, OpNode, TapeTracer, leaf_node, seq

__all__ = ["Record", "install", "quick_pull", "recorder"]

Record = Callable[..., Any]
FLOAT64 = np.dtype(np.float64)

TEMPLATE = """
class HotNode(Node):
    __slots__ = {slots}
    prim, params, avals = prim, EMPTY, None
    quick = True
    @property
    def parents(self):
        return {parents}
    @property
    def saved(self):
        return {saved}
    def pull_quick(self, cts, g):
        {given}
{pull}

def record(x, y):
    try:
        {operands}
        trace = {traced}.owner
        if trace.closed:
            raise trace.leaked()
        a, b = {values}
        out = {compute}
        {guard}
        node = HotNode()
        {keep}
        node.seq = serial = next(seq)
        trace.nodes.append(node)
        if serial > trace.limit:
            trace.forget()
        t = TapeTracer()
        t.value = out
        t.owner = trace
        t.node = node
        t.kind = {traced}.kind
        return t
    except Exception as error:
        hide_frames(error)
        raise
"""

OF_ONE_KIND = """
        kind = x.kind
        if type(y) is not TapeTracer or y.kind is not kind or kind is None:
            return general(x, y)
"""

PULL = """
        {lines}
        cts[{parent}] = cts[{parent}] + c if {parent} in cts else c
"""


_WORD = re.compile(r"\w+")
PATIENCE = 64  # uses of an operation that together take as long as writing it out


def recorder(prim: Any, mask: int) -> Record:
    """The recording function of `prim` with the operands of `mask` traced.

    It takes the operands: tracers of one kind, and Python numbers for what is not traced. The first
    uses go the general way, which has the same bits: writing one takes half a millisecond.
    """
    general, uses = _general(prim), count(1)

    def record(*args: Any) -> Any:
        if next(uses) <= PATIENCE:
            return general(*args)
        written: Record = _write(prim, mask)
        prim.recorders[mask] = written
        if mask == 3 and prim in OPERATORS:  # it is the operator itself
            setattr(TapeTracer, OPERATORS[prim][0], written)
        return written(*args)

    prim.recorders[mask] = made = record if _suits(prim) else general
    return made


def _suits(prim: Any) -> bool:
    """Whether float64 gives float64, and there is something to record."""
    if not prim.differentiable:
        return False
    try:
        dtypes = prim.ufunc.resolve_dtypes((FLOAT64,) * prim.ufunc.nin + (None,))
    except TypeError:
        return False
    return bool(dtypes[-1] == FLOAT64)


def _general(prim: Primitive) -> Record:
    def record(*args: Any) -> Any:
        owner = next(x for x in args if type(x) is TapeTracer).owner
        return owner.process(prim, args, EMPTY)

    return record


def _write(prim: Any, mask: int) -> Record:
    unary = prim.ufunc.nin == 1
    names = ["out", "a", "b"][: prim.ufunc.nin + 1]
    flags = prim.saved_flags(mask, prim.ufunc.nin)
    kept = [name for name, flag in zip(names, flags, strict=True) if flag]
    traced = [bool(mask & 1), bool(mask & 2)]
    nodes = {n: t for n, t, is_ in zip("pq", "xy", traced, strict=True) if is_}
    values = ", ".join(f"{n}.value" if t else n for n, t in zip("xy", traced, strict=True))
    parents = [f"self.{n}" if n in nodes else "None" for n in "pq"[: prim.ufunc.nin]]
    symbol = INFIX.get(prim.impl)
    pull, straight = quick_pull(prim, mask)
    scope = straight.scope
    asked = {*_WORD.findall(pull)}
    given = [f"{n} = self.{n}" for n in nodes if n in asked]
    given += [f"{n} = {f'self.{n}' if n in kept else None}" for n in names if n in asked]
    text = TEMPLATE.format(
        pull=pull or "        ...",
        traced="x" if traced[0] else "y",
        operands=OF_ONE_KIND if mask == 3 and prim in OPERATORS else "",
        values="x.value, None" if unary else values,
        compute="impl(a)" if unary else f"a {symbol} b" if symbol else "impl(a, b)",
        # a negative number to a fractional power: Python's own becomes complex
        guard="if type(out) is complex: return trace.process(prim, (x, y), EMPTY)"
        if prim.impl is operator.pow
        else "",
        # each in a slot of its own: a tuple would be one more object for every node
        slots=(*nodes, *kept),
        parents=f"({', '.join(parents)},)",
        saved=f"({', '.join(f'self.{n}' if n in kept else 'None' for n in names)},)",
        given="; ".join(given) or "...",
        keep="; ".join(
            [f"node.{n} = {t}.node" for n, t in nodes.items()] + [f"node.{n} = {n}" for n in kept]
        ),
    )
    if unary:
        text = text.replace("def record(x, y)", "def record(x)")
    scope.update(prim=prim, impl=prim.impl, EMPTY=EMPTY, Node=Node, seq=seq)
    scope.update(
        TapeTracer=TapeTracer, hide_frames=hide_frames, general=OPERATORS.get(prim, ("", None))[1]
    )
    exec(compile(text, f"<funcgrad {prim.name}>", "exec"), scope)
    made: Record = scope["record"]
    return made


def quick_pull(prim: Any, mask: int) -> tuple[str, Straight]:
    """What hands the products of `g` and the partials to the parents `p, q`, and what it names.

    Rules of ours are printed from their staged graphs. A rule of a user is called as it is: it may
    read what changes. So is one of ours that looks at an operand which is a number here.
    """
    straight, text = Straight("k", {}), ""
    for i, d in enumerate(prim.partials):
        if mask >> i & 1 and (callable(d) or d != 0):
            called = not prim.is_ours or (prim.by_number and mask != 3)
            graph = _product(prim, i) if callable(d) and not called else None
            if graph is None:
                lines = [_called(straight, d, prim.ufunc.nin)]
            else:
                straight.names |= zip(graph.inputs, ["g", "out", "a", "b"], strict=False)
                straight.numbers = {v for k, v in enumerate(graph.inputs[2:]) if not mask >> k & 1}
                lines = straight.lines(graph, quick=True)
                lines.append(f"c = {straight.atom(graph.outputs[0])}")
            text += PULL.format(lines="\n        ".join(lines), parent="pq"[i])
    return text, straight


def _product(prim: Any, i: int) -> Graph | None:
    """A cotangent times a partial, as a graph of it, the output and the operands.

    None if it is more than elementwise operations, which serve every shape, or refuses.
    """
    types = [ArrayType((2,), FLOAT64)] * (2 + prim.ufunc.nin)
    try:
        graph, _ = stage(lambda g, *values: (scale(g, prim.partials[i](*values)),), types)
    except NotDifferentiableError:
        return None
    plain = not graph.constants and all(e.prim.aligned for e in graph.equations)
    return graph if plain else None


def _called(straight: Straight, d: Any, count: int) -> str:
    if callable(d):
        return f"c = g * {straight.constant(d)}({', '.join(['out', 'a', 'b'][: count + 1])})"
    return f"c = {'g' if d == 1 else '-g' if d == -1 else f'g * {straight.constant(d)}'}"


# ------------------------------------------------------------------------------- operators

# Those that a recorder takes the place of: their names, and what serves operands of other kinds.
OPERATORS: dict[Primitive, tuple[str, Callable[[Any, Any], Any]]] = {}


def _operator(prim: Any, general: Any) -> Any:
    recorders = prim.recorders

    def dunder(self: Any, y: Any) -> Any:
        try:
            kind = self.kind
            if kind is not None:
                other = type(y)
                if other is TapeTracer:
                    if y.kind is kind:
                        return (recorders[3] or recorder(prim, 3))(self, y)
                elif other is float or other is int:
                    return (recorders[1] or recorder(prim, 1))(self, y)
            return general(self, y)
        except Exception as error:
            hide_frames(error)
            raise

    return dunder


def _swapped(prim: Any, general: Any) -> Any:
    recorders = prim.recorders

    def dunder(self: Any, y: Any) -> Any:
        try:
            if self.kind is not None and (type(y) is float or type(y) is int):
                return (recorders[2] or recorder(prim, 2))(y, self)
            return general(self, y)
        except Exception as error:
            hide_frames(error)
            raise

    return dunder


# ------------------------------------------------------------------------------------ sums


class SumNode(Node):
    """The sum of all elements, with which most functions end."""

    __slots__ = ("p",)
    prim, saved = SUM, (None, None)
    p: Node

    @property
    def parents(self) -> tuple[Node]:  # type: ignore[override]
        return (self.p,)


SUM_OF_A_SHAPE = """
class SumOfShape(SumNode):
    __slots__ = ()
    avals, params = avals, params
    def pull_quick(self, cts, g):
        p = self.p
{pull}
"""


def _whole_sum(x: TapeTracer) -> TapeTracer:
    """What a tape records for the sum of all elements of a small float64 array."""
    trace: Any = x.owner
    if trace.closed:
        raise trace.leaked()
    node = _summed(x.value.shape)()
    t = TapeTracer()
    t.value = SUM.impl(x.value, **node.params)
    node.p = x.node
    node.seq = serial = next(seq)
    trace.nodes.append(node)
    if serial > trace.limit:
        trace.forget()
    t.owner, t.node, t.kind = trace, node, trace.kind_of(t.value)
    return t


@functools.lru_cache(256)
def _summed(shape: tuple[int, ...]) -> type[SumNode]:
    """The nodes of sums of all elements; their quick rule is printed from that of the record."""
    rule, avals = OpNode(), (ArrayType(shape, FLOAT64),)
    params = {"axes": tuple(range(len(shape))), "keepdims": False, "dtype": None}
    rule.prim, rule.params, rule.avals, rule.saved = SUM, params, avals, SumNode.saved
    rule.parents = (leaf_node(avals[0]),)
    graph, _ = stage(lambda g: SUM.vjp(rule, g), [ArrayType((), FLOAT64)])
    scope: dict[str, Any] = {"SumNode": SumNode, "avals": avals, "params": params}
    straight = Straight("k", scope)
    straight.names[graph.inputs[0]] = "g"
    lines = [*straight.lines(graph), f"c = {straight.atom(graph.outputs[0])}"]
    pull = PULL.format(lines="\n        ".join(lines), parent="p")
    exec(compile(SUM_OF_A_SHAPE.format(pull=pull), "<funcgrad sum>", "exec"), scope)
    made: type[SumNode] = scope["SumOfShape"]
    return made


def _array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A function of NumPy that meets a tracer of a tape: plain sums are recorded from here."""
    try:
        if function is np.sum and len(args) == 1 and not kwargs and args[0] is self:
            kind = self.kind
            if kind is not None and type(self) is TapeTracer and type(self.value) is np.ndarray:
                return _whole_sum(self)
        return anything.__array_function__(self, function, types, args, kwargs)
    except Exception as error:
        hide_frames(error)
        raise


# ------------------------------------------------------------------------- NumPy's protocols

anything: Any = ArrayOperand  # which gets NumPy's protocols from the room above


def _array_ufunc(
    self: Any, ufunc: Any, method: str, x: Any, /, *others: Any, **keywords: Any
) -> Any:
    """A ufunc of NumPy that meets a tracer of a tape: of one operand it is recorded from here."""
    try:
        if not others and not keywords and method == "__call__":
            prim = UNARY.get(ufunc)
            if prim is not None and self.kind is not None and type(self) is TapeTracer:
                return (prim.recorders[1] or recorder(prim, 1))(self)
        return anything.__array_ufunc__(self, ufunc, method, x, *others, **keywords)
    except Exception as error:
        hide_frames(error)
        raise


def install() -> None:
    """Give the tracers of a tape operators that record without a detour."""
    for name, op in BINARY.items():
        prim = op.primitive
        for text, make in ((f"__{name}__", _operator), (f"__r{name}__", _swapped)):
            setattr(TapeTracer, text, make(prim, getattr(TapeTracer, text)))
        OPERATORS[prim] = f"__{name}__", getattr(TapeTracer, f"__{name}__")
    del OPERATORS[BINARY["pow"].primitive]  # whose operator knows squares
    setattr(TapeTracer, "__pow__", with_squares(getattr(TapeTracer, "__pow__")))  # noqa: B009, B010
    setattr(TapeTracer, "__array_ufunc__", _array_ufunc)  # noqa: B010
    setattr(TapeTracer, "__array_function__", _array_function)  # noqa: B010


install()
