"""Sums, means, products, counts and truth over dimensions."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer, bind
from funcgrad.core.types import Array
from funcgrad.kernels.copies import product_of
from funcgrad.ops import arithmetic as a
from funcgrad.ops import constant, nonlinear_reductions, sums
from funcgrad.ops.samples import unary
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.memory_formats import dense
from funcgrad.torch.operations.arithmetic import div
from funcgrad.torch.operations.common import axes_of, boxed, computed, quietly, shape_of, told
from funcgrad.torch.operations.dense import dense_composite, dense_or
from funcgrad.torch.operations.promotion import dtype_of, in_dtype, kind_of
from funcgrad.torch.operations.record import Function, node, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.restated import restated_reduction, stated

__all__ = [
    "all", "any", "count_nonzero", "mean", "nanmean", "nansum", "prod", "sum",
]  # fmt: skip


def accumulator(x: Array, dtype: dtypes.dtype | None) -> Array:
    """The operand in the dtype in which sums are formed: integers in int64."""
    if dtype is not None:
        return in_dtype(x, dtype.numpy)
    return a.cast(x, np.int64) if dtype_of(x).kind in "bui" else x


SUM_OVER = dense_or("sum", sums.sum, linear=True)
MEAN_OVER = dense_or("mean", sums.mean, linear=True)


def _factors(
    y: Array, x: Array, *, axes: Any, keepdims: bool, dtype: Any, initial: Any
) -> tuple[None, Array]:
    """The product of the other factors: without zeros the quotient, which may be none."""
    rest = {"axes": axes, "keepdims": keepdims, "dtype": dtype, "initial": initial}
    others = nonlinear_reductions.prod_partial(y, x, **rest)[1]
    if not isinstance(y, Tracer) and np.isfinite(y).all():
        return None, others
    zeros = constant.any(a.equal(x, 0))
    quotient = a.divide(y, a.where(zeros, 1, x))
    return None, a.where(a.logical_or(zeros, a.isfinite(y)), others, quotient)


def _product_of(x: Any, *, axes: Any, keepdims: bool, dtype: Any, initial: Any) -> Any:
    """The product, of all elements in blocks that threads share."""
    whole = type(x) is np.ndarray and len(axes) == x.ndim and x.flags.c_contiguous
    found = product_of(x) if whole else None
    if found is None:
        core = nonlinear_reductions.PROD
        return core.impl(x, axes=axes, keepdims=keepdims, dtype=dtype, initial=initial)
    made = x.dtype.type(found)
    return np.full((1,) * x.ndim, made) if keepdims else made


PRODUCT = restated_reduction(nonlinear_reductions.PROD, np.prod, _factors, np.isfinite, _product_of)


def _product(x: Array, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(axis, len(shape_of(x)))
    return bind(PRODUCT, (x,), {"axes": axes, "keepdims": keepdims, "dtype": None, "initial": None})


_product.primitive = PRODUCT  # type: ignore[attr-defined]
PRODUCT_OVER = dense_or("prod", _product)
NUMBERS_OF_MEAN = "self_sym_sizes self_sym_numel"
SUM = node("Sum", tells="self_sym_sizes", of="sum")
SUM_ALONG = node("SumBackward1", tells="dim keepdim self_sym_sizes")
MEAN = node("Mean", tells=NUMBERS_OF_MEAN, of="mean")
MEAN_ALONG = node("MeanBackward1", tells=f"dim keepdim {NUMBERS_OF_MEAN}")
PROD = node("Prod", "result self", of="prod")
PROD_ALONG = node("ProdBackward1", "result self", tells="dim keepdim")

ALONG = "dim, bool keepdim=False, *, dtype dtype=None, out"


@operation(
    "sum", f"input, *, dtype dtype=None | input, dims? {ALONG}",
    variants="method", remembers=True,
)  # fmt: skip
def sum(input: Tensor, dtype: dtypes.dtype | None, dim: Any, keepdim: bool) -> Tensor:
    """The sum over dimensions; integers are summed in int64."""
    x = accumulator(input.content(), dtype)
    axes = axes_of(dim, len(shape_of(x)))
    kind = SUM if dim is None and not keepdim else SUM_ALONG
    return boxed(computed(SUM_OVER, x, axis=axes, keepdims=keepdim), kind)


@operation(
    "mean", f"input, *, dtype dtype=None, out | input, dims? {ALONG}",
    variants="method", remembers=True,
)  # fmt: skip
def mean(input: Tensor, dtype: dtypes.dtype | None, dim: Any, keepdim: bool) -> Tensor:
    """The mean over dimensions, of floating or complex numbers."""
    x = input.content() if dtype is None else in_dtype(input.content(), dtype.numpy)
    if dtype_of(x).kind not in "fc":
        which = "Optional dtype" if dtype is not None else "Input dtype"
        start = "" if dtype is not None else "could not infer output dtype. "
        raise RuntimeError(
            f"mean(): {start}{which} must be either a floating point or complex dtype. Got: "
            f"{dtypes.scalar_name(kind_of(x))}"
        )
    axes = axes_of(dim, len(shape_of(x)))
    applied = quietly if 0 in shape_of(x) else computed
    kind = MEAN if dim is None and not keepdim else MEAN_ALONG
    return boxed(applied(MEAN_OVER, x, axis=axes, keepdims=keepdim), kind)


@operation(
    "prod", f"input, *, dtype dtype=None | input, int {ALONG}",
    variants="method", remembers=True,
)  # fmt: skip
def prod(input: Tensor, dtype: dtypes.dtype | None, dim: int | None, keepdim: bool) -> Tensor:
    """The product of all elements, or along one dimension."""
    x = accumulator(input.content(), dtype)
    axes = axes_of(dim, len(shape_of(x)))
    kind = PROD if dim is None else PROD_ALONG
    return boxed(computed(PRODUCT_OVER, x, axis=axes, keepdims=keepdim), kind)


# -------------------------------------------------------------------------------- without NaN


# a NaN takes part with 0, which times an infinite cotangent is none
KNOWN = stated(
    "torch.known",
    lambda x: a.where(a.isnan(x), np.zeros((), dtype_of(x))[()], x),
    lambda _, x: a.logical_not(a.isnan(x)),
    sample=unary(),
)


def _sum_of_known(x: Array, axes: tuple[int, ...], keepdim: bool) -> Array:
    return sums.sum(KNOWN(x), axes, keepdim)


NANSUM = dense_composite("nansum", _sum_of_known)
NANSUM_NODE = node("Nansum", "self", tells="dim keepdim")
OVER = "input, dims dim=None, bool keepdim=False, *, dtype dtype=None, out"


@operation("nansum", OVER, variants="method")
def nansum(input: Tensor, dim: Any, keepdim: bool, dtype: dtypes.dtype | None) -> Tensor:
    """The sum of what is not NaN."""
    x = input.content()
    if dtype_of(x).kind == "c":
        raise RuntimeError("nansum does not support complex inputs")
    if dtype_of(x).kind in "biu":
        return sum(input, dim, keepdim, dtype=dtype)
    x = accumulator(x, dtype)
    axes = axes_of(dim, len(shape_of(x)))
    result = boxed(computed(NANSUM, x, axes=axes, keepdim=keepdim), NANSUM_NODE)
    return told(result, dim=None if dim is None else axes, keepdim=keepdim)


@operation("nanmean", OVER, variants="method")
@requires("""
    kind(input) in "fc": nanmean(): expected input to have floating point or complex dtype but got
        {scalar_name(input)}
""")
def nanmean(input: Tensor, dim: Any, keepdim: bool, dtype: dtypes.dtype | None) -> Tensor:
    """The mean of what is not NaN."""
    x = input.content()
    axes = axes_of(dim, len(shape_of(x)))
    count = dense(constant.count_nonzero(a.logical_not(a.isnan(x)), axes, keepdim))
    return div(nansum(input, dim, keepdim, dtype=dtype), box(count))


# ---------------------------------------------------------------------------- counts and truth


def _truth(name: str, core: Any) -> Function[Tensor]:
    @operation(
        name, "input, *, out | input, dims dim=None, bool keepdim=False, *, out"
        " | input, int dim, bool keepdim=False, *, out",
        variants="method", doc=f"Whether {name} of the elements are true, over dimensions.",
    )  # fmt: skip
    def function(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
        x = input.content()
        axes = () if dim == () else axes_of(dim, len(shape_of(x)))
        found = dense(core(x, axes, keepdim))
        # bytes, as PyTorch's booleans once were
        return box(a.cast(found, np.uint8) if dtype_of(x) == np.uint8 else found)

    return function


all = _truth("all", constant.all)
any = _truth("any", constant.any)


@operation("count_nonzero", "input, int dim=None | input, ints dim", variants="method")
def count_nonzero(input: Tensor, dim: Any) -> Tensor:
    """How many elements are not 0, over dimensions."""
    x = input.content()
    found = constant.count_nonzero(x, axes_of(dim, len(shape_of(x))))
    return box(dense(a.cast(found, np.int64)))


@operation("sum_to_size", "input, ints size", variants="method")
def _sum_to_size(input: Tensor, size: Any) -> Tensor:
    """The sum over the dimensions that broadcasting from `size` would add or widen."""
    shape, target = shape_of(input), tuple(size)
    lead = len(shape) - len(target)
    fits = lead >= 0 and builtins.all(
        t in (1, n) for t, n in zip(target, shape[lead:], strict=True)
    )
    if not fits:
        raise RuntimeError(f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.")
    axes = [k for k, n in enumerate(shape) if k < lead or (target[k - lead] == 1 and n != 1)]
    if not axes:
        return input if shape else sum(input, ())
    found = sum(input, axes, True)
    return found.view(target) if lead else found
