"""Batching: a traced value stands for one example, and its batch axis is axis 0 of `value`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from funcgrad.core.layout import (
    Lies,
    computed,
    derive,
    fresh,
    is_standard,
    kept,
    new_memory,
    one_example,
    ordered,
    reshaped,
    standard,
)
from funcgrad.core.leaks import noted
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import (
    EMPTY,
    Trace,
    Tracer,
    layout,
    operand,
    plain,
    serial,
    staged,
    twin,
    type_of,
    uncompiled,
)
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.shape import every_lane
from funcgrad.transforms.arguments import lower

__all__ = ["HIDDEN", "Batch", "BatchTracer", "axes", "whole"]

ndarray = np.ndarray
_new = tuple.__new__


class BatchTracer(Tracer):
    """One example out of `trace.size`; `value` holds all of them along axis 0.

    An example is an array in C order, or a scalar, unless `laid` tells how it lies.
    """

    __slots__ = ("born",)
    abstract: ClassVar[bool] = True

    def __init__(self, value: Array, trace: Batch) -> None:
        self.value, self.owner, self.born = value, trace, next(serial)

    @property
    def type(self) -> ArrayType:
        whole = self.value
        if type(whole) is ndarray:  # the hot case, spared the type of all examples
            return _new(ArrayType, (whole.shape[1:], whole.dtype, False))
        aval = type_of(whole)
        return ArrayType(aval.shape[1:], aval.dtype)

    def assign(self, new: Tracer) -> None:
        self.value = new.value


class Whole:
    """How an argument lies: within the array of all examples."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array


class Derived:
    """How a result lies, to be derived from how the operands do when somebody asks.

    Of the operands no values are kept.
    """

    __slots__ = ("args", "aval", "params", "prim", "types")

    def __init__(self, prim: Primitive, params: Params, args: Sequence[Array], aval: Any) -> None:
        self.prim, self.params, self.aval = prim, params, aval
        self.types = list(map(type_of, args))
        self.args = list(map(_memory, args, self.types))


class Output(NamedTuple):
    """How one of several results lies."""

    source: Derived
    which: int


def _memory(a: Array, aval: ArrayType) -> Any:
    """What tells how an operand lies."""
    if isinstance(a, BatchTracer):
        return getattr(a, "laid", aval)
    if staged(a):
        return a.owner.place(a)
    return aval if is_standard(a) else new_memory(layout(a))


def whole(x: Array, trace: Batch) -> Array:
    """A result of a mapped function one level down, with the batch axis in front."""
    x = operand(x)
    mine = isinstance(x, Tracer) and x.owner is trace
    return every_lane(trace.size, [lower(x, trace)], [mine])[0]


class _Axes(threading.local):
    """The named axes of the traces that run in this thread, the innermost one last."""

    def __init__(self) -> None:
        self.running: list[tuple[Any, Batch]] = []


axes = _Axes()
HIDDEN: Any = object()  # the name of an axis that has lost its own: no other is found behind it


class Batch(Trace):
    """The trace of `vmap`."""

    __slots__ = ("name", "size")
    what: ClassVar[str] = "a vmap"
    has_numbers: ClassVar[bool] = False
    maps: ClassVar[bool] = True
    hides: ClassVar[bool] = False

    def __init__(self, size: int, name: Any = None) -> None:
        super().__init__()
        self.size, self.name = size, name

    def __enter__(self) -> Self:
        if self.name is not None:
            axes.running.append((self.name, self))
        return super().__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self.name is not None:
            axes.running.pop()
        super().__exit__(kind, error, traceback)

    def look(self, t: Tracer, why: str) -> Any:
        """All examples, one level down."""
        return t.value

    def of_examples(self, whole: Array) -> BatchTracer:
        """A tracer with these examples along axis 0."""
        return BatchTracer(whole, self)

    def again(self) -> Batch:
        """Another trace of the same axis, for functions of a user that are mapped later."""
        return Batch(self.size, self.name)

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        if self.closed:
            raise self.leaked()
        made = prim.map(self, args, params)
        return noted(made) if uncompiled else made

    def process1(self, prim: Primitive, x: Array) -> Any:
        whole = x.value
        if type(whole) is not ndarray or self.closed:
            return self.process(prim, (x,), EMPTY)
        return self.elementwise(prim, (x,), prim.impl(whole))

    def process2(self, prim: Primitive, x: Array, y: Array) -> Any:
        kind = type(y)
        if type(x) is BatchTracer and type(x.value) is ndarray and not self.closed:
            if kind is float or kind is int:
                return self.elementwise(prim, (x, y), prim.impl(x.value, y))
            one = kind is BatchTracer and x.owner is y.owner and type(y.value) is ndarray
            if one and x.value.ndim == y.value.ndim:
                return self.elementwise(prim, (x, y), prim.impl(x.value, y.value))
        return self.process(prim, (x, y), EMPTY)

    def elementwise(self, prim: Primitive, args: Sequence[Array], y: Array) -> BatchTracer:
        """The result `y` of an elementwise operation of operands whose axes are aligned."""
        made = BatchTracer(y, self)
        if uncompiled:
            noted(made)
        if y.ndim > 2 and not _is_standard(prim.lies, args, made):
            made.laid = Derived(prim, EMPTY, args, made.type)
        return made

    def split(self, args: Sequence[Array]) -> tuple[list[Array], list[bool]]:
        """Values one level down, and which of them carry the batch axis."""
        batched = [isinstance(a, Tracer) and a.owner is self for a in args]
        return [a.value if b else a for a, b in zip(args, batched, strict=True)], batched

    def batch(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """Apply the batching rule: the default action."""
        xs, batched = self.split(args)
        y = prim.batch(self.size, xs, batched, params)
        if prim.multiple:
            return self.results(prim, args, params, y)
        made = BatchTracer(plain(y), self)
        if not _is_standard(prim.lies, args, made):
            made.laid = Derived(prim, params, args, made.type)
        return made

    def results(
        self, prim: Primitive, args: Sequence[Array], params: Params, outputs: Sequence[Any]
    ) -> tuple[BatchTracer, ...]:
        """The examples of several results, whose first axes run over the examples."""
        made = tuple(BatchTracer(plain(o), self) for o in outputs)
        if not _is_standard(prim.lies, args, made[0]):
            how = Derived(prim, params, args, [t.type for t in made])
            for k, t in enumerate(made):
                t.laid = Output(how, k)
        return made

    def argument(self, x: Array) -> BatchTracer:
        """The example of an argument whose first axis runs over the examples."""
        made = BatchTracer(x, self)
        laid = Whole(x) if staged(x) else one_example(layout(x))
        if isinstance(laid, Whole) or not is_standard(laid):
            made.laid = laid
        return made

    def _derive(self, how: Any) -> Any:
        known: dict[Any, Any] = {}
        derive(how, known, self._made)
        return known[how]

    def _made(self, how: Any, of: Callable[[Any], Any]) -> dict[Any, Any]:
        if isinstance(how, Whole):
            return {how: one_example(layout(how.array))}
        if isinstance(how, Output):
            return {how: of(how.source)[how.which]}

        def ask(i: int) -> Any:
            a = how.args[i]
            if isinstance(a, HOW):
                return of(a)
            return standard(a) if isinstance(a, ArrayType) else layout(a)

        return {how: how.prim.lies(how.prim, ask, how.types, how.params, how.aval)}

    def layout(self, t: Tracer) -> Any:
        laid = getattr(t, "laid", None)
        if isinstance(laid, BatchTracer):
            return self.layout(laid)
        if isinstance(laid, HOW):
            laid = t.laid = self._derive(laid)
        return standard(t.type) if laid is None else laid

    def place(self, t: Tracer) -> Any:
        return twin(t)


HOW = (Whole, Derived, Output)
DENSE = (computed, kept, ordered, reshaped)  # rules that give C order if the operands have it


def _is_standard(lies: Lies, args: Sequence[Array], made: BatchTracer) -> bool:
    """Whether a result is in C order, or a scalar, which is the case for most and costs nothing."""
    if lies is fresh or (lies is computed and type_of(made.value).ndim < 3):
        return True
    if lies not in DENSE or any([_lies(a) for a in args]):
        return False
    return lies is not reshaped or type_of(made.value).ndim > 1  # else an array without axes


def _lies(a: Array) -> bool:
    """Whether an operand may lie otherwise than a new array does."""
    while isinstance(a, Tracer):
        if isinstance(a, BatchTracer):
            return hasattr(a, "laid")
        if a.owner.stages:
            return True
        a = a.value
    return type(a) is ndarray and not is_standard(a)
