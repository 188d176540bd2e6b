"""Writing by flat positions and by masks: put and masked_scatter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as core
from funcgrad.ops.shape import broadcast_to, reshape
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.memory_formats import dense
from funcgrad.torch.operations.common import boxed, computed, shape_of, told
from funcgrad.torch.operations.comparison import known, selected
from funcgrad.torch.operations.gathering import common_shape
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import node, operation

__all__ = [
    "masked_scatter", "put",
]  # fmt: skip


PUT_NODE = node("Put", "_ source index", (0, 1), "accumulate")
MASKED_SCATTER_NODE = node("MaskedScatter", shows=(0, 1), tells="mask source_sym_sizes")


@operation("put", "input, Tensor index, Tensor source, bool accumulate=False")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    """A copy in which elements of the flat tensor are written (or added) at positions."""
    x, at, v = input.content(), index.content(), source.content()
    if dtype_of(at) != np.int64:
        raise RuntimeError(
            f"put_(): Expected a long tensor for index, but got {dtypes.scalar_name(kind_of(at))}"
        )
    if dtype_of(v) != dtype_of(x):
        names = [dtypes.scalar_name(kind_of(c)) for c in (x, v)]
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{names[0]} and source.dtype = {names[1]}"
        )
    if math.prod(shape_of(at)) != math.prod(shape_of(v)):
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {math.prod(shape_of(v))}, index.numel() = "
            f"{math.prod(shape_of(at))}"
        )
    size = math.prod(shape_of(x))
    array = known(at, "put()")
    bad = array[(array < -size) | (array >= size)]
    if bad.size:
        raise IndexError(
            f"out of range: tried to access index {bad.flat[0]} on a tensor of {size} elements."
        )
    at = a.where(a.less(at, 0), a.add(at, size), at)
    return boxed(computed(PUT_ADD if accumulate else PUT, x, v, at), PUT_NODE)


def _put(write_: Any) -> Any:
    def put_flat(x: Array, v: Array, at: Array) -> Array:
        count = math.prod(shape_of(at))
        return write_(x, reshape(at, (count,)), reshape(v, (count,)))

    return put_flat


PUT = Composite("put", _put(core.set_positions), linear=True, fixed=1)
PUT_ADD = Composite("put_add", _put(core.add_at), linear=True, fixed=1)


@operation("masked_scatter", "input, Tensor mask, Tensor source", overlap="any")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy in which the places where a mask holds are the elements of `source` in turn."""
    x, m, v = input.content(), mask.content(), source.content()
    if dtype_of(v) != dtype_of(x):
        names = [dtypes.scalar_name(kind_of(c)) for c in (x, v)]
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {names[0]} and "
            f"{names[1]}"
        )
    if dtype_of(m).kind != "b":
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{dtypes.c_name(kind_of(m))}"
        )
    full = common_shape(x, m)
    (at,) = selected(reshape(broadcast_to(m, full), (math.prod(full),)), "masked_scatter()")
    if shape_of(at)[0] > math.prod(shape_of(v)):
        raise RuntimeError("Number of elements of source < number of ones in mask")
    made = boxed(computed(MASKED_SCATTER, x, v, at, shape=full), MASKED_SCATTER_NODE)
    return told(made, mask=mask.detach())


def _mask_written(x: Array, v: Array, at: Array, shape: tuple[int, ...]) -> Array:
    flat = core.getitem(reshape(v, (math.prod(shape_of(v)),)), (slice(0, shape_of(at)[0]),))
    return dense(core.set_positions(broadcast_to(x, shape), at, flat))


MASKED_SCATTER = Composite("masked_scatter", _mask_written, linear=True, fixed=1)
