"""Convolutions with PyTorch's arguments, checks and nodes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.primitive import Params
from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.kernels.convolution import affine
from funcgrad.ops import arithmetic as a
from funcgrad.ops import convolution as core
from funcgrad.ops.shape import reshape
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite, Inside, inside, spread_over
from funcgrad.torch.flat import FLOATS
from funcgrad.torch.nn.functional.convolution_checks import (
    check_dtypes,
    check_numbers,
    check_output_padding,
    check_reach,
    check_result,
    check_shapes,
)
from funcgrad.torch.nn.functional.distance import pad
from funcgrad.torch.nn.functional.windows import batched, spread
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    shape_of,
    widened,
)
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.recorded import refuse_kinds

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]

Sizes = tuple[int, ...]
SIGNATURE = " | ".join(
    f"input, weight, Tensor bias=None, dims stride=1, {padding}, dims dilation=1, int groups=1"
    for padding in ("dims padding=0", "str padding='valid'")
)
TRANSPOSED_SIGNATURE = (
    "input, weight, Tensor bias=None, dims stride=1, dims padding=0, dims output_padding=0, "
    "int groups=1, dims dilation=1"
)


def _convolution(
    x: Array, w: Array, b: Array, window: core.Window, groups: int, transposed: bool, moved: bool
) -> Array:
    # by native code from the first call on, where a functional program has NumPy's bits
    if _is_raw((x, w, b)[: 2 + moved]):
        return affine(x, w, b if moved else None, window, groups, transposed)
    contraction = core.CONVOLUTION_INPUT if transposed else core.CONVOLUTION_RESULT
    y = bind(contraction, (x, w), {"window": window, "groups": groups})
    if not moved:
        return y
    return a.add(y, reshape(b, (*shape_of(b), *(1,) * len(window.kernel))))


def _is_raw(arrays: Sequence[Any]) -> bool:
    dtype = getattr(arrays[0], "dtype", None)
    return dtype in FLOATS and all(type(x) is np.ndarray and x.dtype == dtype for x in arrays)


class Convolved(Inside):
    """A convolution of raw arrays, for the way back."""

    __slots__ = ("operands", "params")

    def __init__(self, operands: Sequence[Any], params: Params) -> None:
        self.operands, self.params, self.saved = operands, params, None

    def pull(
        self, cts: Sequence[Any], wanted: Sequence[int], count: int, quick: bool = False
    ) -> list[Array | None]:
        (g,) = cts
        x, w, _ = self.operands
        if not quick or type(g) is not np.ndarray or g.dtype != x.dtype:
            again = inside(_convolution, self.operands, self.params, wanted)[1]
            return again.pull(cts, wanted, count, quick)
        there = {"window": self.params["window"], "groups": self.params["groups"]}
        if self.params["transposed"]:
            prim, pair = core.CONVOLUTION_RESULT, (g, x)
        else:
            prim, pair = core.CONVOLUTION_INPUT, (x, g)
        rules: list[Callable[[], Any]] = [
            lambda: prim.impl(g, w, **there),
            lambda: core.CONVOLUTION_FILTER.impl(*pair, **there),
            lambda: np.add.reduce(g, (0, *range(2, g.ndim))),
        ]
        return spread_over(wanted, [rules[k]() for k in wanted], count)


def _recorded(xs: Sequence[Any], params: Params) -> tuple[Any, Inside] | None:
    if not _is_raw(xs[: 2 + params["moved"]]):
        return None
    return _convolution(*xs, **params), Convolved(xs, params)


CONVOLUTION = Composite("convolution", widened(_convolution), recorded=_recorded)
NODE = node("Convolution", "input weight")


def _applied(
    x: Tensor, w: Tensor, bias: Tensor | None, window: core.Window, groups: int, transposed: bool
) -> Tensor:
    given = x.content()
    refuse_kinds("slow_conv2d_cpu", "b", given)
    zero = dtype_of(given).type(0)
    found = computed(
        CONVOLUTION,
        given,
        w.content(),
        zero if bias is None else bias.content(),
        window=window,
        groups=groups,
        transposed=transposed,
        moved=bias is not None,
    )
    return boxed(found, NODE)


def _same(x: Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Tensor, Sizes]:
    """The padding that keeps the extents; an odd one goes in front as zeros at the ends."""
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(n % 2 for n in total):
        x = pad(x, [n for t in reversed(total) for n in (0, t % 2)])
    return x, tuple(t // 2 for t in total)


def _convolved(
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    def function(x: Tensor) -> Tensor:
        w = shape_of(weight)
        steps, apart = spread(stride, rank, w, "stride"), spread(dilation, rank, w, "dilation")
        if padding == "same":
            x, around = _same(x, w[2:], steps, apart)
        elif isinstance(padding, str) and padding != "valid":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        else:
            around = (0,) * rank if padding == "valid" else spread(padding, rank, w, "padding")
        check_numbers(steps, around, apart, (), groups)
        shape = shape_of(x)
        check_shapes(shape, w, None if bias is None else shape_of(bias), groups, False)
        window = core.Window(shape[2:], w[2:], steps, tuple((p, p) for p in around), apart)
        reach = [d * (k - 1) + 1 for d, k in zip(apart, w[2:], strict=True)]
        check_reach(window.padded, reach)
        check_dtypes(x, weight, bias)
        return _applied(x, weight, bias, window, groups, False)

    return batched(f"conv{rank}d", rank, input, function)


def _transposed(
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    def function(x: Tensor) -> Tensor:
        w, shape = shape_of(weight), shape_of(x)
        steps, around = spread(stride, rank, w, "stride"), spread(padding, rank, w, "padding")
        more = spread(output_padding, rank, w, "output_padding")
        apart = spread(dilation, rank, w, "dilation")
        check_numbers(steps, around, apart, more, groups)
        check_shapes(shape, w, None if bias is None else shape_of(bias), groups, True)
        check_output_padding(more, steps, apart)
        size = tuple(
            (n - 1) * s - 2 * p + d * (k - 1) + 1 + o
            for n, s, p, d, k, o in zip(shape[2:], steps, around, apart, w[2:], more, strict=True)
        )
        check_result(shape, size)
        check_dtypes(x, weight, bias)
        pads = tuple((p, p - o) for p, o in zip(around, more, strict=True))
        window = core.Window(size, w[2:], steps, pads, apart)
        return _applied(x, weight, bias, window, groups, True)

    return batched(f"conv_transpose{rank}d", rank, input, function)


OVER_IMAGES = """Images under filters that move over them.

    Parameters
    ----------
    input : Tensor
        (n, channels, height, width), or without n.
    weight : Tensor
        (filters, channels / groups, height, width), of the same dtype.
    bias : Tensor, optional
        (filters)
    stride : int or tuple of int, optional
        How far a filter moves.
    padding : int, tuple of int, "same" or "valid", optional
        Zeros around the images; "same" keeps the extents.
    dilation : int or tuple of int, optional
        How far the elements that a filter meets are apart.
    groups : int, optional
        In how many parts channels and filters are split, each with its own.

    Returns
    -------
    Tensor
        (n, filters, height, width), or without n.

    Raises
    ------
    RuntimeError
        Shapes, dtypes or numbers that do not fit.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> w = torch.ones(1, 1, 3, 3, requires_grad=True)
    >>> y = torch.nn.functional.conv2d(x, w)
    >>> y
    tensor([[[[45., 54.],
              [81., 90.]]]], grad_fn=<ConvolutionBackward0>)
    >>> y.sum().backward()
    >>> w.grad
    tensor([[[[10., 14., 18.],
              [26., 30., 34.],
              [42., 46., 50.]]]])
    """
TRANSPOSED = """The transpose of `conv2d`: from its results to images, as its gradient goes.

    Parameters
    ----------
    input : Tensor
        (n, filters, height, width), or without n.
    weight : Tensor
        (filters, channels / groups, height, width)
    bias : Tensor, optional
        (channels)
    stride, padding, dilation, groups
        Those of the convolution whose transpose this is.
    output_padding : int or tuple of int, optional
        Extents that are added at one end, where the stride leaves several that fit.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> w = torch.ones(1, 1, 2, 2)
    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 2, 2), w)
    tensor([[[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]]])
    """


def _row(rank: int) -> Callable[..., Tensor]:
    name = f"conv{rank}d"
    doc = OVER_IMAGES if rank == 2 else f"`conv2d` over {rank} dimensions."
    row = operation(name, SIGNATURE, variants="", doc=doc)
    return row(functools.partial(_convolved, rank))


def _transposed_row(rank: int) -> Callable[..., Tensor]:
    name = f"conv_transpose{rank}d"
    doc = TRANSPOSED if rank == 2 else f"`conv_transpose2d` over {rank} dimensions."
    row = operation(name, TRANSPOSED_SIGNATURE, variants="", doc=doc)
    return row(functools.partial(_transposed, rank))


conv1d, conv2d, conv3d = map(_row, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_transposed_row, (1, 2, 3))
