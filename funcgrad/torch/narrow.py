"""Operations on bfloat16: they compute in float32, and what they give is rounded once.

That is how PyTorch's kernels do it. It is stated here for all operations: whatever has an operand
of bfloat16 is applied to the same numbers in float32, and its results of float32 become bfloat16,
as one node. Casts around an operation of the core have derivatives that cast back, so the
cotangents are rounded, too, where they leave the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.bfloat16 import BFLOAT16, rounded
from funcgrad.core.forms import Elementwise
from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.ops.arithmetic import cast, divide, floor_divide, multiply
from funcgrad.torch.dtypes import bfloat16, dtype

__all__ = ["in_single", "in_kind", "is_half", "is_narrow", "number_of", "refuse_bytes", "settle"]

SINGLE = np.dtype(np.float32)
# of a Python number PyTorch takes more than bfloat16 has where it multiplies or divides
OF_EXACT_NUMBERS = (multiply, divide, floor_divide)


def is_half(kind: np.dtype[Any]) -> bool:
    """Whether a dtype has 16 bits: those for which many of PyTorch's kernels are missing."""
    return kind == np.float16 or not kind.isnative


def is_narrow(x: Any) -> bool:
    """Whether an operand is of bfloat16."""
    if isinstance(x, np.ndarray):
        return not x.dtype.isnative
    return isinstance(x, Tracer) and not type_of(x).dtype.isnative


def number_of(x: Any) -> float:
    """A Python number as an operand next to bfloat16: rounded to it, as a tensor would be."""
    return float(rounded(x))


def in_single(core: Callable[..., Any]) -> Callable[..., Any]:
    """`core`, computed in float32 where an operand is of bfloat16, and rounded to that."""
    elementwise = isinstance(getattr(core, "primitive", None), Elementwise)

    def function(*xs: Array, **params: Any) -> Any:
        narrow = [is_narrow(x) for x in xs]
        if not any(narrow):
            return core(*xs, **params)
        single = [cast(x, SINGLE) if n else x for x, n in zip(xs, narrow, strict=True)]
        if elementwise and core not in OF_EXACT_NUMBERS:
            single = [number_of(x) if isinstance(x, (float, np.float32)) else x for x in single]
        found = core(*single, **params)
        return tuple(map(_back, found)) if type(found) is tuple else _back(found)

    return function


def _back(x: Any) -> Any:
    return cast(x, BFLOAT16) if type_of(x).dtype == SINGLE else x


def in_kind(x: np.ndarray[Any, Any], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array of one's own in a dtype, rounded to it."""
    return x.astype(kind) if kind.isnative else rounded(x)


def refuse_bytes(what: str, *kinds: dtype) -> None:
    """Raise where the bytes of elements are asked for, and a dtype is bfloat16."""
    if bfloat16 in kinds:
        raise UnsupportedCallError(
            located(
                f"{what} of bfloat16 is not supported: in memory a number of bfloat16 has four "
                "bytes here, of which two are zero; convert it with .float(), or save it"
            )
        )


def settle(x: np.ndarray[Any, Any]) -> None:
    """Round the numbers of an array of bfloat16 that NumPy has written, in place."""
    words = x.view(np.dtype(np.uint32).newbyteorder("S"))
    if x.flags.writeable and np.any(words & 0xFFFF):
        np.copyto(x, rounded(x))
