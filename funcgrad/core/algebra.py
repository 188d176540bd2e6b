"""The few operations on which the forms are built.

`ops` is above `core`, yet the derivative of every form needs a sum, a product and a cast. They
are looked up here by name; `ops` and `transforms` put their functions in when they are imported.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Algebra", "algebra"]


class Algebra:
    """Late-bound operations: every attribute is a function of operands."""

    add: Any  # add(x, y)
    cast: Any  # cast(x, dtype)
    where: Any  # where(condition, x, y)
    negative: Any  # negative(x)
    scale: Any  # scale(g, d): g * d in the dtype of g
    unbroadcast: Any  # unbroadcast(c, type): sum over broadcast axes, then cast, to `type`
    broadcast: Any  # broadcast(x, shape, dtype)
    zero_dim: Any  # zero_dim(x): a scalar as an array without axes
    reshape: Any  # reshape(x, shape)
    stack: Any  # stack(list of operands) along a new axis 0
    getitem: Any  # getitem(x, index): x[index] for a basic index
    sum: Any  # sum(x, axes)
    scatter: Any  # scatter(type, index, g): a cotangent that is zero but at a basic index
    transposed: Any  # transposed(fn, operands, types, cotangents, derived, key): of a linear fn


algebra = Algebra()
