"""Functions that PyTorch has in `torch` besides `torch.nn.functional`, with other arguments.

They are what its modules call: dropout that has to be told whether it trains, an embedding whose
weight comes first, losses whose reduction is a number. Each is the function of `nn.functional`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.operations.record import Function, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.signature import names_of

__all__ = [
    "adaptive_max_pool1d", "alpha_dropout", "alpha_dropout_", "batch_norm",
    "binary_cross_entropy_with_logits", "celu", "cosine_embedding_loss", "ctc_loss", "dropout",
    "dropout_", "embedding", "feature_alpha_dropout", "feature_alpha_dropout_", "group_norm",
    "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm", "margin_ranking_loss",
    "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "poisson_nll_loss",
    "rms_norm", "selu", "threshold", "triplet_margin_loss",
]  # fmt: skip

REDUCTIONS = ("none", "mean", "sum")
REDUCED = "int reduction=at::Reduction::Mean"


def _same(function: Callable[..., Any], signature: str) -> Function[Any]:
    """The function of `nn.functional` of that name, with the arguments that its signature has."""
    name, names = function.__name__, names_of(signature)
    row = operation(name, signature, variants="", doc=f"`nn.functional.{name}`.")
    return row(lambda *args: function(**dict(zip(names, args, strict=True))))


celu = _same(F.celu, "input, Number alpha=1.")
selu = _same(F.selu, "input")
threshold = _same(F.threshold, "input, Number threshold, Number value, *, out")
PARTS = "Tensor weight=None, Tensor bias=None"
rms_norm = _same(F.rms_norm, "input, ints normalized_shape, Tensor weight=None, float eps=None")
WINDOWS = (
    "input, dims kernel_size, dims? stride=(), dims padding=0, dims dilation=1, "
    "bool ceil_mode=False"
)
max_pool1d, max_pool2d, max_pool3d, max_pool1d_with_indices = (
    _same(function, WINDOWS)
    for function in (F.max_pool1d, F.max_pool2d, F.max_pool3d, F.max_pool1d_with_indices)
)


@operation("layer_norm", f"input, ints normalized_shape, {PARTS}, float eps=1e-05, "
                         "bool cudnn_enable=True", variants="")  # fmt: skip
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float, _: bool
) -> Tensor:
    """`nn.functional.layer_norm`."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


@operation("adaptive_max_pool1d", "input, dims output_size", variants="")
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> Any:
    """The pooled tensor and the positions; see `nn.functional.adaptive_max_pool1d`."""
    return F.adaptive_max_pool1d(input, output_size, return_indices=True)


def _dropout(function: Callable[..., Tensor]) -> tuple[Function[Tensor], Function[Tensor]]:
    """A function that is told whether it trains, and the one in place."""
    name, signature = function.__name__, "input, float p, bool train"
    doc = f"`nn.functional.{name}`, which is told whether it trains."
    row = operation(name, signature, variants="", doc=doc)
    changing = operation(f"{name}_", signature, variants="", doc=f"`{name}` in place.")
    return row(lambda *args: function(*args)), changing(lambda *args: function(*args, inplace=True))


dropout, dropout_ = _dropout(F.dropout)
alpha_dropout, alpha_dropout_ = _dropout(F.alpha_dropout)
feature_alpha_dropout, feature_alpha_dropout_ = _dropout(F.feature_alpha_dropout)


@operation(
    "embedding",
    "weight, indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False",
    variants="",
)
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    """`nn.functional.embedding`, with the weight first; -1 stands for no `padding_idx`."""
    padding = None if padding_idx == -1 else padding_idx
    return F.embedding(
        indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


MOMENTS = (
    "input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool {}, float momentum, float eps, bool cudnn_enabled"
)


@operation("batch_norm", MOMENTS.format("training"), variants="")
def batch_norm(
    input: Tensor, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float,
    eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm`, with the weight and the bias before the running moments."""
    return F.batch_norm(input, mean, var, weight, bias, training, momentum, eps)


@operation("instance_norm", MOMENTS.format("use_input_stats"), variants="")
def instance_norm(
    input: Tensor, weight: Any, bias: Any, mean: Any, var: Any, use_input_stats: bool,
    momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm`, with the weight and the bias before the running moments."""
    return F.instance_norm(input, mean, var, weight, bias, use_input_stats, momentum, eps)


@operation(
    "group_norm",
    f"input, int num_groups, {PARTS}, float eps=1e-05, bool cudnn_enabled=True",
    variants="",
)
def group_norm(
    input: Tensor, num_groups: int, weight: Any, bias: Any, eps: float, cudnn_enabled: bool
) -> Tensor:
    """`nn.functional.group_norm`."""
    return F.group_norm(input, num_groups, weight, bias, eps)


@requires("reduction in (0, 1, 2): ValueError: {reduction} is not a valid value for reduction")
def _named(reduction: int) -> str:
    """The name of a reduction that is given as a number."""
    return REDUCTIONS[reduction]


def _loss(function: Callable[..., Tensor], *signatures: str) -> Function[Tensor]:
    """The loss of `nn.functional` of that name, whose reduction is a number."""
    name, signature = function.__name__, " | ".join(signatures)
    names = names_of(signature)
    doc = f"`nn.functional.{name}`, with the number of a reduction."

    def rule(*args: Any) -> Tensor:
        given = dict(zip(names, args, strict=True))
        return function(**{**given, "reduction": _named(given["reduction"])})

    return operation(name, signature, variants="", doc=doc)(rule)


binary_cross_entropy_with_logits = _loss(
    F.binary_cross_entropy_with_logits,
    f"input, target, Tensor weight=None, Tensor pos_weight=None, {REDUCED}",
)
cosine_embedding_loss = _loss(
    F.cosine_embedding_loss, f"input1, input2, target, float margin=0., {REDUCED}"
)
ctc_loss = _loss(
    F.ctc_loss,
    *(
        f"log_probs, targets, {kind} input_lengths, {kind} target_lengths, int blank=0, {REDUCED}, "
        "bool zero_infinity=False"
        for kind in ("ints", "Tensor")
    ),
)
hinge_embedding_loss = _loss(F.hinge_embedding_loss, f"input, target, float margin=1., {REDUCED}")
margin_ranking_loss = _loss(
    F.margin_ranking_loss, f"input1, input2, target, float margin=0., {REDUCED}"
)
poisson_nll_loss = _loss(
    F.poisson_nll_loss, "input, target, bool log_input, bool full, float eps, int reduction"
)
triplet_margin_loss = _loss(
    F.triplet_margin_loss,
    "anchor, positive, negative, float margin=1., float p=2, float eps=1e-06, bool swap=False, "
    + REDUCED,
)


@operation("kl_div", f"input, target, {REDUCED}, *, bool log_target=False", variants="")
def kl_div(input: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    """`nn.functional.kl_div`, with the number of a reduction."""
    found = F.kl_div(input, target, reduction="none", log_target=log_target)
    return (found, found.mean(), found.sum())[REDUCTIONS.index(_named(reduction))]
