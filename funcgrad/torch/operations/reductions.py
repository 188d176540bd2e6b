"""Sums, means, products, counts and truth over dimensions."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import constant, nonlinear_reductions, sums
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.dimensions import check_flag
from funcgrad.torch.operations.common import (
    axes_of,
    boxed,
    computed,
    install,
    into,
    method,
    named,
    narrow_or,
    numpy_names,
    quietly,
    shape_of,
    told,
    widened,
)
from funcgrad.torch.operations.promotion import content, dtype_of, in_dtype, kind_of
from funcgrad.torch.remembered import remembered

__all__ = [
    "all", "any", "count_nonzero", "mean", "nanmean", "nansum", "prod", "sum",
]  # fmt: skip


def accumulator(x: Array, dtype: Any) -> Array:
    """The operand in the dtype in which sums are formed: integers in int64."""
    if dtype is not None:
        return in_dtype(x, dtype.numpy)
    return a.cast(x, np.int64) if dtype_of(x).kind in "bui" else x


def _checked_dims(function: str, dim: Any) -> None:
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    for d in dims:
        if d is not None and (isinstance(d, (str, float)) or not hasattr(d, "__index__")):
            raise TypeError(
                f"{function}() received an invalid combination of arguments - got "
                f"({type(dim).__name__}), but expected a dimension, or a tuple of ints"
            )


SUM_OVER, MEAN_OVER, PRODUCT_OVER = (
    narrow_or(core.__name__, core, linear=core is not nonlinear_reductions.prod)
    for core in (sums.sum, sums.mean, nonlinear_reductions.prod)
)
SUM, SUM_ALONG = named("SumBackward0"), named("SumBackward1")
MEAN, MEAN_ALONG = named("MeanBackward0"), named("MeanBackward1")


@method()
@remembered
@numpy_names
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
        out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The sum over dimensions; integers are summed in int64."""
    check_flag("sum", "keepdim", 2, keepdim)
    _checked_dims("sum", dim)
    x = accumulator(content(input, "sum"), dtype)
    axes = axes_of(dim, len(shape_of(x)))
    whole = dim is None and not keepdim
    result = boxed(computed(SUM_OVER, x, axis=axes, keepdims=keepdim), SUM if whole else SUM_ALONG)
    return result if out is None else into(out, result, "sum")


@method()
@remembered
@numpy_names
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
         out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The mean over dimensions, of floating or complex numbers."""
    check_flag("mean", "keepdim", 2, keepdim)
    _checked_dims("mean", dim)
    x = content(input, "mean")
    if dtype is not None:
        x = in_dtype(x, dtype.numpy)
    if dtype_of(x).kind not in "fc":
        which = "Optional dtype" if dtype is not None else "Input dtype"
        start = "" if dtype is not None else "could not infer output dtype. "
        raise RuntimeError(
            f"mean(): {start}{which} must be either a floating point or complex dtype. Got: "
            f"{dtypes.scalar_name(kind_of(x))}"
        )
    axes = axes_of(dim, len(shape_of(x)))
    whole = dim is None and not keepdim
    applied = computed if 0 not in shape_of(x) else quietly
    result = boxed(
        applied(MEAN_OVER, x, axis=axes, keepdims=keepdim), MEAN if whole else MEAN_ALONG
    )
    return result if out is None else into(out, result, "mean")


PROD, PROD_ALONG = (named(f"ProdBackward{k}", "result", "self") for k in (0, 1))


@method()
@remembered
@numpy_names
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None,
         out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The product of all elements, or along one dimension."""
    if dim is not None and not isinstance(dim, int):
        raise TypeError(f"prod(): argument 'dim' must be int, not {type(dim).__name__}")
    check_flag("prod", "keepdim", 2, keepdim)
    x = accumulator(content(input, "prod"), dtype)
    axes = axes_of(dim, len(shape_of(x)))
    found = computed(PRODUCT_OVER, x, axis=axes, keepdims=keepdim)
    result = boxed(found, PROD if dim is None else PROD_ALONG)
    return result if out is None else into(out, result, "prod")


# -------------------------------------------------------------------------------- without NaN


def _known(x: Array) -> Array:
    return a.where(a.isnan(x), np.zeros((), dtype_of(x))[()], x)


NANSUM = Composite("nansum", widened(lambda x, axes, keepdim: sums.sum(_known(x), axes, keepdim)))
NANSUM_NODE = named("NansumBackward0", "", "self")


@method()
@numpy_names
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
           out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The sum of what is not NaN."""
    x = content(input, "nansum")
    check_flag("nansum", "keepdim", 2, keepdim)
    if dtype_of(x).kind == "c":
        raise RuntimeError("nansum does not support complex inputs")
    if dtype_of(x).kind in "biu":
        return sum(input, dim, keepdim, dtype=dtype, out=out)
    x = accumulator(x, dtype)
    axes = axes_of(dim, len(shape_of(x)))
    result = boxed(computed(NANSUM, x, axes=axes, keepdim=keepdim), NANSUM_NODE)
    told(result, dim=None if dim is None else axes, keepdim=keepdim)
    return result if out is None else into(out, result, "nansum")


@method()
@numpy_names
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
            out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The mean of what is not NaN."""
    x = content(input, "nanmean")
    check_flag("nanmean", "keepdim", 2, keepdim)
    if dtype_of(x).kind not in "fc":
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{dtypes.scalar_name(kind_of(x))}"
        )
    from funcgrad.torch.operations.arithmetic import div

    axes = axes_of(dim, len(shape_of(x)))
    count = constant.count_nonzero(a.logical_not(a.isnan(x)), axes, keepdim)
    total = nansum(input, dim, keepdim, dtype=dtype)
    return div(total, box(count), out=out)


# ---------------------------------------------------------------------------- counts and truth


def _truth(name: str, core: Any) -> Any:
    @method(name)
    @numpy_names
    def function(input: Tensor, dim: Any = None, keepdim: bool = False, *,
                 out: Tensor | None = None) -> Tensor:  # fmt: skip
        x = content(input, name)
        _checked_dims(name, dim)
        check_flag(name, "keepdim", 2, keepdim)
        axes = () if dim == () else axes_of(dim, len(shape_of(x)))
        found = core(x, axes, keepdim)
        if dtype_of(x) == np.uint8:  # as PyTorch's booleans once were
            found = a.cast(found, np.uint8)
        return into(out, box(found), name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Whether {name} of the elements are true, over dimensions."
    return function


all = _truth("all", constant.all)
any = _truth("any", constant.any)


@method()
@numpy_names
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not 0, over dimensions."""
    x = content(input, "count_nonzero")
    found = constant.count_nonzero(x, axes_of(dim, len(shape_of(x))))
    return box(a.cast(found, np.int64))


def _sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over the dimensions that broadcasting from `size` would add or widen."""
    shape, target = shape_of(self), tuple(size[0] if isinstance(size[0], (tuple, list)) else size)
    lead = len(shape) - len(target)
    fits = lead >= 0 and builtins.all(
        t in (1, n) for t, n in zip(target, shape[lead:], strict=True)
    )
    if not fits:
        raise RuntimeError(f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.")
    axes = [k for k, n in enumerate(shape) if k < lead or (target[k - lead] == 1 and n != 1)]
    if not axes:
        return self
    found: Tensor = sum(self, axes, True)
    return found.view(target) if lead else found


install(sum_to_size=_sum_to_size)
