"""Operations of the core that are constant between jumps, or have no derivative in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array
from funcgrad.torch import dtypes
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import zeros_of
from funcgrad.torch.operations.promotion import dtype_of, kind_of

__all__ = [
    "Flat", "Underivable", "elementwise_refusal", "refuse_kinds",
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

    PyTorch knows of some that there is none (`listed`), of others nothing, and has words of its own
    for a few (`said`).
    """

    form = "composite"

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        listed: bool = False,
        said: str = "",
        multiple: bool = False,
    ) -> None:
        super().__init__(f"torch.underivable_{name}", function)
        self.torch_name, self.listed, self.said, self.multiple = name, listed, said, multiple

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
        if self.said:
            raise RuntimeError(self.said)
        if self.listed:
            raise NotImplementedError(f"the derivative for '{self.torch_name}' is not implemented.")
        raise RuntimeError(f"derivative for aten::{self.torch_name} is not implemented")
