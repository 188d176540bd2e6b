"""SciPy's functions with derivatives, under SciPy's names.

SciPy itself is needed (``pip install funcgrad[scipy]``) and imported on first use. Its own ufuncs,
called on traced values, come to the same definitions.
"""

from funcgrad.errors import suggest_names

__all__ = [
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]

suggest_names(__name__, later=__all__)
