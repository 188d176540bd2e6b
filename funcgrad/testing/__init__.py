"""Checks of derivatives and transforms, and strategies of hypothesis for their arguments.

`check_grads`, `check_jvp` and `check_vjp` compare derivatives with differences, `check_vmap` and
`check_jit` a transform with the function, `check_all` everything with everything.
`funcgrad.testing.strategies` is imported on first use, with hypothesis.
"""

from typing import TYPE_CHECKING

from funcgrad.core.boundary import publish
from funcgrad.testing.agree import check_all, check_jit, check_vmap
from funcgrad.testing.check import check_grads, check_jvp, check_vjp, derivative_along

if TYPE_CHECKING:
    from funcgrad.testing import strategies as strategies

__all__ = [
    "check_all",
    "check_grads",
    "check_jit",
    "check_jvp",
    "check_vjp",
    "check_vmap",
    "derivative_along",
    "strategies",
]

publish(__name__, later=("strategies",))
