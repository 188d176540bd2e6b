"""Norms and angles between vectors, and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import index as indexing
from funcgrad.ops import shape as shapes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nn.functional.common import broadcast, by_number, renamed
from funcgrad.torch.operations.common import boxed, computed, named, shape_of
from funcgrad.torch.operations.promotion import content, dtype_of, number

__all__ = ["cosine_similarity", "normalize", "pad", "pairwise_distance"]


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """`input` divided by its norm along a dimension, which counts as at least `eps`."""
    content(input, "normalize")
    size = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    found: Tensor = input / size
    if out is None:
        return found
    with no_grad():
        written: Tensor = out.copy_(found)
    return written


def _size_of(x: Tensor, dim: int, eps: float) -> Tensor:
    """The norm along a dimension; the limit is no part of the derivative, as in PyTorch."""
    size: Tensor = x.norm(2, dim, keepdim=True).clone()
    with no_grad():
        size.data.clamp_(min=eps)
    return size


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x, y = torch.tensor([[3.0, 4.0]]), torch.tensor([[4.0, 3.0]])
    >>> torch.nn.functional.cosine_similarity(x, y)
    tensor([0.9600])
    """
    content(x1, "cosine_similarity", "x1")
    content(x2, "cosine_similarity", "x2", 2)
    for x in (x1, x2):
        if not x.is_floating_point():
            from funcgrad.torch.dtypes import scalar_name

            raise RuntimeError(
                "expected common dtype to be floating point, yet common dtype is "
                f"{scalar_name(x.dtype)}"
            )
    if x1.shape != x2.shape:
        shape = tuple(broadcast(x1, x2)[0].shape)
        x1, x2 = x1.expand(shape), x2.expand(shape)
    out: Tensor = (x1 / _size_of(x1, dim, eps) * (x2 / _size_of(x2, dim, eps))).sum(dim)
    return out


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The norm of ``x1 - x2 + eps`` along the last dimension."""
    apart = by_number(x1 - x2 + eps, "Add")
    return renamed(apart.norm(p, -1, keepdim=keepdim), "NormBackward1")


# ---------------------------------------------------------------------------------- padding


def _constant_pad(x: Array, widths: Any, filler: Any) -> Array:
    """`widths` has a pair for each dimension; what is negative is cut off."""
    cut = tuple(slice(max(-lo, 0), n - max(-hi, 0)) for n, (lo, hi) in
                zip(shape_of(x), widths, strict=True))  # fmt: skip
    x = indexing.getitem(x, cut)
    for axis, (lo, hi) in enumerate(widths):
        parts = []
        for k, width in enumerate((lo, 0, hi)):
            if k == 1:
                parts.append(x)
            elif width > 0:
                shape = list(shape_of(x))
                shape[axis] = width
                parts.append(np.full(shape, filler, dtype_of(x)))
        if len(parts) > 1:
            x = shapes.concatenate(parts, axis)
    return x


def _picked_pad(x: Array, widths: Any, mode: Any) -> Array:
    for axis, ((lo, hi), n) in enumerate(zip(widths, shape_of(x), strict=True)):
        if lo or hi:
            at = np.pad(np.arange(n)[max(-lo, 0) : n - max(-hi, 0)], (max(lo, 0), max(hi, 0)), mode)
            lead = (slice(None),) * axis
            x = indexing.read(x, (*lead, at))
    return x


CONSTANT_PAD = Composite("constant_pad_nd", _constant_pad)
PICKED_PAD = Composite("pad", _picked_pad, linear=True)
MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
MODE_NODES = {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """More elements at the ends of the last dimensions.

    Parameters
    ----------
    input : Tensor
    pad : sequence of int
        Pairs (before, after), the first for the last dimension; negative ones cut off.
    mode : {"constant", "reflect", "replicate", "circular"}, optional
    value : float, optional
        The new elements, with ``"constant"``; by default 0.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.functional.pad(torch.tensor([1.0, 2.0]), (1, 2))
    tensor([0., 1., 2., 0., 0.])
    """
    x = content(input, "pad")
    shape = shape_of(x)
    given = tuple(int(n) for n in pad)
    if len(given) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(given) > 2 * len(shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(given)} and input of dimension {len(shape)}"
        )
    pairs = [given[k : k + 2] for k in range(0, len(given), 2)][::-1]
    widths = ((0, 0),) * (len(shape) - len(pairs)) + tuple(pairs)
    for n, (lo, hi) in zip(shape, widths, strict=True):
        if n + lo < 0 or n + hi < 0 or n + lo + hi < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    if mode == "constant":
        filler = number(0.0 if value is None else value, dtype_of(x))
        found = computed(CONSTANT_PAD, x, widths=widths, filler=filler)
        return boxed(found, named("ConstantPadNdBackward0"))
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    name = f"{MODE_NODES[mode]}{len(pairs)}DBackward0"
    return boxed(computed(PICKED_PAD, x, widths=widths, mode=MODES[mode]), named(name))
