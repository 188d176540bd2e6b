"""Tensors in which a part is replaced: select_scatter, slice_scatter, diagonal_scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations import scattering
from funcgrad.torch.operations.common import axis_of, boxed, computed, method, named, shape_of, told
from funcgrad.torch.operations.promotion import content

__all__ = [
    "diagonal_scatter", "select_scatter", "slice_scatter",
]  # fmt: skip


def _replaced(name: str, node: str, input: Tensor, src: Tensor, read: Any, **shown: Any) -> Tensor:
    """`input` with `src` in the place of the part that `read` gives."""
    x, v = content(input, name), content(src, name, "src", 2)
    shape = shape_of(x)
    at = read(np.arange(int(np.prod(shape))).reshape(shape))
    if np.shape(at) != shape_of(v):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(shape_of(v))}, slice size = {list(np.shape(at))}"
        )
    made = boxed(computed(scattering.SET_AT, x, v, np.ascontiguousarray(at)), named(node))
    return told(made, **shown)


@method()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy in which one entry along a dimension is `src`."""
    k = axis_of(dim, input.ndim)
    n = shape_of(input)[k]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at "
            f"dimension {k}"
        )
    return _replaced("select_scatter", "SelectScatterBackward0", input, src,
                     lambda v: v[(slice(None),) * k + (index,)], dim=k, index=index)  # fmt: skip


@method()
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Tensor:  # fmt: skip
    """A copy in which a slice along a dimension is `src`."""
    k = axis_of(dim, input.ndim)
    return _replaced("slice_scatter", "SliceScatterBackward0", input, src,
                     lambda v: v[(slice(None),) * k + (slice(start, end, step),)],
                     dim=k, start=start, end=end, step=step)  # fmt: skip


@method()
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy in which a diagonal is `src`."""
    return _replaced("diagonal_scatter", "DiagonalScatterBackward0", input, src,
                     lambda v: np.diagonal(v, offset, dim1, dim2),
                     offset=offset, dim1=dim1, dim2=dim2)  # fmt: skip
