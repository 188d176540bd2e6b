"""Discrete Fourier transforms along some axes, as NumPy or SciPy computes them.

Each is linear over the real numbers. The matrix of a transform is symmetric, so `dft` is its own
transpose; that of `rdft` is `irdft` of half the conjugate, and the other way round. Values are
those of the library. NumPy's transforms over several axes go axis by axis, with its bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.forms import Linear, linear
from funcgrad.core.layout import kept
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast, conjugate, multiply
from funcgrad.ops.index import getitem
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate

__all__ = ["NUMPY", "OTHER_NORM", "Transforms", "fitted", "result_type", "samples", "shifted",
           "transforms"]  # fmt: skip

OTHER_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
Ints = tuple[int, ...]
Function = Callable[..., Any]  # of an array, extents, axes and the name of a norm


@cache
def _dtype(function: Function, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """That of the result, which only the library knows for small and long numbers."""
    found: np.dtype[Any] = function(np.zeros(2, dtype), (2,), (0,), "backward").dtype
    return found


def result_type(x: ArrayType, shape: Ints, axes: Ints, function: Function) -> ArrayType:
    """`x` with these extents along the axes, in the dtype that the function gives."""
    extents = list(x.shape)
    for axis, n in zip(axes, shape, strict=True):
        extents[axis] = n
    return ArrayType(tuple(extents), _dtype(function, x.dtype))


def shifted(record: Callable[[], Linear]) -> Callable[..., Any]:
    """The rule of batching: every axis is one further."""

    def batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        axes = tuple(axis + 1 for axis in params["axes"])
        return bind(record(), xs, {**params, "axes": axes})

    return batch


def fitted(c: Array, aval: ArrayType, axes: Ints) -> Array:
    """The cotangent of an operand that was cut, or filled up with zeros, before its transform."""
    for axis in axes:
        now, want, lead = type_of(c), aval.shape[axis], (slice(None),) * axis
        if (have := now.shape[axis]) > want:
            c = getitem(c, (*lead, slice(want)))
        elif have < want:
            rest = (*now.shape[:axis], want - have, *now.shape[axis + 1 :])
            c = concatenate([c, np.zeros(rest, now.dtype)], axis)
    return cast(c, aval.dtype)


def samples(
    ways: Sequence[tuple[Ints, Ints, str]], real: bool, several: Sequence[Params] = ({},)
) -> list[Sample]:
    """Operands of several kinds with extents, axes and norms, for each of `several` parameters."""
    x = draw((3, 4))
    z = x + 1j * draw((3, 4), seed=1)
    operands = [x, x[:, ::-1], x.astype(np.float32)] if real else [z, x, z.T, x.astype(np.float32)]
    return [
        Sample((operands[k % len(operands)],), {"shape": shape, "axes": axes, "norm": norm, **more})
        for more in several
        for k, (shape, axes, norm) in enumerate([*ways, *ways[:2]])
    ]


class Transforms(NamedTuple):
    """The transforms of a library.

    Each takes an operand, extents, axes that are not negative, and a norm: `dft`, and with
    ``inverse=True`` its inverse; `rdft`, the half of the spectrum of a real operand along the last
    of the axes; `irdft`, the real numbers whose transform has this half.
    """

    dft: Linear
    rdft: Linear
    irdft: Linear


def transforms(
    prefix: str,
    ways: Sequence[tuple[Ints, Ints, str]],
    forward: Function,
    backward: Function,
    of_real: Function,
    to_real: Function,
) -> Transforms:
    """The transforms that a library computes by these functions; `ways` are those of samples."""
    both = [{"inverse": False}, {"inverse": True}]

    def value(x: Any, shape: Ints, axes: Ints, norm: str, inverse: bool) -> Any:
        return (backward if inverse else forward)(x, shape, axes, norm)

    dft: Linear = linear(
        f"{prefix}dft",
        value,
        lambda g, x, *, axes, **params: fitted(dft(g, axes=axes, **params), x, axes),
        lambda x, *, shape, axes, norm, inverse: result_type(x, shape, axes, forward),
        shifted(lambda: dft),
        sample=lambda: samples(ways, False, both),
    )

    def from_real(g: Array, x: ArrayType, *, shape: Ints, axes: Ints, norm: str) -> Array:
        half = _weighted(conjugate(g), shape[-1], axes[-1], 0.5)
        other = irdft(half, shape=shape, axes=axes, norm=OTHER_NORM[norm])
        return fitted(other, x, axes)

    rdft: Linear = linear(
        f"{prefix}rdft",
        of_real,
        from_real,
        lambda x, *, shape, axes, norm: result_type(
            x, (*shape[:-1], shape[-1] // 2 + 1), axes, of_real
        ),
        shifted(lambda: rdft),
        sample=lambda: samples(ways, True),
    )

    def from_half(g: Array, x: ArrayType, *, shape: Ints, axes: Ints, norm: str) -> Array:
        spectrum = rdft(g, shape=shape, axes=axes, norm=OTHER_NORM[norm])
        return fitted(_weighted(conjugate(spectrum), shape[-1], axes[-1], 2.0), x, axes)

    irdft: Linear = linear(
        f"{prefix}irdft",
        to_real,
        from_half,
        lambda x, *, shape, axes, norm: result_type(x, shape, axes, to_real),
        shifted(lambda: irdft),
        sample=lambda: samples(ways, False),
    )
    return Transforms(dft, rdft, irdft)


def _weighted(c: Array, n: int, axis: int, between: float) -> Array:
    """The half of a symmetric spectrum, with the elements that stand for two times `between`.

    These are all but the first one and, where `n` is even, the one in the middle.
    """
    aval = type_of(c)
    weights = np.full(aval.shape[axis], between, np.zeros(0, aval.dtype).real.dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[n // 2] = 1
    return multiply(c, weights.reshape(-1, *(1,) * (aval.ndim - axis - 1)))


def _along(function: Any) -> Function:
    """A function of NumPy's along one axis."""
    return lambda x, shape, axes, norm: function(x, *shape, *axes, norm)


NUMPY = transforms(
    "",
    [
        ((4,), (1,), "backward"),
        ((3,), (0,), "ortho"),
        ((5,), (1,), "forward"),
        ((2,), (0,), "ortho"),
    ],
    *map(_along, (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft)),
)
for _record in NUMPY:
    _record.lies = kept
