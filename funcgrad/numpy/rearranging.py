"""Functions that only move elements, or set some to a constant: roll, pad, triangles, diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.axes import diagonal
from funcgrad.numpy.borrowed import program
from funcgrad.numpy.function_calls import as_array, memory_of, numpy_function, order_of, state
from funcgrad.numpy.reshaping import shape_of
from funcgrad.ops import arithmetic, index
from funcgrad.ops import shape as ops

__all__ = ["diag", "diagflat", "pad", "roll", "tril", "triu"]


@numpy_function(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    """`a` with its elements shifted along some axes; those that leave come in at the other end.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.roll(x, 1)[0])(np.ones(3))
    array([0., 0., 1.])
    """
    x = as_array(a)
    shape = type_of(x).shape
    if axis is None:
        flat = ops.reshape(x, (type_of(x).size,))
        return ops.reshape(_rolled(flat, sum(np.atleast_1d(shift).tolist()), 0), shape)
    axes = normalize_axis_tuple(axis, len(shape), allow_duplicate=True)
    pairs = np.broadcast(shift, axes)
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    out = x
    for offset, k in pairs:
        out = _rolled(out, int(offset), int(k))
    return ops.lying_as(out, np.empty_like(memory_of(a)))


def _rolled(x: Array, shift: int, axis: int) -> Array:
    extent = type_of(x).shape[axis]
    shift = shift % extent if extent else 0
    if not shift:
        return x
    lead = (slice(None),) * axis
    tail = index.getitem(x, (*lead, slice(extent - shift, None)))
    head = index.getitem(x, (*lead, slice(None, extent - shift)))
    joined = ops.concatenate((tail, head), axis)  # in native byte order, which NumPy's roll keeps
    return arithmetic.cast(joined, type_of(x).dtype)


_MOVES = ("edge", "reflect", "symmetric", "wrap")


@numpy_function(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """`array` with elements added at its ends.

    Every mode can be differentiated, also by `constant_values` and `end_values`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.pad(x, 1, mode="edge")))(np.ones(2))
    array([2., 2.])
    """
    x = as_array(array)
    shape, size = type_of(x).shape, type_of(x).size
    if mode in ("constant", "empty") and not state(kwargs.get("constant_values")):
        return _framed(x, order_of(array), pad_width, mode, kwargs)
    if mode not in _MOVES or kwargs.get("reflect_type", "even") != "even":
        return program(np.pad)(array, pad_width, mode, **kwargs)
    positions = np.pad(np.arange(size).reshape(shape), pad_width, mode, **kwargs)
    found = index.gather(ops.reshape(x, (size,)), positions)
    return ops.lying_as(found, np.empty_like(positions, order=order_of(array)))


def _framed(x: Array, order: Any, pad_width: Any, mode: Any, kwargs: dict[str, Any]) -> Array:
    shape = type_of(x).shape
    pad_plain: Any = np.pad  # its overloads know no mode that is not a literal
    frame = pad_plain(np.zeros(shape, type_of(x).dtype, order), pad_width, mode, **kwargs)
    inside = np.pad(np.arange(1, type_of(x).size + 1).reshape(shape), pad_width, "constant")
    return index.set_positions(frame, np.flatnonzero(inside), ops.reshape(x, (type_of(x).size,)))


# --------------------------------------------------------------------- triangles, diagonals


@numpy_function(np.triu)
def triu(m: Any, k: int = 0) -> Array:
    """`m` with the elements below the k-th diagonal set to zero.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.triu(x)))(np.ones((2, 2)))
    array([[1., 1.],
           [0., 1.]])
    """
    x = _matrix(m)
    rows, columns = type_of(x).shape[-2:]
    keep = ~np.tri(rows, columns, k - 1, bool)
    return arithmetic.where(keep, x, np.zeros(1, type_of(x).dtype))


@numpy_function(np.tril)
def tril(m: Any, k: int = 0) -> Array:
    """`m` with the elements above the k-th diagonal set to zero.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.tril(x)))(np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    x = _matrix(m)
    rows, columns = type_of(x).shape[-2:]
    keep = np.tri(rows, columns, k, bool)
    return arithmetic.where(keep, x, np.zeros(1, type_of(x).dtype))


def _matrix(m: Any) -> Array:
    """`m` with at least two axes; a vector stands for a matrix of equal rows, as in NumPy."""
    x = as_array(m)
    shape = type_of(x).shape
    return x if len(shape) > 1 else ops.broadcast_to(x, shape * 2)


@numpy_function(np.diag, views=True)
def diag(v: Any, k: int = 0) -> Array:
    """The k-th diagonal of a matrix, or the matrix that has the vector `v` there.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.diag(x) ** 2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    rank = len(shape_of(v))
    if rank == 2:
        return diagonal(v, k)
    if rank != 1:
        raise ValueError("Input must be 1- or 2-d.")
    x = as_array(v)
    if not isinstance(x, Tracer):
        return np.diag(x, k)
    count = type_of(x).shape[0]
    extent = count + abs(k)
    at = np.arange(count) * (extent + 1) + (k if k >= 0 else -k * extent)
    return index.set_positions(np.zeros((extent, extent), type_of(x).dtype), at, x)


@numpy_function(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Array:
    """The matrix that has the elements of `v` on its k-th diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.diagflat(x) ** 2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    x = as_array(v)
    return diag(ops.reshape(x, (type_of(x).size,)), k)
