"""What a function brings along: the arrays, numbers and functions that it can reach by name.

`jit` looks at them on every call, so that a cached graph is never stale: arrays become operands,
numbers and texts part of the key, and a traced value means that the function is staged anew.
Looked at are closure cells, defaults, the globals that the code names, the function behind a
bound method and its object, containers, and of other objects the attributes that the code names.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable
from hashlib import blake2b
from operator import is_not
from typing import Any

import numpy as np

from funcgrad.core.tracer import Operand, Tracer, type_of
from funcgrad.core.types import ArrayType

__all__ = ["Captures", "capture"]

_PLAIN = (int, float, complex, bool, str, bytes, type(None), np.generic)
_SKIPPED = (types.ModuleType, types.BuiltinFunctionType, np.ufunc, np.dtype)


# What the function computes of its captures with NumPy alone happens while it is traced. Small
# arrays are therefore part of the key by content; for larger ones the content is compared if the
# graph holds anything that may have been computed from them.
DIGEST_UP_TO = 64 * 1024


def digest(x: np.ndarray[Any, Any]) -> bytes:
    """A digest of the content of an array."""
    return blake2b(np.ascontiguousarray(x).tobytes(), digest_size=16).digest()


class Captures:
    """The arrays in the order of the walk, the key of everything else, and whether traced.

    `places` says where each thing was found, so that `unchanged` can look there again without a
    walk; `watched` is False where something lies that cannot be looked at in this way.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.key: list[Hashable] = []
        self.traced = False
        self.seen: dict[int, Any] = {}
        self.watched = True
        # what dictionaries hold under a name, attributes, and what else a function finds for a name
        self.items: dict[tuple[int, str], tuple[dict[str, Any], str, Any]] = {}
        self.places: list[tuple[Callable[..., Any], Any, Any]] = []
        self.columns: tuple[Any, ...] | None = None
        self.contents: list[tuple[Any, tuple[Any, ...]]] = []  # lists and dicts, their items
        self.small: list[tuple[np.ndarray[Any, Any], ArrayType, bytes]] = []

    def saw(self, holder: dict[str, Any], name: str) -> None:
        """Note what a dictionary holds under a name, be it nothing."""
        self.items[id(holder), name] = (holder, name, holder.get(name))

    def unchanged(self) -> bool:
        """Whether every place still holds the same thing, and every small array the same bytes."""
        if self.columns is None:  # in columns, so that the loop over them is C's
            self.columns = tuple(zip(*self.items.values(), strict=True)) or ((), (), ())
        holders, names, held = self.columns
        if any(map(is_not, map(dict.get, holders, names), held)):
            return False
        for look, argument, found in self.places:
            if look(argument) is not found:
                return False
        for container, items in self.contents:
            now = container.values() if type(container) is dict else container
            if len(now) != len(items) or any(map(is_not, now, items)):
                return False
        return all(type_of(x) == kind and digest(x) == known for x, kind, known in self.small)


def capture(f: Any) -> Captures:
    """Walk over what `f` can reach."""
    found = Captures()
    names = _all_names(f)
    _visit(f, found, names)
    return found


def _code_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            names |= _code_names(c)
    return names


def _all_names(f: Any) -> set[str]:
    inner = _function(f)
    return _code_names(inner.__code__) if inner is not None else set()


def _function(f: Any) -> types.FunctionType | None:
    while isinstance(f, (functools.partial, types.MethodType)):
        f = f.func if isinstance(f, functools.partial) else f.__func__
    return f if isinstance(f, types.FunctionType) else None


def _is_ours(f: types.FunctionType) -> bool:
    module = getattr(f, "__module__", None) or ""
    return module.split(".")[0] in ("numpy", "scipy") or (
        module.split(".")[0] == "funcgrad" and not f.__closure__
    )


def _visit(x: Any, found: Captures, names: set[str]) -> None:
    if isinstance(x, _PLAIN):
        found.key.append((type(x), repr(x) if isinstance(x, (float, complex, np.generic)) else x))
        return
    if id(x) in found.seen or isinstance(x, _SKIPPED):
        return
    found.seen[id(x)] = x
    if isinstance(x, np.ndarray):
        if x.dtype.kind != "O":
            found.arrays.append(x)
            found.key.append(type_of(x))
            if x.nbytes <= DIGEST_UP_TO:
                found.key.append(digest(x))
                found.small.append((x, type_of(x), digest(x)))
        else:
            found.watched = False
    elif isinstance(x, Operand):
        _visit_operand(x, found, names)
    elif isinstance(x, functools.partial):
        for part in (x.func, x.args, x.keywords):
            _visit(part, found, names)
    elif isinstance(x, types.MethodType):
        _visit(x.__func__, found, names)
        _visit(x.__self__, found, names)
    elif isinstance(x, types.FunctionType):
        _visit_function(x, found)
    elif isinstance(x, (list, tuple, set, frozenset)):
        found.key.append((type(x), len(x)))
        if type(x) is list:
            found.contents.append((x, tuple(x)))
        elif not isinstance(x, (tuple, frozenset)):
            found.watched = False
        for item in x:
            _visit(item, found, names)
    elif isinstance(x, dict):
        found.key.append((dict, len(x)))
        found.watched = found.watched and type(x) is dict
        found.contents.append((x, tuple(x.values())))
        for k, item in x.items():
            _visit(k, found, names)
            _visit(item, found, names)
    elif isinstance(x, type):
        return
    elif "__wrapped__" in getattr(x, "__dict__", {}):  # a jitted function, a custom rule
        found.contents.append((vars(x), tuple(vars(x).values())))
        for part in vars(x).values():
            if isinstance(part, (types.FunctionType, types.MethodType)) or callable(part):
                _visit(part, found, names)
    else:
        _visit_object(x, found, names)


def _visit_operand(x: Operand, found: Captures, names: set[str]) -> None:
    found.watched = False
    inner = x.content()
    if isinstance(inner, Tracer):
        found.traced = True
    else:
        _visit(inner, found, names)


def _visit_function(f: types.FunctionType, found: Captures) -> None:
    found.key.append(f.__code__)
    if _is_ours(f):
        return
    # of our own functions code, cells and globals stay (`__module__` may be the user's: wraps)
    ours = str(f.__globals__.get("__name__")).split(".")[0] == "funcgrad"
    if not ours:
        found.places += [(getattr_of(f), n, getattr(f, n)) for n in ("__code__", "__defaults__")]
    # our own code takes nothing of the user's objects but to call them
    names = set() if ours else _code_names(f.__code__)
    for cell in f.__closure__ or ():
        try:
            inner = cell.cell_contents
        except ValueError:  # a cell that is not filled yet
            found.key.append("empty")
            found.watched = False
            continue
        if not ours:
            found.places.append((getattr_of(cell), "cell_contents", inner))
        _visit(inner, found, names)
    for default in (f.__defaults__, f.__kwdefaults__):
        if default:
            _visit(default, found, names)
    if ours:
        return
    for name in sorted(names):
        found.saw(f.__globals__, name)
        if name in f.__globals__:
            _visit(f.__globals__[name], found, names)


def getattr_of(x: Any) -> Callable[[str], Any]:
    """`getattr` of one object."""
    return functools.partial(getattr, x)


def _visit_object(x: Any, found: Captures, names: set[str]) -> None:
    """Of an object, the attributes that the code names, without running properties.

    One that can be called is taken to be called: a model with parameters in its attributes.
    """
    if callable(x):
        names = names | {"__call__"}
    own = getattr(x, "__dict__", {})
    kind: Any = type(x)
    found.key.append(kind)
    found.places.append((getattr_of(x), "__class__", kind))
    for name in sorted(names):
        found.saw(own, name)
        if name in own:
            _visit(own[name], found, names)
            continue
        for cls in type(x).__mro__[:-1]:  # all but `object`, which nobody changes
            found.places.append((vars(cls).get, name, vars(cls).get(name)))
            if name in vars(cls):
                held = vars(cls)[name]
                if isinstance(held, types.FunctionType):
                    more = names | _code_names(held.__code__)
                    _visit(held, found, more)
                    if more != names:
                        found.seen.pop(id(x), None)
                        _visit_attributes(x, found, more - names)
                elif not isinstance(held, property):
                    _visit(held, found, names)
                break


def _visit_attributes(x: Any, found: Captures, names: set[str]) -> None:
    own = getattr(x, "__dict__", {})
    found.seen[id(x)] = x
    for name in sorted(names):
        found.saw(own, name)
        if name in own:
            _visit(own[name], found, names)
