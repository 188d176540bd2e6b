"""autograd's ``scipy``: SciPy's functions for plain and traced arrays.

Those of `funcgrad.scipy` where there are; the others are SciPy's own.
"""

from funcgrad.compat.autograd.names import names_of
from funcgrad.compat.autograd.scipy import integrate, linalg, misc, signal, special, stats

__all__ = ["integrate", "linalg", "misc", "signal", "special", "stats"]

__getattr__ = names_of("funcgrad.scipy", "scipy")
