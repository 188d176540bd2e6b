"""How the walk over captures goes through modules, classes and objects.

Of an object the attributes that programs name count, and the special methods that Python calls by
itself; what a class in C hides is said. Tables and tensors are taken out as arrays at every call.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import gc
import io
import threading
import types
from collections.abc import Collection
from typing import Any

import numpy as np

from funcgrad.compile.guards import ABSENT, Attribute, Dict, Type
from funcgrad.core.classes import has_own_rules
from funcgrad.transforms.named_in_code import CALLED_BY, COMPARISONS
from funcgrad.transforms.walk import LIBRARIES, Itself, Path, Walk, package, read_or_absent

__all__ = [
    "visit_class",
    "visit_content",
    "visit_instance",
    "visit_itself",
    "visit_module",
    "visit_other",
    "visit_wrapper",
]

# Modules of the standard library whose objects hold attributes of the program and add nothing, and
# those whose objects decide nothing that a program computes.
_HOLDERS = frozenset(("types", "argparse", "abc", "typing", "builtins", "enum", "collections.abc"))
_SILENT = frozenset(("logging", "threading", "_thread", "warnings", "concurrent", "unittest"))
HEAP_TYPE = 1 << 9  # the flag of classes that Python code makes


def visit_content(walk: Walk, x: Any, path: Path) -> None:
    """The numbers and labels of a table or a tensor, which are taken out anew on every call."""
    walk.guarded = False
    walk.add(type(x), path)
    if _is_lazy(x):
        visit_instance(walk, x, path)
        return
    with contextlib.suppress(Exception):  # what cannot be an array is no number of the program
        plain = x.detach() if hasattr(x, "detach") else x  # PyTorch's, of parameters
        walk.more(np.asarray(plain), path)
    for axis in getattr(x, "axes", None) or ():
        with contextlib.suppress(Exception):
            walk.more(np.asarray(axis), path)


def _is_lazy(x: Any) -> bool:
    """Whether to take the numbers out would compute them: arrays of Dask do, and never change."""
    graph = getattr(x, "__dask_graph__", None)
    return graph is not None and graph() is not None


def visit_module(walk: Walk, x: types.ModuleType, path: Path) -> None:
    walk.add(x, path)
    if not walk.library(x.__name__):
        walk.hold(x, "module", vars(x), path)


def visit_class(walk: Walk, x: type, path: Path) -> None:
    walk.add(x, path)
    if isinstance(x, abc.ABCMeta):
        walk.told(x, _registered, path)
    if walk.library(x.__module__):
        return
    _hold_bases(walk, x, path, {"__init__", "__new__"})
    if package(type(x)) not in LIBRARIES:
        _hold_bases(walk, type(x), path, _special(x, type(x), walk))


def _registered(cls: abc.ABCMeta) -> frozenset[Any]:
    """The classes of which an abstract class was told that they belong to it."""
    references = abc._get_dump(cls)[0]  # type: ignore[attr-defined]
    return frozenset(Itself(r()) for r in references)


def _hold_bases(walk: Walk, cls: type, path: Path, extra: Collection[str]) -> None:
    """Look at what a class and its bases hold."""
    bases = [b for b in cls.__mro__ if not walk.skips(b)]
    if bases and cls.__mro__[1:] != (object,):  # else Python lets nobody change them
        walk.saw(Attribute(cls, "__mro__", cls.__mro__), path)
        walk.add(cls.__mro__, path)
    for base in bases:
        walk.hold(base, "class", _dict_of(base), path, extra=extra)


def _dict_of(cls: type) -> dict[str, Any]:
    """The dictionary behind what `vars` shows of a class, which native code can read."""
    found: dict[str, Any] = gc.get_referents(vars(cls))[0]
    return found


def visit_other(walk: Walk, x: Any, path: Path) -> None:
    cls: Any = type(x)
    own, home = getattr(x, "__dict__", None), package(cls)
    attributes = isinstance(own, dict) or _slots(cls)
    if home == "funcgrad" and "__wrapped__" in (own or ()):
        visit_wrapper(walk, x, path)
    elif has_own_rules(x):
        visit_content(walk, x, path)
    elif home == "numba" and hasattr(x, "py_func"):  # what was compiled
        walk.add(cls, path)
        walk.more(x.py_func, path)
    elif isinstance(x, io.IOBase) or (home in _SILENT and not isinstance(x, threading.local)):
        walk.add(Itself(x), path)
    elif _tells_content(x) and (home in LIBRARIES or not attributes):
        walk.add((cls, repr(x), x), path)
    else:
        walk.add(cls, path)
        hidden = not attributes or any(map(_hides_content, cls.__mro__))
        if hidden and cls is not object:
            walk.add(Itself(x), path)
            if not attributes or home not in ("numpy", "scipy"):
                name = f"{cls.__module__}.{cls.__qualname__}"
                walk.cannot_see(
                    f"{'.'.join(path) or 'it'} is an object of {name}, "
                    "whose content Python does not show"
                )
        if attributes:
            visit_instance(walk, x, path)


def _tells_content(x: Any) -> bool:
    """Whether objects are equal where they hold the same: dates, fractions, paths.

    Functions of ctypes have no hash, whatever their class promises.
    """
    cls: Any = type(x)
    try:
        return cls.__hash__ is not object.__hash__ and hash(x) is not None
    except TypeError:
        return False


def _hides_content(cls: Any) -> bool:
    """Whether a class is written in C, with content that is in no attribute, as a search tree."""
    shown = cls.__module__ in ("builtins", "types") or issubclass(cls, threading.local)
    return not cls.__flags__ & HEAP_TYPE and not shown


def visit_wrapper(walk: Walk, x: Any, path: Path) -> None:
    """A jitted function, a custom rule, a function with a cache."""
    walk.add(type(x), path)
    own = vars(x)
    walk.saw(Dict(own, tuple(own), tuple(own.values())), path)
    for part in own.values():
        if callable(part):
            walk.more(part, path)


def visit_itself(walk: Walk, x: Any, path: Path) -> None:
    walk.add(x, path)
    if isinstance(x, np.ufunc) and all(set(t) <= set("O->") for t in x.types):
        walk.cannot_see(f"{'.'.join(path)} is made by frompyfunc, which hides its function")


def visit_instance(walk: Walk, x: Any, path: Path) -> None:
    """Of an object, the attributes that are named, without running properties.

    All of them where its class has a base whose code is not read. One that can be called is taken
    to be called: a model with parameters in its attributes.
    """
    cls: Any = type(x)
    walk.saw(Type(x, cls), path)
    own = getattr(x, "__dict__", None)
    whole = any(map(_has_hidden_code, cls.__mro__))
    if isinstance(own, dict):
        if isinstance(x, threading.local):
            walk.guarded = False  # each thread has another dictionary
        walk.saw(Attribute(x, "__dict__", own), path)
        walk.hold(x, "object", own, path, whole)
    slots = _slots(cls)
    if slots:
        filled = {
            name: held
            for name in slots
            if (held := read_or_absent(slots[name].__get__, x)) is not ABSENT
        }
        walk.hold(x, "slots", filled, path, whole, slots=slots)
    _hold_bases(walk, cls, path, _special(x, cls, walk))


def _has_hidden_code(cls: type) -> bool:
    parts = cls.__module__.split(".")
    return parts[0] in LIBRARIES and not _HOLDERS & {parts[0], cls.__module__}


@functools.lru_cache(maxsize=1024)
def _slots(cls: Any) -> dict[str, Any]:
    """The descriptors of the slots of a class."""
    return {
        name: held
        for base in cls.__mro__
        if "__slots__" in vars(base)
        for name, held in vars(base).items()
        if isinstance(held, types.MemberDescriptorType)
    }


def _special(x: Any, cls: type, walk: Walk) -> set[str]:
    """The methods that Python calls by itself where a program works with an object.

    Of the classes of installed packages only those that give attributes or are the call: there are
    too many.
    """
    names = {"__getattr__", "__getattribute__"}
    if callable(x):
        names.add("__call__")
    for base in cls.__mro__:
        if not walk.library(base.__module__):
            names |= _written(base)
    return names


@functools.lru_cache(maxsize=1024)
def _written(cls: Any) -> frozenset[str]:
    return frozenset(n for n, held in vars(cls).items() if _is_written(n, held)) - _UNCALLED


def _is_written(name: str, held: Any) -> bool:
    """Whether a class holds a special method; not the comparison of all fields of a dataclass."""
    if name[:2] != "__" or name[-2:] != "__" or not isinstance(held, types.FunctionType):
        return False
    return name not in COMPARISONS or held.__code__.co_filename != "<string>"


# Special methods that a program calls in ways which `named_by` sees, or not while it is traced.
_UNCALLED = frozenset().union(*CALLED_BY.values())
_UNCALLED |= {"__del__", "__dir__", "__init__", "__new__", "__post_init__", "__sizeof__"}
