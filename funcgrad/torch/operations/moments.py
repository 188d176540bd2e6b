"""Variance and standard deviation, alone and with the mean."""

from __future__ import annotations

import warnings
from typing import Any

from funcgrad.core.types import Array
from funcgrad.ops import nonlinear_reductions, sums
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.dimensions import check_flag
from funcgrad.torch.operations.common import (
    axes_of,
    boxed,
    boxed_all,
    computed,
    install,
    into,
    named,
    narrow_or,
    numpy_names,
    quietly,
    shape_of,
    told,
    widened,
)
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.remembered import remembered
from funcgrad.torch.saved import outside

__all__ = ["std", "std_mean", "var", "var_mean"]

DEGREES = (
    "{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
    "factor (input numel divided by output numel)."
)


def _prepared(
    name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: Any, correction: Any
) -> Any:
    """The content, the axes, the correction, from PyTorch's two ways to say it; how to compute."""
    if isinstance(dim, bool):  # var(unbiased)
        dim, unbiased = None, dim
    if unbiased is not None:
        check_flag(name, "unbiased", 2, unbiased)
    check_flag(name, "keepdim", 3, keepdim)
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}() takes unbiased or correction, not both")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    x = content(input, name)
    if dtype_of(x).kind not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    shape = shape_of(x)
    axes = axes_of(dim, len(shape))
    count = 1
    for k in axes:
        count *= shape[k]
    if count - correction > 0:
        return x, axes, correction, computed
    warnings.warn(DEGREES.format(name=name), UserWarning, stacklevel=outside())
    return x, axes, correction, quietly


def _shown(
    dim: Any, axes: Any, ddof: Any, keepdim: bool, unbiased: Any, correction: Any
) -> dict[str, Any]:
    """What nodes show of a call: None stands for what was not given."""
    whole = dim is None or isinstance(dim, bool)
    alone = whole and unbiased is None and correction is None and dim is None
    return {
        "dim": None if whole else axes, "correction": None if alone else ddof, "keepdim": keepdim
    }  # fmt: skip


def _moment(name: str, core: Any, node: Any) -> Any:
    core = narrow_or(name, core)

    @numpy_names
    def function(
        input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None, out: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        x, axes, ddof, applied = _prepared(name, input, dim, unbiased, keepdim, correction)
        result = boxed(applied(core, x, axis=axes, ddof=ddof, keepdims=keepdim), node)
        told(result, **_shown(dim, axes, ddof, keepdim, unbiased, correction))
        return result if out is None else into(out, result, name)

    function.__name__ = function.__qualname__ = name
    function = remembered(function)
    install(**{name: function})
    return function


var = _moment("var", nonlinear_reductions.var, named("VarBackward0", "", "self"))
var.__doc__ = "The variance over dimensions, divided by the number of elements less `correction`."
std = _moment("std", nonlinear_reductions.std, named("StdBackward0", "result", "self"))
std.__doc__ = "The standard deviation over dimensions; its gradient is 0 where there is no spread."


def _pair(name: str, core: Any, node: Any) -> Any:
    def both(x: Array, axes: Any, ddof: Any, keepdim: bool) -> tuple[Array, Array]:
        return core(x, axes, ddof, keepdim), sums.mean(x, axes, keepdim)

    operation = Composite(name, widened(both), multiple=True)

    @numpy_names
    def function(
        input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None, out: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        x, axes, ddof, applied = _prepared(name, input, dim, unbiased, keepdim, correction)
        found = applied(operation, x, axes=axes, ddof=ddof, keepdim=keepdim)
        results = boxed_all(found, node)
        told(results[0], **_shown(dim, axes, ddof, keepdim, unbiased, correction))
        if out is None:
            return results
        return tuple(into(o, r, name) for o, r in zip(out, results, strict=True))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name.removesuffix('_mean')}` and `mean` over dimensions."
    return function


var_mean = _pair("var_mean", nonlinear_reductions.var, named("VarMeanBackward0", "", "self"))
std_mean = _pair("std_mean", nonlinear_reductions.std, named("StdMeanBackward0", "result0", "self"))
