"""Where elements are not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations.common import into, method
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.promotion import content

__all__ = ["argwhere", "nonzero"]


@method()
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not 0: as rows, or as a tuple of vectors."""
    x = known(content(input, "nonzero"), "nonzero()")
    if as_tuple:
        return tuple(box(i.copy()) for i in np.nonzero(np.atleast_1d(x)))
    return into(out, box(np.argwhere(x).astype(np.int64)), "nonzero")


@method()
def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not 0, as rows."""
    found: Tensor = nonzero(input)
    return found
