"""Products of matrices that are given with scales of their blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.lax.groups import scaled_dot

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
    one, two = type_of(operand(lhs)).shape, type_of(operand(rhs)).shape
    if len(one) != 3 or len(two) != 3 or (one[0], one[2]) != (two[0], two[2]):
        raise ValueError(
            located(f"scaled_matmul: (B, M, K) and (B, N, K) are multiplied, not {one} and {two}")
        )
    numbers = (((2,), (2,)), ((0,), (0,)))
    return scaled_dot(
        lhs,
        rhs,
        lhs_scale=lhs_scales,
        rhs_scale=rhs_scales,
        dimension_numbers=numbers,
        preferred_element_type=preferred_element_type,
    )
