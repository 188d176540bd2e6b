"""Filters of images: sums over windows with weights, along one axis or over several.

All are linear in the image and in the weights. An image is continued at its borders as `mode` says,
which moves and repeats elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.ndimage as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Operand, operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array, into, numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.scipy.signal.convolution import correlated
from funcgrad.scipy.valued import valued

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "image",
    "per_axis",
    "written",
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


def image(x: Any, name: str, output: Any = None) -> Array:
    """`x` as an array of floating point numbers, of those that are computed for `output`."""
    x = as_array(x)
    if type_of(x).dtype.kind == "c":
        raise UnsupportedCallError(
            located(
                f"scipy.ndimage.{name}: complex images are not supported on traced values; filter "
                "the real and the imaginary part"
            )
        )
    made = dtype_of(output, type_of(x).dtype)
    if made.kind != "f":
        raise UnsupportedCallError(
            located(
                f"scipy.ndimage.{name}: SciPy gives an image of dtype {made} for one of dtype "
                f"{type_of(x).dtype}, which has no derivative; give an image of floating point "
                "numbers"
            )
        )
    return x if made == type_of(x).dtype else cast(x, np.float64)


def dtype_of(output: Any, otherwise: Any) -> Any:
    """The dtype of what a filter returns."""
    if output is None:
        return np.dtype(otherwise)
    if isinstance(output, (np.ndarray, Operand)):
        return type_of(operand(output)).dtype
    return np.dtype(output)


def written(output: Any, made: Array, name: str) -> Any:
    """What a filter returns that has made `made`: ``output=`` is an array to fill, or a dtype."""
    kind = type_of(operand(made))
    made = cast(operand(made), dtype_of(output, kind.dtype))
    if not isinstance(output, (np.ndarray, Operand)):
        return made
    if type_of(operand(output)).shape != kind.shape:
        raise RuntimeError("output shape not correct")
    return into(output, made, name)


def per_axis(given: Any, count: int) -> list[Any]:
    """One of `given` for each axis."""
    if not isinstance(given, (list, tuple)) and (given is None or fnp.ndim(given) == 0):
        return [given] * count
    found = list(given)
    if len(found) != count:
        raise RuntimeError(f"sequence argument must have length equal to input rank {count}")
    return found


# ----------------------------------------------------------------------------- the two records


def continued(
    x: Array, shape: tuple[int, ...], mode: str, cval: float, origin: tuple[int, ...]
) -> Array:
    """`x` with as much beyond its borders as windows of that shape reach."""
    edges = [(n // 2 + o, n - n // 2 - 1 - o) for n, o in zip(shape, origin, strict=True)]
    more = {"constant_values": cval} if PADDING[mode] == "constant" else {}
    return operand(fnp.pad(x, edges, PADDING[mode], **more))


def _windows(
    x: Array, weights: Array, mode: str, cval: float, origin: tuple[int, ...], turned: bool
) -> Array:
    """A correlation (or convolution, `turned`), computed in double precision as SciPy does."""
    dtype = type_of(x).dtype
    shape = type_of(weights).shape
    if turned:
        weights = fnp.flip(weights)
        origin = tuple(-o - (1 - n % 2) for o, n in zip(origin, shape, strict=True))
    wide = continued(cast(x, float), shape, mode, cval, origin)
    return cast(correlated(wide, operand(cast(weights, float))), dtype)


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


def filtered_line(
    x: Array, weights: Array, axis: int, mode: str, cval: float, origin: int, turned: bool
) -> Array:
    rank = type_of(x).ndim
    weights = fnp.reshape(weights, [-1 if k == axis else 1 for k in range(rank)])
    origins = tuple(origin if k == axis else 0 for k in range(rank))
    return _windows(x, weights, mode, cval, origins, turned)


LINE = valued(
    "ndimage_correlate1d",
    _line_value,
    filtered_line,
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


def checked_mode(mode: Any) -> str:
    if not isinstance(mode, str) and isinstance(mode, Iterable):
        raise RuntimeError("A sequence of modes is not supported")
    if mode not in PADDING:
        raise RuntimeError("boundary mode not supported")
    return str(mode)


def normal_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank)
    return int(axis) % rank


def chosen_axes(axes: Any, rank: int) -> list[int]:
    return (
        list(range(rank)) if axes is None else [normal_axis(a, rank) for a in np.atleast_1d(axes)]
    )


def along_axis(
    name: str, x: Any, weights: Any, axis: int, output: Any, mode: Any, cval: Any, origin: int
) -> Any:
    x, weights = image(x, name, output), as_array(weights)
    if type_of(weights).ndim != 1 or type_of(weights).shape[0] < 1:
        raise RuntimeError("no filter weights given")
    turned = name == "convolve1d"
    n = type_of(weights).shape[0]
    _checked_origin(-origin - (1 - n % 2) if turned else origin, n)
    axis = normal_axis(axis, type_of(x).ndim)
    more = {"mode": checked_mode(mode), "cval": float(cval), "origin": int(origin)}
    return written(output, LINE(x, cast(weights, float), axis=axis, turned=turned, **more), name)


@numpy_function(sp.correlate1d)
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The correlation of an image with weights along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import correlate1d
    >>> fg.grad(lambda w: correlate1d(np.arange(4.0), w)[1])(np.ones(3))
    array([0., 1., 2.])
    """
    return along_axis("correlate1d", input, weights, axis, output, mode, cval, origin)


@numpy_function(sp.convolve1d)
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The convolution of an image with weights along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import convolve1d
    >>> fg.grad(lambda w: convolve1d(np.arange(4.0), w)[1])(np.ones(3))
    array([2., 1., 0.])
    """
    return along_axis("convolve1d", input, weights, axis, output, mode, cval, origin)


def _over(
    name: str, x: Any, weights: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    x, weights = image(x, name, output), as_array(weights)
    rank = type_of(x).ndim
    which = chosen_axes(axes, rank)
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
    more = {"mode": checked_mode(mode), "cval": float(cval), "origin": tuple(origins)}
    return written(output, WINDOWS(x, weights, turned=turned, **more), name)


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
) -> Any:
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
) -> Any:
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
