"""Operations that state a vjp, a jvp, or both; what is not stated is derived from the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms.shared import align, each_lane, filled, needed, union
from funcgrad.core.primitive import Params, Primitive, Samples
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact, promote, zeros

__all__ = ["Explicit", "explicit", "leading_batch"]


class Explicit(Primitive):
    """States a vjp, or a jvp, or both; what is not stated is derived from the other.

    ``vjp[i](g, y, *xs, **params)``; or one function ``vjp(g, y, *xs, needs=…, **params)`` that
    returns a sequence. With several outputs `g` and `y` are tuples.
    """

    form = "explicit"
    chooses = True  # maxima and norms do

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
        unread: bool = False,
        both: str = "",
    ) -> None:
        super().__init__(name, impl)
        self.both = both  # why both modes are stated, of the few records where they are
        self.multiple, self.linear_in = multiple, tuple(linear_in)
        self.unread = unread or vjp is None
        self.vjp_rule, self.jvp_stated = vjp, jvp
        self._type, self._batch = type_rule, batch
        self.derived: dict[Any, Any] = {}  # graphs of what is derived from the rules
        self.kept: dict[tuple[int, int], tuple[bool, ...]] = {}  # `saved_flags` for its arguments

    def stated(self) -> tuple[Any, ...]:
        return (self.impl, self.vjp_rule, self.jvp_stated, self._type, self._batch)

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        if self.vjp_rule is None:
            return (True,) * (count + 1)
        kept = self.kept.get((mask, count))
        if kept is None:
            rules = [self.vjp_rule] * count if callable(self.vjp_rule) else self.vjp_rule
            rows = [needed(rule, count + 2)[1:] for rule in rules]
            kept = self.kept[mask, count] = union(rows, mask, count + 1)
        return kept

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return self._type(*types, **params)

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        needs = tuple(p is not None for p in node.parents)
        if self.multiple and not self.unread:
            g = filled(g, node.outputs)
        xs = node.saved[1:]
        if node.avals is not None:
            xs = [t if x is None else x for x, t in zip(xs, node.avals, strict=True)]
        return self.pull(g, node.saved[0], xs, needs, node.params)

    def pull(
        self, g: Any, y: Any, xs: Sequence[Array], needs: Sequence[bool], params: Params
    ) -> Sequence[Array | None]:
        """Cotangents of the operands that `needs` marks."""
        if self.vjp_rule is None:
            return self.transposed_jvp(g, y, xs, needs, params)
        if callable(self.vjp_rule):
            return list(self.vjp_rule(g, y, *xs, needs=needs, **params))
        return [
            rule(g, y, *xs, **params) if need and rule is not None else None
            for rule, need in zip(self.vjp_rule, needs, strict=True)
        ]

    def transposed_jvp(
        self, g: Any, y: Any, xs: Sequence[Array], needs: Sequence[bool], params: Params
    ) -> Sequence[Array | None]:
        """`pull` by transposing the jvp that is stated."""
        assert self.jvp_stated is not None
        wanted = [i for i, need in enumerate(needs) if need]
        count = len(y) if self.multiple else 1

        def push(operands: Sequence[Array], moved: Sequence[Array]) -> Any:
            ts: list[Array | None] = [None] * len(xs)
            for i, t in zip(wanted, moved, strict=True):
                ts[i] = t
            outputs = tuple(operands[:count]) if self.multiple else operands[0]
            return self.jvp(outputs, operands[count:], ts, params)

        operands = (*(y if self.multiple else (y,)), *xs)
        types = [type_of(xs[i]) for i in wanted]
        back = self.transposed(("vjp", *wanted), push, operands, types, g, params)
        out: list[Array | None] = [None] * len(xs)
        for i, c in zip(wanted, back, strict=True):
            out[i] = c
        return out

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        if self.jvp_stated is not None:
            return self.jvp_stated(y, xs, ts, **params)
        needs = tuple(t is not None for t in ts)

        outputs = y if self.multiple else (y,)

        def pull(operands: Sequence[Array], g: Sequence[Array]) -> Any:
            count = len(outputs)
            made, values = tuple(operands[:count]), operands[count:]
            if self.multiple:
                cts = self.pull(tuple(g), made, values, needs, params)
            else:
                cts = self.pull(g[0], made[0], values, needs, params)
            return tuple(
                zeros(type_of(x)) if c is None else c
                for c, x, need in zip(cts, values, needs, strict=True)
                if need
            )

        types = [type_of(o) for o in outputs]
        # the pullback is linear in g: its transpose, applied to the tangents, is the jvp
        pushed = self.transposed(
            ("jvp", *needs),
            pull,
            (*outputs, *xs),
            [t if is_inexact(t.dtype) else ArrayType(t.shape, np.dtype(float)) for t in types],
            tuple(t for t in ts if t is not None),
            params,
        )
        return tuple(pushed) if self.multiple else pushed[0]

    def transposed(
        self,
        key: Any,
        fn: Callable[..., Any],
        operands: Sequence[Array],
        types: Sequence[ArrayType],
        cotangents: Any,
        params: Params,
    ) -> Sequence[Array]:
        """The transpose of a linear function of values of `types`, also given the operands.

        A rule of ours reads nothing but its arguments: its transpose is kept as a graph.
        """
        key = (*key, *sorted(params.items())) if self.is_ours else None
        made: Sequence[Array] = algebra.transposed(
            fn, operands, types, cotangents, self.derived, key
        )
        return made

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return all(i in self.linear_in for i, m in enumerate(mask) if m)

    def batch(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        if self._batch is not None:
            return self._batch(size, xs, batched, params)
        return each_lane(self, size, xs, batched, params)


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
    unread: bool = False,
    both: str = "",
    sample: Samples | None = None,
    form: type[Explicit] = Explicit,
) -> Explicit:
    """Make a primitive from its vjp, its jvp, or both.

    Parameters
    ----------
    name, impl
        As in `Primitive`.
    type_rule : callable, optional
        ``type_rule(*types, **params)``, the `ArrayType` of the output, or the tuple of those of
        several outputs; by default it is read off `signature`.
    signature : str, optional
        A fixed gufunc signature such as ``"(n,n),(n,k)->(n,k)"``: `impl` takes any leading axes,
        so that batching adds one in front.
    vjp : callable or sequence of callable, optional
        ``vjp[i](g, y, *xs, **params)`` is the cotangent of operand `i`, None in its place where
        there is none. Of an operand whose name begins with "_" only the `ArrayType` is kept. A
        single callable returns those of all operands, and is told by the keyword `needs` which of
        them are asked for. With several outputs `g` and `y` are tuples.
    jvp : callable, optional
        ``jvp(y, xs, ts, **params)``, the tangent of the output(s); a tangent in `ts` that is None
        is zero.
    batch : callable, optional
        As in `linear`; needed only without a signature, where the default is a loop.
    multiple : bool, optional
        `impl` returns a tuple of outputs.
    linear_in : sequence of int, optional
        Operands in which it is linear (taken together), as `solve` is in its right-hand side.
    unread : bool, optional
        The vjp is given None for an output that nobody has read, instead of zeros.
    both : str, optional
        Where both a vjp and a jvp are stated, why one of them does not do.
    sample : callable
        The samples that its tests are made from.
    form : type, optional
        A class derived from `Explicit`, of which the record is.

    Returns
    -------
    Explicit
        The record, which is called with operands and, by keyword, parameters.

    Raises
    ------
    ValueError
        Neither a vjp nor a jvp is stated, or neither a type rule nor a signature.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.extend import ArrayType, explicit
    >>> circle = explicit(
    ...     "example.point_on_circle",
    ...     lambda x: (np.cos(x), np.sin(x)),
    ...     type_rule=lambda x: (ArrayType(x.shape, x.dtype),) * 2,
    ...     jvp=lambda y, xs, ts: (-y[1] * ts[0], y[0] * ts[0]),
    ...     multiple=True,
    ... )
    >>> fg.grad(lambda x: circle(x)[1])(0.0)
    np.float64(1.0)
    """
    if vjp is None and jvp is None:
        raise ValueError(f"{name}: state a vjp or a jvp; the other one is derived")
    if signature is not None:
        cores = _parse(signature)
        type_rule = type_rule or _signature_types(cores, multiple)
    if type_rule is None:
        raise ValueError(f"{name}: state a type rule or a signature")
    prim = form(
        name,
        impl,
        type_rule=type_rule,
        vjp=vjp,
        jvp=jvp,
        batch=batch,
        multiple=multiple,
        linear_in=linear_in,
        unread=unread,
        both=both,
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
        return bind(prim, align(xs, batched, core_ranks), params)

    return rule
