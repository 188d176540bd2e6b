"""A call with a custom derivative rule as one operation: the primitives behind `custom.py`.

The operation carries the user's functions, made flat: a tape stores the backward rule, `vmap`
maps all of them, `jit` keeps them as callables, and the mode that was not stated is derived from
the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.core.forms import HigherOrder, each_lane, filled
from funcgrad.core.layout import Ask
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Tracer, bind, running, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact, zeros
from funcgrad.errors import CustomRuleError, located
from funcgrad.graph.build import stage
from funcgrad.graph.effects import effects_of
from funcgrad.graph.ir import Graph
from funcgrad.graph.layouts import through
from funcgrad.ops.shape import every_lane
from funcgrad.ops.sums import sum as sum_
from funcgrad.transforms.arguments import lower
from funcgrad.transforms.batch import Batch, BatchTracer, whole
from funcgrad.transforms.reverse import transpose_linear

__all__ = [
    "CUSTOM_JVP",
    "CUSTOM_VJP",
    "CustomVJPPrimal",
    "JvpRule",
    "SymbolicZero",
    "VjpRule",
    "captured",
]

Function = Callable[..., Any]


class VjpRule(NamedTuple):
    """Flat functions: leaves in, lists of leaves out; residuals are any object."""

    name: str
    fun: Function  # fun(*xs) -> outputs
    fwd: Function  # fwd(*xs) -> (outputs, residuals)
    bwd: Function  # bwd(residuals, cotangents of the outputs) -> cotangents of xs, None for zero
    jvp: Function | None = None  # as of `JvpRule`, where forward mode is stated as well
    single: bool = False  # whether `vmap` hands it one example at a time
    symbolic: bool = False  # whether zeros are given as `SymbolicZero`, and `fwd` told what moves
    linear_in: int = 0  # in how many of the first operands, taken together, it is linear

    def silenced(self) -> VjpRule:
        """The rule without effects of the function."""
        return self._replace(fun=_silent(self.fun), fwd=_silent(self.fwd), jvp=_silent(self.jvp))

    def cotangents(self, g: Sequence[Any], outputs: Sequence[ArrayType]) -> Sequence[Any]:
        """The cotangents of the outputs as `bwd` takes them."""
        return _with_zeros(g, outputs) if self.symbolic else filled(g, outputs)


class JvpRule(NamedTuple):
    """As `VjpRule`, with ``jvp(xs, ts) -> (outputs, tangents)``."""

    name: str
    fun: Function
    jvp: Function
    single: bool = False
    symbolic: bool = False

    def silenced(self) -> JvpRule:
        """The rule without effects of the function."""
        return self._replace(fun=_silent(self.fun), jvp=_silent(self.jvp))

    def tangents(self, xs: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """The tangents as `jvp` takes them."""
        types = list(map(type_of, xs))
        if self.symbolic:
            return _with_zeros(ts, types)
        return [zeros(k) if t is None else t for k, t in zip(types, ts, strict=True)]


class SymbolicZero:
    """A tangent or cotangent that is known to be zero, with the shape and dtype of its value."""

    __slots__ = ("aval",)

    def __init__(self, aval: ArrayType) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


class CustomVJPPrimal(NamedTuple):
    """A value, and whether it is differentiated by."""

    value: Any
    perturbed: bool


def _with_zeros(given: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    return [SymbolicZero(k) if t is None else t for k, t in zip(types, given, strict=True)]


def captured(outputs: Sequence[Any], trace: Any) -> bool:
    """Whether a function of values one level down has returned one of this level or a later one."""
    return any(isinstance(o, Tracer) and o.owner.level >= trace.level for o in outputs)


def _refuse_captured(outputs: Sequence[Any], trace: Any, name: str) -> None:
    if captured(outputs, trace):
        raise CustomRuleError(
            located(
                f"{name} has a custom derivative rule and closes over a traced value, whose "
                "gradient the rule cannot give; pass that value as an argument (by "
                "closure_convert, where a function holds it)"
            )
        )


def _only_mapped(args: Sequence[Array]) -> bool:
    """Whether `vmap` alone stands behind the operands: no rule is needed for their values."""
    for x in args:
        while isinstance(x, Tracer):
            if not x.owner.maps:
                return False
            x = x.value
    return True


def traced_once(name: str) -> str:
    """What the function of a rule is for a message, as `graph.build.stage` takes it."""
    return f"{name}, which has a rule of its own and is traced for it,"


def _staged(fun: Function, types: Sequence[ArrayType], name: str) -> Graph:
    graph, held = stage(fun, types, body=traced_once(name))
    if held:
        raise CustomRuleError(
            located(
                f"{name} has a custom derivative rule and closes over a traced value, whose "
                "gradient the rule cannot give; pass that value as an argument"
            )
        )
    return graph


def _silent(f: Function | None) -> Any:
    """The function without the effects that it has."""

    def run(*xs: Any, **options: Any) -> Any:
        before, running.silent = running.silent, True
        try:
            assert f is not None
            return f(*xs, **options)
        finally:
            running.silent = before

    return None if f is None else run


# ------------------------------------------------------------------------ batched functions


def _split(xs: Sequence[Any], batched: Sequence[bool], trace: Batch) -> list[Any]:
    return [BatchTracer(x, trace) if b else x for x, b in zip(xs, batched, strict=True)]


def _batched_vjp(rule: VjpRule, like: Batch, batched: Sequence[bool]) -> VjpRule:
    def fwd(*xs: Any, **moving: Any) -> tuple[list[Any], Any]:
        with like.again() as trace:
            outs, residuals = rule.fwd(*_split(xs, batched, trace), **moving)
            found, definition = tree.flatten(residuals)
            mapped = [isinstance(r, Tracer) and r.owner is trace for r in found]
            values = [lower(r, trace) for r in found]
            return [whole(o, trace) for o in outs], (values, mapped, definition)

    def bwd(residuals: Any, cts: Sequence[Any]) -> list[Any]:
        values, mapped, definition = residuals
        with like.again() as trace:
            given = tree.unflatten(definition, _split(values, mapped, trace))
            found = rule.bwd(given, [_example(c, trace) for c in cts])
            out: list[Any] = []
            for c, b in zip(found, batched, strict=True):
                c = None if c is None else whole(c, trace)
                out.append(c if b or c is None else sum_(c, (0,)))
            return out

    forward = _batched_jvp(_forward(rule), like, batched)
    jvp = None if rule.jvp is None else forward.jvp
    return rule._replace(fun=forward.fun, fwd=fwd, bwd=bwd, jvp=jvp)


def _example(c: Any, trace: Batch) -> Any:
    """A cotangent or tangent of all examples as that of one."""
    if isinstance(c, SymbolicZero):
        return SymbolicZero(ArrayType(c.shape[1:], c.dtype))
    return BatchTracer(c, trace)


def _forward(rule: Any) -> JvpRule:
    return JvpRule(rule.name, rule.fun, rule.jvp)


def _batched_jvp(rule: JvpRule, like: Batch, batched: Sequence[bool]) -> JvpRule:
    def fun(*xs: Any) -> list[Any]:
        with like.again() as trace:
            return [whole(o, trace) for o in rule.fun(*_split(xs, batched, trace))]

    def jvp(xs: Sequence[Any], ts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        with like.again() as trace:
            moving = [
                _example(t, trace) if b or isinstance(t, SymbolicZero) else t
                for t, b in zip(ts, batched, strict=True)
            ]
            outs, moved = rule.jvp(_split(xs, batched, trace), moving)
            return [whole(o, trace) for o in outs], [whole(t, trace) for t in moved]

    return rule._replace(fun=fun, jvp=jvp)


def _results(
    prim: Primitive, trace: Batch, args: Sequence[Array], params: Params, outs: Sequence[Any]
) -> Any:
    """The examples of the results, unless the function closes over examples of the same `vmap`."""
    _refuse_captured(outs, trace, params["rule"].name)
    return trace.results(prim, args, params, outs)


def _one_by_one(
    prim: Primitive, trace: Batch, xs: Sequence[Any], batched: Sequence[bool], params: Params
) -> Any:
    outs = each_lane(prim, trace.size, xs, batched, params)
    return tuple(BatchTracer(o, trace) for o in outs)


# ------------------------------------------------------------------------------ primitives


def _lies(prim: Any, ask: Ask, types: Sequence[ArrayType], params: Any, out: Any) -> Any:
    """As the body lays its results out, which is traced for it where somebody asks."""
    graph, _ = stage(params["rule"].fun, types)
    return through(prim, ask, types, {"graph": graph}, out)


class Pullback(Primitive):
    """What a node of a custom vjp holds: the residuals, and the rule in its parameters."""

    opaque = True

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        rule = node.params["rule"]
        found: list[Array | None] = rule.bwd(node.saved, rule.cotangents(g, node.outputs))
        return found

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return not any(mask[params["rule"].linear_in :])


PULLBACK = Pullback("custom_vjp_pullback", lambda *_: ())


def _kept(residual: Any, trace: Any) -> Any:
    """A residual as a tape keeps what others may write into: the rule may have captured it."""
    if isinstance(residual, (np.ndarray, Tracer)):
        return trace.keep(residual)
    return residual


class CustomVjp(HigherOrder):
    """A call of a function with a custom vjp."""

    lies = staticmethod(_lies)

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        graph = _staged(params["rule"].fun, types, params["rule"].name)
        return tuple(o.type for o in graph.outputs)

    def stage(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        return _append(self, trace, args, params)

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        nodes, xs, _ = trace.split(args)
        rule = params["rule"]
        moving = {"moving": [n is not None for n in nodes]} if rule.symbolic else {}
        outs, residuals = rule.fwd(*xs, **moving)
        _refuse_captured([*outs, *tree.leaves(residuals)], trace, rule.name)
        kept = tree.map(lambda r: _kept(r, trace), residuals)
        return trace.record_multiple(PULLBACK, nodes, params, kept, outs)

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        rule = params["rule"]
        if rule.jvp is not None:
            return CUSTOM_JVP.forward(trace, args, {"rule": _forward(rule)})
        xs, ts = trace.split(args)
        there = {"moving": [t is not None for t in ts]} if rule.symbolic else {}
        outs, residuals = rule.fwd(*xs, **there)
        _refuse_captured(outs, trace, rule.name)
        moving = [i for i, t in enumerate(ts) if t is not None]
        types = [type_of(o) for o in outs]

        def pull(*cts: Any) -> tuple[Any, ...]:
            found = rule.bwd(residuals, cts)
            return tuple(zeros(type_of(xs[i])) if found[i] is None else found[i] for i in moving)

        moved = transpose_linear(pull, types, tuple(ts[i] for i in moving))
        return tuple(trace.dual(o, t) for o, t in zip(outs, moved, strict=True))

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, batched = trace.split(args)
        if params["rule"].single:
            return _one_by_one(self, trace, xs, batched, params)
        if _only_mapped(args):
            return tuple(params["rule"].fun(*args))
        outs = bind(self, xs, {"rule": _batched_vjp(params["rule"], trace, batched)})
        return _results(self, trace, args, params, outs)


class PushedBack(Primitive):
    """What a node of a custom jvp holds: the operands; its vjp transposes the rule."""

    opaque = True

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        rule, xs = node.params["rule"], node.saved
        wanted = [i for i, p in enumerate(node.parents) if p is not None]
        used = [k for k, c in enumerate(g) if c is not None]
        # The rule adds up the tangents of all arguments: one that does not move is zero, but as
        # a number it would make of `s * y + x * t` an affine function of the others.
        types = list(map(type_of, xs))
        given = wanted if rule.symbolic else [i for i, k in enumerate(types) if is_inexact(k.dtype)]

        def push(*moved: Any) -> tuple[Any, ...]:
            ts: list[Any] = [None] * len(xs)
            for i, t in zip(given, moved, strict=True):
                ts[i] = t
            tangents = rule.jvp(xs, rule.tangents(xs, ts))[1]
            return tuple(tangents[k] for k in used)

        back = transpose_linear(push, [types[i] for i in given], tuple(g[k] for k in used))
        out: list[Array | None] = [None] * len(xs)
        for i, c in zip(given, back, strict=True):
            out[i] = c if i in wanted else None
        return out


PUSHED_BACK = PushedBack("custom_jvp_pullback", lambda *_: ())


class CustomJvp(HigherOrder):
    """A call of a function with a custom jvp."""

    lies = staticmethod(_lies)

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        graph = _staged(params["rule"].fun, types, params["rule"].name)
        return tuple(o.type for o in graph.outputs)

    def stage(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        return _append(self, trace, args, params)

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        nodes, xs, _ = trace.split(args)
        # the rule runs in the backward pass, with what it does: the function only gives the value
        outs = bind(self, xs, {"rule": params["rule"].silenced()})
        _refuse_captured(outs, trace, params["rule"].name)
        kept = [x if n is not None else trace.keep(x) for x, n in zip(xs, nodes, strict=True)]
        return trace.record_multiple(PUSHED_BACK, nodes, params, kept, outs)

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, ts = trace.split(args)
        outs, moved = params["rule"].jvp(xs, params["rule"].tangents(xs, ts))
        _refuse_captured(outs, trace, params["rule"].name)
        return tuple(trace.dual(o, t) for o, t in zip(outs, moved, strict=True))

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, batched = trace.split(args)
        if params["rule"].single:
            return _one_by_one(self, trace, xs, batched, params)
        if _only_mapped(args):
            return tuple(params["rule"].fun(*args))
        # a tangent may be mapped where its primal is not
        xs = every_lane(trace.size, xs, batched)
        rule = _batched_jvp(params["rule"], trace, [True] * len(xs))
        return _results(self, trace, args, params, bind(self, xs, {"rule": rule}))


def _append(prim: Primitive, trace: Any, args: Sequence[Array], params: Params) -> Any:
    """An equation that knows whether the function has an effect."""
    rule = params["rule"]
    graph = _staged(rule.fun, list(map(type_of, args)), rule.name)
    params = {"rule": rule, "effect": True} if effects_of(graph) else {"rule": rule}
    return trace.append(prim, args, params, tuple(o.type for o in graph.outputs))


def _call(*xs: Any, rule: Any, effect: bool = False) -> tuple[Any, ...]:
    return tuple(rule.fun(*xs))


CUSTOM_VJP, CUSTOM_JVP = CustomVjp("custom_vjp", _call), CustomJvp("custom_jvp", _call)
CUSTOM_VJP.composed = CUSTOM_JVP.composed = _call  # native where it has the derivatives it needs
