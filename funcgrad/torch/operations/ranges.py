"""Tensors of numbers in a row: ranges, spaced numbers, the indices of triangles."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.device import check_device
from funcgrad.torch.operations.common import into
from funcgrad.torch.operations.data import finished, kind_given
from funcgrad.torch.operations.promotion import NUMBERS, number, wrong_type

__all__ = [
    "arange", "linspace", "logspace", "range", "tril_indices", "triu_indices",
]  # fmt: skip


def _limit(function: str, argument: str, position: int, x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.item()
    if not isinstance(x, NUMBERS):
        wrong_type(function, argument, position, "Number", x)
    return x


def arange(
    *limits: Any, start: Any = None, end: Any = None, step: Any = None, dtype: Any = None,
    device: Any = None, requires_grad: bool = False, out: Tensor | None = None,
    layout: Any = None,
) -> Tensor:  # fmt: skip
    """The numbers from `start` (0) up to `end`, which is left out; integers if all are."""
    given = list(limits)
    if len(given) == 1 and end is None:
        given.insert(0, 0 if start is None else start)
    elif not given:
        given = [0 if start is None else start]
    if len(given) < 2 and end is not None:
        given.append(end)
    if len(given) < 2 or len(given) > 3:
        raise TypeError(
            "arange() received an invalid combination of arguments - got "
            f"({', '.join(type(v).__name__ for v in limits)}), but expected one of:\n * (Number "
            "end)\n * (Number start, Number end)\n * (Number start, Number end, Number step = 1)\n"
        )
    names = (("end", 1),) if len(limits) == 1 else (("start", 1), ("end", 2), ("step", 3))
    shown = dict(enumerate(names if len(limits) != 1 else (("start", 0), *names)))
    first, last, *rest = (
        _limit("arange", *shown.get(k, ("step", 3)), x)  # type: ignore[call-arg]
        for k, x in enumerate(given)
    )
    by = rest[0] if rest else (1 if step is None else _limit("arange", "step", 3, step))
    array = _arranged(first, last, by, kind_given("arange", dtype))
    return into(out, finished(array, requires_grad, device, "arange"), "arange")


def _arranged(first: Any, last: Any, by: Any, kind: dtypes.dtype | None) -> Any:
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"unsupported range: {first:g} -> {last:g}")
    if (last - first) * by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if kind is None:
        whole = all(isinstance(x, (int, np.integer)) for x in (first, last, by))
        kind = dtypes.int64 if whole else dtypes.get_default_dtype()
    if kind.numpy.kind in "bc":
        raise NotImplementedError(
            f"\"arange_cpu\" not implemented for '{dtypes.scalar_name(kind)}'"
        )
    if kind.numpy.kind in "iu":
        first, last, by = (int(v) for v in (first, last, by))
        return np.arange(first, last, by).astype(kind.numpy)
    count = math.ceil((last - first) / by)
    return (first + by * np.arange(count)).astype(kind.numpy)


def range(
    start: Any, end: Any, step: Any = 1, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """The numbers from `start` to `end`, which is included; PyTorch warns of it."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    kind = (kind_given("range", dtype) or dtypes.get_default_dtype()).numpy
    count = math.floor((end - start) / step) + 1
    return finished((start + step * np.arange(count)).astype(kind), requires_grad)


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


def _spacing(name: str, start: Any, end: Any, steps: Any, dtype: Any) -> tuple[Any, np.dtype[Any]]:
    if not isinstance(steps, (int, np.integer)):
        raise TypeError(f"{name}(): argument 'steps' must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    for end_name, v in (("start", start), ("end", end)):
        if isinstance(v, Tensor) and v.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {end_name} "
                f"with {v.ndim} dimension(s)."
            )
    ends = [_limit(name, n, k, v) for k, (n, v) in enumerate((("start", start), ("end", end)), 1)]
    kind = kind_given(name, dtype)
    if kind is None:
        whole = any(isinstance(v, complex) for v in ends)
        kind = dtypes.default_complex_dtype() if whole else dtypes.get_default_dtype()
    for v in ends:
        number(v, kind.numpy)
    return ends, kind.numpy


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """`steps` numbers from `start` to `end`, both included."""
    (first, last), kind = _spacing("linspace", start, end, steps, dtype)
    array = _spaced(first, last, steps, kind)
    return into(out, finished(array, requires_grad, device, "linspace"), "linspace")


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None,
    device: Any = None, requires_grad: bool = False, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """`base` to the power of `steps` numbers from `start` to `end`, both included."""
    (first, last), kind = _spacing("logspace", start, end, steps, dtype)
    wide = np.dtype(np.float64) if kind.kind in "iub" else kind
    array = np.power(wide.type(base), _spaced(first, last, steps, wide)).astype(kind)
    return into(out, finished(array, requires_grad, device, "logspace"), "logspace")


def _triangle_indices(name: str, lower: bool) -> Any:
    def function(
        row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64, device: Any = None
    ) -> Tensor:
        check_device(device)
        for extent_name, extent in (("row", row), ("col", col)):
            if extent < 0:
                raise RuntimeError(f"{extent_name} must be non-negative, got{extent}")
        found = np.tril_indices(row, offset, col) if lower else np.triu_indices(row, offset, col)
        return box(np.stack(found).astype(dtype.numpy))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Rows and columns of the {'lower' if lower else 'upper'} triangle."
    return function


tril_indices = _triangle_indices("tril_indices", True)
triu_indices = _triangle_indices("triu_indices", False)
