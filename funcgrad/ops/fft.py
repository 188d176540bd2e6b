"""Discrete Fourier transforms along one axis; all others are made of these.

Each is linear over the real numbers. The matrix of a transform is symmetric, so `dft` is its own
transpose; that of `rdft` is `irdft` of half the conjugate, and the other way round. Values are
NumPy's own. Transforms over several axes go axis by axis in NumPy's order, with its bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from funcgrad.core.forms import Linear, linear
from funcgrad.core.layout import kept
from funcgrad.core.primitive import PRIMITIVES, Params, Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast, conjugate, multiply
from funcgrad.ops.index import getitem
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate

__all__ = ["OTHER_NORM", "dft", "fitted", "irdft", "rdft", "weighted"]

OTHER_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


@cache
def _dtype(function: Callable[..., Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """That of the result, which only NumPy knows for small and long numbers."""
    found: np.dtype[Any] = function(np.zeros(2, dtype)).dtype
    return found


def _type(x: ArrayType, extent: int, axis: int, function: Callable[..., Any]) -> ArrayType:
    shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
    return ArrayType(shape, _dtype(function, x.dtype))


def _shift(name: str) -> Callable[..., Any]:
    def batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        return bind(PRIMITIVES[name], xs, {**params, "axis": params["axis"] + 1})

    return batch


def fitted(c: Array, kind: ArrayType, axis: int) -> Array:
    """The cotangent of an operand that was cut, or filled up with zeros, before its transform."""
    have, want = type_of(c).shape[axis], kind.shape[axis]
    lead = (slice(None),) * axis
    if have > want:
        c = getitem(c, (*lead, slice(want)))
    elif have < want:
        rest = (*kind.shape[:axis], want - have, *kind.shape[axis + 1 :])
        c = concatenate([c, np.zeros(rest, type_of(c).dtype)], axis)
    return cast(c, kind.dtype)


def _samples(real: bool = False, **params: Any) -> list[Sample]:
    x = draw((3, 4))
    z = x + 1j * draw((3, 4), seed=1)
    operands = [x, x[:, ::-1], x.astype(np.float32)] if real else [z, x, z.T, x.astype(np.float32)]
    return [
        Sample((o,), {"n": n, "axis": axis, "norm": norm, **params})
        for o in operands
        for n, axis, norm in (
            (4, 1, "backward"),
            (3, 0, "ortho"),
            (5, 1, "forward"),
            (2, 0, "ortho"),
        )
    ]


# -------------------------------------------------------------------------- complex to complex


def _dft(x: Any, n: int, axis: int, norm: Any, inverse: bool) -> Any:
    return (np.fft.ifft if inverse else np.fft.fft)(x, n, axis, norm)


DFT: Linear = linear(
    "dft",
    _dft,
    lambda g, x, *, axis, **params: fitted(dft(g, axis=axis, **params), x, axis),
    lambda x, *, n, axis, norm, inverse: _type(x, n, axis, np.fft.fft),
    _shift("dft"),
    sample=lambda: _samples(inverse=False) + _samples(inverse=True)[::3],
)


def dft(x: Array, n: int, axis: int, norm: str, inverse: bool = False) -> Array:
    """The transform of `n` elements along `axis` (non-negative), or its inverse."""
    return bind(DFT, (x,), {"n": n, "axis": axis, "norm": norm, "inverse": inverse})


# ------------------------------------------------------------------------------- real operand


def weighted(c: Array, n: int, axis: int, between: float) -> Array:
    """The half of a symmetric spectrum, with the elements that stand for two times `between`.

    These are all but the first one and, where `n` is even, the one in the middle.
    """
    kind = type_of(c)
    weights = np.full(kind.shape[axis], between, np.zeros(0, kind.dtype).real.dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[n // 2] = 1
    return multiply(c, weights.reshape(-1, *(1,) * (kind.ndim - axis - 1)))


def _rdft_transpose(g: Array, x: ArrayType, *, n: int, axis: int, norm: str) -> Array:
    half = weighted(conjugate(g), n, axis, 0.5)
    return fitted(irdft(half, n, axis, OTHER_NORM[norm]), x, axis)


RDFT: Linear = linear(
    "rdft",
    lambda x, n, axis, norm: np.fft.rfft(x, n, axis, norm),
    _rdft_transpose,
    lambda x, *, n, axis, norm: _type(x, n // 2 + 1, axis, np.fft.rfft),
    _shift("rdft"),
    sample=lambda: _samples(real=True),
)


def rdft(x: Array, n: int, axis: int, norm: str) -> Array:
    """The first n // 2 + 1 elements of the transform of a real `x`; the others mirror them."""
    return bind(RDFT, (x,), {"n": n, "axis": axis, "norm": norm})


def _irdft_transpose(g: Array, x: ArrayType, *, n: int, axis: int, norm: str) -> Array:
    c = weighted(conjugate(rdft(g, n, axis, OTHER_NORM[norm])), n, axis, 2.0)
    return fitted(c, x, axis)


IRDFT: Linear = linear(
    "irdft",
    lambda x, n, axis, norm: np.fft.irfft(x, n, axis, norm),
    _irdft_transpose,
    lambda x, *, n, axis, norm: _type(x, n, axis, np.fft.irfft),
    _shift("irdft"),
    sample=lambda: _samples(),
)


def irdft(x: Array, n: int, axis: int, norm: str) -> Array:
    """The `n` real numbers whose transform begins with `x`; what follows mirrors it."""
    return bind(IRDFT, (x,), {"n": n, "axis": axis, "norm": norm})


DFT.lies = RDFT.lies = IRDFT.lies = kept
