"""The transforms of `scipy.fft` over several axes at once, as SciPy computes them.

All are linear over the real numbers. Of the cosine and sine transforms types 2 and 3 belong
together, up to the weight of one element (Makhoul, "A fast cosine transform in one and two
dimensions", 1980, and SciPy's definitions).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft as sp

from funcgrad.core.forms import Linear, linear
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import multiply
from funcgrad.ops.fft import fitted, result_type, samples, shifted, transforms

__all__ = ["SCIPY", "waves"]

Ints = tuple[int, ...]
WAYS: list[tuple[Ints, Ints, str]] = [
    ((4,), (1,), "backward"),
    ((3, 3), (0, 1), "ortho"),
    ((5, 3), (1, 0), "forward"),
]


def _over(function: Any) -> Any:
    return lambda x, shape, axes, norm: function(x, shape, axes, norm)


SCIPY = transforms("scipy_", WAYS, *map(_over, (sp.fftn, sp.ifftn, sp.rfftn, sp.irfftn)))

# ------------------------------------------------------------------- cosine and sine transforms

PARTNER = {1: 1, 2: 3, 3: 2, 4: 4}


def _waves(
    x: Any, shape: Ints, axes: Ints, norm: str, kind: str, type: int, orthogonalize: bool
) -> Any:
    run = sp.dctn if kind == "dct" else sp.dstn
    return run(x, type, shape, axes, norm, orthogonalize=orthogonalize)


def _cosine(x: Any, shape: Ints, axes: Ints, norm: str) -> Any:
    return sp.dctn(x, 2, shape, axes, norm)


def _ends(c: Array, kind: str, type: int, axes: Ints, up: bool) -> Array:
    """`c` with the elements multiplied (or divided) that the series counts twice or half.

    Unless transforms are made orthogonal, the matrix of type 2 is twice that of the waves and the
    one of type 3 has its first column (for sines the last one) once and the others twice; the
    cosine transform of type 1 has both ends once.
    """
    found = type_of(c)
    real = np.zeros(0, found.dtype).real.dtype
    for axis in axes:
        weights = np.ones(found.shape[axis], real)
        ends = [0, -1] if type == 1 else [0 if kind == "dct" else -1]
        weights[ends] = 2.0 if up else 0.5
        c = multiply(c, weights.reshape(-1, *(1,) * (found.ndim - axis - 1)))
    return c


def _waves_transpose(
    g: Array, x: ArrayType, *, axes: Ints, kind: str, type: int, orthogonalize: bool, **rest: Any
) -> Array:
    plain = not orthogonalize and (kind, type) != ("dst", 1) and type != 4
    if plain and type != 3:
        g = _ends(g, kind, type, axes, True)
    c = waves(g, axes=axes, kind=kind, type=PARTNER[type], orthogonalize=orthogonalize, **rest)
    if plain and type != 2:
        c = _ends(c, kind, type, axes, False)
    return fitted(c, x, axes)


WAVES: Linear = linear(
    "scipy_waves",
    _waves,
    _waves_transpose,
    lambda x, *, shape, axes, **_: result_type(x, shape, axes, _cosine),
    shifted(lambda: WAVES),
    sample=lambda: samples(
        WAYS,
        True,
        [
            {"kind": kind, "type": type, "orthogonalize": orthogonalize}
            for kind in ("dct", "dst")
            for type in (1, 2, 3, 4)
            for orthogonalize in (False, True)
        ],
    ),
)


def waves(
    x: Array,
    shape: Ints,
    axes: Ints,
    norm: str,
    kind: str,
    type: int,
    orthogonalize: bool,
) -> Array:
    """The cosine ("dct") or sine transform ("dst") of a type along `axes`."""
    params = {"shape": shape, "axes": axes, "norm": norm}
    more = {"kind": kind, "type": type, "orthogonalize": orthogonalize}
    return bind(WAVES, (x,), params | more)
