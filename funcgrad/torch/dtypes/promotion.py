"""PyTorch's rules of promotion: which dtype an operation gives.

It depends on the dtypes of the operands and on their *categories*: a tensor with dimensions
outranks a tensor without, which outranks a Python number; within a category the types are joined.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from funcgrad.torch.dtypes import kinds
from funcgrad.torch.dtypes.kinds import (
    Default,
    checked,
    default_complex_dtype,
    dtype,
    from_numpy_dtype,
    is_inexact,
)

__all__ = [
    "Category", "Operand", "can_cast", "floating_dtype", "number_dtype", "promote_types",
    "result_dtype",
]  # fmt: skip


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that both types are cast to when they meet as equals.

    A floating type does not grow when it meets an integer, unlike NumPy's.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import float16, int8, int64, promote_types, uint8
    >>> promote_types(int64, float16), promote_types(int8, uint8)
    (torch.float16, torch.int16)
    """
    return _joined(
        checked("promote_types", "type1", 1, type1), checked("promote_types", "type2", 2, type2)
    )


@functools.cache
def _joined(a: dtype, b: dtype) -> dtype:
    inexact = [kind for kind in (a, b) if is_inexact(kind)]
    if not inexact:
        return from_numpy_dtype(np.promote_types(a.numpy, b.numpy))
    parts = {kind.to_real() for kind in inexact}
    widest = max(parts, key=lambda kind: kind.itemsize)
    if parts == {kinds.float16, kinds.bfloat16}:  # neither holds the other
        widest = kinds.float32
    return widest.to_complex() if a.is_complex or b.is_complex else widest


_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def _rank(kind: dtype) -> int:
    """The place of a type among boolean, integer, floating and complex."""
    return _RANKS[kind.numpy.kind]


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of one type may be written to a tensor of another, as ``x += y`` does.

    Values may be rounded or wrapped; only complex to real, floating to integer, and anything to
    boolean are refused.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import can_cast, float32, float64, int64
    >>> can_cast(float64, float32), can_cast(float32, int64)
    (True, False)
    """
    return _rank(checked("can_cast", "from_", 1, from_)) <= _rank(checked("can_cast", "to", 2, to))


Category = Literal["tensor", "scalar", "number"]
"""A tensor with dimensions, a tensor without, a Python number: in the order of their say."""


class Operand(NamedTuple):
    """What promotion looks at in an operand: its type, and its category.

    The width of a ``"number"`` of a floating or complex type means nothing: it is the default's.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import Operand, int64
    >>> Operand(int64, "scalar")
    Operand(dtype=torch.int64, category='scalar')
    """

    dtype: dtype
    category: Category


def result_dtype(operands: Iterable[Operand]) -> dtype:
    """The type to which the operands of an operation are cast before it is computed.

    Parameters
    ----------
    operands : iterable of (dtype, category)
        The category is ``"tensor"`` (with dimensions), ``"scalar"`` (a tensor without) or
        ``"number"`` (of Python).

    Returns
    -------
    dtype
        That of the highest category there is, unless a lower one is of a higher kind: boolean,
        integer, floating, complex.

    Raises
    ------
    ValueError
        There are no operands.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import Operand, float32, float64, int64, result_dtype
    >>> result_dtype([Operand(float32, "tensor"), Operand(float64, "scalar")])
    torch.float32
    >>> result_dtype([Operand(int64, "tensor"), Operand(float64, "number")])
    torch.float32
    """
    return _result(tuple(operands), Default.kind)


@functools.lru_cache(4096)
def _result(operands: tuple[Operand, ...], default: dtype) -> dtype:
    if not operands:
        raise ValueError("At least one operand is needed to find the dtype of a result.")
    highest: dict[str, dtype] = {}
    for kind, category in operands:
        if category == "number" and is_inexact(kind):
            kind = default.to_complex() if kind.is_complex else default
        highest[category] = _joined(highest.get(category, kind), kind)
    ordered = [highest[c] for c in ("number", "scalar", "tensor") if c in highest]
    return functools.reduce(_outranked, ordered)


def _outranked(lower: dtype, higher: dtype) -> dtype:
    """The type of a category once the one above it had its say."""
    if higher.is_floating_point and lower.is_complex:
        return higher.to_complex()
    return _joined(higher, lower) if _rank(lower) > _rank(higher) else higher


def number_dtype(value: complex | np.generic) -> dtype:
    """The type of a tensor that is made of a Python (or NumPy) number.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import number_dtype
    >>> number_dtype(True), number_dtype(3), number_dtype(3.0), number_dtype(3j)
    (torch.bool, torch.int64, torch.float32, torch.complex64)
    """
    if isinstance(value, (bool, np.bool_)):
        return kinds.bool
    if isinstance(value, (int, np.integer)):
        return kinds.int64
    if isinstance(value, (float, np.floating)):
        return Default.kind
    if isinstance(value, (complex, np.complexfloating)):
        return default_complex_dtype()
    raise TypeError(f"A number is needed, not {type(value).__name__}.")


def floating_dtype(kind: dtype) -> dtype:
    """The type in which functions such as ``sin`` and divisions are computed.

    Integers and booleans become the default type, the others stay.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import float64, floating_dtype, int8
    >>> floating_dtype(int8), floating_dtype(float64)
    (torch.float32, torch.float64)
    """
    return kind if is_inexact(kind) else Default.kind
