"""The checks of convolutions, with PyTorch's words."""

from __future__ import annotations

from typing import Any

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor

__all__ = ["by", "check_dtypes", "check_numbers", "check_output_padding", "check_shapes"]

Sizes = tuple[int, ...]


def check_numbers(
    stride: Sizes, padding: Sizes, dilation: Sizes, output_padding: Sizes, groups: int
) -> None:
    """Raise for numbers that are out of range."""
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding, default=0) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def check_shapes(x: Sizes, w: Sizes, b: Any, groups: int, transposed: bool) -> None:
    """Raise for shapes of images, filters and bias that do not fit."""
    if len(w) != len(x):
        raise RuntimeError(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {list(w)}, but "
            f"got {len(x)}-dimensional input of size {list(x)} instead"
        )
    if w[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {list(w)} instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(w)}] instead"
        )
    if x[1] != (w[0] if transposed else w[1] * groups):
        what = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
        channels = w[0] if transposed else w[1] * groups
        raise RuntimeError(
            f"Given {what}, weight of size {list(w)}, expected input{list(x)} to have {channels} "
            f"channels, but got {x[1]} channels instead"
        )
    count = w[1] * groups if transposed else w[0]
    if b is not None and b != (count,):
        what = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{what} of size {list(w)}, expected bias to be 1-dimensional with {count} elements, "
            f"but got bias of size {list(b)} instead"
        )
    if 0 in w[2:]:
        axes = ("depth", "height", "width")[5 - len(w) :]
        sizes = " ".join(f"kernel_{axis}: {n}" for axis, n in zip(axes, w[2:], strict=True))
        raise RuntimeError(f"kernel size should be greater than zero, but got {sizes}")


def by(sizes: Any) -> str:
    """Extents as PyTorch writes them here."""
    return "(" + " x ".join(map(str, sizes)) + ")"


def check_dtypes(x: Tensor, w: Tensor, bias: Tensor | None) -> None:
    """Raise unless all have one dtype."""
    if bias is not None and bias.dtype is not x.dtype:
        raise RuntimeError(
            f"Input type ({dtypes.c_name(x.dtype)}) and bias type ({dtypes.c_name(bias.dtype)}) "
            "should be the same"
        )
    if x.dtype is not w.dtype:
        raise RuntimeError(
            f"expected scalar type {dtypes.scalar_name(x.dtype)} but found "
            f"{dtypes.scalar_name(w.dtype)}"
        )


def check_output_padding(more: Sizes, stride: Sizes, dilation: Sizes) -> None:
    """Raise for more than the stride leaves open."""
    if all(o < max(s, d) for o, s, d in zip(more, stride, dilation, strict=True)):
        return
    axes = ("depth", "height", "width")[3 - len(more) :] if len(more) > 1 else ("height", "width")
    groups = {"output_padding": more, "stride": stride, "dilation": dilation}
    if len(more) == 1:  # PyTorch takes a line for an image of height 1
        groups = {key: (1 if key != "output_padding" else 0, *n) for key, n in groups.items()}
    sizes = " ".join(
        f"{key}_{axis}: {n}"
        for key, numbers in groups.items()
        for axis, n in zip(axes, numbers, strict=True)
    )
    raise RuntimeError(
        f"output padding must be smaller than either stride or dilation, but got {sizes}"
    )
