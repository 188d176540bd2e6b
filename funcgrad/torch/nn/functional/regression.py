"""Losses of regression: the squared error and its kin."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from funcgrad.core.types import Array
from funcgrad.errors import outside
from funcgrad.ops import arithmetic as a
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.functional.common import (
    broadcast,
    check_cast,
    reduced,
    reduced_tensor,
    reduction_of,
)
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    widened,
)
from funcgrad.torch.operations.promotion import content, promoted
from funcgrad.torch.operations.record import node
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.operations.results import laid
from funcgrad.torch.remembered import remembered

__all__ = ["huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"]

SIZES = (
    "Using a target size ({target}) that is different to the input size ({input}). This will "
    "likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
)


def _broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in their common shape; a warning where they had different ones."""
    if target.shape == input.shape:
        return input, target
    warnings.warn(SIZES.format(target=target.size(), input=input.size()), stacklevel=outside())
    return broadcast(input, target)


def _elementwise(
    prim: Callable[..., Any], name: str, kernel: str, input: Tensor, target: Tensor, **params: Any
) -> Tensor:
    content(input, name)
    content(target, name, "target", 2)
    given = _broadcast(input, target)
    x, y = promoted(name, *given)
    refuse_kinds(kernel, "biuc", x)
    how = "first" if name == "huber_loss" else "operands"
    return laid(boxed(computed(prim, x, y, **params), NODES[name]), how, *given)  # type: ignore[no-any-return]


NODES = {
    "mse_loss": node("MseLoss", "self target"),
    "smooth_l1_loss": node("SmoothL1Loss", "self target"),
    "huber_loss": node("HuberLoss", "self target"),
}


def _squared_error(x: Array, y: Array, reduction: str) -> Array:
    d = a.subtract(x, y)
    return reduced(a.multiply(d, d), reduction)


MSE = Composite("mse_loss", widened(_squared_error), adds=True)


@remembered
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared error, by default its mean.

    Parameters
    ----------
    input, target : Tensor
        Of one shape; others are broadcast, with a warning.
    reduction : {"mean", "sum", "none"}, optional
    weight : Tensor, optional
        Of the shape of `input`; the mean is then the weighted one.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]))
    tensor(2.5000)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if weight is None:
        return _elementwise(MSE, "mse_loss", "mse_cpu", input, target, reduction=reduction)
    x, y = _broadcast(input, target)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = (x - y).pow(2) * weight
    out: Tensor = weighted
    if reduction != "none":
        out = weighted.sum() / weight.sum() if reduction == "mean" else weighted.sum()
    return out


@remembered
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute error, by default its mean; the derivative at 0 is 0."""
    reduction = reduction_of(reduction, size_average, reduce)
    content(input, "l1_loss")
    x, y = _broadcast(input, target)
    errors = (x - y).abs()
    if weight is None:
        return reduced_tensor(errors, reduction)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = errors * weight
    out: Tensor = weighted
    if reduction != "none":
        out = weighted.sum() / weight.sum() if reduction == "mean" else weighted.sum()
    return out


def _smooth_l1(x: Array, y: Array, reduction: str, beta: float) -> Array:
    d = a.subtract(x, y)
    size = a.absolute(d)
    near = a.less(size, beta)
    inside = a.divide(a.multiply(a.multiply(d, d), 0.5), beta)
    return reduced(a.where(near, inside, a.subtract(size, 0.5 * beta)), reduction)


SMOOTH_L1 = Composite("smooth_l1_loss", widened(_smooth_l1), adds=True)


@remembered
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """The absolute error, quadratic where it is below `beta`."""
    reduction = reduction_of(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0.0:
        return l1_loss(input, target, reduction=reduction)
    return _elementwise(SMOOTH_L1, "smooth_l1_loss", "smooth_l1_cpu", input, target,
                        reduction=reduction, beta=beta)  # fmt: skip


def _huber(x: Array, y: Array, reduction: str, delta: float) -> Array:
    d = a.subtract(x, y)
    size = a.absolute(d)
    inside = a.multiply(a.multiply(d, d), 0.5)
    outside = a.multiply(a.subtract(size, 0.5 * delta), delta)
    return reduced(a.where(a.less(size, delta), inside, outside), reduction)


HUBER = Composite("huber_loss", widened(_huber), adds=True)


@remembered
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the squared error, linear where the error is above `delta`."""
    reduction = reduction_of(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if target.dtype is not input.dtype:
        check_cast(dtypes.promote_types(input.dtype, target.dtype), input.dtype)
    how = reduction if weight is None else "none"
    out = _elementwise(HUBER, "huber_loss", "huber_cpu", input, target, reduction=how,
                       delta=delta)  # fmt: skip
    if out.dtype is not input.dtype:
        out = out.to(input.dtype)
    if weight is None:
        return out
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return reduced_tensor(out * weight, reduction)
