"""The five forms of a primitive: elementwise, linear, multilinear, explicit, and higher order.

An author states the least that defines the derivative; the form derives vjp, jvp, batching, the
type and what a node has to save. A rule is a function in funcgrad operations, so it can itself be
differentiated, mapped and staged. A parameter whose name starts with "_" is not needed, hence not
saved. Higher-order primitives subclass `Primitive` and override its four actions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.primitive import Params, Primitive, Sample
from funcgrad.core.tracer import EMPTY, Tracer, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact, promote

__all__ = ["UFUNCS", "elementwise", "explicit", "left", "linear", "multilinear", "right"]

Samples = Callable[[], list[Sample]]
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}


def _needed(rule: Any, count: int) -> tuple[bool, ...]:
    """Which of the first `count` positional arguments a rule names without an underscore."""
    if not callable(rule):
        return (False,) * count
    positional = [
        p
        for p in inspect.signature(rule).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    flags = [not p.name.startswith("_") for p in positional[:count]]
    rest = any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(rule).parameters.values())
    return tuple(flags) + (rest,) * (count - len(flags))


def _combine(rows: Sequence[tuple[bool, ...]], mask: int, count: int) -> tuple[bool, ...]:
    """The union of the rows of the traced operands."""
    chosen = [row for i, row in enumerate(rows) if mask >> i & 1]
    return (
        tuple(any(column) for column in zip(*chosen, strict=True)) if chosen else (False,) * count
    )


# ---------------------------------------------------------------------------- elementwise


class Elementwise(Primitive):
    """Applied to each element; stated by one partial derivative per operand.

    A partial is a number, or a function of the output and the operands.
    """

    form = "elementwise"

    def __init__(
        self, name: str, ufunc: np.ufunc, impl: Callable[..., Any], partials: Sequence[Any]
    ) -> None:
        super().__init__(name, impl)
        self.ufunc = ufunc
        self.partials = tuple(partials)
        self.differentiable = bool(partials)
        # NumPy's ufunc makes a NumPy scalar of a Python number, Python's operator does not.
        self.keeps_weak = impl is not ufunc
        count = ufunc.nin
        rows = [_needed(d, count + 1) for d in self.partials]
        self.flags = [_combine(rows, mask, count + 1) for mask in range(1 << count)]
        self.recorders: list[Any] = [None] * (1 << count)

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        found: tuple[bool, ...] = self.flags[mask]
        return found

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> ArrayType:
        weak = self.keeps_weak and all(t.weak for t in types)
        shape = np.broadcast_shapes(*(t.shape for t in types))
        wanted = tuple(t.dtype if weak else t.promotable() for t in types)
        if not weak and all(t.weak for t in types):
            wanted = tuple(t.dtype for t in types)
        dtype = self.ufunc.resolve_dtypes((*wanted, None))[-1]
        return ArrayType(shape, dtype, weak and dtype.kind in "ifc")

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        saved, fix = node.saved, node.fix
        out: list[Array | None] = []
        for i, d in enumerate(self.partials):
            if node.parents[i] is None:
                out.append(None)
                continue
            c = _times(g, d, saved)
            out.append(
                c if fix is None or c is None or fix[i] is None else algebra.conform(c, fix[i])
            )
        return out

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        total = None
        for d, t in zip(self.partials, ts, strict=True):
            if t is None:
                continue
            c = _times(t, d, (y, *xs))
            if c is not None:
                total = c if total is None else algebra.add(total, c)
        if total is None:
            return None
        out = type_of(y)
        return algebra.broadcast(total, out.shape, out.dtype)

    def batch(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        rank = max(type_of(x).ndim - b for x, b in zip(xs, batched, strict=True))
        aligned = []
        for x, b in zip(xs, batched, strict=True):
            shape = type_of(x).shape
            if b and len(shape) <= rank:
                x = algebra.reshape(x, shape[:1] + (1,) * (rank + 1 - len(shape)) + shape[1:])
            aligned.append(x)
        return bind(self, aligned, params)

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        if all(not callable(d) for d, m in zip(self.partials, mask, strict=True) if m):
            # x + c is affine, not linear: every operand has to take part
            return self.name in ("negative", "positive", "conjugate") or all(mask)
        if self.name == "multiply":
            return sum(mask) == 1
        return self.name == "divide" and tuple(mask) == (True, False)


def left(_: Any, x: Any, __: Any) -> Any:
    """The partial derivative that is the first operand itself."""
    return x


def right(_: Any, __: Any, y: Any) -> Any:
    """The partial derivative that is the second operand itself."""
    return y


def _times(g: Array, d: Any, values: Sequence[Any]) -> Array | None:
    """Cotangent or tangent `g` times the partial derivative `d`."""
    if callable(d):
        return algebra.scale(g, d(*values))
    if d == 1:
        return g
    if d == -1:
        return algebra.negative(g)
    return None if d == 0 else algebra.scale(g, d)


def elementwise(
    ufunc: np.ufunc,
    *partials: Any,
    operator: Callable[..., Any] | None = None,
    name: str | None = None,
    sample: Samples | None = None,
) -> Callable[..., Any]:
    """Make an elementwise operation from a ufunc and its partial derivatives.

    Parameters
    ----------
    ufunc : numpy.ufunc
        Gives values and dtypes.
    *partials : float or callable
        One per operand: a number, or ``lambda y, x0, x1: …`` of the output and the operands, in
        funcgrad operations. None at all: the operation is locally constant.
    operator : callable, optional
        Python's operator for it, so that Python numbers stay Python numbers.
    name : str, optional
        Name in graphs; the ufunc's by default.
    sample : callable
        The samples that its tests are made from.

    Returns
    -------
    callable
        The operation; its attribute `primitive` is the record.
    """
    prim = Elementwise(name or ufunc.__name__, ufunc, operator or ufunc, partials)
    prim.sample = sample
    op = _unary(prim) if ufunc.nin == 1 else _binary(prim) if ufunc.nin == 2 else _nary(prim)
    op.__name__ = op.__qualname__ = prim.name
    op.primitive = prim  # type: ignore[attr-defined]
    UFUNCS.setdefault(ufunc, op)
    return op


def _strong(x: Array) -> Array:
    """A Python number made a NumPy scalar, as ufuncs do; a traced one through `cast`."""
    if isinstance(x, Tracer):
        return algebra.broadcast(x, (), x.type.dtype) if x.type.weak else x
    return x if isinstance(x, (np.ndarray, np.generic)) else np.asarray(x)[()]


def _unary(prim: Elementwise) -> Callable[..., Any]:
    ufunc, keeps_weak = prim.ufunc, prim.keeps_weak
    ndarray = np.ndarray

    def op(x: Any, /) -> Any:
        if isinstance(x, Tracer):
            return x.owner.process1(prim, _strong(x) if keeps_weak else x)
        if type(x) is ndarray and x.dtype.char != "O":
            return ufunc(x)
        x = operand(x)
        return op(x) if isinstance(x, Tracer) else ufunc(x)

    return op


def _binary(prim: Elementwise) -> Callable[..., Any]:
    ufunc, keeps_weak = prim.ufunc, prim.keeps_weak
    ndarray = np.ndarray

    def op(x: Any, y: Any, /) -> Any:
        if type(x) is ndarray and type(y) is ndarray and x.dtype.char != "O" != y.dtype.char:
            return ufunc(x, y)
        x, y = operand(x), operand(y)
        if isinstance(x, Tracer):
            if keeps_weak and x.type.weak and type_of(y).weak:
                x = _strong(x)
        elif not isinstance(y, Tracer):
            return ufunc(x, y)
        elif keeps_weak and y.type.weak and type_of(x).weak:
            x = _strong(x)
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


# --------------------------------------------------------------------------------- linear


class Linear(Primitive):
    """Linear in some operands together; stated by the transpose for each of them.

    ``transpose(g, *operands, **params)`` is given the `ArrayType` of each linear operand in its
    place, and the value of the others.
    """

    form = "linear"

    def __init__(
        self,
        name: str,
        impl: Callable[..., Any],
        transpose: Sequence[Callable[..., Any] | None] | Callable[..., Any],
        type_rule: Callable[..., Any],
        batch: Callable[..., Any],
    ) -> None:
        super().__init__(name, impl)
        self.transpose = transpose
        self._type, self._batch = type_rule, batch
        self.kept: dict[int, tuple[bool, ...]] = {}  # `saved_flags` for each number of operands

    def _rule(self, i: int) -> Callable[..., Any] | None:
        if callable(self.transpose):
            return self.transpose
        return self.transpose[i] if i < len(self.transpose) else None

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        kept = self.kept.get(count)
        if kept is None:
            rules = (self._rule(i) for i in range(count))
            kept = self.kept[count] = (False, *(rule is None for rule in rules))
        return kept

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return self._type(*types, **params)

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        count = len(node.parents)
        if count == 1:
            rule = self._rule(0)
            assert rule is not None
            return (rule(g, node.fix[0], **node.params),)
        given = [node.saved[i + 1] if self._rule(i) is None else node.fix[i] for i in range(count)]
        out: list[Array | None] = []
        for i in range(count):
            rule = self._rule(i)
            if node.parents[i] is None or rule is None:
                out.append(None)
            else:
                extra = {"which": i} if callable(self.transpose) and count > 1 else {}
                out.append(rule(g, *given, **extra, **node.params))
        return out

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        moved = [t is not None and self._rule(i) is not None for i, t in enumerate(ts)]
        if not any(moved):
            return None
        args = []
        for i, x in enumerate(xs):
            if self._rule(i) is None:
                args.append(x)
            elif moved[i]:
                args.append(ts[i])
            else:
                args.append(algebra.zeros(type_of(x)))
        return bind(self, args, params)

    def batch(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        return self._batch(size, xs, batched, params)

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return all(self._rule(i) is not None for i, m in enumerate(mask) if m)


def linear(
    name: str,
    impl: Callable[..., Any],
    transpose: Any,
    type_rule: Callable[..., Any],
    batch: Callable[..., Any],
    sample: Samples | None = None,
) -> Linear:
    """Make a primitive that is linear in one operand, or in several taken together.

    Parameters
    ----------
    name, impl
        As in `Primitive`.
    transpose : callable or sequence of callable or None
        ``transpose(g, *operands, **params)``: the cotangent of an operand; None for an operand in
        which it is not linear (a mask, an index). A single callable serves all operands and is
        told which one by the keyword `which` where there are several.
    type_rule : callable
        ``type_rule(*types, **params)``.
    batch : callable
        ``batch(size, operands, batched, params)`` returns the output with the batch axis in front.
    sample : callable
        The samples that its tests are made from.
    """
    prim = Linear(name, impl, transpose, type_rule, batch)
    prim.sample = sample
    return prim


# ---------------------------------------------------------------------------- multilinear


class Multilinear(Primitive):
    """Linear in each operand by itself; stated by the transpose for each."""

    form = "multilinear"

    def __init__(
        self,
        name: str,
        impl: Callable[..., Any],
        transpose: Sequence[Callable[..., Any]],
        type_rule: Callable[..., Any],
        batch: Callable[..., Any],
    ) -> None:
        super().__init__(name, impl)
        self.transpose = tuple(transpose)
        self._type, self._batch = type_rule, batch

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        others = (any(mask >> j & 1 for j in range(count) if j != i) for i in range(count))
        return (False, *others)

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return self._type(*types, **params)

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        out: list[Array | None] = []
        for i, rule in enumerate(self.transpose):
            if node.parents[i] is None:
                out.append(None)
                continue
            given = [node.fix[i] if j == i else x for j, x in enumerate(node.saved[1:])]
            out.append(rule(g, *given, **node.params))
        return out

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        total = None
        for i, t in enumerate(ts):
            if t is not None:
                c = bind(self, [t if j == i else x for j, x in enumerate(xs)], params)
                total = c if total is None else algebra.add(total, c)
        return total

    def batch(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        return self._batch(size, xs, batched, params)

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return sum(mask) == 1


def multilinear(
    name: str,
    impl: Callable[..., Any],
    transpose: Sequence[Callable[..., Any]],
    type_rule: Callable[..., Any],
    batch: Callable[..., Any],
    sample: Samples | None = None,
) -> Multilinear:
    """Make a primitive that is linear in each operand by itself, such as a matrix product.

    ``transpose[i](g, *operands, **params)`` gives the cotangent of operand `i`; the `ArrayType`
    of that operand stands in its place.
    """
    prim = Multilinear(name, impl, transpose, type_rule, batch)
    prim.sample = sample
    return prim


# ------------------------------------------------------------------------------- explicit


class Explicit(Primitive):
    """States a vjp, or a jvp, or both; what is not stated is derived from the other.

    ``vjp[i](g, y, *xs, **params)``; or one function ``vjp(g, y, *xs, needs=…, **params)`` that
    returns a sequence. With several outputs `g` and `y` are tuples.
    """

    form = "explicit"

    def __init__(
        self,
        name: str,
        impl: Callable[..., Any],
        *,
        type_rule: Callable[..., Any],
        vjp: Any,
        jvp: Callable[..., Any] | None,
        batch: Callable[..., Any] | None,
        multiple: bool,
        linear_in: Sequence[int] = (),
    ) -> None:
        super().__init__(name, impl)
        self.multiple, self.linear_in = multiple, tuple(linear_in)
        self.vjp_rule, self.jvp_stated = vjp, jvp
        self._type, self._batch = type_rule, batch

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        if self.vjp_rule is None:
            return (True,) * (count + 1)
        rules = [self.vjp_rule] * count if callable(self.vjp_rule) else self.vjp_rule
        rows = [_needed(rule, count + 2)[1:] for rule in rules]
        return _combine(rows, mask, count + 1)

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return self._type(*types, **params)

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        needs = tuple(p is not None for p in node.parents)
        if self.multiple:
            g = tuple(
                algebra.zeros(t) if c is None else c for c, t in zip(g, node.outputs, strict=True)
            )
        return self.pull(g, node.saved[0], node.saved[1:], needs, node.params)

    def pull(
        self, g: Any, y: Any, xs: Sequence[Array], needs: Sequence[bool], params: Params
    ) -> Sequence[Array | None]:
        """Cotangents of the operands that `needs` marks."""
        if self.vjp_rule is None:
            return self._transpose_jvp(g, y, xs, needs, params)
        if callable(self.vjp_rule):
            return list(self.vjp_rule(g, y, *xs, needs=needs, **params))
        return [
            rule(g, y, *xs, **params) if need and rule is not None else None
            for rule, need in zip(self.vjp_rule, needs, strict=True)
        ]

    def _transpose_jvp(
        self, g: Any, y: Any, xs: Sequence[Array], needs: Sequence[bool], params: Params
    ) -> Sequence[Array | None]:
        assert self.jvp_stated is not None
        wanted = [i for i, need in enumerate(needs) if need]

        def push(*moved: Array) -> Any:
            ts: list[Array | None] = [None] * len(xs)
            for i, t in zip(wanted, moved, strict=True):
                ts[i] = t
            return self.jvp(y, xs, ts, params)

        back = algebra.transpose_linear(push, [type_of(xs[i]) for i in wanted], g)
        out: list[Array | None] = [None] * len(xs)
        for i, c in zip(wanted, back, strict=True):
            out[i] = c
        return out

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        if self.jvp_stated is not None:
            return self.jvp_stated(y, xs, ts, **params)
        needs = tuple(t is not None for t in ts)

        def pull(*g: Array) -> Any:
            cts = self.pull(g if self.multiple else g[0], y, xs, needs, params)
            return tuple(
                algebra.zeros(type_of(x)) if c is None else c
                for c, x, need in zip(cts, xs, needs, strict=True)
                if need
            )

        outputs = y if self.multiple else (y,)
        types = [type_of(o) for o in outputs]
        # the pullback is linear in g: its transpose, applied to the tangents, is the jvp
        pushed = algebra.transpose_linear(
            pull,
            [t if is_inexact(t.dtype) else ArrayType(t.shape, np.dtype(float)) for t in types],
            tuple(t for t in ts if t is not None),
        )
        return tuple(pushed) if self.multiple else pushed[0]

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return all(i in self.linear_in for i, m in enumerate(mask) if m)

    def batch(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        if self._batch is not None:
            return self._batch(size, xs, batched, params)
        return self._loop(size, xs, batched, params)

    def _loop(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        """Lane by lane, for a primitive that states no batching."""
        if size == 0:
            lanes = [type_of(x) for x in xs]
            single = [ArrayType(t.shape[b:], t.dtype) for t, b in zip(lanes, batched, strict=True)]
            out = self.type_rule(single, params)
            types = out if self.multiple else (out,)
            empty = tuple(algebra.zeros(ArrayType((0, *t.shape), t.dtype)) for t in types)
            return empty if self.multiple else empty[0]
        results = []
        for i in range(size):
            lane = [algebra.take_lane(x, i) if b else x for x, b in zip(xs, batched, strict=True)]
            results.append(bind(self, lane, params))
        if self.multiple:
            return tuple(algebra.stack(list(column)) for column in zip(*results, strict=True))
        return algebra.stack(results)


def explicit(
    name: str,
    impl: Callable[..., Any],
    *,
    type_rule: Callable[..., Any] | None = None,
    signature: str | None = None,
    vjp: Any = None,
    jvp: Callable[..., Any] | None = None,
    batch: Callable[..., Any] | None = None,
    multiple: bool = False,
    linear_in: Sequence[int] = (),
    sample: Samples | None = None,
) -> Explicit:
    """Make a primitive from its vjp, its jvp, or both.

    Parameters
    ----------
    name, impl
        As in `Primitive`.
    type_rule : callable, optional
        ``type_rule(*types, **params)``; by default it is read off `signature`.
    signature : str, optional
        A fixed gufunc signature such as ``"(n,n),(n,k)->(n,k)"``: `impl` takes any leading axes,
        so that batching adds one in front.
    vjp : callable or sequence of callable, optional
        ``vjp[i](g, y, *xs, **params)`` is the cotangent of operand `i`.
    jvp : callable, optional
        ``jvp(y, xs, ts, **params)``; a tangent that is None is zero.
    batch : callable, optional
        As in `linear`; needed only without a signature, where the default is a loop.
    linear_in : sequence of int, optional
        Operands in which it is linear (taken together), as `solve` is in its right-hand side.
    """
    if vjp is None and jvp is None:
        raise ValueError(f"{name}: state a vjp or a jvp; the other one is derived")
    if signature is not None:
        cores = _parse(signature)
        type_rule = type_rule or _signature_types(cores, multiple)
    if type_rule is None:
        raise ValueError(f"{name}: state a type rule or a signature")
    prim = Explicit(
        name,
        impl,
        type_rule=type_rule,
        vjp=vjp,
        jvp=jvp,
        batch=batch,
        multiple=multiple,
        linear_in=linear_in,
    )
    if signature is not None and batch is None:
        prim._batch = leading_batch(prim, [len(c) for c in cores[0]])
    prim.sample = sample
    return prim


def _parse(signature: str) -> tuple[list[list[str]], list[list[str]]]:
    left, right = (
        [[n for n in core.split(",") if n] for core in re.findall(r"\(([^)]*)\)", side)]
        for side in signature.replace(" ", "").split("->")
    )
    return left, right


def _signature_types(cores: tuple[list[list[str]], list[list[str]]], multiple: bool) -> Any:
    def rule(*types: ArrayType, **_params: Any) -> Any:
        extents: dict[str, int] = {}
        leads = []
        for t, names in zip(types, cores[0], strict=True):
            split = len(t.shape) - len(names)
            leads.append(t.shape[:split])
            extents.update(zip(names, t.shape[split:], strict=True))
        lead = np.broadcast_shapes(*leads)
        dtype = promote(*types)
        if not is_inexact(dtype):
            dtype = np.dtype(float)
        out = tuple(ArrayType((*lead, *(extents[n] for n in c)), dtype) for c in cores[1])
        return out if multiple else out[0]

    return rule


def leading_batch(prim: Primitive, core_ranks: Sequence[int]) -> Callable[..., Any]:
    """Batching of what accepts leading axes: align the ranks, then apply."""

    def rule(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        shapes = [type_of(x).shape for x in xs]
        extra = [len(s) - b - c for s, b, c in zip(shapes, batched, core_ranks, strict=True)]
        lead = max(extra)
        aligned = []
        for x, s, b, e in zip(xs, shapes, batched, extra, strict=True):
            if b and e < lead:
                x = algebra.reshape(x, s[:1] + (1,) * (lead - e) + s[1:])
            aligned.append(x)
        return bind(prim, aligned, params)

    return rule
