"""Running sums and products, differences, and integrals by trapezoids."""

from __future__ import annotations

from typing import Any

from funcgrad.ops import cumulative as core
from funcgrad.ops import logcumsumexp as logarithmic
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations import arithmetic, comparison
from funcgrad.torch.operations.common import (
    axis_of,
    boxed,
    computed,
    copied,
    inplace,
    install,
    into,
    method,
    named,
    numpy_names,
    shape_of,
)
from funcgrad.torch.operations.parts import narrow, select
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.operations.reductions import accumulator
from funcgrad.torch.operations.reductions import sum as sum_

__all__ = [
    "cumprod", "cumsum", "cumulative_trapezoid", "diff", "logcumsumexp", "trapezoid", "trapz",
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
        return result if out is None else into(out, result, name)

    function.__name__ = function.__qualname__ = name
    install(**{name: function, f"{name}_": inplace(function, f"{name}_")})
    return function


cumsum = _running("cumsum", core.cumsum, named("CumsumBackward0"))
cumsum.__doc__ = "The running sum along a dimension; integers are summed in int64."
cumprod = _running("cumprod", core.cumprod, named("CumprodBackward0", "result", "self"))
cumprod.__doc__ = "The running product along a dimension; exact where factors are zero."
LOGCUMSUMEXP = named("LogcumsumexpBackward0", "result", "self")


@method()
@numpy_names
def logcumsumexp(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the running sum of exponentials along a dimension."""
    x = content(input, "logcumsumexp")
    refuse_kinds("logcumsumexp_out_cpu", "biu", x)
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    found = computed(logarithmic.logcumsumexp, x, axis) if shape else copied(x)
    result = boxed(found, LOGCUMSUMEXP)
    return result if out is None else into(out, result, "logcumsumexp")


# ------------------------------------------------------------------------------ differences


@method()
@numpy_names
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
    append: Tensor | None = None, *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The `n`-th differences of neighbours along a dimension."""
    from funcgrad.torch.operations.joining import cat

    shape = shape_of(content(input, "diff"))
    if not shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = axis_of(dim, len(shape))
    given = [x for x in (prepend, input, append) if x is not None]
    x = cat(given, axis) if len(given) > 1 else input
    if n == 0:
        return into(out, x, "diff") if len(given) > 1 else boxed(copied(x.content()))
    for _ in range(min(n, shape_of(x)[axis])):
        length = shape_of(x)[axis] - 1
        later, earlier = narrow(x, axis, 1, length), narrow(x, axis, 0, length)
        if dtype_of(x.content()).kind == "b":
            x = comparison.logical_xor(later, earlier)
        else:
            x = arithmetic.sub(later, earlier)
    return into(out, x, "diff")


# ------------------------------------------------------------------------------- trapezoids


def _ends(y: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    length = shape_of(y)[axis] - 1
    return narrow(y, axis, 0, length), narrow(y, axis, 1, length)


def _spacing(y: Tensor, x: Tensor, axis: int) -> Tensor:
    """The gaps between the places, in the rank of `y`."""
    if x.ndim == 1:
        if shape_of(x)[0] != shape_of(y)[axis]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        x = x.view([-1 if k == axis else 1 for k in range(y.ndim)])
    return diff(x, dim=axis - y.ndim)


@numpy_names
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """The integral by trapezoids along a dimension, at places `x` or `dx` apart."""
    axis = axis_of(dim, y.ndim)
    if x is None:
        ends = arithmetic.add(select(y, axis, 0), select(y, axis, -1))
        inner = arithmetic.sub(sum_(y, axis), arithmetic.mul_scalar(ends, 0.5))
        return arithmetic.mul_scalar(inner, dx)
    first, second = _ends(y, axis)
    heights = arithmetic.mul(arithmetic.add(first, second), _spacing(y, x, axis))
    return arithmetic.div_scalar(sum_(heights, axis), 2.0)


trapz = trapezoid


@numpy_names
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1
) -> Tensor:
    """The running integral by trapezoids along a dimension."""
    axis = axis_of(dim, y.ndim)
    first, second = _ends(y, axis)
    heights = arithmetic.add(first, second)
    if x is None:
        found: Tensor = cumsum(arithmetic.mul_scalar(heights, dx / 2), axis)
        return found
    whole: Tensor = cumsum(arithmetic.mul(heights, _spacing(y, x, axis)), axis)
    return arithmetic.div_scalar(whole, 2.0)
