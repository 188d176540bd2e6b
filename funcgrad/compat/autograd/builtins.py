"""autograd's substitutes for Python's containers: here Python's own, whose leaves are traced.

`isinstance` and `type` answer for the value behind a traced one, as autograd's do.
"""

from __future__ import annotations

import builtins
from typing import Any

from funcgrad.compat.autograd.tracer import getval

__all__ = ["dict", "isinstance", "list", "tuple", "type"]

dict, list, tuple = builtins.dict, builtins.list, builtins.tuple


def isinstance(x: Any, kinds: Any) -> bool:
    """`isinstance` of the value behind `x`.

    Examples
    --------
    >>> from funcgrad.compat.autograd import grad
    >>> from funcgrad.compat.autograd.builtins import isinstance
    >>> grad(lambda x: x if isinstance(x, float) else 2 * x)(1.0)
    np.float64(1.0)
    """
    return builtins.isinstance(x, kinds) or builtins.isinstance(getval(x), kinds)


def type(x: Any) -> Any:
    """`type` of the value behind `x`."""
    return builtins.type(getval(x))
