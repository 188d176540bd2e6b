"""What filters meet: patches of images, and convolutions whose filters differ between places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.lax.convolution import (
    Layout,
    Padding,
    conv_dimension_numbers,
    conv_general_dilated,
)
from funcgrad.lax.products import dot_general

__all__ = ["conv_general_dilated_local", "conv_general_dilated_patches"]


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Layout = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """What a filter of `conv_general_dilated` meets at each place, in the place of channels.

    Parameters
    ----------
    lhs : array
        Images (n, channels, …), or as `dimension_numbers` says.
    filter_shape : sequence of int
        The extents of the window.
    window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers
        As of `conv_general_dilated`.

    Returns
    -------
    array
        (n, channels · window, …): the elements of the window of the first channel first. It is
        linear in the images.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.conv_general_dilated_patches(np.arange(4.0).reshape(1, 1, 4), (2,), (1,), "VALID")
    array([[[0., 1., 2.],
            [1., 2., 3.]]])
    """
    aval = type_of(operand(lhs))
    extents = tuple(int(n) for n in filter_shape)
    spec = conv_dimension_numbers(aval.shape, (1, 1, *extents), dimension_numbers)
    channels, size = aval.shape[spec.lhs_spec[1]], math.prod(extents)
    one = np.eye(size, dtype=aval.dtype).reshape(size, 1, *extents)
    filters = np.tile(one, (channels, *(1,) * (one.ndim - 1)))
    own = np.empty(one.ndim, int)  # the axes of filters in the order that is asked for
    own[list(spec.rhs_spec)] = range(one.ndim)
    return conv_general_dilated(
        lhs,
        filters.transpose(own),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
        feature_group_count=channels,
    )


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Layout = None,
    precision: Any = None,
) -> Array:
    """A convolution with filters of its own at each place.

    Parameters
    ----------
    lhs : array
        Images, as of `conv_general_dilated`.
    rhs : array
        Filters (filters, channels · window, …), where the last axes are the places of the result;
        or as `dimension_numbers` says.
    window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers
        As of `conv_general_dilated`.
    filter_shape : sequence of int
        The extents of the window.

    Returns
    -------
    array
        (n, filters, …). It is linear in images and in filters.

    Raises
    ------
    ValueError
        The filters are not as many as the places.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> x, w = np.ones((1, 1, 3)), np.arange(4.0).reshape(1, 2, 2)
    >>> lax.conv_general_dilated_local(x, w, (1,), "VALID", (2,))
    array([[[2., 4.]]])
    """
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers
    )
    shape, own = type_of(operand(patches)).shape, type_of(operand(rhs)).shape
    spec = conv_dimension_numbers(shape, own, dimension_numbers)
    out, filters = list(spec.out_spec), list(spec.rhs_spec)
    wanted = [shape[k] for k in out[1:]]
    given = [own[k] for k in filters[1:]]
    if given != wanted:
        raise ValueError(
            located(
                f"conv_general_dilated_local: filters of {given[0]} elements for places {given[1:]}"
                f" do not fit patches of {wanted[0]} elements at places {wanted[1:]}"
            )
        )
    numbers = ((out[1:2], filters[1:2]), (out[2:], filters[2:]))
    found = dot_general(patches, rhs, numbers)  # places, images, filters
    places = len(out) - 2
    order = np.empty(places + 2, int)
    order[out] = [places, places + 1, *range(places)]
    return fnp.transpose(found, order)
