"""``x.at[index]``: copies of an array with some elements changed, JAX's way of writing.

An index is resolved once to positions in the flat array, and these are read or written by the
operations that `x[index]` and `x[index] = v` use. What lies out of bounds is led to one place
behind the last element, which holds the value to be filled in and is dropped afterwards.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import Tracer, concrete, operand, running, type_of, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import located
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import index as indices
from funcgrad.ops import shape as shapes
from funcgrad.ops.segment import segment_reduce
from funcgrad.ops.storage import boxed

__all__ = ["At", "GatherScatterMode", "apply_at", "at", "ds", "mode_of", "read_at"]


class GatherScatterMode(enum.Enum):
    """What is done with an index that is out of bounds.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.at(np.arange(3.0))[7].get(mode=fg.lax.GatherScatterMode.CLIP)
    np.float64(2.0)
    """

    CLIP = 0
    FILL_OR_DROP = 1
    PROMISE_IN_BOUNDS = 2
    ONE_HOT = 3


_MODES = {
    None: None,
    "raise": None,
    "clip": "clip",
    "fill": "drop",
    "drop": "drop",
    "promise_in_bounds": None,
    "wrap": "wrap",
    GatherScatterMode.CLIP: "clip",
    GatherScatterMode.FILL_OR_DROP: "drop",
    GatherScatterMode.PROMISE_IN_BOUNDS: None,
    GatherScatterMode.ONE_HOT: "drop",
}


def mode_of(mode: Any) -> str | None:
    """The mode "clip", "drop", "wrap", or None: what is out of bounds is an error."""
    try:
        return _MODES[mode.lower() if isinstance(mode, str) else mode]
    except (KeyError, TypeError):
        raise ValueError(
            located(
                "at: mode is 'clip', 'fill', 'drop', 'wrap', 'promise_in_bounds' or None, for "
                f"which an index out of bounds is an error; not {mode!r}"
            )
        ) from None


def positions_at(kind: ArrayType, index: Any, mode: str | None, wrap: bool = True) -> Array:
    """The positions in the flat array that an index names; `kind.size` for what is dropped."""
    items = index if isinstance(index, tuple) else (index,)
    shape = kind.shape
    places = np.arange(kind.size).reshape(shape)
    if mode is not None or not wrap:
        items, places = _within(items, places, mode, wrap)
    if all(concrete(i) for i in items):
        known = tuple(value(i) if isinstance(i, Tracer) else i for i in items)
        try:
            return places[known]
        except IndexError as error:
            raise IndexError(located(str(error))) from error
    return indices.read(places, items)


def _within(
    items: Sequence[Any], places: Any, mode: str | None, wrap: bool
) -> tuple[tuple[Any, ...], Any]:
    """Items of which the integers are in bounds, and places with a last one for what is not."""
    out: list[Any] = []
    size, axis = places.size, 0
    after = [_axes(i) for i in items]
    for k, item in enumerate(items):
        if item is Ellipsis:
            axis = places.ndim - sum(after[k + 1 :])
        elif isinstance(item, slice) or item is None or _is_mask(item):
            axis += after[k]
        elif axis < places.ndim:
            i, n = operand(item), places.shape[axis]
            if isinstance(i, (int, np.integer)) and 0 <= i < n:
                out.append(item)
                axis += 1
                continue
            if wrap and mode != "wrap":
                i = ops.where(ops.less(i, 0), ops.add(i, n), i)
            if mode == "wrap":
                i = ops.remainder(i, max(n, 1))
            elif mode == "clip":
                i = ops.minimum(ops.maximum(i, 0), n - 1)
            else:
                bad = ops.logical_or(ops.less(i, 0), ops.greater_equal(i, n))
                i = ops.where(bad, n, i)
                widths = [(0, 1 if a == axis else 0) for a in range(places.ndim)]
                places = np.pad(places, widths, constant_values=size)
            out.append(i)
            axis += 1
            continue
        out.append(item)
    return tuple(out), places


def _is_mask(item: Any) -> bool:
    return not isinstance(item, (int, np.integer)) and type_of(operand(item)).dtype.kind == "b"


def _axes(item: Any) -> int:
    """How many axes of the array an item of an index stands for."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, slice) or not _is_mask(item):
        return 1
    return type_of(operand(item)).ndim


def _line(x: Array, mode: str | None, last: Any = 0) -> Array:
    """The flat array, with a place for what is dropped where there may be such."""
    kind = type_of(x)
    flat = shapes.reshape(x, (kind.size,))
    if mode != "drop":
        return flat
    return shapes.concatenate([flat, np.full(1, last, kind.dtype)], 0)


def read_at(x: Array, positions: Array, mode: str | None, fill: Any = None) -> Array:
    """The elements at positions; those that are dropped are `fill`."""
    kind = type_of(x)
    if mode == "drop" and isinstance(fill, Tracer):
        found = read_at(x, positions, mode, 0)
        return ops.where(ops.equal(positions, kind.size), ops.cast(fill, kind.dtype), found)
    found = _line(x, mode, _nothing(kind.dtype) if fill is None else fill)
    return indices.gather(found, positions)


def _nothing(dtype: np.dtype[Any]) -> Any:
    """What JAX fills in: NaN, the smallest signed and the largest unsigned integer, and True."""
    if dtype.kind in "fc":
        return np.nan
    if dtype.kind == "b":
        return True
    limits = np.iinfo(dtype)
    return limits.min if dtype.kind == "i" else limits.max


def apply_at(
    x: Array, positions: Array, mode: str | None, v: Any, update: Callable[..., Array]
) -> Array:
    """`x` with ``update(flat, positions, values)`` done; values are repeated to the positions."""
    kind = type_of(x)
    v = operand(v)
    indices.check_storable(kind.dtype, v)
    shape = type_of(positions).shape
    v = ops.cast(shapes.broadcast_to(v, shape), kind.dtype)
    count = ArrayType(shape, kind.dtype).size
    at = shapes.reshape(operand(positions), (count,))
    found = update(_line(x, mode), at, shapes.reshape(v, (count,)))
    if mode == "drop":
        found = indices.getitem(found, (slice(0, kind.size),))
    return shapes.reshape(found, kind.shape)


def _accumulating(rule: Callable[..., Array]) -> Callable[..., Array]:
    """An update that reads what is there; of places that are named twice the last one counts."""
    return lambda x, at, v: indices.set_positions(x, at, rule(indices.gather(x, at), v))


class At:
    """``x.at[index]``: what may be done there. The results are new arrays; `x` stays as it is.

    Each method takes ``mode=``, what to do with an index out of bounds: None, an `IndexError`
    where it is known, as in NumPy; "clip", the nearest element; "fill" or "drop": `fill_value`
    is read and writes are dropped; "wrap". (JAX never raises: it drops and fills by default.)
    `indices_are_sorted` and `unique_indices` are accepted and change nothing.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array, self.index = array, index

    def __repr__(self) -> str:
        return f"<at[{self.index!r}] of {type_of(operand(self.array))}>"

    def _done(self, v: Any, update: Callable[..., Array], mode: Any, wrap: bool) -> Any:
        x, how = operand(self.array), mode_of(mode)
        places = positions_at(type_of(x), self.index, how, wrap)
        return _given(apply_at(x, places, how, v, update))

    @boundary
    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """The elements; with ``mode="fill"`` those out of bounds are `fill_value`.

        Without one they are NaN, or the smallest integer. The derivative of each goes where it was
        read, and adds up there.
        """
        x, how = operand(self.array), mode_of(mode)
        places = positions_at(type_of(x), self.index, how, wrap_negative_indices)
        fill = fill_value if fill_value is None else operand(fill_value)
        return _given(read_at(x, operand(places), how, fill))

    @boundary
    def set(self, values: Any, *, mode: Any = None, **options: Any) -> Any:
        """These values there; of places that are named twice the last one counts."""
        return self._done(values, indices.set_positions, mode, _options("set", options))

    @boundary
    def add(self, values: Any, *, mode: Any = None, **options: Any) -> Any:
        """The sum, of all values that name a place."""
        return self._done(values, indices.add_at, mode, _options("add", options))

    @boundary
    def subtract(self, values: Any, *, mode: Any = None, **options: Any) -> Any:
        """What is there less all values that name the place."""
        less = ops.negative(operand(values))
        return self._done(less, indices.add_at, mode, _options("subtract", options))

    @boundary
    def multiply(self, values: Any, *, mode: Any = None, **options: Any) -> Any:
        """The product, of all values that name a place."""
        return self._done(values, _segment("prod"), mode, _options("multiply", options))

    @boundary
    def divide(self, values: Any, *, mode: Any = None, **options: Any) -> Any:
        """What is there divided by all values that name the place."""
        one = type_of(operand(self.array)).dtype.type(1)
        over = ops.divide(one, operand(values))
        return self._done(over, _segment("prod"), mode, _options("divide", options))

    @boundary
    def power(self, values: Any, *, mode: Any = None, **options: Any) -> Any:
        """What is there to the power of the values; each place may be named once."""
        update = _accumulating(ops.power)
        return self._done(values, update, mode, _options("power", options))

    @boundary
    def min(self, values: Any, *, mode: Any = None, **options: Any) -> Any:
        """The smallest, of all values that name a place; equal ones share the derivative."""
        return self._done(values, _segment("min"), mode, _options("min", options))

    @boundary
    def max(self, values: Any, *, mode: Any = None, **options: Any) -> Any:
        """The largest, of all values that name a place; equal ones share the derivative."""
        return self._done(values, _segment("max"), mode, _options("max", options))

    @boundary
    def apply(self, func: Callable[[Any], Any], *, mode: Any = None, **options: Any) -> Any:
        """``func(x)`` there: a function of elements. Each place may be named once."""
        update = lambda x, at, _: indices.set_positions(x, at, operand(func(indices.gather(x, at))))
        zero = type_of(operand(self.array)).dtype.type(0)
        return self._done(zero, update, mode, _options("apply", options))

    mul = multiply


def _segment(reduce: str) -> Callable[..., Array]:
    return lambda x, at, v: segment_reduce(x, at, v, reduce)


def _options(name: str, given: dict[str, Any]) -> bool:
    """Whether negative indices count from the end; an error for an option that is not known."""
    unknown = given.keys() - {"indices_are_sorted", "unique_indices", "wrap_negative_indices"}
    if unknown:
        raise TypeError(f"at[…].{name}() got an unexpected keyword argument {min(unknown)!r}")
    return bool(given.get("wrap_negative_indices", True))


def _given(x: Any) -> Any:
    """A result as the program may write into it, where a transform runs."""
    return boxed(x) if running.count else x


class at:
    """``at(x)[index]`` for any array `x`: what ``x.at[index]`` is for arrays of a transform.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    object
        Indexed, it has the methods ``get, set, add, subtract, multiply, divide, power, min, max``
        and ``apply``; each returns a new array of the shape and dtype of `x` (`get` what was
        read). They are differentiable by `x` and by the values.

    Raises
    ------
    IndexError
        An index is out of bounds, and no `mode` says what to do then.
    TypeError
        A traced value would go into an array of integers.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.at(np.zeros(3))[np.array([0, 0, 2])].add(1.0)
    array([2., 0., 1.])
    >>> fg.grad(lambda x: x.at[1].multiply(10.0).sum())(np.array([1.0, 2.0]))
    array([ 1., 10.])
    >>> fg.at(np.arange(3.0))[7].get(mode="fill", fill_value=-1.0)
    np.float64(-1.0)
    """

    __slots__ = ("array",)

    def __init__(self, x: Any) -> None:
        self.array = x

    def __getitem__(self, index: Any) -> At:
        return At(self.array, index)

    def __repr__(self) -> str:
        return f"<at of {type_of(operand(self.array))}>"


def ds(start: Any, size: int, stride: int = 1) -> Any:
    """The index of `size` elements from `start` on: a slice whose beginning may be traced.

    Parameters
    ----------
    start : int
        Traced or not.
    size, stride : int
        Of the slice; they are not traced.

    Returns
    -------
    slice or array
        What an array is indexed with.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jit(lambda x, k: x[fg.ds(k, 2)])(np.arange(5.0), 3)
    array([3., 4.])
    """
    count = operator.index(size)
    if isinstance(operand(start), Tracer):
        steps = np.arange(0, count * stride, stride)
        return ops.add(operand(start), steps)
    first = operator.index(start)
    return slice(first, first + count * stride, stride)
