"""Reading and writing along a dimension by positions: gather, scatter and their kin.

Repeated positions add up under `scatter_add`, `index_add` and ``accumulate=True``; where a write
replaces, the last one wins and the others get no gradient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as core
from funcgrad.ops.shape import broadcast_to, reshape
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations import axes, reshaping
from funcgrad.torch.operations.common import (
    axis_of,
    boxed,
    computed,
    copied,
    inplace,
    install,
    into,
    method,
    mismatch,
    named,
    numpy_names,
    shape_of,
    told,
)
from funcgrad.torch.operations.comparison import known, selected
from funcgrad.torch.operations.parts import positioned
from funcgrad.torch.operations.promotion import (
    NUMBERS,
    content,
    dtype_of,
    kind_of,
    number,
    wrong_type,
)
from funcgrad.torch.operations.recorded import Underivable
from funcgrad.torch.staged import bounded

__all__ = [
    "gather", "index_add", "index_copy", "index_fill", "index_select", "masked_scatter",
    "masked_select", "put", "scatter", "scatter_add", "take", "take_along_dim",
]  # fmt: skip

SET_AT = Composite("set_at", lambda x, v, at: core.set_positions(x, at, v), linear=True, fixed=1)
ADD_AT = Composite("add_at", lambda x, v, at: core.add_at(x, at, v), linear=True, fixed=1)


def positions_along(shape: tuple[int, ...], at: Array, axis: int) -> Array:
    """The flat positions, in an array of `shape`, of entries `at` along an axis."""
    where_ = shape_of(at)
    steps = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    other: Any = np.zeros((1,) * len(shape), np.int64)
    for k in range(len(shape)):
        if k != axis:
            other = other + (np.arange(where_[k]) * steps[k]).reshape(
                (-1,) + (1,) * (len(shape) - k - 1)
            )
    return a.add(a.multiply(at, steps[axis]), other)


def _check_index(function: str, at: Array) -> Array:
    if dtype_of(at) not in (np.int64, np.int32):
        raise RuntimeError(f"{function}(): Expected dtype int32/int64 for index")
    return at


def _check_bounds(at: Array, extent: int, axis: int, error: Any = RuntimeError) -> None:
    """Raise for a position outside; negative ones do not count from the end."""
    bounded(at, 0, extent - 1)
    if not concrete(at):
        return
    array = np.asarray(value(at))
    bad = (array < 0) | (array >= extent)
    if bad.any():
        raise error(
            f"index {array[bad].flat[0]} is out of bounds for dimension {axis} with size {extent}"
        )


def _check_ranks(shape: tuple[int, ...], at: tuple[int, ...], axis: int, what: str) -> None:
    if max(len(shape), 1) != max(len(at), 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} tensor")
    if not at or not shape or 0 in at:
        return
    if any(at[k] > shape[k] for k in range(len(shape)) if k != axis):
        odd = next(k for k in range(len(shape)) if at[k] > shape[k])
        raise RuntimeError(
            f"Size does not match at dimension {odd} "
            f"expected index {list(at)} to be no larger than self {list(shape)} apart from "
            f"dimension {axis}"
        )


# ------------------------------------------------------------------------------------ reading


@method()
@numpy_names
def gather(
    input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None
) -> Tensor:
    """The entries along a dimension at positions given for every place of the result."""
    x, at = content(input, "gather"), content(index, "gather", "index", 3)
    shape, where_ = shape_of(x), shape_of(at)
    axis = axis_of(dim, len(shape))
    _check_index("gather", at)
    _check_ranks(shape, where_, axis, "input")
    _check_bounds(at, shape[axis] if shape else 1, axis)
    names = ("", "self", *("",) * axis, *(("index",) if shape and where_ else ()))
    node = named("GatherBackward0", *names, shown=(0,))
    if not shape or not where_:
        made = copied(x) if not shape else core.gather(x, at)
    else:
        grid = [
            at if k == axis else np.arange(where_[k]).reshape((-1,) + (1,) * (len(shape) - k - 1))
            for k in range(len(shape))
        ]
        made = core.gather(x, *grid)
    result = told(boxed(made, node), dim=axis, sparse_grad=bool(sparse_grad))
    return result if out is None else into(out, result, "gather")


@method()
@numpy_names
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The entries along a dimension at positions given by a vector."""
    x, at = content(input, "index_select"), content(index, "index_select", "index", 3)
    shape = shape_of(x)
    if len(shape_of(at)) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if dtype_of(at) not in (np.int64, np.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    axis = axis_of(dim, len(shape))
    if not shape and math.prod(shape_of(at)) != 1:
        raise RuntimeError(
            "index_select(): Index to scalar can have only 1 value, got "
            f"{math.prod(shape_of(at))} value(s)"
        )
    bounded(at, 0, (shape[axis] if shape else 1) - 1)
    if concrete(at):
        array = np.asarray(value(at))
        if ((array < 0) | (array >= (shape[axis] if shape else 1))).any():
            raise IndexError("index out of range in self")
    names = ("", "", *("",) * axis, *(("index",) if shape and shape_of(at) else ()))
    node = named("IndexSelectBackward0", *names, shown=(0,))
    if not shape:
        return into(out, told(boxed(copied(x), node), dim=axis), "index_select")
    if not shape_of(at):
        at = reshape(at, (1,))
    lead = [np.arange(shape[k]).reshape((-1,) + (1,) * (axis - k)) for k in range(axis)]
    result = told(boxed(core.gather(x, *lead, at), node), dim=axis)
    return result if out is None else into(out, result, "index_select")


@method()
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of the flat tensor at positions; negative ones count from the end."""
    x, at = content(input, "take"), content(index, "take", "index", 2)
    if dtype_of(at) != np.int64:
        raise RuntimeError(
            f"take(): Expected a long tensor for index, but got {dtypes.scalar_name(kind_of(at))}"
        )
    size = math.prod(shape_of(x))
    bounded(at, -size, size - 1)
    if concrete(at):
        array = np.asarray(value(at))
        bad = (array < -size) | (array >= size)
        if bad.any():
            raise IndexError(
                f"out of range: tried to access index {array[bad].flat[0]} on a tensor of {size} "
                "elements."
            )
    found = computed(TAKE, x, at)
    result = boxed(found, named("TakeBackward0", "", "self", "index"))
    return result if out is None else into(out, result, "take")


TAKE = Composite(
    "take", lambda x, at: core.gather(reshape(x, (math.prod(shape_of(x)),)), at), linear=True,
    fixed=1,
)  # fmt: skip


@method()
@numpy_names
def take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`gather` with shapes that broadcast; without a dimension in the flat tensor."""
    if indices.dtype is not dtypes.int64:
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long")
    if dim is None:
        flat = reshaping.view(input, -1)
        return gather(flat, 0, reshaping.reshape(indices, -1), out=out)
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    axis = axis_of(dim, input.ndim)
    mine, given = list(input.shape), list(indices.shape)
    shared = list(np.broadcast_shapes(
        tuple(n for k, n in enumerate(mine) if k != axis),
        tuple(n for k, n in enumerate(given) if k != axis),
    ))  # fmt: skip
    wide = axes.expand(input, (*shared[:axis], mine[axis], *shared[axis:]))
    at = axes.expand(indices, (*shared[:axis], given[axis], *shared[axis:]))
    return gather(wide, axis, at, out=out)


def _selected(x: Array, chosen: np.ndarray[Any, Any]) -> Array:
    """The elements of `x`, repeated to the shape of a mask, where that holds."""
    if not shape_of(x):
        return computed(REPEATED, x, count=int(chosen.sum()))
    return positioned(x, lambda v: np.broadcast_to(v, chosen.shape)[chosen])


@method()
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where a mask holds, in one dimension; both shapes broadcast."""
    x, m = content(input, "masked_select"), content(mask, "masked_select", "mask", 2)
    if dtype_of(m).kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    full = _common(x, m)
    if concrete(m):
        made = _selected(x, np.broadcast_to(known(m, "masked_select()"), full))
    else:
        at = selected(broadcast_to(m, full), "masked_select()")
        made = core.gather(broadcast_to(x, full), *at)
    result = boxed(made, named("MaskedSelectBackward0", "", "self", shown=(0,)))
    told(result, mask=mask.detach())
    return result if out is None else into(out, result, "masked_select")


REPEATED = Composite("repeated", lambda x, count: broadcast_to(x, (count,)), linear=True)


def _common(x: Array, y: Array) -> tuple[int, ...]:
    message = mismatch([shape_of(x), shape_of(y)])
    if message is not None:
        raise RuntimeError(message)
    return np.broadcast_shapes(shape_of(x), shape_of(y))


# ------------------------------------------------------------------------------- scatter


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


SCATTER = Composite("scatter", _scattered, linear=True, fixed=1)
SCATTER_NODE = named("ScatterBackward0", "", "", "", "index", shown=(0, 1))
SCATTER_NUMBER = named("ScatterBackward1", "", "", "", "index", shown=(0,))
SCATTER_ADD = named("ScatterAddBackward0", "", "", "", "index", shown=(0, 1))


def _prepared(function: str, input: Tensor, dim: int, index: Tensor) -> tuple[Array, Array, int]:
    x, at = content(input, function), content(index, function, "index", 3)
    _check_index(function if function != "scatter_add" else "scatter", at)
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    _check_ranks(shape, shape_of(at), axis, "self")
    _check_bounds(at, shape[axis] if shape else 1, axis)
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


# ----------------------------------------------------------------------------- index_add & kin


def index_along(
    function: str, input: Tensor, dim: int, index: Tensor, source: Tensor | None,
    wrong_count: Any = RuntimeError,
) -> tuple[Array, Array, int]:  # fmt: skip
    """The content, the positions along a dimension, the axis; of a vector of positions."""
    x, at = content(input, function), content(index, function, "index", 3)
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    if len(shape_of(at)) > 1:
        raise IndexError(f"{function}_(): Index should have dimension 1 or 0 (got "
                         f"{len(shape_of(at))})")  # fmt: skip
    if dtype_of(at) not in (np.int64, np.int32):
        raise RuntimeError(f"{function}_(): Expected dtype int32/int64 for index")
    if source is not None:
        count = math.prod(shape_of(at))
        extent = shape_of(source)[axis] if shape_of(source) else 1
        if count != extent:
            if wrong_count is IndexError:
                raise IndexError(
                    f"{function}_(): Number of indices ({count}) should be equal to "
                    f"source.size(dim) ({extent})"
                )
            raise RuntimeError(
                f"{function}_(): Number of indices ({count}) should be equal to source.size(dim): "
                f"({extent}), for dim: {axis}"
            )
    return x, at, axis


def flat_positions(shape: tuple[int, ...], at: Array, axis: int) -> Array:
    """The flat positions of whole slices at a vector of positions along an axis."""
    count = math.prod(shape_of(at))
    if not shape:
        return a.multiply(reshape(at, (count,)), 0)
    wide = reshape(at, tuple(count if k == axis else 1 for k in range(len(shape))))
    full = tuple(count if k == axis else n for k, n in enumerate(shape))
    return positions_along(shape, broadcast_to(wide, full), axis)


def _wrapped(at: Array, extent: int, error: Exception) -> Array:
    """Positions with negative ones counted from the end."""
    bounded(at, -extent, extent - 1)
    if concrete(at):
        array = np.asarray(value(at))
        if ((array < -extent) | (array >= extent)).any():
            raise error
    return a.where(a.less(at, 0), a.add(at, extent), at)


def _written(x: Array, v: Array, at: Array, axis: int, adding: bool) -> Array:
    shape = shape_of(x)
    if not shape:
        found = _written(reshape(x, (1,)), reshape(v, (1,)), at, 0, adding)
        return reshape(found, ())
    positions = flat_positions(shape, at, axis)
    return (core.add_at if adding else core.set_positions)(x, positions, v)


ALONG = Composite("index_write", _written, linear=True, fixed=1)
SCALED_ALONG = Composite(
    "index_add_scaled",
    lambda x, v, at, axis, alpha: _written(x, a.multiply(v, alpha), at, axis, True),
    linear=True, fixed=1,
)  # fmt: skip


@method(changing=True)
@numpy_names
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """A copy to which slices of `source` are added at positions along a dimension."""
    x, at, axis = index_along("index_add", input, dim, index, source)
    v = content(source, "index_add", "source", 4)
    if dtype_of(v) != dtype_of(x):
        names = [dtypes.scalar_name(kind_of(c)) for c in (x, v)]
        raise RuntimeError(
            f"index_add_(): self ({names[0]}) and source ({names[1]}) must have the same scalar "
            "type"
        )
    mine, other = (list(s[:axis] + s[axis + 1 :]) for s in (shape_of(x), shape_of(v)))
    if mine != other or len(shape_of(x)) != len(shape_of(v)):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(shape_of(x))} source.shape = {list(shape_of(v))}"
        )
    extent = shape_of(x)[axis] if shape_of(x) else 1
    _check_bounds(at, extent, axis, IndexError)
    node = named("IndexAddBackward0", "", "", "source", "index", shown=(0, 1))
    if alpha == 1:
        made = computed(ALONG, x, v, at, axis=axis, adding=True)
    else:
        made = computed(SCALED_ALONG, x, v, at, axis=axis, alpha=number(alpha, dtype_of(x)))
    result = boxed(made, node)
    return result if out is None else into(out, result, "index_add")


def _check_slices(shape: tuple[int, ...], source: tuple[int, ...], axis: int) -> None:
    """Raise where the slices of the source of `index_copy` are not those of the destination."""
    if shape and source and len(shape) != len(source):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality "
            f"must match. Source dimensionality ({len(source)}), destination dimensionality "
            f"({len(shape)})"
        )
    mine, other = (s[:axis] + s[axis + 1 :] for s in (shape, source))
    if mine != other:
        at = next((k for k, (n, m) in enumerate(zip(mine, other, strict=False)) if n != m), 0)
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {' '.join(map(str, mine))} at dimension {axis} and source slice shape: "
            f"{' '.join(map(str, other))} at dimension {at}."
        )


@method(changing=True)
@numpy_names
def index_copy(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """A copy in which slices of `source` are written at positions along a dimension."""
    x, at, axis = index_along("index_copy", input, dim, index, source, IndexError)
    v = content(source, "index_copy", "source", 4)
    if dtype_of(v) != dtype_of(x):
        names = [dtypes.scalar_name(kind_of(c)) for c in (x, v)]
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{names[0]} and (source) {names[1]}"
        )
    _check_slices(shape_of(x), shape_of(v), axis)
    extent = shape_of(x)[axis] if shape_of(x) else 1
    bounded(at, 0, extent - 1)
    if concrete(at):
        array = np.asarray(value(at))
        bad = (array < 0) | (array >= extent)
        if bad.any():
            raise IndexError(
                f"index_copy_(): index {array[bad].flat[0]} is out of bounds for dimension {axis} "
                f"with size {extent}"
            )
    node = named("IndexCopyBackward0", "", "", "source", "index", shown=(0, 1))
    result = boxed(computed(ALONG, x, v, at, axis=axis, adding=False), node)
    return result if out is None else into(out, result, "index_copy")


def _filled(x: Array, v: Array, at: Array, axis: int) -> Array:
    shape = shape_of(x)
    if not shape:
        return reshape(_filled(reshape(x, (1,)), v, at, 0), ())
    positions = flat_positions(shape, at, axis)
    return core.set_positions(x, positions, broadcast_to(v, shape_of(positions)))


INDEX_FILL = Composite("index_fill", _filled, linear=True, fixed=1)


@method(changing=True)
@numpy_names
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy in which slices at positions along a dimension are a number."""
    x, at, axis = index_along("index_fill", input, dim, index, None)
    extent = shape_of(x)[axis] if shape_of(x) else 1
    array = np.asarray(at if isinstance(at, np.ndarray) else known(at, "index_fill()"))
    bad = array[(array < -extent) | (array >= extent)]
    first = bad.flat[0] if bad.size else 0
    at = _wrapped(
        at, extent,
        IndexError(f"index {first} is out of bounds for dimension {axis} with size {extent}"),
    )  # fmt: skip
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        v = a.cast(value.content(), dtype_of(x))
        node = named("IndexFillBackward1", "", "", "", "index", shown=(0, 1))
    else:
        if isinstance(value, complex) and dtype_of(x).kind != "c":
            raise RuntimeError(
                "index_fill_(): Converting complex Scalar to non-complex type is not supported"
            )
        v = number(value, dtype_of(x))
        node = named("IndexFillBackward0", "", "", "", "index", shown=(0,))
    return boxed(computed(INDEX_FILL, x, v, at, axis=axis), node)


# ------------------------------------------------------------------------ flat positions, masks


@method(changing=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy in which elements of the flat tensor are written (or added) at positions."""
    x, at = content(input, "put"), content(index, "put", "index", 2)
    v = content(source, "put", "source", 3)
    if dtype_of(at) != np.int64:
        raise RuntimeError(
            f"put_(): Expected a long tensor for index, but got {dtypes.scalar_name(kind_of(at))}"
        )
    if dtype_of(v) != dtype_of(x):
        names = [dtypes.scalar_name(kind_of(c)) for c in (x, v)]
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{names[0]} and source.dtype = {names[1]}"
        )
    if math.prod(shape_of(at)) != math.prod(shape_of(v)):
        raise RuntimeError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {math.prod(shape_of(v))}, index.numel() = "
            f"{math.prod(shape_of(at))}"
        )
    size = math.prod(shape_of(x))
    array = known(at, "put()")
    bad = array[(array < -size) | (array >= size)]
    if bad.size:
        raise IndexError(
            f"out of range: tried to access index {bad.flat[0]} on a tensor of {size} elements."
        )
    at = a.where(a.less(at, 0), a.add(at, size), at)
    operation = PUT_ADD if accumulate else PUT
    node = named("PutBackward0", "", "", "source", "index", shown=(0, 1))
    return boxed(computed(operation, x, v, at), node)


def _put(write_: Any) -> Any:
    def put_flat(x: Array, v: Array, at: Array) -> Array:
        count = math.prod(shape_of(at))
        return write_(x, reshape(at, (count,)), reshape(v, (count,)))

    return put_flat


PUT = Composite("put", _put(core.set_positions), linear=True, fixed=1)
PUT_ADD = Composite("put_add", _put(core.add_at), linear=True, fixed=1)


@method()
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy in which the places where a mask holds are the elements of `source` in turn."""
    x, m = content(input, "masked_scatter"), content(mask, "masked_scatter", "mask", 2)
    v = content(source, "masked_scatter", "source", 3)
    if dtype_of(v) != dtype_of(x):
        names = [dtypes.scalar_name(kind_of(c)) for c in (x, v)]
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {names[0]} and "
            f"{names[1]}"
        )
    if dtype_of(m).kind != "b":
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{dtypes.c_name(kind_of(m))}"
        )
    full = _common(x, m)
    (at,) = selected(reshape(broadcast_to(m, full), (math.prod(full),)), "masked_scatter()")
    if shape_of(at)[0] > math.prod(shape_of(v)):
        raise RuntimeError("Number of elements of source < number of ones in mask")
    node = named("MaskedScatterBackward0", shown=(0, 1))
    return told(boxed(computed(MASKED_SCATTER, x, v, at, shape=full), node), mask=mask.detach())


def _mask_written(x: Array, v: Array, at: Array, shape: tuple[int, ...]) -> Array:
    flat = core.getitem(reshape(v, (math.prod(shape_of(v)),)), (slice(0, shape_of(at)[0]),))
    return core.set_positions(broadcast_to(x, shape), at, flat)


MASKED_SCATTER = Composite("masked_scatter", _mask_written, linear=True, fixed=1)
install(masked_scatter_=inplace(masked_scatter, "masked_scatter_"))
