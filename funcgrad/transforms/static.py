"""Which arguments of a jitted function are static, hashable constants that are never traced, and
which are donated: their memory may be used for results.
"""

from __future__ import annotations

import enum
import functools
import inspect
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from funcgrad import tree
from funcgrad.errors import located
from funcgrad.transforms.arguments import name_of
from funcgrad.tree.registry import DictKeys

__all__ = ["Donated", "Static", "exact_structure", "functions_within", "objects", "typed"]


class Chosen:
    """Arguments of a function, chosen by position (from the end if negative) and by name.

    Attributes
    ----------
    any : bool
        Whether there are any.

    Raises
    ------
    ValueError
        The function has no argument of such a name, or at such a position: `what` was misspelt.
    """

    what = ""

    def __init__(
        self, fun: Callable[..., Any], positions: Sequence[int], names: Sequence[str]
    ) -> None:
        self.fun, self.positions, self.names = fun, tuple(positions), tuple(names)
        self.any = bool(self.positions or self.names)
        if self.any:
            self._check()

    def _check(self) -> None:
        try:
            parameters = inspect.signature(self.fun).parameters.values()
        except (TypeError, ValueError):
            return  # a function in C
        kinds = {p.kind for p in parameters}
        known = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
        count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        for name in self.names:
            if name not in known and inspect.Parameter.VAR_KEYWORD not in kinds:
                self._refuse(f"{self.what}_argnames={name!r}", f"no argument of the name {name!r}")
        for k in self.positions:
            if not -count <= k < count and inspect.Parameter.VAR_POSITIONAL not in kinds:
                self._refuse(f"{self.what}_argnums={k}", f"{count} positional argument(s)")

    def _refuse(self, given: str, has: str) -> None:
        raise ValueError(located(f"jit: {given}, but {name_of(self.fun)} has {has}"))

    def places(self, count: int, kwargs: Mapping[str, Any]) -> tuple[set[int], set[str]]:
        """The positions, of so many, and the keywords that are meant in a call."""
        by_name = {n for n in self.names or self._names_of_positions if n in kwargs}
        positions = {k % count for k in self.positions if -count <= k < count}
        if len(by_name) < len(self.names):
            positions |= {k for k in self._named_positions if k < count}
        return positions, by_name

    def bound(self, method: Callable[..., Any]) -> Self:
        """The same arguments of the function without its first one, which is an object's method."""
        positions = [k - (k > 0) for k in self.positions if k]
        return type(self)(method, positions, self.names)

    @functools.cached_property
    def _named_positions(self) -> list[int]:
        """Where the named arguments may be given by position."""
        return [k for k, p in enumerate(self._parameters) if p.name in self.names]

    @functools.cached_property
    def _names_of_positions(self) -> list[str]:
        """By which names the arguments of these positions may be given."""
        by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = enumerate(self._parameters if self.positions else ())
        return [p.name for k, p in parameters if k in self.positions and p.kind is by_name]

    @functools.cached_property
    def _parameters(self) -> list[inspect.Parameter]:
        try:
            return list(inspect.signature(self.fun).parameters.values())
        except (TypeError, ValueError):  # a function of C's may hide them
            return []


class Static(Chosen):
    """The static arguments of a function."""

    what = "static"

    def divide(self, args: Any, kwargs: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """Static arguments (positions and names), and the dynamic ones."""
        if not self.any:
            return ((), ()), args, kwargs
        positions, by_name = self.places(len(args), kwargs)
        static = (
            tuple((k, args[k]) for k in sorted(positions)),
            tuple((n, kwargs[n]) for n in sorted(by_name)),
        )
        try:
            hash(static)
        except TypeError as error:
            why = str(error).split("\n")[0]
            raise ValueError(
                located(
                    f"jit of {name_of(self.fun)}: static arguments have to be hashable ({why}); "
                    "pass arrays as ordinary arguments"
                )
            ) from error
        dynamic = tuple(a for k, a in enumerate(args) if k not in positions)
        return static, dynamic, {n: v for n, v in kwargs.items() if n not in by_name}

    def named(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments in an order that is theirs only where the function can see it."""
        if len(kwargs) < 2 or self._sees_order:
            return kwargs
        return {name: kwargs[name] for name in sorted(kwargs)}

    @functools.cached_property
    def _sees_order(self) -> bool:
        parameters = self._parameters
        return not parameters or any(p.kind is p.VAR_KEYWORD for p in parameters)

    @staticmethod
    def merge(static: Any, dynamic: Sequence[Any]) -> list[Any]:
        """All positional arguments again."""
        merged = list(dynamic)
        for k, value in static[0]:
            merged.insert(k, value)
        return merged


class Donated(Chosen):
    """The arguments of a function whose memory may be used for results."""

    what = "donate"

    def leaves(self, args: Any, kwargs: Any, static: Static) -> tuple[int, ...]:
        """The numbers of their leaves among those of all arguments that are not static."""
        if not self.any:
            return ()
        positions, by_name = self.places(len(args), kwargs)
        fixed, fixed_names = static.places(len(args), kwargs)
        if (positions & fixed) or (by_name & fixed_names):
            raise ValueError(
                located(f"jit of {name_of(self.fun)}: an argument cannot be static and donated")
            )
        found: list[int] = []
        start = 0
        each = [(k in positions, x) for k, x in enumerate(args) if k not in fixed]
        each += [(n in by_name, kwargs[n]) for n in sorted(kwargs) if n not in fixed_names]
        for donated, x in each:
            size = tree.structure(x).size
            found += range(start, start + size) if donated else ()
            start += size
        return tuple(found)


def objects(static: tuple[Any, ...]) -> list[Any]:
    """The static values that may hold something that changes: functions, objects."""
    positional, by_name = static
    return [x for _, x in (*positional, *by_name) if not _is_fixed(x)]


def functions_within(definition: tree.TreeDef) -> list[Any]:
    """The functions in the structure of arguments: those of a `Partial` and of static fields."""
    if definition.kind is None:
        return []
    found = _functions(definition.meta)
    for child in definition.parts:
        found += functions_within(child)
    return found


def _functions(x: Any) -> list[Any]:
    if isinstance(x, tuple):
        return [f for each in x for f in _functions(each)]
    return [x] if callable(x) and not _is_fixed(x) else []


def _is_fixed(x: Any) -> bool:
    if isinstance(x, (tuple, frozenset)):
        return all(map(_is_fixed, x))
    return isinstance(x, _FIXED) or x is Ellipsis


_FIXED: tuple[type, ...] = (int, float, complex, str, bytes, type(None), type, enum.Enum)
_FIXED += (np.generic, np.dtype, np.ufunc, types.BuiltinFunctionType)


def typed(static: tuple[Any, ...]) -> Hashable:
    """Static values with their classes: 1, 1.0 and True are equal and not the same."""
    positional, by_name = static
    return tuple((k, type(x), _exactly(x)) for k, x in (*positional, *by_name))


def exact_structure(definition: tree.TreeDef) -> Hashable:
    """A structure as a function sees it: dictionaries have an order, and 1 is no True."""
    children = tuple(map(exact_structure, definition.parts))
    return definition.kind, type(definition.meta), _exactly(definition.meta), children


def _exactly(x: Any) -> Hashable:
    """What is equal only for the same value: 0.0 and -0.0 are not, nor are (1,) and (True,)."""
    if isinstance(x, (float, complex, np.inexact)):
        return repr(x)
    if isinstance(x, tuple):
        parts = x.order if isinstance(x, DictKeys) else x
        return tuple((type(each), _exactly(each)) for each in parts)
    if type(x) is frozenset:
        return frozenset((type(each), _exactly(each)) for each in x)
    found: Hashable = x
    return found
