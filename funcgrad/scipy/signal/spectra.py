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
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located, user_line
from funcgrad.numpy.calls import as_array, numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import moveaxis
from funcgrad.scipy.fft.functions import NAMES as FFT
from funcgrad.scipy.signal.filters import _extended as extended
from funcgrad.scipy.valued import valued

__all__ = ["coherence", "csd", "detrend", "istft", "periodogram", "spectrogram", "stft", "welch"]

DEFAULT = "hann_periodic"  # SciPy before 1.17 calls it "hann"

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


def _transformed(x: Array, win: Array, params: Any, detrend: str | None, onesided: bool) -> Any:
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


def _density(win: Array, fs: float, scaling: str) -> Array:
    if scaling == "density":
        return 1.0 / (fs * fnp.sum(win * win))
    return 1.0 / fnp.sum(win) ** 2


def _between(onesided: bool, points: int, size: int) -> Any:
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
    first, second = (_transformed(z, win, lengths, detrend, onesided) for z in (x, y))
    product = fnp.conj(first) * second * _density(win, fs, scaling)
    product = product * _between(onesided, lengths[2], type_of(product).shape[-1])
    return cast(_averaged(product, average), dtype)


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


def _window(window: Any, nperseg: Any, n: int) -> tuple[Array, int]:
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


def _trend(detrend: Any, name: str) -> str | None:
    if detrend is None or detrend is False:
        return None
    if callable(detrend):
        raise UnsupportedCallError(
            located(f"scipy.signal.{name}: a function as detrend is not supported on traced values")
        )
    if detrend not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    return "linear" if detrend[0] == "l" else "constant"


def _lengths(nfft: Any, noverlap: Any, length: int, n: int) -> tuple[int, int, int, int]:
    points = length if nfft is None else int(nfft)
    if points < length:
        raise ValueError(f"nfft={points} must be greater than or equal to nperseg={length}!")
    overlap = length // 2 if noverlap is None else int(noverlap)
    if overlap >= length:
        raise ValueError(f"noverlap={overlap} must be less than nperseg={length}!")
    hop = length - overlap
    return length, hop, points, (n - overlap) // hop


def _frequencies(points: int, fs: float, onesided: bool) -> Any:
    return (scipy.fft.rfftfreq if onesided else scipy.fft.fftfreq)(points, 1 / fs)


def _is_complex(*xs: Array) -> bool:
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
    win, length = _window(window, nperseg, n)
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Parameter {scaling=} not in {{'spectrum', 'density'}}!")
    if average not in ("mean", "median"):
        raise ValueError(f"Parameter {average=} must be 'median' or 'mean'!")
    onesided = return_onesided and not _is_complex(x, y)
    params: dict[str, Any] = {
        "fs": float(fs),
        "lengths": _lengths(nfft, noverlap, length, n),
        "detrend": _trend(detrend, "csd"),
        "onesided": onesided,
        "scaling": scaling,
        "average": average,
    }
    frequencies = _frequencies(params["lengths"][2], fs, onesided)
    x, y = (_lengthened(fnp.moveaxis(z, axis, -1), n) for z in (x, y))
    out = WELCH(x, win, **params) if same else CSD(x, y, win, **params)
    return frequencies, fnp.moveaxis(out, -1, axis)


def _lengthened(x: Array, n: int) -> Array:
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


# ---------------------------------------------------------------------------- over time


def _stft_value(x: Any, win: Any, **more: Any) -> Any:
    length, hop, points, _ = more["lengths"]
    kept = {k: more[k] for k in ("fs", "scaling", "boundary", "padded", "return_onesided")}
    return sp.stft(
        x,
        window=win,
        noverlap=length - hop,
        nfft=points,
        nperseg=length,
        detrend=more["detrend"] or False,
        **kept,
    )[2]


def _stft(x: Array, win: Array, **more: Any) -> Array:
    length, hop, points, _ = more["lengths"]
    dtype = np.result_type(type_of(x).dtype, np.complex64)
    x = _bounded(x, more["boundary"], length // 2)
    if more["padded"]:
        n = type_of(x).shape[-1]
        x = _lengthened(x, n + (-(n - length) % hop) % length)
    count = (type_of(x).shape[-1] - (length - hop)) // hop
    lengths = (length, hop, points, count)
    out = _transformed(x, win, lengths, more["detrend"], more["return_onesided"])
    scaling = "density" if more["scaling"] == "psd" else more["scaling"]
    out = out * fnp.sqrt(_density(win, more["fs"], scaling))
    return fnp.swapaxes(cast(out, dtype), -1, -2)


def _bounded(x: Array, boundary: str | None, n: int) -> Array:
    if boundary != "zeros":
        return extended(x, n, boundary)
    none = np.zeros((*type_of(x).shape[:-1], n), type_of(x).dtype)
    return fnp.concatenate([none, x, none], -1)


def _stft_samples() -> list[Sample]:
    more: dict[str, Any] = {"fs": 2.0, "lengths": (4, 2, 4, 0), "detrend": None, "padded": True}
    more |= {"boundary": "zeros", "scaling": "spectrum", "return_onesided": True}
    x, win = draw((2, 11)), np.hanning(6)[1:-1]
    return [
        Sample((x, win), more),
        Sample((x[0], win), {**more, "boundary": "odd", "detrend": "constant", "scaling": "psd"}),
        Sample((x + 1j, win), {**more, "boundary": None, "return_onesided": False}),
    ]


STFT = valued("signal_stft", _stft_value, _stft, _stft_samples, linear_in=(0,))


@numpy_function(sp.stft)
def stft(
    x: Any,
    fs: float = 1.0,
    window: Any = DEFAULT,
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> tuple[Any, Any, Array]:
    """Frequencies, times, and the Fourier transforms of windowed segments around them.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import stft
    >>> fg.grad(lambda x: stft(x, window="boxcar", nperseg=4)[2][0, 1].real)(np.zeros(8))
    array([0.25, 0.25, 0.25, 0.25, 0.  , 0.  , 0.  , 0.  ])
    """
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter {scaling=} not in ['spectrum', 'psd']!")
    if boundary not in ("even", "odd", "constant", "zeros", None):
        raise ValueError(f"Unknown boundary option '{boundary}'")
    x = as_array(x)
    n = type_of(x).shape[axis]
    win, length = _window(window, nperseg, n)
    if n < length:
        raise ValueError("window is longer than input signal")
    lengths = (*_lengths(nfft, noverlap, length, n)[:3], 0)
    onesided = return_onesided and not _is_complex(x)
    params = {
        "fs": float(fs),
        "lengths": lengths,
        "detrend": _trend(detrend, "stft"),
        "return_onesided": onesided,
        "boundary": boundary,
        "padded": padded,
        "scaling": scaling,
    }
    out = STFT(fnp.moveaxis(x, axis, -1), win, **params)
    times = _times(lengths, type_of(out).shape[-1], fs)
    times = times if boundary is None else times - (length / 2) / float(fs)
    at = axis - 1 if axis < 0 else axis
    return _frequencies(lengths[2], fs, onesided), times, fnp.moveaxis(out, -2, at)


def _times(lengths: tuple[int, int, int, int], count: int, fs: float) -> Any:
    """The middle of each of the segments."""
    length, hop, _, _ = lengths
    return (length / 2 + hop * np.arange(count)) / float(fs)


def _powers_value(x: Any, win: Any, **more: Any) -> Any:
    length, hop, points, _ = more["lengths"]
    return sp.spectrogram(
        x,
        more["fs"],
        win,
        length,
        length - hop,
        points,
        more["detrend"] or False,
        more["onesided"],
        more["scaling"],
    )[2]


def _powers(x: Array, win: Array, **more: Any) -> Array:
    points = more["lengths"][2]
    out = _transformed(x, win, more["lengths"], more["detrend"], more["onesided"])
    out = fnp.real(fnp.conj(out) * out) * _density(win, more["fs"], more["scaling"])
    out = out * _between(more["onesided"], points, type_of(out).shape[-1])
    real = np.zeros(0, np.result_type(type_of(x).dtype, np.complex64)).real.dtype
    return fnp.swapaxes(cast(out, real), -1, -2)


POWERS = valued(
    "signal_spectrogram",
    _powers_value,
    _powers,
    lambda: [
        Sample(
            (draw((2, 11)), np.hanning(6)[1:-1]),
            {"fs": 2.0, "lengths": (4, 2, 5, 4), "detrend": "constant", "onesided": onesided}
            | {"scaling": scaling},
        )
        for onesided, scaling in ((True, "density"), (False, "spectrum"))
    ],
)


@numpy_function(sp.spectrogram)
def spectrogram(
    x: Any,
    fs: float = 1.0,
    window: Any = ("tukey_periodic", 0.25),
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> tuple[Any, Any, Array]:
    """Frequencies, times, and the power spectral density of each segment of the signal.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import spectrogram
    >>> x = np.array([1.0, -1.0, 1.0, -1.0])
    >>> f = lambda x: spectrogram(x, window="boxcar", nperseg=4, detrend=False)[2][2, 0]
    >>> fg.grad(f)(x)
    array([ 2., -2.,  2., -2.])
    """
    modes = ["psd", "complex", "magnitude", "angle", "phase"]
    if mode not in modes:
        raise ValueError(f"unknown value for mode {mode}, must be one of {modes}")
    x = as_array(x)
    n = type_of(x).shape[axis]
    win, length = _window(window, nperseg, n)
    overlap = length // 8 if noverlap is None else noverlap
    named = {"spectrum": "spectrum", "density": "psd"}
    if scaling not in named:
        raise ValueError(f"Unknown scaling: {scaling!r}")
    if n < length:
        raise ValueError("window is longer than input signal")
    if mode == "psd":
        lengths = _lengths(nfft, overlap, length, n)
        onesided = return_onesided and not _is_complex(x)
        params = {"fs": float(fs), "lengths": lengths, "onesided": onesided, "scaling": scaling}
        params["detrend"] = _trend(detrend, "spectrogram")
        out = POWERS(fnp.moveaxis(x, axis, -1), win, **params)
        out = fnp.moveaxis(out, -2, axis - 1 if axis < 0 else axis)
        return _frequencies(lengths[2], fs, onesided), _times(lengths, lengths[3], fs), out
    more = (win, length, overlap, nfft, detrend, return_onesided, None, False, axis)
    frequencies, times, out = stft(x, fs, *more, named[scaling])
    at = type_of(out).ndim + axis - 1 if axis < 0 else axis
    if mode == "magnitude":
        out = fnp.abs(out)
    elif mode in ("angle", "phase"):
        out = fnp.angle(out)
        out = fnp.unwrap(out, axis=at) if mode == "phase" else out
    return frequencies, times, out


def _istft_value(z: Any, win: Any, hop: int, points: int, **more: Any) -> Any:
    length = len(win)
    return sp.istft(z, window=win, nperseg=length, noverlap=length - hop, nfft=points, **more)[1]


def _istft(z: Array, win: Array, hop: int, points: int, **more: Any) -> Array:
    length, count = type_of(win).shape[0], type_of(z).shape[-1]
    onesided = more["input_onesided"]
    pieces = FFT["irfft" if onesided else "ifft"](z, points, -2)[..., :length, :]
    win = cast(win, np.result_type(type_of(pieces).dtype, type_of(win).dtype))
    if more["scaling"] == "spectrum":
        factor = fnp.sum(win)
    else:
        factor = fnp.sqrt(more["fs"] * fnp.sum(win**2))
    pieces = fnp.swapaxes(pieces * factor, -1, -2) * win
    size = length + (count - 1) * hop
    places = hop * np.arange(count)[:, None] + np.arange(length)
    lead = type_of(pieces).shape[:-2]
    whole = fnp.zeros((*lead, size), type_of(pieces).dtype)
    fnp.add.at(whole, (..., places), pieces)
    norm = fnp.zeros(size, type_of(win).dtype)
    fnp.add.at(norm, places, fnp.broadcast_to(win**2, places.shape))
    out: Array = whole / fnp.where(norm > 1e-10, norm, 1.0)
    if more["boundary"]:
        out = out[..., length // 2 : size - length // 2]
    return out


ISTFT = valued(
    "signal_istft",
    _istft_value,
    _istft,
    lambda: [
        Sample(
            (draw((2, 3, 5)) + 1j * draw((2, 3, 5), seed=1), np.hanning(6)[1:-1]),
            {"hop": 2, "points": 4, "fs": 2.0, "input_onesided": True, "boundary": True}
            | {"scaling": scaling},
        )
        for scaling in ("spectrum", "psd")
    ],
    linear_in=(0,),
)


@numpy_function(sp.istft)
def istft(
    Zxx: Any,
    fs: float = 1.0,
    window: Any = DEFAULT,
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> tuple[Any, Array]:
    """Times, and the signal that has these transforms of segments (in the least squares).

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import istft, stft
    >>> def there_and_back(x):
    ...     return istft(stft(x, nperseg=4)[2], nperseg=4)[1][1]
    >>> fg.grad(there_and_back)(np.ones(4)).round(12) + 0.0
    array([0., 1., 0., 0.])
    """
    z = as_array(Zxx)
    if type_of(z).ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    rank = type_of(z).ndim
    z = fnp.moveaxis(z, (freq_axis, time_axis), (-2, -1))
    z = z if _is_complex(z) else z + 0j
    rows = type_of(z).shape[-2]
    usual = 2 * (rows - 1) if input_onesided else rows
    length = usual if nperseg is None else int(nperseg)
    if nfft is None:
        points = length if input_onesided and length == usual + 1 else usual
    else:
        points = int(nfft)
    if points < length:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    overlap = length // 2 if noverlap is None else int(noverlap)
    if overlap >= length:
        raise ValueError("noverlap must be less than nperseg.")
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter {scaling=} not in ['spectrum', 'psd']!")
    win = sp.get_window(window, length) if isinstance(window, (str, tuple)) else as_array(window)
    if type_of(win).shape != (length,):
        raise ValueError(f"window must have length of {length}")
    more = {"fs": float(fs), "input_onesided": input_onesided, "boundary": boundary}
    params = {"hop": length - overlap, "points": points, "scaling": scaling, **more}
    out = ISTFT(z, win, **params)
    if rank > 2:
        at, other = time_axis % rank, freq_axis % rank
        out = fnp.moveaxis(out, -1, at - (other < at))
    return np.arange(type_of(out).shape[0]) / float(fs), out
