"""Running sums and products."""

from __future__ import annotations

from typing import Any

from funcgrad.core.primitive import PRIMITIVES
from funcgrad.ops import cumulative as core
from funcgrad.ops import logcumsumexp as logarithmic
from funcgrad.torch import lines
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.common import (
    RUNNING,
    axis_of,
    boxed,
    computed,
    copied,
    inplace,
    install,
    into,
    method,
    named,
    narrow_or,
    numpy_names,
    shape_of,
    told,
)
from funcgrad.torch.operations.promotion import content
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.operations.reductions import accumulator
from funcgrad.torch.remembered import remembered

__all__ = [
    "cumprod", "cumsum", "logcumsumexp",
]  # fmt: skip


def _running(name: str, along: Any, node: Any) -> Any:
    @numpy_names
    def function(
        input: Tensor, dim: int, *, dtype: Any = None, out: Tensor | None = None
    ) -> Tensor:
        x = accumulator(content(input, name), dtype)
        shape = shape_of(x)
        axis = axis_of(dim, len(shape))
        result = boxed(computed(along, x, axis=axis) if shape else computed(copied, x), node)
        told(result, dim=axis)
        return result if out is None else into(out, result, name)

    along = narrow_or(name, along, wider=RUNNING, linear=name == "cumsum")
    function.__name__ = function.__qualname__ = name
    function = remembered(function)
    install(**{name: function, f"{name}_": inplace(function, f"{name}_")})
    return function


cumsum = _running("cumsum", core.cumsum, named("CumsumBackward0"))
lines.add_running_sum(PRIMITIVES["torch.cumsum"])
cumsum.__doc__ = "The running sum along a dimension; integers are summed in int64."
cumprod = _running("cumprod", core.cumprod, named("CumprodBackward0", "result", "self"))
cumprod.__doc__ = "The running product along a dimension; exact where factors are zero."
LOG_ALONG = narrow_or("logcumsumexp", logarithmic.logcumsumexp)
LOGCUMSUMEXP = named("LogcumsumexpBackward0", "result", "self")


@method()
@numpy_names
def logcumsumexp(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the running sum of exponentials along a dimension."""
    x = content(input, "logcumsumexp")
    refuse_kinds("logcumsumexp_out_cpu", "biu", x)
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    found = computed(LOG_ALONG, x, axis=axis) if shape else copied(x)
    result = told(boxed(found, LOGCUMSUMEXP), dim=axis)
    return result if out is None else into(out, result, "logcumsumexp")
