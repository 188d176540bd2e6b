"""The cross entropy of a linear function of the input: two functions of `nn` as one."""

from __future__ import annotations

import math
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn.functional.classification import cross_entropy
from funcgrad.torch.nn.functional.linear import linear
from funcgrad.torch.operations.requirements import requires

__all__ = ["linear_cross_entropy"]


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of ``linear(input, linear_weight, linear_bias)``.

    Parameters
    ----------
    input : Tensor
        (in_features,) or (N, in_features).
    linear_weight : Tensor
        (C, in_features), or (C, d1, …, dK, in_features) for a loss at each of d1 × … × dK places.
    target : Tensor
        Classes, or their probabilities, as `cross_entropy` takes them.
    linear_bias : Tensor, optional
        (C,) or (C, d1, …, dK).
    options : optional
        Of PyTorch's way to save memory by pieces of the batch; without effect, the result is that
        of all pieces together.

    Raises
    ------
    RuntimeError
        Shapes that do not fit.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x, w = torch.tensor([[1.0, 2.0]]), torch.zeros(4, 2)
    >>> torch.nn.functional.linear_cross_entropy(x, w, torch.tensor([3]))
    tensor(1.3863)
    """
    places = _check(input, linear_weight, linear_bias)
    classes, features = linear_weight.shape[0], linear_weight.shape[-1]
    shape = (*input.shape[:-1], classes, *places)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if places:
        linear_weight = linear_weight.reshape(math.prod(places, start=classes), features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight, linear_bias)
    return cross_entropy(
        logits.reshape(shape) if places else logits, target, weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction, label_smoothing=label_smoothing,
    )  # fmt: skip


@requires("""
    rank(input) in (1, 2): expected input with dimensionality 1 or 2, got {rank(input)}
    rank(weight) >= 2: expected linear_weight with dimensionality at least 2, got {rank(weight)}
    input.shape[-1] == weight.shape[-1]: expected equal input and linear_weight last dimensions
        (in_features), got {input.shape[-1]} and {weight.shape[-1]}, respectively
""")
def _check(input: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[int, ...]:
    """The places at which there is a loss; PyTorch's errors for shapes that do not fit."""
    places = tuple(weight.shape[1:-1])
    if bias is not None and tuple(bias.shape) != (weight.shape[0], *places):
        raise RuntimeError(
            f"expected linear_bias shape {(weight.shape[0], *places)}, got {tuple(bias.shape)}"
        )
    if places and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires "
            f"batched input, (N, {input.shape[-1]}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    return places
