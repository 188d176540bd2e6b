"""What draws ask of their parameters: dtype, and the shape that they have together."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import operand, type_of
from funcgrad.errors import located
from funcgrad.random.keys import size_of, space

__all__ = ["Shape", "broadcast_shape", "float_type", "parameter"]

Shape = Any  # a tuple of int, or None for that of the parameters


def float_type(dtype: Any, what: str, complex_: bool = False) -> Any:
    """The dtype of a draw, float64 by default."""
    kind = np.dtype(np.float64 if dtype is None else dtype)
    if kind.kind != "f" and not (complex_ and kind.kind == "c"):
        raise ValueError(located(f"random.{what}: the dtype is a floating point one, not {kind}"))
    return kind


def parameter(x: Any, kind: Any) -> Any:
    """A parameter in the dtype of the draw."""
    if type(x) is float or type(x) is kind.type:
        return kind.type(x)
    xp = space(x)
    return xp.astype(xp.asarray(x), kind)


def broadcast_shape(shape: Shape, what: str, *parameters: Any) -> tuple[int, ...]:
    """The shape of a draw; by default that of its parameters, which it may not cut."""
    own: tuple[int, ...] = ()
    if any(type(p) is not float for p in parameters):
        own = np.broadcast_shapes(*(type_of(operand(p)).shape for p in parameters))
    if shape is None:
        return own
    wanted = size_of(shape)
    if not own:
        return wanted
    try:
        fits = np.broadcast_shapes(wanted, own) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            located(f"random.{what}: parameters of shape {own} do not broadcast to {wanted}")
        )
    return wanted
