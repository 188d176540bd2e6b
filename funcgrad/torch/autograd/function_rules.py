"""Custom functions inside transforms: `grad`, `vmap`, `jvp` and `jit` see one operation.

The operation is a custom rule of the core. A level asks the level below for the outputs, by the
same operation, and then sets the context up itself, so every level uses the user's derivative.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.core.primitive import Params
from funcgrad.core.tracer import Tracer, bind, type_of
from funcgrad.core.types import Array
from funcgrad.ops.shape import moveaxis
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd.context import FunctionCtx
from funcgrad.torch.autograd.function import (
    Function,
    apply_on_root,
    backward_of,
    has_setup,
)
from funcgrad.torch.autograd.function_jvp import tangents_of_call
from funcgrad.torch.autograd.validation import as_cotangents
from funcgrad.torch.gradients import conjugated
from funcgrad.torch.randomness import randomness_of
from funcgrad.torch.root import ROOT
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.custom_call import CustomVjp, Pullback, VjpRule

__all__ = ["apply_traced"]

MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What the `vmap` of a function is told."""

    batch_size: int
    randomness: str


class TracedCtx(FunctionCtx):
    """``ctx`` of a call inside a transform."""

    def __init__(self, cls: Any, args: Sequence[Any], needs: Sequence[bool]) -> None:
        self._forward_cls = cls
        self.needs_input_grad = tuple(needs)
        self.contents: list[Any] = []
        self.in_jvp = False
        self.fixed: set[int] = set()
        self.avals = tuple(type_of(a._t) if isinstance(a, Tensor) else None for a in args)
        self.parents = tuple(None if k is None else k for k in self.avals)
        self.places = tuple(k for k, kind in enumerate(self.avals) if kind is not None)

    def name(self) -> str:
        """The name of the node that the call would have on the root tape."""
        return f"{self._forward_cls.__name__}Backward"

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given (in `jvp`: what `save_for_forward` was given)."""
        if self.in_jvp:
            return tuple(self.saved_for_forward or ())
        return tuple(None if c is None else box(c) for c in self.contents)


class Call:
    """One call: the function and the arguments that are no tensors."""

    def __init__(self, cls: Any, args: Sequence[Any]) -> None:
        self.cls, self.args = cls, list(args)
        self.places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        self.single = True
        self.template: list[Any] = []  # the outputs, with SLOT for tensors
        self.dirty: list[tuple[int, int]] = []  # arguments that are outputs, changed in place
        self.params: Params = {}

    def filled(self, xs: Sequence[Any]) -> list[Any]:
        """All arguments, with these contents as tensors."""
        out = list(self.args)
        for k, x in zip(self.places, xs, strict=True):
            out[k] = box(x)
        return out

    def outputs(self, found: Any, given: Sequence[Any]) -> list[Any]:
        """The contents of the tensors among the outputs; what else there is is remembered."""
        self.single = not isinstance(found, tuple)
        items = (found,) if self.single else found
        self.template = [SLOT if isinstance(o, Tensor) else o for o in items]
        tensors = [o for o in items if isinstance(o, Tensor)]
        self.dirty = [
            (i, k)
            for k, o in enumerate(tensors)
            for i, x in enumerate(given)
            if x is o and isinstance(x, Tensor)
        ]
        return [o.content() for o in tensors]

    def result(self, outs: Sequence[Any]) -> Any:
        """The outputs as `forward` gave them."""
        items = iter(outs)
        full = [next(items) if o is SLOT else o for o in self.template]
        return full[0] if self.single else tuple(full)

    def plain(self, *xs: Any) -> list[Any]:
        """`forward` itself."""
        given = self.filled(xs)
        return self.outputs(self.cls.forward(*given), given)

    def below(self, xs: Sequence[Any]) -> list[Any]:
        """The outputs, as the level below gives them."""
        if any(isinstance(x, Tracer) for x in xs):
            return list(bind(FUNCTION, xs, self.params))
        return self.plain(*xs)

    def context(
        self, xs: Sequence[Any], outs: Sequence[Any], needs: Sequence[bool]
    ) -> tuple[TracedCtx, list[Any]]:
        """``ctx`` after `setup_context`, and what it has saved."""
        given = self.filled(xs)
        full = [False] * len(given)
        for k, need in zip(self.places, needs, strict=True):
            full[k] = need
        ctx = TracedCtx(self.cls, given, full)
        tensors = [box(o) for o in outs]
        self.cls.setup_context(ctx, tuple(given), self.result(tensors))
        ctx.fixed = {
            k for k, o in enumerate(tensors) if any(o is x for x in ctx.non_differentiable)
        }
        saved = [None if x is None else x.content() for x in ctx.to_save]
        ctx.to_save = ctx.non_differentiable = ctx.dirty_tensors = ()
        return ctx, saved

    def forward(self, *xs: Any) -> tuple[list[Any], Any]:
        """Outputs and residuals, where the operations of `forward` are mapped one by one."""
        outs = self.plain(*xs)
        ctx, saved = self.context(xs, outs, [True] * len(xs))
        return outs, (saved, ctx)

    def backward(self, residuals: Any, cts: Sequence[Any]) -> list[Any]:
        """The cotangents of the tensors among the arguments."""
        saved, ctx = residuals
        ctx = copy.copy(ctx)
        ctx.contents = saved
        given = iter(None if c is None else box(conjugated(c)) for c in cts)
        full = [next(given) if o is SLOT else None for o in self.template]
        found = backward_of(self.cls)(ctx, *full)
        pulled = as_cotangents(ctx, found if isinstance(found, tuple) else (found,))
        return [pulled[k] for k in self.places]


class Slot:
    """The place of a tensor among the outputs."""


SLOT = Slot()


class FunctionRule(VjpRule):
    """A rule that knows the call it stands for; a batched one does not."""

    call: Call


class FunctionPullback(Pullback):
    """As `Pullback`; `ctx` says whether zeros take the place of None."""

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        _, ctx = node.saved
        cts = [
            box(np.zeros(t.shape, t.dtype)[()]).content()
            if c is None and ctx.materialize_grads else c
            for c, t in zip(g, node.outputs, strict=True)
        ]  # fmt: skip
        found: list[Array | None] = node.params["rule"].bwd(node.saved, cts)
        return found


PULLBACK = FunctionPullback("torch.function_pullback", lambda *_: ())


class FunctionCall(CustomVjp):
    """A call of a custom function inside a transform."""

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        rule = params["rule"]
        call = getattr(rule, "call", None)
        if call is None:
            return self._batched(trace, args, params)
        if trace is ROOT:
            given = call.filled(args)
            return tuple(call.outputs(apply_on_root(call.cls, given), given))
        nodes, xs, _ = trace.split(args)
        outs = call.below(xs)
        ctx, saved = call.context(xs, outs, [n is not None for n in nodes])
        made = trace.record_multiple(PULLBACK, nodes, params, (saved, ctx), outs)
        return tuple(o if k in ctx.fixed else m for k, (o, m) in enumerate(zip(outs, made)))

    def _batched(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        made = super().tape(trace, args, params)
        _, xs, _ = trace.split(args)
        if trace is ROOT or not any(isinstance(x, Tracer) for x in xs):
            return made
        for m, o in zip(made, bind(self, xs, params), strict=True):
            if isinstance(m, Tracer) and m.owner is trace:
                m.value = o  # the level below has the user's derivative, too
        return made

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        call = getattr(params["rule"], "call", None)
        if call is None:
            return super().forward(trace, args, params)
        xs, ts = trace.split(args)
        outs = call.below(xs)
        ctx, _ = call.context(xs, outs, [t is not None for t in ts])
        tensors = call.filled(xs)
        tangents: list[Any] = [None] * len(tensors)
        for k, t in zip(call.places, ts, strict=True):
            tangents[k] = None if t is None else box(t)
        shown = [x if isinstance(x, Tensor) else None for x in tensors]
        found = tangents_of_call(call.cls, ctx, shown, tangents, len(call.template))
        moved = [t for t, o in zip(found, call.template, strict=True) if o is SLOT]
        return tuple(
            trace.dual(o, None if t is None or k in ctx.fixed else t.content())
            for k, (o, t) in enumerate(zip(outs, moved, strict=True))
        )

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        call = getattr(params["rule"], "call", None)
        if call is None:
            return super().map(trace, args, params)
        cls = call.cls
        stated = cls.vmap is not Function.vmap
        if cls.generate_vmap_rule:
            if stated:
                raise RuntimeError(
                    f"You tried to vmap over {cls.__name__}, but it has both "
                    "generate_vmap_rule=True and an overridden vmap staticmethod. Please set "
                    "generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
                    f"ambiguity. {MORE}"
                )
            return super().map(trace, args, params)
        if not stated:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
                "override and implement the vmap staticmethod or set generate_vmap_rule=True. "
                f"{MORE}"
            )
        return self._mapped_by_user(call, trace, args)

    def _mapped_by_user(self, call: Call, trace: Any, args: Sequence[Array]) -> Any:
        xs, batched = trace.split(args)
        dims: list[int | None] = [None] * len(call.args)
        for k, b in zip(call.places, batched, strict=True):
            dims[k] = 0 if b else None
        info = VmapInfo(trace.size, randomness_of(trace))
        given = call.filled(xs)
        found = call.cls.vmap(info, tuple(dims), *given)
        if not isinstance(found, tuple) or len(found) != 2:
            got = f"{len(found)} returns" if isinstance(found, tuple) else f"a {type(found)}"
            raise RuntimeError(
                "Expected the vmap staticmethod to have two returns, an output and out_dims with "
                f"pytree structure compatible with the output. Got {got} instead"
            )
        output, out_dims = found
        outs = call.outputs(output, given)
        wanted = [d for d, o in zip(_dims(output, out_dims), call.template, strict=True)
                  if o is SLOT]  # fmt: skip
        return tuple(
            o if d is None else BatchTracer(moveaxis(o, d, 0), trace)
            for o, d in zip(outs, wanted, strict=True)
        )


def _dims(output: Any, out_dims: Any) -> list[Any]:
    """The mapped dimension of each output."""
    count = len(output) if isinstance(output, tuple) else 1
    if isinstance(out_dims, tuple) and isinstance(output, tuple) and len(out_dims) == count:
        return list(out_dims)
    if out_dims is None or isinstance(out_dims, int):
        return [out_dims] * count
    if isinstance(out_dims, tuple) and len(out_dims) == count == 1:
        return list(out_dims)
    raise RuntimeError(
        "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
        f"tuple. Expected out_dims={out_dims} to be compatible with the structure of `output`. "
        f"out_dims has structure {tree.structure(out_dims)} but output has structure "
        f"{tree.structure(output)}."
    )


FUNCTION = FunctionCall("torch.function_call", lambda *xs, rule: tuple(rule.fun(*xs)))


def apply_traced(cls: Any, args: Sequence[Any]) -> Any:
    """Call a function on tensors that a transform traces."""
    if not has_setup(cls):
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            f"jacrev, ...), it must override the setup_context staticmethod. {MORE}"
        )
    call = Call(cls, args)
    rule = FunctionRule(cls.__name__, call.plain, call.forward, call.backward)
    rule.call = call
    call.params = {"rule": rule}
    outs = bind(FUNCTION, [args[k].content() for k in call.places], call.params)
    tensors = [box(o) for o in outs]
    for i, k in call.dirty:
        args[i]._t = tensors[k]._t
        tensors[k] = args[i]
    return call.result(tensors)
