"""Evenly spaced numbers, grids and powers; the ends may be traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import Operand, operand, type_of
from funcgrad.core.types import Array, dtype_meant, promote
from funcgrad.numpy.borrowed import program
from funcgrad.numpy.creation import array, extents_of, known_integers
from funcgrad.numpy.function_calls import ABSENT, as_array, numpy_function, refuse
from funcgrad.numpy.running import cumprod
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import constant
from funcgrad.ops.index import index_set
from funcgrad.ops.shape import broadcast_to, concatenate, flip, in_c_order, moveaxis, reshape
from funcgrad.ops.storage import new_array, view

__all__ = [
    "arange",
    "geomspace",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "vander",
]


@numpy_function(np.indices, creates=True)
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The indices of a grid.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> rows, columns = fnp.indices((1, 2))
    >>> columns
    array([[0, 1]])
    """
    made_plain: Any = np.indices
    made = made_plain(extents_of(dimensions), dtype, sparse)
    return tuple(map(new_array, made)) if sparse else new_array(made)


@numpy_function(np.arange, creates=True)
def arange(
    start: Any = ABSENT,
    stop: Any = ABSENT,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Array:
    """Evenly spaced values; the start and step may be traced where the count is concrete.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(x * fnp.arange(4)))(1.0)
    np.float64(6.0)
    """
    if stop is ABSENT:
        start, stop = 0, start
    parts = [operand(v) for v in (start, stop, step)]
    if any(type_of(v).dtype.kind not in "biu" for v in parts):
        refuse("arange", start="a traced float (use linspace)")
    lo, hi, by = map(known_integers, parts)
    plain: Any = np.arange
    return new_array(plain(lo, hi, by, dtype, device=device))


@numpy_function(np.linspace, creates=True)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Evenly spaced numbers; `start` and `stop` may be traced.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda stop: fnp.linspace(0.0, stop, 5)[2])(1.0)
    np.float64(0.5)
    """
    num = int(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    div = num - 1 if endpoint else num
    start, stop = operand(start), operand(stop)
    # NumPy's order of operations, so that the last bit is the same
    found = promote(type_of(start), type_of(stop), type_of(1.0))
    wanted = found if dtype is None else dtype_meant(dtype)
    start, stop = ops.cast(start, found), ops.cast(stop, found)
    delta = ops.subtract(stop, start)
    rank = type_of(delta).ndim
    y: Any = np.arange(0, num, dtype=found).reshape((-1,) + (1,) * rank)
    if div > 0:
        step = ops.divide(delta, div)
        tiny = constant.any(ops.equal(step, 0))  # the step underflows: divide first
        y = ops.where(tiny, ops.multiply(ops.divide(y, div), delta), ops.multiply(y, step))
    else:
        step, y = np.nan, ops.multiply(y, delta)
    y = ops.add(y, start)
    if endpoint and num > 1:
        y = index_set(y, (-1, Ellipsis), stop)
    if axis != 0:
        y = moveaxis(y, 0, axis)
    if wanted.kind in "iu":
        y = ops.floor(y)
    y = ops.cast(y, wanted)
    return (y, step) if retstep else y


@numpy_function(np.logspace, creates=True)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """Numbers spaced evenly on a log scale; `start`, `stop` and `base` may be traced.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda stop: fnp.logspace(0.0, stop, 2, base=2.0)[1])(0.0)
    np.float64(0.6931471805599453)
    """
    y = ops.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else ops.cast(y, dtype)


@numpy_function(np.geomspace, creates=True)
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """Numbers in geometric progression; `start` and `stop` may be traced.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda stop: fnp.geomspace(1.0, stop, 3)[1])(4.0).round(9)
    np.float64(0.25)
    """
    return program(np.geomspace)(start, stop, num, endpoint, dtype, axis)


@numpy_function(np.meshgrid, views=True)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate matrices from coordinate vectors: copies, or views of the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.meshgrid(x, np.ones(3))[0]))(np.ones(2))
    array([3., 3.])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    sizes = [type_of(operand(x)).size for x in xi]
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = [1, 0]
    whole = tuple(sizes[places.index(k)] for k in range(len(xi)))
    return tuple(
        _grid(x, tuple(n if k == place else 1 for k in range(len(xi))), whole, copy, sparse)
        for x, n, place in zip(xi, sizes, places, strict=True)
    )


def _grid(x: Any, line: tuple[int, ...], whole: tuple[int, ...], copy: bool, sparse: bool) -> Any:
    def lay(v: Array) -> Array:
        return reshape(v, line) if sparse else broadcast_to(reshape(v, line), whole)

    if copy or not isinstance(x, Operand):
        return array(lay(as_array(x)), order="C")
    return view(x, lay)


@numpy_function(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """The Vandermonde matrix: powers of `x` as columns.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.jacobian(lambda x: fnp.vander(x, 3)[0])(np.array([2.0]))
    array([[4.],
           [1.],
           [0.]])
    """
    x = as_array(x)
    shape = type_of(x).shape
    if len(shape) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = shape[0] if N is None else int(N)
    dtype = np.promote_types(type_of(x).dtype, int)
    column = ops.cast(reshape(x, (shape[0], 1)), dtype)
    parts = [np.ones((shape[0], 1), dtype)][: max(count, 0)]
    parts += [column] * (count - 1)
    powers = cumprod(concatenate(parts, 1), 1) if count > 1 else np.ones((shape[0], count), dtype)
    return powers if increasing else in_c_order(flip(powers, (1,)))
