"""Products of matrices that are given with scales of their blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located

__all__ = ["scaled_matmul"]


def scaled_matmul(
    lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, preferred_element_type: Any = np.float32
) -> Array:
    """``lhs @ rhs.T`` for each example, with a scale for every block of the rows.

    Parameters
    ----------
    lhs, rhs : array (B, M, K) and (B, N, K)
    lhs_scales, rhs_scales : array (B, M, K / block) and (B, N, K / block)
        What the elements of a block are multiplied with.
    preferred_element_type : dtype, optional
        That in which to multiply and add, and of the result.

    Returns
    -------
    array (B, M, N)
        Linear in each of the four.

    Raises
    ------
    ValueError
        The shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> a, b = np.array([[[1.0, 2.0, 3.0]]]), np.array([[[4.0, 5.0, 6.0]]])
    >>> fg.nn.scaled_matmul(a, b, np.array([[[0.5]]]), np.array([[[0.5]]]))
    array([[[8.]]], dtype=float32)
    """
    kind = np.dtype(preferred_element_type)
    one, two = type_of(operand(lhs)).shape, type_of(operand(rhs)).shape
    if len(one) != 3 or len(two) != 3 or (one[0], one[2]) != (two[0], two[2]):
        raise ValueError(
            located(f"scaled_matmul: (B, M, K) and (B, N, K) are multiplied, not {one} and {two}")
        )
    a, b = _scaled(lhs, lhs_scales, one, kind), _scaled(rhs, rhs_scales, two, kind)
    return fnp.matmul(a, fnp.swapaxes(b, -1, -2))


def _scaled(x: Any, scales: Any, shape: tuple[int, ...], kind: Any) -> Any:
    own = type_of(operand(scales)).shape
    if own[:-1] != shape[:-1] or not own[-1] or shape[-1] % own[-1]:
        raise ValueError(
            located(f"scaled_matmul: scales of shape {own} do not divide rows of shape {shape}")
        )
    each = fnp.repeat(fnp.astype(fnp.asarray(scales), kind), shape[-1] // own[-1], axis=-1)
    return fnp.astype(fnp.asarray(x), kind) * each
