"""Distinct elements, counts, histograms and places in a sorted vector. None has a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops import sort as core
from funcgrad.torch import dtypes, return_types
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations import gathering
from funcgrad.torch.operations.common import axis_of, boxed, install, shape_of
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of
from funcgrad.torch.operations.record import node, operation, refuse
from funcgrad.torch.operations.recorded import Underivable
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.views import Held

__all__ = [
    "bincount", "bucketize", "histc", "histogram", "searchsorted", "unique", "unique_consecutive",
]  # fmt: skip

# --------------------------------------------------------------------------- distinct elements


def _given(results: tuple[Any, ...], *wanted: bool) -> Any:
    """The results asked for: alone, or as a tuple."""
    out = [results[0], *(r for r, w in zip(results[1:], wanted, strict=True) if w)]
    return out[0] if len(out) == 1 else tuple(out)


def _unique(x: Any, axis: int | None) -> tuple[Any, Any, Any]:
    """The distinct elements in order, where each element went, and how many there were."""
    values, inverse, counts = np.unique(
        x, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    return values, np.reshape(inverse, -1 if axis is not None else x.shape), counts


def _recorded(input: Tensor, name: str, compute: Any) -> Any:
    """The values as a result of a node without a derivative, the rest as plain tensors."""
    core, kind = DISTINCT[name]
    x = content(input, core.torch_name)
    refuse({"c": name}, x)
    values, inverse, counts = compute(known(x, f"{name}()"))
    made = boxed(core(x, values=Held(values)), kind)
    return made, box(inverse.astype(np.int64)), box(counts.astype(np.int64))


DISTINCT = {
    name: (Underivable(torch_name, lambda x, values: values.array, True), node(kind))
    for name, torch_name, kind in (
        ("unique", "_unique2", "Unique2"),
        ("unique_dim", "unique_dim", "UniqueDim"),
        ("unique_consecutive", "unique_consecutive", "UniqueConsecutive"),
    )
}


def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct elements in order, or the distinct slices along a dimension."""
    if dim is None:
        made = _recorded(input, "unique", lambda x: _unique(x, None))
    else:
        axis = _axis(input, dim)
        made = _recorded(input, "unique_dim", lambda x: _unique(x, axis))
    return _given(made, return_inverse, return_counts)


@requires("rank(input): IndexError: Dimension specified as {dim} but tensor has no dimensions")
def _axis(input: Tensor, dim: int) -> int:
    return axis_of(dim, input.ndim)


def _runs(x: Any, axis: int | None) -> tuple[Any, Any, Any]:
    lines = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
    count = len(lines)
    other = (lines[1:] != lines[:-1]).any(tuple(range(1, lines.ndim)))
    starts = np.concatenate([np.ones(min(count, 1), bool), other])
    (places,) = np.nonzero(starts)
    inverse = np.cumsum(starts) - 1
    counts = np.diff(np.append(places, count))
    values = lines[places]
    if axis is None:
        return values, inverse.reshape(x.shape), counts
    return np.moveaxis(values, 0, axis), inverse, counts


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The elements without repetitions that follow one another."""
    axis = None if dim is None else _axis(input, dim)
    made = _recorded(input, "unique_consecutive", lambda x: _runs(x, axis))
    return _given(made, return_inverse, return_counts)


install(unique=unique, unique_consecutive=unique_consecutive)


# ------------------------------------------------------------------------------------- counts


@operation("bincount", "input, weights=None, int minlength=0", variants="method")
def bincount(input: Tensor, weights: Tensor | None, minlength: int) -> Tensor:
    """How often each integer occurs, or the sum of the weights at its places."""
    x = input.content()
    refuse({"bfc": "bincount_cpu"}, x)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    values = known(x, "bincount()")
    if values.ndim != 1 or (values < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return box(np.bincount(values, minlength=minlength))
    w = weights.content()
    if shape_of(w) != shape_of(x):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return boxed(WEIGHTED(w, values=Held(values), minlength=minlength), UNKNOWN)


def _weighted(w: Any, values: Held, minlength: int) -> Any:
    wide = np.bincount(values.array, w, minlength)
    return wide.astype(np.float32) if w.dtype == np.float32 else wide


WEIGHTED, UNKNOWN = Underivable("bincount", _weighted), node("NotImplemented")
NO_KERNEL = {"biuc": "histogram_cpu"}


@operation(
    "histc", "input, int bins=100, Number min=0, Number max=0, *, out", variants="method"
)  # fmt: skip
def histc(input: Tensor, bins: int, min: float, max: float) -> Tensor:
    """How many elements fall into each of `bins` equal intervals of [min, max]."""
    x = input.content()
    refuse(NO_KERNEL, x)
    if bins <= 0:
        raise RuntimeError("torch.histogramdd(): bins must be > 0")
    low, high = _range(known(x, "histc()"), min, max)
    values = known(x, "histc()").reshape(-1)
    counts, _ = np.histogram(values[np.isfinite(values)], bins, (low, high))
    return box(counts.astype(values.dtype))


@requires("low <= high: torch.histc: max must be larger than min")
def _range(x: Any, low: float, high: float, around: float = 1) -> tuple[float, float]:
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if not np.isfinite(low) or not np.isfinite(high):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low == high:
        low, high = low - around, high + around
    return low, high


def _ends(x: Any, given: tuple[float, float] | None) -> tuple[float, float]:
    """The range of a histogram: around a single value, and of nothing [0, 1]."""
    if given is not None:
        return given
    return _range(x, 0, 0, 0.5) if x.size else (0.0, 1.0)


@operation(
    "histogram",
    "input, bins, *, weight=None, bool density=False, Tensors out"
    " | input, int bins=100, *, floats range=None, weight=None, bool density=False, Tensors out",
    variants="method",
)  # fmt: skip
def histogram(
    input: Tensor, bins: Any, weight: Tensor | None, density: bool,
    range: tuple[float, float] | None,
) -> Any:  # fmt: skip
    """Counts (or sums of weights) between edges, and the edges."""
    x = input.content()
    refuse(NO_KERNEL, x)
    values = known(x, "histogram()").reshape(-1)
    edges = known(bins.content(), "histogram()") if isinstance(bins, Tensor) else bins
    weights = None if weight is None else known(weight.content(), "histogram()").reshape(-1)
    low_high = None if isinstance(bins, Tensor) else _ends(values, range)
    counts, found = np.histogram(values, edges, low_high, density, weights)
    kind = values.dtype
    return return_types.histogram(box(counts.astype(kind)), box(found.astype(kind)))


# ------------------------------------------------------------------------------------ searching


SEARCH = "bool out_int32=False, bool right=False"
LINES = f"{SEARCH}, str side=None, sorter=None, out"


@operation(
    "searchsorted",
    f"sorted_sequence, input, *, {LINES} | sorted_sequence, Number self, *, {LINES}", variants="",
)  # fmt: skip
def searchsorted(
    sorted_sequence: Tensor, input: Any, out_int32: bool, right: bool, side: str | None,
    sorter: Tensor | None,
) -> Tensor:  # fmt: skip
    """Where values would go in sorted lines (the last dimension) so that these stay sorted."""
    a = sorted_sequence.content()
    if sorter is not None:
        _check_sorter(sorter, shape_of(a))
        a = known(gathering.gather(sorted_sequence, -1, sorter).content(), "searchsorted()")
    v = input.content() if isinstance(input, Tensor) else np.asarray(input)
    where_ = "right" if right or side == "right" else "left"
    kind = np.int32 if out_int32 else np.int64
    if len(shape_of(a)) == 1:
        found = core.searchsorted(a, v, where_)
    else:
        found = _search_lines(a, v, where_)
    return box(np.asarray(found).astype(kind))


def _check_sorter(sorter: Tensor, shape: tuple[int, ...]) -> None:
    if shape_of(sorter) != shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
            f"tensor {list(shape)}and got sorter tensor {list(sorter.shape)}"
        )
    if dtype_of(sorter.content()) != np.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
            f"{dtypes.scalar_name(kind_of(sorter.content()))}"
        )
    at = known(sorter.content(), "searchsorted()")
    if at.size and (at.min() < 0 or at.max() >= shape[-1]):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


def _search_lines(a: Any, v: Any, side: Any) -> Any:
    lines, values = known(a, "searchsorted()"), known(v, "searchsorted()")
    if lines.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(lines.shape)} and input value tensor {list(values.shape)}"
        )
    out = np.empty(values.shape, np.int64)
    for at in np.ndindex(lines.shape[:-1]):
        out[at] = np.searchsorted(lines[at], values[at], side)
    return out


@operation(
    "bucketize",
    f"input, boundaries, *, {SEARCH}, out | Number self, boundaries, *, {SEARCH}", variants="",
)  # fmt: skip
@requires("""
    rank(boundaries) == 1: torch.searchsorted(): boundaries tensor must be 1 dimension, but got
        dim({rank(boundaries)})
""")
def bucketize(input: Any, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    """Between which boundaries values lie."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)
