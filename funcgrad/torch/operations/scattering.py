"""Writing along a dimension by positions: scatter and scatter_add.

Repeated positions add up under `scatter_add`; where a write replaces, the last one wins and the
others get no gradient. (`scatter_reduce` has a file of its own.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import index as core
from funcgrad.ops.shape import broadcast_to, reshape
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import (
    axis_of,
    boxed,
    into,
    method,
    named,
    numpy_names,
    shape_of,
    widened,
)
from funcgrad.torch.operations.gathering import (
    check_bounds,
    check_index,
    check_ranks,
    positions_along,
)
from funcgrad.torch.operations.promotion import NUMBERS, content, dtype_of, number, wrong_type
from funcgrad.torch.operations.recorded import Underivable

__all__ = [
    "scatter", "scatter_add",
]  # fmt: skip

SET_AT = Composite("set_at", lambda x, v, at: core.set_positions(x, at, v), linear=True, fixed=1)
ADD_AT = Composite("add_at", widened(lambda x, v, at: core.add_at(x, at, v)), linear=True, fixed=1)


def _source(function: str, x: Array, src: Tensor, at: Array) -> Array:
    """The part of `src` that is written: as large as the index."""
    v = content(src, function, "src", 4)
    if dtype_of(v) != dtype_of(x):
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    where_, given = shape_of(at), shape_of(v)
    if any(n > m for n, m in zip(where_, given, strict=False)):
        raise RuntimeError(
            f"Expected index {list(where_)} to be no larger than self {list(shape_of(x))} apart "
            f"from dimension 0 and to be no larger size than src {list(given)}"
        )
    return v


def _scattered(x: Array, v: Array, at: Array, axis: int, adding: bool) -> Array:
    shape, where_ = shape_of(x), shape_of(at)
    if not shape:
        x, v, at = (reshape(c, (math.prod(shape_of(c)),)) for c in (x, v, at))
        found = _scattered(x, v, at, 0, adding)
        return reshape(found, shape)
    if shape_of(v) and shape_of(v) != where_:
        v = core.getitem(v, tuple(slice(0, n) for n in where_))
    positions = positions_along(shape, at, axis)
    v = broadcast_to(v, where_)
    write_ = core.add_at if adding else core.set_positions
    return write_(x, positions, v)


SCATTER = Composite("scatter", widened(_scattered), linear=True, fixed=1)
SCATTER_NODE = named("ScatterBackward0", "", "", "", "index", shown=(0, 1))
SCATTER_NUMBER = named("ScatterBackward1", "", "", "", "index", shown=(0,))
SCATTER_ADD = named("ScatterAddBackward0", "", "", "", "index", shown=(0, 1))


def _prepared(function: str, input: Tensor, dim: int, index: Tensor) -> tuple[Array, Array, int]:
    x, at = content(input, function), content(index, function, "index", 3)
    check_index(function if function != "scatter_add" else "scatter", at)
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    check_ranks(shape, shape_of(at), axis, "self")
    check_bounds(at, shape[axis] if shape else 1, axis)
    return x, at, axis


@method(changing=True)
@numpy_names
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, value: Any = None, *,
    reduce: str | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """A copy in which entries of `src` (or a number) are written along a dimension."""
    x, at, axis = _prepared("scatter", input, dim, index)
    given = value if src is None else src
    if reduce is not None:
        return into(out, _reducing(x, at, axis, given, reduce), "scatter")
    if isinstance(given, Tensor):
        v = _source("scatter", x, given, at)
        result = boxed(SCATTER(x, v, at, axis=axis, adding=False), SCATTER_NODE)
    else:
        if not isinstance(given, NUMBERS):
            wrong_type("scatter", "src", 4, "Tensor", given)
        v = number(given, dtype_of(x))
        result = boxed(SCATTER(x, v, at, axis=axis, adding=False), SCATTER_NUMBER)
    return result if out is None else into(out, result, "scatter")


def _reducing(x: Array, at: Array, axis: int, given: Any, reduce: str) -> Tensor:
    """The old form ``reduce="add"`` or ``"multiply"``, which has no derivative."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    v = (
        _source("scatter", x, given, at)
        if isinstance(given, Tensor)
        else number(given, dtype_of(x))
    )
    made = SCATTER_REDUCING(x, v, at, axis=axis, adding=reduce == "add")
    return boxed(made, named("NotImplemented", shown=(0, 1) if isinstance(given, Tensor) else (0,)))


def _multiplied(x: Any, v: Any, at: Any, axis: int, adding: bool) -> Any:
    if adding:
        return _scattered(x, v, at, axis, True)
    out = np.array(x)
    positions = positions_along(out.shape, at, axis)
    part = v if not np.ndim(v) else v[tuple(slice(0, n) for n in np.shape(at))]
    np.multiply.at(out.reshape(-1), positions, part)
    return out


SCATTER_REDUCING = Underivable("scatter", _multiplied)


@method(changing=True)
@numpy_names
def scatter_add(
    input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """A copy to which entries of `src` are added along a dimension."""
    x, at, axis = _prepared("scatter_add", input, dim, index)
    v = _source("scatter_add", x, src, at)
    result = boxed(SCATTER(x, v, at, axis=axis, adding=True), SCATTER_ADD)
    return result if out is None else into(out, result, "scatter_add")
