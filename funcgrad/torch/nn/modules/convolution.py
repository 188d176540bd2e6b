"""Convolutions as layers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn import init
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.nn.parameter import Parameter
from funcgrad.torch.operations.creation import empty

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
]

MODES = ("zeros", "reflect", "replicate", "circular")


def _each(given: Any, rank: int) -> tuple[int, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,) * rank


class Convolution(Module):
    """What the layers of all ranks share; a subclass says its rank and whether it is transposed."""

    rank: ClassVar[int]
    transposed: ClassVar[bool] = False

    def _make(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        output_padding: Any,
        device: Any,
        dtype: Any,
    ) -> None:
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = _each(kernel_size, self.rank)
        self.stride, self.dilation = _each(stride, self.rank), _each(dilation, self.rank)
        self._check_padding(padding, padding_mode)
        self.padding: Any = padding if isinstance(padding, str) else _each(padding, self.rank)
        self.padding_mode = padding_mode
        self.output_padding = _each(output_padding, self.rank)
        first, second = in_channels, out_channels
        if not self.transposed:
            first, second = second, first
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(empty(*shape, dtype=dtype, device=device))
        if bias:
            self.bias = Parameter(empty(out_channels, dtype=dtype, device=device))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check_padding(self, padding: Any, padding_mode: str) -> None:
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
                )
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in MODES:
            listed = ", ".join(map(repr, MODES))
            raise ValueError(
                f"padding_mode must be one of {{{listed}}}, but got padding_mode={padding_mode!r}"
            )

    def reset_parameters(self) -> None:
        """Draw the weight and the bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            count = math.prod(self.weight.shape[1:])
            if count:
                bound = 1 / math.sqrt(count)
                init.uniform_(self.bias, -bound, bound)

    def _around(self) -> list[int]:
        """How much is put around by `padding_mode`: pairs, the last dimension first."""
        if self.padding == "valid":
            return [0] * 2 * self.rank
        if self.padding != "same":
            return [p for p in reversed(self.padding) for _ in range(2)]
        total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return [n for t in reversed(total) for n in (t // 2, t - t // 2)]

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        ones, zeros = (1,) * self.rank, (0,) * self.rank
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        for name, default in (("padding", zeros), ("dilation", ones), ("output_padding", zeros),
                              ("groups", 1)):  # fmt: skip
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class Forward(Convolution):
    """Convolutions that are not transposed."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
                   padding_mode, 0, device, dtype)  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """(n, in, …) or (in, …) to (n, out, …) or (out, …)."""
        around = self.padding
        if self.padding_mode != "zeros":
            input, around = F.pad(input, self._around(), self.padding_mode), 0
        function = (F.conv1d, F.conv2d, F.conv3d)[self.rank - 1]
        return function(
            input, self.weight, self.bias, self.stride, around, self.dilation, self.groups
        )


class Transposed(Convolution):
    """Transposes of convolutions."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
                   padding_mode, output_padding, device, dtype)  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """(n, in, …) or (in, …) to (n, out, …) or (out, …), of `output_size` if it is given."""
        more = self.output_padding if output_size is None else self._more(input, output_size)
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self.rank - 1]
        return function(input, self.weight, self.bias, self.stride, self.padding, more, self.groups,
                        self.dilation)  # fmt: skip

    def _more(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output padding that leads to a size."""
        size, lead = tuple(output_size), input.dim() - self.rank
        if len(size) == lead + self.rank:
            size = size[lead:]
        if len(size) != self.rank:
            raise ValueError(
                f"ConvTranspose{self.rank}D: for {input.dim()}D input, output_size must have "
                f"{self.rank} or {lead + self.rank} elements (got {len(size)})"
            )
        given = tuple(input.shape)[lead:]
        least = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(given, self.stride, self.padding, self.dilation,
                                     self.kernel_size, strict=True)
        ]  # fmt: skip
        most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
        if any(not lo <= n <= hi for n, lo, hi in zip(size, least, most, strict=True)):
            raise ValueError(
                f"requested an output size of {size}, but valid sizes range from {least} to {most} "
                f"(for an input of {input.shape[lead:]})"
            )
        return tuple(n - lo for n, lo in zip(size, least, strict=True))


class Conv1d(Forward):
    """A convolution over one dimension; see `Conv2d`."""

    rank = 1


class Conv2d(Forward):
    """Filters that move over images.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size : int or tuple of int
    stride, dilation : int or tuple of int, optional
    padding : int, tuple of int, "same" or "valid", optional
    groups : int, optional
    bias : bool, optional
    padding_mode : {"zeros", "reflect", "replicate", "circular"}, optional
    dtype : dtype, optional

    Notes
    -----
    The weight (out, in / groups, height, width) and the bias (out) begin uniform in ±1/√n, where n
    is the number of elements of a filter.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.Conv2d(3, 8, 3, padding=1)
    >>> layer(torch.ones(5, 3, 10, 12)).shape
    torch.Size([5, 8, 10, 12])
    """

    rank = 2


class Conv3d(Forward):
    """A convolution over three dimensions; see `Conv2d`."""

    rank = 3


class ConvTranspose1d(Transposed):
    """The transpose of a convolution over one dimension; see `ConvTranspose2d`."""

    rank = 1


class ConvTranspose2d(Transposed):
    """The transpose of a convolution, as its gradient goes: from results to images.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size : int or tuple of int
    stride, padding, dilation : int or tuple of int, optional
        Those of the convolution whose transpose this is.
    output_padding : int or tuple of int, optional
        Extents that are added at one end.
    groups : int, optional
    bias : bool, optional
    dtype : dtype, optional

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.ConvTranspose2d(8, 3, 2, stride=2)
    >>> layer(torch.ones(5, 8, 10, 12)).shape
    torch.Size([5, 3, 20, 24])
    """

    rank = 2


class ConvTranspose3d(Transposed):
    """The transpose of a convolution over three dimensions; see `ConvTranspose2d`."""

    rank = 3
