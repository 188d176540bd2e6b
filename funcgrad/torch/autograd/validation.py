"""What the user's `backward` returned: its number, kinds, shapes and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.shape import reshape
from funcgrad.ops.sums import sum as sum_
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.gradients import conjugated
from funcgrad.torch.modes import modes
from funcgrad.torch.root import bare

__all__ = ["as_cotangents", "fitted"]


def as_cotangents(node: Any, given: tuple[Any, ...]) -> list[Any]:
    """The cotangents of all arguments of a custom function, from what `backward` returned."""
    name, count = node.name(), len(node.parents)
    if len(given) > count and all(g is None for g in given[count:]):
        given = given[:count]
    if len(given) != count:
        raise RuntimeError(
            f"function {name} returned an incorrect number of gradients (expected {count}, got "
            f"{len(given)})"
        )
    out: list[Any] = []
    for k, g in enumerate(given):
        if node.avals[k] is None:
            if g is not None:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {k + 1}, "
                    "but the corresponding forward input was not a Variable"
                )
        elif g is not None and not isinstance(g, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
        out.append(g)
    return [
        None if g is None or node.parents[k] is None
        else fitted(g, node.avals[k], name, node.places.index(k))
        for k, g in enumerate(out)
    ]  # fmt: skip


def fitted(g: Tensor, kind: ArrayType, name: str, index: int) -> Array:
    """A gradient in the shape and dtype of what it belongs to, as a cotangent of the core."""
    c = g.content() if modes.grad else bare(g._t)
    have = type_of(c)
    if have.shape != kind.shape:
        if not _expands(kind.shape, have.shape):
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {index} - got "
                f"{list(have.shape)} but expected shape compatible with {list(kind.shape)}"
            )
        c = _summed(c, have.shape, kind.shape)
    if have.dtype != kind.dtype:
        if have.dtype.kind == "c" and kind.dtype.kind != "c":
            raise RuntimeError(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == "
                "grad_is_complex) to be true, but got false.  (Could this error message be "
                "improved?  If so, please report an enhancement request to PyTorch.)"
            )
        c = cast(c, kind.dtype)
    return conjugated(c)


def _expands(small: Sequence[int], large: Sequence[int]) -> bool:
    lead = len(large) - len(small)
    return lead >= 0 and all(n in (1, m) for n, m in zip(small, tuple(large)[lead:], strict=True))


def _summed(c: Array, large: Sequence[int], small: Sequence[int]) -> Array:
    lead = len(large) - len(small)
    axes = [k for k in range(len(large)) if k < lead or (small[k - lead] == 1 != large[k])]
    return reshape(sum_(c, tuple(axes)), tuple(small))
