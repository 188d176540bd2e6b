"""Pooling as layers."""

from __future__ import annotations

from typing import Any, ClassVar

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn.modules.module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d",
    "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class Pooling(Module):
    """What the layers share; a subclass says its rank, and its function is called after it."""

    rank: ClassVar[int]

    def _each(self, given: Any) -> Any:
        """A number for each dimension, where PyTorch shows it so."""
        return tuple(given) if isinstance(given, (tuple, list)) else (given,) * self.rank


class MaxPool(Pooling):
    """The largest element of each place of a window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The largest elements; with `return_indices`, where they are."""
        function = getattr(F, f"max_pool{self.rank}d")
        return function(
            input, self.kernel_size, self.stride, self.padding, self.dilation,
            ceil_mode=self.ceil_mode, return_indices=self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The numbers of the window."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class AvgPool(Pooling):
    """The mean of each place of a window."""

    divisor_override: int | None

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        stride = kernel_size if stride is None else stride
        if self.rank == 1:
            kernel_size, stride, padding = map(self._each, (kernel_size, stride, padding))
        self.kernel_size, self.stride = kernel_size, stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        function = getattr(F, f"avg_pool{self.rank}d")
        last = () if self.rank == 1 else (self.divisor_override,)
        found: Tensor = function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, *last,
        )  # fmt: skip
        return found

    def extra_repr(self) -> str:
        """The numbers of the window."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class LPPool(Pooling):
    """The p-norm of each place of a window."""

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The norms."""
        function = getattr(F, f"lp_pool{self.rank}d")
        found: Tensor = function(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )
        return found

    def extra_repr(self) -> str:
        """The numbers of the window."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class AdaptiveAvgPool(Pooling):
    """The means of a given number of windows."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        found: Tensor = getattr(F, f"adaptive_avg_pool{self.rank}d")(input, self.output_size)
        return found

    def extra_repr(self) -> str:
        """How many windows."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool(Pooling):
    """The largest elements of a given number of windows."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        """The largest elements; with `return_indices`, where they are."""
        function = getattr(F, f"adaptive_max_pool{self.rank}d")
        return function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        """How many windows."""
        return f"output_size={self.output_size}"


class MaxUnpool(Pooling):
    """What a `MaxPool` with `return_indices` has picked, back at its places; all else is 0."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = self._each(kernel_size)
        self.stride = self.kernel_size if stride is None else self._each(stride)
        self.padding = self._each(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """The image."""
        function = getattr(F, f"max_unpool{self.rank}d")
        found: Tensor = function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )
        return found

    def extra_repr(self) -> str:
        """The numbers of the window."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class FractionalMaxPool(Pooling):
    """The largest elements of windows that begin at random places."""

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.return_indices = self._each(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else self._each(output_size)
        self.output_ratio = None if output_ratio is None else self._each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling "
                "ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if not all(0 < part < 1 for part in self.output_ratio or ()):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """The largest elements; with `return_indices`, where they are."""
        return getattr(F, f"fractional_max_pool{self.rank}d")(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


class MaxPool1d(MaxPool):
    """The largest element of each place of a window over one dimension."""

    rank = 1


class MaxPool2d(MaxPool):
    """The largest element of each place of a window over two dimensions.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.MaxPool2d(2)(torch.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """

    rank = 2


class MaxPool3d(MaxPool):
    """The largest element of each place of a window over three dimensions."""

    rank = 3


class AvgPool1d(AvgPool):
    """The mean of each place of a window over one dimension."""

    rank = 1


class AvgPool2d(AvgPool):
    """The mean of each place of a window over two dimensions."""

    rank = 2


class AvgPool3d(AvgPool):
    """The mean of each place of a window over three dimensions."""

    rank = 3


class LPPool1d(LPPool):
    """The p-norm of each place of a window over one dimension."""

    rank = 1


class LPPool2d(LPPool):
    """The p-norm of each place of a window over two dimensions."""

    rank = 2


class LPPool3d(LPPool):
    """The p-norm of each place of a window over three dimensions."""

    rank = 3


class FractionalMaxPool2d(FractionalMaxPool):
    """The largest elements of windows that begin at random places, over two dimensions.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.FractionalMaxPool2d(2, output_ratio=0.5)(torch.ones(1, 6, 6)).shape
    torch.Size([1, 3, 3])
    """

    rank = 2


class FractionalMaxPool3d(FractionalMaxPool):
    """The largest elements of windows that begin at random places, over three dimensions."""

    rank = 3

    def __init__(self, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        sizes = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size,)
        if not all(n > 0 for n in sizes):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        super().__init__(kernel_size, *args, **kwargs)


class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """The means of a given number of windows over one dimension."""

    rank = 1


class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """The means of a given number of windows over two dimensions."""

    rank = 2


class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """The means of a given number of windows over three dimensions."""

    rank = 3


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """The largest elements of a given number of windows over one dimension."""

    rank = 1


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """The largest elements of a given number of windows over two dimensions."""

    rank = 2


class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """The largest elements of a given number of windows over three dimensions."""

    rank = 3


class MaxUnpool1d(MaxUnpool):
    """What `MaxPool` has picked, back at its places over one dimension."""

    rank = 1


class MaxUnpool2d(MaxUnpool):
    """What `MaxPool` has picked, back at its places over two dimensions."""

    rank = 2


class MaxUnpool3d(MaxUnpool):
    """What `MaxPool` has picked, back at its places over three dimensions."""

    rank = 3
