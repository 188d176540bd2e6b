"""The transforms of `scipy.fft` over several axes at once, as SciPy computes them.

All are linear over the real numbers. The matrix of a complex transform is symmetric; those of real
operands and of real results are each other's transposes but for the elements that stand for two;
of the cosine and sine transforms types 2 and 3 belong together, up to the weight of one element
(Makhoul, "A fast cosine transform in one and two dimensions", 1980, and SciPy's definitions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.fft as sp

from funcgrad.core.forms import Linear, linear
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import conjugate, multiply
from funcgrad.ops.fft import OTHER_NORM, fitted, weighted
from funcgrad.ops.samples import draw

__all__ = ["dftn", "irdftn", "rdftn", "waves"]

Ints = tuple[int, ...]


@cache
def _dtype(function: Callable[..., Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """That of the result, which only SciPy knows for small and long numbers."""
    found: np.dtype[Any] = function(np.zeros(2, dtype)).dtype
    return found


def _type(x: ArrayType, shape: Ints, axes: Ints, function: Callable[..., Any]) -> ArrayType:
    extents = list(x.shape)
    for axis, n in zip(axes, shape, strict=True):
        extents[axis] = n
    return ArrayType(tuple(extents), _dtype(function, x.dtype))


def _fitted(c: Array, kind: ArrayType, axes: Ints) -> Array:
    """The cotangent of an operand that was cut, or filled up, along each of the axes."""
    for axis in axes:
        have = type_of(c)
        extents = (*have.shape[:axis], kind.shape[axis], *have.shape[axis + 1 :])
        c = fitted(c, ArrayType(extents, have.dtype), axis)
    return fitted(c, kind, axes[-1])


def _shifted(record: Callable[[], Linear]) -> Callable[..., Any]:
    def batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        axes = tuple(axis + 1 for axis in params["axes"])
        return bind(record(), xs, {**params, "axes": axes})

    return batch


def _samples(real: bool, several: Sequence[dict[str, Any]]) -> list[Sample]:
    x = draw((3, 4))
    z = x + 1j * draw((3, 4), seed=1)
    operands = [x, x[:, ::-1], x.astype(np.float32)] if real else [z, x, z.T, x.astype(np.float32)]
    ways: list[tuple[Ints, Ints, str]] = [
        ((4,), (1,), "backward"),
        ((3, 3), (0, 1), "ortho"),
        ((5, 3), (1, 0), "forward"),
    ]
    return [
        Sample((operands[k % len(operands)],), {"shape": shape, "axes": axes, "norm": norm, **more})
        for more in several
        for k, (shape, axes, norm) in enumerate(ways + ways[:2])
    ]


# -------------------------------------------------------------------------- Fourier transforms


def _dftn(x: Any, shape: Ints, axes: Ints, norm: str, inverse: bool) -> Any:
    return (sp.ifftn if inverse else sp.fftn)(x, shape, axes, norm)


DFTN: Linear = linear(
    "scipy_dft",
    _dftn,
    lambda g, x, *, axes, **params: _fitted(dftn(g, axes=axes, **params), x, axes),
    lambda x, *, shape, axes, norm, inverse: _type(x, shape, axes, sp.fftn),
    _shifted(lambda: DFTN),
    sample=lambda: _samples(False, [{"inverse": False}, {"inverse": True}]),
)


def dftn(x: Array, shape: Ints, axes: Ints, norm: str, inverse: bool = False) -> Array:
    """The transform of `shape` elements along `axes` (non-negative), or its inverse."""
    return bind(DFTN, (x,), {"shape": shape, "axes": axes, "norm": norm, "inverse": inverse})


def _half(shape: Ints) -> Ints:
    return (*shape[:-1], shape[-1] // 2 + 1)


def _rdftn_transpose(g: Array, x: ArrayType, *, shape: Ints, axes: Ints, norm: str) -> Array:
    half = weighted(conjugate(g), shape[-1], axes[-1], 0.5)
    return _fitted(irdftn(half, shape, axes, OTHER_NORM[norm]), x, axes)


RDFTN: Linear = linear(
    "scipy_rdft",
    lambda x, shape, axes, norm: sp.rfftn(x, shape, axes, norm),
    _rdftn_transpose,
    lambda x, *, shape, axes, norm: _type(x, _half(shape), axes, sp.rfftn),
    _shifted(lambda: RDFTN),
    sample=lambda: _samples(True, [{}]),
)


def rdftn(x: Array, shape: Ints, axes: Ints, norm: str) -> Array:
    """The transform of a real `x`, the half of it along the last of the axes."""
    return bind(RDFTN, (x,), {"shape": shape, "axes": axes, "norm": norm})


def _irdftn_transpose(g: Array, x: ArrayType, *, shape: Ints, axes: Ints, norm: str) -> Array:
    spectrum = conjugate(rdftn(g, shape, axes, OTHER_NORM[norm]))
    return _fitted(weighted(spectrum, shape[-1], axes[-1], 2.0), x, axes)


IRDFTN: Linear = linear(
    "scipy_irdft",
    lambda x, shape, axes, norm: sp.irfftn(x, shape, axes, norm),
    _irdftn_transpose,
    lambda x, *, shape, axes, norm: _type(x, shape, axes, sp.irfftn),
    _shifted(lambda: IRDFTN),
    sample=lambda: _samples(False, [{}]),
)


def irdftn(x: Array, shape: Ints, axes: Ints, norm: str) -> Array:
    """The real numbers of `shape` whose transform has the half `x`."""
    return bind(IRDFTN, (x,), {"shape": shape, "axes": axes, "norm": norm})


# ------------------------------------------------------------------- cosine and sine transforms

PARTNER = {1: 1, 2: 3, 3: 2, 4: 4}


def _waves(
    x: Any, shape: Ints, axes: Ints, norm: str, kind: str, type: int, orthogonalize: bool
) -> Any:
    run = sp.dctn if kind == "dct" else sp.dstn
    return run(x, type, shape, axes, norm, orthogonalize=orthogonalize)


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
    return _fitted(c, x, axes)


WAVES: Linear = linear(
    "scipy_waves",
    _waves,
    _waves_transpose,
    lambda x, *, shape, axes, **_: _type(x, shape, axes, sp.dctn),
    _shifted(lambda: WAVES),
    sample=lambda: _samples(
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
