"""Images in other orders: channels to pixels and back, and windows as columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import index as indexing
from funcgrad.ops.shape import reshape, transpose
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.functional.distance import pad, padded
from funcgrad.torch.operations.common import boxed, computed, shape_of
from funcgrad.torch.operations.data import from_numpy
from funcgrad.torch.operations.dense import dense_composite
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.requirements import requirements, requires

__all__ = ["channel_shuffle", "fold", "pixel_shuffle", "pixel_unshuffle", "unfold"]

Sizes = tuple[int, ...]


def _spread_pixels(x: Array, factor: int) -> Array:
    *lead, c, h, w = shape_of(x)
    k = len(lead)
    x = reshape(x, (*lead, c // factor**2, factor, factor, h, w))
    x = transpose(x, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return reshape(x, (*lead, c // factor**2, h * factor, w * factor))


def _gather_pixels(x: Array, factor: int) -> Array:
    *lead, c, h, w = shape_of(x)
    k = len(lead)
    x = reshape(x, (*lead, c, h // factor, factor, w // factor, factor))
    x = transpose(x, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return reshape(x, (*lead, c * factor**2, h // factor, w // factor))


def _shuffle(x: Array, groups: int) -> Array:
    n, c, *rest = shape_of(x)
    x = reshape(x, (n, groups, c // groups, *rest))
    return reshape(transpose(x, (0, 2, 1, *range(3, 3 + len(rest)))), (n, c, *rest))


SPREAD = Composite("pixel_shuffle", _spread_pixels, linear=True)
GATHER = Composite("pixel_unshuffle", _gather_pixels, linear=True)
SHUFFLE = Composite("channel_shuffle", _shuffle, linear=True)
SPREAD_NODE, GATHER_NODE = node("PixelShuffle"), node("PixelUnshuffle")
SHUFFLE_NODE = node("NativeChannelShuffle")


@operation("pixel_shuffle", "input, int upscale_factor, *, out", variants="", lies="images")
@requires("""
    rank(input) >= 3: pixel_shuffle expects input to have at least 3 dimensions, but got input with
        {rank(input)} dimension(s)
    upscale_factor > 0: pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}
    shape(input)[-3] % upscale_factor**2 == 0: pixel_shuffle expects its input's 'channel' dimension
        to be divisible by the square of upscale_factor, but input.size(-3)={shape(input)[-3]} is
        not divisible by {upscale_factor**2}
""")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels (…, c · r², h, w) to pixels (…, c, h · r, w · r) (Shi et al. 2016).

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.functional.pixel_shuffle(torch.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    return boxed(computed(SPREAD, input.content(), factor=upscale_factor), SPREAD_NODE)


@operation("pixel_unshuffle", "input, int downscale_factor, *, out", variants="", lies="images")
@requires("""
    rank(input) >= 3: pixel_unshuffle expects input to have at least 3 dimensions, but got input
        with {rank(input)} dimension(s)
    downscale_factor > 0: pixel_unshuffle expects a positive downscale_factor, but got
        {downscale_factor}
    shape(input)[-2] % downscale_factor == 0: pixel_unshuffle expects height to be divisible by
        downscale_factor, but input.size(-2)={shape(input)[-2]} is not divisible by
        {downscale_factor}
    shape(input)[-1] % downscale_factor == 0: pixel_unshuffle expects width to be divisible by
        downscale_factor, but input.size(-1)={shape(input)[-1]} is not divisible by
        {downscale_factor}
""")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`."""
    return boxed(computed(GATHER, input.content(), factor=downscale_factor), GATHER_NODE)


@operation("channel_shuffle", "input, int groups", variants="", lies="images")
@requires("""
    rank(input) > 2: channel_shuffle expects input with > 2 dims, but got input with sizes
        {sizes(input)}
    groups > 0: Number of groups to divide channels in must be positive. Value of groups:{groups}
    shape(input)[1] % groups == 0: Number of channels must be divisible by groups. Got
        {shape(input)[1]} channels and {groups} groups.
""")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of `groups` groups in turn (Zhang et al. 2018)."""
    return boxed(computed(SHUFFLE, input.content(), groups=groups), SHUFFLE_NODE)


# ------------------------------------------------------------------------- windows as columns


def _two(given: Any) -> Sizes:
    items = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    return items * 2 if len(items) == 1 else items


def _places(size: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Sizes:
    numbers = zip(size, kernel, dilation, padding, stride, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in numbers)


def _grid(kernel: Sizes, dilation: Sizes, stride: Sizes, counts: Sizes) -> tuple[Array, Array]:
    """Which row and column each element (kh · kw, places) of all windows lies in."""
    lines = [
        np.arange(k)[:, None] * d + np.arange(c) * s
        for k, d, s, c in zip(kernel, dilation, stride, counts, strict=True)
    ]
    rows = np.broadcast_to(lines[0][:, None, :, None], (*kernel, *counts))
    columns = np.broadcast_to(lines[1][None, :, None, :], (*kernel, *counts))
    flat = (math.prod(kernel), math.prod(counts))
    return rows.reshape(flat), columns.reshape(flat)


def _columns(x: Array, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Array:
    n, c, *size = shape_of(x)
    counts = _places(tuple(size), kernel, dilation, padding, stride)
    wide = padded(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2), 0)
    rows, columns = _grid(kernel, dilation, stride, counts)
    found = indexing.read(wide, (slice(None), slice(None), rows, columns))
    return reshape(found, (n, c * math.prod(kernel), math.prod(counts)))


COLUMNS = dense_composite("im2col", _columns, linear=True)
COLUMNS_NODE = node("Im2Col")


def _numbers(**given: Any) -> list[Sizes]:
    found = {name: _two(value) for name, value in given.items()}
    for name, value in found.items():
        least = 0 if name == "padding" else 1
        if min(value) < least:
            word = "non-negative" if least == 0 else "greater than zero"
            raise RuntimeError(
                f"{name} should be {word}, but got {name}_height: {value[0]} {name}_width: "
                f"{value[1]}"
            )
    return list(found.values())


_check_places = requirements(
    "x, k, d, p, counts",
    """
    min(counts) >= 1: Given input with spatial size {shape(x)[2:]}, kernel_size={k}, dilation={d},
        padding={p}, calculated shape of the array of sliding blocks as {counts}, but its components
        must be at least one.
    """,
)


@requires("""
    rank(input) in (3, 4): Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and
        other non-zero dimensions for input, but got: {sizes(input)}
""")
def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The windows of images as columns: (n, channels · elements of a window, places).

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.functional.unfold(torch.arange(9.0).reshape(1, 1, 3, 3), 2)[0, :, 0]
    tensor([0., 1., 3., 4.])
    """
    k, d, p, s = _numbers(
        kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    x = input if input.dim() == 4 else input.unsqueeze(0)
    counts = _places(tuple(x.shape[2:]), k, d, p, s)
    _check_places(x, k, d, p, counts)
    found = boxed(
        computed(COLUMNS, x.content(), kernel=k, dilation=d, padding=p, stride=s), COLUMNS_NODE
    )
    return found if input.dim() == 4 else found.squeeze(0)


_check_columns = requirements(
    "x, size, k, d, p, s, counts",
    """
    shape(x)[1] % math.prod(k) == 0: Expected size of input's dimension 1 to be divisible by the
        product of kernel_size, but got input.size(1)={shape(x)[1]} and kernel_size={k}.
    shape(x)[2] == math.prod(counts): Given output_size={size}, kernel_size={k}, dilation={d},
        padding={p}, stride={s}, expected size of input's dimension 2 to match the calculated number
        of sliding blocks {counts[0]} * {counts[1]} = {math.prod(counts)}, but got
        input.size(2)={shape(x)[2]}.
    """,
)


@requires("""
    rank(input) in (2, 3): Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch
        size and non-zero dimensions for input, but got: {sizes(input)}
""")
def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Images of the columns of `unfold`; what several windows share is added."""
    k, d, p, s = _numbers(
        kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    size = _two(output_size)
    x = input if input.dim() == 3 else input.unsqueeze(0)
    n, lines, length = x.shape
    window, counts = math.prod(k), _places(size, k, d, p, s)
    _check_columns(x, size, k, d, p, s, counts)
    h, w = (extent + 2 * around for extent, around in zip(size, p, strict=True))
    rows, columns = _grid(k, d, s, counts)
    at = from_numpy(np.ascontiguousarray((rows * w + columns).reshape(-1)).astype(np.int64))
    flat = x.reshape(n, lines // window, window * length)
    out = x.new_zeros((n, lines // window, h * w)).index_add(2, at, flat)
    image = out.reshape(n, -1, h, w)
    if any(p):
        image = pad(image, (-p[1], -p[1], -p[0], -p[0]))
    found: Tensor = image if input.dim() == 3 else image.squeeze(0)
    return found
