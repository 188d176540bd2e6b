"""Tensors of numbers in a row: ranges, spaced numbers, the indices of triangles."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import outside
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.creation import creation, usual
from funcgrad.torch.operations.promotion import number
from funcgrad.torch.operations.record import Function
from funcgrad.torch.operations.requirements import requires

__all__ = [
    "arange", "linspace", "logspace", "range", "tril_indices", "triu_indices",
]  # fmt: skip


@creation(
    "arange", "Number end, *, out", "Number start, Number end",
    "Number start, Number end, Number step=1, *, out",
)  # fmt: skip
def arange(end: Any, start: Any, step: Any, kind: dtypes.dtype | None) -> Any:
    """The numbers from `start` (0) up to `end`, which is left out; integers if all are."""
    return _arranged(0 if start is None else start, end, 1 if step is None else step, kind)


@requires("""
    by != 0: step must be nonzero
    math.isfinite(first) and math.isfinite(last): unsupported range: {first:g} -> {last:g}
    (last - first) * by >= 0: upper bound and lower bound inconsistent with step sign
""")
def _arranged(first: Any, last: Any, by: Any, kind: dtypes.dtype | None) -> Any:
    if kind is None:
        whole = all(isinstance(x, (int, np.integer)) for x in (first, last, by))
        kind = dtypes.int64 if whole else dtypes.get_default_dtype()
    if kind.numpy.kind in "bc":
        raise NotImplementedError(
            f"\"arange_cpu\" not implemented for '{dtypes.scalar_name(kind)}'"
        )
    if kind.numpy.kind in "iu":
        first, last, by = (int(v) for v in (first, last, by))
        if not by:  # a fraction is none of the dtype
            raise ValueError("step must be nonzero")
        return np.arange(first, last, by).astype(kind.numpy)
    count = math.ceil((last - first) / by)
    return (first + by * np.arange(count)).astype(kind.numpy)


@creation("range", "Number start, Number end, Number step=1")
def range(start: Any, end: Any, step: Any, kind: dtypes.dtype | None) -> Any:
    """The numbers from `start` to `end`, which is included; PyTorch warns of it."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        UserWarning,
        stacklevel=outside(),
    )
    count = math.floor((end - start) / step) + 1
    return (start + step * np.arange(count)).astype(usual(kind))


def _spaced(first: Any, last: Any, steps: int, kind: np.dtype[Any]) -> Any:
    """Equal steps from both ends, so that the two halves mirror each other."""
    wide = np.dtype(np.complex128 if kind.kind == "c" else np.float64)
    if kind.kind in "fc":
        wide = kind
    first, last = wide.type(first), wide.type(last)
    if steps == 1:
        return np.full(1, first).astype(kind)
    at = np.arange(steps)
    step = wide.type((last - first) / wide.type(steps - 1))
    rising = first + step * at.astype(wide)
    falling = last - step * (steps - 1 - at).astype(wide)
    return np.where(at < steps // 2, rising, falling).astype(kind)


@requires("steps >= 0: number of steps must be non-negative")
def _spacing(
    name: str, ends: Sequence[Any], steps: int, kind: dtypes.dtype | None
) -> tuple[Any, np.dtype[Any]]:
    for end_name, v in zip(("start", "end"), ends, strict=True):
        if isinstance(v, Tensor) and v.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {end_name} "
                f"with {v.ndim} dimension(s)."
            )
    ends = [v.item() if isinstance(v, Tensor) else v for v in ends]
    if kind is None:
        whole = any(isinstance(v, complex) for v in ends)
        kind = dtypes.default_complex_dtype() if whole else dtypes.get_default_dtype()
    for v in ends:
        number(v, kind.numpy)
    return ends, kind.numpy


def _whole(target: np.dtype[Any], *ends: Any) -> Sequence[Any]:
    """The ends in the dtype of integers that are asked for, before any step is made."""
    return [int(v) for v in ends] if target.kind in "iu" else ends


def _between(steps: str) -> list[str]:
    return [
        f"{first} start, {last} end, {steps}, *, out"
        for last in ("Tensor", "Number") for first in ("Tensor", "Number")
    ]  # fmt: skip


@creation("linspace", *_between("int steps"))
def linspace(start: Any, end: Any, steps: int, kind: dtypes.dtype | None) -> Any:
    """`steps` numbers from `start` to `end`, both included."""
    (first, last), target = _spacing("linspace", (start, end), steps, kind)
    first, last = _whole(target, first, last)
    return _spaced(first, last, steps, target)


@creation("logspace", *_between("int steps, float base=10.0"))
def logspace(start: Any, end: Any, steps: int, base: float, kind: dtypes.dtype | None) -> Any:
    """`base` to the power of `steps` numbers from `start` to `end`, both included."""
    (first, last), target = _spacing("logspace", (start, end), steps, kind)
    first, last = _whole(target, first, last)
    wide = np.dtype(np.float64) if target.kind in "iub" else target
    return np.power(wide.type(base), _spaced(first, last, steps, wide)).astype(target)


def _triangle_indices(name: str, find: Callable[..., Any], part: str) -> Function[Tensor]:
    def function(row: int, col: int, offset: int, kind: dtypes.dtype | None) -> Any:
        for extent_name, extent in (("row", row), ("col", col)):
            if extent < 0:
                raise RuntimeError(f"{extent_name} must be non-negative, got{extent}")
        return np.stack(find(row, offset, col)).astype((kind or dtypes.int64).numpy)

    doc = f"Rows and columns of the {part} triangle."
    return creation(name, "int row, int col, int offset=0", doc=doc)(function)


tril_indices = _triangle_indices("tril_indices", np.tril_indices, "lower")
triu_indices = _triangle_indices("triu_indices", np.triu_indices, "upper")
