"""autograd's names for traced values: `Box`, `isbox`, `getval`, and for looking at them: `trace`.

A traced value of funcgrad is no class of its own for each container: lists, tuples and dicts stay
what they are, and their leaves are traced.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from funcgrad.compat.autograd.nodes import Node, trace
from funcgrad.core.tracer import Operand, value
from funcgrad.errors import UnsupportedCallError, located

__all__ = ["Box", "Node", "getval", "isbox", "notrace_primitive", "trace"]

Function = Callable[..., Any]


class _OfBoxes(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Operand)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, Operand)


class Box(metaclass=_OfBoxes):
    """What ``isinstance(x, Box)`` asks for: a traced value.

    Raises
    ------
    UnsupportedCallError
        From `register`: containers of funcgrad are registered with `funcgrad.tree.register_node`.
    """

    @classmethod
    def register(cls, value_type: type) -> None:
        """autograd's way to trace a class of the user's."""
        raise UnsupportedCallError(
            located(
                f"Box.register: to differentiate with respect to {value_type.__name__!r}, give its "
                "parts to funcgrad.tree.register_node(class, flatten, unflatten)"
            )
        )


def isbox(x: Any) -> bool:
    """Whether a value is traced."""
    return isinstance(x, Operand)


def getval(x: Any) -> Any:
    """The number or array behind a traced value, which carries no gradient.

    Raises
    ------
    AbstractValueError
        Under `funcgrad.jit` and `funcgrad.vmap`, where there is none.

    Examples
    --------
    >>> from funcgrad.compat.autograd import grad
    >>> from funcgrad.compat.autograd.tracer import getval
    >>> grad(lambda x: x * getval(x))(3.0)
    np.float64(3.0)
    """
    return value(x)


# autograd's programs print ``x._value``
setattr(Operand, "_value", property(getval))  # noqa: B010 (type checkers need not know it)


def notrace_primitive(f_raw: Function) -> Function:
    """A function of values: its result is a constant.

    Parameters
    ----------
    f_raw : callable
        It gets the numbers behind traced arguments.

    Examples
    --------
    >>> import funcgrad.compat.autograd.numpy as np
    >>> from funcgrad.compat.autograd import grad
    >>> from funcgrad.compat.autograd.extend import notrace_primitive
    >>> @notrace_primitive
    ... def steps(x):
    ...     return float(np.ceil(x))
    >>> grad(lambda x: x * steps(x))(2.5)
    np.float64(3.0)
    """

    @functools.wraps(f_raw)
    def of_values(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*map(getval, args), **kwargs)

    return of_values
