"""Losses of regression and of binary classification, and those made of other functions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import sums
from funcgrad.ops import transcendental as t
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.functional.activation import log_sigmoid
from funcgrad.torch.nn.functional.common import (
    broadcast,
    by_number,
    constant,
    reduction_of,
    renamed,
    widened,
)
from funcgrad.torch.operations.common import boxed, computed, named
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of, promoted
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.staged import bounded

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
]


def reduced(x: Array, reduction: str) -> Array:
    """An operand of the core, reduced."""
    if reduction == "none":
        return x
    return sums.mean(x) if reduction == "mean" else sums.sum(x)


def reduced_tensor(x: Tensor, reduction: str) -> Tensor:
    """A tensor, reduced."""
    out: Tensor = x if reduction == "none" else x.mean() if reduction == "mean" else x.sum()
    return out


SIZES = (
    "Using a target size ({target}) that is different to the input size ({input}). This will "
    "likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
)


def _broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in their common shape; a warning where they had different ones."""
    if target.shape == input.shape:
        return input, target
    warnings.warn(SIZES.format(target=target.size(), input=input.size()), stacklevel=4)
    return broadcast(input, target)


def _elementwise(
    prim: Composite, name: str, kernel: str, input: Tensor, target: Tensor, **params: Any
) -> Tensor:
    content(input, name)
    content(target, name, "target", 2)
    x, y = promoted(name, *_broadcast(input, target))
    refuse_kinds(kernel, "biuc", x)
    return boxed(computed(prim, x, y, **params), named(NODES[name], "", "self", "target"))


NODES = {
    "mse_loss": "MseLossBackward0",
    "smooth_l1_loss": "SmoothL1LossBackward0",
    "huber_loss": "HuberLossBackward0",
}


# ------------------------------------------------------------------------------- regression


def _squared_error(x: Array, y: Array, reduction: str) -> Array:
    d = a.subtract(x, y)
    return reduced(a.multiply(d, d), reduction)


MSE = Composite("mse_loss", widened(_squared_error))


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


SMOOTH_L1 = Composite("smooth_l1_loss", widened(_smooth_l1))


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


HUBER = Composite("huber_loss", widened(_huber))


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


# -------------------------------------------------------------------- binary classification

LIMIT = -100.0  # of the logarithms, as PyTorch has it
NEARLY = float(
    np.float32(1e-12)
)  # below this p(1 - p) the derivative is cut off, as PyTorch has it


def _binary_entropy(p: Array, y: Array, *weight: Array, reduction: str) -> Array:
    log_p = t.log(p)
    log_q = t.log1p(a.negative(p))
    low_p, low_q = a.less(log_p, LIMIT), a.less(log_q, LIMIT)
    log_p, log_q = a.where(low_p, LIMIT, log_p), a.where(low_q, LIMIT, log_q)
    loss = a.subtract(a.multiply(a.subtract(y, 1.0), log_q), a.multiply(y, log_p))
    spread = a.multiply(a.subtract(1.0, p), p)
    sharp = a.less(spread, NEARLY)
    # there the derivative is (p - y) / NEARLY: that of this parabola, whose value is taken away
    half = a.subtract(a.multiply(a.multiply(p, p), 0.5), a.multiply(p, constant(y)))
    parabola = a.divide(half, NEARLY)
    flat = a.add(constant(loss), a.subtract(parabola, constant(parabola)))
    loss = a.where(sharp, flat, loss)
    if weight:
        loss = a.multiply(loss, weight[0])
    return reduced(loss, reduction)


BCE = Composite("binary_cross_entropy", widened(_binary_entropy))
BCE_NODE = named("BinaryCrossEntropyBackward0", "", "self", "target", "weight", shown=(0, 1))


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross entropy of probabilities: ``-y log(p) - (1 - y) log(1 - p)``.

    The logarithms are limited to -100 and ``p (1 - p)`` in the derivative to 1e-12, as in PyTorch.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    p, y = content(input, "binary_cross_entropy"), content(target, "binary_cross_entropy", "target")
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    if dtype_of(p) != dtype_of(y):
        from funcgrad.torch.dtypes import scalar_name

        raise RuntimeError(
            f"Found dtype {scalar_name(kind_of(y))} but expected {scalar_name(kind_of(p))}"
        )
    for x, what in ((p, "input"), (y, "target")):
        bounded(x, 0, 1)
        if concrete(x):
            v = value(x)
            if not ((v >= 0) & (v <= 1)).all():
                raise RuntimeError(f"all elements of {what} should be between 0 and 1")
    weights = () if weight is None else (content(weight, "binary_cross_entropy", "weight", 3),)
    return boxed(computed(BCE, p, y, *weights, reduction=reduction), BCE_NODE)


def _binary_entropy_of_logits(
    x: Array, y: Array, *more: Array, weighted: bool, reduction: str
) -> Array:
    left = a.multiply(a.subtract(1.0, y), x)
    logs = log_sigmoid(x)
    if len(more) > weighted:  # the weight of the positive class
        factor = a.add(a.multiply(a.subtract(more[-1], 1.0), y), 1.0)
        logs = a.multiply(factor, logs)
        left = a.subtract(left, logs)
    else:
        left = a.subtract(left, logs)
    return reduced(a.multiply(left, more[0]) if weighted else left, reduction)


BCE_LOGITS = Composite("binary_cross_entropy_with_logits", widened(_binary_entropy_of_logits))
BCE_LOGITS_NODE = named("BinaryCrossEntropyWithLogitsBackward0", "", "self", "target", shown=(0, 1))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, without overflow.

    Parameters
    ----------
    input, target : Tensor
        Logits and probabilities of one shape.
    weight : Tensor, optional
        Of each element, broadcast.
    pos_weight : Tensor, optional
        Of the positive class, broadcast.
    """
    name = "binary_cross_entropy_with_logits"
    reduction = reduction_of(reduction, size_average, reduce)
    x, y = content(input, name), content(target, name, "target", 2)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    if dtype_of(y).kind not in "f":
        from funcgrad.torch.dtypes import scalar_name

        raise RuntimeError(
            f"result type {scalar_name(kind_of(x))} can't be cast to the desired output type "
            f"{scalar_name(kind_of(y))}"
        )
    given = [w for w in (weight, pos_weight) if w is not None]
    xs = promoted(name, input, target, *given)
    out = computed(BCE_LOGITS, *xs, weighted=weight is not None, reduction=reduction)
    return boxed(out, BCE_LOGITS_NODE)


def _soft_margin(x: Array, y: Array, reduction: str) -> Array:
    return reduced(a.negative(log_sigmoid(a.multiply(x, y))), reduction)


SOFT_MARGIN = Composite("soft_margin_loss", widened(_soft_margin))
SOFT_MARGIN_NODE = named("SoftMarginLossBackward0", "", "self", "target", shown=(0,))


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-y x))`` for targets of -1 and 1."""
    reduction = reduction_of(reduction, size_average, reduce)
    x, y = promoted("soft_margin_loss", input, target.detach())
    return boxed(computed(SOFT_MARGIN, x, y, reduction=reduction), SOFT_MARGIN_NODE)


# --------------------------------------------------------------------- made of other functions


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The divergence of `target` from ``exp(input)``, element by element.

    ``reduction="batchmean"`` is the mathematical definition: the sum over the batch size.
    """
    if reduction == "batchmean":
        total = kl_div(input, target, reduction="sum", log_target=log_target)
        out: Tensor = total / input.size()[0] if input.ndim else total
        return out
    reduction = reduction_of(reduction, size_average, reduce)
    if reduction == "mean" and input.ndim:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
            stacklevel=2,
        )
    if log_target:
        return reduced_tensor(target.exp() * (target - input), reduction)
    return reduced_tensor(target.xlogy(target) - target * input, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts, up to a constant unless `full`."""
    reduction = reduction_of(reduction, size_average, reduce)
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * 3.141592653589793 * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced_tensor(loss, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of a normal distribution with variance `var`."""
    reduction = reduction_of(reduction)
    if not isinstance(var, Tensor):
        var = input.new_full(tuple(input.shape), float(var))
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif not (input.size()[:-1] == var.size()[:-1] and var.size(-1) == 1):
            raise ValueError("var is of incorrect size")
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    limited = var.clone()
    limited.data.clamp_(min=eps)
    loss = 0.5 * (limited.log() + (input - target) ** 2 / limited)
    if full:
        loss = loss + 0.9189385332046727
    return reduced_tensor(loss, reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`x` where the target is 1, ``max(0, margin - x)`` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    away = renamed(margin - input, "SubBackward0").clamp_min(0)
    loss = away.where(target != 1, 0.0) + input.where(target != -1, 0.0)
    return reduced_tensor(loss, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -y (x1 - x2) + margin)``."""
    reduction = reduction_of(reduction, size_average, reduce)
    away = by_number(-target * (input1 - input2) + margin, "Add")
    return reduced_tensor(away.clamp_min(0), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    eps = 1e-12  # added to the squared norms, as in PyTorch
    product = (input1 * input2).sum(-1)
    sizes = ((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)
    cosine = product / sizes.sqrt()
    near = renamed(1 - cosine, "SubBackward0")
    far = by_number(cosine - margin, "Sub").clamp_min(0)
    loss = near.where(target == 1, 0.0) + far.where(target == -1, 0.0)
    return reduced_tensor(loss, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, |a - p| - |a - n| + margin)``."""
    from funcgrad.torch.nn.functional.distance import pairwise_distance

    reduction = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced_tensor((by_number(near + margin, "Add") - far).clamp_min(0), reduction)
