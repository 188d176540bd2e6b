"""Operations whose results PyTorch lays in C order: reductions, running sums, softmax.

NumPy keeps the order of the operand's axes. Where that is not C order, an operation is done with
the copy that puts it right, as one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from funcgrad.core.tracer import layout
from funcgrad.core.types import Array
from funcgrad.ops.shape import flat, reshape
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import WIDER, shape_of, widened
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.root import RootTracer

__all__ = ["BY_LAYOUT", "dense", "dense_composite", "dense_or"]

Dtypes = Mapping[np.dtype[Any], np.dtype[Any]]
BY_LAYOUT = {"layout": True}  # what such an operation does depends on how the operand lies


def dense(x: Array) -> Array:
    """`x` in C order."""
    shape = shape_of(x)
    return reshape(flat(x), shape) if len(shape) > 1 else x


def _is_dense(x: Any) -> bool:
    if type(x) is RootTracer:
        x = x.value
    return bool((x if type(x) is np.ndarray else layout(x)).flags.c_contiguous)


def dense_composite(
    name: str, function: Callable[..., Any], wider: Dtypes = WIDER, linear: bool = False,
    multiple: bool = False,
) -> Composite:  # fmt: skip
    """`function` as one operation: half precision is computed in single, results are `dense`."""
    compute = widened(function, wider)

    def laid(*xs: Array, **params: Any) -> Any:
        found = compute(*xs, **params)
        return tuple(map(dense, found)) if multiple else dense(found)

    return Composite(name, laid, linear, multiple=multiple)


def dense_or(
    name: str, core: Callable[..., Any], wider: Dtypes = WIDER, linear: bool = False
) -> Callable[..., Any]:
    """`core`, a primitive: one node; where dtype or layout ask for more, a `dense_composite`."""
    composite = dense_composite(name, core, wider, linear)

    def function(*xs: Any, **params: Any) -> Any:
        plain = dtype_of(xs[0]) not in wider and _is_dense(xs[0])
        return (core if plain else composite)(*xs, **params)

    return function
