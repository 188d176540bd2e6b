"""Operations that are linear in some operands taken together: stated by the transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.primitive import Params, Primitive, Samples
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType, zeros

__all__ = ["Linear", "linear"]


class Linear(Primitive):
    """Linear in some operands together; stated by the transpose for each of them.

    ``transpose(g, *operands, **params)`` is given the `ArrayType` of each linear operand in its
    place, and the value of the others.
    """

    form = "linear"
    chooses = True  # the transpose of an index or a mask does

    def __init__(
        self,
        name: str,
        impl: Callable[..., Any],
        transpose: Sequence[Callable[..., Any] | None] | Callable[..., Any],
        type_rule: Callable[..., Any],
        batch: Callable[..., Any],
        moves: str = "",
    ) -> None:
        super().__init__(name, impl)
        self.moves, self.gaps = moves, moves in ("places", "scatters")
        self.transpose = transpose
        self._type, self._batch = type_rule, batch
        self.kept: dict[int, tuple[bool, ...]] = {}  # `saved_flags` for each number of operands

    def _rule(self, i: int) -> Callable[..., Any] | None:
        if callable(self.transpose):
            return self.transpose
        return self.transpose[i] if i < len(self.transpose) else None

    def stated(self) -> tuple[Any, ...]:
        return (self.impl, self.transpose, self._type, self._batch)

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
            return (rule(g, node.avals[0], **node.params),)
        if callable(self.transpose):
            needs = [parent is not None for parent in node.parents]
            found: Sequence[Array | None] = self.transpose(
                g, *node.avals, needs=needs, **node.params
            )
            return found
        given = [
            node.saved[i + 1] if self._rule(i) is None else node.avals[i] for i in range(count)
        ]
        out: list[Array | None] = []
        for i in range(count):
            rule = self._rule(i)
            if node.parents[i] is None or rule is None:
                out.append(None)
            else:
                out.append(rule(g, *given, **node.params))
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
                args.append(zeros(_still(type_of(x), type_of(y).dtype)))
        return bind(self, args, params)

    def batch(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        return self._batch(size, xs, batched, params)

    def mark(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        fixed = [self._rule(i) is None for i in range(len(args))]
        if not self.moves or any(f and trace.mine(a) for f, a in zip(fixed, args, strict=True)):
            return trace.plainly(self, args, params)
        if self.moves == "chooses":
            return trace.choose(self, args, params)
        if self.moves == "stays":
            return trace.same(self, args, params)
        action = {"scatters": trace.scatter, "sums": trace.reduce}.get(self.moves, trace.move)
        return action(self, args, params, fixed)

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return all(self._rule(i) is not None for i, m in enumerate(mask) if m)


def _still(x: ArrayType, result: np.dtype[Any]) -> ArrayType:
    """The type of the tangent of an operand that does not move, which must not widen the result.

    A Python number and an integer take the precision of what is beside them, so their zero does.
    """
    if x.dtype.kind in "fc" and not x.weak:
        return x
    return ArrayType(x.shape, result if x.dtype.kind == "c" else np.zeros(0, result).real.dtype)


def linear(
    name: str,
    impl: Callable[..., Any],
    transpose: Any,
    type_rule: Callable[..., Any],
    batch: Callable[..., Any],
    sample: Samples | None = None,
    moves: str = "",
) -> Linear:
    """Make a primitive that is linear in one operand, or in several taken together.

    Parameters
    ----------
    name, impl
        As in `Primitive`.
    transpose : callable or sequence of callable or None
        ``transpose(g, *operands, **params)``: the cotangent of an operand, given that of the
        output; the `ArrayType` of each linear operand stands in its place. None for an operand in
        which it is not linear (a mask, an index). A single callable serves all operands: where
        there are several it returns the cotangents of all, in time that grows with their number,
        and is told by the keyword `needs` which of them are wanted (None serves for the others).
    type_rule : callable
        ``type_rule(*types, **params)``, the `ArrayType` of the output.
    batch : callable
        ``batch(size, operands, batched, params)`` returns the output with the batch axis in
        front; `batched` says which operands carry one (in front as well), of extent `size`.
    sample : callable
        The samples that its tests are made from.
    moves : {"", "stays", "adds", "sums", "places", "scatters", "chooses"}, optional
        What becomes of elements that are absent (see the manual's internals): those of the result
        are, too, in the same place ("stays"); if they are made of absent ones alone, where it
        moves elements and adds them up with weights above 0 ("adds", and "sums" over axes); and
        where it moves nothing to ("places", and "scatters" by integer arrays of the leading axes);
        in a choice by a condition ("chooses"). By default they are zeros from here on.

    Returns
    -------
    Linear
        The record, which is called with operands and, by keyword, parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.extend import ArrayType, linear
    >>> turn = linear(
    ...     "example.turn",
    ...     lambda x, k: np.roll(x, k, -1),
    ...     lambda g, x, *, k: turn(g, k=-k),
    ...     lambda x, *, k: ArrayType(x.shape, x.dtype),
    ...     lambda size, xs, batched, params: turn(*xs, **params),
    ... )
    >>> fg.grad(lambda x: turn(x, k=1)[0])(np.ones(3))
    array([0., 0., 1.])
    """
    prim = Linear(name, impl, transpose, type_rule, batch, moves)
    prim.sample = sample
    return prim
