"""Filters between two rates: `upfirdn`, and `resample_poly`, which chooses the filter.

Zeros between the elements, a convolution, and every so-manieth element of it: linear in both.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.signal as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import flip
from funcgrad.scipy.signal.convolution import correlated
from funcgrad.scipy.valued import valued

__all__ = ["resample_poly", "upfirdn"]


def _filtered(h: Array, x: Array, up: int, down: int) -> Array:
    dtype = np.result_type(type_of(h).dtype, type_of(x).dtype, np.float32)
    h, x = cast(h, dtype), cast(x, dtype)
    *lead, n = type_of(x).shape
    taps = type_of(h).shape[0]
    if up > 1:
        gaps = np.zeros((*lead, n, up - 1), dtype)
        x = fnp.reshape(fnp.concatenate([x[..., None], gaps], -1), (*lead, n * up))
        x = x[..., : (n - 1) * up + 1]
    wide = fnp.pad(x, [(0, 0)] * len(lead) + [(taps - 1, taps - 1)])
    weights = fnp.reshape(flip(h, (0,)), (*(1,) * len(lead), taps))
    return correlated(operand(wide), operand(weights))[..., ::down]


UPFIRDN = valued(
    "signal_upfirdn",
    lambda h, x, up, down: sp.upfirdn(h, x, up, down),
    _filtered,
    lambda: (
        [
            Sample((draw((4,)), draw((2, 5), seed=1)), {"up": up, "down": down})
            for up, down in ((1, 1), (3, 2), (1, 3))
        ]
        + [Sample((draw((3,)), draw((4,)) + 1j), {"up": 2, "down": 1})]
    ),
)


@numpy_function(sp.upfirdn)
def upfirdn(
    h: Any,
    x: Any,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: float = 0,
) -> Array:
    """`x` with zeros between its elements, through a filter, and every `down`-th element of that.

    Other modes than "constant" are not supported on traced values.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import upfirdn
    >>> fg.grad(lambda h: upfirdn(h, np.arange(3.0), 2)[3])(np.ones(3))
    array([0., 1., 0.])
    """
    if (mode not in ("constant", None)) or cval:
        raise UnsupportedCallError(
            located(
                "scipy.signal.upfirdn: modes but 'constant', with cval=0, are not supported on "
                "traced values"
            )
        )
    h, x = as_array(h), as_array(x)
    if type_of(h).ndim != 1 or not type_of(h).size:
        raise ValueError("h must be 1-D with non-zero length")
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    out = UPFIRDN(h, fnp.moveaxis(x, axis, -1), up=int(up), down=int(down))
    return fnp.moveaxis(out, -1, axis)


def _resampled(x: Array, up: int, down: int, window: Any) -> Array:
    n = type_of(x).shape[-1]
    count = -(-n * up // down)
    rate = max(up, down)
    half = 10 * rate
    h = sp.firwin(2 * half + 1, 1.0 / rate, window=window) * up
    before = down - half % down
    removed = (half + before) // down
    behind = 0
    while ((n - 1) * up + len(h) + before + behind - 1) // down + 1 < count + removed:
        behind += 1
    real = np.zeros(0, type_of(x).dtype).real.dtype
    h = np.concatenate([np.zeros(before), h, np.zeros(behind)]).astype(real)
    return _filtered(h, x, up, down)[..., removed : removed + count]


RESAMPLE = valued(
    "signal_resample_poly",
    lambda x, up, down, window: sp.resample_poly(x, up, down, axis=-1, window=window),
    _resampled,
    lambda: [
        Sample((draw((2, 9)),), {"up": up, "down": down, "window": ("kaiser", 5.0)})
        for up, down in ((2, 3), (3, 1))
    ],
    linear_in=(0,),
    leading=True,
)


@numpy_function(sp.resample_poly)
def resample_poly(
    x: Any,
    up: int,
    down: int,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: float | None = None,
) -> Array:
    """`x` at `up` / `down` of its rate, through a filter.

    The filter is a constant, and `padtype` is "constant" on traced values.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import resample_poly
    >>> fg.grad(lambda x: resample_poly(x, 2, 1)[2])(np.zeros(4)).round(2) + 0.0
    array([0., 1., 0., 0.])
    """
    if padtype not in ("constant", None) or cval or not isinstance(window, (str, tuple)):
        raise UnsupportedCallError(
            located(
                "scipy.signal.resample_poly: padtype but 'constant', cval, and an array as window "
                "are not supported on traced values; write it with funcgrad.scipy.signal.upfirdn"
            )
        )
    if up != int(up) or down != int(down):
        raise ValueError("up and down must be integers")
    if up < 1 or down < 1:
        raise ValueError("up and down must be >= 1")
    shared = math.gcd(int(up), int(down))
    up, down = int(up) // shared, int(down) // shared
    x = as_array(x)
    x = x if type_of(x).dtype.kind in "fc" else cast(x, float)
    if up == down == 1:
        return x + np.zeros((), type_of(x).dtype)
    out = RESAMPLE(fnp.moveaxis(x, axis, -1), up=up, down=down, window=window)
    return fnp.moveaxis(out, -1, axis)
