"""New tensors: filled with a number, the identity; in a shape or as another tensor."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import layout as layout_of
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.device import preserve_format
from funcgrad.torch.memory_formats import WIDEST_FIRST, check_format
from funcgrad.torch.operations.common import check_int, install, into
from funcgrad.torch.operations.data import (
    as_tensor,
    asarray,
    finished,
    from_dlpack,
    from_numpy,
    frombuffer,
    kind_given,
    tensor,
)
from funcgrad.torch.operations.promotion import NUMBERS, number, wrong_type

__all__ = [
    "as_tensor", "asarray", "empty", "empty_like", "empty_strided", "eye", "from_dlpack",
    "from_numpy", "frombuffer", "full", "full_like", "ones", "ones_like", "scalar_tensor",
    "tensor", "zeros", "zeros_like",
]  # fmt: skip

Shape = tuple[int, ...]


def _is_size(n: Any) -> bool:
    if isinstance(n, Tensor):
        return not n.ndim and not n.dtype.is_floating_point and not n.dtype.is_complex
    return hasattr(n, "__index__") and not isinstance(n, bool)


def _refuse_size(function: str, n: Any, k: int, position: int, one: bool, count: int) -> None:
    kind = f"numpy.{type(n).__name__}" if isinstance(n, np.generic) else type(n).__name__
    if k:
        raise TypeError(
            f"{function}(): argument 'size' failed to unpack the object at pos {k + 1} with error "
            f'"type must be tuple of ints,but got {kind}"'
        )
    if not one and count > 1:
        raise TypeError(f"{function}() takes 1 positional argument but {count} were given")
    found = f"but found element of type {kind} at pos 0" if one else f"not {kind}"
    raise TypeError(
        f"{function}(): argument 'size' (position {position}) must be tuple of ints, {found}"
    )


def shape_given(
    function: str, size: tuple[Any, ...], named: Any = None, position: int = 1
) -> Shape:
    """A shape, given as numbers, as one sequence, or by the keyword ``size``."""
    if named is not None:
        size = (named,)
    if not size:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    one = len(size) == 1 and isinstance(size[0], (tuple, list))
    sizes = tuple(size[0]) if one else size
    for k, n in enumerate(sizes):
        if not _is_size(n):
            _refuse_size(function, n, k, position, one, len(size))
    found = tuple(int(n.__index__()) for n in sizes)
    for n in found:
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(found)}"
            )
    return found


def _filler(name: str, make: Callable[..., Any]) -> Any:
    def function(
        *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
        out: Tensor | None = None, layout: Any = None, pin_memory: bool = False,
        memory_format: Any = None, **more: Any,
    ) -> Tensor:  # fmt: skip
        if more.keys() - {"size"}:
            unknown = next(iter(more.keys() - {"size"}))
            raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
        shape = shape_given(name, size, more.get("size"))
        kind = (kind_given(name, dtype) or dtypes.get_default_dtype()).numpy
        if out is not None and dtype is None:
            kind = out.dtype.numpy
        check_format(name, memory_format, len(shape))
        order = WIDEST_FIRST.get(memory_format, builtins.range(len(shape)))
        array = make([shape[k] for k in order], kind).transpose(np.argsort(order))
        made = finished(array, requires_grad if out is None else False, device, name)
        return into(out, made, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A tensor of `{name}`: its shape as numbers or as one sequence."
    return function


ones = _filler("ones", np.ones)
zeros = _filler("zeros", np.zeros)
empty = _filler("empty", np.empty)


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, out: Tensor | None = None, layout: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor with the same number everywhere, in the dtype of the number by default."""
    array = _full("full", size, fill_value, kind_given("full", dtype))
    return into(out, finished(array, requires_grad, device, "full"), "full")


def _full(function: str, size: Any, fill_value: Any, kind: dtypes.dtype | None) -> Any:
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"{function}(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(size).__name__}"
        )
    value = _fill_value(function, fill_value)
    kind = kind or dtypes.number_dtype(value)
    return np.full(shape_given(function, (size,)), number(value, kind.numpy), kind.numpy)


def _fill_value(function: str, x: Any) -> Any:
    value = x.item() if isinstance(x, Tensor) and not x.ndim else x
    if not isinstance(value, NUMBERS):
        wrong_type(function, "fill_value", 2, "Number", value)
    return value


def scalar_tensor(s: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor without dimensions, in the default dtype."""
    kind = kind_given("scalar_tensor", dtype) or dtypes.get_default_dtype()
    return finished(np.asarray(number(s, kind.numpy)), requires_grad)


def like(name: str, input: Any) -> Tensor:
    """The tensor whose shape and dtype are taken; PyTorch's TypeError for anything else."""
    if not isinstance(input, Tensor):
        wrong_type(name, "input", 1, "Tensor", input)
    return input


def memory_order(strides: Sequence[int]) -> list[int]:
    """The dimensions from the widest step to the narrowest; repeated ones stay where they are."""
    order = list(builtins.range(len(strides)))
    for k in builtins.range(1, len(order)):
        place = k
        for j in builtins.range(k - 1, -1, -1):
            mine, other = strides[order[place]], strides[order[j]]
            if not mine or not other:
                continue
            if other >= mine:
                break
            order[place], order[j] = order[j], order[place]
            place = j
    return order


def _like(name: str, make: Callable[..., Any]) -> Any:
    """The order in memory is taken over as well."""

    def function(
        input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
        memory_format: Any = None, layout: Any = None, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        x = like(name, input)
        kind = kind_given(name, dtype) or x.dtype
        check_format(name, memory_format, x.ndim)
        if memory_format in (None, preserve_format):
            order = memory_order(np.asarray(layout_of(x._t)).strides)
        else:
            order = [*WIDEST_FIRST.get(memory_format, builtins.range(x.ndim))]
        made = make(np.empty([x.shape[k] for k in order], kind.numpy))
        return finished(made.transpose(np.argsort(order)), requires_grad, device, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name.removesuffix('_like')}` in the shape and dtype of a tensor."
    return function


ones_like = _like("ones_like", np.ones_like)
zeros_like = _like("zeros_like", np.zeros_like)
empty_like = _like("empty_like", np.empty_like)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """The same number everywhere, in the shape and dtype of a tensor."""
    out = empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    out.fill_(_fill_value("full_like", fill_value))
    return out.requires_grad_() if requires_grad else out  # type: ignore[no-any-return]


def _new(name: str, make: Callable[..., Any]) -> Any:
    made = _filler(name, make)

    def function(self: Tensor, *size: Any, dtype: Any = None, **kwargs: Any) -> Any:
        return made(*size, dtype=kind_given(name, dtype) or self.dtype, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name.removeprefix('new_')}` in the dtype of the tensor."
    return function


def _new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None,
) -> Tensor:  # fmt: skip
    """`full` in the dtype of the tensor."""
    array = _full("new_full", size, fill_value, kind_given("new_full", dtype) or self.dtype)
    return finished(array, requires_grad, device)


install(
    new_ones=_new("new_ones", np.ones), new_zeros=_new("new_zeros", np.zeros),
    new_empty=_new("new_empty", np.empty), new_full=_new_full,
)  # fmt: skip


def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with undefined elements, of given sizes and strides (in elements)."""
    kind = (kind_given("empty_strided", dtype) or dtypes.get_default_dtype()).numpy
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
            f"({len(stride)})"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}"
        )
    count = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    memory = np.empty(count, kind)
    steps = tuple(s * kind.itemsize for s in stride)
    array = np.lib.stride_tricks.as_strided(memory, tuple(size), steps, writeable=True)
    return finished(array, requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The identity matrix."""
    for position, (name, size) in enumerate((("n", n), ("m", m)), 1):
        if size is not None and check_int("eye", name, position, size) < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    kind = (kind_given("eye", dtype) or dtypes.get_default_dtype()).numpy
    return into(out, finished(np.eye(n, m, dtype=kind), requires_grad, device, "eye"), "eye")
