"""Normalisation of activations, and dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.core.boundary import hide_frames
from funcgrad.ops import normalization
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.narrow import is_half
from funcgrad.torch.nn.functional.common import (
    by_number,
)
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    lacking,
    shape_of,
)
from funcgrad.torch.operations.creation import empty
from funcgrad.torch.operations.dense import dense_or
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.record import node
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.operations.results import laid
from funcgrad.torch.operations.sampling import order_of
from funcgrad.torch.remembered import remembered
from funcgrad.torch.writing import check_writable, write

__all__ = ["dropout", "layer_norm", "rms_norm"]


LAYER_NORM = dense_or("layer_norm", normalization.layer_norm)
LAYER_NORM_NODE: Any = node(
    "NativeLayerNorm", "input weight bias", tells="normalized_shape result1 result2"
)


def _check_normalized(
    name: str, shape: tuple[int, ...], normalized: tuple[int, ...], **parts: Tensor | None
) -> None:
    if not normalized:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            f"element, but got normalized_shape = {list(normalized)}"
        )
    for part, x in parts.items():
        if x is not None and tuple(x.shape) != normalized:
            raise RuntimeError(
                f"Expected {part} to be of same shape as normalized_shape, but got {part} of shape "
                f"{list(x.shape)} and normalized_shape = {list(normalized)}"
            )
    if shape[len(shape) - len(normalized) :] != normalized or len(shape) < len(normalized):
        comma = ", " if name == "layer_norm" else ""
        wanted = comma + ", ".join(map(str, normalized))
        raise RuntimeError(
            f"Given normalized_shape={list(normalized)}, expected input with shape [*{wanted}], "
            f"but got input of size{list(shape)}"
        )


@remembered
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The last dimensions brought to mean 0 and variance 1, then scaled and moved.

    Parameters
    ----------
    input : Tensor
    normalized_shape : sequence of int
        The extents of the last dimensions, over which mean and variance are taken.
    weight, bias : Tensor, optional
        Of that shape.
    eps : float, optional
        Added to the variance.

    Raises
    ------
    RuntimeError
        Shapes or dtypes that do not fit.
    """
    x, normalized = content(input, "layer_norm"), tuple(int(n) for n in normalized_shape)
    shape = shape_of(x)
    _check_normalized("layer_norm", shape, normalized, weight=weight, bias=bias)
    refuse_kinds("LayerNormKernelImpl", "biuc", x)
    parts = {part.dtype for part in (weight, bias) if part is not None}
    if parts - {input.dtype}:
        if parts != {dtypes.float32}:
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if input.dtype not in (dtypes.float16, dtypes.bfloat16):
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
        wide = layer_norm(input.to(dtypes.float32), normalized, weight, bias, eps)
        narrow: Tensor = wide.to(input.dtype)
        return narrow
    axes = tuple(range(len(shape) - len(normalized), len(shape)))
    one, zero = dtype_of(x).type(1), dtype_of(x).type(0)
    out = computed(
        LAYER_NORM,
        x,
        one if weight is None else weight.content(),
        zero if bias is None else bias.content(),
        axes=axes,
        eps=eps,
        scaled=weight is not None,
        moved=bias is not None,
    )
    absent = [name for name, part in (("weight", weight), ("bias", bias)) if part is None]
    return boxed(out, lacking(LAYER_NORM_NODE, *absent))


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """The last dimensions divided by their root mean square, then scaled.

    Parameters
    ----------
    input : Tensor
    normalized_shape : sequence of int
        The extents of the last dimensions, over which the mean of the squares is taken.
    weight : Tensor, optional
        Of that shape.
    eps : float, optional
        Added to the mean of the squares; by default what distinguishes 1 from the next number.

    Raises
    ------
    RuntimeError
        Shapes that do not fit.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([[3.0, 4.0, 5.0, 5.0]]), (4,))
    tensor([[0.6928, 0.9238, 1.1547, 1.1547]])
    """
    try:
        x, normalized = content(input, "rms_norm"), tuple(int(n) for n in normalized_shape)
        shape = shape_of(x)
        _check_normalized("rms_norm", shape, normalized, weight=weight)
        refuse_kinds("rms_norm", "biu", x)
        axes = tuple(range(len(shape) - len(normalized), len(shape)))
        wide = input.float() if is_half(input.dtype.numpy) else input
        least = dtypes.finfo(wide.dtype).eps if eps is None else eps
        size = by_number(wide.pow(2).mean(axes, keepdim=True) + least, "Add").rsqrt()
        out: Tensor = wide * size
        out = out if weight is None else out * weight
        out = out if out.dtype is input.dtype else out.to(input.dtype)
        return laid(out, "contiguous")  # type: ignore[no-any-return]
    except Exception as error:
        hide_frames(error)
        raise


def _tossed(input: Tensor, p: float) -> Tensor:
    """What each element is multiplied by, drawn in the order in which they lie in memory."""
    order = order_of(input) or tuple(range(input.ndim))
    made: Tensor = empty(tuple(input.shape[k] for k in order), dtype=input.dtype)
    made = made.bernoulli_(1 - p) / (1 - p) if p < 1.0 else made.zero_()
    tossed: Tensor = made.permute(tuple(sorted(range(input.ndim), key=order.__getitem__)))
    return tossed


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros with probability `p`; what stays is divided by ``1 - p``. Nothing unless `training`.

    Raises
    ------
    ValueError
        A probability outside [0, 1].
    """
    try:
        content(input, "dropout")
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        if not training or p == 0.0:
            return input
        if not (input.is_floating_point() or input.is_complex()):
            raise RuntimeError(
                "result type Float can't be cast to the desired output type "
                f"{dtypes.scalar_name(input.dtype)}"
            )
        factor = _tossed(input, p)
        if inplace:
            check_writable(input)
            return write(input, (input * factor)._t)
        out: Tensor = input * factor
        return out
    except Exception as error:
        hide_frames(error)
        raise
