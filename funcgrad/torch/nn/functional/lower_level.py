"""Functions that PyTorch has in `torch` besides `torch.nn.functional`, with other arguments.

They are what its modules call: dropout that has to be told whether it trains, an embedding whose
weight comes first, losses whose reduction is a number. Each is the function of `nn.functional`.
"""

from __future__ import annotations

from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F

__all__ = [
    "adaptive_max_pool1d", "alpha_dropout", "alpha_dropout_", "batch_norm",
    "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss", "dropout", "dropout_",
    "embedding", "feature_alpha_dropout", "feature_alpha_dropout_", "group_norm",
    "hinge_embedding_loss", "instance_norm", "kl_div", "margin_ranking_loss", "poisson_nll_loss",
    "triplet_margin_loss",
]  # fmt: skip

REDUCTIONS = ("none", "mean", "sum")
NONE = 0  # what PyTorch takes by default


def _named(reduction: int) -> str:
    """The name of a reduction that is given as a number."""
    if reduction not in (0, 1, 2):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return REDUCTIONS[reduction]


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> Any:
    """The pooled tensor and the positions; see `nn.functional.adaptive_max_pool1d`."""
    return F.adaptive_max_pool1d(input, output_size, return_indices=True)


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.dropout`, which is told whether it trains.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.dropout(torch.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return F.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` in place."""
    return F.dropout(input, p, train, inplace=True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout`, which is told whether it trains."""
    return F.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` in place."""
    return F.alpha_dropout(input, p, train, inplace=True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout`, which is told whether it trains."""
    return F.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout` in place."""
    return F.feature_alpha_dropout(input, p, train, inplace=True)


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.embedding`, with the weight first; -1 stands for no `padding_idx`."""
    padding = None if padding_idx == -1 else padding_idx
    return F.embedding(
        indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm`, with the weight and the bias before the running moments."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
    cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm`, with the weight and the bias before the running moments."""
    return F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.group_norm`."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None,
    reduction: int = NONE,
) -> Tensor:  # fmt: skip
    """`nn.functional.binary_cross_entropy_with_logits`, with the number of a reduction."""
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_named(reduction), pos_weight=pos_weight
    )


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = NONE
) -> Tensor:
    """`nn.functional.cosine_embedding_loss`, with the number of a reduction."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_named(reduction))


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: int = NONE, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.ctc_loss`, with the number of a reduction."""
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _named(reduction), zero_infinity
    )


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = NONE
) -> Tensor:
    """`nn.functional.hinge_embedding_loss`, with the number of a reduction."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_named(reduction))


def kl_div(
    input: Tensor, target: Tensor, reduction: int = NONE, *, log_target: bool = False
) -> Tensor:
    """`nn.functional.kl_div`, with the number of a reduction."""
    found = F.kl_div(input, target, reduction="none", log_target=log_target)
    return (found, found.mean(), found.sum())[REDUCTIONS.index(_named(reduction))]


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = NONE
) -> Tensor:
    """`nn.functional.margin_ranking_loss`, with the number of a reduction."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_named(reduction))


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """`nn.functional.poisson_nll_loss`, with the number of a reduction."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_named(reduction))


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: int = NONE,
) -> Tensor:  # fmt: skip
    """`nn.functional.triplet_margin_loss`, with the number of a reduction."""
    return F.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_named(reduction)
    )
