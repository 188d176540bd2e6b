"""Functions that change their first argument where no other function is of their name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, computed, copied, shape_of, spread
from funcgrad.torch.operations.converting import check_filling
from funcgrad.torch.operations.promotion import dtype_of, number
from funcgrad.torch.operations.record import method_in_place, node, operation

__all__ = ["detach", "detach_", "fill", "resize_as_"]


FILL = Composite("filled", lambda x, v: copied(spread(v, shape_of(x), dtype_of(x))), linear=True)
FILL_NUMBER, FILL_TENSOR = node("Fill", shows=(0,)), node("FillBackward1")


@operation("fill", "input, value | input, Number value", variants="")
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like `input`, with `value` everywhere."""
    check_filling(input, value)
    x = input.content()
    if isinstance(value, Tensor):
        return boxed(computed(FILL, x, value.content()), FILL_TENSOR)
    return boxed(computed(FILL, x, number(value, dtype_of(x))), FILL_NUMBER)


@operation("detach", "input", variants="")
def detach(input: Tensor) -> Tensor:
    """`Tensor.detach`."""
    return input.detach()


@operation("detach_", "input", variants="")
def detach_(input: Tensor) -> Tensor:
    """`Tensor.detach_`."""
    return input.detach_()


@method_in_place("resize_as_", "input, the_template, *, memory_format memory_format=None")
def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any) -> Tensor:
    """Take the shape of another tensor (see `resize_`)."""
    found: Tensor = self.resize_(the_template.shape)
    return found


# ------------------------------------------------------------- methods that call Python functions


@method_in_place("apply_", "input, object callable")
def _apply(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Write ``callable(value)`` in place of every value; slow, and without a derivative."""
    return _written(self, "apply_", callable, self)


@method_in_place("map_", "input, other, object callable")
def _map(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Write ``callable(value, other_value)`` in place of every value; `other` is broadcast."""
    return _written(self, "map_", callable, self, other.expand_as(self))


def _written(self: Tensor, name: str, call: Callable[..., Any], *operands: Tensor) -> Tensor:
    from funcgrad.torch.operations.data import tensor

    for x in operands:
        if x.requires_grad:
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use "
                f"var.detach().{name}() instead."
            )
    values = [call(*items) for items in zip(*(x.flatten().tolist() for x in operands), strict=True)]
    found: Tensor = self.copy_(tensor(values, dtype=self.dtype).view(self.shape))
    return found
