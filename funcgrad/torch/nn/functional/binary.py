"""Losses of binary classification."""

from __future__ import annotations

import numpy as np

from funcgrad.core.tracer import concrete, type_of, value
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import transcendental as t
from funcgrad.ops.activation import log_sigmoid
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import modes
from funcgrad.torch.nn.functional.common import (
    check_cast,
    constant,
    reduced,
    reduction_of,
)
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    widened,
)
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of, promoted
from funcgrad.torch.operations.record import node
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.operations.results import laid
from funcgrad.torch.remembered import remembered
from funcgrad.torch.staged import bounded

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss"]

LIMIT = -100.0  # of the logarithms, as PyTorch has it
NEARLY = float(
    np.float32(1e-12)
)  # below this p(1 - p) the derivative is cut off, as PyTorch has it


def _binary_entropy(p: Array, y: Array, *weight: Array, reduction: str) -> Array:
    log_p, log_q = t.log(p), t.log1p(a.negative(p))
    loss = _entropy(y, log_p, log_q)
    sharp = a.less(a.multiply(a.subtract(1.0, p), p), NEARLY)  # only there logarithms are limited
    limited = _entropy(y, *(a.where(a.less(x, LIMIT), LIMIT, x) for x in (log_p, log_q)))
    # there the derivatives are (p - y) / NEARLY, that of this parabola, and log_q - log_p: those of
    # terms whose values are taken away, or zero
    away = a.subtract(p, constant(y))
    parabola = a.divide(a.multiply(a.multiply(away, away), 0.5), NEARLY)
    slope = constant(a.subtract(log_q, log_p))
    moved = a.add(a.subtract(parabola, constant(parabola)), _sloping(y, slope))
    loss = a.where(sharp, a.add(constant(limited), moved), loss)
    if weight:
        loss = a.multiply(loss, weight[0])
    return reduced(loss, reduction)


def _sloping(y: Array, slope: Array) -> Array:
    """Zero, with the derivative `slope` by `y`, also where that is infinite: as a root has at 0."""
    away, steep = a.subtract(y, constant(y)), a.isinf(slope)
    root = a.multiply(a.sign(slope), a.sqrt(a.where(steep, away, 1.0)))
    return a.where(steep, root, a.multiply(away, a.where(steep, 0.0, slope)))


def _entropy(y: Array, log_p: Array, log_q: Array) -> Array:
    return a.subtract(a.multiply(a.subtract(y, 1.0), log_q), a.multiply(y, log_p))


BCE = Composite("binary_cross_entropy", widened(_binary_entropy), adds=True)
BCE_NODE = node("BinaryCrossEntropy", "self target weight", shows=(0, 1))


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
    if dtype_of(p) == dtype_of(y):
        refuse_kinds("binary_cross_entropy", "biuc", p)
    else:
        raise RuntimeError(
            f"Found dtype {dtypes.scalar_name(kind_of(y))} but expected "
            f"{dtypes.scalar_name(kind_of(p))}"
        )
    for x, what in ((p, "input"), (y, "target")):
        bounded(x, 0, 1)
        if concrete(x) and type_of(x).size:
            v = np.asarray(value(x))
            least, most = np.minimum.reduce(v, None), np.maximum.reduce(v, None)
            if not (least >= 0 and most <= 1):  # nor is NaN
                raise RuntimeError(f"all elements of {what} should be between 0 and 1")
    weights = () if weight is None else (content(weight, "binary_cross_entropy", "weight", 3),)
    out = boxed(computed(BCE, p, y, *weights, reduction=reduction), BCE_NODE)
    return laid(out, "first", input)  # type: ignore[no-any-return]


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


BCE_LOGITS = Composite(
    "binary_cross_entropy_with_logits", widened(_binary_entropy_of_logits), adds=True
)
BCE_LOGITS_NODE = node("BinaryCrossEntropyWithLogits", "self target", shows=(0, 1))


@remembered
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
        raise RuntimeError(
            f"result type {dtypes.scalar_name(kind_of(x))} can't be cast to the desired output "
            f"type {dtypes.scalar_name(kind_of(y))}"
        )
    refuse_kinds("log_sigmoid_cpu", "biuc", x)
    given = [w for w in (weight, pos_weight) if w is not None]
    xs = promoted(name, input, target, *given)
    out = computed(BCE_LOGITS, *xs, weighted=weight is not None, reduction=reduction)
    found = laid(boxed(out, BCE_LOGITS_NODE), "first", target)
    # what PyTorch writes into is made of the targets
    made: Tensor = found if found.dtype is target.dtype or given else found.to(target.dtype)
    return made


def _soft_margin(x: Array, y: Array, reduction: str) -> Array:
    return reduced(a.negative(log_sigmoid(a.multiply(x, y))), reduction)


SOFT_MARGIN = Composite("soft_margin_loss", widened(_soft_margin), adds=True)
SOFT_MARGIN_NODE = node("SoftMarginLoss", "self target", shows=(0,))


@remembered
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-y x))`` for targets of -1 and 1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if modes.grad and target.requires_grad:
        raise RuntimeError(
            "The function 'soft_margin_loss' is not differentiable with respect to argument "
            "'target'. This input cannot have requires_grad True."
        )
    x, y = promoted("soft_margin_loss", input, target.detach())
    _check_soft(input, x)
    out = laid(
        boxed(computed(SOFT_MARGIN, x, y, reduction=reduction), SOFT_MARGIN_NODE), "operands",
        input, target,
    )  # fmt: skip
    found: Tensor = out if out.dtype is input.dtype else out.to(input.dtype)
    return found


def _check_soft(input: Tensor, x: Array) -> None:
    """The logarithm is floating, and written in the dtype of the scores."""
    if input.dtype is dtypes.bool:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    kind = kind_of(x)
    check_cast(kind if dtype_of(x).kind in "fc" else dtypes.get_default_dtype(), input.dtype)
    refuse_kinds("soft_margin_loss", "c", x)
