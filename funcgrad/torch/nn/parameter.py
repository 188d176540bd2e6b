"""Parameters and buffers: the tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd_state import check_differentiable
from funcgrad.torch.dimensions import check_requires_grad
from funcgrad.torch.storage import in_storage
from funcgrad.transforms.node import new

__all__ = ["Buffer", "Parameter"]


def _empty() -> Tensor:
    return box(np.empty(0, dtypes.get_default_dtype().numpy))


def _shared(cls: type[Tensor], data: Any) -> Any:
    """A leaf of the class `cls` with the memory of `data`."""
    made = new(cls)
    made._t, made._grad, made._link = data.detach()._t, None, None
    return in_storage(made, data)


class Parameter(Tensor):
    """A leaf that a `Module` counts among its parameters.

    It shares the memory of `data` and requires grad by default.

    Parameters
    ----------
    data : Tensor, optional
    requires_grad : bool, optional

    Raises
    ------
    RuntimeError
        `requires_grad` with a tensor of integers or booleans.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        made = _shared(cls, _empty() if data is None else data)
        if check_requires_grad(requires_grad, "Parameter"):
            check_differentiable(made.dtype)
            made.requires_grad_()
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            found: Parameter = memo[id(self)]
            return found
        made: Parameter = type(self)(self.detach().clone(), self.requires_grad)
        memo[id(self)] = made
        return made  # neither the gradient nor attributes are copied, as in PyTorch


class _BufferMeta(type):
    def __instancecheck__(cls, x: Any) -> bool:
        if cls is Buffer:
            return isinstance(x, Tensor) and getattr(x, "_is_buffer", False)
        return super().__instancecheck__(x)


class Buffer(metaclass=_BufferMeta):
    """A tensor that a `Module` counts among its buffers: state that is not optimised.

    Parameters
    ----------
    data : Tensor, optional
    persistent : bool, optional
        Whether it is part of the module's `state_dict`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> m = torch.nn.Module()
    >>> m.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(m.state_dict())
    ['mean']
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        made = _shared(Tensor, _empty() if data is None else data)
        made.persistent, made._is_buffer = persistent, True
        return made
