"""Tensors of random numbers for tests, as `torch.testing.make_tensor` draws them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import funcgrad.torch as torch
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor

__all__ = ["make_tensor"]

EMPTY_RANGE = (
    "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
    "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead."
)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of numbers that are drawn evenly from ``[low, high)``.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : torch.dtype
    device : torch.device or str
    low, high : float, optional
        -9 and 9, for integers -9 and 10, for bool 0 and 2; what the dtype cannot have is cut off.
    requires_grad : bool, optional
    noncontiguous : bool, optional
        Whether it is every second element of a larger tensor.
    exclude_zero : bool, optional
        Whether zeros become the smallest number above.
    memory_format : torch.memory_format, optional

    Raises
    ------
    ValueError
        A range that is empty, NaN or outside of the dtype; a layout asked for twice; a gradient of
        whole numbers.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu", low=0, high=1)
    >>> x.shape, bool((x >= 0).all() and (x < 1).all())
    (torch.Size([2, 3]), True)
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = tuple(shape[0])
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"{noncontiguous=} and {memory_format=}"
        )
    if requires_grad and whole:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"{dtype=}"
        )
    noncontiguous = noncontiguous and math.prod(shape) > 1
    drawn = (*shape[:-1], 2 * shape[-1]) if noncontiguous else shape
    found = _drawn(drawn, dtype, device, _range(dtype, whole, low, high), whole)
    if noncontiguous:
        found = found[..., 1::2]
    elif memory_format is not None:
        found = found.clone(memory_format=memory_format)
    if exclude_zero:
        found[found == 0] = 1 if whole else torch.finfo(dtype).tiny
    return found if whole else found.requires_grad_(requires_grad)


def _limits(dtype: Any, whole: bool) -> tuple[float, float]:
    """The least number of a dtype, and what all are below."""
    if dtype is torch.bool:
        return 0, 2
    found = torch.iinfo(dtype) if whole else torch.finfo(dtype)
    # the end of a range of int64 has to be an int64 itself
    return found.min, found.max + (1 if whole and dtype is not torch.int64 else 0)


def _range(dtype: Any, whole: bool, low: Any, high: Any) -> tuple[Any, Any]:
    """Between which numbers is drawn."""
    least, end = _limits(dtype, whole)
    usual = (0, 2) if dtype is torch.bool else (-9, 10 if whole else 9)
    low, high = (usual[0] if low is None else low), (usual[1] if high is None else high)
    if any(isinstance(x, float) and math.isnan(x) for x in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and not whole:
        warnings.warn(EMPTY_RANGE, FutureWarning, stacklevel=outside())
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{least}, {end})"
        )
    low, high = (min(max(x, least), end) for x in (low, high))
    return (math.ceil(low), math.ceil(high)) if whole else (low, high)


def _drawn(shape: Any, dtype: Any, device: Any, between: tuple[Any, Any], whole: bool) -> Tensor:
    low, high = between
    if whole:
        numbers: Tensor = torch.randint(low, high, shape, device=device, dtype=dtype)
        return numbers
    found: Tensor = torch.empty(shape, device=device, dtype=dtype)
    filled = torch.view_as_real(found) if dtype.is_complex else found
    if high - low >= torch.finfo(dtype).max:  # more than `uniform_` takes
        filled.uniform_(low / 2, high / 2).mul_(2)
    else:
        filled.uniform_(low, high)
    return found
