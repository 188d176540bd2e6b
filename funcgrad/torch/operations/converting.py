"""Copying, converting to another dtype, and writing one value or another tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops.shape import broadcast_to
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.device import check_device, contiguous_format, preserve_format
from funcgrad.torch.memory_formats import WIDEST_FIRST, check_format, dense, in_format
from funcgrad.torch.nodes import node_class
from funcgrad.torch.operations.common import boxed, computed, copied, shape_of, warn_once
from funcgrad.torch.operations.promotion import dtype_of, number
from funcgrad.torch.operations.record import method_in_place, node, operation
from funcgrad.torch.tensor_arrays import layout
from funcgrad.torch.writing import check_overlap, write

__all__ = ["clone", "fill_", "zero_"]

CLONE, TO_COPY = node("Clone"), node("ToCopy", of="cast")
FORMAT = "*, memory_format memory_format=None"


@operation("clone", f"input, {FORMAT}", variants="method", remembers=True)
def clone(input: Tensor, memory_format: Any) -> Tensor:
    """A copy through which gradients pass."""
    x = input.content()
    check_format("clone", memory_format, input.ndim)
    if _as_it_lies(input, memory_format):
        return boxed(copied(x), CLONE)
    return boxed(IN_FORMAT(x, order=_order(input, memory_format)), CLONE)


IN_FORMAT = Composite("in_format", in_format, linear=True)


def _order(x: Tensor, memory_format: Any) -> tuple[int, ...]:
    """The dimensions from the widest step to the narrowest."""
    return WIDEST_FIRST.get(memory_format, tuple(range(x.ndim)))


def _as_it_lies(x: Tensor, memory_format: Any) -> bool:
    """Whether the tensor lies in a format, or nothing is asked for."""
    if memory_format is None or memory_format is preserve_format:
        return True
    return x.is_contiguous(memory_format=memory_format)


@operation("contiguous", f"input, {FORMAT}", variants="method")
def contiguous(input: Tensor, memory_format: Any) -> Tensor:
    """The tensor itself if its memory is in order, else a copy.

    Parameters
    ----------
    memory_format : torch.memory_format, optional
        With ``torch.channels_last`` a tensor of four dimensions has the second one, the channels,
        next to one another in memory.
    """
    memory_format = memory_format or contiguous_format
    check_format("contiguous", memory_format, input.ndim)
    if _as_it_lies(input, memory_format):
        return input
    return boxed(IN_FORMAT(input.content(), order=_order(input, memory_format)), CLONE)


# ---------------------------------------------------------------------------- writing values

COMPLEX_TO_REAL = "Casting complex values to real discards the imaginary part"


def _spread(x: Array, v: Array) -> Array:
    kind = type_of(x)
    return broadcast_to(a.cast(v, kind.dtype), kind.shape)


FILL = Composite("fill", _spread, linear=True)


def filled(input: Tensor, value: Any, name: str, shown: tuple[int, ...] | None = None) -> Tensor:
    """`value` in the shape and dtype of `input`, of whose values it does not depend."""
    x = input.content()
    v = value.content() if isinstance(value, Tensor) else number(value, dtype_of(x))
    return boxed(computed(FILL, x, v), node_class(name, ("",), shown))


def check_filling(x: Tensor, value: Any) -> None:
    """PyTorch's errors for what cannot be written everywhere."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} "
                "dimensions."
            )
        return
    number(value, x.dtype.numpy)


@method_in_place("fill_", "input, value | input, Number value")
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write `value` everywhere."""
    check_filling(self, value)
    if isinstance(value, Tensor):
        return write(self, filled(self, value, "FillBackward3")._t)
    return write(self, filled(self, value, "FillBackward2", (0,))._t)


@method_in_place("zero_", "input")
def zero_(self: Tensor) -> Tensor:
    """Write 0 everywhere."""
    return write(self, filled(self, 0, "ZeroBackward0", (0,))._t)


COPIED = "input, operand other, bool non_blocking=False"


@method_in_place("copy_", f"{COPIED} | ~{COPIED}")
def copy_(self: Tensor, other: Any, non_blocking: bool) -> Tensor:
    """Write `other`, broadcast and converted."""
    if not isinstance(other, Tensor):
        return write(self, filled(self, other, "CopyBackwards", (0,))._t)
    if other is not self:
        check_overlap(self, other)
    mine, given = shape_of(self), shape_of(other)
    if mine != given:
        _check_copied(mine, given)
    return write(self, filled(self, other, "CopyBackwards")._t)


def _check_copied(mine: tuple[int, ...], given: tuple[int, ...]) -> None:
    for back in range(1, min(len(mine), len(given)) + 1):
        if mine[-back] != given[-back] and 1 not in (mine[-back], given[-back]):
            raise RuntimeError(
                f"The size of tensor a ({mine[-back]}) must match the size of tensor b "
                f"({given[-back]}) at non-singleton dimension {max(len(mine), len(given)) - back}"
            )
    shape = np.broadcast_shapes(mine, given)
    if shape != mine:
        raise RuntimeError(
            f"output with shape {list(mine)} doesn't match the broadcast shape {list(shape)}"
        )


# --------------------------------------------------------------------------------- converting


def to_dtype(input: Tensor, kind: dtypes.dtype) -> Tensor:
    """The tensor itself, or a copy of another dtype."""
    x = input.content()
    mine = dtype_of(x)
    if mine == kind.numpy:
        return input
    if mine.kind == "c" and kind.numpy.kind not in "bc":
        warn_once(COMPLEX_TO_REAL)
        if kind.numpy.kind != "f":
            x = a.real(x)
    convert = CAST_DENSE if 0 in layout(input).strides else a.cast
    return boxed(computed(convert, x, dtype=kind.numpy), TO_COPY)


# NumPy lays a repeated dimension innermost, of which PyTorch makes C order
CAST_DENSE = Composite(
    "cast", lambda x, dtype: dense(a.cast(x, dtype)), linear=True, keeps_dtype=True
)


FLAGS = f"bool non_blocking=False, bool copy=False, {FORMAT}"


@operation(
    "to", f"input, device device=None, dtype dtype=None, {FLAGS} | input, dtype dtype, {FLAGS}"
    f" | input, Tensor tensor, {FLAGS}", variants="method",
)  # fmt: skip
def to(
    self: Tensor, device: Any, dtype: dtypes.dtype | None, non_blocking: bool, copy: bool,
    memory_format: Any, tensor: Tensor | None,
) -> Tensor:  # fmt: skip
    """Another dtype, given as such or by a tensor that has it; the only device is the CPU."""
    if tensor is not None:
        dtype = tensor.dtype
    check_device(device)
    check_format("to", memory_format, self.ndim)
    out = self if dtype is None else to_dtype(self, dtype)
    if not _as_it_lies(out, memory_format):
        return boxed(IN_FORMAT(out.content(), order=_order(out, memory_format)), TO_COPY)
    if copy and out is self:
        return boxed(copied(self.content()), TO_COPY)
    return out


def _converter(name: str, kind: dtypes.dtype) -> None:
    @operation(name, f"input, {FORMAT}", variants="method", doc=f"The tensor in {kind!r}.")
    def function(self: Tensor, memory_format: Any) -> Tensor:
        return to(self, kind, memory_format=memory_format)


for _name, _kind in (
    ("double", dtypes.float64), ("float", dtypes.float32), ("half", dtypes.float16),
    ("bfloat16", dtypes.bfloat16),
    ("long", dtypes.int64), ("int", dtypes.int32), ("short", dtypes.int16),
    ("char", dtypes.int8), ("byte", dtypes.uint8), ("bool", dtypes.bool),
    ("cdouble", dtypes.complex128), ("cfloat", dtypes.complex64),
):  # fmt: skip
    _converter(_name, _kind)


@operation(
    "type", f"input, object dtype=None, bool non_blocking=False, {FORMAT}", variants="method"
)
def _type(self: Tensor, dtype: Any, non_blocking: bool, memory_format: Any) -> Any:
    """The old name of the type, or a copy of another type."""
    if dtype is None:
        return dtypes.type_name(self.dtype)
    if isinstance(dtype, str):
        return to_dtype(self, dtypes.from_type_name(dtype))
    return to_dtype(self, dtype if isinstance(dtype, dtypes.dtype) else dtype.dtype)


@operation("type_as", "input, other", variants="method")
def _type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of another."""
    return to_dtype(self, other.dtype)


@operation("cpu", f"input, {FORMAT}", variants="method")
def _cpu(self: Tensor, memory_format: Any) -> Tensor:
    """The tensor itself."""
    return self


@operation("cuda", f"input, device device=None, bool non_blocking=False, {FORMAT}",
           variants="method")  # fmt: skip
def _cuda(self: Tensor, device: Any, non_blocking: bool, memory_format: Any) -> Tensor:
    """There is no such device: an AssertionError."""
    check_device("cuda")
    return self
