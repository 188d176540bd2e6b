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
import itertools
import operator
import os
import sys
import threading
import types
import weakref
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.guards import (
    ABSENT,
    Attribute,
    Cell,
    Dict,
    Function,
    Guard,
    Item,
    List,
    Look,
    Type,
)
from funcgrad.core.classes import has_own_rules
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import Operand, Tracer, type_of
from funcgrad.graph.ir import Graph
from funcgrad.transforms.effects_in_code import Chain
from funcgrad.transforms.named_in_code import COMPARISONS, Named, named_by
from funcgrad.transforms.random_draws import GENERATORS
from funcgrad.transforms.walk import LIBRARIES, Itself, Path, Walk, package

__all__ = ["handler", "visit_content", "visit_function", "visit_instance"]

# Modules of the standard library whose objects hold attributes of the program and add nothing, and
# those whose objects decide nothing that a program computes.
_HOLDERS = frozenset(("types", "argparse", "abc", "typing", "builtins", "enum", "collections.abc"))
_SILENT = frozenset(("logging", "threading", "_thread", "warnings", "concurrent", "unittest"))
_PLAIN = (int, float, complex, str, bytes)
_CONTAINERS = (list, tuple, set, frozenset, deque)
HEAP_TYPE = 1 << 9  # the flag of classes that Python code makes
_HARMLESS = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, np.ufunc, np.dtype, types.CodeType,
    type(threading.Lock()), type(threading.RLock()), type(np.sum), types.EllipsisType,
    types.NotImplementedType, type(NamedTuple("_", [("field", int)]).field),  # type: ignore[attr-defined]
)  # fmt: skip


_METHODS = (types.MethodType, types.BuiltinMethodType)

Visit = Callable[[Any, Any, Path], None]


def _held(read: Callable[..., Any], *of: Any) -> Any:
    """What a cell, a slot or a variable of a context holds; it may not be filled yet."""
    try:
        return read(*of)
    except (AttributeError, LookupError, ValueError):
        return ABSENT


# ------------------------------------------------------------------ numbers, arrays, containers


def of_parts(
    parts: Callable[[Any], Iterable[Any]] = lambda _: (),
    mark: Callable[[Any], Any] = type,
    look: Callable[[Any], Any] | None = None,
) -> Visit:
    """What visits things that are told by a mark, parts, and what a function says of them."""

    def visit(walk: Walk, x: Any, path: Path) -> None:
        walk.add(mark(x), path)
        if look is not None:
            walk.saw(Look(look, x, look(x)), path)
        walk.all_of(parts(x), path)

    return visit


def _with_attributes(visit: Visit, plain: tuple[type, ...]) -> Visit:
    """The same, with the attributes of instances of all classes but the `plain` ones."""

    def both(walk: Walk, x: Any, path: Path) -> None:
        visit(walk, x, path)
        if type(x) not in plain:
            visit_instance(walk, x, path)

    return both


def _visit_number(walk: Walk, x: Any, path: Path) -> None:
    """A number or a text of a class of the program."""
    walk.plain(next(c for c in _PLAIN if isinstance(x, c))(x), path)


def _visit_array(walk: Walk, x: np.ndarray[Any, Any], path: Path) -> None:
    """The numbers of an array, what one of objects holds, and the attributes of a subclass.

    A mask or a unit is an attribute. Strides count: they decide orders, and so the last bits.
    """
    if x.dtype.hasobject:
        _look_at_items(walk, x, _objects, path)
        walk.add((x.shape, x.strides), path)
        walk.all_of(x.ravel().tolist(), path)
    else:
        walk.arrays.append(x if type(x) is np.ndarray else x.view(np.ndarray))
        walk.array_paths.append(path)
        walk.add((type_of(x), x.strides), path)


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
    walk.saw(Look(same, x, True, same.put if changing else None), path)


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
    walk.all_of(x, path)


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


def _visit_bytes(walk: Walk, x: Any, path: Path) -> None:
    content = bytes(x)
    walk.add((type(x), getattr(x, "typecode", None), content), path)
    _look_at_items(walk, x, bytes, path)


def _visit_generator(walk: Walk, x: Any, path: Path) -> None:
    walk.add(type(x), path)
    walk.generators.append(x)


# ------------------------------------------------------------------ functions


def _parts_of_partial(x: Any) -> tuple[Any, ...]:
    ours = package(type(x)) == "funcgrad"  # which keep a transform's name in it
    return (x.func, x.args, x.keywords, *([] if ours or not x.__dict__ else [x.__dict__]))


def _is_of_none(x: Any) -> bool:
    """Whether a function in C is no method of a container."""
    return isinstance(x.__self__, (types.ModuleType, type, type(None)))


def _is_ours(f: types.FunctionType) -> bool:
    return package(f) in ("numpy", "scipy") or (package(f) == "funcgrad" and not f.__closure__)


def visit_function(walk: Walk, f: types.FunctionType, path: Path) -> None:
    """A function: its code, cells and defaults, and the globals that it names.

    Of the functions of libraries code and cells count, and of the program's objects what their
    code names (not so ours, which only calls them).
    """
    if _is_ours(f):
        shared = f.__closure__ or f.__kwdefaults__  # decorators share their code
        walk.add(Itself(f) if shared else f.__code__, path)
        return
    walk.add(f.__code__, path)
    if f is os.getenv:
        walk.more(os.environ, path)
    home = str(f.__globals__.get("__name__"))
    library = walk.library(home)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    inside = {name: _held(getattr, cell, "cell_contents") for name, cell in cells.items()}
    named, hidden = _without_effects(walk, f, inside, cells)
    for name, held in inside.items():
        if name not in hidden:
            _visit_variable(walk, f, name, held, None if library else Cell(cells[name], held))
    for default in (f.__defaults__, f.__kwdefaults__):
        if default:
            walk.more(default, (*path[:-1], f"the defaults of {f.__name__}"))
    if not library:
        walk.saw(Function(f, f.__code__, f.__defaults__, f.__kwdefaults__), path)
    if home.split(".")[0] == "funcgrad":
        return
    walk.computed |= named.whole and home.split(".")[0] not in LIBRARIES
    walk.named |= named.attributes | named.special
    for chain in sorted(named.chains):
        held = (f.__globals__ if chain.is_global else inside).get(chain.name, ABSENT)
        _visit_chain(walk, f, held, chain.attributes, path, library)
    if library:
        return
    for name, line in sorted(named.lines.items()):
        held = f.__globals__.get(name, ABSENT)
        _visit_variable(walk, f, name, held, Item(f.__globals__, name, held), line)
    for name in _imported(f, named):
        held = sys.modules.get(name, ABSENT)
        walk.used(f, name)
        if not walk.library(name):
            _visit_variable(walk, f, name, held, Item(sys.modules, name, held))
    walk.hold(f, "function", vars(f), path, silent=named.stored)


def _without_effects(
    walk: Walk, f: types.FunctionType, inside: dict[str, Any], cells: dict[str, Any]
) -> tuple[Named, set[str]]:
    """What a function names that counts while it is traced, and its variables that do not.

    Of what it hands to effects only that it is the same object counts: they are called when what
    was compiled runs, and see what there is then.
    """
    whole = named_by(f.__code__)
    named, effects = whole._replace(called=()), []
    for called in whole.called:
        chain = called.chain
        callee = _led_to(called.callee, f, inside, types.ModuleType)
        known = getattr(callee, "is_effect", False) is True
        if known and (chain is None or _led_to(chain, f, inside) is not ABSENT):
            effects.append(called)
        else:
            named = named.with_(called.part)
    for called in effects:
        walk.handed.update(called.attributes)
        if called.chain is not None:
            _watch_itself(walk, f, called.chain, inside, cells)
    return named, {name for called in effects for name in called.outer - named.outer}


def _led_to(chain: Chain, f: types.FunctionType, inside: dict[str, Any], by: type = object) -> Any:
    """What a chain of attributes of such things leads to."""
    found = (f.__globals__ if chain.is_global else inside).get(chain.name, ABSENT)
    for name in chain.attributes:
        if found is ABSENT or not isinstance(found, by):
            return ABSENT
        found = _held(getattr, found, name)
    return found


def _watch_itself(
    walk: Walk, f: types.FunctionType, chain: Chain, inside: dict[str, Any], cells: dict[str, Any]
) -> None:
    """Look at where a chain leads to, and not into it."""
    held = (f.__globals__ if chain.is_global else inside)[chain.name]
    place = Item(f.__globals__, chain.name, held) if chain.is_global else None
    walk.saw(place or Cell(cells[chain.name], held), (chain.name,))
    walk.add(Itself(held), (chain.name,))
    for name in chain.attributes:
        held, owner = _held(getattr, held, name), held
        if isinstance(held, _METHODS):  # made anew each time, of these
            walk.add((held.__name__, getattr(held, "__func__", None)), (chain.name, name))
            if hasattr(held, "__func__"):
                walk.saw(Attribute(type(owner), name, getattr(type(owner), name, ABSENT)), (name,))
        else:
            walk.saw(Attribute(owner, name, held), (chain.name, name))
            walk.add(Itself(held), (chain.name, name))


_TAKEN = (type, types.BuiltinFunctionType, types.FunctionType)


def _visit_variable(
    walk: Walk, f: types.FunctionType, name: str, held: Any, place: Guard | None, line: int = 0
) -> None:
    """What lies under a name, in a place that is looked at again where there is one."""
    if place is not None:
        walk.saw(place, (name,))
        if isinstance(held, types.ModuleType):
            walk.used(f, held.__name__)
        elif isinstance(held, _TAKEN) and walk.library(package(held)):  # out of a module
            walk.used(f, package(held), held.__name__, line)
    if held is not ABSENT:
        walk.more(held, (name,))
        return
    walk.add("nothing", (name,))
    if line:  # a global: built in, or made later
        walk.used(f, "builtins", name, line)
    elif name in f.__code__.co_freevars:
        walk.empty_cell(f, name)


def _imported(f: types.FunctionType, named: Named) -> Iterator[str]:
    """The modules that the body imports, and the packages in which they are."""
    for level, name in sorted(named.imports):
        with contextlib.suppress(ImportError, TypeError, ValueError):
            home = f.__globals__.get("__package__")
            whole = importlib.util.resolve_name("." * level + name, home) if level else name
            yield from itertools.accumulate(whole.split("."), lambda a, b: f"{a}.{b}")


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
        if not library:
            walk.used(f, held.__name__, name)
        if name not in vars(held):
            return
        owner, held = held, vars(held)[name]
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
    if package(type(x)) not in LIBRARIES:
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


def _visit_other(walk: Walk, x: Any, path: Path) -> None:
    cls: Any = type(x)
    own, home = getattr(x, "__dict__", None), package(cls)
    attributes = isinstance(own, dict) or _slots(cls)
    if home == "funcgrad" and "__wrapped__" in (own or ()):
        _visit_wrapper(walk, x, path)
    elif has_own_rules(x):
        visit_content(walk, x, path)
    elif home == "numba" and hasattr(x, "py_func"):  # what was compiled
        of_parts(lambda x: [x.py_func])(walk, x, path)
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
        walk.saw(Attribute(x, "__dict__", own), path)
        walk.hold(x, "object", own, path, whole)
    slots = _slots(cls)
    if slots:
        filled = {
            name: held for name in slots if (held := _held(slots[name].__get__, x)) is not ABSENT
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
_UNCALLED = frozenset(
    (
        "__class_getitem__", "__copy__", "__deepcopy__", "__del__", "__delattr__", "__dir__",
        "__format__", "__getstate__", "__hash__", "__init__", "__init_subclass__", "__new__",
        "__post_init__", "__reduce__", "__reduce_ex__", "__repr__", "__set_name__", "__setattr__",
        "__setstate__", "__sizeof__", "__str__",
    )
)  # fmt: skip

# The classes, what visits their instances, and of which of them attributes do not count.
HANDLERS: tuple[tuple[Any, Visit] | tuple[Any, Visit, tuple[type, ...]], ...] = (
    (enum.Enum, of_parts(mark=lambda x: x.name), ()),
    (np.ndarray, _visit_array, (np.ndarray,)),
    (np.generic, of_parts(mark=lambda x: (x.dtype, x.tobytes()))),
    (_PLAIN, _visit_number, ()),
    (Operand, _visit_operand),
    # what its author stated: what a record keeps besides was made of that
    (Primitive, of_parts(lambda x: () if x.is_ours else x.stated(), lambda x: x)),
    (Graph, of_parts(mark=Itself)),  # as in what `linearize` returns: it never changes
    (Pointwise, of_parts(lambda x: [x.function])),
    (type(functools.lru_cache(lambda: None)), _visit_wrapper),
    (functools.partial, of_parts(_parts_of_partial)),
    (types.MethodType, of_parts(lambda x: [x.__func__, x.__self__])),
    (types.FunctionType, visit_function),
    (
        (types.BuiltinFunctionType, types.MethodWrapperType),
        of_parts(
            lambda x: [] if _is_of_none(x) else [x.__self__],
            lambda x: x if _is_of_none(x) else x.__name__,
        ),
    ),
    ((dict, types.MappingProxyType), visit_dict, (dict, types.MappingProxyType)),
    (_CONTAINERS, _visit_items, _CONTAINERS),
    ((bytearray, memoryview, array), _visit_bytes),
    (slice, of_parts(lambda x: [x.start, x.stop, x.step])),
    (type(os.environ), of_parts(lambda x: [x._data])),
    # a reference leads to its object or, later, to nothing
    (weakref.ref, of_parts(lambda x: [x()], look=lambda x: x() is not None)),
    (ContextVar, of_parts(lambda x: [_held(x.get)], look=lambda x: _held(x.get))),
    ((operator.attrgetter, operator.methodcaller), of_parts(lambda x: x.__reduce__())),
    (GENERATORS, _visit_generator),
    (types.ModuleType, _visit_module),
    (_HARMLESS, _visit_itself),
    (type, _visit_class),
    (object, _visit_other),
)


@functools.lru_cache(maxsize=1024)
def handler(cls: type) -> Visit:
    """What visits the instances of a class."""
    _, visit, *plain = next(row for row in HANDLERS if issubclass(cls, row[0]))
    return _with_attributes(visit, *plain) if plain else visit
