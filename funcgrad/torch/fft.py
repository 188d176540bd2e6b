"""``torch.fft``: discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops.fft import NUMPY
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.absent import absent
from funcgrad.torch.composite import Composite
from funcgrad.torch.narrow import is_half
from funcgrad.torch.operations.common import boxed, computed, shape_of
from funcgrad.torch.operations.flipping_and_rolling import roll
from funcgrad.torch.operations.promotion import dtype_of, floating
from funcgrad.torch.operations.record import Function, node, operation

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


Ints = tuple[int, ...]
NORMS = (None, "backward", "ortho", "forward")
COMPLEX, FROM_REAL = node("FftC2C"), node("FftR2C")
TO_REAL, CONJUGATED = node("FftC2R"), node("Conj")
ONE = "input, int n=None, int dim=-1, str norm=None, *, out"
MANY = "input, ints s=None, dims dim=None, str norm=None, *, out"
LAST_TWO = (-2, -1)


# ---------------------------------------------------------------------------------- arguments


def _prepared(name: str, input: Tensor, real: bool = False) -> Array:
    """The operand as floats or complex numbers; what has to be real is."""
    x = floating(name, input)
    if real and dtype_of(x).kind == "c":
        kind = dtypes.scalar_name(input.dtype)
        raise RuntimeError(f"{name} expects a real input tensor, but got {kind}")
    if is_half(dtype_of(x)):
        raise RuntimeError(f"Unsupported dtype {dtypes.scalar_name(input.dtype)}")
    return x


def _axis(dim: int, rank: int) -> int:
    if not rank:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got "
            f"{dim})"
        )
    return dim % rank


def _check(norm: str | None, sizes: Sequence[int]) -> str:
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
    if norm not in NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return norm or "backward"


def _axes(x: Array, s: Any, dim: Any, to_real: bool = False) -> tuple[Ints, Ints]:
    """The extents of the transform and its axes; a last extent to real numbers is twice as long."""
    shape = shape_of(x)
    rank = len(shape)
    sizes = None if s is None else tuple(int(n) for n in s)
    if dim is not None:
        given = (dim,) if isinstance(dim, int) else tuple(dim)
        axes = tuple(_axis(int(d), rank) for d in given)
        if len(set(axes)) < len(axes):
            raise RuntimeError("FFT dims must be unique")
        if sizes is not None and len(sizes) != len(axes):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    else:
        if sizes is not None and len(sizes) > rank:
            raise RuntimeError(
                f"Got shape with {len(sizes)} values but input tensor only has {rank} dimensions."
            )
        axes = tuple(range(rank)) if sizes is None else tuple(range(rank - len(sizes), rank))
    own = [shape[axis] for axis in axes]
    if to_real and own:
        own[-1] = 2 * (own[-1] - 1)
    wanted = sizes or (-1,) * len(axes)
    return tuple(o if n == -1 else n for n, o in zip(wanted, own, strict=True)), axes


# ------------------------------------------------------------------------- what is computed


def _complex(x: Array, sizes: Ints, axes: Ints, norm: str, inverse: bool) -> Array:
    for n, axis in zip(reversed(sizes), reversed(axes), strict=True):
        x = NUMPY.dft(x, shape=(n,), axes=(axis,), norm=norm, inverse=inverse)
    return x


def _from_real(x: Array, sizes: Ints, axes: Ints, norm: str) -> Array:
    x = NUMPY.rdft(x, shape=sizes[-1:], axes=axes[-1:], norm=norm)
    return _complex(x, sizes[:-1], axes[:-1], norm, False)


def _to_real(x: Array, sizes: Ints, axes: Ints, norm: str) -> Array:
    x = _complex(x, sizes[:-1], axes[:-1], norm, True)
    return NUMPY.irdft(x, shape=sizes[-1:], axes=axes[-1:], norm=norm)


def _halved_back(x: Array, sizes: Ints, axes: Ints, norm: str) -> Array:
    return a.conjugate(_from_real(x, sizes, axes, norm))


def _whole(x: Array, sizes: Ints, axes: Ints, norm: str) -> Array:
    return _to_real(a.conjugate(x), sizes, axes, norm)


DFT = Composite("fft_c2c", _complex)
FORWARD = Composite("fft_r2c", _from_real)
BACK = Composite("fft_c2r", _to_real)
HALF = Composite("fft_ihfft", _halved_back)
WHOLE = Composite("fft_hfft", _whole)
OTHER = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _between(name: str, inverse: bool, single: bool = False) -> Callable[..., Tensor]:
    """Complex numbers to complex numbers; of real ones PyTorch computes a `single` line by half."""

    def transform(input: Tensor, s: Any, dim: Any, norm: str | None) -> Tensor:
        x = _prepared(name, input)
        sizes, axes = _axes(x, s, dim)
        way = _check(norm, sizes)
        kind = COMPLEX
        if single and dtype_of(x).kind != "c":
            kind = CONJUGATED if inverse else FROM_REAL
        return boxed(computed(DFT, x, sizes=sizes, axes=axes, norm=way, inverse=inverse), kind)

    return transform


def _halves(
    name: str, core: Any, kind: Any, real: bool, to_real: bool, turned: bool = False
) -> Callable[..., Tensor]:
    """Real numbers to half a spectrum, or half a spectrum to real numbers."""

    def transform(input: Tensor, s: Any, dim: Any, norm: str | None) -> Tensor:
        x = _prepared(name, input, real)
        sizes, axes = _axes(x, s, dim, to_real)
        if not axes:
            raise RuntimeError(f"{name} must transform at least one axis")
        way = _check(norm, sizes)
        found = computed(core, x, sizes=sizes, axes=axes, norm=OTHER[way] if turned else way)
        return boxed(found, kind)

    return transform


def _of_one(name: str, transform: Callable[..., Tensor], doc: str) -> Function[Tensor]:
    def rule(input: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
        if n is not None:
            _check(norm, (n,))
        return transform(input, None if n is None else (n,), dim, norm)

    rule.__doc__ = doc
    made: Function[Tensor] = operation(f"fft_{name}", ONE, variants="")(rule)
    return made


def _of_many(
    name: str, transform: Callable[..., Tensor], doc: str, default: Any = None
) -> Function[Tensor]:
    def rule(input: Tensor, s: Any, dim: Any, norm: str | None) -> Tensor:
        return transform(input, s, default if dim is None else dim, norm)

    rule.__doc__ = doc
    made: Function[Tensor] = operation(f"fft_{name}", MANY, variants="")(rule)
    return made


_fft, _ifft = _between("fft", False), _between("ifft", True)
_rfft = _halves("rfft", FORWARD, FROM_REAL, real=True, to_real=False)
_irfft = _halves("irfft", BACK, TO_REAL, real=False, to_real=True)
_hfft = _halves("hfft", WHOLE, TO_REAL, real=False, to_real=True, turned=True)
_ihfft = _halves("ihfft", HALF, CONJUGATED, real=True, to_real=False, turned=True)

fft = _of_one(
    "fft", _between("fft", False, True), "The discrete Fourier transform along a dimension."
)
ifft = _of_one("ifft", _between("ifft", True, True), "The inverse of `fft`.")
rfft = _of_one("rfft", _rfft, "The first half of the transform of real numbers.")
irfft = _of_one("irfft", _irfft, "Real numbers of the first half of their transform.")
hfft = _of_one("hfft", _hfft, "The real transform of half a Hermitian signal.")
ihfft = _of_one("ihfft", _ihfft, "The inverse of `hfft`.")
fft2 = _of_many("fft2", _fft, "The transform along two dimensions.", LAST_TWO)
ifft2 = _of_many("ifft2", _ifft, "The inverse of `fft2`.", LAST_TWO)
rfft2 = _of_many("rfft2", _rfft, "Half of the transform of real numbers, two dimensions.", LAST_TWO)
irfft2 = _of_many("irfft2", _irfft, "The inverse of `rfft2`.", LAST_TWO)
fftn = _of_many("fftn", _fft, "The transform along all dimensions, or some.")
ifftn = _of_many("ifftn", _ifft, "The inverse of `fftn`.")
rfftn = _of_many("rfftn", _rfft, "Half of the transform of real numbers, all dimensions.")
irfftn = _of_many("irfftn", _irfft, "The inverse of `rfftn`.")

# ------------------------------------------------------------------------ frequencies and shifts


def _frequencies(found: Any, dtype: Any) -> Tensor:
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    return box(found.astype(kind.numpy))


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of `fft` of `n` points that are `d` apart."""
    return _frequencies(np.fft.fftfreq(n, d), dtype).requires_grad_(requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of `rfft` of `n` points that are `d` apart."""
    return _frequencies(np.fft.rfftfreq(n, d), dtype).requires_grad_(requires_grad)


def _shifted(input: Tensor, dim: Any, sign: int) -> Tensor:
    dims = tuple(range(input.dim())) if dim is None else dim
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    found: Tensor = roll(input, [sign * (input.size(d) // 2) for d in dims], dims)
    return found


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The frequency 0 moved to the middle.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.fft.fftshift(torch.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted(input, dim, 1)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _shifted(input, dim, -1)


absent(__name__)
