"""Makers of the operations that are the same story many times: elementwise ones, and flat ones.

An elementwise function of PyTorch is an operation of the core, the name of its node, what PyTorch
saves, and the dtypes for which PyTorch has a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array
from funcgrad.torch import dtypes, hot
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import (
    NodeClass,
    boxed,
    computed,
    inplace,
    into,
    zeros_of,
)
from funcgrad.torch.operations.promotion import content, dtype_of, floating, kind_of, promoted
from funcgrad.torch.remembered import remembered

__all__ = [
    "Flat", "Underivable", "binary", "elementwise_refusal", "refuse_kinds", "unary",
]  # fmt: skip


def elementwise_refusal(kernel: str, x: Array) -> NotImplementedError:
    """PyTorch's error for a dtype that a kernel does not cover."""
    return NotImplementedError(
        f"\"{kernel}\" not implemented for '{dtypes.scalar_name(kind_of(x))}'"
    )


def refuse_kinds(kernel: str, kinds: str, *xs: Array) -> None:
    """Raise where an operand has one of NumPy's `kinds` of dtype."""
    for x in xs:
        if dtype_of(x).kind in kinds:
            raise elementwise_refusal(kernel, x)


def unary(
    name: str,
    core: Callable[[Any], Any],
    node: NodeClass,
    *,
    floats: bool = True,
    refused: str = "",
    kernel: str = "",
    changing: bool = True,
) -> Any:
    """A function of one tensor, its method and its in-place method.

    With `floats` integers become floats; `refused` are the kinds of dtypes (NumPy's letters) for
    which PyTorch has no `kernel`.
    """

    def general(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        x = content(input, name)
        if refused:
            refuse_kinds(kernel, refused, x)
        if floats:
            x = floating(name, input)
        result = boxed(computed(core, x), node)
        return result if out is None else into(out, result, name)

    fast = hot.suits(core) and "f" not in refused
    function = hot.unary(core, node, general, [None, None]) if fast else remembered(general)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each element."
    setattr(Tensor, name, function)
    if changing:
        setattr(Tensor, f"{name}_", inplace(function, f"{name}_"))
    return function


def binary(
    name: str,
    core: Callable[..., Any],
    node: NodeClass,
    *,
    floats: bool = False,
    refused: str = "",
    kernel: str = "",
    number: NodeClass | None = None,
    changing: bool = True,
) -> Any:
    """A function of two tensors that are promoted, its method and its in-place method.

    `number` are its nodes where the second operand is a Python number, if it may be one.
    """

    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        content(input, name)
        if number is None:
            content(other, name, "other", 2)
        x, y = promoted(name, input, other, floats=floats)
        if refused:
            refuse_kinds(kernel, refused, x)
        made = node if number is None or isinstance(other, Tensor) else number
        result = boxed(computed(core, x, y), made)
        return result if out is None else into(out, result, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each pair of elements."
    function = remembered(function)
    setattr(Tensor, name, function)
    if changing:
        setattr(Tensor, f"{name}_", inplace(function, f"{name}_"))
    return function


class Flat(Composite):
    """A function that is constant between its jumps: its derivative is zero, and is recorded."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name, function, linear=True)

    def vjp(self, node: Any, g: Any, quick: bool = False) -> Sequence[Array | None]:
        return [
            None if p is None else zeros_of(kind)
            for p, kind in zip(node.parents, node.avals, strict=True)
        ]


class Underivable(Primitive):
    """A function for which PyTorch has no derivative: it is recorded, and refuses backward.

    PyTorch knows of some that there is none (`listed`), and of others nothing.
    """

    form = "composite"

    def __init__(self, name: str, function: Callable[..., Any], listed: bool = False) -> None:
        super().__init__(f"torch.underivable_{name}", function)
        self.torch_name, self.listed = name, listed

    def __call__(self, *args: Any, **params: Any) -> Any:
        return bind(self, args, params)

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        return (False,) * (count + 1)

    def type_rule(self, types: Sequence[Any], params: Params) -> Any:
        return type_of(self.impl(*map(zeros_of, types), **params))

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        return self.impl(*args, **params)

    map = stage = forward

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        if self.listed:
            raise NotImplementedError(f"the derivative for '{self.torch_name}' is not implemented.")
        raise RuntimeError(f"derivative for aten::{self.torch_name} is not implemented")
