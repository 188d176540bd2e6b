"""The contents of operands in the dtype in which PyTorch computes an operation.

A tensor with dimensions outranks one without, which outranks a Python number (`dtypes`). Python
numbers stay Python numbers where that changes nothing, so that the core need not make arrays.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import cast
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.root import RootTracer

__all__ = [
    "NUMBERS",
    "category",
    "content",
    "contents",
    "dtype_of",
    "floating",
    "floats_only",
    "in_dtype",
    "kind_of",
    "number",
    "pair",
    "promoted",
    "typename",
    "wrapped",
    "wrong_type",
]

NUMBERS = (int, float, complex, bool, np.number, np.bool_)
UNSAFE = {"casting": "unsafe"}


def dtype_of(x: Array) -> np.dtype[Any]:
    """The NumPy dtype of a content."""
    if type(x) is RootTracer:
        return x.value.dtype  # type: ignore[no-any-return]
    return type_of(x).dtype


def kind_of(x: Array) -> dtypes.dtype:
    """The dtype of a content."""
    return dtypes.from_numpy_dtype(dtype_of(x))


def wrong_type(function: str, argument: str, position: int, wanted: str, x: Any) -> NoReturn:
    """Raise PyTorch's TypeError for an argument of the wrong type."""
    raise TypeError(
        f"{function}(): argument '{argument}' (position {position}) must be {wanted}, not "
        f"{typename(x)}"
    )


def typename(x: Any) -> str:
    """The type of an argument as PyTorch's messages name it."""
    given = type(x)
    return f"numpy.{given.__name__}" if given.__module__ == "numpy" else given.__name__


def content(x: Any, function: str, argument: str = "input", position: int = 1) -> Array:
    """The content of a tensor; PyTorch's TypeError for anything else."""
    if isinstance(x, Tensor):
        return x.content()
    if isinstance(x, Tracer):
        return x
    wrong_type(function, argument, position, "Tensor", x)


def contents(xs: Any, function: str, argument: str = "tensors") -> list[Array]:
    """The contents of a sequence of tensors."""
    if isinstance(xs, Tensor) or not isinstance(xs, (tuple, list)):
        wrong_type(function, argument, 1, "tuple of Tensors", xs)
    for k, x in enumerate(xs):
        if not isinstance(x, (Tensor, Tracer)):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0, but got {type(x).__name__}"
            )
    return [content(x, function) for x in xs]


def category(x: Any, c: Array) -> dtypes.Operand:
    """An operand as promotion sees it: the argument `x` with its content `c`."""
    if not isinstance(x, (Tensor, Tracer)):
        return dtypes.Operand(dtypes.number_dtype(x), "number")
    kind = type_of(c)
    found: dtypes.Category = "tensor" if kind.shape else "scalar"
    return dtypes.Operand(dtypes.from_numpy_dtype(kind.dtype), found)


def wrapped(x: Any, target: np.dtype[Any]) -> Any:
    """A Python number as a scalar of a dtype; integers wrap round, as operands do in PyTorch."""
    if isinstance(x, (int, np.integer)) and not -(1 << 63) <= x < 1 << 64:
        raise OverflowError("int too big to convert")
    if isinstance(x, complex) and target.kind not in "c":
        x = x.real
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(target, **UNSAFE)[()]  # type: ignore[call-overload]


def number(x: Any, target: np.dtype[Any]) -> Any:
    """A Python number as a scalar of a dtype, which must hold it; the sign of a uint8 wraps."""
    found = wrapped(x, target)
    if type(x) is bool or target.kind == "b" or _holds(target, x, found):
        return found
    kind = dtypes.from_numpy_dtype(target)
    name = f"int{8 * target.itemsize}_t" if kind in SIZED else dtypes.c_name(kind)
    name = "uint8_t" if kind is dtypes.uint8 else name
    raise RuntimeError(f"value cannot be converted to type {name} without overflow")


SIZED = (dtypes.int8, dtypes.int16, dtypes.int64)


def _holds(target: np.dtype[Any], x: Any, found: Any) -> bool:
    """Whether `found`, a number in a dtype, is `x` but for rounding."""
    if target.kind == "c":
        return cmath.isfinite(found) or not cmath.isfinite(x)
    if isinstance(x, complex):
        if x.imag:
            return False
        x = x.real
    if target.kind == "f":
        return bool(np.isfinite(found)) or not math.isfinite(x)
    if not math.isfinite(x):
        return False
    limits = np.iinfo(target)
    low = limits.min if target.kind == "i" else -limits.max
    return bool(low <= int(x) <= limits.max)


def promoted(function: str, *xs: Any, floats: bool = False, exact: bool = False) -> list[Array]:
    """The contents of the operands, cast to the dtype that PyTorch gives the result.

    With `floats` integers and booleans become the default floating type; with `exact` Python
    numbers must fit into the dtype.
    """
    cs = [
        x if isinstance(x, NUMBERS) else content(x, function, "other" if i else "input", i + 1)
        for i, x in enumerate(xs)
    ]
    kind = dtypes.result_dtype([category(x, c) for x, c in zip(xs, cs, strict=True)])
    if floats:
        kind = dtypes.floating_dtype(kind)
    target, as_scalar = kind.numpy, number if exact else wrapped
    return [
        in_dtype(c, target) if isinstance(x, (Tensor, Tracer)) else as_scalar(c, target)
        for x, c in zip(xs, cs, strict=True)
    ]


class Pending:
    """An operand that its operation has still to cast: the cast belongs to the operation's node."""

    __slots__ = ("content", "dtype", "shape")

    def __init__(self, content: RootTracer, dtype: np.dtype[Any]) -> None:
        self.content, self.dtype, self.shape = content, dtype, type_of(content).shape


def in_dtype(c: Array, target: np.dtype[Any]) -> Array:
    """A content in a dtype; what requires grad is cast by the operation that takes it."""
    if type(c) is RootTracer and c.node is not None and c.value.dtype != target:
        return Pending(c, target)
    return cast(c, target)


def pair(function: str, x: Any, y: Any, floats: bool = False) -> Sequence[Array]:
    """The contents of two operands in one dtype; a Python number may stay one."""
    if isinstance(x, Tensor):
        a = x.content()
        if isinstance(y, Tensor):
            b = y.content()
            if (kind := dtype_of(a)) is dtype_of(b) and (not floats or kind.kind in "fc"):
                return a, b
        elif (type(y) is float or type(y) is int) and (
            dtype_of(a).kind in "fc" or (type(y) is int and not floats and _fits(a, y))
        ):
            return a, y
    elif isinstance(y, Tensor) and (type(x) is float or type(x) is int):
        b = y.content()
        if dtype_of(b).kind in "fc":
            return x, b
    return promoted(function, x, y, floats=floats)


def _fits(a: Array, y: int) -> bool:
    kind = dtype_of(a)
    return kind.kind == "i" and -(1 << 31) <= y < 1 << 31 and kind.itemsize >= 4


def floating(function: str, x: Any) -> Array:
    """The content of a tensor; integers become the default floating type."""
    c = content(x, function)
    if dtype_of(c).kind in "fc":
        return c
    return cast(c, dtypes.get_default_dtype().numpy)


def floats_only(function: str, x: Any, wanted: str = "fc") -> Array:
    """The content of a tensor for which PyTorch has no kernel of integers."""
    c = content(x, function)
    if dtype_of(c).kind not in wanted:
        raise NotImplementedError(
            f"\"{function}\" not implemented for '{dtypes.scalar_name(kind_of(c))}'"
        )
    return c
