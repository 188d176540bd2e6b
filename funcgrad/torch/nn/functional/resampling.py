"""Images in other sizes: each axis is resampled alone, by a few elements and weights per place.

An element of the result reads only the elements around its place, never those that a matrix would
weigh with zero: a NaN stays where it is. Places and weights are PyTorch's, in its precision.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.errors import outside
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as indexing
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.narrow import is_half
from funcgrad.torch.nn.functional.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from funcgrad.torch.operations.common import WIDER, boxed, computed, shape_of, widened
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.record import node
from funcgrad.torch.operations.recorded import elementwise_refusal, refuse_kinds
from funcgrad.torch.operations.results import laid

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

Sizes = tuple[int, ...]
Scale = float | None
Taps = tuple[Array, Array]  # places and weights, (elements of the result, elements read for each)
COPIED = ("nearest", "nearest-exact", "area")
RANKS = {"linear": 3, "bilinear": 4, "trilinear": 5}
MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
AVERAGES: dict[int, Callable[..., Tensor]] = {
    3: adaptive_avg_pool1d,
    4: adaptive_avg_pool2d,
    5: adaptive_avg_pool3d,
}
LETTERS = {1: "W", 2: "HW", 3: "DHW"}

# ----------------------------------------------------------------------------- places and weights


def _step(n: int, count: int, scale: Scale, align: bool, kind: Any) -> Any:
    """How far places of neighbours in the result are apart, in elements of the image."""
    if align:
        return kind(n - 1) / kind(count - 1) if count > 1 else kind(0)
    if scale is not None and scale > 0:
        return kind(1.0 / scale)
    return kind(n) / kind(count)


def _middles(n: int, count: int, scale: Scale, align: bool, kind: Any) -> Array:
    """The places of the elements of the result."""
    step, k = _step(n, count, scale, align, kind), np.arange(count).astype(kind)
    if align:
        return step * k
    exact = np.float64(step) * (k + kind(0.5))  # PyTorch's product and difference are one operation
    return (exact - 0.5).astype(kind)


def _nearest(n: int, count: int, scale: Scale, align: bool, kind: Any, exact: bool) -> Taps:
    if exact:
        at = np.maximum(_middles(n, count, scale, False, kind), kind(0)) + kind(0.5)
    else:
        at = _step(n, count, scale, False, kind) * np.arange(count).astype(kind)
    places = np.floor(at.astype(np.float32))
    return np.minimum(places.astype(np.int64), n - 1)[:, None], np.ones((count, 1), kind)


def _linear(n: int, count: int, scale: Scale, align: bool, kind: Any) -> Taps:
    if n == count:
        return np.arange(n)[:, None], np.ones((n, 1), kind)
    middle = np.maximum(_middles(n, count, scale, align, kind), kind(0))
    first = np.minimum(np.floor(middle.astype(np.float32)).astype(np.int64), n - 1)
    part = np.clip(middle - first.astype(kind), kind(0), kind(1))
    places = np.stack([first, np.minimum(first + 1, n - 1)], 1)
    return places, np.stack([kind(1) - part, part], 1)


def _cubic_weights(distance: Any, slope: float) -> Array:
    """Keys 1981: the cubic convolution, with a slope at distance 1."""
    d, s = np.abs(distance), distance.dtype.type(slope)
    near, far = ((s + 2) * d - (s + 3)) * d * d + 1, ((s * d - 5 * s) * d + 8 * s) * d - 4 * s
    return np.where(d < 1, near, np.where(d < 2, far, d.dtype.type(0)))


def _cubic(n: int, count: int, scale: Scale, align: bool, kind: Any) -> Taps:
    middle = _middles(n, count, scale, align, kind)
    first = np.minimum(np.floor(middle.astype(np.float32)).astype(np.int64), n - 1)
    part = np.clip(middle - first.astype(kind), kind(0), kind(1))[:, None]
    around = np.arange(-1, 3)
    places = np.clip(first[:, None] + around, 0, n - 1)
    return places, _cubic_weights(part - around.astype(kind), -0.75)


def _triangle(distance: Array) -> Array:
    return np.maximum(distance.dtype.type(0), 1 - np.abs(distance))


def _lanczos(distance: Array) -> Array:
    inside = np.sinc(distance) * np.sinc(distance / 3)
    return np.where(np.abs(distance) < 3, inside, 0).astype(distance.dtype)


SMOOTH: dict[str, tuple[int, Callable[[Array], Array]]] = {  # radius, and weight by distance
    "bilinear": (1, _triangle),
    "bicubic": (2, functools.partial(_cubic_weights, slope=-0.5)),
    "lanczos": (3, _lanczos),
}


def _smoothed(n: int, count: int, scale: Scale, align: bool, kind: Any, mode: str) -> Taps:
    """Windows as wide as the step where the image shrinks, of weights whose sum is 1."""
    radius, weigh = SMOOTH[mode]
    step = _step(n, count, scale, align, kind)
    wide = max(step, kind(1))
    reach, middle = kind(radius) * wide, step * (np.arange(count).astype(kind) + kind(0.5))
    begin = np.maximum((middle - reach + kind(0.5)).astype(np.int64), 0)
    end = np.minimum((middle + reach + kind(0.5)).astype(np.int64), n)
    places = begin[:, None] + np.arange(max(int((end - begin).max()), 1))
    own = places < end[:, None]
    weights = weigh((places.astype(kind) - middle[:, None] + kind(0.5)) * (kind(1) / wide))
    weights = np.where(own, weights, kind(0))
    whole = weights.sum(1, keepdims=True)
    weights = np.where(whole != 0, weights / np.where(whole != 0, whole, kind(1)), kind(0))
    # windows that are shorter than the widest look at their last element again
    last = np.clip(end - 1, 0, n - 1)[:, None]
    return np.minimum(places, last), weights.astype(kind)


TAPS: dict[str, Callable[..., Taps]] = {
    "nearest": functools.partial(_nearest, exact=False),
    "nearest-exact": functools.partial(_nearest, exact=True),
    **dict.fromkeys(("linear", "bilinear", "trilinear"), _linear),
    "bicubic": _cubic,
}

# ------------------------------------------------------------------------------------- the images


def _along(x: Array, axis: int, places: Array, weights: Array) -> Array:
    """The weighted sums of the elements of `x` at `places` of an axis."""
    lead, after = (slice(None),) * axis, (1,) * (len(shape_of(x)) - axis - 1)
    found = None
    for k in range(places.shape[1]):
        y = indexing.read(x, (*lead, places[:, k]))
        if places.shape[1] > 1:
            y = a.multiply(y, weights[:, k].reshape(-1, *after))
        found = y if found is None else a.add(found, y)
    return found


def _resampled(x: Array, sizes: Sizes, scales: Any, mode: str, align: bool, smooth: bool) -> Array:
    kind = dtype_of(x).type if dtype_of(x).kind == "f" else np.float32
    kind = WIDER.get(np.dtype(kind), np.dtype(kind)).type
    taps = functools.partial(_smoothed, mode=mode) if smooth else TAPS[mode]
    shape, rank = shape_of(x), len(sizes)
    for k in reversed(range(rank)):  # the last axis first, as PyTorch
        n = shape[k - rank]
        if n != sizes[k] or scales[k] is not None or mode != "nearest":
            x = _along(x, len(shape) - rank + k, *taps(n, sizes[k], scales[k], align, kind))
    return x


RESAMPLED = Composite("interpolate", widened(_resampled), linear=True)


def _list_of(given: Any, shape: Sizes, what: str) -> list[Any]:
    """A number for each dimension of the images."""
    rank = len(shape) - 2
    if not isinstance(given, (tuple, list)):
        return [given] * rank
    if len(given) == rank:
        return list(given)
    spatial = f"input with spatial dimensions of {list(shape[2:])}"
    hint = "Please provide input tensor in (N, C, d1, d2, ...,dK) format and"
    if what == "size":
        raise ValueError(
            f"Input and output must have the same number of spatial dimensions, but got {spatial} "
            f"and output size of {given}. {hint} output size in (o1, o2, ...,oK) format."
        )
    raise ValueError(
        f"Input and scale_factor must have the same number of spatial dimensions, but got {spatial}"
        f" and scale_factor of shape {given}. {hint} scale_factor in (s1, s2, ...,sK) format."
    )


def _whole(given: list[Any]) -> Sizes:
    for n in given:
        integral = isinstance(n, Tensor) and not n.is_floating_point()
        if not isinstance(n, (int, np.integer)) and not integral:
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
                f"Tuple[int, int, int], but got size with types {[type(n) for n in given]}"
            )
    return tuple(map(int, given))


def _sizes_of(shape: Sizes, size: Any, scale_factor: Any, recompute: bool) -> tuple[Sizes, Any]:
    """The sizes of the result, and the factors that count, if any."""
    nothing = [None] * (len(shape) - 2)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        sizes = _whole(_list_of(size, shape, "size"))
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return sizes, nothing
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    factors = [float(s) for s in _list_of(scale_factor, shape, "scale_factor")]
    sizes = tuple(int(float(n) * s) for n, s in zip(shape[2:], factors, strict=True))
    return sizes, nothing if recompute else factors


def _check_mode(mode: str, rank: int, align: bool, smooth: bool) -> None:
    """Raise where there is no such method for images of some rank."""
    if smooth and not (mode in SMOOTH and rank == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    if 3 <= rank <= 5 and mode in RANKS and RANKS[mode] != rank:
        raise NotImplementedError(f"Got {rank}D input, but {mode} mode needs {RANKS[mode]}D input")
    if mode == "lanczos" and rank == 4:
        if align:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not smooth:
            raise ValueError("Lanczos mode requires antialias=True")
        return
    if (
        not 3 <= rank <= 5
        or (mode not in TAPS and mode != "area")
        or (mode == "bicubic" and rank != 4)
    ):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for the modes: "
            f"{MODES} (got {mode})"
        )


def _check_sizes(shape: Sizes, sizes: Sizes) -> None:
    rank = len(sizes)
    if min(*shape[2:], *sizes) <= 0:
        told = [", ".join(f"{c}: {n}" for c, n in zip(LETTERS[rank], given, strict=True))
                for given in (shape[2:], sizes)]  # fmt: skip
        between = "and " if rank == 1 else ""
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({told[0]}) {between}"
            f"output ({told[1]})"
        )
    if shape[1] == 0:
        raise RuntimeError(
            f"Non-empty {rank + 2}D data tensor expected but got a tensor with sizes {list(shape)}"
        )


def _check_kind(x: Array, kernel: str, mode: str, smooth: bool) -> None:
    if smooth:
        kernel = "compute_index_ranges_weights"
        if is_half(dtype_of(x)):
            raise elementwise_refusal(kernel, x)
    refuse_kinds(kernel, "bic" if mode in COPIED else "biuc", x)


def _kernel_name(mode: str, rank: int, smooth: bool) -> str:
    plain = {"nearest": "nearest", "nearest-exact": "nearest_exact"}.get(mode, mode)
    return f"upsample_{plain}{rank - 2}d{'_aa' if smooth else ''}"


def _node_of(mode: str, rank: int, smooth: bool) -> Any:
    name = "".join(part.capitalize() for part in mode.split("-"))
    return node(f"Upsample{name}{rank - 2}D{'Aa' if smooth else ''}", "", shows=(0,))


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images (n, channels, …) in another size.

    Parameters
    ----------
    input : Tensor
        Of one, two or three dimensions beside those of the batch and the channels.
    size : int or sequence of int, optional
        That of the result; either it or `scale_factor` is given.
    scale_factor : float or sequence of float, optional
        How many times larger the images become; the size is rounded down.
    mode : str, optional
        "nearest", "nearest-exact", "area"; "linear", "bilinear" and "bicubic", "trilinear", for
        one, two and three dimensions; "lanczos", with `antialias`.
    align_corners : bool, optional
        Whether the middles of the outermost elements stay in their places, not their edges.
    recompute_scale_factor : bool, optional
        Whether elements are as far apart as the sizes say, not as `scale_factor` says.
    antialias : bool, optional
        Whether images that become smaller are smoothed: of "bilinear", "bicubic", "lanczos".

    Returns
    -------
    Tensor
        Linear in `input`, and differentiable in it any number of times.

    Raises
    ------
    ValueError, NotImplementedError
        Numbers that do not fit the images, a mode that there is not for their rank, a dtype. Bytes
        are copied by the modes "nearest" and "nearest-exact" only.
    RuntimeError
        Images without elements.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([[[0.0, 4.0]]])
    >>> torch.nn.functional.interpolate(x, scale_factor=2, mode="linear")
    tensor([[[0., 1., 3., 4.]]])
    """
    x = content(input, "interpolate")
    shape = shape_of(x)
    rank = len(shape)
    if mode in COPIED and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    recompute = bool(recompute_scale_factor) or (mode == "area" and size is None)
    sizes, scales = _sizes_of(shape, size, scale_factor, recompute)
    _check_mode(mode, rank, bool(align_corners), antialias)
    if mode == "area":
        return AVERAGES[rank](input, sizes)
    _check_sizes(shape, sizes)
    _check_kind(x, _kernel_name(mode, rank, antialias), mode, antialias)
    found = computed(RESAMPLED, x, sizes=sizes, scales=tuple(scales), mode=mode,
                     align=bool(align_corners), smooth=bool(antialias))  # fmt: skip
    return laid(boxed(found, _node_of(mode, rank, antialias)), "images", input)  # type: ignore[no-any-return]


def _given_up(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=outside(),
    )


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate`, by the name that it had before."""
    _given_up("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with the mode "nearest"."""
    _given_up("upsample_nearest")
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with the mode "bilinear" and corners that stay."""
    _given_up("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", True)
