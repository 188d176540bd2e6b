"""Joins of large arrays, and what zeros surround, by the threads of the library.

They stand in front of the values of their primitives. Nothing is computed, so there is nothing to
round. It imports copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.kernels.copies import SHARED, copy_to, joined, zeros
from funcgrad.ops.index.basic import PLACE, decode
from funcgrad.ops.shape import CONCATENATE

ndarray = np.ndarray


def _joined(impl: Callable[..., Any], *xs: Any, axis: int) -> Any:
    found = joined(xs, axis)
    return impl(*xs, axis=axis) if found is None else found


def _placed(impl: Callable[..., Any], g: Any, *, shape: tuple[int, ...], index: Any) -> Any:
    if type(g) is not ndarray or g.size < SHARED:
        return impl(g, shape=shape, index=index)
    full = zeros(shape, g.dtype)
    part = full[decode(index)]
    if type(part) is not ndarray or part.shape != g.shape:
        return impl(g, shape=shape, index=index)
    copy_to(part, g)
    return full


CONCATENATE.take_kernel(_joined)
PLACE.take_kernel(_placed)
