"""Windows that slide over an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view as plain_windows

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import numpy_function
from funcgrad.numpy.reshaping import shape_of, shown
from funcgrad.ops import index
from funcgrad.ops import shape as shapes

__all__ = ["sliding_window_view"]


@numpy_function(plain_windows, views=True)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    """All windows of a shape as a view; a gradient adds up over the windows that hold an element.

    A view that can be written into (`writeable`) is not supported on traced values.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from numpy.lib.stride_tricks import sliding_window_view
    >>> fg.grad(lambda x: sliding_window_view(x, 2).sum())(np.ones(4))
    array([1., 2., 2., 1.])
    """
    if writeable:
        raise UnsupportedCallError(
            located("sliding_window_view(…, writeable=True) is not supported on traced values")
        )
    rank = len(shape_of(x))
    sizes = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = tuple(range(rank)) if axis is None else normalize_axis_tuple(axis, rank, "axis", True)
    if any(n < 0 for n in sizes):
        raise ValueError("`window_shape` cannot contain negative values")
    if len(sizes) != len(axes):
        raise ValueError(
            f"Must provide matching length window_shape and axis; got {len(sizes)} window_shape "
            f"elements and {len(axes)} axes elements."
        )

    def windows(x: Array) -> Array:
        if isinstance(x, np.ndarray):
            return plain_windows(x, window_shape, axis)
        for n, k in zip(sizes, axes, strict=True):
            count = type_of(x).shape[k] - n + 1
            if count <= 0:
                raise ValueError("window shape cannot be larger than input array shape")
            places = np.arange(count)[:, None] + np.arange(n)
            x = index.gather(shapes.moveaxis(x, k, 0), places)
            x = shapes.moveaxis(shapes.moveaxis(x, 1, -1), 0, k)
        return x

    return shown(x, windows, writable=False)
