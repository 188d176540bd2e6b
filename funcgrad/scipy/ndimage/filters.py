"""Filters of images: sums over windows with weights, along one axis or over several.

All are linear in the image and in the weights. An image is continued at its borders as `mode` says,
which moves and repeats elements.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.ndimage as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.calls import as_array, known, numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.scipy.signal.convolution import correlated
from funcgrad.scipy.valued import valued

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "image",
    "laplace",
    "per_axis",
    "prewitt",
    "refuse_output",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]

PADDING = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "constant": "constant",
    "grid-constant": "constant",
    "nearest": "edge",
    "mirror": "reflect",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}


def image(x: Any, name: str) -> Array:
    """`x` as an array of floating point numbers."""
    x = as_array(x)
    if type_of(x).dtype.kind == "c":
        raise UnsupportedCallError(
            located(
                f"scipy.ndimage.{name}: complex images are not supported on traced values; filter "
                "the real and the imaginary part"
            )
        )
    if type_of(x).dtype.kind != "f":
        raise UnsupportedCallError(
            located(
                f"scipy.ndimage.{name}: SciPy gives an image of dtype {type_of(x).dtype} for one "
                "of that dtype, which has no derivative; give an image of floating point numbers"
            )
        )
    return x


def refuse_output(name: str, output: Any) -> None:
    """Raise for ``output=`` with traced values."""
    if output is not None:
        raise UnsupportedCallError(
            located(f"scipy.ndimage.{name}: output= is not supported on traced values")
        )


def per_axis(given: Any, count: int) -> list[Any]:
    """One of `given` for each axis."""
    if isinstance(given, str) or np.ndim(given) == 0:
        return [given] * count
    found = list(given)
    if len(found) != count:
        raise RuntimeError(f"sequence argument must have length equal to input rank {count}")
    return found


# ----------------------------------------------------------------------------- the two records


def _windows(
    x: Array, weights: Array, mode: str, cval: float, origin: tuple[int, ...], turned: bool
) -> Array:
    """A correlation (or convolution, `turned`), computed in double precision as SciPy does."""
    dtype = type_of(x).dtype
    shape = type_of(weights).shape
    if turned:
        weights = fnp.flip(weights)
        origin = tuple(-o - (1 - n % 2) for o, n in zip(origin, shape, strict=True))
    edges = [(n // 2 + o, n - n // 2 - 1 - o) for n, o in zip(shape, origin, strict=True)]
    more = {"constant_values": cval} if PADDING[mode] == "constant" else {}
    wide = fnp.pad(cast(x, float), edges, PADDING[mode], **more)
    return cast(correlated(operand(wide), operand(cast(weights, float))), dtype)


def _windows_value(
    x: Any, weights: Any, mode: str, cval: float, origin: tuple[int, ...], turned: bool
) -> Any:
    run = sp.convolve if turned else sp.correlate
    return run(x, weights, mode=mode, cval=cval, origin=list(origin))


WINDOWS = valued(
    "ndimage_correlate",
    _windows_value,
    _windows,
    lambda: [
        Sample(
            (draw((4, 5)), draw((2, 3), seed=1)),
            {"mode": mode, "cval": cval, "origin": origin, "turned": turned},
        )
        for mode, cval, origin, turned in (
            ("reflect", 0.0, (0, 0), False),
            ("mirror", 0.0, (0, -1), True),
            ("constant", 1.5, (0, 1), False),
            ("wrap", 0.0, (-1, 0), True),
            ("nearest", 0.0, (0, 0), True),
        )
    ],
)


def _line_value(
    x: Any, weights: Any, axis: int, mode: str, cval: float, origin: int, turned: bool
) -> Any:
    run = sp.convolve1d if turned else sp.correlate1d
    return run(x, weights, axis, mode=mode, cval=cval, origin=origin)


def _line(
    x: Array, weights: Array, axis: int, mode: str, cval: float, origin: int, turned: bool
) -> Array:
    rank = type_of(x).ndim
    weights = fnp.reshape(weights, [-1 if k == axis else 1 for k in range(rank)])
    origins = tuple(origin if k == axis else 0 for k in range(rank))
    return _windows(x, weights, mode, cval, origins, turned)


LINE = valued(
    "ndimage_correlate1d",
    _line_value,
    _line,
    lambda: (
        [
            Sample(
                (draw((4, 5)), draw((n,), seed=1)),
                {"axis": axis, "mode": mode, "cval": 0.5, "origin": 0, "turned": turned},
            )
            for n, axis, mode, turned in ((3, 0, "reflect", False), (4, 1, "constant", True))
        ]
        + [
            Sample(
                (draw((4, 5)).astype(np.float32), draw((3,), seed=1)),
                {"axis": 0, "mode": "mirror", "cval": 0.0, "origin": 0, "turned": False},
            )
        ]
    ),
)


def _checked_origin(origin: int, n: int) -> None:
    if not -(n // 2) <= origin <= (n - 1) // 2:
        raise ValueError(
            "Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= "
            "(len(weights)-1) // 2"
        )


def _checked_mode(mode: Any) -> str:
    if not isinstance(mode, str) and isinstance(mode, Iterable):
        raise RuntimeError("A sequence of modes is not supported")
    if mode not in PADDING:
        raise RuntimeError("boundary mode not supported")
    return str(mode)


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank)
    return int(axis) % rank


def _along(
    name: str, x: Any, weights: Any, axis: int, output: Any, mode: Any, cval: Any, origin: int
) -> Array:
    refuse_output(name, output)
    x, weights = image(x, name), as_array(weights)
    if type_of(weights).ndim != 1 or type_of(weights).shape[0] < 1:
        raise RuntimeError("no filter weights given")
    turned = name == "convolve1d"
    n = type_of(weights).shape[0]
    _checked_origin(-origin - (1 - n % 2) if turned else origin, n)
    axis = _axis(axis, type_of(x).ndim)
    more = {"mode": _checked_mode(mode), "cval": float(cval), "origin": int(origin)}
    out: Array = LINE(x, cast(weights, float), axis=axis, turned=turned, **more)
    return out


@numpy_function(sp.correlate1d)
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Array:
    """The correlation of an image with weights along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import correlate1d
    >>> fg.grad(lambda w: correlate1d(np.arange(4.0), w)[1])(np.ones(3))
    array([0., 1., 2.])
    """
    return _along("correlate1d", input, weights, axis, output, mode, cval, origin)


@numpy_function(sp.convolve1d)
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Array:
    """The convolution of an image with weights along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import convolve1d
    >>> fg.grad(lambda w: convolve1d(np.arange(4.0), w)[1])(np.ones(3))
    array([2., 1., 0.])
    """
    return _along("convolve1d", input, weights, axis, output, mode, cval, origin)


def _over(
    name: str, x: Any, weights: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Array:
    refuse_output(name, output)
    x, weights = image(x, name), as_array(weights)
    rank = type_of(x).ndim
    which = list(range(rank)) if axes is None else [_axis(a, rank) for a in np.atleast_1d(axes)]
    if type_of(weights).ndim != len(which):
        raise RuntimeError(
            f"weights.ndim ({type_of(weights).ndim}) must match len(axes) ({len(which)})"
        )
    origins = [0] * rank
    for axis, o in zip(which, per_axis(origin, len(which)), strict=True):
        origins[axis] = int(o)
    weights = cast(weights, float)
    if len(which) < rank:
        order = [int(k) for k in np.argsort(which)]
        shape = [1] * rank
        for axis, n in zip(which, type_of(weights).shape, strict=True):
            shape[axis] = n
        weights = fnp.reshape(fnp.transpose(weights, order), shape)
    turned = name == "convolve"
    for o, n in zip(origins, type_of(operand(weights)).shape, strict=True):
        _checked_origin(-o - (1 - n % 2) if turned else o, n)
    more = {"mode": _checked_mode(mode), "cval": float(cval), "origin": tuple(origins)}
    out: Array = WINDOWS(x, weights, turned=turned, **more)
    return out


@numpy_function(sp.correlate)
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array:
    """The correlation of an image with weights of as many axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import correlate
    >>> fg.grad(lambda x: correlate(x, np.ones((1, 3)))[0, 0])(np.zeros((1, 3)))
    array([[2., 1., 0.]])
    """
    return _over("correlate", input, weights, output, mode, cval, origin, axes)


@numpy_function(sp.convolve)
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array:
    """The convolution of an image with weights of as many axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import convolve
    >>> fg.grad(lambda w: convolve(np.arange(4.0), w)[1])(np.ones(3))
    array([2., 1., 0.])
    """
    return _over("convolve", input, weights, output, mode, cval, origin, axes)


# -------------------------------------------------------------------------------- Gauss, means


def _gaussian(sigma: Any, order: int, radius: int) -> Array:
    """The weights of a Gaussian, or of a derivative of it (a polynomial times it)."""
    if order < 0:
        raise ValueError("order must be non-negative")
    variance = sigma * sigma
    x = np.arange(-radius, radius + 1)
    phi = fnp.exp(-0.5 / variance * x**2)
    phi = phi / fnp.sum(phi)
    if not order:
        return phi
    powers = np.arange(order + 1)
    step = np.diag(powers[1:], 1) + np.diag(np.ones(order), -1) / -variance
    q: Any = np.eye(order + 1)[0]
    for _ in range(order):
        q = fnp.dot(step, q)
    return fnp.dot(x[:, None] ** powers, q) * phi


@numpy_function(sp.gaussian_filter1d)
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
) -> Array:
    """An image smoothed along an axis by a Gaussian, or a derivative of it.

    Differentiable in the width `sigma`, too; the number of weights is a constant, so under `jit`
    a traced `sigma` needs `radius`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import gaussian_filter1d
    >>> peak = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    >>> fg.grad(lambda s: gaussian_filter1d(peak, s)[2])(1.0).round(4)
    np.float64(-0.3989)
    """
    sigma = operand(sigma)
    if radius is None:
        radius = int(truncate * float(known(sigma, "the radius of a Gaussian filter")) + 0.5)
    if not isinstance(radius, numbers.Integral) or radius < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    weights = _gaussian(sigma, order, int(radius))[::-1]
    return _along("correlate1d", input, weights, axis, output, mode, cval, 0)


@numpy_function(sp.gaussian_filter)
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Array:
    """An image smoothed by a Gaussian along all of its axes, or some.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import gaussian_filter
    >>> peak = np.pad(np.ones((1, 1)), 2)
    >>> fg.grad(lambda s: gaussian_filter(peak, s)[2, 2])(1.0).round(4)
    np.float64(-0.3183)
    """
    refuse_output("gaussian_filter", output)
    x = image(input, "gaussian_filter")
    which = _which(axes, type_of(x).ndim)
    count = len(which)
    widths = per_axis(sigma, count)
    for axis, s, o, m, r in zip(
        which,
        widths,
        per_axis(order, count),
        per_axis(mode, count),
        per_axis(radius, count),
        strict=True,
    ):
        if r is not None or float(known(operand(s), "the radius of a Gaussian filter")) > 1e-15:
            x = gaussian_filter1d(x, s, axis, o, None, m, cval, truncate, radius=r)
    return x


def _which(axes: Any, rank: int) -> list[int]:
    return list(range(rank)) if axes is None else [_axis(a, rank) for a in np.atleast_1d(axes)]


def _mean(x: Array, size: int, axis: int, mode: str, cval: float, origin: int) -> Array:
    return _line(x, np.full(size, 1.0 / size), axis, mode, cval, origin, False)


MEAN = valued(
    "ndimage_uniform_filter1d",
    lambda x, size, axis, mode, cval, origin: sp.uniform_filter1d(
        x, size, axis, mode=mode, cval=cval, origin=origin
    ),
    _mean,
    lambda: [
        Sample(
            (draw((4, 5)),),
            {"size": size, "axis": axis, "mode": "mirror", "cval": 0.0, "origin": 0},
        )
        for size, axis in ((3, 0), (4, 1))
    ],
)


@numpy_function(sp.uniform_filter1d)
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Array:
    """The mean of `size` elements around each element, along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import uniform_filter1d
    >>> fg.grad(lambda x: uniform_filter1d(x, 2)[1])(np.zeros(3))
    array([0.5, 0.5, 0. ])
    """
    refuse_output("uniform_filter1d", output)
    x = image(input, "uniform_filter1d")
    axis = _axis(axis, type_of(x).ndim)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    if not 0 <= size // 2 + origin < size:
        raise ValueError("invalid origin")
    more = {"mode": _checked_mode(mode), "cval": float(cval), "origin": int(origin)}
    out: Array = MEAN(x, size=int(size), axis=axis, **more)
    return out


@numpy_function(sp.uniform_filter)
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array:
    """The mean over a box around each element.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import uniform_filter
    >>> fg.grad(lambda x: uniform_filter(x, 2)[1, 1])(np.zeros((2, 2)))
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    refuse_output("uniform_filter", output)
    x = image(input, "uniform_filter")
    which = _which(axes, type_of(x).ndim)
    count = len(which)
    given = (per_axis(g, count) for g in (size, mode, origin))
    for axis, n, m, o in zip(which, *given, strict=True):
        if n > 1:
            x = uniform_filter1d(x, int(n), axis, None, m, cval, o)
    return x


# ------------------------------------------------------------------------------- differences


def _edges(name: str, input: Any, axis: int, output: Any, mode: Any, cval: Any, across: Any) -> Any:
    refuse_output(name, output)
    x = image(input, name)
    rank = type_of(x).ndim
    axis = _axis(axis, rank)
    modes = per_axis(mode, rank)
    x = correlate1d(x, np.array([-1.0, 0.0, 1.0]), axis, None, modes[axis], cval)
    for other in range(rank):
        if other != axis:
            x = correlate1d(x, np.array(across), other, None, modes[other], cval)
    return x


@numpy_function(sp.sobel)
def sobel(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Array:
    """Sobel's differences along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import sobel
    >>> fg.grad(lambda x: sobel(x)[1])(np.zeros(3))
    array([-1.,  0.,  1.])
    """
    return _edges("sobel", input, axis, output, mode, cval, [1.0, 2.0, 1.0])


@numpy_function(sp.prewitt)
def prewitt(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Array:
    """Prewitt's differences along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import prewitt
    >>> fg.grad(lambda x: prewitt(x)[1])(np.zeros(3))
    array([-1.,  0.,  1.])
    """
    return _edges("prewitt", input, axis, output, mode, cval, [1.0, 1.0, 1.0])


@numpy_function(sp.laplace)
def laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Array:
    """The sum of second differences along the axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import laplace
    >>> fg.grad(lambda x: laplace(x)[1])(np.zeros(3))
    array([ 1., -2.,  1.])
    """
    refuse_output("laplace", output)
    x = image(input, "laplace")
    which = _which(axes, type_of(x).ndim)
    modes = per_axis(mode, len(which))
    weights = np.array([1.0, -2.0, 1.0])
    parts = [correlate1d(x, weights, a, None, m, cval) for a, m in zip(which, modes, strict=True)]
    return sum(parts[1:], parts[0]) if parts else x


def _derivatives(
    x: Array, sigma: Any, order: int, mode: Any, cval: Any, axes: Any, more: Any
) -> list[Array]:
    rank = type_of(x).ndim
    which = _which(axes, rank)
    widths: list[Any] = [0] * rank
    for axis, s in zip(which, per_axis(sigma, len(which)), strict=True):
        widths[axis] = s
    modes = per_axis(mode, len(which))
    return [
        gaussian_filter(
            x, widths, [order if k == axis else 0 for k in range(rank)], None, m, cval, **more
        )
        for axis, m in zip(which, modes, strict=True)
    ]


@numpy_function(sp.gaussian_laplace)
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Array:
    """The sum of the second derivatives of an image smoothed by a Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import gaussian_laplace
    >>> float(fg.grad(lambda x: gaussian_laplace(x, 1.0)[4])(np.zeros(9))[4].round(4))
    -0.3989
    """
    refuse_output("gaussian_laplace", output)
    x = image(input, "gaussian_laplace")
    parts = _derivatives(x, sigma, 2, mode, cval, axes, kwargs)
    return sum(parts[1:], parts[0])


@numpy_function(sp.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Array:
    """The length of the gradient of an image smoothed by a Gaussian; where it is 0 it has no slope.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import gaussian_gradient_magnitude
    >>> x = np.arange(9.0)
    >>> float(fg.grad(lambda s: gaussian_gradient_magnitude(s * x, 1.0)[4])(1.0).round(4))
    0.9999
    """
    refuse_output("gaussian_gradient_magnitude", output)
    x = image(input, "gaussian_gradient_magnitude")
    parts = _derivatives(x, sigma, 1, mode, cval, axes, kwargs)
    squares = [part * part for part in parts]
    return fnp.sqrt(sum(squares[1:], squares[0]))
