"""Joining arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.tracer import Operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.numpy.reshaping import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    shape_of,
)
from funcgrad.ops import shape as ops
from funcgrad.ops.arithmetic import cast

__all__ = [
    "append",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dstack",
    "hstack",
    "stack",
    "vstack",
]


def _items(arrays: Any) -> list[Any]:
    """The arrays to be joined: an array stands for the sequence of its rows."""
    if isinstance(arrays, (Operand, np.ndarray)):
        rows: Any = arrays
        return [rows[i] for i in range(shape_of(arrays)[0])]
    return list(arrays)


def join(xs: Sequence[Array], axis: int) -> Array:
    """Operands joined along `axis`; the shapes are checked with NumPy's messages."""
    if not xs:
        raise ValueError("need at least one array to concatenate")
    shapes = [type_of(x).shape for x in xs]
    if not shapes[0]:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis_index(axis, len(shapes[0]))
    for i, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but along dimension 0, the array at index 0 has {len(shapes[0])} "
                f"dimension(s) and the array at index {i} has {len(shape)} dimension(s)"
            )
        for k, (n, m) in enumerate(zip(shapes[0], shape, strict=True)):
            if k != axis and n != m:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {k}, the array at index 0 has size {n} and "
                    f"the array at index {i} has size {m}"
                )
    return ops.concatenate(xs, axis)


@numpy_function(np.concatenate, np.concat)
def concatenate(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Array:
    """The arrays joined along an existing axis; flattened first if `axis` is None.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.concatenate([x, 2.0 * x])))(np.ones(2))
    array([3., 3.])
    """
    xs = [as_array(x) for x in _items(arrays)]
    if axis is None:
        xs, axis = [ops.reshape(x, (type_of(x).size,)) for x in xs], 0
    if dtype is not None:
        xs = [cast(x, dtype) for x in xs]
    return join(xs, axis)


concat = concatenate


@numpy_function(np.stack)
def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Array:
    """Arrays of one shape joined along a new axis.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.prod(fnp.stack([x, x, 3.0])))(2.0)
    np.float64(12.0)
    """
    xs = [as_array(x) for x in _items(arrays)]
    if not xs:
        raise ValueError("need at least one array to stack")
    shapes = {type_of(x).shape for x in xs}
    if len(shapes) != 1:
        raise ValueError("all input arrays must have the same shape")
    shape = shapes.pop()
    axis = normalize_axis_index(axis, len(shape) + 1)
    xs = [ops.reshape(x, (*shape[:axis], 1, *shape[axis:])) for x in xs]
    return concatenate(xs, axis, dtype=dtype)


@numpy_function(np.vstack, *([np.row_stack] if "row_stack" in np.__all__ else []))
def vstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Array:
    """Arrays joined along the first axis; vectors are rows.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.vstack([x, 2.0 * x])))(np.ones(2))
    array([3., 3.])
    """
    return concatenate([atleast_2d(x) for x in _items(tup)], 0, dtype=dtype)


@numpy_function(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Array:
    """Arrays joined along the second axis, vectors along the first.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.hstack([x, 2.0 * x])))(np.ones(2))
    array([3., 3.])
    """
    xs = [atleast_1d(x) for x in _items(tup)]
    axis = 0 if xs and len(shape_of(xs[0])) == 1 else 1
    return concatenate(xs, axis, dtype=dtype)


@numpy_function(np.dstack)
def dstack(tup: Any) -> Array:
    """Arrays joined along the third axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.dstack([x, 2.0 * x])))(np.ones(2))
    array([3., 3.])
    """
    return concatenate([atleast_3d(x) for x in _items(tup)], 2)


@numpy_function(np.column_stack)
def column_stack(tup: Any) -> Array:
    """Vectors as the columns of a matrix; matrices are joined as they are.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.column_stack([x, 2.0 * x])))(np.ones(2))
    array([3., 3.])
    """
    columns = []
    for x in map(as_array, _items(tup)):
        shape = type_of(x).shape
        if len(shape) < 2:
            x = ops.reshape(x, (type_of(x).size, 1))
        columns.append(x)
    return concatenate(columns, 1)


@numpy_function(np.block)
def block(arrays: Any) -> Array:
    """A matrix put together from nested lists of blocks.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.block([[x, x], [np.eye(2), x]])))(np.ones((2, 2)))
    array([[3., 3.],
           [3., 3.]])
    """
    depth = _depth(arrays)
    rank = max(depth, *(len(shape_of(x)) for x in _leaves(arrays)))
    made = _block(arrays, depth, rank)
    return made if depth or not rank else ops.copied(made, "C")


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("List at arrays cannot be empty")
    depths = {_depth(x) for x in arrays}
    if len(depths) != 1:
        raise ValueError("List depths are mismatched")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    return [y for x in arrays for y in _leaves(x)] if isinstance(arrays, list) else [arrays]


def _block(arrays: Any, depth: int, rank: int) -> Array:
    if not depth:
        x = as_array(arrays)
        shape = type_of(x).shape
        return ops.reshape(x, (1,) * (rank - len(shape)) + shape)
    return join([_block(x, depth - 1, rank) for x in arrays], rank - depth)


@numpy_function(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """`values` after `arr`; both are flattened if `axis` is None.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.prod(fnp.append(x, 3.0)))(np.array([1.0, 2.0]))
    array([6., 3.])
    """
    return concatenate((arr, values), axis)
