"""What type checkers see of transformed functions: the arguments of the function itself.

Imports nothing of funcgrad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, overload

__all__ = ["Compiled", "Compiler", "P", "R", "SameType"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
Result = TypeVar("Result", covariant=True)
Instance = TypeVar("Instance")


class Compiled(Protocol[P, Result]):
    """A function that `jit` has made; `transforms.jitted.Jitted` is the class."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(
        self: Compiled[Concatenate[Instance, Q], Result], instance: Instance, owner: Any = None
    ) -> Compiled[Q, Result]: ...

    def show(self, *args: P.args, **kwargs: P.kwargs) -> str: ...
    def explain(self, *args: P.args, **kwargs: P.kwargs) -> str: ...
    def report(self) -> str: ...
    def lower(self, *args: Any, **kwargs: Any) -> Any: ...
    def trace(self, *args: Any, **kwargs: Any) -> Any: ...
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any: ...
    def export(self, *args: Any, **kwargs: Any) -> Any: ...
    def cfunc(self, *args: Any, **kwargs: Any) -> Any: ...
    @property
    def njit(self) -> Any: ...


class SameType(Protocol):
    """What makes of a function another one of the same arguments and result."""

    def __call__(self, f: Callable[P, R], /) -> Callable[P, R]: ...


class Compiler(Protocol):
    """What `jit` with options only is: it takes the function."""

    def __call__(self, f: Callable[P, R], /) -> Compiled[P, R]: ...
