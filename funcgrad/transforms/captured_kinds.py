"""How the walk over captures goes on from each kind of thing: one function for each.

A function takes the walk, the thing and its path; `HANDLERS` has them by class, the first that fits
is taken. Of a subclass of a container, a number or an array the attributes count, too.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import gc
import importlib.util
import io
import operator
import os
import sys
import threading
import types
import weakref
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.guards import ABSENT, Attribute, Cell, Dict, Function, Item, List, Type
from funcgrad.core.classes import has_own_rules
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import Operand, Tracer, type_of
from funcgrad.graph.identity import Itself
from funcgrad.graph.ir import Graph
from funcgrad.transforms.named_in_code import COMPARISONS, Named, named_by
from funcgrad.transforms.random_draws import GENERATORS
from funcgrad.transforms.walk import LIBRARIES, Path, Slots, Walk

__all__ = ["handler", "visit_content", "visit_function", "visit_instance"]

# Modules of the standard library whose objects hold attributes of the program and add nothing, and
# those whose objects decide nothing that a program computes.
_HOLDERS = frozenset(("types", "argparse", "abc", "typing", "builtins", "enum", "collections.abc"))
_SILENT = frozenset(("logging", "threading", "_thread", "warnings", "concurrent", "unittest"))
_UNSEEN = frozenset(("eval", "exec", "compile", "globals", "__import__"))
_UNSEEN_OF = {
    "importlib": {"import_module", "reload"},
    "sys": {"_getframe", "modules"},
    "inspect": {"currentframe", "stack", "getouterframes"},
    "gc": {"get_objects", "get_referents", "get_referrers"},
}
HEAP_TYPE = 1 << 9  # the flag of classes that Python code makes
_HARMLESS = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, np.ufunc, np.dtype, types.CodeType,
    type(threading.Lock()), type(threading.RLock()), type(np.sum), types.EllipsisType,
    types.NotImplementedType, type(NamedTuple("_", [("field", int)]).field),  # type: ignore[attr-defined]
)  # fmt: skip


# ------------------------------------------------------------------ numbers, arrays, containers


def _visit_scalar(walk: Walk, x: np.generic, path: Path) -> None:
    walk.add((x.dtype, x.tobytes()), path)


def _visit_enum(walk: Walk, x: enum.Enum, path: Path) -> None:
    walk.add(x.name, path)
    visit_instance(walk, x, path)


def _visit_number(walk: Walk, x: Any, path: Path) -> None:
    """A number or a text of a class of the program."""
    base = next(c for c in (int, float, complex, str, bytes) if isinstance(x, c))
    walk.plain(base(x), path)
    visit_instance(walk, x, path)


def _visit_array(walk: Walk, x: np.ndarray[Any, Any], path: Path) -> None:
    """The numbers of an array, what one of objects holds, and the attributes of a subclass.

    A mask or a unit is an attribute. Strides count: they decide orders, and so the last bits.
    """
    if x.dtype.hasobject:
        _look_at_items(walk, x, _objects, path)
        walk.add((x.shape, x.strides), path)
        for item in x.ravel().tolist():
            walk.more(item, path)
    else:
        walk.arrays.append(x if type(x) is np.ndarray else x.view(np.ndarray))
        walk.array_paths.append(path)
        walk.add((type_of(x), x.strides), path)
    if type(x) is not np.ndarray:
        visit_instance(walk, x, path)


def visit_content(walk: Walk, x: Any, path: Path) -> None:
    """The numbers and labels of a table or a tensor, which are taken out anew on every call."""
    walk.watched = False
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


def _visit_operand(walk: Walk, x: Operand, path: Path) -> None:
    walk.watched = False
    walk.add(type(x), path)
    inner = x.content()
    if isinstance(inner, Tracer):
        walk.traced = True
    else:
        walk.more(inner, path)


class _Items:
    """Whether a container holds what it held."""

    def __init__(self, take: Callable[[Any], Any], x: Any) -> None:
        self.take, self.known = take, take(x)

    def __call__(self, x: Any) -> bool:
        now, known = self.take(x), self.known
        if isinstance(now, bytes):
            return bool(now == known)
        return len(now) == len(known) and all(map(operator.is_, now, known))

    def put(self, x: Any, _: Any) -> None:
        if isinstance(x, (bytearray, memoryview, array)):
            memoryview(x).cast("B")[:] = self.known
            return
        x.clear()
        if isinstance(x, dict):
            x.update(zip(self.known[::2], self.known[1::2], strict=True))
        else:
            x.update(self.known) if isinstance(x, set) else x.extend(self.known)


def _look_at_items(walk: Walk, x: Any, take: Callable[[Any], Any], path: Path) -> None:
    same = _Items(take, x)
    changing = isinstance(x, (dict, list, set, deque, bytearray, array))
    walk.looked(x, same, x, True, path, same.put if changing else None)


def _pairs(x: Any) -> tuple[Any, ...]:
    return tuple(part for pair in x.items() for part in pair)


def _objects(x: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    return (x.shape, *x.ravel().tolist())


def _visit_items(walk: Walk, x: Any, path: Path) -> None:
    """A list, tuple, set or deque."""
    cls = type(x)
    walk.add((cls, len(x)), path)
    if cls is list:
        walk.saw(List(x, tuple(x)), path)
    elif not isinstance(x, (tuple, frozenset)):
        _look_at_items(walk, x, tuple, path)
    for item in x:
        walk.more(item, path)
    if cls not in (list, tuple, set, frozenset, deque):
        visit_instance(walk, x, path)


def visit_dict(walk: Walk, x: Any, path: Path) -> None:
    """A dictionary, or what looks like one: the order counts."""
    cls = type(x)
    walk.add((cls, len(x)), path)
    if cls in (dict, defaultdict) or (cls is OrderedDict and len(x) < 2):  # no order of its own
        walk.saw(Dict(x, tuple(x), tuple(x.values())), path)
    else:
        _look_at_items(walk, x, _pairs, path)
    for key, item in x.items():
        walk.add(key, path) if type(key) is str else walk.more(key, path)
        walk.more(item, (*path, key) if type(key) is str else path)
    if cls not in (dict, types.MappingProxyType):
        visit_instance(walk, x, path)


def _visit_bytes(walk: Walk, x: Any, path: Path) -> None:
    content = bytes(x)
    walk.add((type(x), getattr(x, "typecode", None), content), path)
    _look_at_items(walk, x, bytes, path)


def _visit_environment(walk: Walk, x: Any, path: Path) -> None:
    walk.more(x._data, path)


def _visit_reference(walk: Walk, x: weakref.ref[Any], path: Path) -> None:
    """A reference that leads to its object or, later, to nothing."""
    held = x()
    walk.add(type(x), path)
    walk.looked(x, _is_alive, x, held is not None, path)
    walk.more(held, path)


def _is_alive(x: weakref.ref[Any]) -> bool:
    return x() is not None


def _visit_variable(walk: Walk, x: ContextVar[Any], path: Path) -> None:
    held = _value_of(x)
    walk.add(type(x), path)
    walk.looked(x, _value_of, x, held, path)
    walk.more(held, path)


def _value_of(x: ContextVar[Any]) -> Any:
    try:
        return x.get()
    except LookupError:
        return ABSENT


def _visit_record(walk: Walk, x: Primitive, path: Path) -> None:
    """A primitive: what its author stated. What it keeps besides was made of that."""
    walk.add(x, path)
    if not x.is_ours:
        for part in x.stated():
            walk.more(part, path)


def _visit_pointwise(walk: Walk, x: Pointwise, path: Path) -> None:
    walk.add(type(x), path)
    walk.more(x.function, path)


def _visit_generator(walk: Walk, x: Any, path: Path) -> None:
    walk.add(type(x), path)
    walk.generators.append(x)


# ------------------------------------------------------------------ functions


def _visit_partial(walk: Walk, x: Any, path: Path) -> None:
    walk.add(type(x), path)
    for part in (x.func, x.args, x.keywords):
        walk.more(part, path)
    if x.__dict__ and type(x).__module__.split(".")[0] != "funcgrad":  # not a transform's name
        walk.more(x.__dict__, path)


def _visit_method(walk: Walk, x: Any, path: Path) -> None:
    walk.more(x.__func__, path)
    walk.more(x.__self__, path)


def _visit_builtin(walk: Walk, x: Any, path: Path) -> None:
    """A function in C, or a method of a container."""
    if isinstance(x.__self__, (types.ModuleType, type, type(None))):
        walk.add(x, path)
    else:
        walk.add(x.__name__, path)
        walk.more(x.__self__, path)


def _visit_getter(walk: Walk, x: Any, path: Path) -> None:
    walk.add(type(x), path)
    walk.more(x.__reduce__(), path)


def _is_ours(f: types.FunctionType) -> bool:
    package = (getattr(f, "__module__", None) or "").split(".")[0]
    return package in ("numpy", "scipy") or (package == "funcgrad" and not f.__closure__)


def visit_function(walk: Walk, f: types.FunctionType, path: Path) -> None:
    """A function: its code, cells and defaults, and the globals that it names.

    Of the functions of libraries code and cells count, and of the program's objects what their
    code names (not so ours, which only calls them).
    """
    if _is_ours(f):
        walk.add(Itself(f) if f.__closure__ else f.__code__, path)  # decorators share their code
        return
    walk.add(f.__code__, path)
    if f is os.getenv:
        walk.more(os.environ, path)
    home = str(f.__globals__.get("__name__"))
    library = walk.library(home)
    if not library:
        known = Function(f, f.__code__, f.__defaults__, f.__kwdefaults__)
        walk.saw(known, path)
    cells = _visit_cells(walk, f, library)
    for default in (f.__defaults__, f.__kwdefaults__):
        if default:
            walk.more(default, (*path[:-1], f"the defaults of {f.__name__}"))
    if home.split(".")[0] == "funcgrad":
        return
    named = named_by(f.__code__)
    if home.split(".")[0] not in LIBRARIES:
        walk.computed |= named.whole
    walk.named |= named.attributes | named.special
    for chain in sorted(named.chains):
        held = (f.__globals__ if chain.is_global else cells).get(chain.name, ABSENT)
        _visit_chain(walk, f, held, chain.attributes, path, library)
    if not library:
        _visit_globals(walk, f, named, path)
        _visit_imports(walk, f, named, path)
        walk.hold(f, "function", vars(f), path, silent=named.stored)


def _visit_cells(walk: Walk, f: types.FunctionType, library: bool) -> dict[str, Any]:
    found = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            inner = cell.cell_contents
        except ValueError:  # a cell that is not filled yet
            walk.add("empty", (name,))
            walk.empty_cell(f, name)
            inner = ABSENT
        else:
            walk.more(inner, (name,))
        if not library:
            if isinstance(inner, types.ModuleType):
                walk.module_used(f, inner.__name__, "")
            walk.saw(Cell(cell, inner), (name,))
        found[name] = inner
    return found


def _visit_chain(
    walk: Walk, f: Any, held: Any, names: tuple[str, ...], path: Path, library: bool
) -> None:
    """Attributes that are taken of a variable in turn.

    Of the module of a library they are what it is at the moment, and no names to look for in
    objects; numbers and containers in it are captured as well.
    """
    owner: Any = None
    for k, name in enumerate(names):
        if not isinstance(held, types.ModuleType) or not walk.library(held.__name__):
            walk.named.update(names[k:])
            names = names[:k]
            break
        if not library and name in _UNSEEN_OF.get(held.__name__, ()):
            walk.cannot_see(f"{_place(f)} uses {held.__name__}.{name}")
        if name not in vars(held):
            return
        owner, held = held, vars(held)[name]
        if not library:
            walk.module_used(f, owner.__name__, name)
    if owner is not None and not library and _is_data(held, owner):
        walk.saw(Item(vars(owner), names[-1], held), path)
        walk.more(held, (*path, names[-1]))


def _is_data(x: Any, module: types.ModuleType) -> bool:
    """Whether what a module of a library holds is no part of its code."""
    if x is os.getenv or x is os.environ:
        return True
    if type(x) in (int, float, complex, str, type(None)):
        return module.__name__.split(".")[0] not in LIBRARIES
    return not callable(x) and not isinstance(x, (types.ModuleType, io.IOBase))


def _visit_globals(walk: Walk, f: types.FunctionType, named: Named, path: Path) -> None:
    own = f.__globals__
    for name in sorted(named.lines):
        held = own.get(name, ABSENT)
        if held is ABSENT:
            builtins = own.get("__builtins__", {})
            held = (builtins if isinstance(builtins, dict) else vars(builtins)).get(name, ABSENT)
            walk.saw(Item(own, name, ABSENT), (name,))
            if held is not ABSENT and name in _UNSEEN:
                walk.cannot_see(f"{_place(f, named.lines[name])} calls {name}()")
            walk.builtin_used(f, name)
            continue
        walk.saw(Item(own, name, held), (name,))
        walk.add(name, (name,))
        if isinstance(held, types.ModuleType):
            walk.module_used(f, held.__name__, "")
        walk.more(held, (name,))


def _place(f: types.FunctionType, line: int | None = None) -> str:
    code = f.__code__
    return f'{f.__qualname__} (File "{code.co_filename}", line {line or code.co_firstlineno})'


def _visit_imports(walk: Walk, f: types.FunctionType, named: Named, path: Path) -> None:
    """The modules that the body imports, once they are there."""
    for level, name in sorted(named.imports):
        with contextlib.suppress(ImportError, TypeError, ValueError):
            package = f.__globals__.get("__package__")
            whole = importlib.util.resolve_name("." * level + name, package) if level else name
            parts = whole.split(".")
            for k in range(1, len(parts) + 1):
                module = ".".join(parts[:k])
                walk.module_used(f, module, "")
                if not walk.library(module):
                    held = sys.modules.get(module, ABSENT)
                    walk.saw(Item(sys.modules, module, held), path)
                    if held is not ABSENT:
                        walk.more(held, (module,))


# ------------------------------------------------------------------ modules, classes, objects


def _visit_module(walk: Walk, x: types.ModuleType, path: Path) -> None:
    walk.add(x, path)
    if not walk.library(x.__name__):
        walk.hold(x, "module", vars(x), path)


def _visit_class(walk: Walk, x: type, path: Path) -> None:
    walk.add(x, path)
    if walk.library(x.__module__):
        return
    _hold_bases(walk, x, path, {"__init__"})
    if not _is_ours_or_python(type(x)):
        _hold_bases(walk, type(x), path, _special(x, type(x), walk))


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


def _is_ours_or_python(cls: type) -> bool:
    return cls.__module__.split(".")[0] in LIBRARIES


def _visit_other(walk: Walk, x: Any, path: Path) -> None:
    cls: Any = type(x)
    own = getattr(x, "__dict__", None)
    package = cls.__module__.split(".")[0]
    if package == "funcgrad" and "__wrapped__" in (own or ()):
        _visit_wrapper(walk, x, path)
    elif has_own_rules(x):
        visit_content(walk, x, path)
    elif package == "numba" and hasattr(x, "py_func"):  # what was compiled
        walk.add(cls, path)
        walk.more(x.py_func, path)
    elif isinstance(x, io.IOBase) or (package in _SILENT and not isinstance(x, threading.local)):
        walk.add(Itself(x), path)
    elif _is_value(cls) or not (isinstance(own, dict) or _slots(cls)):
        _visit_opaque(walk, x, path)
    else:
        walk.add(cls, path)
        if any(map(_hides_content, cls.__mro__)):
            walk.add(Itself(x), path)
            if package not in ("numpy", "scipy"):
                _cannot_see(walk, x, path)
        visit_instance(walk, x, path)


def _hides_content(cls: Any) -> bool:
    """Whether a class is written in C, with content that is in no attribute, as a search tree."""
    shown = cls.__module__ in ("builtins", "types") or issubclass(cls, threading.local)
    return not cls.__flags__ & HEAP_TYPE and not shown


def _cannot_see(walk: Walk, x: Any, path: Path) -> None:
    cls = type(x)
    walk.cannot_see(
        f"{'.'.join(path) or 'it'} is an object of {cls.__module__}.{cls.__qualname__}, "
        "whose content Python does not show"
    )


def _is_value(cls: type) -> bool:
    """Whether objects of a library are equal where they hold the same: dates, fractions, paths."""
    return _hashes_content(cls) and cls.__module__.split(".")[0] in LIBRARIES


def _hashes_content(cls: Any) -> bool:
    return cls.__hash__ is not None and cls.__hash__ is not object.__hash__


def _is_hashable(x: Any) -> bool:
    """Whether `x` keeps what its class promises, as functions of ctypes do not."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _visit_graph(walk: Walk, x: Any, path: Path) -> None:
    """A staged program, as in what `linearize` returns: it never changes."""
    walk.add(Itself(x), path)


def _visit_wrapper(walk: Walk, x: Any, path: Path) -> None:
    """A jitted function, a custom rule, a function with a cache."""
    walk.add(type(x), path)
    own = vars(x)
    walk.saw(Dict(own, tuple(own), tuple(own.values())), path)
    for part in own.values():
        if callable(part):
            walk.more(part, path)


def _visit_itself(walk: Walk, x: Any, path: Path) -> None:
    walk.add(x, path)
    if isinstance(x, np.ufunc) and all(set(t) <= set("O->") for t in x.types):
        walk.cannot_see(f"{'.'.join(path)} is made by frompyfunc, which hides its function")


def _visit_opaque(walk: Walk, x: Any, path: Path) -> None:
    """An object without attributes of Python: a value, or something that is out of sight."""
    cls = type(x)
    if cls is object:
        walk.add(cls, path)
    elif cls is slice:
        walk.add(cls, path)
        walk.more((x.start, x.stop, x.step), path)
    elif _hashes_content(cls) and _is_hashable(x):
        walk.add((cls, repr(x), x), path)
    else:
        walk.add(Itself(x), path)
        _cannot_see(walk, x, path)


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
            walk.watched = False  # each thread has another dictionary
        walk.objects.append((x, own))
        walk.hold(x, "object", own, path, whole)
    if _slots(cls):
        walk.hold(x, "slots", Slots(x, _slots(cls)), path, whole)
    _hold_bases(walk, cls, path, _special(x, cls, walk))


def _has_hidden_code(cls: type) -> bool:
    parts = cls.__module__.split(".")
    return parts[0] in LIBRARIES and not _HOLDERS & {parts[0], cls.__module__}


@functools.lru_cache(maxsize=1024)
def _slots(cls: type) -> tuple[str, ...]:
    return tuple(
        name
        for base in cls.__mro__
        if "__slots__" in vars(base)
        for name, held in vars(base).items()
        if isinstance(held, types.MemberDescriptorType)
    )


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
_UNCALLED = frozenset(
    (
        "__class_getitem__", "__copy__", "__deepcopy__", "__del__", "__delattr__", "__dir__",
        "__format__", "__getstate__", "__hash__", "__init__", "__init_subclass__", "__new__",
        "__post_init__", "__reduce__", "__reduce_ex__", "__repr__", "__set_name__", "__setattr__",
        "__setstate__", "__sizeof__", "__str__",
    )
)  # fmt: skip

HANDLERS: tuple[tuple[Any, Callable[[Any, Any, Path], None]], ...] = (
    (enum.Enum, _visit_enum),
    (np.ndarray, _visit_array),
    (np.generic, _visit_scalar),
    ((int, float, complex, str, bytes), _visit_number),
    (Operand, _visit_operand),
    (Primitive, _visit_record),
    (Graph, _visit_graph),
    (Pointwise, _visit_pointwise),
    (type(functools.lru_cache(lambda: None)), _visit_wrapper),
    (functools.partial, _visit_partial),
    (types.MethodType, _visit_method),
    (types.FunctionType, visit_function),
    ((types.BuiltinFunctionType, types.MethodWrapperType), _visit_builtin),
    ((dict, types.MappingProxyType), visit_dict),
    ((list, tuple, set, frozenset, deque), _visit_items),
    ((bytearray, memoryview, array), _visit_bytes),
    (type(os.environ), _visit_environment),
    (weakref.ref, _visit_reference),
    (ContextVar, _visit_variable),
    ((operator.attrgetter, operator.methodcaller), _visit_getter),
    (GENERATORS, _visit_generator),
    (types.ModuleType, _visit_module),
    (_HARMLESS, _visit_itself),
    (type, _visit_class),
    (object, _visit_other),
)


@functools.lru_cache(maxsize=1024)
def handler(cls: type) -> Callable[[Any, Any, Path], None]:
    """What visits the instances of a class."""
    return next(visit for classes, visit in HANDLERS if issubclass(cls, classes))
