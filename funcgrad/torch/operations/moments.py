"""Variance and standard deviation, alone and with the mean."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np

from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.errors import outside
from funcgrad.ops import arithmetic as a
from funcgrad.ops import sums
from funcgrad.ops.nonlinear_reductions import STD, VAR, std_partial, var_partial
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.moments_of_lines import variance
from funcgrad.torch.operations.common import (
    axes_of,
    boxed,
    boxed_all,
    computed,
    quietly,
    shape_of,
    told,
)
from funcgrad.torch.operations.dense import dense_composite, dense_or
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import Function, NodeClass, node, operation
from funcgrad.torch.operations.restated import restated_reduction

__all__ = ["std", "std_mean", "var", "var_mean"]

DEGREES = (
    "{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
    "factor (input numel divided by output numel)."
)
OVER = (
    "input, dims? dim, bool unbiased=True, bool keepdim=False{out}"
    " | input, dims dim=None, *, Number correction=None, bool keepdim=False{more}"
    " | input, bool unbiased=True"
)
TELLS = "dim correction keepdim"


def _prepared(name: str, input: Tensor, dim: Any, unbiased: bool, correction: Any) -> Any:
    """The content, the axes, the correction, from PyTorch's two ways to say it; how to compute."""
    if correction is None:
        correction = int(unbiased)
    x = input.content()
    if dtype_of(x).kind not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    shape = shape_of(x)
    axes = axes_of(dim, len(shape))
    if math.prod(shape[k] for k in axes) - correction > 0:
        return x, axes, correction, computed
    warnings.warn(DEGREES.format(name=name), UserWarning, stacklevel=outside())
    return x, axes, correction, quietly


def _shown(
    dim: Any, axes: Any, ddof: Any, keepdim: bool, unbiased: bool, correction: Any
) -> dict[str, Any]:
    """What nodes show of a call: None stands for what was not given."""
    alone = dim is None and unbiased and correction is None
    return {
        "dim": None if dim is None else axes, "correction": None if alone else ddof,
        "keepdim": keepdim,
    }  # fmt: skip


def _values(
    root: bool, x: Any, *, axes: tuple[int, ...], keepdims: bool, dtype: None, ddof: float
) -> Any:
    """The variance or its root, computed in double as PyTorch does."""
    found = variance(x, axes, ddof, keepdims)
    if root:
        found = np.sqrt(found)
    kind = x.real.dtype.newbyteorder("=")
    return found if found.dtype == kind else found.astype(kind)


def _in_double(core: Any, x: Array, **params: Any) -> Array:
    """The core's operation, for whoever stages ours: its values are computed in double, too."""
    kind = dtype_of(x)
    wide = np.dtype("c16" if kind.kind == "c" else "f8")
    found = bind(core, (x,), {**params, "dtype": wide})
    return a.cast(found, np.dtype(f"f{kind.itemsize // (2 if kind.kind == 'c' else 1)}"))


def _record(core: Any, numpy_function: Any, partial: Any, root: bool) -> Any:
    made = restated_reduction(
        core, numpy_function, partial, lambda _: True, functools.partial(_values, root), _in_double
    )

    def applied(x: Array, axis: Any, ddof: float, keepdims: bool) -> Array:
        params = {"axes": axis, "keepdims": keepdims, "dtype": None, "ddof": ddof}
        return bind(made, (x,), params)

    applied.primitive = made  # type: ignore[attr-defined]
    return applied


_var = _record(VAR, np.var, var_partial, False)
_std = _record(STD, np.std, std_partial, True)


def _moment(name: str, core: Any, kind: NodeClass, doc: str) -> Function[Tensor]:
    core = dense_or(name, core)

    @operation(
        name, OVER.format(out=", *, out", more=", out"), variants="method", doc=doc,
        remembers=True,
    )  # fmt: skip
    def function(
        input: Tensor, dim: Any, unbiased: bool, keepdim: bool, correction: float | None
    ) -> Tensor:
        x, axes, ddof, applied = _prepared(name, input, dim, unbiased, correction)
        result = boxed(applied(core, x, axis=axes, ddof=ddof, keepdims=keepdim), kind)
        return told(result, **_shown(dim, axes, ddof, keepdim, unbiased, correction))

    return function


var = _moment(
    "var", _var, node("Var", "self", tells=TELLS, of="var"),
    "The variance over dimensions, divided by the number of elements less `correction`.",
)  # fmt: skip
std = _moment(
    "std", _std, node("Std", "result self", tells=TELLS, of="std"),
    "The standard deviation over dimensions; its gradient is 0 where there is no spread.",
)  # fmt: skip


def _pair(name: str, core: Any, kind: NodeClass) -> Function[tuple[Tensor, ...]]:
    def both(x: Array, axes: Any, ddof: Any, keepdim: bool) -> tuple[Array, Array]:
        return core(x, axes, ddof, keepdim), sums.mean(x, axes, keepdim)

    over = dense_composite(name, both, multiple=True)

    @operation(
        name, OVER.format(out="", more=""), variants="",
        doc=f"`{name.removesuffix('_mean')}` and `mean` over dimensions.",
    )  # fmt: skip
    def function(
        input: Tensor, dim: Any, unbiased: bool, keepdim: bool, correction: float | None
    ) -> tuple[Tensor, ...]:
        x, axes, ddof, applied = _prepared(name, input, dim, unbiased, correction)
        results = boxed_all(applied(over, x, axes=axes, ddof=ddof, keepdim=keepdim), kind)
        told(results[0], **_shown(dim, axes, ddof, keepdim, unbiased, correction))
        return results

    return function


var_mean = _pair("var_mean", _var, node("VarMean", "self", tells=TELLS))
std_mean = _pair("std_mean", _std, node("StdMean", "result0 self", tells=TELLS))
