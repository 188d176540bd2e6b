"""`Function`: operations with a derivative that the user states.

A call on ordinary tensors makes a node of the root tape whose rule is the user's `backward`; a
call on tensors that a transform traces is a custom rule of the core (`function_rules`).
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import type_of
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd.context import BackwardCFunction, FunctionCtx
from funcgrad.torch.autograd.function_outputs import wrapped
from funcgrad.torch.autograd.validation import as_cotangents
from funcgrad.torch.gradients import conjugated
from funcgrad.torch.modes import modes, no_grad
from funcgrad.torch.nodes import GradNode
from funcgrad.torch.root import ROOT, TRACEBACK, RootTracer, tangent_of
from funcgrad.transforms.node import new, seq

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "InplaceFunction",
    "once_differentiable",
]


class FunctionMeta(type):
    """Gives each function the class of its nodes."""

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        super().__init__(name, bases, members)
        cls._backward_cls: Any = type(
            f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": __name__}
        )


class Function(metaclass=FunctionMeta):
    """Base class of operations with their own derivative.

    Override ``forward(ctx, *args)``, or ``forward(*args)`` with ``setup_context(ctx, inputs,
    output)``, and ``backward(ctx, *grad_outputs)``, all static; call it by ``apply``.
    ``jvp(ctx, *grad_inputs)`` serves forward mode, ``vmap(info, in_dims, *args)`` or
    ``generate_vmap_rule = True`` serves `vmap`.

    Raises
    ------
    RuntimeError
        `backward` returns the wrong number of gradients, one of a shape or type that does not fit,
        or one for an input that is no tensor; an input that was changed is not returned; a leaf
        that requires grad was changed.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return grad_output * 3 * x**2
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = Cube.apply(x)
    >>> y
    tensor(8., grad_fn=<CubeBackward>)
    >>> y.backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=outside(),
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operation; recording is off while it runs."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what `backward` needs, where `forward` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of all arguments of `forward`, None for those that have none."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, given those of all arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The operation on batches: ``(output, out_dims)``."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the operation."""
        if has_setup(cls):
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        elif kwargs:
            args = (*args, *kwargs.values())
        if any(isinstance(a, Tensor) and type(a._t) is not RootTracer for a in args):
            from funcgrad.torch.autograd.function_rules import apply_traced

            return apply_traced(cls, args)
        return apply_on_root(cls, args)


def has_setup(cls: Any) -> bool:
    """Whether a function keeps things in `setup_context`."""
    found: bool = cls.setup_context is not Function.setup_context
    return found


def backward_of(cls: Any) -> Callable[..., Any]:
    """`backward` of a function, or `vjp`, which is the same by another name."""
    backward: Callable[..., Any] = cls.backward
    vjp: Callable[..., Any] = cls.vjp
    if backward is not Function.backward and vjp is not Function.vjp:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    return vjp if vjp is not Function.vjp else backward


# ------------------------------------------------------------------------------ on the root tape


class UserRule(Primitive):
    """The rule of a custom function: it calls what the user wrote."""

    opaque = True

    def vjp(self, node: Any, g: Any) -> Sequence[Any]:
        cts = [
            None if kind is None
            else (node.zeros(k) if node.materialize_grads else None) if c is None
            else box(conjugated(c))
            for k, (c, kind) in enumerate(zip(g, node.outputs, strict=True))
        ]  # fmt: skip
        given = backward_of(node._forward_cls)(node, *cts)
        return as_cotangents(node, given if isinstance(given, tuple) else (given,))


USER_RULE = UserRule("torch.function", lambda *_: ())


def apply_on_root(cls: Any, args: Sequence[Any]) -> Any:
    """Call a function on ordinary tensors."""
    ctx: Any = new(cls._backward_cls)
    ctx.record(len(args))
    ctx.prim, ctx.seq = USER_RULE, next(seq)
    ctx.line = TRACEBACK[0]() if modes.anomaly else None
    tensors = [a if isinstance(a, Tensor) else None for a in args]
    ctx.places = tuple(k for k, x in enumerate(tensors) if x is not None)
    ctx.needs_input_grad = tuple(x is not None and x.requires_grad for x in tensors)
    ctx.avals = tuple(None if x is None else type_of(x._t) for x in tensors)
    nodes = [None if x is None else x._renewed().node for x in tensors]
    recording = modes.grad and any(ctx.needs_input_grad)
    ctx.parents = tuple(nodes if recording else [None] * len(nodes))
    tangents = [None if x is None else tangent_of(x._t) for x in tensors]
    level, modes.dual = modes.dual, None
    try:
        with no_grad():
            output = run_forward(cls, ctx, args)
    finally:
        modes.dual = level
    single = not isinstance(output, tuple)
    outputs = wrapped(
        ctx, (output,) if single else output, tensors, recording, cls.__name__, has_setup(cls)
    )
    if any(t is not None for t in tangents):
        from funcgrad.torch.autograd.function_jvp import push_tangents

        push_tangents(cls, ctx, tensors, tangents, outputs)
    ctx.forget()
    return outputs[0] if single else tuple(outputs)


def run_forward(cls: Any, ctx: Any, args: Sequence[Any]) -> Any:
    """The output of `forward`, after which `ctx` is set up."""
    if not has_setup(cls):
        return cls.forward(ctx, *args)
    output = cls.forward(*args)
    cls.setup_context(ctx, tuple(args), output)
    return output


# ------------------------------------------------------------------------- once differentiable


class Once(Primitive):
    """The rule of what `once_differentiable` returned: it raises."""

    opaque = True

    def vjp(self, node: Any, g: Any) -> Sequence[Any]:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


ONCE = Once("torch.once_differentiable", lambda *_: ())


class DelayedError(GradNode):
    """The node of what cannot be differentiated again."""

    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::Error"


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that cannot be differentiated: doing so raises, instead of giving zero."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args)
        moving = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        if not modes.grad or not moving:
            return outputs
        single = not isinstance(outputs, tuple)
        found = [_delayed(o, moving[0]) for o in ((outputs,) if single else outputs)]
        return found[0] if single else tuple(found)

    return wrapper


def _delayed(x: Any, source: Tensor) -> Any:
    """`x`, seemingly computed from `source`."""
    if x is None:
        return None
    node: Any = new(DelayedError)
    node.prim, node.params, node.seq = ONCE, {}, next(seq)
    node.parents, node.saved, node.avals = (source._t.node,), None, (type_of(source._t),)
    node.extra = node.made = node.line = None
    node.origins, node.counts = (), ()
    return box(ROOT.tracer(x._t.value, node))


class InplaceFunction(Function):
    """A `Function` of old, which remembers whether it works in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
