"""Convolutions with PyTorch's arguments, checks and nodes."""

from __future__ import annotations

from typing import Any

from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import convolution as core
from funcgrad.ops.shape import reshape
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.functional.convolution_checks import (
    by,
    check_dtypes,
    check_numbers,
    check_output_padding,
    check_shapes,
)
from funcgrad.torch.nn.functional.distance import pad
from funcgrad.torch.nn.functional.windows import batched, is_ints, refused_call, spread
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    shape_of,
    widened,
)
from funcgrad.torch.operations.promotion import content, dtype_of, wrong_type
from funcgrad.torch.operations.record import node
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
SIGNATURES = tuple(
    "Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, "
    f"{padding}, tuple of ints dilation = 1, int groups = 1"
    for padding in ("tuple of ints padding = 0", 'str padding = "valid"')
)


def _convolution(
    x: Array, w: Array, b: Array, window: core.Window, groups: int, transposed: bool, moved: bool
) -> Array:
    # by native code from the first call on, where a functional program has NumPy's bits
    contraction = core.CONVOLUTION_INPUT if transposed else core.CONVOLUTION_RESULT
    y = bind(contraction, (x, w), {"window": window, "groups": groups})
    if not moved:
        return y
    return a.add(y, reshape(b, (*shape_of(b), *(1,) * len(window.kernel))))


CONVOLUTION = Composite("convolution", widened(_convolution))
NODE = node("Convolution", "input weight")


def _applied(
    x: Tensor, w: Tensor, bias: Tensor | None, window: core.Window, groups: int, transposed: bool
) -> Tensor:
    given = content(x, "convolution")
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
    name = f"conv{rank}d"
    numbers = {"stride": stride, "padding": padding, "dilation": dilation}
    tensors = [t for t in (input, weight, bias) if t is not None]
    wrong = {
        key: n for key, n in numbers.items()
        if not is_ints(n) and not (key == "padding" and isinstance(n, str))
    }  # fmt: skip
    if wrong or not all(isinstance(t, Tensor) for t in tensors):
        raise refused_call(name, SIGNATURES, *tensors, **wrong)

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
        if any(n < r for n, r in zip(window.padded, reach, strict=True)):
            raise RuntimeError(
                f"Calculated padded input size per channel: {by(window.padded)}. Kernel size: "
                f"{by(reach)}. Kernel size can't be greater than actual input size"
            )
        check_dtypes(x, weight, bias)
        return _applied(x, weight, bias, window, groups, False)

    return batched(name, rank, input, function)


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
    name = f"conv_transpose{rank}d"
    content(input, name), content(weight, name, "weight", 2)
    if bias is not None:
        content(bias, name, "bias", 3)
    numbers = (stride, padding, output_padding, dilation)
    for key, k, n in zip(("stride", "padding", "output_padding", "dilation"), (4, 5, 6, 8), numbers,
                         strict=True):  # fmt: skip
        if not is_ints(n):
            wrong_type(name, key, k, "tuple of ints", n)

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
        if any(n < 1 for n in size):
            raise RuntimeError(
                f"Given input size per channel: {by(shape[2:])}. Calculated output size per "
                f"channel: {by(size)}. Output size is too small"
            )
        check_dtypes(x, weight, bias)
        pads = tuple((p, p - o) for p, o in zip(around, more, strict=True))
        window = core.Window(size, w[2:], steps, pads, apart)
        return _applied(x, weight, bias, window, groups, True)

    return batched(name, rank, input, function)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """`conv2d` over one dimension: images (n, channels, length) or (channels, length)."""
    return _convolved(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Images under filters that move over them.

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
    return _convolved(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """`conv2d` over three dimensions."""
    return _convolved(3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """`conv_transpose2d` over one dimension."""
    return _transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv2d`: from its results to images, as its gradient goes.

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
    return _transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """`conv_transpose2d` over three dimensions."""
    return _transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)
