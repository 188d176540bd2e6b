"""Where elements are not zero, and which are among others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, type_of
from funcgrad.ops.shape import stack
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations.comparison import known, selected
from funcgrad.torch.operations.record import operation

__all__ = ["argwhere", "isin", "nonzero", "unravel_index"]


@operation(
    "nonzero", "input, *, out | input, *, bool as_tuple",
    method_signature="input | input, *, bool as_tuple", variants="method",
)  # fmt: skip
def nonzero(input: Tensor, as_tuple: bool | None = None) -> Any:
    """The positions of the elements that are not 0: as rows, or as a tuple of vectors."""
    found = input.content()
    if as_tuple:
        at = selected(found, "nonzero()")
        return tuple(box(i.copy() if isinstance(i, np.ndarray) else i) for i in at)
    if not concrete(found) and type_of(found).shape:
        return box(stack(list(selected(found, "nonzero()")), 1))
    return box(np.argwhere(known(found, "nonzero()")).astype(np.int64))


@operation("argwhere", "input", variants="method")
def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not 0, as rows."""
    found: Tensor = nonzero(input)
    return found


OPTIONS = "*, bool assume_unique=False, bool invert=False, out"


@operation(
    "isin",
    f"Tensor elements, Tensor test_elements, {OPTIONS} | Number element, Tensor test_elements, "
    f"{OPTIONS} | Tensor elements, Number test_element, {OPTIONS}",
    variants="",
)  # fmt: skip
def isin(
    elements: Any, test_elements: Any, assume_unique: bool, invert: bool, element: Any,
    test_element: Any,
) -> Tensor:  # fmt: skip
    """Whether each element is one of `test_elements`; one of the two may be a number."""
    given = (element if elements is None else elements,
             test_element if test_elements is None else test_elements)  # fmt: skip
    x, y = (known(x.content() if isinstance(x, Tensor) else x, "isin()") for x in given)
    return box(np.asarray(np.isin(x, y, assume_unique, invert))[()])


@operation("unravel_index", "Tensor indices, dims shape", variants="")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The index of each dimension for positions in the flattened tensor of a shape."""
    x = known(indices.content(), "unravel_index()")
    if np.asarray(x).dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(sizes)
    if not size:
        raise ValueError(f"expected 'shape' without a dimension of size 0, but got {sizes}")
    return tuple(box(np.asarray(k)[()]) for k in np.unravel_index(np.remainder(x, size), sizes))
