"""Spectra of signals: Fourier transforms of windowed segments, their products and averages.

The signals and the window are differentiable. Frequencies and times are constants.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import scipy.fft
import scipy.signal as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located, user_line
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import moveaxis
from funcgrad.scipy.fft.functions import NAMES as FFT
from funcgrad.scipy.valued import valued

__all__ = ["coherence", "csd", "detrend", "periodogram", "welch"]

DEFAULT = "hann"  # SciPy 1.17 calls the same window "hann_periodic"

# ------------------------------------------------------------------------------------ detrend


def _trend_fit(n: int, dtype: Any) -> Any:
    """The matrix that takes `n` numbers to the straight line through them (least squares)."""
    a = np.stack([np.arange(1, n + 1) / n, np.ones(n)], -1)
    return (a @ np.linalg.pinv(a)).astype(dtype)


def _without_trend(x: Array, kind: str, breaks: tuple[int, ...]) -> Array:
    if kind == "constant":
        return x - fnp.mean(x, -1, keepdims=True)
    real = np.zeros(0, type_of(x).dtype).real.dtype
    parts = []
    for start, stop in itertools.pairwise(breaks):
        part = x[..., start:stop]
        parts.append(part - part @ _trend_fit(stop - start, real).T)
    return fnp.concatenate(parts, -1)


DETREND = valued(
    "signal_detrend",
    lambda x, kind, breaks: sp.detrend(x, type=kind, bp=list(breaks)),
    _without_trend,
    lambda: [
        Sample((draw((2, 6)),), {"kind": "linear", "breaks": (0, 6)}),
        Sample((draw((6,)),), {"kind": "linear", "breaks": (0, 3, 6)}),
        Sample((draw((6,)),), {"kind": "constant", "breaks": (0, 6)}),
    ],
    linear_in=(0,),
    leading=True,
)


@numpy_function(sp.detrend)
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Array:
    """`data` without its mean, or without the straight line (or pieces of one) through it.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import detrend
    >>> fg.grad(lambda x: detrend(x, type="constant")[0])(np.zeros(4))
    array([ 0.75, -0.25, -0.25, -0.25])
    """
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    x = as_array(data)
    rank = type_of(x).ndim
    axis = axis % rank
    n = type_of(x).shape[axis]
    breaks = tuple(int(b) for b in np.unique(np.concatenate([[0], np.atleast_1d(bp), [n]])))
    if breaks[-1] > n:
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    if type_of(x).dtype.char not in "dfDF":
        x = cast(x, float)
    kind = "linear" if type[0] == "l" else "constant"
    out = DETREND(moveaxis(x, axis, rank - 1), kind=kind, breaks=breaks)
    return moveaxis(out, rank - 1, axis)


# ---------------------------------------------------------------------------- cross spectra


def _segments(x: Array, length: int, hop: int, count: int) -> Array:
    """Pieces of the last axis, as the last axis but one."""
    if not count:
        raise ValueError("the signal is shorter than a segment")
    where = hop * np.arange(count)[:, None] + np.arange(length)
    return x[..., where]


def transformed(x: Array, win: Array, params: Any, detrend: str | None, onesided: bool) -> Any:
    length, hop, points, count = params
    pieces = _segments(x, length, hop, count)
    if detrend is not None:
        pieces = _without_trend(pieces, detrend, (0, length))
    return FFT["rfft" if onesided else "fft"](pieces * win, points)


def _csd(
    x: Any,
    y: Any,
    win: Any,
    fs: float,
    lengths: tuple[int, int, int, int],
    detrend: str | None,
    onesided: bool,
    scaling: str,
    average: str,
) -> Any:
    length, hop, points, _ = lengths
    return sp.csd(
        x,
        y,
        fs,
        win,
        length,
        length - hop,
        points,
        detrend if detrend else False,
        onesided,
        scaling,
        average=average,
    )[1]


def density_of(win: Array, fs: float, scaling: str) -> Array:
    if scaling == "density":
        return 1.0 / (fs * fnp.sum(win * win))
    return 1.0 / fnp.sum(win) ** 2


def doubled_between(onesided: bool, points: int, size: int) -> Any:
    """2 for what stands for two frequencies of the whole spectrum."""
    weights = np.ones(size)
    if onesided:
        weights[1 : -1 if points % 2 == 0 else None] = 2
    return weights


def _cross_spectrum(
    x: Array,
    y: Array,
    win: Array,
    fs: float,
    lengths: tuple[int, int, int, int],
    detrend: str | None,
    onesided: bool,
    scaling: str,
    average: str,
) -> Array:
    dtype = np.result_type(type_of(x).dtype, type_of(y).dtype, np.complex64)
    first, second = (transformed(z, win, lengths, detrend, onesided) for z in (x, y))
    product = fnp.conj(first) * second * density_of(win, fs, scaling)
    product = product * doubled_between(onesided, lengths[2], type_of(product).shape[-1])
    return cast(operand(_averaged(product, average)), dtype)


def _averaged(spectra: Array, average: str) -> Array:
    """Over the segments, the axis before the last."""
    count = type_of(spectra).shape[-2]
    if count == 1:
        return spectra[..., 0, :]
    if average == "mean":
        return fnp.mean(spectra, -2)
    odd = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    bias = 1 + np.sum(1.0 / (odd + 1) - 1.0 / odd)
    real, imag = fnp.median(spectra.real, -2), fnp.median(spectra.imag, -2)
    return (real + 1j * imag) / bias


def _spectrum_samples() -> list[Sample]:
    x, y, win = draw((12,)), draw((2, 12), seed=1), np.hanning(6)[1:-1]
    more: dict[str, Any] = {"fs": 2.0, "lengths": (4, 2, 4, 5), "detrend": "constant"}
    more |= {"onesided": True, "scaling": "density", "average": "mean"}
    return [
        Sample((x, y, win), more),
        Sample((x, y + 1j, win), {**more, "onesided": False, "detrend": "linear"}),
        Sample((y, x, win), {**more, "scaling": "spectrum", "lengths": (4, 3, 7, 3)}),
        Sample((y, draw((12,), seed=5), win), {**more, "average": "median", "detrend": None}),
    ]


CSD = valued("signal_csd", _csd, _cross_spectrum, _spectrum_samples)
WELCH = valued(
    "signal_welch",
    lambda x, win, **more: _csd(x, x, win, **more).real,
    lambda x, win, **more: fnp.real(_cross_spectrum(x, x, win, **more)),
    lambda: [Sample((s.args[0], s.args[2]), s.params) for s in _spectrum_samples()],
)


def window_of(window: Any, nperseg: Any, n: int) -> tuple[Array, int]:
    """The window as an array, and its length, for a signal of `n` elements."""
    if not isinstance(window, (str, tuple)):
        win = as_array(window)
        if type_of(win).ndim != 1:
            raise ValueError("window must be 1-D")
        length = type_of(win).shape[0]
        if nperseg is not None and int(nperseg) != length:
            raise ValueError(f"nperseg={nperseg} does not equal len(win)={length}")
        return win, length
    length = 256 if nperseg is None else int(nperseg)
    if length < 1:
        raise ValueError(f"Parameter nperseg={length} is not a positive integer!")
    if n < length:
        warnings.warn_explicit(
            f"nperseg={length} is greater than signal length max(len(x), len(y)) = {n}, "
            f"using nperseg = {n}",
            UserWarning,
            *user_line()[:2],
        )
        length = n
    return sp.get_window(window, length), length


def checked_trend(detrend: Any, name: str) -> str | None:
    if detrend is None or detrend is False:
        return None
    if callable(detrend):
        raise UnsupportedCallError(
            located(f"scipy.signal.{name}: a function as detrend is not supported on traced values")
        )
    if detrend not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    return "linear" if detrend[0] == "l" else "constant"


def lengths_of(nfft: Any, noverlap: Any, length: int, n: int) -> tuple[int, int, int, int]:
    points = length if nfft is None else int(nfft)
    if points < length:
        raise ValueError(f"nfft={points} must be greater than or equal to nperseg={length}!")
    overlap = length // 2 if noverlap is None else int(noverlap)
    if overlap >= length:
        raise ValueError(f"noverlap={overlap} must be less than nperseg={length}!")
    hop = length - overlap
    return length, hop, points, (n - overlap) // hop


def frequencies_of(points: int, fs: float, onesided: bool) -> Any:
    return (scipy.fft.rfftfreq if onesided else scipy.fft.fftfreq)(points, 1 / fs)


def any_complex(*xs: Array) -> bool:
    return any(type_of(x).dtype.kind == "c" for x in xs)


@numpy_function(sp.csd)
def csd(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = DEFAULT,
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Array]:
    """Frequencies, and the cross power spectral density by Welch's method.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import csd
    >>> y = np.array([1.0, 0.0, 0.0, 0.0])
    >>> slope = fg.grad(lambda x: csd(x, y, window="boxcar", detrend=False)[1][0].real)(np.zeros(4))
    >>> slope
    array([0.25, 0.25, 0.25, 0.25])
    """
    same = x is y
    x, y = as_array(x), as_array(y)
    axis = int(axis)
    n = max(type_of(z).shape[axis] for z in (x, y))
    win, length = window_of(window, nperseg, n)
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Parameter {scaling=} not in {{'spectrum', 'density'}}!")
    if average not in ("mean", "median"):
        raise ValueError(f"Parameter {average=} must be 'median' or 'mean'!")
    onesided = return_onesided and not any_complex(x, y)
    params: dict[str, Any] = {
        "fs": float(fs),
        "lengths": lengths_of(nfft, noverlap, length, n),
        "detrend": checked_trend(detrend, "csd"),
        "onesided": onesided,
        "scaling": scaling,
        "average": average,
    }
    frequencies = frequencies_of(params["lengths"][2], fs, onesided)
    x, y = (lengthened(fnp.moveaxis(z, axis, -1), n) for z in (x, y))
    out = WELCH(x, win, **params) if same else CSD(x, y, win, **params)
    return frequencies, fnp.moveaxis(out, -1, axis)


def lengthened(x: Array, n: int) -> Array:
    have = type_of(x).shape
    if have[-1] == n:
        return x
    return fnp.concatenate([x, np.zeros((*have[:-1], n - have[-1]))], -1)


@numpy_function(sp.welch)
def welch(
    x: Any,
    fs: float = 1.0,
    window: Any = DEFAULT,
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Array]:
    """Frequencies, and the power spectral density by Welch's method.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import welch
    >>> x = np.array([1.0, -1.0, 1.0, -1.0])
    >>> fg.grad(lambda x: welch(x, window="boxcar", detrend=False)[1][2])(x)
    array([ 2., -2.,  2., -2.])
    """
    x = as_array(x)
    more = (fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return csd(x, x, *more)


@numpy_function(sp.periodogram)
def periodogram(
    x: Any,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> tuple[Any, Array]:
    """Frequencies, and the power spectral density of the whole signal.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import periodogram
    >>> x = np.array([1.0, -1.0, 1.0, -1.0])
    >>> fg.grad(lambda x: periodogram(x, detrend=False)[1][2])(x)
    array([ 2., -2.,  2., -2.])
    """
    x = as_array(x)
    n = type_of(x).shape[axis]
    if nfft is not None and nfft < n:
        x = fnp.moveaxis(fnp.moveaxis(x, axis, -1)[..., :nfft], -1, axis)
        n, nfft = nfft, None
    window = "boxcar" if window is None else window
    return welch(x, fs, window, n, 0, nfft, detrend, return_onesided, scaling, axis)


@numpy_function(sp.coherence)
def coherence(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = DEFAULT,
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> tuple[Any, Array]:
    """Frequencies, and how far two signals are linear images of each other there.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import coherence
    >>> x = np.sin(np.arange(32.0))
    >>> bool(fg.grad(lambda a: coherence(x, a * x, nperseg=8)[1][2])(2.0) < 1e-12)
    True
    """
    more = {"fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap}
    more |= {"nfft": nfft, "detrend": detrend, "axis": axis}
    frequencies, own = welch(x, **more)
    other, both = welch(y, **more)[1], csd(x, y, **more)[1]
    return frequencies, fnp.abs(both) ** 2 / own / other
