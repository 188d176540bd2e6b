"""`lax`'s products of groups of rows, and of arrays that are given with scales of their blocks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.tracer import operand as content
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.lax.products import Numbers, dot, dot_general
from funcgrad.lax.shapes import convert_element_type

__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "scaled_dot"]


class RaggedDotDimensionNumbers(NamedTuple):
    """Which axes `ragged_dot_general` multiplies, divides into groups, and takes one of for each.

    Parameters
    ----------
    dot_dimension_numbers : ((lhs axes, rhs axes), (lhs axes, rhs axes))
        As of `dot_general`.
    lhs_ragged_dimensions : sequence of one int
        The axis of the first operand that consists of groups.
    rhs_group_dimensions : sequence of int
        The axis of the second operand with an element for each group; none where the groups are
        of an axis that is summed over, or that both keep.

    Examples
    --------
    >>> from funcgrad import lax
    >>> numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    >>> numbers.lhs_ragged_dimensions
    (0,)
    """

    dot_dimension_numbers: Numbers
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


_ROWS = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
) -> Array:
    """The product of each group of rows with a matrix of its own, as of a mixture of experts.

    Parameters
    ----------
    lhs : array (m, k)
        The first `group_sizes[0]` rows are the first group, and so on.
    rhs : array (g, k, n)
        A matrix for each group.
    group_sizes : array (g,) of integers
        Rows behind the last group give 0. Where they are traced, each matrix is multiplied with
        all rows.
    precision, preferred_element_type : optional
        As of `dot_general`.
    group_offset : None

    Returns
    -------
    array (m, n)
        Linear in each of the first two operands.

    Raises
    ------
    TypeError
        The shapes do not fit, or the sizes are no integers.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.ragged_dot(np.ones((3, 2)), np.arange(4.0).reshape(2, 2, 1), np.array([2, 1]))
    array([[1.],
           [1.],
           [5.]])
    """
    if group_offset is not None:
        raise UnsupportedCallError(located("ragged_dot: group_offset is not supported"))
    a, b, sizes = content(lhs), content(rhs), content(group_sizes)
    one, two, aval = type_of(a).shape, type_of(b).shape, type_of(sizes)
    fits = len(one) == 2 and len(two) == 3 and one[1] == two[1] and aval.shape == two[:1]
    if not fits or aval.dtype.kind not in "iu":
        raise TypeError(
            located(
                f"ragged_dot: rows {one}, matrices {two} and sizes {aval} do not fit; they are "
                "(m, k), (g, k, n) and g integers"
            )
        )
    ends = fnp.cumsum(sizes)
    if isinstance(ends, Tracer):
        return ragged_dot_general(a, b, sizes, _ROWS, precision, preferred_element_type)
    borders = [0, *np.minimum(ends, one[0]).tolist()]
    parts = [
        dot(a[low:high], b[g], precision, preferred_element_type)
        for g, (low, high) in enumerate(itertools.pairwise(borders))
    ]
    kinds = [type_of(content(p)).dtype for p in parts] or [np.result_type(type_of(a).dtype)]
    return fnp.concatenate([*parts, np.zeros((one[0] - borders[-1], two[2]), kinds[0])])


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
) -> Array:
    """`dot_general`, for each group of an axis by itself.

    Parameters
    ----------
    lhs, rhs : array
    group_sizes : array (…, g) of integers
        How many elements of the ragged axis are in each group; what is behind the last group counts
        as 0. More axes stand for those that both operands keep and those of the ragged axis's kind
        before it; they may be left out.
    ragged_dot_dimension_numbers : RaggedDotDimensionNumbers
    precision, preferred_element_type : optional
        As of `dot_general`.
    group_offset : None

    Returns
    -------
    array
        That of `dot_general`; where the ragged axis is summed over, one for each group, in front.
        Linear in each of the first two operands.

    Raises
    ------
    TypeError
        The axes, shapes or sizes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    >>> lax.ragged_dot_general(np.arange(4.0), np.ones(4), np.array([3, 1]), numbers)
    array([3., 3.])
    """
    if group_offset is not None:
        raise UnsupportedCallError(located("ragged_dot_general: group_offset is not supported"))
    (sums, batch), ragged, groups = ragged_dot_dimension_numbers
    a, b, sizes = content(lhs), content(rhs), content(group_sizes)
    shape, count = type_of(a).shape, len(groups)
    if len(ragged) != 1 or count > 1 or not 0 <= ragged[0] < len(shape):
        raise TypeError(
            located(
                f"ragged_dot_general: one axis of {shape} is ragged, and at most one has groups; "
                f"not {tuple(ragged)} and {tuple(groups)}"
            )
        )
    (axis,) = ragged
    left = [k for k in range(len(shape)) if k not in (*sums[0], *batch[0])]
    if (axis in left) != bool(count):
        raise TypeError(
            located(
                "ragged_dot_general: rhs has an axis of groups where the ragged axis is neither "
                "summed over nor kept by both, and only there"
            )
        )
    kind = next(list(axes) for axes in (left, sums[0], batch[0]) if axis in axes)
    before = kind[: kind.index(axis)]
    outer = before if axis in batch[0] else [*batch[0], *before]
    own = _members(sizes, shape, outer, axis)
    if axis in batch[0]:
        each, shift = fnp.where(fnp.any(own, 0), a, type_of(a).dtype.type(0)), 0
    else:
        each, shift = fnp.where(own, a[None], type_of(a).dtype.type(0)), 1
    moved = [[k + shift for k in axes] for axes in (sums[0], batch[0])]
    numbers = (
        ((*([0] if count else []), *moved[0]), (*groups, *sums[1])),
        (tuple(moved[1]), tuple(batch[1])),
    )
    found = dot_general(each, b, numbers, precision, preferred_element_type)
    return fnp.moveaxis(found, len(batch[0]), 0) if axis in sums[0] else found


def _members(sizes: Any, shape: tuple[int, ...], outer: list[int], axis: int) -> Any:
    """For each group which elements are in it, with the axes of an array of this shape behind."""
    kind, prefix = type_of(sizes), tuple(shape[k] for k in outer)
    if kind.ndim < 1 or kind.dtype.kind not in "iu" or kind.shape[:-1] not in ((), prefix):
        raise TypeError(
            located(
                f"ragged_dot_general: group_sizes are integers of shape {(*prefix, 'g')} or "
                f"('g',), not {kind}"
            )
        )
    ends = fnp.broadcast_to(fnp.cumsum(sizes, -1), (*prefix, kind.shape[-1]))
    starts = fnp.concatenate([fnp.zeros_like(ends[..., :1]), ends[..., :-1]], -1)
    rows = np.arange(shape[axis])
    within = (rows >= starts[..., None]) & (rows < ends[..., None])  # (*prefix, g, rows)
    within = fnp.moveaxis(within, -2, 0)
    order = np.argsort([*outer, axis])  # as the axes lie in the array
    within = fnp.transpose(within, (0, *(int(k) + 1 for k in order)))
    wide = [n if k in (*outer, axis) else 1 for k, n in enumerate(shape)]
    return fnp.reshape(within, (kind.shape[-1], *wide))


def scaled_dot(
    lhs: Any,
    rhs: Any,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Numbers | None = None,
    preferred_element_type: Any = np.float32,
) -> Array:
    """`dot_general` of two arrays that are given with scales of their blocks.

    Parameters
    ----------
    lhs, rhs : array
    lhs_scale, rhs_scale : array, optional
        What the elements of a block are multiplied with: the shape of the operand, but of an axis
        that is summed over a divisor.
    dimension_numbers : ((lhs axes, rhs axes), (lhs axes, rhs axes)), optional
        As of `dot_general`; otherwise stacks of matrices are multiplied.
    preferred_element_type : dtype, optional
        That in which to multiply and add, and of the result.

    Returns
    -------
    array
        Linear in each of the four.

    Raises
    ------
    TypeError
        An operand of `dimension_numbers` that are left out has no two axes, or the axes of the
        operands do not match.
    ValueError
        A scale has no shape that divides its operand.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> x, y = np.array([[1.0, 2.0, 3.0, 4.0]]), np.ones((4, 1))
    >>> lax.scaled_dot(x, y, lhs_scale=np.array([[10.0, 1.0]]))
    array([[37.]], dtype=float32)
    """
    rank = type_of(content(lhs)).ndim
    if dimension_numbers is None:
        if rank < 2:
            raise TypeError(located("scaled_dot: vectors need dimension_numbers"))
        batch = tuple(range(rank - 2))
        dimension_numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    kind = np.dtype(preferred_element_type)
    (sum_a, sum_b), _ = dimension_numbers
    a, b = _scaled(lhs, lhs_scale, sum_a, kind), _scaled(rhs, rhs_scale, sum_b, kind)
    return dot_general(a, b, dimension_numbers)


def _scaled(x: Any, scale: Any, axes: Sequence[int], kind: Any) -> Any:
    x = convert_element_type(x, kind)
    if scale is None:
        return x
    shape, own = type_of(content(x)).shape, type_of(content(scale)).shape
    fits = len(own) == len(shape) and all(
        (m and n % m == 0) if k in axes else m == n
        for k, (m, n) in enumerate(zip(own, shape, strict=False))
    )
    if not fits:
        raise ValueError(
            located(f"scaled_dot: scales of shape {own} do not divide an operand of shape {shape}")
        )
    scale = convert_element_type(scale, kind)
    for k in axes:
        if own[k] != shape[k]:
            scale = fnp.repeat(scale, shape[k] // own[k], axis=k)
    return x * scale
