"""``funcgrad.scipy.fft``: SciPy's Fourier, cosine and sine transforms for plain and traced arrays.

Every name, signature and value is SciPy's; with nothing traced SciPy's own function is called. All
are linear over the real numbers, so derivatives exist to every order and in every transform.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.fft import dct
>>> fg.grad(lambda x: np.sum(dct(x, norm="ortho") ** 2))(np.array([1.0, 2.0, 3.0]))
array([2., 4., 6.])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy.fft import fftfreq, fftshift, ifftshift, next_fast_len, rfftfreq

from funcgrad.core.boundary import publish
from funcgrad.scipy.fft.functions import NAMES
from funcgrad.scipy.reasons import why_not

globals().update(NAMES)

__all__ = ["fftfreq", "fftshift", "ifftshift", "next_fast_len", "rfftfreq", *NAMES]

# fmt: off
# isort: off
if TYPE_CHECKING:  # the names of the tables, and SciPy's own, which a checker does not see
    from scipy.fft import (
        dct as dct, dctn as dctn, dst as dst, dstn as dstn, fft as fft, fft2 as fft2,
        fftn as fftn, hfft as hfft, hfft2 as hfft2, hfftn as hfftn, idct as idct, idctn as idctn,
        idst as idst, idstn as idstn, ifft as ifft, ifft2 as ifft2, ifftn as ifftn,
        ihfft as ihfft, ihfft2 as ihfft2, ihfftn as ihfftn, irfft as irfft, irfft2 as irfft2,
        irfftn as irfftn, rfft as rfft, rfft2 as rfft2, rfftn as rfftn,
    )
# isort: on
# fmt: on

publish(__name__, reason=why_not(__name__))
