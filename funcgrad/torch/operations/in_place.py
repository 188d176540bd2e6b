"""The functions that change their first argument: each is the method of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    copied,
    install,
    named,
    shape_of,
    spread,
)
from funcgrad.torch.operations.converting import check_filling
from funcgrad.torch.operations.promotion import content, dtype_of, number

__all__ = [
    "detach", "detach_", "fill", "fill_", "resize_as_",
    "zero_",
]  # fmt: skip


FILL = Composite("filled", lambda x, v: copied(spread(v, shape_of(x), dtype_of(x))), linear=True)
FILL_NUMBER, FILL_TENSOR = named("FillBackward0", shown=(0,)), named("FillBackward1")


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like `input`, with `value` everywhere."""
    content(input, "fill")
    check_filling(input, value)
    x = input.content()
    if isinstance(value, Tensor):
        return boxed(computed(FILL, x, value.content()), FILL_TENSOR)
    return boxed(computed(FILL, x, number(value, dtype_of(x))), FILL_NUMBER)


def _function(name: str) -> Callable[..., Any]:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        content(input, name)
        found: Tensor = getattr(input, name)(*args, **kwargs)
        return found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`Tensor.{name}`."
    return function


detach = _function("detach")
detach_ = _function("detach_")
fill_ = _function("fill_")
resize_as_ = _function("resize_as_")
zero_ = _function("zero_")


# ------------------------------------------------------------- methods that call Python functions


def _apply(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Write ``callable(value)`` in place of every value; slow, and without a derivative."""
    return _written(self, "apply_", callable, self)


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


def _resize_as(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """Take the shape of another tensor (see `resize_`)."""
    found: Tensor = self.resize_(the_template.shape)
    return found


install(apply_=_apply, map_=_map, resize_as_=_resize_as)
