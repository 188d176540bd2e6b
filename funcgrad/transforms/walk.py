"""The walk over all that a function can reach, for `jit` and for the facade's `compile`.

It goes through closure cells, defaults, globals and imports that code names, containers, and of
objects, classes and modules through the attributes that any code on the way names
(`transforms.named_in_code`). All attributes of an object are taken where some code puts names
together while it runs, and where the class, or one of its bases, belongs to a library whose code is
not read. What was found gives a key, and places to look at again (`compile.guards`). What cannot be
followed is noted in `unseen`; nothing else is out of sight but what a library keeps in its own
globals and classes; files and the clock, which `transforms.readings` sees when they are read.

Nothing recurses, so a long chain of objects is no different from a short one.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from funcgrad.compile.guards import ABSENT, Attribute, Dict, Guard, Item, Look
from funcgrad.transforms.named_in_code import texts

__all__ = [
    "HIDDEN",
    "LIBRARIES",
    "Itself",
    "Path",
    "Walk",
    "in_library",
    "package",
    "package_of",
    "read_or_absent",
]

Path = tuple[str, ...]
MANY = 50_000  # things to look at
FEW = 8  # names, up to which looking for each in native code beats a call of Python's
_OWN = ("object", "slots", "class")  # whose attributes are taken as a whole

LIBRARIES = frozenset(sys.stdlib_module_names) - {"__main__"}
LIBRARIES |= {"numpy", "scipy", "funcgrad", "numba", "llvmlite"}
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None)))


# What leads to where no walk can follow.
HIDDEN: dict[str, frozenset[str]] = {
    "builtins": frozenset(("eval", "exec", "compile", "globals", "__import__")),
    "importlib": frozenset(("import_module", "reload")),
    "sys": frozenset(("_getframe", "modules", "getrecursionlimit", "gettrace", "getprofile")),
    "numpy": frozenset(("geterr", "geterrcall", "getbufsize", "get_printoptions")),
    "posixpath": frozenset(("expandvars", "expanduser")),
    "threading": frozenset(("current_thread", "get_ident", "get_native_id", "active_count")),
    "inspect": frozenset(("currentframe", "stack", "getouterframes")),
    "gc": frozenset(("get_objects", "get_referents", "get_referrers", "isenabled", "get_count")),
    "decimal": frozenset(("getcontext", "localcontext")),
    "object": frozenset(("__subclasses__", "locked")),  # attributes, of whatever it is
}


def package(x: Any) -> str:
    """The package in which a function or class was made."""
    return str(getattr(x, "__module__", None)).split(".")[0]


def package_of(f: Any) -> str:
    """The package of a function, however it is wrapped."""
    while isinstance(f, functools.partial):
        f = getattr(f, "__wrapped__", f.func)
    return package(f)


def in_library(module: Any, home: str) -> bool:
    """Whether a module belongs to an installed package, other than that of the function."""
    package = str(module).split(".")[0]
    return package in LIBRARIES or (package != home and _is_installed(package))


def _is_installed(package: str) -> bool:
    module = sys.modules.get(package)
    return module is not None and _lies_outside(module)


@functools.cache
def _installed() -> tuple[str, ...]:
    """The folders of installed packages."""
    import sysconfig  # executes a file of its own, that of the build

    return tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


@functools.cache
def _lies_outside(module: types.ModuleType) -> bool:
    paths = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    marks = ("site-packages", "dist-packages")  # also those of a user, a distribution, an outer one
    return any(p.startswith(_installed()) or any(m in p for m in marks) for p in paths)


def read_or_absent(read: Callable[..., Any], *of: Any) -> Any:
    """What a cell, a slot or a variable of a context holds; it may not be filled yet."""
    try:
        return read(*of)
    except (AttributeError, LookupError, ValueError):
        return ABSENT


def _tells(tell: Callable[[Any], Any], known: Any, x: Any) -> bool:
    return bool(tell(x) == known)


class Itself:
    """In a key: this very object, which it keeps, so that no other one gets its identity."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __hash__(self) -> int:
        return id(self.x)

    def __eq__(self, other: object) -> bool:
        return type(other) is Itself and other.x is self.x


class Holder:
    """Something with attributes, and those of them that were looked at.

    Of an object with slots `own` has the filled ones, and `slots` the names of all.
    """

    def __init__(self, x: Any, own: dict[str, Any], path: Path, kind: str, whole: bool) -> None:
        self.x, self.own, self.path, self.kind, self.whole = x, own, path, kind, whole
        self.looked: set[str] = set()
        self.extra: set[str] = set()  # names that count here alone
        self.silent: frozenset[str] = frozenset()
        self.slots: frozenset[str] = frozenset()

    def guard(self, name: str, value: Any) -> Guard:
        """That a name leads to this."""
        if self.kind == "slots":
            return Attribute(self.x, name, value)
        return Item(self.own, name, value, self.kind == "class")


class Walk:
    """A walk, and what it found.

    Attributes
    ----------
    key : list
        What a compiled function depends on, in the order of the walk; `labels` say where each part
        was found.
    arrays : list of ndarray
        Each once; `array_paths` say where.
    places : dict
        What to look at again (`guards`), and where it was found; `guarded` is False where
        something lies that cannot be looked at but by a walk.
    unseen : dict
        What cannot be followed, and where.
    generators : list
        Sources of random numbers.
    """

    whole = False  # whether all attributes of all objects are looked at
    hidden = HIDDEN  # what must not be used, by modules; "" is the module itself

    def __init__(self, home: str) -> None:
        self.home = home
        self.key: list[Hashable] = []
        self.labels: list[Path] = []
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.array_paths: list[Path] = []
        self.generators: list[Any] = []
        self.unseen: dict[str, None] = {}
        self.traced = False  # whether a traced value was found
        self.guarded = True
        self.computed = False  # whether names of attributes are computed
        self.places: dict[Hashable, tuple[Guard, Path]] = {}
        self.seen: dict[int, tuple[int, Any]] = {}  # the things keep their identities
        self.names: set[str] = set()
        self.handed: set[str] = set()  # of attributes that lead to what only effects are given
        self.named: set[str] = set()  # those that came up since `names` were looked at
        self.holders: dict[Hashable, Holder] = {}
        self.absent: list[Guard] = []
        self.todo: list[tuple[Any, Path]] = []
        self.next: list[tuple[Any, Path]] = []

    # ---------------------------------------------------------------------- what is found

    def add(self, part: Any, path: Path) -> None:
        """A part of the key."""
        self.key.append(part)
        self.labels.append(path)

    def more(self, x: Any, path: Path) -> None:
        """Visit `x` after what was asked for before."""
        self.next.append((x, path))

    def all_of(self, xs: Iterable[Any], path: Path) -> None:
        self.next += ((x, path) for x in xs)

    def saw(self, place: Guard, path: Path) -> None:
        """Note what a place holds, once for each place."""
        part: Hashable = None
        if isinstance(place, (Item, Attribute)):
            part = place.name
        elif isinstance(place, Look):
            part = id(place.argument)
        self.places[type(place), id(place[0]), part] = place, path

    def told(self, x: Any, tell: Callable[[Any], Any], path: Path) -> None:
        """A part of the key that a function tells of `x`, now and when it is looked at again."""
        known = tell(x)
        self.add(known, path)
        self.saw(Look(functools.partial(_tells, tell, known), x, True), path)

    def cannot_see(self, what: str) -> None:
        """Note something that cannot be followed."""
        self.unseen.setdefault(what)

    # ---------------------------------------------------------------------- the walk itself

    def run(self) -> None:
        """Go through all that can be reached from what was given to `more`.

        An object may be handed to code that names other attributes of it than where it was found,
        so those that came up later are looked at until there are no more.
        """
        self._take()
        while True:
            while self.todo:
                if len(self.seen) > MANY:
                    self.cannot_see(f"more than {MANY} objects can be reached")
                    self.todo.clear()
                    break
                self.visit(*self.todo.pop())
                self._take()
            if self.named <= self.names and not self._open():
                break
            self.names |= self.named
            self.named.clear()
            for holder in list(self.holders.values()):
                self._look(holder)
            self._take()
        for holder in self.holders.values():
            self._look_at_handed(holder)
        self.absent = list(self._absent())  # now: a trace may set what was not there

    def _take(self) -> None:
        self.todo += reversed(self.next)
        self.next.clear()

    def _open(self) -> bool:
        """Whether holders have to be looked at as a whole that were not."""
        if not self.computed:
            return False
        closed = [h for h in self.holders.values() if not h.whole]
        for holder in closed:
            holder.whole = True
        return bool(closed)

    def visit(self, x: Any, path: Path) -> None:
        cls = type(x)
        if cls in _PLAIN:
            self.plain(x, path)
            return
        known = self.seen.get(id(x))
        if known is not None:
            self.add(("again", known[0]), path)
            return
        self.seen[id(x)] = len(self.seen), x
        self.handler(cls)(self, x, path)

    @staticmethod
    def handler(cls: type) -> Callable[[Any, Any, Path], None]:
        """What visits the instances of a class (`transforms.captured_kinds`)."""
        raise NotImplementedError

    def plain(self, x: Any, path: Path) -> None:
        self.add((type(x), repr(x) if isinstance(x, (float, complex)) else x), path)
        if isinstance(x, str):  # getattr(x, name)
            self.named.update(texts(x))

    # hooks for what a walk is for

    def used(self, f: types.FunctionType, module: str, name: str = "", line: int = 0) -> None:
        """A function has a module of a library, or takes `name` of it."""
        if name in self.hidden.get(module, ()):
            where = f'File "{f.__code__.co_filename}", line {line or f.__code__.co_firstlineno}'
            what = f"calls {name}()" if module == "builtins" else f"uses {module}.{name}"
            self.cannot_see(f"{f.__qualname__} ({where}) {what.rstrip('.')}")

    def empty_cell(self, f: Any, name: str) -> None:
        """A function closes over a variable that is not set yet."""

    def skips(self, cls: type) -> bool:
        """Whether what a class holds does not count."""
        return package(cls) in LIBRARIES

    def library(self, module: Any) -> bool:
        return in_library(module, self.home)

    # ---------------------------------------------------------------------- attributes

    def hold(
        self, x: Any, kind: str, own: dict[str, Any], path: Path, whole: bool = False,
        extra: Iterable[str] = (), silent: frozenset[str] = frozenset(),
        slots: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """Look at the attributes of `x` in `own` that are named, now and later."""
        found = self.holders.get((kind, id(x)))
        if found is None:
            whole = whole or self.computed or (self.whole and kind in _OWN)
            found = self.holders[kind, id(x)] = Holder(x, own, path, kind, whole)
            found.silent, found.slots = silent, frozenset(slots)
        found.extra.update(extra)
        self._look(found)

    def _look(self, holder: Holder) -> None:
        own = holder.own
        at_once = holder.whole and holder.kind == "object"
        if at_once:
            self.saw(Dict(own, tuple(own), tuple(own.values())), holder.path)
        names = set(own)
        if not holder.whole:
            names &= self.names | self.named | holder.extra
        for name in sorted(n for n in names - holder.looked if isinstance(n, str)):
            if name not in holder.silent and not _is_noise(name, own[name], holder):
                held, path = own[name], (*holder.path, name)
                holder.looked.add(name)
                if not at_once:
                    self.saw(holder.guard(name, held), path)
                self.add(name, path)
                if not isinstance(held, _DESCRIPTORS):
                    self.more(_run_by(held), path)

    def _look_at_handed(self, holder: Holder) -> None:
        """Of what only effects are given it counts that it is the same object."""
        for name in sorted((self.handed & set(holder.own)) - holder.looked - holder.silent):
            holder.looked.add(name)
            self.saw(holder.guard(name, holder.own[name]), (*holder.path, name))
            self.add(Itself(holder.own[name]), (*holder.path, name))

    def guards(self) -> list[Guard]:
        """All that has to hold for this to be what the function brings along."""
        return [*(place for place, _ in self.places.values()), *self.absent]

    def _absent(self) -> Iterator[Guard]:
        """That names which were not found are not there, and no others where all were taken."""
        for holder in self.holders.values():
            own, kind = holder.own, holder.kind
            absent = (
                (self.names | self.handed | holder.extra)
                - holder.looked
                - holder.silent
                - own.keys()
            )
            if kind == "slots":
                absent = set(holder.slots if holder.whole else holder.slots & absent) - own.keys()
            elif holder.whole and kind == "object":
                continue  # seen whole
            elif holder.whole and (self.computed or kind != "class"):
                yield Dict(own, tuple(own), None)
                continue
            if absent and not own and kind == "function":
                yield Dict(own, (), None)  # one look for all of them
            elif len(absent) <= FEW or kind == "slots":
                yield from (holder.guard(name, ABSENT) for name in absent)
            else:
                yield Look(own.keys().isdisjoint, frozenset(absent), True)


def _is_noise(name: str, held: Any, holder: Holder) -> bool:
    """What is no attribute of the program where all of them are taken."""
    if not holder.whole or holder.kind != "class":
        return False
    return name[:2] == "__" and not isinstance(_run_by(held), types.FunctionType)


def _run_by(held: Any) -> Any:
    """The function behind a method or a property, or what else a class holds."""
    if isinstance(held, (staticmethod, classmethod)):
        return held.__func__
    if isinstance(held, property):
        return held.fget
    return held.func if isinstance(held, functools.cached_property) else held
