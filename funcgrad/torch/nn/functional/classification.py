"""Losses of classification: negative log likelihood and cross entropy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, type_of, value
from funcgrad.core.types import Array
from funcgrad.ops import likelihood
from funcgrad.torch import dtypes, likelihood_recorder
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.nn.functional.common import (
    by_number,
    reduction_of,
)
from funcgrad.torch.nn.functional.softmax import log_softmax
from funcgrad.torch.nodes import OF_CORE
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    narrow_or,
    shape_of,
)
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of
from funcgrad.torch.operations.record import node
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.results import laid
from funcgrad.torch.staged import bounded

__all__ = ["cross_entropy", "nll_loss"]

Shape = tuple[int, ...]


# the target and the weight are never differentiated
NLL = narrow_or("nll_loss", likelihood.nll_loss, fixed=1)
NLL_NODE = node("NllLoss", "self target weight", shows=(0,), bends="NllLossBackwardBackward0")
NLL_2D_NODE = node("NllLoss2D", "self target weight", shows=(0,))
_QUICK = likelihood_recorder.written(OF_CORE["log_softmax"], NLL_NODE)


def _check_target(x: Shape, target: Array, ignore: int) -> None:
    kind = kind_of(target)
    if kind not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {dtypes.scalar_name(kind)}"
        )
    classes = x[0] if len(x) == 1 else x[1]
    bounded(target, 0, classes - 1, ignore)
    if concrete(target):
        given = np.asarray(value(target))
        if given.size and (
            np.minimum.reduce(given, None) < 0 or np.maximum.reduce(given, None) >= classes
        ):
            bad = (given != ignore) & ((given < 0) | (given >= classes))
            if bad.any():
                raise IndexError(f"Target {given[bad].flat[0]} is out of bounds.")


@requires("""
    len(x) != 1 or len(target) != 1 or target[0] == 1: ValueError: For 1D input, 1D target must have
        size 1, but got target size: {target[0]}
    len(x) <= 1 or x[:1] == target[:1]: ValueError: Expected input batch_size ({x[0]}) to match
        target batch_size ({target[0] if target else 1}).
    len(x) > 2 or len(target) <= 1: 0D or 1D target tensor expected, multi-target not supported
    len(x) != 4 or len(target) != 3 or x[2:] == target[1:]: size mismatch (got input: {list(x)} ,
        target: {list(target)}
""")
def _check_shapes(x: Shape, target: Shape) -> None:
    if len(x) > 2 and (x[0], *x[2:]) != target:
        wanted = [x[0], *x[2:]]
        raise RuntimeError(f"Expected target size {wanted}, got {list(target)}")


def _check_weight(weight: Tensor, x: Array, flat: bool) -> Array:
    w = content(weight, "nll_loss", "weight", 3)
    shape = shape_of(x)
    classes = shape[0] if len(shape) == 1 else shape[1]
    if shape_of(w) != (classes,):
        if not flat:
            raise RuntimeError("weight tensor should be defined either for all or no classes")
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(shape_of(w))}"
        )
    if dtype_of(w) != dtype_of(x):
        raise RuntimeError(
            f"expected scalar type {dtypes.scalar_name(kind_of(x))} but found "
            f"{dtypes.scalar_name(kind_of(w))}"
        )
    if modes.grad and weight.requires_grad:
        raise RuntimeError(
            "The function 'nll_loss_forward' is not differentiable with respect to argument "
            "'weight'. This input cannot have requires_grad True."
        )
    return w


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of classes, given log probabilities.

    Parameters
    ----------
    input : Tensor
        Log probabilities: (C), (N, C) or (N, C, d1, …).
    target : Tensor
        Classes: (), (N) or (N, d1, …), of int64 or uint8.
    weight : Tensor, optional
        Of each class: (C). The mean is the weighted one.
    ignore_index : int, optional
        The class that does not count.
    reduction : {"mean", "sum", "none"}, optional

    Raises
    ------
    IndexError
        A class that is negative or not below C.
    ValueError, RuntimeError
        Shapes or dtypes that do not fit.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> logs = torch.tensor([[-1.0, -2.0], [-3.0, -4.0]])
    >>> torch.nn.functional.nll_loss(logs, torch.tensor([0, 1]))
    tensor(2.5000)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    shape = shape_of(content(input, "nll_loss_nd"))
    out = shape_of(content(target, "nll_loss_nd", "target", 2))
    rank = len(shape)
    if rank < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {rank})")
    _check_shapes(shape, out)
    if rank in (1, 2, 4):
        return _nll(input, target, weight, ignore_index, reduction)
    n, c = shape[:2]
    size = math.prod(shape[2:])
    loss = _nll(input.reshape(n, c, 1, size), target.reshape(n, 1, size), weight, ignore_index,
                reduction)  # fmt: skip
    if reduction == "none":
        loss = loss.reshape(out)
    return loss


def _nll(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore: int, reduction: str
) -> Tensor:
    x, y = input.content(), target.content()
    flat = len(shape_of(x)) <= 2
    refuse_kinds("nll_loss_out_frame" if flat else "nll_loss2d_forward_out_frame", "biuc", x)
    _check_target(shape_of(x), y, ignore)
    node = NLL_NODE if flat else NLL_2D_NODE
    w = () if weight is None else (_check_weight(weight, x, flat),)
    out = boxed(computed(NLL, x, y, *w, reduction=reduction, ignore=ignore), node)
    return laid(out, "contiguous")  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------- cross entropy


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy of classes or class probabilities, given logits.

    Parameters
    ----------
    input : Tensor
        Logits: (C), (N, C) or (N, C, d1, …).
    target : Tensor
        Classes, as for `nll_loss`, or probabilities in the shape of `input`.
    weight : Tensor, optional
        Of each class: (C).
    ignore_index : int, optional
        The class that does not count.
    reduction : {"mean", "sum", "none"}, optional
    label_smoothing : float, optional
        How much of the probability is spread over all classes, in [0, 1].

    Raises
    ------
    IndexError, ValueError, RuntimeError
        As `nll_loss`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> logits = torch.zeros(1, 2, requires_grad=True)
    >>> torch.nn.functional.cross_entropy(logits, torch.tensor([0]))
    tensor(0.6931, grad_fn=<NllLossBackward0>)
    """
    if weight is None and size_average is None and reduce is None and not label_smoothing:
        quick = _QUICK(input, target, ignore_index, reduction)
        if quick is not None:
            return quick  # type: ignore[no-any-return]
    reduction = reduction_of(reduction, size_average, reduce)
    shape = shape_of(content(input, "cross_entropy_loss"))
    axis = 0 if len(shape) == 1 else 1
    if shape == shape_of(content(target, "cross_entropy_loss", "target", 2)):
        return _of_probabilities(input, target, weight, reduction, label_smoothing, axis)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    logs = log_softmax(input, axis)
    loss = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return loss
    smooth = _smoothed(logs, target, weight, ignore_index, reduction, axis)
    share = label_smoothing / input.shape[axis]
    out: Tensor = by_number(loss * (1 - label_smoothing), "Mul") + by_number(smooth * share, "Mul")
    return out


def _fitted(weight: Tensor, rank: int, axis: int) -> Tensor:
    """A weight for each class, as a factor of the logits."""
    shape = [1] * rank
    shape[axis] = type_of(weight._t).shape[0]
    out: Tensor = weight.reshape(shape)
    return out


def _smoothed(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignore: int, reduction: str, axis: int
) -> Tensor:
    """The loss of the part of the probability that is spread over all classes."""
    given = logs if weight is None else logs * _fitted(weight, logs.dim(), axis)
    ignored = target == ignore
    smooth: Tensor = (-given.sum(axis)).masked_fill(ignored, 0.0)
    if reduction == "none":
        return smooth
    total: Tensor = smooth.sum()
    if reduction == "sum":
        return total
    if weight is None:
        out: Tensor = total / (~ignored).sum()
        return out
    counted = weight.detach()[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0)
    out = total / counted.sum()
    return out


@requires("""
    target.is_floating_point(): Expected floating point type for target with class probabilities,
        got {scalar_name(target)}
""")
def _of_probabilities(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    smoothing: float,
    axis: int,
) -> Tensor:
    classes = input.shape[axis] if input.dim() else 1
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or "
            f"no classes but got weight tensor of shape: {list(weight.shape)}"
        )
    if not 0.0 <= smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing:g}")
    if smoothing > 0.0:
        target = target * (1 - smoothing) + smoothing / classes
    logs: Any = log_softmax(input, axis if input.dim() else 0) * target
    if weight is not None:
        logs = logs * _fitted(weight, input.dim(), axis)
    if reduction == "none":
        return -logs.sum(axis)  # type: ignore[no-any-return]
    total: Tensor = -logs.sum()
    if reduction == "sum":
        return total
    items = input.numel() // classes if classes else 0
    return by_number(total / items, "Div")
