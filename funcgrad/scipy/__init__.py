"""SciPy's functions with derivatives, under SciPy's names.

SciPy itself is needed (``pip install funcgrad[scipy]``) and imported on first use. Its own ufuncs,
called on traced values, come to the same definitions.
"""

from typing import TYPE_CHECKING

from funcgrad.core.boundary import suggest_names

if TYPE_CHECKING:
    from funcgrad.scipy import cluster as cluster
    from funcgrad.scipy import differentiate as differentiate
    from funcgrad.scipy import fft as fft
    from funcgrad.scipy import integrate as integrate
    from funcgrad.scipy import interpolate as interpolate
    from funcgrad.scipy import linalg as linalg
    from funcgrad.scipy import ndimage as ndimage
    from funcgrad.scipy import optimize as optimize
    from funcgrad.scipy import signal as signal
    from funcgrad.scipy import sparse as sparse
    from funcgrad.scipy import spatial as spatial
    from funcgrad.scipy import special as special
    from funcgrad.scipy import stats as stats

__all__ = [
    "cluster",
    "differentiate",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]

suggest_names(__name__, later=__all__)
