"""autograd's ``numpy``: NumPy's functions for plain and traced arrays, which are funcgrad's.

Names that `funcgrad.numpy` does not have are NumPy's own.

Examples
--------
>>> import funcgrad.compat.autograd.numpy as np
>>> from funcgrad.compat.autograd import grad
>>> grad(lambda x: np.linalg.norm(np.array([x, 2.0 * x])))(1.0)
np.float64(2.23606797...)
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

import funcgrad.numpy as _ours
from funcgrad.compat.autograd.names import names_of
from funcgrad.compat.autograd.numpy import fft, linalg, numpy_boxes, random

__all__ = ["fft", "linalg", "make_diagonal", "numpy_boxes", "random"]

# NumPy imports some of its modules when they are asked for, and so do we
_known = {name: _numpy.__dict__[name] for name in _numpy.__all__ if name in _numpy.__dict__}
_known |= {name: getattr(_ours, name) for name in _ours.__all__}
globals().update({name: found for name, found in _known.items() if name not in __all__})
__all__ += [name for name in _known if name not in __all__]

__getattr__ = names_of("funcgrad.numpy", "numpy")


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """Matrices with the last axis of `D` on their diagonals."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal has offset=0, axis1=-1, axis2=-2")
    return _ours.expand_dims(D, -1) * _numpy.eye(_numpy.shape(D)[-1])
