"""``funcgrad.scipy.signal``: convolutions, filters and spectra for plain and traced arrays.

Every name, signature and value is SciPy's; with nothing traced SciPy's own function is called.
Signals, coefficients of filters, their states and windows are differentiable.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.signal import lfilter
>>> noise = np.array([1.0, -1.0, 1.0, 1.0])
>>> fg.grad(lambda p: np.sum(lfilter([1.0 - p], [1.0, -p], noise) ** 2))(0.5)
np.float64(-3.4375)
"""

from __future__ import annotations

from funcgrad.core.boundary import publish
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.signal import windows
from funcgrad.scipy.signal.convolution import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)
from funcgrad.scipy.signal.filters import (
    filtfilt,
    lfilter,
    lfilter_zi,
    sosfilt,
    sosfilt_zi,
    sosfiltfilt,
)
from funcgrad.scipy.signal.polyphase import resample_poly, upfirdn
from funcgrad.scipy.signal.short_time import istft, spectrogram, stft
from funcgrad.scipy.signal.spectra import (
    coherence,
    csd,
    detrend,
    periodogram,
    welch,
)
from funcgrad.scipy.signal.transforms import freqz, group_delay, hilbert, resample, savgol_filter
from funcgrad.scipy.signal.windows import get_window

__all__ = [
    "coherence",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "freqz",
    "group_delay",
    "get_window",
    "hilbert",
    "istft",
    "lfilter",
    "lfilter_zi",
    "oaconvolve",
    "periodogram",
    "resample",
    "resample_poly",
    "savgol_filter",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
    "spectrogram",
    "stft",
    "upfirdn",
    "welch",
    "windows",
]

publish(__name__, reason=why_not(__name__))
