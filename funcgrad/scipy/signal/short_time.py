"""Spectra over time: `stft`, `spectrogram`, and back by `istft`.

Values are SciPy's; segments, windows and scales are those of `spectra`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.scipy.fft.functions import NAMES as FFT
from funcgrad.scipy.signal.filters import _extended as extended
from funcgrad.scipy.signal.spectra import (
    DEFAULT,
    any_complex,
    checked_trend,
    density_of,
    doubled_between,
    frequencies_of,
    lengthened,
    lengths_of,
    transformed,
    window_of,
)
from funcgrad.scipy.valued import valued

__all__ = ["istft", "spectrogram", "stft"]


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
        x = lengthened(x, n + (-(n - length) % hop) % length)
    count = (type_of(x).shape[-1] - (length - hop)) // hop
    lengths = (length, hop, points, count)
    out = transformed(x, win, lengths, more["detrend"], more["return_onesided"])
    scaling = "density" if more["scaling"] == "psd" else more["scaling"]
    out = out * fnp.sqrt(density_of(win, more["fs"], scaling))
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
    win, length = window_of(window, nperseg, n)
    if n < length:
        raise ValueError("window is longer than input signal")
    lengths = (*lengths_of(nfft, noverlap, length, n)[:3], 0)
    onesided = return_onesided and not any_complex(x)
    params = {
        "fs": float(fs),
        "lengths": lengths,
        "detrend": checked_trend(detrend, "stft"),
        "return_onesided": onesided,
        "boundary": boundary,
        "padded": padded,
        "scaling": scaling,
    }
    out = STFT(fnp.moveaxis(x, axis, -1), win, **params)
    times = _times(lengths, type_of(out).shape[-1], fs)
    times = times if boundary is None else times - (length / 2) / float(fs)
    at = axis - 1 if axis < 0 else axis
    return frequencies_of(lengths[2], fs, onesided), times, fnp.moveaxis(out, -2, at)


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
    out = transformed(x, win, more["lengths"], more["detrend"], more["onesided"])
    out = fnp.real(fnp.conj(out) * out) * density_of(win, more["fs"], more["scaling"])
    out = out * doubled_between(more["onesided"], points, type_of(out).shape[-1])
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
    window: Any = ("tukey", 0.25),
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
    win, length = window_of(window, nperseg, n)
    overlap = length // 8 if noverlap is None else noverlap
    named = {"spectrum": "spectrum", "density": "psd"}
    if scaling not in named:
        raise ValueError(f"Unknown scaling: {scaling!r}")
    if n < length:
        raise ValueError("window is longer than input signal")
    if mode == "psd":
        lengths = lengths_of(nfft, overlap, length, n)
        onesided = return_onesided and not any_complex(x)
        params = {"fs": float(fs), "lengths": lengths, "onesided": onesided, "scaling": scaling}
        params["detrend"] = checked_trend(detrend, "spectrogram")
        out = POWERS(fnp.moveaxis(x, axis, -1), win, **params)
        out = fnp.moveaxis(out, -2, axis - 1 if axis < 0 else axis)
        return frequencies_of(lengths[2], fs, onesided), _times(lengths, lengths[3], fs), out
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
    dtype=lambda z, win, **more: (z.type(0).real if more["input_onesided"] else z.type(0)).dtype,
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
    z = z if any_complex(z) else z + 0j
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
