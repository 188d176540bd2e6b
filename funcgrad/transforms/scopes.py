"""`named_scope` and `named_call`: names of parts of a program, which errors and graphs tell."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from funcgrad.core.boundary import bounded
from funcgrad.errors import located, repeated
from funcgrad.transforms.arguments import computed, name_of
from funcgrad.transforms.transformed import transformed

__all__ = ["named_call", "named_scope"]

Function = TypeVar("Function", bound=Callable[..., Any])


class named_scope(contextlib.ContextDecorator):
    """A name for what is computed within: a context, or a decorator.

    The lines of errors and of the equations of a graph have it before the name of the function,
    "in attention/softmax/f". It changes no result.

    Parameters
    ----------
    name : str

    Raises
    ------
    TypeError
        The name is no text.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def f(x):
    ...     with fg.named_scope("layer"):
    ...         return np.sin(x)
    >>> fg.make_graph(f)(1.0).equations[0].source.function
    'layer/f'
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(located(f"named_scope: a name is a text, not {name!r}"))
        self.name = name
        self.before: list[tuple[str, ...]] = []

    def __enter__(self) -> named_scope:
        self.before.append(repeated.names)
        repeated.names = (*repeated.names, self.name)
        return self

    def __exit__(self, *error: object) -> None:
        repeated.names = self.before.pop()


def named_call(f: Function, *, name: str | None = None) -> Function:
    """`f` in a `named_scope`, by default of its own name.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> layer = fg.named_call(lambda x: np.sin(x), name="layer")
    >>> fg.make_graph(layer)(1.0).equations[0].source.function
    'layer/<lambda>'
    """
    within = name_of(f) if name is None else name

    @transformed(named_call, f, name=name)
    @bounded
    def called(*args: Any, **kwargs: Any) -> Any:
        with named_scope(within):
            return computed(f(*args, **kwargs), f)

    made: Any = called
    found: Function = made
    return found
