"""New tensors: filled with a number, the identity; in a shape or as another tensor.

An operation that makes a tensor is a function of what is its own, the dtype last; `creation` adds
PyTorch's options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.device import preserve_format
from funcgrad.torch.memory_formats import WIDEST_FIRST, check_format
from funcgrad.torch.operations.data import (
    as_tensor,
    asarray,
    finished,
    from_dlpack,
    from_numpy,
    frombuffer,
    tensor,
)
from funcgrad.torch.operations.promotion import number
from funcgrad.torch.operations.record import Function, operation
from funcgrad.torch.operations.results import memory_order
from funcgrad.torch.operations.signature import names_of
from funcgrad.torch.tensor_arrays import layout

__all__ = [
    "as_tensor", "asarray", "empty", "empty_like", "empty_strided", "eye", "from_dlpack",
    "from_numpy", "frombuffer", "full", "full_like", "ones", "ones_like", "scalar_tensor",
    "tensor", "zeros", "zeros_like",
]  # fmt: skip

Shape = tuple[int, ...]
OPTIONS = (
    "dtype dtype=None, layout layout=None, device device=None, bool pin_memory=False, "
    "bool requires_grad=False"
)
GIVEN = ("dtype", "layout", "device", "pin_memory", "requires_grad")


def creation(
    name: str, *overloads: str, plain: tuple[str, ...] = (), variants: str = "", doc: str = ""
) -> Callable[[Callable[..., Any]], Function[Tensor]]:
    """Make an operation of a function that gives the array of a new tensor.

    Each of the `overloads` has PyTorch's options after it, the `plain` ones before them do not. The
    function is given the arguments that are no options, and the dtype: that which is asked for,
    that of ``out``, that of the tensor `input`, or None.
    """
    full = [f"{o}, {OPTIONS}" if "*" in o else f"{o}, *, {OPTIONS}" for o in overloads]
    signature = " | ".join((*plain, *full))
    names = names_of(signature)
    own = itemgetter(*(k for k, n in enumerate(names) if n not in GIVEN))
    single = len(names) == len(GIVEN) + 1
    dtype, _, device, _, requires_grad = (names.index(n) for n in GIVEN)
    tensor_at = names.index("input") if "input" in names else None

    def made(make: Callable[..., Any]) -> Function[Tensor]:
        def function(*args: Any) -> Tensor:
            kind, out = args[dtype], args[len(names)] if len(args) > len(names) else None
            if kind is None and out is not None:
                kind = out.dtype
            if kind is None and tensor_at is not None:
                kind = args[tensor_at].dtype
            array = make(own(args), kind) if single else make(*own(args), kind)
            recorded = args[requires_grad] and out is None
            return finished(array, recorded, args[device], name)

        function.__doc__ = doc or make.__doc__
        return operation(name, signature, variants=variants, sees_out=True)(function)

    return made


def usual(kind: dtypes.dtype | None) -> np.dtype[Any]:
    """A dtype, by default the default one."""
    return (kind or dtypes.get_default_dtype()).numpy


def check_sizes(shape: Sequence[int], name: str = "") -> Shape:
    """A shape has no negative extents."""
    found = tuple(shape)
    for n in found:
        if n < 0 and name == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(found)}"
            )
    return found


def _in_order(
    make: Callable[..., Any], shape: Shape, order: Sequence[int] | None, kind: Any
) -> Any:
    """What `make` gives, laid in an order of the dimensions, by default as they are."""
    if order is None:
        return make(shape, kind)
    return make([shape[k] for k in order], kind).transpose(np.argsort(order))


def _filler(
    name: str, make: Callable[..., Any]
) -> tuple[Function[Tensor], Function[Tensor], Function[Tensor]]:
    """The functions of a shape, of a tensor, and the method of one whose dtype is taken."""
    formats = ", memory_format memory_format=None" if name == "empty" else ""

    def filled(size: Shape, memory_format: Any, kind: dtypes.dtype | None) -> Any:
        shape = check_sizes(size, name)
        check_format(name, memory_format, len(shape))
        return _in_order(make, shape, WIDEST_FIRST.get(memory_format), usual(kind))

    def like(input: Tensor, memory_format: Any, kind: dtypes.dtype) -> Any:
        check_format(name, memory_format, input.ndim)
        if memory_format in (None, preserve_format):
            array = layout(input)
            plain = array.flags.c_contiguous
            order: Sequence[int] | None = (
                None if plain else memory_order(input.shape, [array.strides])
            )
        else:
            order = WIDEST_FIRST.get(memory_format)
        return _in_order(make, tuple(input.shape), order, kind.numpy)

    plain = (lambda size, kind: filled(size, None, kind)) if not formats else filled
    doc = f"A tensor of `{name}`: its shape as numbers or as one sequence."
    as_other = "input, *, memory_format memory_format=None"
    return (
        creation(name, f"ints size, *{formats}, out", doc=doc)(plain),
        creation(f"{name}_like", as_other, doc=f"`{name}` in the shape and dtype of a tensor.")(
            like
        ),
        creation(f"new_{name}", f"input, ints size{formats and ', *' + formats}", variants="method",
                 doc=f"`{name}` in the dtype of the tensor.")(
            lambda input, size, *more: filled(size, more[0] if formats else None, more[-1])
        ),
    )  # fmt: skip


ones, ones_like, _ = _filler("ones", np.ones)
zeros, zeros_like, _ = _filler("zeros", np.zeros)
empty, empty_like, _ = _filler("empty", np.empty)


def _full(size: Shape, fill_value: Any, kind: dtypes.dtype | None) -> Any:
    target = (kind or dtypes.number_dtype(fill_value)).numpy
    return np.full(check_sizes(size), number(fill_value, target), target)


@creation("full", "ints size, Number fill_value, *, out")
def full(size: Shape, fill_value: Any, kind: dtypes.dtype | None) -> Any:
    """A tensor with the same number everywhere, in the dtype of the number by default."""
    return _full(size, fill_value, kind)


@creation("new_full", "input, ints size, Number fill_value", variants="method")
def _new_full(input: Tensor, size: Shape, fill_value: Any, kind: dtypes.dtype) -> Any:
    """`full` in the dtype of the tensor."""
    return _full(size, fill_value, kind)


@creation("full_like", "input, Number fill_value, *, memory_format memory_format=None")
def full_like(input: Tensor, fill_value: Any, memory_format: Any, kind: dtypes.dtype) -> Any:
    """The same number everywhere, in the shape and dtype of a tensor."""
    made = empty_like(input, dtype=kind, memory_format=memory_format)
    return made.fill_(fill_value)._t


@creation("scalar_tensor", "Number s")
def scalar_tensor(s: Any, kind: dtypes.dtype | None) -> Any:
    """A tensor without dimensions, in the default dtype."""
    return np.asarray(number(s, usual(kind)))


@creation("empty_strided", "ints size, ints stride")
def empty_strided(size: Shape, stride: Shape, given: dtypes.dtype | None) -> Any:
    """A tensor with undefined elements, of given sizes and strides (in elements)."""
    kind = usual(given)
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
    return np.lib.stride_tricks.as_strided(memory, tuple(size), steps, writeable=True)


@creation("eye", "int n, *, out", "int n, int m, *, out")
def eye(n: int, m: int | None, kind: dtypes.dtype | None) -> Any:
    """The identity matrix."""
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return np.eye(n, m, dtype=usual(kind))
