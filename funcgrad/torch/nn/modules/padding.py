"""Padding as layers."""

from __future__ import annotations

from typing import Any, ClassVar

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn.modules.module import Module

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class Padding(Module):
    """What the layers share; a subclass says its rank and its mode."""

    rank: ClassVar[int]
    mode: ClassVar[str] = "constant"
    value: float = 0.0

    def __init__(self, padding: Any) -> None:
        super().__init__()
        single = isinstance(padding, int)
        self.padding = (padding,) * (2 * self.rank) if single else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        """`input` with its borders."""
        self._check(input)
        found: Tensor = F.pad(input, self.padding, self.mode, self._filler())
        return found

    def _filler(self) -> float | None:
        return self.value if self.mode == "constant" else None

    def _check(self, input: Tensor) -> None:
        """Raise for an input of another rank, where PyTorch looks at it."""

    def extra_repr(self) -> str:
        """The widths."""
        return f"{self.padding}"


class ConstantPad(Padding):
    """Borders of one value."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """The widths and the value."""
        return f"padding={self.padding}, value={self.value}"


class ReflectionPad(Padding):
    """Borders that mirror what is within, without the outermost elements."""

    mode = "reflect"


class ReplicationPad(Padding):
    """Borders that repeat the outermost elements."""

    mode = "replicate"


class CircularPad(Padding):
    """Borders that go on at the other end."""

    mode = "circular"

    def _check(self, input: Tensor) -> None:
        if input.dim() not in (self.rank + 1, self.rank + 2):
            raise ValueError(
                f"expected {self.rank + 1}D or {self.rank + 2}D input (got {input.dim()}D input)"
            )


class ZeroPad(Padding):
    """Borders of zeros."""


class ZeroPad1d(ZeroPad):
    """Borders of zeros, in one dimension."""

    rank = 1


class ZeroPad2d(ZeroPad):
    """Borders of zeros, in two dimensions."""

    rank = 2


class ZeroPad3d(ZeroPad):
    """Borders of zeros, in three dimensions."""

    rank = 3


class ConstantPad1d(ConstantPad):
    """Borders of one value, in one dimension."""

    rank = 1


class ConstantPad2d(ConstantPad):
    """Borders of one value, in two dimensions."""

    rank = 2


class ConstantPad3d(ConstantPad):
    """Borders of one value, in three dimensions."""

    rank = 3


class ReflectionPad1d(ReflectionPad):
    """Borders that mirror what is within, in one dimension.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.ReflectionPad1d(2)(torch.arange(4.0).reshape(1, 4))
    tensor([[2., 1., 0., 1., 2., 3., 2., 1.]])
    """

    rank = 1


class ReflectionPad2d(ReflectionPad):
    """Borders that mirror what is within, in two dimensions."""

    rank = 2


class ReflectionPad3d(ReflectionPad):
    """Borders that mirror what is within, in three dimensions."""

    rank = 3


class ReplicationPad1d(ReplicationPad):
    """Borders that repeat the outermost elements, in one dimension."""

    rank = 1


class ReplicationPad2d(ReplicationPad):
    """Borders that repeat the outermost elements, in two dimensions."""

    rank = 2


class ReplicationPad3d(ReplicationPad):
    """Borders that repeat the outermost elements, in three dimensions."""

    rank = 3


class CircularPad1d(CircularPad):
    """Borders that go on at the other end, in one dimension."""

    rank = 1


class CircularPad2d(CircularPad):
    """Borders that go on at the other end, in two dimensions."""

    rank = 2


class CircularPad3d(CircularPad):
    """Borders that go on at the other end, in three dimensions."""

    rank = 3
