"""``funcgrad.scipy.cluster.vq``: observations and the nearest of a book of codes.

Names, signatures and values are SciPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.cluster.vq as sp

import funcgrad.numpy as fnp
from funcgrad.core.boundary import publish
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.matrices import as_float
from funcgrad.ops.samples import draw
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.spatial.distance import cdist
from funcgrad.scipy.valued import Valued, valued

__all__ = ["vq"]


def _nearest(obs: Array, codes: Array) -> tuple[Array, Array]:
    code = fnp.argmin(cdist(obs, codes, "sqeuclidean"), axis=1)
    return cast(code, np.int32), fnp.linalg.norm(obs - fnp.take(codes, code, axis=0), axis=1)


NEAREST: Valued = valued(
    "cluster_vq",
    lambda obs, codes: sp.vq(obs, codes, check_finite=False),
    _nearest,
    lambda: [Sample((draw((4, 3)), draw((2, 3), seed=1)))],
    multiple=True,
)


@numpy_function(sp.vq)
def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Array, Array]:
    """The nearest code of each observation, and how far off it is.

    Parameters
    ----------
    obs : array of shape (m, n), or (m,)
    code_book : array of shape (k, n), or (k,)
    check_finite : bool, optional
        Whether numbers that are not finite are an error; traced values are not looked at.

    Returns
    -------
    code : int32 array of shape (m,)
        It is locally constant. Of codes that are as near, the first one is taken.
    dist : array of shape (m,)
        Its derivative is that of the distance to the chosen code, 0 where they coincide.

    Raises
    ------
    ValueError
        The two have another number of axes than each other, or of columns.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.cluster.vq import vq
    >>> codes = np.array([[0.0, 0.0], [9.0, 9.0]])
    >>> fg.grad(lambda x: np.sum(vq(x, codes)[1]))(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """
    x, codes = as_float(as_array(obs)), as_float(as_array(code_book))
    shapes = type_of(x).shape, type_of(codes).shape
    if len(shapes[0]) != len(shapes[1]):
        raise ValueError("observation and code should have same number of dimensions")
    if len(shapes[0]) not in (1, 2):
        raise ValueError("ndim different than 1 or 2 are not supported")
    if len(shapes[0]) == 1:
        x, codes = x[:, None], codes[:, None]
    elif shapes[0][1] != shapes[1][1]:
        raise ValueError("obs and code should have same number of features (columns)")
    code, dist = NEAREST(x, codes)
    return code, dist


publish(__name__, reason=why_not(__name__))
