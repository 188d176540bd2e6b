"""Softmax and its kin, where the dimension may be left out."""

from __future__ import annotations

import warnings
from typing import Any

from funcgrad.core.boundary import hide_frames
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.common import shape_of
from funcgrad.torch.operations.creation import empty_like
from funcgrad.torch.operations.promotion import content

__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]


def _chosen(name: str, input: Tensor, dim: int | None) -> int:
    """The dimension; PyTorch's choice, with a warning, where none was given."""
    rank = len(shape_of(content(input, name)))
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=outside(),
    )
    return 0 if rank in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """``exp(x) / sum(exp(x))`` along a dimension.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.functional.softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    try:
        out: Tensor = input.softmax(_chosen("softmax", input, dim), dtype=dtype)
        return out
    except Exception as error:
        hide_frames(error)
        raise


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The logarithm of `softmax` along a dimension."""
    try:
        out: Tensor = input.log_softmax(_chosen("log_softmax", input, dim), dtype=dtype)
        return out
    except Exception as error:
        hide_frames(error)
        raise


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """`softmax` of ``-x``."""
    out: Tensor = (-input).softmax(_chosen("softmin", input, dim), dtype=dtype)
    return out


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A random sample of the Gumbel-softmax distribution (Jang et al. 2017).

    With `hard` the value is one-hot; the gradient is that of the soft sample in any case.
    """
    noise = -empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        out: Tensor = soft
        return out
    place = soft.detach().argmax(dim, keepdim=True)
    out = (soft.detach() * 0).scatter_(dim, place, 1.0) - soft.detach() + soft
    return out
