"""Python's operators of tensors. What PyTorch does not take, Python is told to ask the other side.

``tensor @ array`` and its kin take a NumPy array as the right operand, as PyTorch does; a
comparison with ``==`` and ``!=`` answers by identity where the other side is no number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.ops import arithmetic as ops
from funcgrad.torch import hot
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations import arithmetic, comparison, powers, remainders
from funcgrad.torch.operations.common import inplace, install
from funcgrad.torch.operations.promotion import NUMBERS

__all__: list[str] = []

OPERANDS = (Tensor, Tracer, *NUMBERS)


def _tensor_of(other: Any) -> Any:
    from funcgrad.torch.operations.creation import as_tensor

    return as_tensor(other)


def _operator(function: Callable[..., Any], name: str, swapped: bool = False) -> Any:
    def dunder(self: Tensor, other: Any) -> Any:
        if not isinstance(other, OPERANDS):
            if not isinstance(other, np.ndarray) or swapped:
                return NotImplemented
            other = _tensor_of(other)
        return function(other, self) if swapped else function(self, other)

    dunder.__name__ = dunder.__qualname__ = name
    return dunder


def _changing(function: Callable[..., Any], name: str) -> Any:
    changed = inplace(function, name)

    def dunder(self: Tensor, other: Any) -> Any:
        return changed(self, other) if isinstance(other, OPERANDS) else NotImplemented

    dunder.__name__ = dunder.__qualname__ = name
    return dunder


def _ordering(function: Callable[..., Any], name: str) -> Any:
    def dunder(self: Tensor, other: Any) -> Any:
        return function(self, other) if isinstance(other, OPERANDS) else NotImplemented

    dunder.__name__ = dunder.__qualname__ = name
    return dunder


def _equality(function: Callable[..., Any], name: str) -> Any:
    def dunder(self: Tensor, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            other = _tensor_of(other)
        return function(self, other) if isinstance(other, OPERANDS) else NotImplemented

    dunder.__name__ = dunder.__qualname__ = name
    return dunder


def _over(other: Any, self: Tensor) -> Tensor:
    return arithmetic.mul(powers.reciprocal(self), other)


def _inverted(self: Tensor) -> Tensor:
    """The complement of integers and booleans."""
    if self.dtype.is_floating_point or self.dtype.is_complex:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    found: Tensor = comparison.bitwise_not(self)
    return found


BINARY: dict[str, Any] = {
    "add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul,
    "truediv": arithmetic.div, "floordiv": remainders.floor_divide, "mod": remainders.remainder,
    "pow": powers.pow, "and": comparison.bitwise_and, "or": comparison.bitwise_or,
    "xor": comparison.bitwise_xor, "lshift": comparison.bitwise_left_shift,
    "rshift": comparison.bitwise_right_shift,
}  # fmt: skip
SWAPPED: dict[str, Any] = {
    **BINARY,
    "add": lambda x, y: arithmetic.add(y, x),
    "mul": lambda x, y: arithmetic.mul(y, x),
    "sub": lambda x, y: arithmetic.rsub(y, x),
    "truediv": _over,
}
HOT = {
    "add": (ops.add, arithmetic.ADD, True),
    "sub": (ops.subtract, arithmetic.SUB, True),
    "mul": (ops.multiply, arithmetic.mul.operation.node, True),
    "truediv": (ops.divide, arithmetic.DIV, True),
    "pow": (ops.power, powers.POW_NUMBER, False),
}


def _fast(core: Any, node: Any, tensors: bool, name: str) -> Any:
    """An operator with the hot path in front."""
    dunder = hot.binary(core, node, getattr(Tensor, name), tensors)
    dunder.__name__ = dunder.__qualname__ = name
    return dunder


for _name, _function in BINARY.items():
    setattr(Tensor, f"__{_name}__", _operator(_function, f"__{_name}__"))
    setattr(Tensor, f"__i{_name}__", _changing(_function, f"__i{_name}__"))
for _name, _function in SWAPPED.items():
    setattr(Tensor, f"__r{_name}__", _operator(_function, f"__r{_name}__", swapped=True))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _ordering(getattr(comparison, _name), f"__{_name}__"))
for _name in ("eq", "ne"):
    setattr(Tensor, f"__{_name}__", _equality(getattr(comparison, _name), f"__{_name}__"))
for _name, (_core, _node, _tensors) in HOT.items():
    for _dunder in (
        (f"__{_name}__", f"__r{_name}__") if _name in ("add", "mul") else (f"__{_name}__",)
    ):
        setattr(Tensor, _dunder, _fast(_core, _node, _tensors, _dunder))
install(__neg__=arithmetic.neg, __pos__=arithmetic.positive, __invert__=_inverted)
