"""Defaults of parameters as a type of Numba's: what a function was not given stays a constant.

Numba makes a variable of a default, whose value is no longer known; here it is looked up again by
its name when the call is compiled.
"""

from __future__ import annotations

from typing import Any

from numba import types as _types
from numba.core.imputils import lower_constant as _lower_constant
from numba.extending import models, register_model, typeof_impl

__all__ = ["Default", "DefaultType"]

types: Any = _types  # half annotated
lower_constant: Any = _lower_constant


class Default:
    """Stands for the default of a parameter."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class DefaultType(types.Opaque):  # type: ignore[misc]
    """The type of one default: each is its own, and is that of its value only."""

    def __init__(self, default: Default) -> None:
        self.default = default
        super().__init__(f"Default({id(default)})")


register_model(DefaultType)(models.OpaqueModel)


@typeof_impl.register(Default)
def _typeof(default: Any, context: Any) -> Any:
    return DefaultType(default)


def _constant(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_dummy_value()


lower_constant(DefaultType)(_constant)
