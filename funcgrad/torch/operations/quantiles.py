"""Quantiles: the elements in order, and a mean of two neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations import arithmetic, axes, gathering, reshaping, selection
from funcgrad.torch.operations.common import axis_of, shape_of
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.interpolation import lerp
from funcgrad.torch.operations.promotion import dtype_of, kind_of, number
from funcgrad.torch.operations.record import Function, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.sorting import sort

__all__ = ["nanquantile", "quantile"]

WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


@requires("0 not in shape(input): {name}() input tensor must be non-empty")
def _checked(name: str, input: Tensor, q: Any, way: str) -> tuple[Array, Tensor]:
    x = input.content()
    if dtype_of(x) not in (np.float32, np.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if way not in WAYS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {way}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        return x, box(number(q, dtype_of(x)))
    given = q.content()
    if len(shape_of(given)) > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if kind_of(given) is not kind_of(x):
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    values = known(given, name)
    if not ((values >= 0) & (values <= 1)).all():
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return x, q


def _lines(input: Tensor, dim: int | None) -> Tensor:
    """The elements in order, along the last dimension."""
    if dim is None or not input.ndim:
        return sort(reshaping.flatten(input), 0)[0]  # type: ignore[no-any-return]
    n = input.ndim
    axis = axis_of(dim, n)
    if axis == max(n - 1, 0):
        return sort(input)[0]  # type: ignore[no-any-return]
    swapped = axes.transpose(axes.unsqueeze(input, -1), axis, -1)
    return sort(swapped)[0]  # type: ignore[no-any-return]


def _ranks(lines: Any, q: Any, ignore_nan: bool) -> Any:
    """Where the quantiles stand between the elements, counted from 0, for each line."""
    last = lines.shape[-1] - 1
    unknown = np.isnan(lines).sum(-1, keepdims=True)
    if ignore_nan:
        return q * np.maximum(last - unknown, 0).astype(q.dtype)
    ranks = q * q.dtype.type(last)
    return np.where(unknown > 0, q.dtype.type(last), ranks)


def _quantile(
    name: str, input: Tensor, q: Any, dim: Any, keepdim: bool, way: str, ignore_nan: bool
) -> Tensor:
    _, points = _checked(name, input, q, way)
    shape = shape_of(input)
    axis = None if dim is None else axis_of(dim, len(shape))
    if axis is None or not shape:
        rest = (1,) * len(shape) if keepdim else ()
    else:
        rest = (*shape[:axis], *((1,) if keepdim else ()), *shape[axis + 1 :])
    lines = _lines(input, dim)
    lines = reshaping.view(lines, (*rest, shape_of(lines)[-1]))
    p = np.asarray(known(points.content(), name)).reshape(-1)
    ranks = _ranks(known(lines.content(), name), p, ignore_nan)
    moving = points.requires_grad and way == "linear"
    exact = _moving(ranks, points, lines, ignore_nan) if moving else None
    found = _interpolated(lines, ranks, way, exact)
    if not points.ndim:
        return found.squeeze_(-1)
    return found.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)


def _moving(ranks: Any, points: Tensor, lines: Tensor, ignore_nan: bool) -> Tensor:
    """The ranks as they depend on the points; those of lines with NaN stand still."""
    last = shape_of(lines)[-1] - 1
    unknown = np.isnan(known(lines.content(), "quantile")).sum(-1, keepdims=True)
    steps = np.maximum(last - unknown, 0) if ignore_nan else np.full(unknown.shape, last)
    moved = arithmetic.mul(reshaping.reshape(points, (-1,)), box(steps.astype(ranks.dtype)))
    still = np.full(unknown.shape, False) if ignore_nan else unknown > 0
    found: Tensor = selection.where(box(still), box(ranks), moved)
    return found


def _interpolated(lines: Tensor, ranks: Any, way: str, exact: Tensor | None) -> Tensor:
    count = shape_of(lines)[-1]
    if way == "lower":
        ranks = np.floor(ranks)
    elif way == "higher":
        ranks = np.ceil(ranks)
    elif way == "nearest":
        ranks = np.rint(ranks)
    low = ranks.astype(np.int64)
    below = gathering.gather(lines, -1, box(low))
    if way in ("lower", "higher", "nearest"):
        return below
    weight = np.full(ranks.shape, 0.5) if way == "midpoint" else ranks - low
    high = np.minimum(np.ceil(ranks), count - 1).astype(np.int64)
    above = gathering.gather(lines, -1, box(high))
    part = box(weight.astype(ranks.dtype))
    if exact is not None:
        part = arithmetic.sub(exact, box(low.astype(ranks.dtype)))
    found: Tensor = lerp(below, above, part)
    return found


OF = "dim=None, bool keepdim=False, *, str interpolation='linear', out"


def _family(name: str, ignored: str = "") -> Function[Tensor]:
    @operation(
        name, f"input, q, int {OF} | input, float q, int {OF}", variants="method",
        doc=f"The quantiles `q` of all elements, or along a dimension{ignored}.",
    )  # fmt: skip
    def function(
        input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str
    ) -> Tensor:
        return _quantile(name, input, q, dim, keepdim, interpolation, bool(ignored))

    return function


quantile = _family("quantile")
nanquantile = _family("nanquantile", "; NaN is ignored")
