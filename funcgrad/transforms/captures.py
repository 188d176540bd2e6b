"""What a function brings along: the arrays, numbers and functions that it can reach by name.

`jit` looks at them on every call, so that a cached graph is never stale: arrays become operands,
numbers and texts part of the key, and a traced value means that the function is staged anew.
Looked at are closure cells, defaults, the globals that the code names, the function behind a
bound method and its object, containers, and of other objects, classes and modules the attributes
that any code on the way names: what a function calls is followed, and so are methods and
properties. What cannot be seen is a name that is put together while the program runs, and what an
installed package, other than that of the function itself, keeps in its own globals and classes.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import sysconfig
import types
from array import array
from collections import UserDict, UserList, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from funcgrad.compile.watch import ABSENT, Cell, Dict, Function, Item, List, Look, Type, Watch
from funcgrad.compile.watch import Array as Content
from funcgrad.core.classes import has_own_rules
from funcgrad.core.tracer import Operand, Tracer, type_of
from funcgrad.core.types import ArrayType
from funcgrad.transforms.checksum import checksum
from funcgrad.transforms.draws import GENERATORS
from funcgrad.transforms.guard import is_frozen

__all__ = ["Captures", "capture"]

COPIED = 64 * 1024  # bytes, up to which a captured array is compared with a copy
_PLAIN = (int, float, complex, bool, str, bytes, type(None), np.generic)
_SKIPPED = (types.BuiltinFunctionType, np.ufunc, np.dtype)
_LIBRARIES = frozenset(sys.stdlib_module_names) - {"__main__"}
_LIBRARIES |= {"numpy", "scipy", "funcgrad", "numba", "llvmlite"}
_INSTALLED = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


def content(x: np.ndarray[Any, Any]) -> bytes:
    """What tells the content of an array: the bytes of a tiny one, which no checksum beats."""
    return x.tobytes() if x.nbytes <= 1024 else checksum(x)


class Captures:
    """The arrays in the order of the walk, the key of everything else, and whether traced.

    `places` says where each thing was found, so that one can look there again without a walk
    (`watches`); `watched` is False where something lies that cannot be looked at in this way.
    """

    def __init__(self, home: str, names: set[str]) -> None:
        self.home = home  # the package of the function
        self.names = names  # the attributes to look at
        self.named: set[str] = set()  # those that the code on the way names
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.key: list[Hashable] = []
        self.labels: list[tuple[str, ...]] = []  # where each part of the key was found
        self.path: list[str] = []
        self.array_paths: list[tuple[str, ...]] = []
        self.generators: list[Any] = []  # of random numbers
        self.traced = False
        self.seen: dict[int, Any] = {}
        self.watched = True
        self.places: dict[Hashable, Watch] = {}
        # What the function does with the content of an array in Python, a branch for example,
        # happens while it is traced: arrays are part of the key by content.
        self.read: list[tuple[np.ndarray[Any, Any], ArrayType, bytes]] = []

    def add(self, part: Hashable) -> None:
        """A part of the key that was found on the way at hand."""
        self.key.append(part)
        self.labels.append(tuple(self.path))

    @contextlib.contextmanager
    def at(self, name: str) -> Iterator[None]:
        """What is found meanwhile lies there, for `jit`'s report."""
        self.path.append(name)
        yield
        self.path.pop()

    def saw(self, place: Watch) -> None:
        """Note what a place holds, once for each place."""
        holder = place[0]
        self.places[type(place), id(holder), place[1] if type(place) is Item else None] = place

    def saw_item(self, holder: dict[str, Any], name: str) -> None:
        self.saw(Item(holder, name, holder.get(name, ABSENT)))

    def looked(self, x: Any, look: Callable[[str], Any], name: str, value: Any) -> None:
        """Note what a function gives for a name of `x`."""
        self.places[Look, id(x), name] = Look(look, name, value)

    def watches(self) -> list[Watch]:
        """All that has to hold for this to be what the function brings along."""
        found = list(self.places.values())
        for x, kind, known in self.read:
            found += _watches_of(x, kind, known)
        return found

    def changed(self) -> list[np.ndarray[Any, Any]]:
        """The arrays that are no longer what they were."""
        return [x for x, kind, known in self.read if type_of(x) != kind or content(x) != known]


def _watches_of(x: np.ndarray[Any, Any], kind: ArrayType, known: bytes) -> list[Watch]:
    """An array has to keep its content; one that nobody can write into is not read for that."""
    if is_frozen(x):
        found: list[Watch] = []
        each: Any = x
        while each is not None:
            found.append(Content.frozen(each))
            each = each.base
        return found
    if x.nbytes <= COPIED and x.flags.c_contiguous:
        return [Content.of(x)]
    address = x.__array_interface__["data"][0]
    return [Look(functools.partial(_is_still, kind, address, known), x, True)]


def _is_still(kind: ArrayType, address: int, known: bytes, x: np.ndarray[Any, Any]) -> bool:
    at = x.__array_interface__["data"][0]
    return type_of(x) == kind and at == address and content(x) == known


def capture(f: Any) -> Captures:
    """Walk over what `f` can reach.

    An object may be handed to code that names other attributes of it than where it was found, so
    the walk is done again until no new name turns up.
    """
    inner = f
    while isinstance(inner, functools.partial):
        inner = inner.func
    home = str(getattr(inner, "__module__", None)).split(".")[0]
    found = Captures(home, set())
    while True:
        _visit(f, found)
        if found.named <= found.names:
            found.read = [(x, type_of(x), content(x)) for x in found.arrays]
            where = {id(x): path for x, path in zip(found.arrays, found.array_paths, strict=True)}
            for x, _, known in found.read:
                found.path = [*where[id(x)], "content"]
                found.add(known)
            return found
        found = Captures(home, found.names | found.named)


def _code_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            names |= _code_names(c)
        elif isinstance(c, str) and c.isidentifier():  # getattr(x, "name")
            names.add(c)
    return names


def in_library(module: Any, found: Captures) -> bool:
    """Whether a module belongs to an installed package, other than that of the function."""
    package = str(module).split(".")[0]
    return package in _LIBRARIES or (package != found.home and _installed(package))


@functools.cache
def _installed(package: str) -> bool:
    module = sys.modules.get(package)
    paths = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    return any(p.startswith(_INSTALLED) for p in paths)


def _is_ours(f: types.FunctionType) -> bool:
    module = getattr(f, "__module__", None) or ""
    return module.split(".")[0] in ("numpy", "scipy") or (
        module.split(".")[0] == "funcgrad" and not f.__closure__
    )


def _visit(x: Any, found: Captures) -> None:
    if isinstance(x, _PLAIN):
        found.add((type(x), repr(x) if isinstance(x, (float, complex, np.generic)) else x))
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
            _visit(part, found)
    elif isinstance(x, types.MethodType):
        _visit(x.__func__, found)
        _visit(x.__self__, found)
    elif isinstance(x, types.FunctionType):
        _visit_function(x, found)
    elif isinstance(x, (list, tuple, set, frozenset, dict, deque)):
        _visit_container(x, found)
    elif isinstance(x, (bytearray, memoryview, array)):
        found.add((type(x), bytes(x)))
        found.watched = False
    elif isinstance(x, (UserDict, UserList)):
        found.watched = False
        _visit(x.data, found)
    elif isinstance(x, GENERATORS):
        found.generators.append(x)
    elif isinstance(x, types.ModuleType):
        if not in_library(x.__name__, found):
            _visit_attributes(vars(x), found, found.names & vars(x).keys())
    elif isinstance(x, type):
        if not in_library(x.__module__, found):
            _visit_class(x, x, found, found.names | {"__init__"})
    elif "__wrapped__" in getattr(x, "__dict__", {}):  # a jitted function, a custom rule
        found.saw(_dict(vars(x)))
        for part in vars(x).values():
            if isinstance(part, (types.FunctionType, types.MethodType)) or callable(part):
                _visit(part, found)
    else:
        _visit_object(x, found)


def _visit_array(x: np.ndarray[Any, Any], found: Captures) -> None:
    """The numbers of an array, what one of objects holds, and the attributes of a subclass.

    A mask or a unit is an attribute.
    """
    kind: Any = type(x)
    if x.dtype.kind == "O":
        found.watched = False
        found.add(x.shape)
        for item in x.ravel().tolist():
            _visit(item, found)
    else:
        found.arrays.append(x if kind is np.ndarray else x.view(np.ndarray))
        found.array_paths.append(tuple(found.path))
        found.add(type_of(x))
    if kind is not np.ndarray:
        found.add(kind)
        _visit(getattr(x, "__dict__", None), found)


def _visit_content(x: Any, found: Captures) -> None:
    """The numbers of a table or a tensor, which are taken out anew on every call."""
    found.watched = False
    with contextlib.suppress(Exception):  # what cannot be an array is no number of the program
        _visit_array(np.asarray(x), found)


def _visit_container(x: Any, found: Captures) -> None:
    found.add((type(x), len(x)))
    if type(x) in (list, dict):
        found.saw(List(x, tuple(x)) if type(x) is list else _dict(x))
    elif not isinstance(x, (tuple, frozenset)):
        found.watched = False
    for item in (part for pair in x.items() for part in pair) if isinstance(x, dict) else x:
        _visit(item, found)


def _dict(x: dict[Any, Any]) -> Dict:
    return Dict(x, tuple(x), tuple(x.values()))


def _visit_operand(x: Operand, found: Captures) -> None:
    found.watched = False
    inner = x.content()
    if isinstance(inner, Tracer):
        found.traced = True
    else:
        _visit(inner, found)


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
            _visit(inner, found)
    for default in (f.__defaults__, f.__kwdefaults__):
        if default:
            with found.at(f"the defaults of {f.__name__}"):
                _visit(default, found)
    if not library:
        _visit_attributes(f.__globals__, found, names)


def _visit_attributes(own: dict[str, Any], found: Captures, names: set[str]) -> None:
    for name in sorted(names):
        found.saw_item(own, name)
        if name in own:
            with found.at(name):
                _visit(own[name], found)


def _visit_object(x: Any, found: Captures) -> None:
    """Of an object, the attributes that are named, without running properties.

    One that can be called is taken to be called: a model with parameters in its attributes.
    """
    kind: Any = type(x)
    found.add(kind)
    found.saw(Type(x, kind))
    if has_own_rules(x) and not _is_lazy(x):
        _visit_content(x, found)
    own = getattr(x, "__dict__", None)
    if own is None:
        own = {}
    else:
        found.looked(x, functools.partial(getattr, x), "__dict__", own)
    names = found.names | {"__call__"} if callable(x) else found.names
    held = {n for n in names if n in own or any(n in vars(base) for base in kind.__mro__)}
    _visit_attributes(own, found, held)
    _visit_class(kind, x, found, held)


def _is_lazy(x: Any) -> bool:
    """Whether to take the numbers out would compute them: arrays of Dask do, and never change."""
    graph = getattr(x, "__dask_graph__", None)
    return graph is not None and graph() is not None


def _visit_class(cls: type, x: Any, found: Captures, names: set[str]) -> None:
    """What `cls` and its bases hold under the names, for `x`: an instance, or the class itself.

    Of a name that none of them holds nothing is noted: it belongs to something else.
    """
    bases = [b for b in cls.__mro__ if b.__module__.split(".")[0] not in _LIBRARIES]
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
                    _visit(_run_by(held), found)


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
