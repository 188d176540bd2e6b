"""Diagonals and triangles of matrices: read, made and filled."""

from __future__ import annotations

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import index
from funcgrad.ops import shape as shapes
from funcgrad.ops.arithmetic import where
from funcgrad.ops.sums import sum as sum_
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations import reshaping
from funcgrad.torch.operations.common import axis_of, boxed, computed, shape_of, told
from funcgrad.torch.operations.converting import contiguous
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import Function, method_in_place, node, operation
from funcgrad.torch.operations.reductions import accumulator
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.slicing import positioned

__all__ = [
    "diag", "diag_embed", "diagflat", "trace", "tril", "triu",
]  # fmt: skip


def _triangle(name: str, lower: bool) -> Function[Tensor]:
    kind = node(name.capitalize(), shows=(1,), tells="diagonal")

    def function(input: Tensor, diagonal: int) -> Tensor:
        x = input.content()
        shape = shape_of(x)
        if len(shape) < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        mask = np.tri(shape[-2], shape[-1], diagonal if lower else diagonal - 1, bool)
        zero = np.zeros((), dtype_of(x))[()]
        result = boxed(computed(where, mask if lower else ~mask, x, zero), kind)
        return told(result, diagonal=diagonal)

    function.__doc__ = f"The {'lower' if lower else 'upper'} triangle of matrices, 0 elsewhere."
    return operation(name, "input, int diagonal=0, *, out", lies="contiguous")(function)


tril, triu = _triangle("tril", True), _triangle("triu", False)
TRACE_NODE = node("Trace", tells="self_sym_sizes")
EMBED_NODE = node("DiagEmbed", tells="offset dim1 dim2")
DIAGONAL_COPY = node("DiagonalBackward0_copy", tells="offset dim1 dim2 self_sym_sizes")


@operation("trace", "input", variants="method", remembers=True)
@requires("rank(input) == 2: trace: expected a matrix, but got tensor with dim {rank(input)}")
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    x = input.content()
    return boxed(computed(TRACE, accumulator(x, None)), TRACE_NODE)


TRACE = Composite("trace", lambda x: sum_(positioned(x, np.diagonal), -1), linear=True)


def _embedded(x: Array, offset: int, dim1: int, dim2: int) -> Array:
    """The last dimension on the diagonal of two new ones."""
    shape = shape_of(x)
    n = shape[-1] + abs(offset)
    rank = len(shape) + 1
    at = np.zeros((*shape[:-1], n, n), np.int64)
    flat = np.arange(int(np.prod(shape))).reshape(shape)
    rows = np.arange(shape[-1]) + max(-offset, 0)
    at[..., rows, rows + offset] = flat + 1
    at = np.moveaxis(at, (-2, -1), (dim1 % rank, dim2 % rank))
    zero = np.zeros(1, dtype_of(x))
    padded = shapes.concatenate([zero, shapes.reshape(x, (int(np.prod(shape)),))], 0)
    return index.gather(padded, np.ascontiguousarray(at))


DIAG_EMBED = Composite("diag_embed", _embedded, linear=True)


@operation("diag_embed", "input, int offset=0, int dim1=-2, int dim2=-1", variants="method")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dimension on the diagonal of matrices of zeros."""
    x = input.content()
    n = len(shape_of(x)) + 1
    i, j = axis_of(dim1, n), axis_of(dim2, n)
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return boxed(computed(DIAG_EMBED, x, offset=offset, dim1=i, dim2=j), EMBED_NODE)


@operation("diag", "input, int diagonal=0, *, out", variants="method")
@requires("rank(input) in (1, 2): diag(): Supports 1D or 2D tensors. Got {rank(input)}D")
def diag(input: Tensor, diagonal: int) -> Tensor:
    """The diagonal of a matrix as a copy, or a matrix with a vector on its diagonal."""
    x = input.content()
    n = len(shape_of(x))
    if n == 1:
        return diag_embed(input, diagonal)
    result = boxed(positioned(x, lambda v: np.diagonal(v, diagonal)), DIAGONAL_COPY)
    return told(result, offset=diagonal, dim1=0, dim2=1)


@operation("diagflat", "input, int offset=0", variants="method")
def diagflat(input: Tensor, offset: int) -> Tensor:
    """All elements on the diagonal of a matrix."""
    return diag_embed(reshaping.view(contiguous(input), (-1,)), offset)


@method_in_place("fill_diagonal_", "input, Number fill_value, bool wrap=False")
@requires("""
    rank(self) >= 2: dimensions must larger than 1
    rank(self) <= 2 or len(set(shape(self))) <= 1: all dimensions of input must be of equal length
""")
def _fill_diagonal(self: Tensor, fill_value: float, wrap: bool) -> Tensor:
    """Write a number on the diagonal, which goes on below a tall matrix with `wrap`."""
    shape = shape_of(self)
    step = sum(self.stride())
    count = min(shape)
    main = self.as_strided((count,), (step,))
    main.fill_(fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        start = self.storage_offset() + shape[1] * (shape[1] + 1)
        count = -(-(shape[0] * shape[1] - shape[1] * (shape[1] + 1)) // step)
        self.as_strided((count,), (step,), start).fill_(fill_value)
    return self
