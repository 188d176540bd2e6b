"""The limits of the dtypes: `finfo` and `iinfo`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from funcgrad.torch.dtypes import kinds
from funcgrad.torch.dtypes.kinds import Default, checked, dtype, is_inexact

__all__ = ["finfo", "iinfo"]


class _Limits:
    """What `finfo` and `iinfo` have in common."""

    dtype: str
    bits: int
    __hash__ = None  # type: ignore[assignment]
    _shown: ClassVar[tuple[str, ...]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Limits) and self.dtype == other.dtype

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name):g}" for name in self._shown]
        return f"{type(self).__name__}({', '.join(shown)}, dtype={self.dtype})"


class finfo(_Limits):
    """The limits of a floating type, or of the parts of a complex one.

    Parameters
    ----------
    type : dtype, optional
        By default the default type.

    Attributes
    ----------
    bits : int
    eps, max, min, tiny, smallest_normal, resolution : float
        `eps` is the distance from 1 to the next number, `tiny` the smallest normal number, and
        `resolution` the power of ten that the type always tells apart.
    dtype : str

    Examples
    --------
    >>> from funcgrad.torch.dtypes import finfo, float64
    >>> finfo(float64).eps
    2.220446049250313e-16
    """

    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __init__(self, type: dtype | None = None) -> None:
        given = Default.kind if type is None else checked("finfo", "type", 1, type)
        if not is_inexact(given):
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                "Use torch.iinfo to handle 'torch.finfo'"
            )
        real = given.to_real()
        self.dtype = real._name
        if real is kinds.bfloat16:
            self._of_bfloat16()
            return
        limits = np.finfo(real.numpy)
        self.bits = limits.bits
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = float(f"1e-{limits.precision}")  # NumPy's is rounded to the type

    def _of_bfloat16(self) -> None:
        """The exponents of float32, and eight bits of each number."""
        self.bits, self.eps, self.resolution = 16, 2.0**-7, 0.01
        self.tiny = self.smallest_normal = float(np.finfo(np.float32).smallest_normal)
        self.max = (2 - self.eps) * 2.0**127
        self.min = -self.max


class iinfo(_Limits):
    """The limits of an integer type.

    Parameters
    ----------
    type : dtype

    Attributes
    ----------
    bits, max, min : int
    dtype : str

    Examples
    --------
    >>> from funcgrad.torch.dtypes import iinfo, uint8
    >>> iinfo(uint8)
    iinfo(min=0, max=255, dtype=uint8)
    """

    _shown = ("min", "max")

    def __init__(self, type: dtype) -> None:
        given = checked("iinfo", "type", 1, type)
        if is_inexact(given):
            raise TypeError(
                "torch.iinfo() requires an integer input type. "
                "Use torch.finfo to handle 'torch.iinfo'"
            )
        if given is kinds.bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        limits = np.iinfo(given.numpy)
        self.dtype = given._name
        self.bits = limits.bits
        self.max = int(limits.max)
        self.min = int(limits.min)
