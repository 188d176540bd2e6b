"""``funcgrad.numpy.fft``: discrete Fourier transforms under NumPy's names.

Shapes, dtypes, normalisations and errors are NumPy's, values its bits. All are linear over the
real numbers, so derivatives exist to every order and in every transform; a cotangent costs one
transform, for real operands one of half the spectrum. The cotangent of a real operand is real.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.fft import fftfreq, rfftfreq
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import user_line
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.numpy.names import complete
from funcgrad.numpy.rearranging import roll
from funcgrad.ops.arithmetic import conjugate
from funcgrad.ops.fft import NUMPY, OTHER_NORM

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

Points = int | None
Norm = str | None
OneAxis = Callable[[Any, int, Any, Any], Array]


def _norm(norm: Norm) -> str:
    if norm is None:
        return "backward"
    if norm not in OTHER_NORM:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    return norm


def _points(n: Any, otherwise: int) -> int:
    points = otherwise if n is None else int(n)
    if points < 1:
        raise ValueError(f"Invalid number of FFT data points ({points}) specified.")
    return points


def _extent(x: Array, axis: Any) -> int:
    return int(type_of(x).shape[axis])


def _axis(x: Array, axis: Any) -> int:
    return int(normalize_axis_index(axis, type_of(x).ndim))


def _along(run: Any, x: Array, points: int, axis: Any, norm: Any, **more: Any) -> Array:
    place = (_axis(x, axis),)
    found: Array = run(x, shape=(points,), axes=place, norm=_norm(norm), **more)
    return found


def _forward(a: Any, n: Any, axis: Any, norm: Any) -> Array:
    x = as_array(a)
    return _along(NUMPY.dft, x, _points(n, _extent(x, axis)), axis, norm, inverse=False)


def _inverse(a: Any, n: Any, axis: Any, norm: Any) -> Array:
    x = as_array(a)
    return _along(NUMPY.dft, x, _points(n, _extent(x, axis)), axis, norm, inverse=True)


def _real_forward(a: Any, n: Any, axis: Any, norm: Any) -> Array:
    x = as_array(a)
    return _along(NUMPY.rdft, x, _points(n, _extent(x, axis)), axis, norm)


def _real_inverse(a: Any, n: Any, axis: Any, norm: Any) -> Array:
    x = as_array(a)
    return _along(NUMPY.irdft, x, _points(n, 2 * (_extent(x, axis) - 1)), axis, norm)


# ------------------------------------------------------------------------------- one axis


@numpy_function(np.fft.fft)
def fft(a: Any, n: Points = None, axis: int = -1, norm: Norm = None, out: Any = None) -> Array:
    """The discrete Fourier transform along one axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(np.array([1.0, 2.0, 3.0]))
    array([ 6., 12., 18.])
    """
    return _forward(a, n, axis, norm)


@numpy_function(np.fft.ifft)
def ifft(a: Any, n: Points = None, axis: int = -1, norm: Norm = None, out: Any = None) -> Array:
    """The inverse of `fft`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.ifft(np.fft.fft(x))[1].real)(np.array([1.0, 2.0, 3.0])).round(12)
    array([0., 1., 0.])
    """
    return _inverse(a, n, axis, norm)


@numpy_function(np.fft.rfft)
def rfft(a: Any, n: Points = None, axis: int = -1, norm: Norm = None, out: Any = None) -> Array:
    """The discrete Fourier transform of real numbers: the half that is not a mirror image.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.rfft(x)[1].imag)(np.zeros(4))
    array([ 0., -1.,  0.,  1.])
    """
    return _real_forward(a, n, axis, norm)


@numpy_function(np.fft.irfft)
def irfft(a: Any, n: Points = None, axis: int = -1, norm: Norm = None, out: Any = None) -> Array:
    """The inverse of `rfft`; `n` elements, an even number of them if it is not given.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.irfft(np.fft.rfft(x), 3)[0])(np.ones(3)).round(12)
    array([1., 0., 0.])
    """
    return _real_inverse(a, n, axis, norm)


@numpy_function(np.fft.hfft)
def hfft(a: Any, n: Points = None, axis: int = -1, norm: Norm = None, out: Any = None) -> Array:
    """The transform of a signal whose second half is the conjugate mirror image of the first.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.sum(np.fft.hfft(x) ** 2))(np.array([1.0, 2.0, 3.0]))
    array([ 8., 32., 24.])
    """
    x = as_array(a)
    n = 2 * (_extent(x, axis) - 1) if n is None else n
    return _real_inverse(conjugate(x), n, axis, OTHER_NORM[_norm(norm)])


@numpy_function(np.fft.ihfft)
def ihfft(a: Any, n: Points = None, axis: int = -1, norm: Norm = None, out: Any = None) -> Array:
    """The inverse of `hfft`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.ihfft(x)[1].imag)(np.zeros(4))
    array([ 0.  ,  0.25,  0.  , -0.25])
    """
    return conjugate(_real_forward(a, n, axis, OTHER_NORM[_norm(norm)]))


# ------------------------------------------------------------------------------ several axes


def _extents(
    x: Array, s: Any, axes: Any, name: str, real: bool = False
) -> tuple[list[Any], Sequence[int]]:
    """How many points along which axes: NumPy's defaults, and its warnings of what will end."""
    shape = type_of(x).shape
    given = s is not None
    found = list(s) if given else list(shape) if axes is None else [shape[a] for a in axes]
    if axes is None:
        if given:
            _deprecated(name, "`axes` should not be `None` if `s` is not `None`")
        axes = list(range(-len(found), 0))
    if len(found) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if real and not given:
        found[-1] = 2 * (shape[axes[-1]] - 1)
    if None in found:
        _deprecated(name, "an array containing `None` values should not be passed to `s`")
    return [shape[a] if n == -1 else n for n, a in zip(found, axes, strict=True)], axes


def _deprecated(name: str, what: str) -> None:
    text = f"numpy.fft.{name}: {what} (deprecated in NumPy 2.0)"
    at = user_line()
    warnings.warn_explicit(text, DeprecationWarning, at.file, at.line)


def _each_axis(a: Any, s: Any, axes: Any, norm: Any, one: OneAxis, name: str) -> Array:
    x = as_array(a)
    s, axes = _extents(x, s, axes, name)
    for n, axis in zip(reversed(s), reversed(axes), strict=True):
        x = one(x, n, axis, norm)
    return x


def _real_each(a: Any, s: Any, axes: Any, norm: Any, name: str) -> Array:
    x = as_array(a)
    s, axes = _extents(x, s, axes, name)
    x = _real_forward(x, s[-1], axes[-1], norm)
    for n, axis in zip(reversed(s[:-1]), reversed(axes[:-1]), strict=True):
        x = _forward(x, n, axis, norm)
    return x


def _real_each_inverse(a: Any, s: Any, axes: Any, norm: Any, name: str) -> Array:
    x = as_array(a)
    s, axes = _extents(x, s, axes, name, real=True)
    for n, axis in zip(s[:-1], axes[:-1], strict=True):
        x = _inverse(x, n, axis, norm)
    return _real_inverse(x, s[-1], axes[-1], norm)


@numpy_function(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Norm = None, out: Any = None) -> Array:
    """The discrete Fourier transform along several axes, all of them by default.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.fftn(x)[0, 1].real)(np.zeros((2, 2)))
    array([[ 1., -1.],
           [ 1., -1.]])
    """
    return _each_axis(a, s, axes, norm, _forward, "fftn")


@numpy_function(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Norm = None, out: Any = None) -> Array:
    """The inverse of `fftn`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.ifftn(x)[0, 1].real)(np.zeros((2, 2)))
    array([[ 0.25, -0.25],
           [ 0.25, -0.25]])
    """
    return _each_axis(a, s, axes, norm, _inverse, "ifftn")


@numpy_function(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Norm = None, out: Any = None) -> Array:
    """The discrete Fourier transform along two axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.sum(np.abs(np.fft.fft2(x)) ** 2))(np.eye(2))
    array([[8., 0.],
           [0., 8.]])
    """
    return _each_axis(a, s, axes, norm, _forward, "fft2")


@numpy_function(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Norm = None, out: Any = None) -> Array:
    """The inverse of `fft2`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.sum(np.abs(np.fft.ifft2(x)) ** 2))(np.eye(2))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    return _each_axis(a, s, axes, norm, _inverse, "ifft2")


@numpy_function(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Norm = None, out: Any = None) -> Array:
    """The transform of a real array along several axes; the last one of them is halved.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.rfftn(x)[1, 1].real)(np.zeros((2, 2)))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return _real_each(a, s, axes, norm, "rfftn")


@numpy_function(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Norm = None, out: Any = None) -> Array:
    """The transform of a real array along two axes; the last one of them is halved.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.rfft2(x)[0, 0].real)(np.zeros((2, 2)))
    array([[1., 1.],
           [1., 1.]])
    """
    return _real_each(a, s, axes, norm, "rfft2")


@numpy_function(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Norm = None, out: Any = None) -> Array:
    """The inverse of `rfftn`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.irfftn(np.fft.rfftn(x))[0, 1])(np.zeros((2, 2)))
    array([[0., 1.],
           [0., 0.]])
    """
    return _real_each_inverse(a, s, axes, norm, "irfftn")


@numpy_function(np.fft.irfft2)
def irfft2(
    a: Any, s: Any = None, axes: Any = (-2, -1), norm: Norm = None, out: Any = None
) -> Array:
    """The inverse of `rfft2`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.irfft2(np.fft.rfft2(x))[1, 1])(np.zeros((2, 2)))
    array([[0., 0.],
           [0., 1.]])
    """
    return _real_each_inverse(a, s, axes, norm, "irfft2")


# ----------------------------------------------------------------------------------- order


def _shifted(x: Array, axes: Any, sign: int) -> Array:
    shape = type_of(x).shape
    if axes is None:
        axes = tuple(range(len(shape)))
    if isinstance(axes, int | np.integer):
        return roll(x, sign * (shape[axes] // 2), axes)
    return roll(x, [sign * (shape[a] // 2) for a in axes], axes)


@numpy_function(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Array:
    """The spectrum with the frequency zero in the middle.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.fftshift(x)[0])(np.zeros(3))
    array([0., 0., 1.])
    """
    return _shifted(as_array(x), axes, 1)


@numpy_function(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Array:
    """The inverse of `fftshift`; another one where the number of elements is odd.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.fft.ifftshift(x)[0])(np.zeros(3))
    array([0., 1., 0.])
    """
    return _shifted(as_array(x), axes, -1)


complete(__name__, np.fft)
