"""Elementwise operations: a ufunc and one partial derivative for each operand."""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms.shared import align, needed, union
from funcgrad.core.layout import computed
from funcgrad.core.primitive import Params, Primitive, Samples
from funcgrad.core.tracer import EMPTY, Tracer, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, broadcast_shapes

__all__ = [
    "UFUNCS",
    "UNARY",
    "Elementwise",
    "Op",
    "Pointwise",
    "bind2",
    "elementwise",
    "selecting",
]

Op = Callable[..., Any]  # a function of operands; its attribute `primitive` is the record
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}
# Ufuncs of one operand that do the same of numbers and arrays -> their records
UNARY: dict[np.ufunc, Elementwise] = {}
# Python's operators that give an integer of its bools, where NumPy's give a bool, or refuse
COUNTING = {
    operators.add,
    operators.sub,
    operators.mul,
    operators.floordiv,
    operators.mod,
    operators.pow,
    operators.neg,
    operators.pos,
    operators.abs,
    operators.invert,
    operators.lshift,
    operators.rshift,
}


class Pointwise:
    """A function that works on each element and is no ufunc, with what the form asks of a ufunc."""

    def __init__(self, function: Callable[..., Any], nin: int) -> None:
        self.function, self.nin, self.nout = function, nin, 1
        self.__name__ = function.__name__
        self.known: dict[tuple[Any, ...], np.dtype[Any]] = {}

    def __call__(self, *xs: Any) -> Any:
        x = xs[0]
        single = len(xs) == 1 and type(x) is np.ndarray
        if single and not x.flags.c_contiguous and 0 not in x.strides:
            # in the order of the operand, as a ufunc lays its result
            order = np.argsort([-abs(s) for s in x.strides], kind="stable")
            return np.transpose(self.function(x.transpose(order)), np.argsort(order))
        y = self.function(*xs)
        return y if isinstance(y, (np.ndarray, np.generic)) else np.asarray(y)[()]

    def resolve_dtypes(self, dtypes: Sequence[Any]) -> tuple[Any, ...]:
        """As the method of ufuncs: the dtypes of operands and output; a Python type is weak."""
        given = tuple(dtypes[: self.nin])
        if given not in self.known:
            with np.errstate(all="ignore"):
                ones = [d(1) if isinstance(d, type) else np.ones(1, d) for d in given]
                self.known[given] = np.asarray(self.function(*ones)).dtype
        out = self.known[given]
        return (*(out if isinstance(d, type) else d for d in given), out)


class Elementwise(Primitive):
    """Applied to each element; stated by one partial derivative per operand.

    A partial is a number, or a function of the output and the operands, which are given to it in
    the precision of the output.
    """

    form = "elementwise"
    aligned, cost = True, 15
    lies = staticmethod(computed)

    def __init__(
        self,
        name: str,
        ufunc: np.ufunc | Pointwise,
        impl: Callable[..., Any],
        partials: Sequence[Any],
    ) -> None:
        super().__init__(name, impl)
        self.ufunc = ufunc
        self.partials = tuple(partials)
        self.differentiable = bool(partials)
        self.chooses = any(hasattr(d, "selects") for d in self.partials)
        # NumPy's ufunc makes a NumPy scalar of a Python number, Python's operator does not.
        self.keeps_weak = impl is not ufunc
        self.counts = impl in COUNTING
        self.fills = _fills(ufunc, impl)
        count = ufunc.nin
        self.rows = [needed(d, count + 1) for d in self.partials]
        self.flags = [union(self.rows, mask, count + 1) for mask in range(1 << count)]
        self.recorders: list[Any] = [None] * (1 << count)
        self.types: dict[tuple[ArrayType, ...], ArrayType] = {}  # what was asked for lately
        self.linear_in: dict[tuple[bool, ...], bool] = {}

    def stated(self) -> tuple[Any, ...]:
        value = self.ufunc.function if isinstance(self.ufunc, Pointwise) else self.ufunc
        return (value, *self.partials)

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        found: tuple[bool, ...] = self.flags[mask]
        return found

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> ArrayType:
        key = tuple(types)
        found = self.types.get(key)
        if found is None:
            if len(self.types) >= 256:
                self.types.clear()
            found = self.types[key] = self.result_type(types)
        return found

    def result_type(self, types: Sequence[ArrayType]) -> ArrayType:
        weak = self.keeps_weak and all(t.weak for t in types)
        shape = broadcast_shapes(*(t.shape for t in types))
        wanted = tuple(t.dtype if weak else t.promotable() for t in types)
        if not weak and all(t.weak for t in types):
            wanted = tuple(t.dtype for t in types)
        dtype = self.ufunc.resolve_dtypes((*wanted, None))[-1]
        return ArrayType(shape, dtype, weak and dtype.kind in "bifc")

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        saved, avals = node.saved, node.avals
        if avals is not None:
            saved = (saved[0], *_widened(saved[1:], avals, type_of(g).dtype))
        out: list[Array | None] = []
        for i, d in enumerate(self.partials):
            c = None if node.parents[i] is None else _times(g, d, saved)
            if c is not None and avals is not None and avals[i] is not None:
                c = algebra.unbroadcast(c, avals[i])
            out.append(c)
        return out

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        out, total = type_of(y), None
        values = (y, *_widened(xs, list(map(type_of, xs)), out.dtype))
        for d, t in zip(self.partials, ts, strict=True):
            if t is None:
                continue
            c = _times(t, d, values)
            if c is not None:
                total = c if total is None else algebra.add(total, c)
        if total is None:
            return None
        return algebra.broadcast(total, out.shape, out.dtype)

    def batch(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        return bind(self, align(xs, batched), params)

    def mark(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        if not self.differentiable:
            return trace.plainly(self, args, params)
        if not any(map(callable, self.partials)):
            return trace.sum(self, args, params)
        if self.is_linear([trace.mine(a) for a in args], params):
            return trace.product(self, args, params)
        return trace.plainly(self, args, params)

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        moving = tuple(mask)
        if moving not in self.linear_in:
            self.linear_in[moving] = self._is_linear([k for k, m in enumerate(moving) if m])
        return self.linear_in[moving]

    def _is_linear(self, moving: Sequence[int]) -> bool:
        """Whether no partial depends on what moves, and the value at zero is zero."""
        if not self.partials or any(self.partials[k] == 0 for k in moving):
            return False  # a comparison, a step: it has no derivative, or is constant between jumps
        if all(not callable(self.partials[k]) for k in moving):
            if len(moving) < self.ufunc.nin:
                return False  # x + c is affine: every operand has to take part
        elif len(moving) > 1 or self.rows[moving[0]][0] or self.rows[moving[0]][moving[0] + 1]:
            return False
        with np.errstate(all="ignore"):
            zero = self.ufunc(*(float(k not in moving) for k in range(self.ufunc.nin)))
        return bool(zero == 0)


FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def _fills(ufunc: Any, impl: Callable[..., Any]) -> bool:
    """Whether the ufunc gives the values of `impl` and, of floats, floats of the same precision.

    Python's operators of arrays are NumPy's ufuncs, but for powers, of which some take short cuts.
    """
    same = impl is ufunc or impl.__module__ == "_operator"
    if not isinstance(ufunc, np.ufunc) or not same or impl is operators.pow or ufunc.nout > 1:
        return False
    try:
        return all(ufunc.resolve_dtypes((d,) * ufunc.nin + (None,))[-1] == d for d in FLOATS)
    except TypeError:
        return False


def selecting(partial: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a partial derivative that chooses among the operands: where it is 0, nothing passes.

    An infinite tangent of an operand that is not chosen is dropped; 0 times infinity is NaN.
    """
    partial.selects = True  # type: ignore[attr-defined]
    return partial


def _widened(
    values: Sequence[Any], types: Sequence[ArrayType], dtype: np.dtype[Any]
) -> Sequence[Any]:
    """Operands in the precision of the output: a partial of x / y in that of y would be coarse.

    What is real stays so: an order of a complex Bessel function has to be. A bool is a number: -y.
    """
    if all(t.dtype is dtype for t in types):
        return values
    real = np.zeros(0, dtype).real.dtype
    return [
        x
        if x is None or (t.weak and t.dtype.kind != "b")
        else algebra.cast(x, np.promote_types(t.dtype, dtype if t.dtype.kind == "c" else real))
        for x, t in zip(values, types, strict=True)
    ]


def _times(g: Array, d: Any, values: Sequence[Any]) -> Array | None:
    """Cotangent or tangent `g` times the partial derivative `d`."""
    if callable(d):
        partial = d(*values)
        if hasattr(d, "selects"):
            g = algebra.where(algebra.cast(partial, bool), g, 0.0)
        return algebra.scale(g, partial)
    if d == 1:
        return g
    if d == -1:
        return algebra.negative(g)
    return None if d == 0 else algebra.scale(g, d)


def elementwise(
    function: Callable[..., Any],
    *partials: Any,
    operator: Callable[..., Any] | None = None,
    name: str | None = None,
    sample: Samples | None = None,
    cost: int = Elementwise.cost,
    commutes: bool = False,
) -> Callable[..., Any]:
    """Make an elementwise operation from a ufunc and its partial derivatives.

    Parameters
    ----------
    function : numpy.ufunc or callable
        Gives values and dtypes. What is no ufunc has to broadcast its operands as ufuncs do; it
        takes as many as there are partials.
    *partials : float or callable
        One per operand: a number, or ``lambda y, x0, x1: …`` of the output and the operands, in
        funcgrad operations. None at all: the operation is locally constant.
    operator : callable, optional
        Python's operator for it, so that Python numbers stay Python numbers.
    name : str, optional
        Name in graphs; the ufunc's by default.
    sample : callable
        The samples that its tests are made from.
    cost : int, optional
        What an element takes, in additions: what is cheap is computed again rather than kept.
    commutes : bool, optional
        Whether two operands may change places.

    Returns
    -------
    callable
        The operation; its attribute `primitive` is the record.
    """
    ufunc: Any = function
    if not isinstance(function, (np.ufunc, Pointwise)):
        ufunc = Pointwise(function, len(partials))
    prim = Elementwise(name or ufunc.__name__, ufunc, operator or ufunc, partials)
    prim.sample, prim.cost, prim.commutes = sample, cost, commutes
    op = _unary(prim) if ufunc.nin == 1 else _binary(prim) if ufunc.nin == 2 else _nary(prim)
    op.__name__ = op.__qualname__ = prim.name
    op.primitive = prim  # type: ignore[attr-defined]
    if isinstance(ufunc, np.ufunc):
        known = UFUNCS.get(ufunc)  # a rule of the user's may be stated again, in a notebook
        if known is None or not known.primitive.is_ours:  # type: ignore[attr-defined]
            UFUNCS[ufunc] = op
            UNARY.pop(ufunc, None)
            if ufunc.nin == 1 and not prim.keeps_weak:
                UNARY[ufunc] = prim
    return op


def _zero_dim(x: Array) -> Array:
    """A scalar as an array without axes: what ufuncs compute with.

    Python's operators of two scalars are other code: a Python number stays one, and complex
    numbers round differently.
    """
    if isinstance(x, Tracer):
        return algebra.zero_dim(x)
    return x if type(x) is np.ndarray else np.asarray(x)


def _unary(prim: Elementwise) -> Callable[..., Any]:
    ufunc, has_operator = prim.ufunc, prim.keeps_weak
    ndarray = np.ndarray

    def op(x: Any, /) -> Any:
        if isinstance(x, Tracer):
            if has_operator and _differs(x.type):
                x = algebra.zero_dim(x)
            return x.owner.process1(prim, x)
        if type(x) is ndarray and x.dtype.char != "O":
            return ufunc(x)
        x = operand(x)
        return op(x) if isinstance(x, Tracer) else ufunc(x)

    return op


def _differs(*types: ArrayType) -> bool:
    """Whether Python's operator of operands of these types is not what the ufunc gives."""
    for t in types:
        if t.shape:
            return False
    return all(t.weak for t in types) or any(t.dtype.kind == "c" for t in types)


def _binary(prim: Elementwise) -> Callable[..., Any]:
    ufunc, has_operator = prim.ufunc, prim.keeps_weak
    ndarray = np.ndarray

    def op(x: Any, y: Any, /) -> Any:
        if type(x) is ndarray and type(y) is ndarray and x.dtype.char != "O" != y.dtype.char:
            return ufunc(x, y)
        x, y = operand(x), operand(y)
        if not isinstance(x, Tracer) and not isinstance(y, Tracer):
            return ufunc(x, y)
        if has_operator and _differs(one := type_of(x), two := type_of(y)):
            # one of them suffices: an array and a scalar meet in the ufunc
            x, y = (x, _zero_dim(y)) if one.weak and not two.weak else (_zero_dim(x), y)
        return bind2(prim, x, y)

    return op


def _nary(prim: Elementwise) -> Callable[..., Any]:
    def op(*xs: Any) -> Any:
        return bind(prim, [operand(x) for x in xs], EMPTY)

    return op


def bind2(prim: Primitive, x: Array, y: Array) -> Any:
    """`bind` for two operands and no parameters, the hot case."""
    if isinstance(x, Tracer):
        trace = x.owner
        if isinstance(y, Tracer) and y.owner.level > trace.level:
            trace = y.owner
    elif isinstance(y, Tracer):
        trace = y.owner
    else:
        return prim.impl(x, y)
    return trace.process2(prim, x, y)
