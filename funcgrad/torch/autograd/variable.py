"""The old class of tensors that require grad: since PyTorch 0.4 a function that gives a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.autograd_state import check_differentiable
from funcgrad.torch.graph_task import queue_callback

__all__ = ["Variable"]


class _Meta(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)


class Engine:
    """What runs backward passes, as far as it can be asked for something."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call `callback` at the end of the backward pass that runs."""
        queue_callback(callback)


class Variable(metaclass=_Meta):
    """A tensor of the same memory as `data`, without history.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = Engine()

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        made = data.detach()
        if requires_grad:
            check_differentiable(made.dtype)
            made.requires_grad_()
        return made
