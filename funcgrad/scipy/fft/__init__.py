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

from typing import TYPE_CHECKING, Any

from scipy.fft import fftfreq, fftshift, ifftshift, next_fast_len, rfftfreq

from funcgrad.errors import suggest_names
from funcgrad.scipy.fft.functions import NAMES
from funcgrad.scipy.reasons import why_not

globals().update(NAMES)

__all__ = ["fftfreq", "fftshift", "ifftshift", "next_fast_len", "rfftfreq", *NAMES]

if TYPE_CHECKING:  # the tables define names that a checker does not see

    def __getattr__(name: str) -> Any: ...

else:
    suggest_names(__name__, reason=why_not(__name__))
