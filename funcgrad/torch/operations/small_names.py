"""Names of `torch` that are a line of its other functions, or say what there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ops import pointwise
from funcgrad.ops.arithmetic import cast, multiply
from funcgrad.torch import dtypes, return_types
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, computed, install
from funcgrad.torch.operations.creation import empty_strided, full
from funcgrad.torch.operations.norms import matrix_norm, vector_norm
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.searching import nonzero

__all__ = [
    "adjoint", "empty_permuted", "frexp", "frobenius_norm", "get_device", "histogramdd",
    "nonzero_static", "nuclear_norm", "set_default_tensor_type", "slice_copy",
]  # fmt: skip


def _mantissa(x: Any, power: Any, rest: Any) -> Any:
    return multiply(multiply(x, power), rest)  # one factor of a denormal number would be infinite


MANTISSA = Composite("frexp", _mantissa, fixed=2)
FREXP = node("Frexp")


@operation("frexp", "input, *, Tensors out", variants="method")
def frexp(input: Tensor) -> Any:
    """A mantissa of [0.5, 1) and a whole exponent, whose power of two it is multiplied by.

    The exponent is locally constant, so the derivative of the mantissa is that power's inverse.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> mantissa, exponent = torch.frexp(torch.tensor([8.0, -3.0]))
    >>> mantissa, exponent
    (tensor([ 0.5000, -0.7500]), tensor([4, 2], dtype=torch.int32))
    """
    x = input.content()
    if dtype_of(x).kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    found = cast(computed(pointwise.exponent, x), np.dtype(np.int32))
    half = -found // 2
    one = np.ones((), dtype_of(x))[()]
    powers = (computed(lambda e: pointwise.ldexp(one, e), e) for e in (half, -found - half))
    made = boxed(computed(MANTISSA, x, *powers), FREXP)
    return return_types.frexp(made, box(found))


@operation("adjoint", "input", variants="method")
def adjoint(input: Tensor) -> Tensor:
    """The conjugate of the last two dimensions exchanged: a view of what is real."""
    found: Tensor = input.mH
    return found


@operation("frobenius_norm", "input, ints dim, bool keepdim=False, *, out", variants="")
def frobenius_norm(input: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The root of the sum of squares along dimensions."""
    found: Tensor = vector_norm(input, 2, tuple(dim) or None, keepdim)
    return found


@operation(
    "nuclear_norm",
    "input, ints dim, bool keepdim=False, *, out | input, bool keepdim=False, *, out",
    variants="",
)
def nuclear_norm(input: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The sum of the singular values of matrices."""
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim)


def get_device(input: Tensor) -> int:
    """The number of the device of a tensor: -1, which is that of the CPU."""
    content(input, "get_device")
    return -1


def slice_copy(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy of a slice along a dimension."""
    axis = range(input.ndim)[dim]
    found: Tensor = input[(slice(None),) * axis + (slice(start, end, step),)]
    copied: Tensor = found.clone()
    return copied


def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Undefined elements, whose dimensions lie in memory in an order, from the widest step."""
    order = [int(k) for k in physical_layout]
    if sorted(order) != list(range(len(size))):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}"
            if len(order) != len(size)
            else "Duplicate dim not allowed"
        )
    steps, step = [0] * len(order), 1
    for k in reversed(order):
        steps[k], step = step, step * max(int(size[k]), 1)
    return empty_strided(
        tuple(size), tuple(steps), dtype=dtype, device=device, requires_grad=requires_grad
    )


def new_empty_strided(
    self: Tensor, size: Any, stride: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Undefined elements with strides, by default of the dtype of this tensor."""
    return empty_strided(
        size, stride, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad
    )


@operation("nonzero_static", "input, *, int size, int fill_value=-1", variants="method")
@requires("size >= 0: nonzero_static: 'size' must be an non-negative integer")
def nonzero_static(input: Tensor, size: int, fill_value: int) -> Tensor:
    """The positions of the first `size` elements that are not 0, filled up with `fill_value`."""
    found = nonzero(input)[:size]
    made = full((size, input.ndim), fill_value, dtype=dtypes.int64)
    made[: found.shape[0]] = found
    return made


def histogramdd(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None,
    density: bool = False,
) -> Any:  # fmt: skip
    """How many points, the rows of the last dimension, lie in each box of a grid; and its edges.

    It has no derivative, as in PyTorch.

    Parameters
    ----------
    bins : int, list of int, or list of Tensor
        The numbers of bins of each dimension, or the edges.
    range : list of float, optional
        The least and the largest edge of each dimension in turn.
    """
    points = input.detach()
    kind = points.dtype.numpy
    flat = points.reshape(-1, points.shape[-1]).numpy()
    edges = [b.detach().numpy() if isinstance(b, Tensor) else b for b in bins] if isinstance(
        bins, (list, tuple)) else bins  # fmt: skip
    bounds: Any = None if range is None else np.reshape(range, (-1, 2))
    weights = None if weight is None else weight.detach().reshape(-1).numpy()
    found, at = np.histogramdd(flat, edges, bounds, density, weights)
    return return_types.histogramdd(
        box(found.astype(kind)), tuple(box(np.asarray(e).astype(kind)) for e in at)
    )


def set_default_tensor_type(t: Any, /) -> None:
    """Choose the default dtype by an old name of tensors, such as ``torch.DoubleTensor``."""
    kind = dtypes.from_type_name(t) if isinstance(t, str) else getattr(t, "dtype", None)
    if not isinstance(kind, dtypes.dtype):
        raise TypeError("invalid type object")
    dtypes.set_default_dtype(kind)


install(new_empty_strided=new_empty_strided, get_device=lambda self: -1)
