"""`lax`'s reductions, windows and running sums. Results keep the dtype of their operand."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.core.tracer import operand as content
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.lax.convolution import padding_of
from funcgrad.lax.shapes import axes_of, pad
from funcgrad.ops.logcumsumexp import logcumsumexp
from funcgrad.transforms.vmap import vmap

__all__ = [
    "argmax",
    "argmin",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_window",
    "reduce_window_shape_tuple",
    "reduce_xor",
]


def _axes(x: Any, axes: Sequence[int]) -> tuple[int, ...]:
    return axes_of(axes, type_of(content(x)).ndim)


def _dtype(x: Any) -> Any:
    return type_of(content(x)).dtype


def reduce_sum(operand: Any, axes: Sequence[int]) -> Array:
    """The sum over axes, in the dtype of the operand.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.reduce_sum(np.ones((2, 3)), (1,))
    array([3., 3.])
    """
    return fnp.sum(operand, _axes(operand, axes), _dtype(operand))


def reduce_prod(operand: Any, axes: Sequence[int]) -> Array:
    """The product over axes, in the dtype of the operand.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.reduce_prod(np.array([2.0, 3.0]), (0,))
    np.float64(6.0)
    """
    return fnp.prod(operand, _axes(operand, axes), _dtype(operand))


def reduce_max(operand: Any, axes: Sequence[int]) -> Array:
    """The largest element over axes; equal ones share the derivative.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.reduce_max(np.array([2.0, 3.0]), (0,))
    np.float64(3.0)
    """
    return fnp.max(operand, _axes(operand, axes))


def reduce_min(operand: Any, axes: Sequence[int]) -> Array:
    """The smallest element over axes; equal ones share the derivative.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.reduce_min(np.array([2.0, 3.0]), (0,))
    np.float64(2.0)
    """
    return fnp.min(operand, _axes(operand, axes))


def reduce_and(operand: Any, axes: Sequence[int]) -> Array:
    """All of the bits, or of the bools, over axes.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.reduce_and(np.array([6, 3]), (0,))
    np.int64(2)
    """
    return _folded(operand, axes, fnp.bitwise_and, -1)


def reduce_or(operand: Any, axes: Sequence[int]) -> Array:
    """Any of the bits, or of the bools, over axes.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.reduce_or(np.array([6, 3]), (0,))
    np.int64(7)
    """
    return _folded(operand, axes, fnp.bitwise_or, 0)


def reduce_xor(operand: Any, axes: Sequence[int]) -> Array:
    """The bits, or the bools, that are set an odd number of times over axes.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.reduce_xor(np.array([6, 3]), (0,))
    np.int64(5)
    """
    return _folded(operand, axes, fnp.bitwise_xor, 0)


def _folded(operand: Any, axes: Sequence[int], rule: Callable[..., Any], start: int) -> Array:
    kind = _dtype(operand)
    if kind.kind not in "biu":
        raise TypeError(located(f"a reduction of bits takes integers or bools, not {kind}"))
    first = np.array(start, np.int64).astype(kind)[()]
    return reduce(operand, first, rule, axes)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Array:
    """Where the largest element along an axis is, the first of them.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.argmax(np.array([1.0, 3.0]), 0, np.int32)
    np.int32(1)
    """
    return fnp.astype(fnp.asarray(fnp.argmax(operand, axis)), np.dtype(index_dtype))[()]


def argmin(operand: Any, axis: int, index_dtype: Any) -> Array:
    """Where the smallest element along an axis is, the first of them.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.argmin(np.array([1.0, 3.0]), 0, np.int32)
    np.int32(0)
    """
    return fnp.astype(fnp.asarray(fnp.argmin(operand, axis)), np.dtype(index_dtype))[()]


# ------------------------------------------------------------------------------ running


def _running(function: Callable[[Any, int], Any], x: Any, axis: int, reverse: bool) -> Array:
    axis = normalize_axis_index(axis, type_of(content(x)).ndim)
    if not reverse:
        return function(x, axis)
    return fnp.flip(function(fnp.flip(x, axis), axis), axis)


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The running sum along an axis, from its end with `reverse`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.cumsum(np.array([1.0, 2.0, 3.0]), reverse=True)
    array([6., 5., 3.])
    """
    kind = _dtype(operand)
    return _running(lambda x, a: fnp.cumsum(x, a, kind), operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The running product along an axis, from its end with `reverse`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.cumprod(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 6.])
    """
    kind = _dtype(operand)
    return _running(lambda x, a: fnp.cumprod(x, a, kind), operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The largest element so far along an axis, from its end with `reverse`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.cummax(np.array([1.0, 3.0, 2.0]))
    array([1., 3., 3.])
    """
    return _running(lambda x, a: fnp.maximum.accumulate(x, a), operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The smallest element so far along an axis, from its end with `reverse`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.cummin(np.array([2.0, 3.0, 1.0]))
    array([2., 2., 1.])
    """
    return _running(lambda x, a: fnp.minimum.accumulate(x, a), operand, axis, reverse)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The logarithm of the running sum of exponentials, without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.cumlogsumexp(np.array([1000.0, 1000.0])) - 1000.0
    array([0.        , 0.69314718])
    """
    return _running(logcumsumexp, operand, axis, reverse)


# ---------------------------------------------------------------------------- any function


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
) -> Any:
    """Arrays reduced over axes by any associative function of two elements.

    Parameters
    ----------
    operands : array or tree of arrays
        Of one shape.
    init_values : scalar or tree of scalars
        What the function leaves everything as it is with: 0 for a sum.
    computation : callable
        ``computation(x, y)`` of two elements, or of two trees of them. Pairs of neighbours are
        joined, so it has to be associative, and is called for all pairs at once, by `vmap`.
    dimensions : sequence of int

    Returns
    -------
    array or tree of arrays
        Differentiable as the function is.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.reduce(np.array([1.0, 2.0, 4.0]), 0.0, lax.add, (0,))
    np.float64(7.0)
    >>> lax.reduce(np.array([1.0, 2.0, 4.0]), 1.0, lambda x, y: x * y, (0,))
    np.float64(8.0)
    """
    leaves, definition = tree.flatten(operands)
    starts = tree.leaves(init_values)
    if len(starts) != len(leaves):
        raise TypeError(
            located(
                f"reduce: {len(leaves)} operands need as many initial values, not {len(starts)}"
            )
        )
    axes = axes_of(dimensions, type_of(content(leaves[0])).ndim)
    lines = [_line(x, axes) for x in leaves]
    first = [_cast(s, x) for s, x in zip(starts, leaves, strict=True)]
    count, kept = lines[0].shape[0], lines[0].shape[1:]
    joined = _pairwise(_over(computation, definition, len(leaves)), lines, count)
    out = [
        fnp.broadcast_to(s, kept) if not count else x for s, x in zip(first, joined, strict=True)
    ]
    if count:
        begun = [fnp.broadcast_to(s, kept) for s in first]
        out = _over(computation, definition, len(leaves))(begun, out)
    return tree.unflatten(definition, [_scalar(x) for x in out])


def _scalar(x: Any) -> Any:
    return x[()] if isinstance(x, np.ndarray) and not x.ndim else x


def _cast(start: Any, x: Any) -> Any:
    return fnp.astype(fnp.asarray(start), _dtype(x))


def _line(x: Any, axes: tuple[int, ...]) -> Any:
    """An array with the axes to be reduced as its first one."""
    shape = type_of(content(x)).shape
    rest = [a for a in range(len(shape)) if a not in axes]
    turned = fnp.transpose(x, (*axes, *rest))
    return fnp.reshape(turned, (math.prod(shape[a] for a in axes), *(shape[a] for a in rest)))


def _over(computation: Callable[[Any, Any], Any], definition: Any, count: int) -> Any:
    """The function of two elements as one of two lists of arrays."""

    def one(*xs: Any) -> Any:
        pair = tree.unflatten(definition, xs[:count]), tree.unflatten(definition, xs[count:])
        return tuple(tree.leaves(computation(*pair)))

    each = vmap(one, randomness="same")

    def both(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
        shape = type_of(content(xs[0])).shape
        found = each(*(fnp.reshape(x, (-1,)) for x in (*xs, *ys)))
        return [fnp.reshape(x, shape) for x in found]

    return both


def _pairwise(both: Callable[..., Any], xs: list[Any], count: int) -> list[Any]:
    """Neighbours joined until one is left: as many calls as `count` has bits."""
    while count > 1:
        half = count // 2
        joined = both([x[: 2 * half : 2] for x in xs], [x[1 : 2 * half : 2] for x in xs])
        if count % 2:
            joined = [fnp.concatenate([j, x[-1:]]) for j, x in zip(joined, xs, strict=True)]
        xs, count = joined, half + count % 2
    return [x[0] for x in xs] if count else xs


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Array:
    """What lies in each place of a window that moves over an array, reduced by a function.

    Parameters
    ----------
    operand : array
    init_value : scalar
        What the function leaves everything as it is with; it is put around the array.
    computation : callable
        An associative and commutative function of two arrays, element by element: `lax.add`,
        `lax.max`, `lax.min`, `lax.mul` …
    window_dimensions, window_strides, base_dilation, window_dilation : sequence of int
        One number for each axis.
    padding : {"SAME", "SAME_LOWER", "VALID"} or sequence of pair of int

    Returns
    -------
    array
        The axes are reduced one after the other, so the cost is that of the sum of the window's
        extents. Equal elements share the derivative of an extremum.

    Raises
    ------
    ValueError
        Numbers that do not fit the array.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.reduce_window(np.array([1.0, 3.0, 2.0, 4.0]), -np.inf, lax.max, (2,), (2,))
    array([3., 4.])
    """
    aval = type_of(content(operand))
    rank = aval.ndim
    window = _numbers("window_dimensions", window_dimensions, rank)
    stride = _numbers("window_strides", window_strides, rank)
    apart = _numbers("window_dilation", window_dilation, rank)
    inside = _numbers("base_dilation", base_dilation, rank)
    wide = [max((n - 1) * d + 1, 0) for n, d in zip(aval.shape, inside, strict=True)]
    around = padding_of(padding, wide, window, stride, apart, "reduce_window")
    start = fnp.astype(fnp.asarray(init_value), aval.dtype)[()]
    config = [(lo, hi, d - 1) for (lo, hi), d in zip(around, inside, strict=True)]
    x = fnp.asarray(operand)
    if any(any(c) for c in config):
        x = pad(x, start, config)
    for axis, (k, s, d) in enumerate(zip(window, stride, apart, strict=True)):
        x = _along(x, axis, (k, s, d), start, computation)
    return computation(fnp.broadcast_to(start, type_of(content(x)).shape), x)


def _along(x: Any, axis: int, window: tuple[int, int, int], start: Any, computation: Any) -> Any:
    """The windows along one axis, of (extent, stride, dilation), reduced."""
    k, stride, apart = window
    shape = type_of(content(x)).shape
    count = max((shape[axis] - ((k - 1) * apart + 1)) // stride + 1, 0)
    if not count or not k:
        return fnp.broadcast_to(start, (*shape[:axis], count, *shape[axis + 1 :]))
    parts = []
    for j in range(k):
        part = slice(j * apart, j * apart + (count - 1) * stride + 1, stride)
        parts.append(x[(slice(None),) * axis + (part,)])
    return functools.reduce(computation, parts)


def _numbers(name: str, given: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    found = (1,) * rank if given is None else tuple(int(n) for n in given)
    if len(found) != rank or min(found, default=1) < 1:
        raise ValueError(
            located(f"reduce_window: {name} needs {rank} positive numbers, got {given}")
        )
    return found


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of what `reduce_window` gives.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.reduce_window_shape_tuple((5,), (2,), (2,), ((0, 0),))
    (2,)
    """
    rank = len(operand_shape)
    inside = _numbers("base_dilation", base_dilation, rank)
    apart = _numbers("window_dilation", window_dilation, rank)
    found = []
    for n, k, s, (lo, hi), b, d in zip(
        operand_shape, window_dimensions, window_strides, padding, inside, apart, strict=True
    ):
        whole = max((n - 1) * b + 1, 0) + lo + hi
        found.append(max((whole - ((k - 1) * d + 1)) // s + 1, 0))
    return tuple(found)
