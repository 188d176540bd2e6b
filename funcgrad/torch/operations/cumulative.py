"""Running sums and products."""

from __future__ import annotations

from typing import Any

from funcgrad.core.primitive import PRIMITIVES
from funcgrad.ops import cumulative as core
from funcgrad.ops import logcumsumexp as logarithmic
from funcgrad.torch import dtypes, lines
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.common import (
    RUNNING,
    axis_of,
    boxed,
    computed,
    copied,
    shape_of,
    told,
)
from funcgrad.torch.operations.dense import dense_or
from funcgrad.torch.operations.record import Function, NodeClass, node, operation, refuse
from funcgrad.torch.operations.reductions import accumulator

__all__ = ["cumprod", "cumsum", "logcumsumexp"]


def _along(core: Any, x: Any, dim: int, kind: NodeClass) -> Tensor:
    """A running result; one of a tensor without dimensions is a copy."""
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    found = computed(core, x, axis=axis) if shape else computed(copied, x)
    return told(boxed(found, kind), dim=axis)


def _running(name: str, core: Any, kind: NodeClass, doc: str) -> Function[Tensor]:
    along = dense_or(name, core, RUNNING, linear=name == "cumsum")

    @operation(name, "input, int dim, *, dtype dtype=None, out", doc=doc, remembers=True)
    def function(input: Tensor, dim: int, dtype: dtypes.dtype | None) -> Tensor:
        return _along(along, accumulator(input.content(), dtype), dim, kind)

    return function


cumsum = _running(
    "cumsum", core.cumsum, node("Cumsum", tells="dim", of="cumsum"),
    "The running sum along a dimension; integers are summed in int64.",
)  # fmt: skip
lines.add_running_sum(PRIMITIVES["torch.cumsum"])
cumprod = _running(
    "cumprod", core.cumprod, node("Cumprod", "result self", tells="dim", of="cumprod"),
    "The running product along a dimension; exact where factors are zero.",
)  # fmt: skip
LOG_ALONG = dense_or("logcumsumexp", logarithmic.logcumsumexp)
LOGCUMSUMEXP = node("Logcumsumexp", "result self", tells="dim", of="logcumsumexp")


@operation("logcumsumexp", "input, int dim, *, out", variants="method")
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the running sum of exponentials along a dimension."""
    x = input.content()
    refuse({"biu": "logcumsumexp_out_cpu"}, x)
    return _along(LOG_ALONG, x, dim, LOGCUMSUMEXP)
