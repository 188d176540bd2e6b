"""Where elements are not zero, and which are among others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, type_of
from funcgrad.ops.shape import stack
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations.common import into, method
from funcgrad.torch.operations.comparison import known, selected
from funcgrad.torch.operations.promotion import NUMBERS, content

__all__ = ["argwhere", "isin", "nonzero", "unravel_index"]


@method()
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not 0: as rows, or as a tuple of vectors."""
    found = content(input, "nonzero")
    if as_tuple:
        at = selected(found, "nonzero()")
        return tuple(box(i.copy() if isinstance(i, np.ndarray) else i) for i in at)
    if not concrete(found) and type_of(found).shape:
        return into(out, box(stack(list(selected(found, "nonzero()")), 1)), "nonzero")
    x = known(found, "nonzero()")
    return into(out, box(np.argwhere(x).astype(np.int64)), "nonzero")


@method()
def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not 0, as rows."""
    found: Tensor = nonzero(input)
    return found


def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Whether each element is one of `test_elements`; one of the two may be a number."""
    given = (elements, test_elements)
    if not all(isinstance(x, (Tensor, *NUMBERS)) for x in given) or not any(
        isinstance(x, Tensor) for x in given
    ):
        kinds = ", ".join(type(x).__name__ for x in given)
        raise TypeError(
            f"isin() received an invalid combination of arguments - got ({kinds}), but expected "
            "(Tensor elements, Tensor test_elements, *, bool assume_unique = False, bool invert = "
            "False, Tensor out = None)"
        )
    x, y = (known(x.content() if isinstance(x, Tensor) else x, "isin()") for x in given)
    return into(out, box(np.asarray(np.isin(x, y, assume_unique, invert))[()]), "isin")


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The index of each dimension for positions in the flattened tensor of a shape."""
    x = known(content(indices, "unravel_index", "indices"), "unravel_index()")
    if np.asarray(x).dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(sizes)
    if not size:
        raise ValueError(f"expected 'shape' without a dimension of size 0, but got {sizes}")
    return tuple(box(np.asarray(k)[()]) for k in np.unravel_index(np.remainder(x, size), sizes))
