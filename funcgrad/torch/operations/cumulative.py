"""Running sums and products."""

from __future__ import annotations

import itertools
from typing import Any

from funcgrad.core.primitive import PRIMITIVES
from funcgrad.core.types import Array
from funcgrad.ops import cumulative as core
from funcgrad.ops import logcumsumexp as logarithmic
from funcgrad.ops.index import getitem
from funcgrad.ops.shape import concatenate
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
from funcgrad.torch.operations.dense import dense_composite, dense_or
from funcgrad.torch.operations.elementary import complex_log_sum
from funcgrad.torch.operations.promotion import dtype_of
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
for _name in ("cumsum", "torch.cumsum"):  # of doubles, and of what is added up in them
    lines.add_running_sum(PRIMITIVES[_name])
cumprod = _running(
    "cumprod", core.cumprod, node("Cumprod", "result self", tells="dim", of="cumprod"),
    "The running product along a dimension; exact where factors are zero.",
)  # fmt: skip


def _complex_log_along(x: Array, axis: int) -> Array:
    """One step after the other, as each is stable."""
    before = (slice(None),) * axis
    steps = [getitem(x, (*before, slice(k, k + 1))) for k in range(shape_of(x)[axis])]
    found = list(itertools.accumulate(steps, complex_log_sum))
    return concatenate(found, axis) if found else x


COMPLEX_LOG_ALONG = dense_composite("logcumsumexp_of_complex", _complex_log_along)
LOG_ALONG = dense_or("logcumsumexp", logarithmic.logcumsumexp)
LOGCUMSUMEXP = node("Logcumsumexp", "result self", tells="dim", of="logcumsumexp")


@operation("logcumsumexp", "input, int dim, *, out", variants="method")
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the running sum of exponentials along a dimension."""
    x = input.content()
    refuse({"biu": "logcumsumexp_out_cpu"}, x)
    along = COMPLEX_LOG_ALONG if dtype_of(x).kind == "c" else LOG_ALONG
    return _along(along, x, dim, LOGCUMSUMEXP)
