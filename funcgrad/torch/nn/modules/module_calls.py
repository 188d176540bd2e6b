"""Calling a module: its forward hooks around `forward`, and its backward hooks.

A module with backward hooks receives views of its inputs and hands out views of its outputs. The
nodes of these views are where the gradients of the inputs and outputs are caught.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from funcgrad.core.boundary import hide_frames
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.hooks import RemovableHandle, add_hook
from funcgrad.torch.modes import modes
from funcgrad.torch.nn.modules.global_hooks import Table, add, everywhere
from funcgrad.torch.nodes import edge_of, node_class
from funcgrad.torch.root import RootTracer
from funcgrad.torch.views import make_view

__all__ = ["Calls"]

Hook = Callable[..., Any]


class Calls:
    """The part of `Module` that is called."""

    _forward_pre_hooks: Table
    _forward_pre_hooks_with_kwargs: Table
    _forward_hooks: Table
    _forward_hooks_with_kwargs: Table
    _forward_hooks_always_called: Table
    _backward_pre_hooks: Table
    _backward_hooks: Table
    _is_full_backward_hook: bool | None
    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if not (
                self._backward_hooks
                or self._backward_pre_hooks
                or self._forward_hooks
                or self._forward_pre_hooks
                or everywhere.forward
                or everywhere.forward_pre
                or everywhere.backward
                or everywhere.backward_pre
            ):
                return self.forward(*args, **kwargs)
            return Call(self, args, kwargs).run()
        except Exception as error:
            hide_frames(error)
            raise

    # ------------------------------------------------------------------------ registering

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before `forward`; what it returns takes their place.

        With `with_kwargs` it is called as ``hook(module, args, kwargs)`` and returns both.
        """
        marks = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return add(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after `forward`; what it returns is the output.

        With `with_kwargs` it is called as ``hook(module, args, kwargs, output)``; with
        `always_call` also when something raised.
        """
        marks = [self._forward_hooks_with_kwargs] if with_kwargs else []
        if always_call:
            marks.append(self._forward_hooks_always_called)
        return add(self._forward_hooks, hook, prepend, marks)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the outputs have arrived."""
        return add(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when those of the inputs are known.

        What it returns takes the place of `grad_input`. Gradients of keyword arguments and of what
        is no Tensor are None.
        """
        self._check_kind(False)
        self._is_full_backward_hook = True
        return add(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """PyTorch's old hook, which sees the last operation of the module only."""
        self._check_kind(True)
        self._is_full_backward_hook = False
        return add(self._backward_hooks, hook)

    def _check_kind(self, other: bool) -> None:
        if self._is_full_backward_hook is other:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )


class Call:
    """One call of a module that has hooks."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self) -> Any:
        try:
            return self.hooked()
        except Exception:
            self.after_an_error()
            raise

    def hooked(self) -> Any:
        module = self.module
        for key, hook in [*everywhere.forward_pre.items(), *module._forward_pre_hooks.items()]:
            self.before(key, hook)
        full = [*everywhere.backward.values()]
        if module._is_full_backward_hook is True:
            full += module._backward_hooks.values()
        pre = [*everywhere.backward_pre.values(), *module._backward_pre_hooks.values()]
        caught = Caught(module, full, pre) if full or pre else None
        if caught is not None:
            self.args = caught.inputs(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for key, hook in [*everywhere.forward.items(), *module._forward_hooks.items()]:
            self.after(key, hook)
        if caught is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(self.result)}",
                    stacklevel=outside(),
                )
            self.result = caught.outputs(self.result)
        if module._is_full_backward_hook is False:
            _register_old(module, self.args, self.result)
        return self.result

    def before(self, key: int, hook: Hook) -> None:
        if key not in self.module._forward_pre_hooks_with_kwargs:
            result = hook(self.module, self.args)
            if result is not None:
                self.args = result if isinstance(result, tuple) else (result,)
            return
        result = hook(self.module, self.args, self.kwargs)
        if result is not None:
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                    f"got {result}."
                )
            self.args, self.kwargs = result

    def after(self, key: int, hook: Hook) -> None:
        module = self.module
        self.called.add(key)
        if key in module._forward_hooks_with_kwargs or key in everywhere.with_kwargs:
            result = hook(module, self.args, self.kwargs, self.result)
        else:
            result = hook(module, self.args, self.result)
        if result is not None:
            self.result = result

    def after_an_error(self) -> None:
        """The hooks that are always called see what there is by then."""
        own = self.module._forward_hooks_always_called
        for what, table, always in (
            ("global module", everywhere.forward, everywhere.always),
            ("module", self.module._forward_hooks, own),
        ):
            for key, hook in list(table.items()):
                if key not in always or key in self.called:
                    continue
                try:
                    self.after(key, hook)
                except Exception as error:
                    warnings.warn(
                        f"{what} forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {error!s}",
                        stacklevel=outside(),
                    )


def _register_old(module: Any, args: Any, result: Any) -> None:
    found = result
    while not isinstance(found, Tensor):
        if isinstance(found, dict):
            found = next(v for v in found.values() if isinstance(v, Tensor))
        else:
            found = found[0]
    node = found.grad_fn
    if node is None:
        return
    for hook in module._backward_hooks.values():
        add_hook(node.more.node_hooks, lambda gi, go, hook=hook: hook(module, gi, go))
    missing = _missed(args, result, node)
    if missing:
        warnings.warn(OLD.format(missing), FutureWarning, stacklevel=outside())


OLD = (
    "Using a non-full backward hook{}. Please use register_full_backward_hook to get the "
    "documented behavior."
)
NO_TUPLE = (
    "s on a Module that does not {} a single Tensor or a tuple of Tensors is deprecated and will "
    "be removed in future versions. This hook will be missing some of the {}"
)
NODES = (
    " when {} is deprecated and will be removed in future versions. This hook will be missing "
    "some {}"
)


def _missed(args: Any, result: Any, node: Any) -> str | None:
    """What an old hook of `node` does not see, if anything."""
    outputs = (result,) if isinstance(result, Tensor) else result
    for values, verb, what in (
        (outputs, "return", "grad_output"),
        (args, "take as input", "grad_input"),
    ):
        if not (isinstance(values, tuple) and all(isinstance(v, Tensor) for v in values)):
            return NO_TUPLE.format(verb, what)
    makers = {r.grad_fn for r in outputs if r.grad_fn is not None}
    if len(makers) > 1:
        return NODES.format("outputs are generated by different autograd Nodes", "grad_output")
    before = {a.grad_fn for a in args if a.grad_fn is not None}
    if before != {n for n, _ in node.next_functions}:
        return NODES.format("the forward contains multiple autograd Nodes", "grad_input")
    return None


# -------------------------------------------------------------------------- backward hooks

HANDED_ON = Composite("handed_on", lambda *xs: xs, linear=True, multiple=True)
NODE = "BackwardHookFunctionBackward"
NO_INPUT = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since "
    "no inputs require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module"
    ".html#torch.nn.Module.register_full_backward_hook for more details."
)


def _handed_on(values: tuple[Any, ...]) -> tuple[Any, Any, list[int]]:
    """Views of the tensors among `values` behind one node, that node, and where they stand."""
    places = [k for k, x in enumerate(values) if isinstance(x, Tensor)]
    if not (modes.grad and any(values[k].requires_grad for k in places)):
        return values, None, []
    if any(type(values[k]._t) is not RootTracer for k in places):
        raise RuntimeError(
            "the module has backward hooks, which are called by backward(); inside a transform of "
            "funcgrad there is no such pass: remove the hooks, or differentiate outside"
        )
    views = [make_view(values[k], _same, _same, NODE, "function") for n, k in enumerate(places)]
    made = HANDED_ON(*(values[k].content() for k in places))
    node = None
    for k, view, piece in zip(places, views, made, strict=True):
        if values[k].requires_grad:
            view._t.node = piece.node
            node = edge_of(piece.node)[0]
    assert node is not None
    node.become(node_class(NODE))
    out = list(values)
    for k, view in zip(places, views, strict=True):
        out[k] = view
    return type(values)(out) if type(values) is tuple else type(values)(*out), node, places


def _same(x: Any) -> Any:
    return x


def _spread(places: list[int], values: Any, size: int) -> tuple[Any, ...]:
    found = [None] * size
    for k, v in zip(places, values, strict=True):
        found[k] = v
    return tuple(found)


class Caught:
    """The gradients of the inputs and outputs of one call, for the backward hooks."""

    def __init__(self, module: Any, hooks: list[Hook], pre_hooks: list[Hook]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: Any = None

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        values, node, self.input_places = _handed_on(args)
        self.has_inputs, self.input_count = node is not None, len(args)
        if node is not None:
            add_hook(node.more.node_hooks, self.input_hook)
        taken: tuple[Any, ...] = values
        return taken

    def outputs(self, result: Any) -> Any:
        given = result if isinstance(result, tuple) else (result,)
        values, node, self.output_places = _handed_on(given)
        self.output_count = len(given)
        if node is not None:
            add_hook(node.more.node_hooks, self.output_hook)
        return values if isinstance(result, tuple) else values[0]

    def input_hook(self, grad_input: Any, _: Any) -> Any:
        if self.grad_outputs is None:
            return None  # a gradient that did not come through the output, as in a second pass
        found = _spread(self.input_places, grad_input, self.input_count)
        for hook in self.hooks:
            result = hook(self.module, found, self.grad_outputs)
            if result is None:
                continue
            if len(result) != len(found):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(result)}, but expected {len(found)}"
                )
            found = result
        self.grad_outputs = None
        return tuple(found[k] for k in self.input_places)

    def output_hook(self, _: Any, grad_output: Any) -> Any:
        found = _spread(self.output_places, grad_output, self.output_count)
        for hook in self.pre_hooks:
            result = hook(self.module, found)
            if result is None:
                continue
            if isinstance(result, Tensor):
                result = (result,)
            if len(result) != len(found):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(result)}, but expected {len(found)}"
                )
            found = tuple(result)
        self.grad_outputs = found
        if not self.has_inputs:
            self.without_inputs()
        return tuple(found[k] for k in self.output_places)

    def without_inputs(self) -> None:
        warnings.warn(NO_INPUT, stacklevel=outside())
        nothing = (None,) * self.input_count
        for hook in self.hooks:
            result = hook(self.module, nothing, self.grad_outputs)
            if result is not None and not (
                isinstance(result, tuple) and all(r is None for r in result)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None


def new_tables() -> dict[str, Any]:
    """The empty tables of hooks of a new module."""
    return {
        "_backward_pre_hooks": OrderedDict(),
        "_backward_hooks": OrderedDict(),
        "_is_full_backward_hook": None,
        "_forward_hooks": OrderedDict(),
        "_forward_hooks_with_kwargs": OrderedDict(),
        "_forward_hooks_always_called": OrderedDict(),
        "_forward_pre_hooks": OrderedDict(),
        "_forward_pre_hooks_with_kwargs": OrderedDict(),
    }
