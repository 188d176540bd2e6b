"""Images in other sizes, under the names of ``jax.image``: `resize` and `scale_and_translate`.

An axis is resampled by a matrix of weights: how much each element of the image counts in each one
of the result. So both are linear in the image, and differentiable in scale and translation, too. It
imports NumPy's namespace alone.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.boundary import publish
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How elements between those of an image are found.

    The values stand for these texts: "nearest"; "linear" (bilinear, trilinear, triangle);
    "lanczos3" and "lanczos5"; "cubic" (bicubic, tricubic), by Keys' kernel; "cubic-pytorch"
    (bicubic-pytorch), with PyTorch's kernel and edges where there is no antialiasing; "area", the
    mean of what an element of the result covers.
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a text.

        Examples
        --------
        >>> import funcgrad as fg
        >>> fg.image.ResizeMethod.from_string("bilinear")
        <ResizeMethod.LINEAR: 1>
        """
        found = _TEXTS.get(s)
        if found is None:
            raise ValueError(
                located(f"image: there is no method {s!r}; there are {', '.join(_TEXTS)}")
            )
        return found


_TEXTS = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}
# A weight below this one is that of a place which no element of the image is near.
LEAST = 1000.0 * float(np.finfo(np.float32).eps)
Kernel = Callable[[Any], Any]  # of the distance, in elements of the image


def _linear(x: Any) -> Any:
    return fnp.maximum(0.0, 1.0 - x)


def _cubic(a: float) -> Kernel:
    """Keys 1981: the cubic convolution with slope `a` at 1."""

    def kernel(x: Any) -> Any:
        near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
        far = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
        return fnp.where(x >= 2.0, 0.0, fnp.where(x >= 1.0, far, near))

    return kernel


def _lanczos(radius: float) -> Kernel:
    return lambda x: fnp.where(x > radius, 0.0, fnp.sinc(x) * fnp.sinc(x / radius))


_KERNELS: dict[ResizeMethod, Kernel] = {
    ResizeMethod.LINEAR: _linear,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.75),
}


def _normalised(weights: Any) -> Any:
    """Weights (elements, results) whose sum is 1 for each result, where there are any."""
    whole = fnp.sum(weights, 0, keepdims=True)
    there = fnp.abs(whole) > LEAST
    return fnp.where(there, weights / fnp.where(there, whole, 1.0), 0.0)


def _covered(n: int, count: int, step: Any, start: Any) -> Any:
    """How much of each element of the image each element of the result covers."""
    left, own = np.arange(count) * step - start, np.arange(n)[:, None]
    shared = fnp.minimum(left + step, own + 1.0) - fnp.maximum(left, own + 0.0)
    return fnp.maximum(0.0, shared)


def _weights(
    n: int, count: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """The matrix (n, count) by which an axis of `n` elements becomes one of `count`."""
    step = 1.0 / scale
    start = translation * step
    middle = (np.arange(count) + 0.5) * step - start - 0.5  # in elements of the image
    if method is ResizeMethod.CUBIC_PYTORCH:
        if not antialias:
            return _clamped(n, middle)
        method = ResizeMethod.CUBIC
    if method is ResizeMethod.AREA:
        weights = _covered(n, count, step, start)
    else:
        wide = fnp.maximum(step, 1.0) if antialias else 1.0
        weights = _KERNELS[method](fnp.abs(middle - np.arange(n)[:, None]) / wide)
    inside = (middle >= -0.5) & (middle <= n - 0.5)
    return fnp.where(inside, _normalised(weights), 0.0)


def _clamped(n: int, middle: Any) -> Any:
    """PyTorch's cubic weights, with those of places beyond an edge added to those of the edge."""
    places = np.arange(-2, n + 2)
    weights = _KERNELS[ResizeMethod.CUBIC_PYTORCH](fnp.abs(middle - places[:, None]))
    gathered = np.clip(places, 0, n - 1) == np.arange(n)[:, None]
    return _normalised(gathered.astype(float) @ weights)


def _method(given: Any) -> ResizeMethod:
    return ResizeMethod.from_string(given) if isinstance(given, str) else ResizeMethod(given)


def _checked(image: Any, shape: Sequence[int], what: str) -> tuple[Any, tuple[int, ...]]:
    x = operand(image)
    wanted = tuple(int(n) for n in shape)
    if len(wanted) != type_of(x).ndim:
        raise ValueError(
            located(f"image.{what}: a shape {wanted} for an image of shape {type_of(x).shape}")
        )
    return x, wanted


def _resampled(x: Any, axes: Sequence[int], weights: Sequence[Any]) -> Array:
    """The image with each of `axes` multiplied with its matrix."""
    dtype = type_of(x).dtype
    dtype = dtype if dtype.kind in "fc" else np.dtype(float)
    found = fnp.astype(x, dtype)
    for axis, w in zip(axes, weights, strict=True):
        own = fnp.astype(w, np.zeros(0, dtype).real.dtype)
        found = fnp.moveaxis(fnp.tensordot(found, own, ((axis,), (0,))), -1, axis)
    return found


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Array:
    """An image with another shape.

    Parameters
    ----------
    image : array
        With any number of axes; those whose extent stays are not touched.
    shape : sequence of int
        That of the result.
    method : str or ResizeMethod
        "nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area".
    antialias : bool, optional
        Whether an axis that is made shorter is smoothed first.
    precision : optional
        Accepted.

    Returns
    -------
    array
        Linear in the image; integers become float64, unless the method is "nearest".

    Raises
    ------
    ValueError
        There is no such method, or the shape has another number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.image.resize(np.array([0.0, 4.0]), (4,), "linear")
    array([0., 1., 3., 4.])
    >>> fg.grad(lambda x: fg.image.resize(x, (2,), "linear")[0])(np.zeros(4))
    array([0.42857143, 0.42857143, 0.14285714, 0.        ])
    """
    x, wanted = _checked(image, shape, "resize")
    own = type_of(x).shape
    axes = [k for k, n in enumerate(wanted) if n != own[k]]
    kind = _method(method)
    if kind is ResizeMethod.NEAREST:
        for k in axes:
            x = fnp.take(x, ((np.arange(wanted[k]) + 0.5) * own[k] / wanted[k]).astype(int), k)
        return x
    weights = [_weights(own[k], wanted[k], wanted[k] / own[k], 0.0, kind, antialias) for k in axes]
    return _resampled(x, axes, weights)


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Array:
    """An image that is stretched and moved: what was at y is at ``y * scale + translation``.

    The element k of an axis lies at k + 0.5. What comes from outside of the image is 0.

    Parameters
    ----------
    image : array
    shape : sequence of int
        That of the result; axes that are not among `spatial_dims` keep their extent.
    spatial_dims : sequence of int
        The axes that are stretched and moved.
    scale, translation : array of as many numbers
        Differentiable.
    method, antialias, precision
        As of `resize`, without "nearest".

    Returns
    -------
    array
        Linear in the image.

    Raises
    ------
    ValueError
        The shapes or numbers do not fit, or the method is "nearest".

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = np.array([0.0, 1.0, 4.0, 9.0])
    >>> move = lambda t: fg.image.scale_and_translate(x, (4,), (0,), np.ones(1), t, "linear")
    >>> move(np.array([0.5])), fg.jacfwd(move)(np.array([0.5]))[:, 0]
    (array([0. , 0.5, 2.5, 6.5]), array([ 0., -1., -3., -5.]))
    """
    x, wanted = _checked(image, shape, "scale_and_translate")
    kind, own = _method(method), type_of(x).shape
    if kind is ResizeMethod.NEAREST:
        raise ValueError(located("image.scale_and_translate: the method cannot be 'nearest'"))
    axes = [k % len(own) for k in spatial_dims]
    counts = [math.prod(type_of(operand(v)).shape) for v in (scale, translation)]
    left = [k for k in range(len(own)) if k not in axes and own[k] != wanted[k]]
    if counts != [len(axes)] * 2 or left:
        raise ValueError(
            located(
                f"image.scale_and_translate: {counts[0]} scales and {counts[1]} translations for "
                f"the axes {axes} of an image of shape {own}, which is to become {wanted}"
            )
        )
    steps, starts = fnp.asarray(scale), fnp.asarray(translation)
    weights = [
        _weights(own[a], wanted[a], steps[k], starts[k], kind, antialias)
        for k, a in enumerate(axes)
    ]
    return _resampled(x, axes, weights)


publish(__name__)
