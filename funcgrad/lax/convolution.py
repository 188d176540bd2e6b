"""Convolutions with JAX's arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.function_calls import as_array
from funcgrad.ops.convolution import Window, convolution
from funcgrad.ops.index import PLACE, encode
from funcgrad.ops.shape import flip, reshape, transpose

__all__ = [
    "ConvDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_transpose",
    "conv_with_general_padding",
    "padtype_to_pads",
]

Padding = str | Sequence[tuple[int, int]]


class ConvDimensionNumbers(NamedTuple):
    """The axes of images (n, channels, …), filters (filters, channels, …) and results (n, …).

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.conv_dimension_numbers((1, 2, 3), (4, 2, 1), ('NCH', 'OIH', 'NCH')).rhs_spec
    (0, 1, 2)
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


Layout = tuple[str, str, str] | ConvDimensionNumbers | None


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Layout
) -> ConvDimensionNumbers:
    """Letters for axes as numbers of axes; spatial ones in the order of the filters.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    letters = _letters(dimension_numbers, len(lhs_shape) - 2)
    firsts = ("NC", "OI", "NC")
    return ConvDimensionNumbers(
        *(
            tuple(own.index(c) for c in (*first, *_spatial(letters)))
            for own, first in zip(letters, firsts, strict=True)
        )
    )


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """`conv_general_dilated` with strides and padding alone.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.conv(np.ones((1, 1, 3)), np.ones((1, 1, 2)), (1,), "VALID")
    array([[[2., 2.]]])
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding)


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """`conv_general_dilated` with both dilations.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> x, w = np.ones((1, 1, 3)), np.ones((1, 1, 2))
    >>> lax.conv_with_general_padding(x, w, (1,), "VALID", None, (2,))
    array([[[2.]]])
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation)


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Layout = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Images under filters that move over them, for any number of spatial axes.

    Parameters
    ----------
    lhs : array
        Images (n, channels, …), or as `dimension_numbers` says.
    rhs : array
        Filters (filters, channels / groups, …), of the same dtype.
    window_strides : sequence of int
        How far a filter moves along each spatial axis.
    padding : {"SAME", "SAME_LOWER", "VALID"} or sequence of pair of int
        Zeros before and after the images; negative numbers take elements away.
    lhs_dilation, rhs_dilation : sequence of int, optional
        How far the elements of images and of filters are apart.
    dimension_numbers : tuple of str or ConvDimensionNumbers, optional
        The axes of images, filters and results by letters, such as ``("NHWC", "HWIO", "NHWC")``.
    feature_group_count : int, optional
        In how many parts channels and filters are split, each with its own.
    batch_group_count : int, optional
        In how many parts images and filters are split, each with its own.
    precision, preferred_element_type : optional
        Accepted; the result has the dtype of the operands, and its precision.

    Returns
    -------
    array
        (n, filters, …), or as `dimension_numbers` says. It is linear in images and in filters.

    Raises
    ------
    TypeError
        Operands of different dtypes.
    ValueError
        Shapes or numbers that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> x = np.arange(16.0).reshape(1, 1, 4, 4)
    >>> f = lambda w: lax.conv_general_dilated(x, w, (1, 1), "VALID")
    >>> f(np.ones((1, 1, 3, 3)))
    array([[[[45., 54.],
             [81., 90.]]]])
    >>> fg.grad(lambda w: f(w).sum())(np.ones((1, 1, 3, 3)))
    array([[[[10., 14., 18.],
             [26., 30., 34.],
             [42., 46., 50.]]]])
    """
    x, w = as_array(lhs), as_array(rhs)
    _check_operands(x, w)
    rank = type_of(x).ndim - 2
    letters = _letters(dimension_numbers, rank)
    x, w = _ordered(x, letters[0], "NC", letters), _ordered(w, letters[1], "OI", letters)
    stride = _sizes("window_strides", window_strides, rank)
    apart = _sizes("rhs_dilation", rhs_dilation, rank)
    x = _spaced(x, _sizes("lhs_dilation", lhs_dilation, rank))
    if batch_group_count > 1:
        x = _batch_groups(x, batch_group_count, feature_group_count)
    groups = feature_group_count * batch_group_count
    _check_channels(type_of(x).shape, type_of(w).shape, groups)
    size, kernel = type_of(x).shape[2:], type_of(w).shape[2:]
    around = padding_of(padding, size, kernel, stride, apart)
    y = convolution(x, w, Window(size, kernel, stride, around, apart), groups)
    order = ["NC".find(c) if c in "NC" else _spatial(letters).index(c) + 2 for c in letters[2]]
    return transpose(y, order)


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Layout = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """A convolution whose stride spreads the images out: what upsamples.

    Parameters
    ----------
    lhs, rhs : array
        Images and filters; without `dimension_numbers`, channels are last: ``("NHWC", "HWIO",
        "NHWC")`` of two spatial axes.
    strides : sequence of int
        How far the elements of the images are apart.
    padding : {"SAME", "VALID"} or sequence of pair of int
        "SAME" makes the results `strides` times as large as the images.
    rhs_dilation : sequence of int, optional
    transpose_kernel : bool, optional
        Whether the filters are turned, and their channels exchanged: then it is the transpose of
        `conv_general_dilated`.

    Returns
    -------
    array
        It is linear in images and in filters.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> x, w = np.array([1.0, 2.0]).reshape(1, 2, 1), np.ones((2, 1, 1))
    >>> lax.conv_transpose(x, w, (2,), "SAME").ravel()
    array([1., 1., 2., 2.])
    """
    rank = type_of(operand(lhs)).ndim - 2
    if dimension_numbers is None:
        spatial = "".join(chr(ord("0") + k) for k in range(rank))
        dimension_numbers = f"N{spatial}C", f"{spatial}IO", f"N{spatial}C"
    numbers = conv_dimension_numbers(
        type_of(operand(lhs)).shape, type_of(operand(rhs)).shape, dimension_numbers
    )
    w = as_array(rhs)
    apart = _sizes("rhs_dilation", rhs_dilation, rank)
    if isinstance(padding, str):
        sizes = [type_of(w).shape[a] for a in numbers.rhs_spec[2:]]
        wide = [(k - 1) * d + 1 for k, d in zip(sizes, apart, strict=True)]
        padding = [_spread(k, s, padding) for k, s in zip(wide, strides, strict=True)]
    if transpose_kernel:
        w = flip(w, tuple(numbers.rhs_spec[2:]))
        order = list(range(rank + 2))
        out, into = numbers.rhs_spec[:2]
        order[out], order[into] = into, out
        w = transpose(w, order)
    one = (1,) * rank
    return conv_general_dilated(lhs, w, one, padding, strides, apart, numbers)


def _spread(size: int, stride: int, padding: str) -> tuple[int, int]:
    """The zeros before and behind images that are spread out."""
    if padding.upper() not in ("SAME", "VALID"):
        raise ValueError(
            located(f"conv_transpose: padding is 'SAME', 'VALID' or pairs, not {padding!r}")
        )
    if padding.upper() == "VALID":
        return size - 1, stride - 1 + max(size - stride, 0)
    total = size + stride - 2
    before = size - 1 if stride > size - 1 else math.ceil(total / 2)
    return before, total - before


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
) -> list[tuple[int, int]]:
    """How many elements "SAME", "SAME_LOWER" or "VALID" put before and behind each axis.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.padtype_to_pads((5,), (2,), (1,), "SAME")
    [(0, 1)]
    """
    ones = (1,) * len(in_shape)
    return list(
        padding_of(padding, in_shape, window_shape, window_strides, ones, "padtype_to_pads")
    )


# ---------------------------------------------------------------------------------- checks


def _check_operands(x: Array, w: Array) -> None:
    a, b = type_of(operand(x)), type_of(operand(w))
    if a.ndim != b.ndim or a.ndim < 2:
        raise ValueError(
            located(
                "conv_general_dilated: lhs and rhs need the same number of axes, at least 2; got "
                f"shapes {a.shape} and {b.shape}"
            )
        )
    if a.dtype != b.dtype:
        raise TypeError(
            located(
                "conv_general_dilated: lhs and rhs need the same dtype, got "
                f"{a.dtype} and {b.dtype}; cast one of them"
            )
        )


def _check_channels(x: tuple[int, ...], w: tuple[int, ...], groups: int) -> None:
    if groups < 1 or w[0] % groups or x[1] != w[1] * groups:
        raise ValueError(
            located(
                f"conv_general_dilated: images with {x[1]} channels and {w[0]} filters of {w[1]} "
                f"channels do not fit in {groups} groups"
            )
        )


def _sizes(name: str, given: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    sizes = (1,) * rank if given is None else tuple(int(n) for n in given)
    if len(sizes) != rank or min(sizes, default=1) < 1:
        raise ValueError(
            located(f"conv_general_dilated: {name} needs {rank} positive numbers, got {given}")
        )
    return sizes


# ------------------------------------------------------------------------------- arranging


def _letters(given: Layout, rank: int) -> tuple[str, str, str]:
    if isinstance(given, ConvDimensionNumbers):
        return _in_letters(given)
    if given is None:
        spatial = "".join(chr(ord("0") + k) for k in range(rank))
        return f"NC{spatial}", f"OI{spatial}", f"NC{spatial}"
    x, w, y = given
    wanted = sorted(set(x) - set("NC"))
    fits = all(
        len(part) == rank + 2 and sorted(part) == sorted([*first, *wanted])
        for part, first in ((x, "NC"), (w, "OI"), (y, "NC"))
    )
    if not fits:
        raise ValueError(
            located(
                "conv_general_dilated: dimension_numbers needs strings like ('NHWC', 'HWIO', "
                f"'NHWC') with {rank} letters besides N, C, O and I; got {given}"
            )
        )
    return given


def _in_letters(given: ConvDimensionNumbers) -> tuple[str, str, str]:
    made = []
    for axes, first in zip(given, ("NC", "OI", "NC"), strict=True):
        names = [*first, *(chr(ord("0") + k) for k in range(len(axes) - 2))]
        placed = sorted(zip(axes, names, strict=True))
        made.append("".join(name for _, name in placed))
    x, w, y = made
    return x, w, y


def _spatial(letters: tuple[str, str, str]) -> list[str]:
    """The letters of the spatial axes, in the order of the filters."""
    return [c for c in letters[1] if c not in "OI"]


def _ordered(x: Array, own: str, first: str, letters: tuple[str, str, str]) -> Array:
    return transpose(x, [own.index(c) for c in (*first, *_spatial(letters))])


def _spaced(x: Array, dilation: tuple[int, ...]) -> Array:
    """The images with zeros between their elements."""
    if all(d == 1 for d in dilation):
        return x
    shape = type_of(x).shape
    wide = tuple(max((n - 1) * d + 1, 0) for n, d in zip(shape[2:], dilation, strict=True))
    at = encode((slice(None), slice(None), *(slice(None, None, d) for d in dilation)))
    return bind(PLACE, (x,), {"shape": (*shape[:2], *wide), "index": at})


def _batch_groups(x: Array, groups: int, others: int) -> Array:
    """The parts of the batch as parts of the channels."""
    n, c, *rest = type_of(x).shape
    if n % groups or others != 1:
        raise ValueError(
            located(
                f"conv_general_dilated: {n} images cannot be split in batch_group_count={groups} "
                f"parts with feature_group_count={others}"
            )
        )
    parts = reshape(x, (groups, n // groups, c, *rest))
    order = (1, 0, *range(2, len(rest) + 3))
    return reshape(transpose(parts, order), (n // groups, groups * c, *rest))


def padding_of(
    given: Padding,
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    what: str = "conv_general_dilated",
) -> tuple[tuple[int, int], ...]:
    """How many elements go before and after each axis; errors name the function `what`."""
    if not isinstance(given, str):
        pairs = tuple((int(lo), int(hi)) for lo, hi in given)
        if len(pairs) != len(size):
            raise ValueError(located(f"{what}: padding needs {len(size)} pairs, got {given}"))
        return pairs
    if given.upper() == "VALID":
        return ((0, 0),) * len(size)
    if given.upper() not in ("SAME", "SAME_LOWER"):
        raise ValueError(
            located(f"{what}: padding is 'SAME', 'SAME_LOWER', 'VALID' or pairs, not {given!r}")
        )
    pads = []
    for n, k, s, d in zip(size, kernel, stride, dilation, strict=True):
        total = max((math.ceil(n / s) - 1) * s + (k - 1) * d + 1 - n, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if given.upper() == "SAME" else (more, less))
    return tuple(pads)
