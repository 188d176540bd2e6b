"""The native code of elementwise operations: a loop over elements, printed from their graphs.

The value and the rule of an operation are staged on arrays of two shapes. Where both give the same
loop, and nothing in it is more than elementwise, the operation does not depend on the shape, and
the loop serves every size. Where the code lies on disk nothing is staged: it is known by the names
of the operation and of its form, and by our files. It imports the compiler, inside functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from funcgrad.compile import cache, store
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import bind
from funcgrad.core.types import ArrayType
from funcgrad.kernels.native import Code
from funcgrad.torch.flat import ARRAY, MASK, NOTHING, NUMBER, Form
from funcgrad.torch.sources import sources_of_facade

__all__ = ["code_of"]

SHAPES = ((7,), (3, 5))  # on which operations are staged
UNSUITABLE = "unsuitable"


class Unsuitable(Exception):
    """The operation is not elementwise."""


def code_of(prim: Primitive, form: Form, params: Params) -> Code | None:
    """The code, from disk or built now; None where the operation is not elementwise.

    Raises
    ------
    CompilerError
        The code cannot be built.
    """
    about = (sources_of_facade(), prim.module, prim.name, form)
    refused = store.name_of(repr((UNSUITABLE, about)))
    if sources_of_facade() is not None and store.exists(refused):
        return None
    try:
        text = functools.partial(_text, prim, form, params)
        return Code.of(cache.written(text, *about, symbols={}))
    except Unsuitable:
        store.write(refused, b"")
        return None


def _text(prim: Primitive, form: Form, params: Params) -> str:
    """The module with the loop.

    Raises
    ------
    Unsuitable
        The operation is not elementwise.
    """
    from funcgrad.compile.loops import show
    from funcgrad.kernels.nests import printed

    one, other = (_kernel(prim, form, params, shape) for shape in SHAPES)
    if show(one) != show(other):
        raise Unsuitable
    return printed(one)


def _kernel(prim: Primitive, form: Form, params: Params, shape: tuple[int, ...]) -> Any:
    """The loop of an operation on arrays of a shape."""
    from funcgrad.graph.build import stage
    from funcgrad.passes.pipeline import optimize

    function = _value if form.wanted is None else _rule
    types = [_type(kind, form.dtype, shape) for kind in form.operands]
    if form.wanted is not None:  # the cotangent has the shape, also where it is one number
        types[0] = ArrayType(shape, np.dtype(form.dtype))
    staged = [t for t in types if t is not None]
    try:
        graph, adopted = stage(functools.partial(function, prim, form, params, types), staged)
        graph = optimize(graph)
    except (TypeError, ValueError, IndexError, NotImplementedError, RuntimeError) as error:
        raise Unsuitable from error
    if adopted:
        raise Unsuitable
    return _Loop(graph, form, shape).kernel()


def _type(kind: Any, dtype: str, shape: tuple[int, ...]) -> ArrayType | None:
    if kind == ARRAY:
        return ArrayType(shape, np.dtype(dtype))
    if kind == MASK:
        return ArrayType(shape, np.dtype(bool))
    return ArrayType((), np.dtype(np.float64), True) if kind == NUMBER else None


def _filled(form: Form, types: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
    """All operands: those that are staged, numbers that are written out, and None."""
    staged = iter(xs)
    return [
        next(staged) if t is not None else None if kind == NOTHING else kind
        for kind, t in zip(form.operands, types, strict=True)
    ]


def _value(
    prim: Primitive, form: Form, params: Params, types: Sequence[Any], *xs: Any
) -> Sequence[Any]:
    return (bind(prim, _filled(form, types, xs), params),)


def _rule(
    prim: Primitive, form: Form, params: Params, types: Sequence[Any], *xs: Any
) -> Sequence[Any]:
    """The cotangents that are wanted, by the operation's own rule."""
    g, *saved = _filled(form, types, xs)
    assert form.wanted is not None
    like = types[0]
    node = SimpleNamespace(
        prim=prim,
        params=params,
        parents=tuple(True if w else None for w in form.wanted),
        avals=tuple(like if w or t is None else t
                  for w, t in zip(form.wanted, types[2:], strict=True)),
        saved=tuple(saved),
    )  # fmt: skip
    found = [c for c, w in zip(prim.vjp(node, g), form.wanted, strict=True) if w]
    if any(c is None or c is g for c in found):  # what is handed on as it is needs no memory
        raise Unsuitable
    return found


class _Loop:
    """A graph as a loop over elements."""

    def __init__(self, graph: Any, form: Form, shape: tuple[int, ...]) -> None:
        self.graph, self.form, self.shape = graph, form, shape
        self.body: list[Any] = []
        self.names: dict[Any, str] = {}  # of operations that are written already
        self.known: dict[Any, Any] = {}
        self.count = 0

    def kernel(self) -> Any:
        from funcgrad.compile.loops import (
            Address,
            Buffer,
            Carry,
            Combine,
            For,
            Kernel,
            Let,
            Load,
            Store,
        )  # fmt: skip
        from funcgrad.compile.scalars import Scalar, Writer

        where = (("start", 1), ("i", 1))
        buffers, numbers = [], []
        self.write = Writer(self.let)
        for k, (v, kind) in enumerate(zip(self.graph.inputs, self.kinds(), strict=True)):
            if kind == NUMBER:
                numbers.append((f"n{k}", "float64"))
                self.known[v] = Scalar(f"n{k}", "float64")
                if not v.type.weak:
                    self.known[v] = self.write.cast(self.known[v], v.type.dtype.name)
                continue
            buffers.append(Buffer(f"x{k}", v.type.dtype.name, "input"))
            self.body.append(Load(f"v{k}", v.type.dtype.name, Address(f"x{k}", where)))
            self.known[v] = Scalar(f"v{k}", v.type.dtype.name)
        for v, x in self.graph.constants:
            self.known[v] = self.constant(np.asarray(x))
        for e in self.graph.equations:
            self.equation(e)
        for k, out in enumerate(self.graph.outputs):
            if out.type.dtype != np.dtype(self.form.dtype) or out.type.shape != self.shape:
                raise Unsuitable
            buffers.append(Buffer(f"y{k}", self.form.dtype, "output"))
            result = self.scalar(out).operand
            if self.form.total:
                self.body.append(Combine("total", result))
            else:
                self.body.append(Store(Address(f"y{k}", where), result, self.form.dtype))
        each = For("i", "some", "vector", self.body)
        after = []
        if self.form.total:
            each.carries.append(Carry("total", self.form.dtype, "add"))
            after.append(Store(Address("y0", (("chunk", 1),)), "total", self.form.dtype))
        chunk = For("chunk", "size", "chunks")
        chunk.body = [
            Let("start", "int64", "mul", ("chunk", "grain")),
            Let("left", "int64", "sub", ("size", "start")),
            Let("some", "int64", "min", ("left", "grain")),
            each,
            *after,
        ]
        return Kernel("call", buffers, ["size", "grain"], numbers, [chunk])

    def kinds(self) -> list[Any]:
        return [kind for kind in self.form.operands if kind in (ARRAY, MASK, NUMBER)]

    def let(self, op: str, dtype: str, args: tuple[Any, ...]) -> str:
        from funcgrad.compile.loops import Let

        key = (op, dtype, *map(repr, args))
        if key not in self.names:
            self.count += 1
            self.names[key] = f"t{self.count}"
            self.body.append(Let(self.names[key], dtype, op, args))
        return self.names[key]

    def equation(self, e: Any) -> None:
        from funcgrad.compile.llvm.mathematics import FUNCTIONS
        from funcgrad.compile.scalars import MATHEMATICS, apply, resolve

        if len(e.outputs) != 1 or any(
            a.type.shape not in ((), self.shape) for a in (*e.inputs, *e.outputs)
        ):
            raise Unsuitable
        if e.prim.name in SAME:
            self.known[e.outputs[0]] = self.scalar(e.inputs[0])
            return
        resolved = resolve(e, frozenset(FUNCTIONS) & set(MATHEMATICS))
        if resolved is None:
            raise Unsuitable
        self.known[e.outputs[0]] = apply(self.write, e, resolved, list(map(self.scalar, e.inputs)))

    def scalar(self, a: Any) -> Any:
        """A variable or a literal as a value of the loop."""
        if a in self.known:
            return self.known[a]
        return self.constant(np.asarray(a.value, a.type.dtype))

    def constant(self, x: Any) -> Any:
        from funcgrad.compile.loops import Const
        from funcgrad.compile.scalars import NATIVE, Scalar

        if x.size != 1 or x.dtype not in NATIVE:
            raise Unsuitable
        return Scalar(Const(x.reshape(-1)[0], NATIVE[x.dtype]), NATIVE[x.dtype])


SAME = frozenset(("broadcast", "stop_gradient", "identity", "renewed"))  # of an element
Staged = Callable[..., Sequence[Any]]
