"""Python's operators of tensors. What PyTorch does not take, Python is told to ask the other side.

The record of an operation says which `Operator` it is. ``tensor @ array`` and its kin take a NumPy
array as the right operand, as PyTorch does; a comparison with ``==`` and ``!=`` answers by identity
where the other side is no number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.core.tracer import Tracer
from funcgrad.torch import recorders
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.promotion import NUMBERS

__all__ = ["Operator", "give_operator"]

OPERANDS = (Tensor, Tracer, *NUMBERS)
UNARY = ("neg", "pos")
ORDERING = ("lt", "le", "gt", "ge")
COMPARISONS = (*ORDERING, "eq", "ne")


class Operator(NamedTuple):
    """The name between the underscores, and how it differs from a call of the function.

    `reflected` is what ``number + tensor`` does with the tensor and the number, by default the
    function with the operands swapped. What ``tensor + tensor`` does often is done by the hot path
    of an operation of the core, which makes nodes of the class `node`; only ``tensor + number``
    without `tensors`.
    """

    name: str
    reflected: Callable[[Tensor, Any], Any] | None = None
    commutes: bool = False
    core: Any = None
    node: Any = None
    tensors: bool = True


def give_operator(operator: Operator, function: Callable[..., Any], changes: bool) -> None:
    """Give `Tensor` an operator, its reflected form and, if it `changes`, that in place."""
    name = operator.name
    if name in UNARY:
        setattr(Tensor, f"__{name}__", function)
        return
    takes = (Tensor, Tracer) if name == "matmul" else OPERANDS
    direct = _dunder(function, f"__{name}__", takes, name not in ORDERING)
    setattr(Tensor, f"__{name}__", _fast(operator, direct))
    if name in COMPARISONS:
        return
    if operator.commutes:
        setattr(Tensor, f"__r{name}__", _fast(operator, _dunder(function, f"__r{name}__", takes)))
    else:
        swapped = operator.reflected or (lambda self, other: function(other, self))
        setattr(Tensor, f"__r{name}__", _dunder(swapped, f"__r{name}__", takes))
    if changes:
        method = getattr(Tensor, f"{function.__name__}_")
        setattr(Tensor, f"__i{name}__", _dunder(method, f"__i{name}__", takes))


def _dunder(
    function: Callable[..., Any], name: str, takes: tuple[type, ...], arrays: bool = False
) -> Any:
    """The method `name`, of what it `takes` and maybe of NumPy's `arrays`."""

    def dunder(self: Tensor, other: Any) -> Any:
        try:
            if not isinstance(other, takes):
                if not arrays or not isinstance(other, np.ndarray):
                    return NotImplemented
                other = _tensor_of(other)
            return function(self, other)
        except Exception as error:
            hide_frames(error)
            raise

    dunder.__name__ = dunder.__qualname__ = name
    return dunder


def _tensor_of(other: Any) -> Any:
    from funcgrad.torch.operations.creation import as_tensor

    return as_tensor(other)


def _fast(operator: Operator, general: Any) -> Any:
    """`general` with the hot path in front."""
    if operator.core is None:
        return general
    dunder = recorders.binary(operator.core, operator.node, general, operator.tensors)
    dunder.__name__ = dunder.__qualname__ = general.__name__
    return dunder
