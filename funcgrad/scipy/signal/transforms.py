"""The analytic signal, resampling, smoothing by polynomials, and responses of filters."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.signal as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import concrete, operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.scipy.fft.functions import NAMES as FFT
from funcgrad.scipy.programs import program
from funcgrad.scipy.valued import valued

__all__ = ["freqz", "group_delay", "hilbert", "resample", "savgol_filter"]


@numpy_function(sp.hilbert)
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Array:
    """The analytic signal: the real one, and its Hilbert transform as imaginary part.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import hilbert
    >>> fg.grad(lambda x: hilbert(x)[0].imag)(np.zeros(4))
    array([ 0. , -0.5,  0. ,  0.5])
    """
    x = as_array(x)
    if type_of(x).dtype.kind == "c":
        raise ValueError("x must be real.")
    n = type_of(x).shape[axis] if N is None else N
    if n <= 0:
        raise ValueError("N must be positive.")
    f = fnp.moveaxis(FFT["fft"](x, n, axis=axis), axis, -1)
    half = n // 2 if n % 2 == 0 else (n + 1) // 2
    whole = half + 1 if n % 2 == 0 else half
    none = np.zeros((*type_of(f).shape[:-1], n - whole), type_of(f).dtype)
    f = fnp.concatenate([f[..., :1], f[..., 1:half] * 2.0, f[..., half:whole], none], -1)
    out: Array = FFT["ifft"](fnp.moveaxis(f, -1, axis), axis=axis)
    return out


# --------------------------------------------------------------------------------- resampling


def _resampled(x: Array, num: int) -> Array:
    n = type_of(x).shape[-1]
    if type_of(x).dtype.kind == "c":
        return _resampled(x.real, num) + 1j * _resampled(x.imag, num)
    m = min(num, n)
    f = FFT["rfft"](x)[..., : m // 2 + 1]
    weights = np.ones(m // 2 + 1, np.zeros(0, type_of(f).dtype).real.dtype)
    if m % 2 == 0 and num != n:  # what stands for the frequency m / 2 alone, or for two
        weights[m // 2] = 2.0 if num < n else 0.5
    out: Array = FFT["irfft"](f * weights / (n / num), num)
    return out


RESAMPLE = valued(
    "signal_resample",
    lambda x, num: sp.resample(x, num, axis=-1),
    _resampled,
    lambda: [
        Sample((x,), {"num": num})
        for num in (4, 6, 7, 10)
        for x in (draw((2, 7)), draw((6,)), draw((7,)) + 1j * draw((7,), seed=1))
    ],
    linear_in=(0,),
    leading=True,
)


@numpy_function(sp.resample)
def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    """`x` at `num` equally spaced points, by Fourier transforms.

    `window` and ``domain="freq"`` are not supported on traced values.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import resample
    >>> fg.grad(lambda x: resample(x, 2)[0])(np.zeros(4)).round(12)
    array([ 0.75,  0.25, -0.25,  0.25])
    """
    if domain not in ("time", "freq"):
        raise ValueError(f"Parameter {domain=} not in ('time', 'freq')!")
    if window is not None or domain == "freq":
        raise UnsupportedCallError(
            located(
                "scipy.signal.resample: window= and domain='freq' are not supported on traced "
                "values; write it with funcgrad.scipy.fft"
            )
        )
    x = as_array(x)
    x = x if type_of(x).dtype.kind in "fc" else cast(x, float)
    n = type_of(x).shape[axis]
    out = RESAMPLE(fnp.moveaxis(x, axis, -1), num=int(num))
    out = fnp.moveaxis(out, -1, axis)
    if t is None:
        return out
    return out, t[0] + (t[1] - t[0]) * (n / num) * np.arange(num)


# ---------------------------------------------------------------------------------- smoothing


def _smoothed(x: Array, window: int, order: int, deriv: int, delta: float, mode: str) -> Array:
    dtype, x = type_of(x).dtype, cast(x, float)  # SciPy computes in double precision
    return cast(operand(_fitted(x, window, order, deriv, delta, mode)), dtype)


def _fitted(x: Array, window: int, order: int, deriv: int, delta: float, mode: str) -> Array:
    half = window // 2
    n = type_of(x).shape[-1]
    weights = sp.savgol_coeffs(window, order, deriv=deriv, delta=delta)[::-1]
    borders = {"mirror": "reflect", "nearest": "edge", "constant": "constant", "wrap": "wrap"}
    ends = [(0, 0)] * (type_of(x).ndim - 1) + [(half, half)]
    wide = fnp.pad(x, ends, borders.get(mode, "constant"))
    pieces = wide[..., np.arange(n)[:, None] + np.arange(window)]
    out = pieces @ weights
    if mode != "interp":
        return out
    fit = _end_fit(window, order, deriv, delta, half)
    first, last = x[..., :window] @ fit[:half].T, x[..., n - window :] @ fit[window - half :].T
    return fnp.concatenate([first, out[..., half : n - half], last], -1)


def _end_fit(window: int, order: int, deriv: int, delta: float, half: int) -> Any:
    """The matrix from a window of numbers to the derivative of the polynomial that fits them."""
    powers = np.vander(np.arange(window) - half, order + 1, increasing=True).astype(float)
    slopes = np.zeros_like(powers)
    at = np.arange(window) - half
    for k in range(deriv, order + 1):
        falling = np.prod(np.arange(k - deriv + 1, k + 1)) if deriv else 1.0
        slopes[:, k] = falling * at.astype(float) ** (k - deriv)
    return slopes @ np.linalg.pinv(powers) / delta**deriv


SAVGOL = valued(
    "signal_savgol_filter",
    lambda x, window, order, deriv, delta, mode: sp.savgol_filter(
        x, window, order, deriv, delta, mode=mode
    ),
    _smoothed,
    lambda: (
        [
            Sample(
                (draw((2, 8)),),
                {"window": 5, "order": 2, "deriv": deriv, "delta": 0.5, "mode": mode},
            )
            for deriv, mode in ((0, "interp"), (1, "interp"), (0, "mirror"), (1, "nearest"))
        ]
        + [
            Sample(
                (draw((8,)).astype(np.float32),),
                {"window": 3, "order": 1, "deriv": 0, "delta": 1.0, "mode": "wrap"},
            )
        ]
    ),
    linear_in=(0,),
    leading=True,
)


@numpy_function(sp.savgol_filter)
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Array:
    """`x` smoothed by polynomials that fit the numbers around each element, or its derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import savgol_filter
    >>> fg.grad(lambda x: savgol_filter(x, 3, 1)[1])(np.zeros(3)).round(12)
    array([0.33333333, 0.33333333, 0.33333333])
    """
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    if mode == "constant" and cval:
        raise UnsupportedCallError(
            located("scipy.signal.savgol_filter: cval= is not supported on traced values")
        )
    if polyorder >= window_length:
        raise ValueError("polyorder must be less than window_length.")
    x = as_array(x)
    if type_of(x).dtype.char not in "df":
        x = cast(x, float)
    n = type_of(x).shape[axis]
    if mode == "interp" and window_length > n:
        raise ValueError(
            "If mode is 'interp', window_length must be less than or equal to the size of x."
        )
    if window_length % 2 == 0 or (n < window_length and mode != "interp"):
        raise UnsupportedCallError(
            located(
                "scipy.signal.savgol_filter: windows of even length, or longer than the signal, "
                "are not supported on traced values"
            )
        )
    params = {"window": int(window_length), "order": int(polyorder), "deriv": int(deriv)}
    out = SAVGOL(fnp.moveaxis(x, axis, -1), **params, delta=float(delta), mode=mode)
    return fnp.moveaxis(out, -1, axis)


# ---------------------------------------------------------------------------------- responses


def _polynomial(c: Array, turns: Any) -> Array:
    powers = turns[:, None] ** np.arange(type_of(c).shape[0])
    return powers @ c


def _response(b: Any, a: Any, w: Any, asked: Any, size: int) -> Any:
    """At frequencies, or as many as asked for, of which SciPy may take a Fourier transform."""
    return sp.freqz(b, a, **(dict(asked) or {"worN": w}))[1]


FREQZ = valued(
    "signal_freqz",
    _response,
    lambda b, a, w, **_: _polynomial(b, fnp.exp(-1j * w)) / _polynomial(a, fnp.exp(-1j * w)),
    lambda: [
        Sample(
            (np.array([0.5, 0.2]), np.array([1.0, -0.4, 0.3]), np.array([0.1, 1.0, 2.5])),
            {"asked": (), "size": 3},
        ),
    ],
    dtype=lambda b, a, w, asked, size: (
        _response(np.ones(1, b), np.ones(size, a), np.ones(1), asked, size).dtype
    ),
)


@numpy_function(sp.freqz)
def freqz(
    b: Any,
    a: Any = 1,
    worN: Any = 512,
    whole: bool = False,
    plot: Any = None,
    fs: float = 2 * np.pi,
    include_nyquist: bool = False,
) -> tuple[Any, Array]:
    """Frequencies, and the response of a filter to them; differentiable in the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import freqz
    >>> fg.grad(lambda b: np.abs(freqz(b, worN=[0.0])[1][0]))(np.array([0.5, 0.5]))
    array([1., 1.])
    """
    b, a = (fnp.atleast_1d(as_array(c)) for c in (b, a))
    if type_of(b).ndim > 1:
        raise UnsupportedCallError(
            located(
                "scipy.signal.freqz: several filters at once are not supported on traced values"
            )
        )
    b, a = (c if type_of(c).dtype.kind in "fc" else cast(c, float) for c in (b, a))
    kinds = [np.ones(1, type_of(c).dtype) for c in (b, a)]
    w, _ = sp.freqz(*kinds, worN, whole, None, fs, include_nyquist)
    count = worN is None or isinstance(worN, (int, np.integer))
    more = {"worN": worN, "whole": bool(whole), "include_nyquist": bool(include_nyquist)}
    asked = tuple(more.items()) if count else ()
    out = FREQZ(b, a, 2 * np.pi * w / fs, asked=asked, size=type_of(a).size)
    if plot is not None:
        plot(w, out)
    return w, out


@numpy_function(sp.group_delay)
def group_delay(system: Any, w: Any = 512, whole: bool = False, fs: float = 2 * np.pi) -> Any:
    """The frequencies and the delay there, in samples, of a filter of two polynomials.

    The filter is differentiable. The delay is 0 where it is singular, of which SciPy warns; where
    values are not known nobody can.
    """
    b, a = (operand(fnp.atleast_1d(as_array(x))) for x in system)
    if concrete(b) and concrete(a):
        return _GROUP_DELAY((b, a), w, whole, fs)
    frequencies, _ = sp.group_delay(([1.0], [1.0]), w, whole, fs)
    c = fnp.convolve(b, fnp.conj(a[::-1]))
    z = np.exp(-2j * np.pi / fs * frequencies)
    over = fnp.polyval((c * np.arange(type_of(operand(c)).size))[::-1], z)
    under = fnp.polyval(c[::-1], z)
    singular = under == 0
    delay = fnp.real(over / fnp.where(singular, 1.0, under)) - type_of(a).size + 1
    return frequencies, fnp.where(singular, 0.0, delay)


_GROUP_DELAY = program(inspect.unwrap(sp.group_delay))
