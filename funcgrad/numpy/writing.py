"""Functions that write into an array: copyto, put, place, putmask, fill_diagonal and others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.tracer import Operand, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.numpy.function_calls import (
    FUNCTIONS,
    into,
    known,
    objects,
    raise_with_place,
    state,
    unbox,
)
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import index
from funcgrad.ops import shape as shapes
from funcgrad.ops.storage import set_item

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"]


def _writer(plain: Any) -> Callable[[F], F]:
    """A function whose first argument is written into."""

    def decorate(define: F) -> F:
        @functools.wraps(define)
        def call(target: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(target, np.ndarray) and target.dtype.char == "O":
                return plain(target, *map(objects, args), **kwargs)  # it holds traced values
            if not isinstance(target, Operand):
                if state((args, tuple(kwargs.values()))) > 1:
                    # raises: a traced value does not go into a plain array
                    into(target, next(operand(a) for a in args if state(a) > 1), define.__name__)
                return plain(target, *map(unbox, args), **{k: unbox(v) for k, v in kwargs.items()})
            try:
                return define(target, *args, **kwargs)
            except (IndexError, ValueError) as error:
                raise_with_place(error, define.__name__)

        FUNCTIONS[plain] = call
        return call  # type: ignore[return-value]

    return decorate


_KINDS = "biufc"


@_writer(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write `src` into `dst`, where the mask holds.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> def f(x):
    ...     b = fnp.zeros(2)
    ...     fnp.copyto(b, x)
    ...     return b.sum()
    >>> fg.grad(f)(np.array([1.0, 2.0]))
    array([1., 1.])
    """
    kind, given = type_of(operand(dst)), type_of(operand(src))
    fits = np.can_cast(given.dtype, kind.dtype, casting)  # type: ignore[arg-type]
    if given.weak:  # a number of Python's, of any size
        fits = _KINDS.index(given.dtype.kind) <= _KINDS.index(kind.dtype.kind) or fits
    if not fits:
        raise TypeError(
            f"Cannot cast array data from {given.dtype!r} to {kind.dtype!r} "
            f"according to the rule '{casting}'"
        )
    index.check_storable(kind.dtype, operand(src))
    src = ops.cast(operand(src), kind.dtype)
    if where is not True:
        src = ops.where(where, src, operand(dst))
    set_item(dst, Ellipsis, src)


@_writer(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Write `values`, repeated to the size of `a`, where the mask holds.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> def f(x):
    ...     b = fnp.zeros(2)
    ...     fnp.putmask(b, [True, False], x)
    ...     return b.sum()
    >>> fg.grad(f)(np.array([1.0, 2.0]))
    array([1., 0.])
    """
    kind = type_of(operand(a))
    v = operand(values)
    flat = shapes.reshape(v, (type_of(v).size,)) if type_of(v).ndim else shapes.reshape(v, (1,))
    spread = index.gather(flat, np.arange(kind.size) % max(type_of(flat).size, 1))
    spread = ops.cast(shapes.reshape(spread, kind.shape), kind.dtype)
    set_item(a, Ellipsis, ops.where(_same_size(mask, kind, "putmask"), spread, operand(a)))


def _same_size(mask: Any, kind: ArrayType, name: str) -> Array:
    """A mask of as many elements as the array has, in the shape of the array."""
    chosen = operand(mask)
    if type_of(chosen).size != kind.size:
        raise ValueError(f"{name}: mask and data must be the same size")
    return shapes.reshape(chosen, kind.shape)


@_writer(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write the first `vals`, repeated as needed, where the mask holds.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> def f(x):
    ...     b = fnp.zeros(2)
    ...     fnp.place(b, [False, True], x)
    ...     return b.sum()
    >>> fg.grad(f)(np.array([1.0, 2.0]))
    array([1., 0.])
    """
    kind = type_of(operand(arr))
    flat = shapes.reshape(_same_size(mask, kind, "place"), (kind.size,))
    (at,) = index.positions(flat, "the number of elements that the mask of place() selects")
    if type_of(at).size and not type_of(operand(vals)).size:
        raise ValueError("Cannot insert from an empty array!")
    put(arr, at, vals)


@_writer(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write `v`, repeated as needed, at flat positions.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> def f(x):
    ...     b = fnp.zeros(2)
    ...     fnp.put(b, [1], x[:1])
    ...     return b.sum()
    >>> fg.grad(f)(np.array([1.0, 2.0]))
    array([1., 0.])
    """
    x = operand(a)
    kind = type_of(x)
    at = index.whole_numbers(operand(ind))
    at = (
        shapes.reshape(at, (type_of(at).size,))
        if type_of(at).ndim
        else np.atleast_1d(known(at, "put()"))
    )
    if mode == "wrap":
        at = ops.remainder(at, kind.size)
    elif mode == "clip":
        at = ops.minimum(ops.maximum(at, 0), kind.size - 1)
    v = operand(v)
    index.check_storable(kind.dtype, v)
    v = ops.cast(v, kind.dtype)
    flat = shapes.reshape(v, (type_of(v).size,))
    spread = index.gather(flat, np.arange(type_of(at).size) % max(type_of(v).size, 1))
    new = index.set_positions(x, at, spread)
    set_item(a, Ellipsis, new)


@_writer(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write `val` on the main diagonal.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> def f(x):
    ...     b = fnp.ones((2, 2))
    ...     fnp.fill_diagonal(b, x)
    ...     return fnp.prod(fnp.diagonal(b))
    >>> fg.grad(f)(3.0)
    np.float64(6.0)
    """
    shape = type_of(operand(a)).shape
    if len(shape) < 2:
        raise ValueError("array must be at least 2-d")
    end = None
    if len(shape) == 2:
        step = shape[1] + 1
        if not wrap:
            end = shape[1] * shape[1]
    else:
        if len(set(shape)) != 1:
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + int(np.cumprod(shape[:-1]).sum())
    put(a, np.arange(int(np.prod(shape)))[:end:step], val)


@_writer(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Write `values` at one position for each line along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> def f(x):
    ...     b = fnp.zeros(2)
    ...     fnp.put_along_axis(b, np.array([1]), x[:1], 0)
    ...     return b.sum()
    >>> fg.grad(f)(np.array([1.0, 2.0]))
    array([1., 0.])
    """
    shape = type_of(operand(arr)).shape
    if axis is None:
        put(arr, indices, values)
        return
    axis = normalize_axis_index(axis, len(shape))
    at = operand(indices)
    lines = tuple(
        at if k == axis else np.arange(n).reshape((-1,) + (1,) * (len(shape) - k - 1))
        for k, n in enumerate(shape)
    )
    set_item(arr, lines, operand(values))
