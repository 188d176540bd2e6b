"""Layers that bring images to another size."""

from __future__ import annotations

from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn.modules.module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Images in another size; see `nn.functional.interpolate`.

    Parameters
    ----------
    size : int or tuple of int, optional
        That of the result; either it or `scale_factor` is given.
    scale_factor : float or tuple of float, optional
    mode : str, optional
    align_corners, recompute_scale_factor : bool, optional

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.Upsample(scale_factor=2)(torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        if isinstance(scale_factor, tuple):
            scale_factor = tuple(map(float, scale_factor))
        elif scale_factor:
            scale_factor = float(scale_factor)
        else:
            scale_factor = None
        self.size, self.scale_factor = size, scale_factor
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The images in their new size."""
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The size, and how it is reached."""
        by = "size" if self.scale_factor is None else "scale_factor"
        return f"{by}={getattr(self, by)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of two dimensions with the mode "nearest"."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of two dimensions with the mode "bilinear" and corners that stay."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
