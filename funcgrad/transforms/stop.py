"""`stop_gradient`: a value as a constant."""

from __future__ import annotations

from typing import Any

from funcgrad.core.tracer import bind
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.transforms.arguments import leaves_of, rebuild

__all__ = ["stop_gradient"]


def stop_gradient(x: Any) -> Any:
    """`x` as a constant: no derivative of any order passes.

    Parameters
    ----------
    x : tree of arrays

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: x * fg.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    leaves, definition = leaves_of(x, "the argument of stop_gradient")
    return rebuild(definition, [bind(STOP_GRADIENT, (leaf,)) for leaf in leaves])
