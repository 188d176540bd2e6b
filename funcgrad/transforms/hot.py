"""The hot paths of a tape: elementwise operations on small raw float64 values.

What a tape does with ``x * y`` is the same every time for one primitive and one set of traced
operands, so it is written out once, by a template, and nothing is decided while it runs: which
values to save, which parents there are, and the product of the cotangent with each partial. The
quick products do not look for 0 times an infinite partial; the backward pass looks at its results
and starts again with the full rules when there is a NaN.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.core.forms import left, right
from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import EMPTY
from funcgrad.ops.operators import BINARY
from funcgrad.transforms.node import Node, TapeTracer, new, seq

__all__ = ["Record", "install", "quick_pull", "recorder"]

Record = Callable[..., Any]
FLOAT64 = np.dtype(np.float64)
SYMBOLS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}

TEMPLATE = """
class HotNode(Node):
    __slots__ = ()
    prim, params, fix = prim, EMPTY, None
    quick = True
    def pull_quick(self, cts, g):
        out, a, b = self.saved
        p, q = self.parents
{pull}

def record(x, y):
    trace = {traced}.owner
    if trace.closed:
        raise trace.leaked()
    a, b = {values}
    out = {compute}
    {guard}
    node = new(HotNode)
    node.parents = {parents}
    node.saved = {saved}
    node.seq = next(seq)
    t = new(TapeTracer)
    t.value = out
    t.owner = trace
    t.node = node
    t.kind = {traced}.kind
    return t
"""

PULL = """
        c = {term}
        cts[{parent}] = cts[{parent}] + c if {parent} in cts else c
"""


def recorder(prim: Any, mask: int) -> Record:
    """The recording function of `prim` with the operands of `mask` traced, made on first use.

    It takes the operands: tracers of one kind, and Python numbers for what is not traced.
    """
    made: Record = _write(prim, mask) if _suits(prim) else _general(prim)
    prim.recorders[mask] = made
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
    out, first, *second = prim.saved_flags(mask, prim.ufunc.nin)
    keeps = [name if flag else "None" for name, flag in zip("ab", (first, *second), strict=False)]
    traced = [bool(mask & 1), bool(mask & 2)]
    values = ", ".join(f"{n}.value" if t else n for n, t in zip("xy", traced, strict=True))
    parents = ["x.node" if traced[0] else "None", "y.node" if traced[1] else "None"]
    symbol = SYMBOLS.get(prim.impl)
    pull, scope = quick_pull(prim, mask)
    text = TEMPLATE.format(
        pull=pull or "        ...",
        traced="x" if traced[0] else "y",
        values="x.value, None" if unary else values,
        compute="impl(a)" if unary else f"a {symbol} b" if symbol else "impl(a, b)",
        # a negative number to a fractional power: Python's own becomes complex
        guard="if type(out) is complex: return trace.process(prim, (x, y), EMPTY)"
        if prim.impl is operator.pow
        else "",
        parents=f"({', '.join(parents[: prim.ufunc.nin])},)",
        saved=f"({', '.join(['out' if out else 'None', *keeps])})",
    )
    if unary:
        text = text.replace("def record(x, y)", "def record(x)").replace("p, q =", "p, =")
        text = text.replace("out, a, b = self.saved", "out, a = self.saved")
    scope.update(prim=prim, impl=prim.impl, EMPTY=EMPTY, Node=Node, new=new, seq=seq)
    scope["TapeTracer"] = TapeTracer
    exec(compile(text, f"<funcgrad {prim.name}>", "exec"), scope)
    made: Record = scope["record"]
    return made


def quick_pull(prim: Any, mask: int) -> tuple[str, dict[str, Any]]:
    """What hands the products of `g` and the partials to the parents `p, q`, and its names."""
    text = "".join(_pull(i, d) for i, d in enumerate(prim.partials) if mask >> i & 1)
    return text, {f"d{i}": _raw(d) for i, d in enumerate(prim.partials)}


def _pull(i: int, d: Any) -> str:
    if d == 0:
        return ""
    if d is left or d is right:
        term = f"g * {'a' if d is left else 'b'}"
    elif callable(d):
        term = f"g * d{i}({', '.join(['out', 'a', 'b'][: d.__code__.co_argcount])})"
    else:
        term = "g" if d == 1 else "-g" if d == -1 else f"g * d{i}"
    return PULL.format(term=term, parent="pq"[i])


def _raw(d: Any) -> Any:
    """The partial derivative with NumPy's ufuncs in the place of the operations it names."""
    if not isinstance(d, FunctionType) or d.__closure__:
        return d
    scope = dict(d.__globals__)
    for name in d.__code__.co_names:
        prim = getattr(scope.get(name), "primitive", None)
        if prim is not None and hasattr(prim, "ufunc"):
            scope[name] = prim.ufunc
    return FunctionType(d.__code__, scope, d.__name__, d.__defaults__)


# ------------------------------------------------------------------------------- operators


def _operator(prim: Any, general: Any) -> Any:
    recorders = prim.recorders

    def dunder(self: Any, y: Any) -> Any:
        kind = self.kind
        if kind is not None:
            other = type(y)
            if other is TapeTracer:
                if y.kind is kind:
                    return (recorders[3] or recorder(prim, 3))(self, y)
            elif other is float or other is int:
                return (recorders[1] or recorder(prim, 1))(self, y)
        return general(self, y)

    return dunder


def _swapped(prim: Any, general: Any) -> Any:
    recorders = prim.recorders

    def dunder(self: Any, y: Any) -> Any:
        if self.kind is not None and (type(y) is float or type(y) is int):
            return (recorders[2] or recorder(prim, 2))(y, self)
        return general(self, y)

    return dunder


def install() -> None:
    """Give the tracers of a tape operators that record without a detour."""
    for name, op in BINARY.items():
        prim = op.primitive
        for text, make in ((f"__{name}__", _operator), (f"__r{name}__", _swapped)):
            setattr(TapeTracer, text, make(prim, getattr(TapeTracer, text)))


install()
