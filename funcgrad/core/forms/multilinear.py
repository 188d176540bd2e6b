"""Operations that are linear in each operand by itself: stated by one transpose for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.algebra import algebra
from funcgrad.core.primitive import Params, Primitive, Samples
from funcgrad.core.tracer import bind
from funcgrad.core.types import Array, ArrayType

__all__ = ["Multilinear", "multilinear"]


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
        self.kept: dict[tuple[int, int], tuple[bool, ...]] = {}  # `saved_flags` for its arguments

    def stated(self) -> tuple[Any, ...]:
        return (self.impl, self.transpose, self._type, self._batch)

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        kept = self.kept.get((mask, count))
        if kept is None:
            others = (bool(mask & ~(1 << i)) for i in range(count))
            kept = self.kept[mask, count] = (False, *others)
        return kept

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return self._type(*types, **params)

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        out: list[Array | None] = []
        for i, rule in enumerate(self.transpose):
            if node.parents[i] is None:
                out.append(None)
                continue
            given = [node.avals[i] if j == i else x for j, x in enumerate(node.saved[1:])]
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

    Parameters
    ----------
    name, impl, type_rule, batch, sample
        As in `linear`.
    transpose : sequence of callable
        ``transpose[i](g, *operands, **params)`` is the cotangent of operand `i`; the `ArrayType`
        of that operand stands in its place.

    Returns
    -------
    Multilinear
        The record, which is called with operands and, by keyword, parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.extend import ArrayType, each_lane, multilinear
    >>> mirrored = multilinear(
    ...     "example.mirrored",
    ...     lambda x, y: x * y[::-1],
    ...     (lambda g, x, y: g * y[::-1], lambda g, x, y: (g * x)[::-1]),
    ...     lambda x, y: ArrayType(x.shape, x.dtype),
    ...     lambda *given: each_lane(mirrored, *given),
    ... )
    >>> fg.grad(lambda x: mirrored(x, x)[0])(np.array([2.0, 3.0]))
    array([3., 2.])
    """
    prim = Multilinear(name, impl, transpose, type_rule, batch)
    prim.sample = sample
    return prim
