"""The methods of `Tensor` that belong to autograd: `backward`, hooks, `retain_grad`, `detach_`."""

from __future__ import annotations

import weakref
from typing import Any

from funcgrad.core.boundary import hide_frames
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.autograd.backward_and_grad import backward
from funcgrad.torch.backward_engine import run
from funcgrad.torch.hooks import RemovableHandle, add_hook
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import AccumulateGrad, edge_of
from funcgrad.torch.root import RootTracer

__all__: list[str] = []


def _backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor to the ``.grad`` of the leaves; see `autograd.backward`."""
    try:
        if not create_graph and inputs is None:
            t, g = self._t, _cotangent(self, gradient)
            if g is not None:
                given = () if gradient is None else (gradient,)
                run(
                    ((t.node, g),), retain_graph=bool(retain_graph), create_graph=False, given=given
                )
                return
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)
    except Exception as error:
        hide_frames(error)
        raise


def _cotangent(x: Tensor, gradient: Any) -> Any:
    """The cotangent that a pass from `x` starts with, where nothing has to be looked at.

    That a tensor is of one kind with `x` says that it has its shape and dtype.
    """
    t = x._t
    if modes.hot is None or type(t) is not RootTracer or t.kind is None or t.node is None:
        return None
    if x._link is not None and x._link.seen != t.held_version.so_far:
        return None
    if gradient is None:
        value = t.value
        return None if value.shape else value.dtype.type(1)
    if isinstance(gradient, Tensor) and gradient._link is None:
        u = gradient._t
        return u.value if type(u) is RootTracer and u.kind is t.kind else None
    return None


def _place(x: Tensor) -> tuple[Any, int]:
    t = x._renewed()
    return edge_of(t.node)


def retain_grad(self: Tensor) -> None:
    """Keep the gradient of a tensor that is no leaf in its ``.grad``."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self.is_leaf:
        return
    node, k = _place(self)
    node.more.retained[k] = weakref.ref(self)


def register_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook` with each gradient of this tensor; what it returns takes its place."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node, k = _place(self)
    return add_hook(node.more.tensor_hooks.setdefault(k, {}), hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook` with this leaf after its gradient has been added up."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    node: AccumulateGrad = self._t.node
    return add_hook(node.more.post_hooks, hook)


def detach_(self: Tensor) -> Tensor:
    """Cut this tensor off from its history, in place."""
    if modes.inference:
        return self
    if self._link is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as the solution."
        )
    old = self._t
    if type(old) is not RootTracer:
        self._t = self.detach()._t
        return self
    if old.node is None:
        return self
    if type(old.node) is AccumulateGrad:
        self._grad = old.node.grad
    made = self.detach()._t
    made.value = old.value
    self._t = made
    return self


for _name, _method in (
    ("backward", _backward),
    ("retain_grad", retain_grad),
    ("register_hook", register_hook),
    ("register_post_accumulate_grad_hook", register_post_accumulate_grad_hook),
    ("detach_", detach_),
):
    setattr(Tensor, _name, _method)
