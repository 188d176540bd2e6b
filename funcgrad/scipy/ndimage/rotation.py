"""Turning an image in the plane of two of its axes, by `affine_transform`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.ndimage as sp
import scipy.special

import funcgrad.numpy as fnp
from funcgrad.core.tracer import type_of
from funcgrad.numpy.function_calls import known, numpy_function
from funcgrad.scipy.ndimage.filters import image, written
from funcgrad.scipy.ndimage.resampling import affine_transform

__all__ = ["rotate"]


def _plane(axes: Any, rank: int) -> list[int]:
    found = sorted(int(a) + rank * (a < 0) for a in axes)
    if len(found) != 2:
        raise ValueError("axes should contain exactly two values")
    if rank < 2:
        raise ValueError("input array should be at least 2D")
    if found[0] < 0 or found[1] >= rank:
        raise ValueError("invalid rotation plane specified")
    return found


@numpy_function(sp.rotate)
def rotate(
    input: Any,
    angle: Any,
    axes: Any = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """The image turned by an angle in degrees in the plane of two axes.

    The image is differentiable, and the angle where `reshape` is false: else the shape of the
    result depends on it, and its value has to be known.
    """
    x = image(input, "rotate", output)
    shape = type_of(x).shape
    plane = _plane(axes, len(shape))
    extents = np.asarray([shape[a] for a in plane])
    c, s = scipy.special.cosdg(angle), scipy.special.sindg(angle)
    turn = fnp.stack([fnp.stack([c, s]), fnp.stack([-s, c])])
    bounds = extents
    if reshape:
        iy, ix = extents
        corners = known(turn, "the shape of rotate()") @ [[0, 0, iy, iy], [0, ix, 0, ix]]
        bounds = (np.ptp(corners, axis=1) + 0.5).astype(int)
    offset = (extents - 1) / 2 - turn @ ((bounds - 1) / 2)
    options: dict[str, Any] = {"order": order, "mode": mode, "cval": cval, "prefilter": prefilter}
    size = tuple(bounds.tolist())
    if len(shape) == 2:
        return affine_transform(x, turn, offset, size, output, **options)
    planes = fnp.moveaxis(x, plane, (-2, -1))
    lead = type_of(planes).shape[:-2]
    planes = fnp.reshape(planes, (math.prod(lead), *extents))
    turned = [affine_transform(p, turn, offset, size, **options) for p in planes]
    whole = fnp.reshape(fnp.stack(turned), (*lead, *size))
    return written(output, fnp.moveaxis(whole, (-2, -1), plane), "rotate")
