"""Norms and angles between vectors, and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import index as indexing
from funcgrad.ops import shape as shapes
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.memory_formats import in_format, order_of_images
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nn.functional.common import broadcast, by_number, renamed
from funcgrad.torch.operations.common import boxed, computed, copied, shape_of
from funcgrad.torch.operations.promotion import content, dtype_of, number
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.requirements import requirements, requires

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


@operation("cosine_similarity", "x1, x2, int dim=1, float eps=1e-08", variants="")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    """The cosine of the angle between vectors along a dimension.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x, y = torch.tensor([[3.0, 4.0]]), torch.tensor([[4.0, 3.0]])
    >>> torch.nn.functional.cosine_similarity(x, y)
    tensor([0.9600])
    """
    if x1.dtype is not x2.dtype or not x1.is_floating_point():
        common = dtypes.promote_types(x1.dtype, x2.dtype)
        if not common.is_floating_point:
            raise RuntimeError(
                "expected common dtype to be floating point, yet common dtype is "
                f"{dtypes.scalar_name(common)}"
            )
        x1, x2 = (x if x.is_floating_point() else x.to(common) for x in (x1, x2))
    if x1.shape != x2.shape:
        shape = tuple(broadcast(x1, x2)[0].shape)
        x1, x2 = x1.expand(shape), x2.expand(shape)
    out: Tensor = (x1 / _size_of(x1, dim, eps) * (x2 / _size_of(x2, dim, eps))).sum(dim)
    return out


@operation(
    "pairwise_distance", "x1, x2, float p=2., float eps=1e-06, bool keepdim=False", variants=""
)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    """The norm of ``x1 - x2 + eps`` along the last dimension."""
    apart = by_number(x1 - x2 + eps, "Add")
    return renamed(apart.norm(p, -1, keepdim=keepdim), "NormBackward1")


# ---------------------------------------------------------------------------------- padding


def padded(x: Array, widths: Any, filler: Any) -> Array:
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


def _laid_pad(x: Array, widths: Any, filler: Any, cut: bool, order: Any) -> Array:
    """`padded`, `in_format`; what is only `cut` lies in the order of the operand."""
    x = padded(x, widths, filler)
    return copied(x) if cut else in_format(x, order)


def _picked_pad(x: Array, widths: Any, mode: Any, order: Any) -> Array:
    for axis, ((lo, hi), n) in enumerate(zip(widths, shape_of(x), strict=True)):
        if lo or hi:
            wide, kept = (max(lo, 0), max(hi, 0)), slice(max(-lo, 0), n - max(-hi, 0))
            if mode == "wrap":  # what is cut off does not come back at the other end
                at = np.pad(np.arange(n)[kept], wide, mode)
            else:
                whole = np.pad(np.arange(n), wide, mode)
                at = whole[kept.start : len(whole) - max(-hi, 0)]
            lead = (slice(None),) * axis
            x = indexing.read(x, (*lead, at))
    return in_format(x, order)


UNSUPPORTED = """
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""
_check_room = requirements(
    "mode, shape, given, rank, count, supported",
    """
    1 <= count <= 3 and rank in (count + 1, count + 2): NotImplementedError: Padding size
        {len(given)} is not supported for {rank}D input tensor.{supported}
    mode == "circular" or 0 not in shape[rank - count - 1:]: Expected {count + 1}D or {count + 2}D
        (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but
        got: {[*shape]}
    """,
)
_check_ends = requirements(
    "mode, shape, n, lo, hi, axis, k",
    """
    mode != "circular" or max(lo, hi) <= n: Padding value causes wrapping around more than once.
    mode != "circular" or n + lo + hi >= 0: Negative padding value is resulting in an empty
        dimension
    mode != "reflect" or max(lo, hi) < n: Argument #{2 * k + 4}: Padding size should be less than
        the corresponding input dimension, but got: padding ({lo}, {hi}) at dimension {axis} of
        input {[*shape]}
    mode == "circular" or n + lo + hi >= 1: input ({'WHD'[k]}: {n}) is too small. Calculated output
        {'WHD'[k]}: {n + lo + hi}
    """,
)


def _check_picked(mode: str, shape: tuple[int, ...], given: tuple[int, ...]) -> None:
    """Raise where PyTorch has no elements to repeat, or no such padding."""
    rank, count = len(shape), len(given) // 2
    _check_room(mode, shape, given, rank, count, UNSUPPORTED)
    for k in range(count):
        axis = rank - 1 - k
        _check_ends(mode, shape, shape[axis], *given[2 * k : 2 * k + 2], axis, k)


CONSTANT_PAD = Composite("constant_pad_nd", _laid_pad)
PICKED_PAD = Composite("pad", _picked_pad, linear=True)
MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
MODE_NODES = {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}


@requires("""
    len(pad) % 2 == 0: Padding length must be divisible by 2
    len(pad) <= 2 * rank(tensor(input, "pad")): Padding length should be less than or equal to two
        times the input dimension but got padding length {len(pad)} and input of dimension
        {rank(input)}
    mode == "constant" or not value: ValueError: Padding mode "{mode}" doesn't take in value
        argument
    mode in ("constant", "reflect", "replicate", "circular"): NotImplementedError: Unrecognised
        padding mode {mode}
""")
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
    x = input.content()
    shape = shape_of(x)
    given = tuple(int(n) for n in pad)
    pairs = [given[k : k + 2] for k in range(0, len(given), 2)][::-1]
    widths = ((0, 0),) * (len(shape) - len(pairs)) + tuple(pairs)
    if mode == "constant":
        for n, (lo, hi) in zip(shape, widths, strict=True):
            if n + lo < 0 or n + hi < 0 or n + lo + hi < 0:
                raise RuntimeError("narrow(): length must be non-negative.")
        filler = number(0.0 if value is None else value, dtype_of(x))
        cut, order = all(n <= 0 for n in given), order_of_images(input)
        found = computed(CONSTANT_PAD, x, widths=widths, filler=filler, cut=cut, order=order)
        return boxed(found, node("ConstantPadNd"))
    _check_picked(mode, shape, given)
    name = f"{MODE_NODES[mode]}{len(pairs)}D"
    bends = f"{name}BackwardBackward0" if mode != "circular" else None
    order = None if mode == "circular" else order_of_images(input)
    found = computed(PICKED_PAD, x, widths=widths, mode=MODES[mode], order=order)
    return boxed(found, node(name, bends=bends))
