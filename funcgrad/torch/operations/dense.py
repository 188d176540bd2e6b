"""Operations whose results PyTorch lays in C order: reductions, running sums, softmax, joins.

NumPy keeps the order of the operand's axes. Where that is not C order, an operation is done with
the copy that puts it right, as one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from funcgrad.core.primitive import PRIMITIVES
from funcgrad.core.tracer import layout
from funcgrad.core.types import Array
from funcgrad.torch.c_order import LAID
from funcgrad.torch.composite import Composite
from funcgrad.torch.memory_formats import dense
from funcgrad.torch.operations.common import WIDER, widened
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.root import RootTracer

__all__ = [
    "dense_composite", "dense_or",
]  # fmt: skip

Dtypes = Mapping[np.dtype[Any], np.dtype[Any]]


def _is_dense(x: Any) -> bool:
    """Whether the operation of the core lays its result in order: large ones are taken care of."""
    if type(x) is RootTracer:
        if (x.kind is None or x.kind.large) and type(x.value) is np.ndarray:
            return True
        x = x.value
    return bool((x if type(x) is np.ndarray else layout(x)).flags.c_contiguous)


def dense_composite(
    name: str, function: Callable[..., Any], wider: Dtypes = WIDER, linear: bool = False,
    multiple: bool = False, fixed: int = 0,
) -> Composite:  # fmt: skip
    """`function` as one operation: half precision is computed in single, results are `dense`."""
    compute = widened(function, wider)

    def laid(*xs: Array, **params: Any) -> Any:
        found = compute(*xs, **params)
        return tuple(map(dense, found)) if multiple else dense(found)

    return Composite(name, laid, linear, fixed, multiple=multiple)


def dense_or(
    name: str, core: Callable[..., Any], wider: Dtypes = WIDER, linear: bool = False
) -> Callable[..., Any]:
    """`core`, a primitive: one node; where dtype or layout ask for more, a `dense_composite`."""
    composite = dense_composite(name, core, wider, linear)
    LAID.add(getattr(core, "primitive", None) or PRIMITIVES[core.__name__])

    def function(*xs: Any, **params: Any) -> Any:
        plain = dtype_of(xs[0]) not in wider and _is_dense(xs[0])
        return (core if plain else composite)(*xs, **params)

    return function
