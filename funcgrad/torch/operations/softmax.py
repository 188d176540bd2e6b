"""Softmax, its logarithm, and the logarithm of a sum of exponentials."""

from __future__ import annotations

from typing import Any

from funcgrad.ops import arithmetic as a
from funcgrad.ops import softmax as core
from funcgrad.ops import transcendental as t
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.dimensions import check_flag
from funcgrad.torch.operations.common import (
    axes_of,
    axis_of,
    boxed,
    computed,
    into,
    method,
    named,
    narrow_or,
    numpy_names,
    shape_of,
)
from funcgrad.torch.operations.converting import to_dtype
from funcgrad.torch.operations.promotion import content, floating
from funcgrad.torch.operations.recorded import Flat, refuse_kinds
from funcgrad.torch.remembered import remembered

__all__ = ["log_softmax", "logsumexp", "softmax"]

SOFTMAX = named("SoftmaxBackward0", "result")
LOG_SOFTMAX = named("LogSoftmaxBackward0", "result")
ALONG = narrow_or("softmax", core.softmax)
LOG_ALONG = narrow_or("log_softmax", core.log_softmax)
# of a tensor without dimensions: 1 and 0, but for infinities and NaN
ONE = Flat("softmax_scalar", lambda x: t.exp(a.subtract(x, x)))
ZERO = Flat("log_softmax_scalar", lambda x: a.subtract(x, x))


def _along(name: str, along: Any, scalar: Any, node: Any, input: Tensor, dim: int,
           dtype: Any) -> Tensor:  # fmt: skip
    if dtype is not None:
        input = to_dtype(input, dtype)
    x = content(input, name)
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    kernel = "lastdim_kernel_impl" if axis == max(len(shape) - 1, 0) else "kernel_impl"
    refuse_kinds(f"{name}_{kernel}", "biuc", x)
    return boxed(computed(along, x, axis=axis) if shape else computed(scalar, x), node)


@method()
@remembered
@numpy_names
def softmax(input: Tensor, dim: int, dtype: Any = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along a dimension."""
    result = _along("softmax", ALONG, ONE, SOFTMAX, input, dim, dtype)
    return result if out is None else into(out, result, "softmax")


@method()
@remembered
@numpy_names
def log_softmax(input: Tensor, dim: int, dtype: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    result = _along("log_softmax", LOG_ALONG, ZERO, LOG_SOFTMAX, input, dim, dtype)
    return result if out is None else into(out, result, "log_softmax")


LOG_OF_SUM = narrow_or("logsumexp", core.logsumexp)
LOGSUMEXP = named("LogsumexpBackward0", "result", "self")


@method()
@remembered
@numpy_names
def logsumexp(
    input: Tensor, dim: Any, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """``log(sum(exp(x)))`` over dimensions."""
    content(input, "logsumexp")
    check_flag("logsumexp", "keepdim", 2, keepdim)
    x = floating("logsumexp", input)
    axes = axes_of(dim, len(shape_of(x)))
    result = boxed(computed(LOG_OF_SUM, x, axis=axes, keepdims=keepdim), LOGSUMEXP)
    return result if out is None else into(out, result, "logsumexp")
