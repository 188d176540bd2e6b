"""The checks of convolutions, with PyTorch's words."""

from __future__ import annotations

from typing import Any

from funcgrad.torch.operations.requirements import requirements

__all__ = [
    "check_dtypes", "check_numbers", "check_output_padding", "check_reach", "check_result",
    "check_shapes",
]  # fmt: skip

Sizes = tuple[int, ...]


check_numbers = requirements(
    "stride, padding, dilation, output_padding, groups",
    """
    groups > 0: non-positive groups is not supported
    min(padding) >= 0: negative padding is not supported
    min(output_padding, default=0) >= 0: negative output_padding is not supported
    min(stride) > 0: non-positive stride is not supported
    min(dilation) > 0: dilation should be greater than zero, but got {[*dilation]}
    """,
)
_check_filters = requirements(
    "x, w, groups",
    """
    len(w) == len(x): Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {[*w]},
        but got {len(x)}-dimensional input of size {[*x]} instead
    w[0] >= groups: Given groups={groups}, expected weight to be at least {groups} at dimension 0,
        but got weight of size {[*w]} instead
    w[0] % groups == 0: Given groups={groups}, expected weight to be divisible by {groups} at
        dimension 0, but got weight of size [{[*w]}] instead
    """,
)
_check_channels = requirements(
    "x, w, b, groups, turned, inner, outer, axes",
    """
    x[1] == inner: Given {'transposed=1' if turned else f'groups={groups}'}, weight of size {[*w]},
        expected input{[*x]} to have {inner} channels, but got {x[1]} channels instead
    b in (None, (outer,)): Given {'transposed=1, ' * turned}weight of size {[*w]}, expected bias to
        be 1-dimensional with {outer} elements, but got bias of size {[*b]} instead
    0 not in w[2:]: kernel size should be greater than zero, but got
        {' '.join(f'kernel_{axis}: {n}' for axis, n in zip(axes, w[2:]))}
    """,
)


def check_shapes(x: Sizes, w: Sizes, b: Any, groups: int, transposed: bool) -> None:
    """Raise for shapes of images, filters and bias that do not fit."""
    _check_filters(x, w, groups)
    inner, outer = w[1] * groups, w[0]
    if transposed:
        inner, outer = outer, inner
    axes = ("depth", "height", "width")[5 - len(w) :]
    _check_channels(x, w, b, groups, transposed, inner, outer, axes)


check_dtypes = requirements(
    "x, w, bias",
    """
    bias is None or bias.dtype is x.dtype: Input type ({c_name(x)}) and bias type ({c_name(bias)})
        should be the same
    x.dtype is w.dtype: expected scalar type {scalar_name(x)} but found {scalar_name(w)}
    """,
)
check_reach = requirements(
    "padded, reach",
    """
    all(n >= r for n, r in zip(padded, reach)): Calculated padded input size per channel:
        {crossed(padded)}. Kernel size: {crossed(reach)}. Kernel size can't be greater than actual
        input size
    """,
)
check_result = requirements(
    "shape, found",
    """
    min(found) >= 1: Given input size per channel: {crossed(shape[2:])}. Calculated output size per
        channel: {crossed(found)}. Output size is too small
    """,
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
