"""Losses that are made of other functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn.functional.common import by_number, reduced_tensor, reduction_of, renamed

__all__ = [
    "cosine_embedding_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "poisson_nll_loss",
    "triplet_margin_loss",
]


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
            stacklevel=outside(),
        )
    for kind, said in (("c", "Complex"), ("biu", "Integral")):
        if any(np.dtype(x.dtype.numpy).kind in kind for x in (input, target)):
            raise RuntimeError(f"kl_div: {said} inputs not supported.")
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
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
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


def _check_ranks(*triplet: Tensor) -> None:
    ranks = [x.dim() for x in triplet]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative "
            f"{ranks[2]}D inputs"
        )


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
    _check_ranks(anchor, positive, negative)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced_tensor((by_number(near + margin, "Add") - far).clamp_min(0), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin + d(a, p) - d(a, n))`` with a distance of one's own.

    Parameters
    ----------
    anchor, positive, negative : Tensor
        Of as many dimensions each.
    distance_function : callable, optional
        Of two tensors; by default `pairwise_distance`.
    margin : float, optional
    swap : bool, optional
        The distance to the negative example is that from the nearer of the two others.
    reduction : {"mean", "sum", "none"}, optional

    Raises
    ------
    ValueError
        Another reduction; a margin that is not above 0.
    RuntimeError
        Tensors of different numbers of dimensions.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> a, p, n = torch.tensor([[0.0], [1.0], [3.0]])
    >>> torch.nn.functional.triplet_margin_with_distance_loss(
    ...     a, p, n, distance_function=lambda x, y: (x - y).abs().sum(-1), margin=3.0)
    tensor(1.)
    """
    reduction = reduction_of(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_ranks(anchor, positive, negative)
    from funcgrad.torch.nn.functional.distance import pairwise_distance

    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced_tensor((margin + near - far).clamp_min(0), reduction)
