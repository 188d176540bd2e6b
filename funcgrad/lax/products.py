"""`lax`'s products of matrices and tensors, and Fourier transforms."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand as content
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.lax.shapes import convert_element_type

__all__ = ["FftType", "Numbers", "Precision", "batch_matmul", "dot", "dot_general", "fft"]


class Precision(enum.Enum):
    """How exactly an accelerator shall multiply; here it is always the dtype's own precision.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.dot(np.eye(2), np.ones(2), precision=lax.Precision.HIGHEST)
    array([1., 1.])
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: Any) -> Precision | None:
        """By JAX's other names."""
        return _PRECISIONS.get(value)


_PRECISIONS = {
    None: Precision.DEFAULT, "default": Precision.DEFAULT, "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT, "high": Precision.HIGH, "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH, "highest": Precision.HIGHEST, "float32": Precision.HIGHEST,
}  # fmt: skip


Numbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Numbers,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The product of two arrays over any axes, with others side by side.

    Parameters
    ----------
    lhs, rhs : array
    dimension_numbers : ((lhs axes, rhs axes), (lhs axes, rhs axes))
        The axes that are multiplied and summed, and those that both keep.
    precision : optional
        Accepted; the result has the precision of its dtype.
    preferred_element_type : dtype, optional
        That in which to multiply and add, and of the result.

    Returns
    -------
    array
        The common axes first, then those left of `lhs`, then those left of `rhs`. It is linear in
        each operand.

    Raises
    ------
    TypeError
        The axes do not match in number or extent.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> x, y = np.ones((5, 2, 3)), np.ones((5, 3, 4))
    >>> lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
    (5, 2, 4)
    """
    a, b = content(lhs), content(rhs)
    one, two = type_of(a).shape, type_of(b).shape
    (sum_a, sum_b), (both_a, both_b) = (
        (_axes(l, one), _axes(r, two)) for l, r in dimension_numbers
    )
    matched = [one[k] for k in sum_a] == [two[k] for k in sum_b]
    if not matched or [one[k] for k in both_a] != [two[k] for k in both_b]:
        raise TypeError(
            located(
                f"dot_general: the axes {dimension_numbers} of arrays of shapes {one} and {two} "
                "do not match in number and extent"
            )
        )
    if preferred_element_type is not None:
        a = convert_element_type(a, preferred_element_type)
        b = convert_element_type(b, preferred_element_type)
    left = [k for k in range(len(one)) if k not in sum_a + both_a]
    right = [k for k in range(len(two)) if k not in sum_b + both_b]
    batch, rows = [one[k] for k in both_a], [one[k] for k in left]
    columns, inner = [two[k] for k in right], math.prod(one[k] for k in sum_a)
    x = fnp.reshape(fnp.transpose(a, (*both_a, *left, *sum_a)), (*batch, math.prod(rows), inner))
    y = fnp.reshape(
        fnp.transpose(b, (*both_b, *sum_b, *right)), (*batch, inner, math.prod(columns))
    )
    out = fnp.reshape(fnp.matmul(x, y), (*batch, *rows, *columns))
    return out if type_of(content(out)).ndim else out[()]


def _axes(given: Sequence[int], shape: tuple[int, ...]) -> list[int]:
    return [int(k) % len(shape) if -len(shape) <= k < len(shape) else int(k) for k in given]


def dot(
    lhs: Any,
    rhs: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    dimension_numbers: Numbers | None = None,
) -> Array:
    """The product of vectors and matrices; with `dimension_numbers`, `dot_general`.

    Raises
    ------
    TypeError
        An operand has more than two axes, or the extents do not match.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.dot(np.eye(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    if dimension_numbers is None:
        ranks = type_of(content(lhs)).ndim, type_of(content(rhs)).ndim
        if not all(1 <= n <= 2 for n in ranks):
            raise TypeError(
                located(
                    f"dot: vectors and matrices are multiplied, not {ranks[0]} and {ranks[1]} axes"
                )
            )
        dimension_numbers = (((ranks[0] - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Array:
    """The products of stacks of matrices; their leading axes are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.batch_matmul(np.ones((5, 2, 3)), np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    rank = type_of(content(lhs)).ndim
    batch = tuple(range(rank - 2))
    return dot_general(lhs, rhs, (((rank - 1,), (rank - 2,)), (batch, batch)), precision)


class FftType(enum.IntEnum):
    """Which Fourier transform: forward or back, of complex numbers or of real ones.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.fft([1.0, 1.0], lax.FftType.RFFT, (2,))
    array([2.+0.j, 0.+0.j])
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3

    @classmethod
    def of(cls, given: Any) -> FftType:
        """By itself, its number or its name, in letters of either size."""
        if isinstance(given, str) and given.upper() in cls.__members__:
            return cls[given.upper()]
        if given not in list(cls):
            names = ", ".join(cls.__members__)
            raise ValueError(located(f"fft: the type is one of {names}, not {given!r}"))
        return cls(given)


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The Fourier transform along the last axes, as many as `fft_lengths`.

    Raises
    ------
    ValueError
        A length is not that of its axis (of the result, for "IRFFT"), or there is no such type.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.fft(np.array([1.0, 1.0]), "RFFT", (2,))
    array([2.+0.j, 0.+0.j])
    """
    kind = FftType.of(fft_type)
    lengths = tuple(int(n) for n in fft_lengths)
    axes = tuple(range(-len(lengths), 0))
    shape = type_of(content(x)).shape[len(axes) * -1 :] if axes else ()
    wanted = (*lengths[:-1], lengths[-1] // 2 + 1) if kind is FftType.IRFFT else lengths
    if shape != wanted:
        raise ValueError(
            located(f"fft: fft_lengths={lengths} do not fit the last axes {shape} ({kind.name})")
        )
    name = kind.name.lower() + "n"
    single = type_of(content(x)).dtype in (np.float32, np.complex64)
    found = getattr(fnp.fft, name)(x, lengths, axes)
    if single:
        real = type_of(content(found)).dtype.kind == "f"
        found = convert_element_type(found, np.float32 if real else np.complex64)
    return found
