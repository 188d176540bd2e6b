"""Where the largest or smallest elements along an axis stand, without sorting the others.

A partition finds the element that is just among them; what is beyond it is taken, and of those that
equal it the first ones. So equal elements keep their order, and NaN is larger than every number, as
where all are sorted. It imports NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["outermost", "pays"]

ndarray = np.ndarray
SHORTEST = 64  # elements of a line that is sorted as fast as it is partitioned
SHARE = 4  # a quarter of a line is sorted almost as fast as the whole


def pays(x: Any, axis: int, k: int) -> bool:
    """Whether to select is faster than to sort."""
    if type(x) is not ndarray or not x.ndim or x.dtype.kind not in "iuf":
        return False
    return 0 < k <= x.shape[axis] // SHARE and x.shape[axis] >= SHORTEST and x.size > 0


def outermost(x: ndarray[Any, Any], axis: int, k: int, largest: bool) -> ndarray[Any, Any]:
    """The positions of the `k` largest or smallest along an axis, the outermost first."""
    lines = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    rows = lines.reshape(-1, lines.shape[-1])
    found = _of_rows(rows, k, largest)
    return np.ascontiguousarray(np.moveaxis(found.reshape(*lines.shape[:-1], k), -1, axis))


def _of_rows(rows: ndarray[Any, Any], k: int, largest: bool) -> ndarray[Any, Any]:
    bound = _bounds(rows, k, largest)
    beyond, equal = (rows > bound, rows == bound) if largest else (rows < bound, rows == bound)
    if rows.dtype.kind == "f":
        _count_nan(rows, bound, beyond, equal, largest)
    left = k - np.count_nonzero(beyond, axis=1)
    many = np.flatnonzero(np.count_nonzero(equal, axis=1) != left)
    for row in many:
        equal[row, np.flatnonzero(equal[row])[left[row] :]] = False
    taken = np.flatnonzero(np.logical_or(beyond, equal, out=beyond)) % rows.shape[1]
    positions = taken.reshape(len(rows), k)
    values = np.take_along_axis(rows, positions, 1)
    if largest:  # equal elements keep their order where both are turned round
        order = k - 1 - np.argsort(values[:, ::-1], axis=1, kind="stable")[:, ::-1]
    else:
        order = np.argsort(values, axis=1, kind="stable")
    return np.take_along_axis(positions, order, 1)


def _bounds(rows: ndarray[Any, Any], k: int, largest: bool) -> ndarray[Any, Any]:
    """The least of what is taken of each row, as a column."""
    at = rows.shape[1] - k if largest else k - 1
    return np.partition(rows, at, axis=1)[:, at : at + 1]


def _count_nan(
    rows: ndarray[Any, Any],
    bound: ndarray[Any, Any],
    beyond: ndarray[Any, Any],
    equal: ndarray[Any, Any],
    largest: bool,
) -> None:
    """Let NaN be larger than every number, and equal to itself."""
    for row in np.flatnonzero(np.isnan(np.max(rows, axis=1))):
        unknown = np.isnan(rows[row])
        if np.isnan(bound[row, 0]):
            beyond[row] = False if largest else ~unknown
            equal[row] = unknown
        elif largest:
            beyond[row] |= unknown
