"""Grids and combinations of the elements of vectors."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations import axes, gathering, joining, reshaping
from funcgrad.torch.operations.record import operation
from funcgrad.torch.operations.requirements import requires

__all__ = [
    "cartesian_prod", "combinations", "meshgrid", "vander",
]  # fmt: skip


INDEXING = (
    "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Vectors expanded to a grid, by rows first (``"ij"``) or by columns first (``"xy"``)."""
    xs = list(
        tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    )
    if not xs:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warnings.warn(INDEXING, UserWarning, stacklevel=outside())
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    for x in xs:
        if x.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: a tensor of "
                f"shape {list(x.shape)}"
            )
        if x.dtype is not xs[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(xs) > 1
    if swap:
        xs[0], xs[1] = xs[1], xs[0]
    shape = [x.numel() for x in xs]
    grids = [
        axes.expand(reshaping.view(x, [-1 if j == k else 1 for j in range(len(xs))]), shape)
        for k, x in enumerate(xs)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each vector, as rows."""
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return joining.stack([reshaping.flatten(g) for g in grids], 1)


@operation("combinations", "input, int r=2, bool with_replacement=False", variants="")
@requires("rank(input) == 1: Expect a 1D vector, but got shape {sizes(input)}")
def combinations(input: Tensor, r: int, with_replacement: bool) -> Tensor:
    """All combinations of `r` elements of a vector, as rows."""
    n = input.numel()
    choose: Any = (
        itertools.combinations_with_replacement if with_replacement else itertools.combinations
    )
    rows = np.array(list(choose(range(n), r)), np.int64).reshape(-1, r)
    grids = meshgrid(*(input,) * r, indexing="ij")
    mask = np.zeros((n,) * r, bool)
    mask[tuple(rows.T)] = True
    return joining.stack([gathering.masked_select(g, box(mask)) for g in grids], 1)


@operation("vander", "x, int? N=None, bool increasing=False", variants="")
@requires("rank(x) == 1: x must be a one-dimensional tensor.")
def vander(x: Tensor, N: int | None, increasing: bool) -> Tensor:
    """The matrix of the powers of a vector."""
    count = x.numel() if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    powers = range(count) if increasing else range(count - 1, -1, -1)
    return joining.stack([x**p for p in powers], 1) if count else box(np.empty((x.numel(), 0)))
