"""Softmax, its logarithm, and the logarithm of a sum of exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import softmax as core
from funcgrad.ops import transcendental as t
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.common import axes_of, axis_of, boxed, computed, shape_of
from funcgrad.torch.operations.converting import to_dtype
from funcgrad.torch.operations.dense import dense_or
from funcgrad.torch.operations.promotion import floating
from funcgrad.torch.operations.record import Function, NodeClass, node, operation, refuse
from funcgrad.torch.operations.recorded import Flat
from funcgrad.torch.operations.restated import restated_reduction

__all__ = ["log_softmax", "logsumexp", "softmax"]


def _softmax(name: str, core: Any, scalar: Any, kind: NodeClass, doc: str) -> Function[Tensor]:
    along, alone = dense_or(name, core), Flat(f"{name}_scalar", scalar)

    @operation(
        name, "input, int dim, dtype dtype=None, *, out", variants="method", doc=doc,
        remembers=True,
    )  # fmt: skip
    def function(input: Tensor, dim: int, dtype: dtypes.dtype | None) -> Tensor:
        x = (input if dtype is None else to_dtype(input, dtype)).content()
        shape = shape_of(x)
        axis = axis_of(dim, len(shape))
        kernel = "lastdim_kernel_impl" if axis == max(len(shape) - 1, 0) else "kernel_impl"
        refuse({"biuc": f"{name}_{kernel}"}, x)
        return boxed(computed(along, x, axis=axis) if shape else computed(alone, x), kind)

    return function


# of a tensor without dimensions they are 1 and 0, but for infinities and NaN
softmax = _softmax(
    "softmax", core.softmax, lambda x: t.exp(a.subtract(x, x)),
    node("Softmax", "result", tells="dim", of="softmax"),
    "``exp(x) / sum(exp(x))`` along a dimension.",
)  # fmt: skip
log_softmax = _softmax(
    "log_softmax", core.log_softmax, lambda x: a.subtract(x, x),
    node("LogSoftmax", "result", tells="dim", of="log_softmax"), "The logarithm of `softmax`.",
)  # fmt: skip


def _weights(y: Array, x: Array, **_: Any) -> tuple[None, Array]:
    """Of an infinite sum no part is known."""
    return None, t.exp(a.subtract(x, y))


OF_SUM = restated_reduction(core.LOGSUMEXP, np.max, _weights, np.isfinite)


def _log_of_sum(x: Array, axis: Any, keepdims: bool) -> Array:
    return bind(OF_SUM, (x,), {"axes": axes_of(axis, len(shape_of(x))), "keepdims": keepdims})


_log_of_sum.primitive = OF_SUM  # type: ignore[attr-defined]
LOG_OF_SUM = dense_or("logsumexp", _log_of_sum)
LOGSUMEXP = node("Logsumexp", "result self", tells="dim keepdim", of="logsumexp")


@operation(
    "logsumexp", "input, dims dim, bool keepdim=False, *, out", variants="method",
    remembers=True,
)  # fmt: skip
def logsumexp(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """``log(sum(exp(x)))`` over dimensions."""
    x = floating("logsumexp", input)
    axes = axes_of(dim, len(shape_of(x)))
    return boxed(computed(LOG_OF_SUM, x, axis=axes, keepdims=keepdim), LOGSUMEXP)
