"""Choosing elements: where, take, compress, select and the functions that return indices."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.tracer import layout, operand, type_of
from funcgrad.core.types import Array, promote
from funcgrad.errors import AbstractValueError
from funcgrad.numpy.borrowed import program
from funcgrad.numpy.function_calls import as_array, as_zero_dim, numpy_function
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import flat_index, index
from funcgrad.ops import shape as shapes

__all__ = [
    "argwhere",
    "choose",
    "compress",
    "diag_indices",
    "ix_",
    "ravel_multi_index",
    "diag_indices_from",
    "extract",
    "flatnonzero",
    "nonzero",
    "piecewise",
    "select",
    "take",
    "take_along_axis",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
    "where",
]

_NOT_ZERO = "the number of elements that are not 0"

diag_indices = np.diag_indices
tril_indices, triu_indices = np.tril_indices, np.triu_indices


@numpy_function(np.ix_, constant=True)
def ix_(*args: Any) -> Any:
    """Indices that choose the elements at all combinations of their own.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> chosen = lambda x: x[np.ix_([0], np.argsort(x[0]))]
    >>> fg.grad(lambda x: chosen(x)[0, 0])(np.array([[3.0, 1.0]]))
    array([[0., 1.]])
    """
    return program(np.ix_)(*args)


def _extents(shape: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in (shape if np.iterable(shape) else (shape,)))


@numpy_function(np.unravel_index, constant=True)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """The index along each axis of positions in a flat array.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> largest = lambda x: x[np.unravel_index(np.argmax(x), x.shape)]
    >>> fg.grad(largest)(np.array([[1.0, 3.0]]))
    array([[0., 1.]])
    """
    return flat_index.unravel_index(operand(indices), _extents(shape), order)


@numpy_function(np.ravel_multi_index, constant=True)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """The positions in a flat array of an index along each axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> first = lambda x: x.ravel()[np.ravel_multi_index((np.argmin(x), 0), (2, 1))]
    >>> fg.grad(first)(np.array([3.0, 1.0]))
    array([0., 1.])
    """
    how = mode if isinstance(mode, str) else tuple(mode)
    return flat_index.ravel_index([operand(i) for i in multi_index], _extents(dims), how, order)


@numpy_function(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """`x` where the condition holds, else `y`; the branch not taken gets derivative 0.

    With the condition alone the indices where it holds, as `nonzero` gives them.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.where(x > 0, fnp.sqrt(x), 0.0)))(np.array([0.0, 4.0]))
    array([0.  , 0.25])
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return as_zero_dim(ops.where(condition, x, y))


@numpy_function(np.nonzero, constant=True)
def nonzero(a: Any) -> Any:
    """The indices of the elements that are not 0.

    Under `jit` another number of them than before traces the function anew; under `vmap` all
    examples need the same number.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(x[fnp.nonzero(x)] ** 2))(np.array([1.0, 0.0, 2.0]))
    array([2., 0., 4.])
    """
    return index.positions(as_array(a), _NOT_ZERO)


@numpy_function(np.flatnonzero, constant=True)
def flatnonzero(a: Any) -> Any:
    """The flat indices of the elements that are not 0, as `nonzero` gives them.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: x[fnp.flatnonzero(x)[0]])(np.array([0.0, 2.0]))
    array([0., 1.])
    """
    at = as_array(a)
    return index.positions(shapes.reshape(at, (type_of(at).size,)), _NOT_ZERO)[0]


@numpy_function(np.argwhere, constant=True)
def argwhere(a: Any) -> Any:
    """The indices of the elements that are not 0 as rows; see `nonzero`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.argwhere(np.array([0.0, 2.0]))
    array([[1]])
    """
    at = as_array(a)
    if not type_of(at).ndim:
        one = index.selected(shapes.reshape(at, (1,)), _NOT_ZERO, index.BY_MASK)
        return np.zeros((one, 0), np.intp)
    return shapes.transpose(shapes.stack(index.positions(at, _NOT_ZERO)), (1, 0))


@numpy_function(np.take)
def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Array:
    """The elements of `a` at integer positions along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.take(x, [0, 0])))(np.array([1.0, 2.0]))
    array([2., 0.])
    """
    x, at = as_array(a), index.whole_numbers(operand(indices))
    if axis is None:
        x, axis = shapes.reshape(x, (type_of(x).size,)), 0
    axis = normalize_axis_index(axis, type_of(x).ndim)
    extent = type_of(x).shape[axis]
    if mode == "wrap":
        at = ops.remainder(at, extent)
    elif mode == "clip":
        at = ops.minimum(ops.maximum(at, 0), extent - 1)
    kind = type_of(at)
    if kind.ndim == 0:
        found = index.read(x, (slice(None),) * axis + (at,))
        return shapes.in_c_order(found)
    if not kind.size:
        at = np.zeros(kind.shape, int)
    order = (axis, *(k for k in range(type_of(x).ndim) if k != axis))
    found = index.gather(shapes.transpose(x, order), at)
    rank = kind.ndim
    back = (*range(rank, rank + axis), *range(rank), *range(rank + axis, type_of(found).ndim))
    return shapes.in_c_order(shapes.transpose(found, back))


@numpy_function(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Array:
    """The elements of `arr` at one position for each line along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.take_along_axis(x, np.array([[1], [0]]), 1)))(np.ones((2, 2)))
    array([[0., 1.],
           [1., 0.]])
    """
    x, at = as_array(arr), as_array(indices)
    if type_of(at).dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if type_of(at).ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        x, axis = shapes.reshape(x, (type_of(x).size,)), 0
    rank = type_of(x).ndim
    if rank != type_of(at).ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = normalize_axis_index(axis, rank)
    lines = [
        at if k == axis else np.arange(n).reshape((-1,) + (1,) * (rank - k - 1))
        for k, n in enumerate(type_of(x).shape)
    ]
    return index.gather(x, *lines)


@numpy_function(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Array:
    """The slices of `a` along an axis where the condition holds; see `nonzero`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.compress([True, False], x)))(np.ones(2))
    array([1., 0.])
    """
    return take(a, flatnonzero(condition), axis)


@numpy_function(np.extract)
def extract(condition: Any, arr: Any) -> Array:
    """The elements of `arr` where the condition holds; see `nonzero`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.extract(x > 1, x)))(np.array([1.0, 2.0]))
    array([0., 1.])
    """
    return take(arr, flatnonzero(condition))


# ------------------------------------------------------------------------ choosing branches


@numpy_function(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """For each element the first choice whose condition holds, else the default.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> f = lambda x: fnp.select([x < 0, x < 1], [-x, x**2], 1.0)
    >>> fg.vmap(fg.grad(f))(np.array([-1.0, 0.5, 2.0]))
    array([-1.,  1.,  0.])
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    conditions = [as_array(c) for c in condlist]
    for i, c in enumerate(conditions):
        if type_of(c).dtype.kind != "b":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    choices = [operand(c) for c in (*choicelist, default)]
    dtype = promote(*map(type_of, choices))
    whole = np.broadcast_shapes(*(type_of(c).shape for c in (*conditions, *choices)))
    out: Any = ops.cast(choices[-1], dtype)
    for condition, choice in zip(conditions[::-1], choices[-2::-1], strict=True):
        out = ops.where(condition, ops.cast(choice, dtype), out)
    return shapes.in_c_order(shapes.broadcast_to(out, whole)) if whole else as_zero_dim(out)


@numpy_function(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """Each function applied to the elements where its condition holds.

    Where the conditions are not known (`vmap`) it is applied to all elements, and chosen from.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> f = lambda x: fnp.sum(fnp.piecewise(x, [x < 0], [lambda v: -v, lambda v: v**2]))
    >>> fg.grad(f)(np.array([-1.0, 3.0]))
    array([-1.,  6.])
    """
    at = as_array(x)
    shape = type_of(at).shape
    given = ops.cast(as_array(condlist), bool)
    if type_of(given).shape == shape or (type_of(given).ndim == 1 and len(shape) == 0):
        given = shapes.reshape(given, (type_of(given).size // max(math.prod(shape), 1), *shape))
    n = type_of(given).shape[0]
    conditions = [index.read(given, k) for k in range(n)]
    if n == len(funclist) - 1:
        conditions.append(ops.logical_not(functools.reduce(ops.logical_or, conditions)))
    elif n != len(funclist):
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    out: Any = np.zeros_like(layout(at), type_of(at).dtype, subok=False)
    for condition, function in zip(conditions, funclist, strict=True):
        try:
            chosen = index.read(at, condition)
        except AbstractValueError:
            found = function(at, *args, **kw) if callable(function) else function
            out = ops.where(condition, ops.cast(operand(found), type_of(at).dtype), out)
            continue
        if not type_of(chosen).size:
            continue
        found = function(chosen, *args, **kw) if callable(function) else function
        out = index.index_set(out, condition, operand(found))
    return out


@numpy_function(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Array:
    """For each element the choice that the integer array `a` names.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.choose(np.array([1, 0]), [x, 2.0 * x])))(np.ones(2))
    array([2., 1.])
    """
    at = as_array(a)
    rows = [operand(c) for c in choices]
    shape = np.broadcast_shapes(type_of(at).shape, *(type_of(c).shape for c in rows))
    dtype = promote(*map(type_of, rows))
    table = shapes.stack([shapes.broadcast_to(ops.cast(c, dtype), shape) for c in rows])
    if mode == "wrap":
        at = ops.remainder(at, len(rows))
    elif mode == "clip":
        at = ops.minimum(ops.maximum(at, 0), len(rows) - 1)
    at = shapes.broadcast_to(at, shape)
    lines = [np.arange(n).reshape((-1,) + (1,) * (len(shape) - k - 1)) for k, n in enumerate(shape)]
    return index.gather(table, at, *lines)


# ------------------------------------------------------------------------- index functions


def _square(x: Any, rank: int | None = None) -> tuple[int, ...]:
    shape = type_of(operand(x)).shape
    if rank is not None and len(shape) != rank:
        raise ValueError(f"input array must be {rank}-d")
    return shape


@numpy_function(np.diag_indices_from, constant=True)
def diag_indices_from(arr: Any) -> Any:
    """The indices of the main diagonal of an array.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(x[fnp.diag_indices_from(x)]))(np.ones((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    shape = _square(arr)
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(shape[0], len(shape))


@numpy_function(np.tril_indices_from, constant=True)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """The indices of the lower triangle of a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(x[fnp.tril_indices_from(x)]))(np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    rows, columns = _square(arr, 2)
    return np.tril_indices(rows, k, columns)


@numpy_function(np.triu_indices_from, constant=True)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """The indices of the upper triangle of a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(x[fnp.triu_indices_from(x)]))(np.ones((2, 2)))
    array([[1., 1.],
           [0., 1.]])
    """
    rows, columns = _square(arr, 2)
    return np.triu_indices(rows, k, columns)
