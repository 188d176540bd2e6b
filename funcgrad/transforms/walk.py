"""The walk over all that a function can reach by name, for `transforms.captures`.

It goes through closure cells, defaults, the globals that code names, containers, and of other
objects, classes and modules the attributes that any code on the way names: functions that are
called are followed, and so are methods, properties and operators. Of an object of NumPy, SciPy
or `collections`, whose code is not read, arrays and containers are looked at. What cannot be seen
is a name that is put together while the program runs, and what an installed package, other than
that of the function itself, keeps in its own globals and classes.
"""

from __future__ import annotations

import contextlib
import dis
import enum
import functools
import operator
import sys
import sysconfig
import types
import weakref
from array import array
from collections import UserDict, UserList, deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.compile.watch import Cell, Dict, Function, List, Type
from funcgrad.core.classes import has_own_rules
from funcgrad.core.tracer import Operand, Tracer, type_of
from funcgrad.transforms.draws import GENERATORS

if TYPE_CHECKING:
    from funcgrad.transforms.captures import Captures

__all__ = ["in_library", "visit"]

_PLAIN = (int, float, complex, bool, str, bytes, type(None), np.generic)
_SKIPPED = (types.BuiltinFunctionType, np.ufunc, np.dtype)
_LIBRARIES = frozenset(sys.stdlib_module_names) - {"__main__"}
_LIBRARIES |= {"numpy", "scipy", "funcgrad", "numba", "llvmlite"}
_INSTALLED = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


def _code_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            names |= _code_names(c)
        elif isinstance(c, str) and c.isidentifier():  # getattr(x, "name")
            names.add(c)
    return names


@functools.lru_cache(maxsize=1024)
def _stored(code: types.CodeType) -> frozenset[str]:
    """The attributes that code writes to: a function that counts its calls is traced once."""
    return frozenset(i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR")


def in_library(module: Any, found: Captures) -> bool:
    """Whether a module belongs to an installed package, other than that of the function."""
    package = str(module).split(".")[0]
    return package in _LIBRARIES or (package != found.home and _installed(package))


@functools.cache
def _installed(package: str) -> bool:
    module = sys.modules.get(package)
    paths = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    marks = ("site-packages", "dist-packages")  # also those of a user, a distribution, an outer one
    return any(p.startswith(_INSTALLED) or any(m in p for m in marks) for p in paths)


def _is_ours(f: types.FunctionType) -> bool:
    module = getattr(f, "__module__", None) or ""
    return module.split(".")[0] in ("numpy", "scipy") or (
        module.split(".")[0] == "funcgrad" and not f.__closure__
    )


def visit(x: Any, found: Captures) -> None:
    if isinstance(x, enum.Enum):
        found.add((type(x), x.name))
        return
    if isinstance(x, _PLAIN):
        found.add((type(x), repr(x) if isinstance(x, (float, complex, np.generic)) else x))
        if isinstance(x, str) and x.isidentifier():  # getattr(x, name)
            found.named.add(x)
        return
    if id(x) in found.seen or isinstance(x, _SKIPPED):
        return
    found.seen[id(x)] = x
    if isinstance(x, np.ndarray):
        _visit_array(x, found)
    elif isinstance(x, Operand):
        _visit_operand(x, found)
    elif isinstance(x, functools.partial):
        for part in (x.func, x.args, x.keywords):
            visit(part, found)
    elif isinstance(x, types.MethodType):
        visit(x.__func__, found)
        visit(x.__self__, found)
    elif isinstance(x, types.FunctionType):
        _visit_function(x, found)
    elif isinstance(x, (list, tuple, set, frozenset, dict, deque)):
        _visit_container(x, found)
    elif isinstance(x, (bytearray, memoryview, array)):
        found.add((type(x), bytes(x)))
        found.watched = False
    elif isinstance(x, (UserDict, UserList, weakref.ref, ContextVar)):
        found.watched = False
        visit(_behind(x), found)
    elif isinstance(x, (operator.attrgetter, operator.methodcaller)):
        given: Any = x.__reduce__()[1]
        found.named.update(part for n in given if isinstance(n, str) for part in n.split("."))
        visit(given, found)
    elif isinstance(x, GENERATORS):
        found.generators.append(x)
    elif isinstance(x, types.ModuleType):
        if not in_library(x.__name__, found):
            _visit_attributes(vars(x), found, found.names & vars(x).keys())
    elif isinstance(x, type):
        if not in_library(x.__module__, found):
            _visit_class(x, x, found, found.names | {"__init__"})
            if not _is_library(type(x)):
                _visit_class(type(x), x, found, found.names)
    elif "__wrapped__" in getattr(x, "__dict__", {}):  # a jitted function, a custom rule
        found.saw(_dict(vars(x)))
        for part in vars(x).values():
            if isinstance(part, (types.FunctionType, types.MethodType)) or callable(part):
                visit(part, found)
    else:
        _visit_object(x, found)


def _behind(x: Any) -> Any:
    """What a thing that stands for another one shows at the moment."""
    if isinstance(x, weakref.ref):
        return x()
    return x.get(None) if isinstance(x, ContextVar) else x.data


def _visit_array(x: np.ndarray[Any, Any], found: Captures) -> None:
    """The numbers of an array, what one of objects holds, and the attributes of a subclass.

    A mask or a unit is an attribute.
    """
    kind: Any = type(x)
    if x.dtype.kind == "O":
        found.watched = False
        found.add(x.shape)
        for item in x.ravel().tolist():
            visit(item, found)
    else:
        found.arrays.append(x if kind is np.ndarray else x.view(np.ndarray))
        found.array_paths.append(tuple(found.path))
        found.add(type_of(x))
    if kind is not np.ndarray:
        found.add(kind)
        visit(getattr(x, "__dict__", None), found)


def _visit_content(x: Any, found: Captures) -> None:
    """The numbers of a table or a tensor, which are taken out anew on every call."""
    found.watched = False
    with contextlib.suppress(Exception):  # what cannot be an array is no number of the program
        plain = x.detach() if hasattr(x, "detach") else x  # PyTorch's, of parameters
        _visit_array(np.asarray(plain), found)


def _visit_container(x: Any, found: Captures) -> None:
    found.add((type(x), len(x)))
    if type(x) in (list, dict):
        found.saw(List(x, tuple(x)) if type(x) is list else _dict(x))
    elif not isinstance(x, (tuple, frozenset)):
        found.watched = False
    if isinstance(x, dict):
        for key, item in x.items():
            found.add(key) if type(key) is str else visit(key, found)
            visit(item, found)
    else:
        for item in x:
            visit(item, found)


def _dict(x: dict[Any, Any]) -> Dict:
    return Dict(x, tuple(x), tuple(x.values()))


def _visit_operand(x: Operand, found: Captures) -> None:
    found.watched = False
    inner = x.content()
    if isinstance(inner, Tracer):
        found.traced = True
    else:
        visit(inner, found)


def _visit_function(f: types.FunctionType, found: Captures) -> None:
    found.add(f.__code__)
    if _is_ours(f):
        return
    # of the functions of libraries code, cells and globals stay; their own code takes of the
    # user's objects what it names (not so ours, which only calls them)
    home = f.__globals__.get("__name__")
    library = in_library(home, found)
    names = set() if str(home).split(".")[0] == "funcgrad" else _code_names(f.__code__)
    found.named |= names
    if not library:
        found.saw(Function(f, f.__code__, f.__defaults__, f.__kwdefaults__))
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            inner = cell.cell_contents
        except ValueError:  # a cell that is not filled yet
            found.add("empty")
            found.watched = False
            continue
        if not library:
            found.saw(Cell(cell, inner))
        with found.at(name):
            visit(inner, found)
    for default in (f.__defaults__, f.__kwdefaults__):
        if default:
            with found.at(f"the defaults of {f.__name__}"):
                visit(default, found)
    if not library:
        _visit_attributes(f.__globals__, found, names)
        _visit_attributes(vars(f), found, (found.names & vars(f).keys()) - _stored(f.__code__))


def _visit_attributes(own: dict[str, Any], found: Captures, names: set[str]) -> None:
    for name in sorted(names):
        found.saw_item(own, name)
        if name in own:
            with found.at(name):
                visit(own[name], found)


def _visit_object(x: Any, found: Captures) -> None:
    """Of an object, the attributes that are named, without running properties.

    One that can be called is taken to be called: a model with parameters in its attributes.
    """
    kind: Any = type(x)
    found.add(kind)
    found.saw(Type(x, kind))
    if has_own_rules(x) and not _is_lazy(x):
        _visit_content(x, found)
        return
    own = getattr(x, "__dict__", None)
    if own is None:
        own = {}
    else:
        found.looked(x, functools.partial(getattr, x), "__dict__", own)
    _visit_kept(x, own, found)
    names = found.names | _special(x, found)
    held = {n for n in names if n in own or any(n in vars(base) for base in kind.__mro__)}
    _visit_attributes(own, found, held)
    _visit_class(kind, x, found, held)


def _visit_kept(x: Any, own: dict[str, Any], found: Captures) -> None:
    """The arrays and containers in a spline or polynomial: code that is not read uses them."""
    if type(x).__module__.split(".")[0] not in ("numpy", "scipy", "collections"):
        return
    kinds = (np.ndarray, list, tuple, dict, set)
    kept = {n for n, v in own.items() if n[:1] != "_" and isinstance(v, kinds)}
    _visit_attributes(own, found, kept)
    for base in type(x).__mro__:
        for name, held in vars(base).items():
            if isinstance(held, types.MemberDescriptorType):
                value = _slot(x, name)
                if isinstance(value, kinds):
                    found.looked(x, functools.partial(_slot, x), name, value)
                    with found.at(name):
                        visit(value, found)


def _is_library(cls: type) -> bool:
    return cls.__module__.split(".")[0] in _LIBRARIES


def _special(x: Any, found: Captures) -> set[str]:
    """The methods that Python calls by itself where a program works with an object.

    Of the classes of installed packages only those that give attributes or are the call: there are
    too many.
    """
    names = {"__getattr__", "__call__"} if callable(x) else {"__getattr__"}
    for base in type(x).__mro__:
        if not in_library(base.__module__, found):
            names |= _written(base)
    return names


@functools.lru_cache(maxsize=1024)
def _written(cls: Any) -> frozenset[str]:
    return frozenset(n for n, held in vars(cls).items() if _is_written(n, held)) - _SILENT


def _is_written(name: str, held: Any) -> bool:
    """Whether a class holds a special method; not the comparison of all fields of a dataclass."""
    if name[:2] != "__" or name[-2:] != "__" or not isinstance(held, types.FunctionType):
        return False
    return name not in _COMPARISONS or held.__code__.co_filename != "<string>"


_COMPARISONS = {"__eq__", "__lt__", "__le__", "__gt__", "__ge__"}
_SILENT = {
    "__class_getitem__",
    "__copy__",
    "__deepcopy__",
    "__del__",
    "__delattr__",
    "__dir__",
    "__format__",
    "__getstate__",
    "__hash__",
    "__init__",
    "__init_subclass__",
    "__new__",
    "__post_init__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__set_name__",
    "__setattr__",
    "__setstate__",
    "__sizeof__",
    "__str__",
}


def _is_lazy(x: Any) -> bool:
    """Whether to take the numbers out would compute them: arrays of Dask do, and never change."""
    graph = getattr(x, "__dask_graph__", None)
    return graph is not None and graph() is not None


def _visit_class(cls: type, x: Any, found: Captures, names: set[str]) -> None:
    """What `cls` and its bases hold under the names, for `x`: an instance, or the class itself.

    Of a name that none of them holds nothing is noted: it belongs to something else.
    """
    bases = [b for b in cls.__mro__ if not _is_library(b)]
    for name in sorted(names):
        holders = [k for k, base in enumerate(bases) if name in vars(base)]
        for base in bases[: holders[-1] + 1 if holders else 0]:  # one before may get it later
            held = vars(base).get(name)
            found.looked(base, vars(base).get, name, held)
            if isinstance(held, types.MemberDescriptorType):
                held = _slot(x, name)
                found.looked(x, functools.partial(_slot, x), name, held)
            if held is not None:
                with found.at(name):
                    visit(_run_by(held), found)


def _slot(x: Any, name: str) -> Any:
    """The content of a slot; None for one that is empty, or of a class."""
    return None if isinstance(x, type) else getattr(x, name, None)


def _run_by(held: Any) -> Any:
    """The function behind a method or a property, or what else a class holds."""
    if isinstance(held, (staticmethod, classmethod)):
        return held.__func__
    if isinstance(held, property):
        return held.fget
    return held.func if isinstance(held, functools.cached_property) else held
