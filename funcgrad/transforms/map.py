"""`map`: a function of each row of arrays, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import type_of
from funcgrad.errors import located
from funcgrad.ops.shape import reshape
from funcgrad.transforms.arguments import integer, leaves_of
from funcgrad.transforms.scan import length_of, scan
from funcgrad.transforms.segments import joined
from funcgrad.transforms.vmap import vmap

__all__ = ["map"]

Function = Callable[..., Any]


@boundary
def map(f: Function, xs: Any, *, batch_size: int | None = None) -> Any:
    """``f(x)`` for each row of `xs`, one after the other, stacked.

    Parameters
    ----------
    f : callable
        A function of a tree of arrays.
    xs : tree of arrays, shape (length, ...)
    batch_size : int, optional
        How many rows are taken at a time, with `vmap`.

    Returns
    -------
    tree of arrays, shape (length, ...)
        As of ``vmap(f)(xs)``, in the memory of one row at a time. All derivatives go through.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.map(lambda x: x @ x, np.arange(6.0).reshape(3, 2))
    array([ 1., 13., 41.])
    """
    rows, definition = leaves_of(xs, "the xs of map")
    if not rows:
        raise ValueError(located("map: xs is a tree without arrays, which has no rows"))
    n = length_of(rows, definition, None, "map")
    if batch_size is None:
        return scan(lambda _, x: (None, f(x)), None, xs)[1]
    size = integer(batch_size, "map: batch_size must be an integer")
    if size < 1:
        raise ValueError(located(f"map: batch_size is {size}; it has to be 1 or more"))
    count = n // size
    parts = []
    if count:
        many = [reshape(x[: count * size], (count, size, *type_of(x).shape[1:])) for x in rows]
        found = map(vmap(f), tree.unflatten(definition, many))
        parts.append(tree.map(lambda y: reshape(y, (count * size, *type_of(y).shape[2:])), found))
    if count * size < n:
        parts.append(vmap(f)(tree.unflatten(definition, [x[count * size :] for x in rows])))
    return parts[0] if len(parts) == 1 else tree.map(joined, *parts)
