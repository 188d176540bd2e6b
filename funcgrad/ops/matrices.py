"""What linear algebra shares: checks, rows and columns, the adjoint, and matrices for samples.

It stands on arithmetic and shapes. Matrices are in the last two axes. With complex numbers a
cotangent is the conjugate of that of the literature: the vjp of x -> a x is g -> a g.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array, is_inexact
from funcgrad.errors import located
from funcgrad.ops.arithmetic import add, cast, conjugate, multiply
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import reshape, swap_last

__all__ = [
    "adjoint",
    "as_float",
    "column",
    "complex_",
    "definite",
    "drop",
    "hermitian",
    "real_dtype",
    "regular",
    "row",
    "square",
    "symmetric",
]


def as_float(x: Array) -> Array:
    """Integers as floats, as NumPy's linear algebra does."""
    aval = type_of(x)
    return x if is_inexact(aval.dtype) else cast(x, np.float64)


def square(x: Array, name: str) -> Array:
    """`x` with floats, and an error where it is no stack of square matrices."""
    x = as_float(operand(x))
    shape = type_of(x).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise np.linalg.LinAlgError(
            located(f"{name}: the last two axes have to be equal, the shape is {shape}")
        )
    return x


def adjoint(x: Array) -> Array:
    """The conjugate transpose."""
    return conjugate(swap_last(x))


def real_dtype(dtype: Any) -> Any:
    return np.zeros((), dtype).real.dtype


def row(x: Array) -> Array:
    """A vector as a matrix of one row."""
    return reshape(x, (*type_of(x).shape[:-1], 1, type_of(x).shape[-1]))


def column(x: Array) -> Array:
    """A vector as a matrix of one column."""
    return reshape(x, (*type_of(x).shape, 1))


def drop(x: Array) -> Array:
    """A matrix of one column as a vector."""
    return reshape(x, type_of(x).shape[:-1])


def symmetric(c: Array) -> Array:
    """The Hermitian part."""
    return multiply(0.5, add(c, adjoint(c)))


# ------------------------------------------------------------------------------- samples


def complex_(x: Any) -> Any:
    return x + 0.5j * draw(x.shape, seed=7)


def regular(*lead: int, n: int = 3, seed: int = 0) -> Any:
    """Matrices far from singular."""
    return draw((*lead, n, n), seed=seed) + 3.0 * np.eye(n)


def definite(*lead: int, n: int = 3, seed: int = 0) -> Any:
    """Positive definite matrices with different eigenvalues."""
    a = draw((*lead, n, n), seed=seed)
    return a @ np.swapaxes(a, -1, -2) + np.eye(n) * np.arange(1, n + 1)


def hermitian() -> Any:
    a = complex_(draw((3, 3)))
    return a @ a.conj().T + np.diag([1.0, 2.0, 3.0])
