"""Reverse mode: the tape, its nodes, and the backward pass.

A `Tape` handles each operation on its tracers one level down and records one `Node`. Backward
never recurses: it collects the reachable nodes with a stack, orders them by the serial number of
their creation and hands each its cotangent. `None` stands for zero throughout.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, ClassVar

import numpy as np

from funcgrad.config import config
from funcgrad.core.algebra import algebra
from funcgrad.core.forms import bind2
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import EMPTY, Trace, Tracer, bind, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact
from funcgrad.errors import NotDifferentiableError, located
from funcgrad.transforms.guard import Watch, fingerprint, verify

__all__ = ["Node", "Tape", "TapeTracer", "backward", "transpose_linear", "verify"]

seq = count()
new = object.__new__
float64 = np.float64
FLOAT64 = np.dtype(np.float64)
PLAIN = frozenset((np.ndarray, float, np.float64))
ndarray = np.ndarray


class Pick(Primitive):
    """Output `index` of a node that has several: its cotangent goes into the parent's slot."""

    def __init__(self) -> None:
        super().__init__("pick", operator.getitem)


PICK = Pick()


class Node:
    """One recorded operation.

    `saved` is (outputs, operand 0, …) with None for what its rule does not need; `fix` has the
    type of each operand (None where it equals the output's, or in the place of the tuple when all
    do); `quick` is the vjp for raw float64 values, or None; `outputs` are the types of several
    outputs; `seq` is the order of creation.
    """

    __slots__ = (
        "__weakref__",
        "fix",
        "outputs",
        "params",
        "parents",
        "prim",
        "quick",
        "saved",
        "seq",
    )
    prim: Primitive | None
    params: Params
    parents: tuple[Node | None, ...]
    saved: Any
    fix: Any
    quick: Any
    seq: int
    outputs: tuple[ArrayType, ...]


def leaf_node(kind: ArrayType) -> Node:
    node = new(Node)
    node.prim, node.params, node.parents, node.saved = None, EMPTY, (), None
    node.fix, node.quick, node.seq = (kind,), None, next(seq)
    return node


class TapeTracer(Tracer):
    """A value on a tape, with the node that made it."""

    __slots__ = ("node",)
    node: Node

    def assign(self, new: Tracer) -> None:
        assert isinstance(new, TapeTracer)
        self.value, self.node = new.value, new.node


class Tape(Trace):
    """The trace of reverse mode."""

    __slots__ = ("watches",)
    what: ClassVar[str] = "a gradient"

    def __init__(self) -> None:
        super().__init__()
        self.watches: list[Watch] = []

    def input(self, x: Array) -> TapeTracer:
        """A leaf with the value `x`."""
        return self.tracer(self.keep(x), leaf_node(type_of(x)))

    def tracer(self, x: Array, node: Node) -> TapeTracer:
        t = new(TapeTracer)
        t.value, t.trace, t.node = x, self, node
        return t

    def keep(self, x: Array) -> Array:
        """`x` as it can be kept for backward, whatever the caller does to it."""
        if type(x) is ndarray:
            if x.nbytes <= config.copy_limit:
                return x.copy("K")  # the same order: NumPy sums in memory order
            self.watches.append((x, fingerprint(x)))
        return x

    def process1(self, prim: Primitive, x: Array) -> Any:
        if self.closed:
            raise self.leaked()
        v = x.value
        y = v.trace.process1(prim, v) if isinstance(v, Tracer) else prim.impl(v)
        if not prim.differentiable:
            return y
        out, first = prim.flags[1]
        node = new(Node)
        node.prim, node.params, node.parents = prim, EMPTY, (x.node,)
        node.saved = (y if out else None, v if first else None)
        kv = type(v)
        if kv is float or kv is float64 or (kv is ndarray and v.dtype is FLOAT64 is y.dtype):
            node.fix, node.quick = None, prim.quick[1]
        else:
            kind = type_of(v)
            node.fix = None if kind.dtype == type_of(y).dtype else (kind,)
            node.quick = None
        node.seq = next(seq)
        t = new(TapeTracer)
        t.value, t.trace, t.node = y, self, node
        return t

    def process2(self, prim: Primitive, x: Array, y: Array) -> Any:
        if self.closed:
            raise self.leaked()
        nx = ny = fix = quick = None
        mask = 0
        if type(x) is TapeTracer and x.trace is self:
            nx, x, mask = x.node, x.value, 1
        if type(y) is TapeTracer and y.trace is self:
            ny, y, mask = y.node, y.value, mask | 2
        kx, ky = type(x), type(y)
        if kx is ky and kx in PLAIN:
            z = prim.impl(x, y)
            if not prim.differentiable:
                return z
            if kx is not ndarray or (x.dtype is FLOAT64 is y.dtype and x.shape == y.shape):
                quick = prim.quick[mask]
            else:
                fix = _fix2(x, y, z, nx, ny)
        else:
            plain = not (isinstance(x, Tracer) or isinstance(y, Tracer))
            z = prim.impl(x, y) if plain else bind2(prim, x, y)
            if not prim.differentiable:
                return z
            if mask == 1 and kx is ndarray and ky is float and z.dtype is FLOAT64 is x.dtype:
                quick = prim.quick[1]
            elif mask == 2 and ky is ndarray and kx is float and z.dtype is FLOAT64 is y.dtype:
                quick = prim.quick[2]
            else:
                fix = _fix2(x, y, z, nx, ny)
        out, first, second = prim.flags[mask]
        node = new(Node)
        node.prim, node.params, node.parents, node.fix = prim, EMPTY, (nx, ny), fix
        node.quick = quick
        if nx is None and first:
            x = self.keep(x)
        if ny is None and second:
            y = self.keep(y)
        node.saved = (z if out else None, x if first else None, y if second else None)
        node.seq = next(seq)
        t = new(TapeTracer)
        t.value, t.trace, t.node = z, self, node
        return t

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        if self.closed:
            raise self.leaked()
        return prim.tape(self, args, params)

    def record(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """Apply `prim` one level down and record it: the default action on a tape."""
        if len(args) == 1:
            return self.record_one(prim, args[0], params)
        nodes, xs, mask = self.split(args)
        y = bind(prim, xs, params)
        if not prim.differentiable:
            return y
        flags = prim.saved_flags(mask, len(xs))
        kept = [
            None if not flag else x if node is not None else self.keep(x)
            for x, node, flag in zip(xs, nodes, flags[1:], strict=True)
        ]
        saved = (y if flags[0] else None, *kept)
        return self.record_node(prim, nodes, params, saved, tuple(map(type_of, xs)), y)

    def record_one(self, prim: Primitive, x: Array, params: Params) -> Any:
        """`record` for one operand, which then is mine."""
        v = x.value
        if isinstance(v, Tracer):
            y = v.trace.process(prim, (v,), params)
        else:
            y = prim.impl(v, **params)
        if not prim.differentiable:
            return y
        out, first = prim.saved_flags(1, 1)
        saved = (y if out else None, v if first else None)
        return self.record_node(prim, (x.node,), params, saved, (type_of(v),), y)

    def split(self, args: Sequence[Array]) -> tuple[tuple[Node | None, ...], list[Array], int]:
        """The nodes of the operands that are mine, all values one level down, and the mask."""
        nodes: list[Node | None] = []
        xs, mask = [], 0
        for i, a in enumerate(args):
            if isinstance(a, Tracer) and a.trace is self:
                nodes.append(a.node)
                xs.append(a.value)
                mask |= 1 << i
            else:
                nodes.append(None)
                xs.append(a)
        return tuple(nodes), xs, mask

    def record_node(
        self,
        prim: Primitive,
        parents: tuple[Node | None, ...],
        params: Params,
        saved: Any,
        types: Any,
        y: Any,
    ) -> Any:
        """One node for the output(s) `y`; outputs that are not floating point come back raw."""
        node = new(Node)
        node.prim, node.params, node.parents = prim, params, parents
        node.saved, node.fix, node.quick, node.seq = saved, types, None, next(seq)
        if not isinstance(y, tuple):
            if type(y) is float or (y.dtype if type(y) in PLAIN else type_of(y).dtype).kind in "fc":
                t = new(TapeTracer)
                t.value, t.trace, t.node = y, self, node
                return t
            return y
        node.outputs = tuple(map(type_of, y))
        return tuple(
            self.tracer(o, _pick(node, k)) if is_inexact(kind.dtype) else o
            for k, (o, kind) in enumerate(zip(y, node.outputs, strict=True))
        )

    def record_multiple(
        self,
        prim: Primitive,
        parents: tuple[Node | None, ...],
        params: Params,
        saved: Any,
        outputs: Sequence[Any],
    ) -> tuple[Any, ...]:
        """Record a node of several outputs that the caller has computed already."""
        result: tuple[Any, ...] = self.record_node(
            prim, parents, params, saved, None, tuple(outputs)
        )
        return result


def _pick(parent: Node, k: int) -> Node:
    node = new(Node)
    node.prim, node.params, node.parents, node.saved = PICK, {"index": k}, (parent,), None
    node.fix, node.quick, node.seq = None, None, next(seq)
    return node


def _fix2(x: Array, y: Array, z: Array, nx: Any, ny: Any) -> Any:
    """The types of the operands whose shape or dtype is not the output's; None without any."""
    tz = type_of(z)
    fx = fy = None
    if nx is not None:
        tx = type_of(x)
        fx = None if tx.shape == tz.shape and tx.dtype == tz.dtype else tx
    if ny is not None:
        ty = type_of(y)
        fy = None if ty.shape == tz.shape and ty.dtype == tz.dtype else ty
    return None if fx is None and fy is None else (fx, fy)


# ------------------------------------------------------------------------------- backward


class Scatter:
    """A cotangent that is zero but at `index`: added into one buffer, so a loop stays linear."""

    __slots__ = ("g", "index", "kind")

    def __init__(self, kind: ArrayType, index: Any, g: Any) -> None:
        self.kind, self.index, self.g = kind, index, g


class Buffer:
    """A cotangent in an array that the backward pass made itself and may add into."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


HELD = frozenset((Scatter, Buffer))
_IN_PLACE_FROM = 1 << 14  # elements; below it a fresh sum is as fast


def _add(old: Any, c: Any) -> Any:
    """The sum of two cotangents; in place where the old one is a buffer of our own."""
    if type(c) is Scatter:
        if type(old) is not Buffer:
            if isinstance(old, Tracer):
                return algebra.add(old, _dense(c))
            base = _dense(old) if type(old) is Scatter else np.array(old, copy=True)
            old = Buffer(base)
        old.array[c.index] += c.g
        return old
    if type(old) is Scatter:
        return _add(c, old)
    if type(old) is Buffer:
        if isinstance(c, Tracer) or np.result_type(old.array, c) != old.array.dtype:
            return algebra.add(old.array, c)
        old.array += c
        return old
    total = algebra.add(old, c)
    if type(total) is ndarray and total.size >= _IN_PLACE_FROM:
        return Buffer(total)
    return total


def _dense(c: Any) -> Any:
    if type(c) is Buffer:
        return c.array
    if type(c) is Scatter:
        full = np.zeros(c.kind.shape, c.kind.dtype)
        full[c.index] = c.g
        return full
    return c


def reachable(roots: Sequence[Node]) -> list[Node]:
    """The nodes that the roots depend on, latest first."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        for p in stack.pop().parents:
            if p is not None and p not in seen:
                seen.add(p)
                stack.append(p)
    return sorted(seen, key=operator.attrgetter("seq"), reverse=True)


def backward(roots: Sequence[tuple[Node, Array]], leaves: Sequence[Node]) -> list[Array | None]:
    """The cotangents of `leaves`, given those of `roots`; None where it is zero.

    Raw cotangents take the quick rules first, in which 0 times an infinite partial is NaN. A NaN
    survives every linear operation that does not drop it, so a result without one is right;
    otherwise the pass is repeated with the full rules.
    """
    order = reachable([node for node, _ in roots])
    raw = not any(isinstance(g, Tracer) for _, g in roots)
    with np.errstate(all="ignore"):
        if raw and not any(node.prim is not None and node.prim.opaque for node in order):
            found = _pull(order, roots, leaves, True)
            if not any(map(_has_nan, found)):
                return found
        return _pull(order, roots, leaves, False)


def _has_nan(c: Any) -> bool:
    return c is not None and not isinstance(c, Tracer) and bool(np.isnan(c).any())


def _pull(
    order: Sequence[Node], roots: Sequence[tuple[Node, Array]], leaves: Sequence[Node], quick: bool
) -> list[Array | None]:
    """One pass over the nodes, latest first."""
    cts: dict[Node, Any] = {}
    for node, g in roots:
        cts[node] = g if node not in cts else _add(cts[node], g)
    for node in order:
        prim = node.prim
        if prim is None:
            continue
        g = cts.pop(node, None)
        if g is None:
            continue
        if quick and node.quick is not None and type(g) in PLAIN:
            pulled = node.quick(node.saved, g)
        elif prim is PICK:
            _fill_slot(cts, node, _dense(g))
            continue
        else:
            pulled = prim.vjp(node, _dense(g) if type(g) in HELD else g)
        for p, c in zip(node.parents, pulled):  # of one length by construction
            if p is None or c is None:
                continue
            old = cts.get(p)
            if old is None:
                cts[p] = c
            elif type(c) is type(old) and (
                type(c) is float64 or (type(c) is ndarray and c.size < _IN_PLACE_FROM)
            ):
                cts[p] = old + c
            else:
                cts[p] = _add(old, c)
    return [_dense(cts.get(leaf)) for leaf in leaves]


def _fill_slot(cts: dict[Node, Any], node: Node, g: Any) -> None:
    parent = node.parents[0]
    assert parent is not None
    slots = cts.get(parent)
    if slots is None:
        slots = cts[parent] = [None] * len(parent.outputs)
    k = node.params["index"]
    slots[k] = g if slots[k] is None else algebra.add(slots[k], g)


# ------------------------------------------------------------- transposing linear functions


def transpose_linear(
    fn: Callable[..., Any], types: Sequence[ArrayType], cotangents: Any
) -> list[Array]:
    """The transpose of a linear function of operands of `types`, applied to `cotangents`.

    It is taped at zero, and every node on the way has to be linear in what is traced.
    """
    with Tape() as tape:
        inputs = [tape.input(algebra.zeros(t)) for t in types]
        out = fn(*inputs)
    outputs = out if isinstance(out, (tuple, list)) else (out,)
    given = cotangents if isinstance(cotangents, (tuple, list)) else (cotangents,)
    roots = [
        (o.node, g)
        for o, g in zip(outputs, given, strict=True)
        if isinstance(o, Tracer) and o.trace is tape and g is not None
    ]
    _check_linear([node for node, _ in roots])
    found = backward(roots, [x.node for x in inputs])
    return [algebra.zeros(t) if c is None else c for c, t in zip(found, types, strict=True)]


def _check_linear(roots: Sequence[Node]) -> None:
    for node in reachable(roots):
        prim = node.prim
        if prim is None or prim is PICK:
            continue
        if not prim.is_linear([p is not None for p in node.parents], node.params):
            raise NotDifferentiableError(
                located(f"a function to be transposed is not linear: it applies {prim.name}")
            )


algebra.transpose_linear = transpose_linear
algebra.scatter = Scatter
