"""Any index that NumPy takes (lists, bool masks, integer arrays anywhere): reading and writing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from funcgrad.core.tracer import Tracer, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import ARGUMENTS, located, warn_at_line
from funcgrad.ops.arithmetic import cast, where
from funcgrad.ops.index.basic import getitem
from funcgrad.ops.index.gather import gather
from funcgrad.ops.index.masks import positions
from funcgrad.ops.index.scatter import set_positions
from funcgrad.ops.shape import broadcast_to, reshape, transpose, zero_dim

__all__ = [
    "check_storable",
    "index_set",
    "read",
    "reads_view",
    "static",
    "warn_of_real_parts",
    "whole_numbers",
]


def reads_view(index: Any) -> bool:
    """Whether NumPy gives a view for this index: it holds no arrays, lists or bools."""
    items = index if isinstance(index, tuple) else (index,)
    return all(
        i is None or i is Ellipsis or isinstance(i, (slice, int, np.integer))
        for i in items
        if not isinstance(i, (bool, np.bool_))
    ) and not any(isinstance(i, (bool, np.bool_)) for i in items)


def static(i: Any) -> Any:
    """A concrete integer or slice bounds of a tracer or NumPy integer, as plain data."""
    if isinstance(i, slice):
        return slice(
            *(None if v is None else int(v.__index__()) for v in (i.start, i.stop, i.step))
        )
    return int(i) if isinstance(i, np.integer) else i


def read(x: Array, index: Any) -> Array:
    """``x[index]`` for every index that NumPy takes."""
    items = index if isinstance(index, tuple) else (index,)
    if reads_view(items):
        return getitem(x, tuple(map(static, items)))
    turned, arrays, order = _arrange(x, items)
    try:
        out = gather(turned, *arrays)
    except IndexError as error:
        _raise_out_of_bounds(type_of(x).shape, items, error)
    if not type_of(out).shape and any(i is Ellipsis for i in items):
        return zero_dim(out)  # an array without axes, where the integer alone gives a scalar
    return out if order is None else transpose(out, order)


def _raise_out_of_bounds(
    shape: tuple[int, ...], items: Sequence[Any], error: IndexError
) -> NoReturn:
    """Raise the error of a gather as NumPy says it of the array that the user has indexed.

    The gather has moved the axes, and NumPy calls 2**63 and what lies beyond negative.
    """
    if ARGUMENTS in str(error) or not all(map(concrete, items)):
        raise error
    known = tuple(value(i) if isinstance(i, Tracer) else i for i in items)
    try:
        np.broadcast_to(np.int8(0), shape)[known]
    except IndexError as numpys:
        text = str(numpys)
        beyond = re.match(r"index (-\d+) is", text)
        if beyond and any(getattr(i, "dtype", None) == np.uint64 for i in known):
            text = f"index {int(beyond[1]) + 2**64}" + text.removeprefix(f"index {beyond[1]}")
        raise IndexError(located(text)) from error
    raise error


class _NewAxis(NamedTuple):
    """A bool without axes: it adds an axis of extent 1, of which it takes one element or none."""

    index: Array


def _expand(items: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    """The items with lists made arrays, bool masks made integer arrays, Ellipsis filled in."""
    given = [i if _is_basic(i) else _index_array(i) for i in items]
    if sum(i is Ellipsis for i in given) > 1:
        raise IndexError(located("an index can only have a single ellipsis ('...')"))
    used = sum(map(_axes_of, given))
    if used > len(shape):
        raise IndexError(
            located(
                f"too many indices for array: array is {len(shape)}-dimensional, "
                f"but {used} were indexed"
            )
        )
    fill = [slice(None)] * (len(shape) - used)
    at = next((k for k, i in enumerate(given) if i is Ellipsis), len(given))
    given = given[:at] + fill + given[at + 1 :]
    _check_masks(given, shape)
    return [part for i in given for part in (_mask_positions(i) if _is_mask(i) else [i])]


def _is_basic(i: Any) -> bool:
    return i is None or i is Ellipsis or isinstance(i, slice)


def _is_mask(i: Any) -> bool:
    return not _is_basic(i) and type_of(i).dtype.kind == "b"


def _axes_of(i: Any) -> int:
    """How many axes of the array an item of an index chooses from."""
    if _is_mask(i):
        return type_of(i).ndim
    return int(i is not None and i is not Ellipsis)


def _index_array(i: Any) -> Array:
    """A list, number or array in an index as an operand of integers or bools."""
    i = operand(i)
    aval = type_of(i)
    if aval.dtype.kind in "biu":
        return i
    if aval.size == 0 and not isinstance(i, Tracer):
        return np.asarray(i).astype(np.intp)
    raise IndexError(
        located(f"arrays used as indices must be of integer or bool type, not {aval.dtype}")
    )


def _check_masks(items: Sequence[Any], shape: tuple[int, ...]) -> None:
    """Raise for a mask whose extents are not those of the axes it stands for, as NumPy does."""
    axis = 0
    for i in items:
        wide = _axes_of(i)
        for k, n in enumerate(type_of(i).shape if _is_mask(i) else (), axis):
            if n not in (0, shape[k]):  # NumPy takes a mask without elements for any extent
                raise IndexError(
                    located(
                        f"boolean index did not match indexed array along axis {k}; size of axis "
                        f"is {shape[k]} but size of corresponding boolean axis is {n}"
                    )
                )
        axis += wide


def _mask_positions(mask: Array) -> list[Any]:
    what = "the number of elements that a bool mask selects"
    if type_of(mask).ndim:
        return list(positions(mask, what))
    return [_NewAxis(*positions(reshape(mask, (1,)), what))]


def _arrange(x: Array, items: Sequence[Any]) -> tuple[Array, list[Array], tuple[int, ...] | None]:
    """Bring the axes under integer arrays to the front: (array, indices, order of the result).

    The order says how to transpose the gathered array so that it stands as NumPy has it: the
    axes of the indices stay where they were if they are adjacent, else they go first.
    """
    plain = _expand(items, type_of(x).shape)
    advanced = [k for k, i in enumerate(plain) if i is not None and not isinstance(i, slice)]
    # integers next to arrays count as arrays, as in NumPy
    basic = tuple(
        None if isinstance(i, _NewAxis) else slice(None) if k in advanced else static(i)
        for k, i in enumerate(plain)
    )
    if any(i != slice(None) for i in basic):
        x = getitem(x, basic)
    arrays = [i.index if isinstance(i := plain[k], _NewAxis) else i for k in advanced]
    rest = [k for k in range(len(plain)) if k not in advanced]
    x = transpose(x, (*advanced, *rest))
    rank = _rank_together(arrays)
    adjacent = advanced[-1] - advanced[0] == len(advanced) - 1
    first = advanced[0]
    if not adjacent or first == 0:
        return x, arrays, None
    order = (*range(rank, rank + first), *range(rank), *range(rank + first, rank + len(rest)))
    return x, arrays, order


def _rank_together(arrays: Sequence[Array]) -> int:
    shapes = [type_of(a).shape for a in arrays]
    try:
        return len(np.broadcast_shapes(*shapes))
    except ValueError as error:
        text = " ".join(map(str, shapes))
        raise IndexError(
            located(
                "shape mismatch: indexing arrays could not be broadcast together with shapes "
                f"{text}"
            )
        ) from error


def whole_numbers(positions: Array) -> Array:
    """Positions as `take` and `put` read them: bools are 0 and 1, and no mask."""
    return cast(positions, np.intp) if type_of(positions).dtype.kind == "b" else positions


def check_storable(dtype: np.dtype[Any], v: Array, one: bool = False) -> None:
    """Raise where storing `v` in an array of this dtype would cut its gradient, and as NumPy does.

    NumPy refuses a number of Python's that does not fit, and tells that imaginary parts are lost.
    With `one` a single element is stored, for which NumPy refuses, or deprecates, what has axes.
    """
    if one and type_of(v).ndim:
        np.empty(1, dtype)[0] = np.zeros(type_of(v).shape, dtype)
    if type(v) in (int, float, complex):
        with np.errstate(all="ignore"):
            np.empty((), dtype)[()] = v
        return
    warn_of_real_parts(type_of(v).dtype, dtype)
    if isinstance(v, Tracer) and dtype.kind in "biu" and v.type.dtype.kind in "fc":
        raise TypeError(
            located(
                f"a traced value of dtype {v.type.dtype} cannot be stored in an array of dtype "
                f"{dtype}: the gradient would be cut; make the array floating point"
            )
        )


def warn_of_real_parts(given: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    """Tell at the program's line, as NumPy does, that a cast keeps the real parts alone."""
    if given.kind == "c" and wanted.kind in "iuf":
        text = "Casting complex values to real discards the imaginary part"
        warn_at_line(located(text), np.exceptions.ComplexWarning)


def index_set(x: Array, index: Any, v: Array) -> Array:
    """A copy of `x` in which ``copy[index] = v`` has been done; the last of equal indices wins."""
    aval = type_of(x)
    items = index if isinstance(index, tuple) else (index,)
    check_storable(aval.dtype, v, 0 < aval.ndim == sum(map(_is_number, items)) == len(items))
    v = cast(v, aval.dtype)
    if any(isinstance(i, Tracer) and not concrete(i) for i in items):
        chosen = _chosen(x, items, v)
        if chosen is not None:
            return chosen
        positions = read(np.arange(aval.size).reshape(aval.shape), items)
    else:
        known = tuple(value(i) if isinstance(i, Tracer) else i for i in items)
        try:
            positions = np.arange(aval.size).reshape(aval.shape)[known]
        except IndexError as error:
            raise IndexError(located(str(error))) from error
    return set_positions(x, positions, v)


def _is_number(i: Any) -> bool:
    """Whether NumPy reads a part of an index as one whole number."""
    if isinstance(i, (np.ndarray, np.generic, Tracer)):
        return type_of(i).ndim == 0 and type_of(i).dtype.kind in "iu"
    return isinstance(i, int) and not isinstance(i, bool)


def _chosen(x: Array, items: Sequence[Any], v: Array) -> Array | None:
    """``x`` with `v` where a single mask holds, if the same `v` fits any number of places."""
    mask, aval, new = items[0], type_of(x), type_of(v)
    if len(items) > 1 or type_of(mask).dtype.kind != "b":
        return None
    rest = aval.shape[type_of(mask).ndim :]
    while new.ndim > len(rest) and new.shape[0] == 1:  # NumPy drops leading axes of extent 1
        v = reshape(v, new.shape[1:])
        new = type_of(v)
    if new.ndim > len(rest) or type_of(mask).shape != aval.shape[: type_of(mask).ndim]:
        return None
    return where(reshape(mask, type_of(mask).shape + (1,) * len(rest)), broadcast_to(v, rest), x)
