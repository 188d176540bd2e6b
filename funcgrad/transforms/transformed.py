"""Functions that transforms make: they are called as the function itself, pickled and copied.

A closure can be neither; what can is the transform and what it was given.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, Self

from funcgrad.core.boundary import boundary
from funcgrad.errors import located
from funcgrad.transforms.awaiting import awaited, is_async

__all__ = ["derived", "described", "named", "transformed"]

Function = Callable[..., Any]


def named(f: Any) -> str | None:
    """The name under which its module has `f`, as pickles want it; None if there is none."""
    whole: str | None = getattr(f, "__qualname__", None)
    found: Any = sys.modules.get(f.__module__)
    for name in (whole or "").split("."):
        found = getattr(found, name, None)
    return whole if found is f else None


def described(f: Any) -> str:
    """What a function is, for people: its name, or that it is the gradient of another one."""
    if getattr(type(f), "is_transformed", False):
        return repr(f)[1:-1]
    return getattr(f, "__qualname__", None) or repr(f)


class Transformed(functools.partial[Any]):
    """A closure, with what made it. A partial application of nothing calls it at no cost."""

    is_transformed = True
    again: tuple[Function, tuple[Any, ...]]  # what made it, and what that was given

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        return named(self) or self.again

    def __repr__(self) -> str:
        make, (f, *_) = self.again
        make = make.func if isinstance(make, functools.partial) else make
        return f"<{make.__name__} of {described(f)}>"


class Derived(functools.partial[Any]):
    """A closure that a transform gives beside a value, such as a pullback; it tells of what."""

    is_transformed = True
    what: str
    of: Any

    def __repr__(self) -> str:
        return f"<{self.what} of {described(self.of)}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        """The same: nothing in it changes."""
        return self

    @boundary
    def __reduce__(self) -> Any:
        raise TypeError(
            located(
                f"{self!r} holds what a run has computed, which belongs to this process, and cannot"
                " be pickled; pickle the function and its arguments, and transform it there"
            )
        )


def derived(what: str, f: Function, closure: Function) -> Function:
    """Present a closure as the `what` of `f`."""
    whole = Derived(closure)
    whole.what, whole.of = what, f
    return whole


def transformed(
    make: Function, f: Function, *given: Any, **named: Any
) -> Callable[[Function], Function]:
    """Present the decorated closure as what ``make(f, *given, **named)`` returns."""
    if not callable(f):
        raise TypeError(located(f"{make.__name__}: {f!r} is no function"))
    asked = {k: v for k, v in named.items() if v is not None}
    whole_make = functools.partial(make, **asked) if asked else make

    def decorate(closure: Function) -> Function:
        if is_async(f):
            closure = awaited(whole_make, f, given)
        whole = Transformed(closure)
        functools.update_wrapper(whole, f, updated=())
        whole.again = whole_make, (f, *given)
        return whole

    return decorate
