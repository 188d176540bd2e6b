"""Batching: a traced value stands for one example, and its batch axis is axis 0 of `value`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Trace, Tracer, operand, plain, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.shape import every_lane
from funcgrad.transforms.arguments import lower

__all__ = ["Batch", "BatchTracer", "whole"]


class BatchTracer(Tracer):
    """One example out of `trace.size`; `value` holds all of them along axis 0."""

    __slots__ = ()
    abstract: ClassVar[bool] = True

    def __init__(self, value: Array, trace: Batch) -> None:
        self.value, self.owner = value, trace

    @property
    def type(self) -> ArrayType:
        whole = type_of(self.value)
        return ArrayType(whole.shape[1:], whole.dtype)

    def assign(self, new: Tracer) -> None:
        self.value = new.value


def whole(x: Array, trace: Batch) -> Array:
    """A result of a mapped function one level down, with the batch axis in front."""
    x = operand(x)
    mine = isinstance(x, Tracer) and x.owner is trace
    return every_lane(trace.size, [lower(x, trace)], [mine])[0]


class Batch(Trace):
    """The trace of `vmap`."""

    __slots__ = ("size",)
    what: ClassVar[str] = "a vmap"
    has_numbers: ClassVar[bool] = False

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        if self.closed:
            raise self.leaked()
        return prim.map(self, args, params)

    def split(self, args: Sequence[Array]) -> tuple[list[Array], list[bool]]:
        """Values one level down, and which of them carry the batch axis."""
        batched = [isinstance(a, Tracer) and a.owner is self for a in args]
        return [a.value if b else a for a, b in zip(args, batched, strict=True)], batched

    def spread(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """Apply the batching rule: the default action."""
        xs, batched = self.split(args)
        y = prim.batch(self.size, xs, batched, params)
        if prim.multiple:
            return tuple(BatchTracer(plain(o), self) for o in y)
        return BatchTracer(plain(y), self)
