"""How the walk over captures goes through a function: its code, its cells, what its code names.

Of the globals and modules that it names only what is taken of them counts; what it hands to effects
is looked at, and not gone into.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

from funcgrad.compile.guards import ABSENT, Attribute, Cell, Function, Guard, Item
from funcgrad.transforms.named_in_code import Chain, Named, named_by
from funcgrad.transforms.walk import LIBRARIES, Itself, Path, Walk, package, read_or_absent

__all__ = ["visit_function"]

_METHODS = (types.MethodType, types.BuiltinMethodType)


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
    inside = {name: read_or_absent(getattr, cell, "cell_contents") for name, cell in cells.items()}
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
    of_all = named.attributes.union(*(c.attributes for c in named.chains))
    for name in sorted(of_all & walk.hidden["object"]) if not library else ():
        walk.used(f, "object", name)
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
        found = read_or_absent(getattr, found, name)
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
        held, owner = read_or_absent(getattr, held, name), held
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
        function: Any = f
        own: dict[str, Any] = function.__builtins__
        held = own.get(name, ABSENT)
        if not walk.library(package(held)):  # by the program
            _visit_variable(walk, f, name, held, Item(own, name, held))
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
        owner, held = held, vars(held).get(name, ABSENT)
        if held is ABSENT:
            names = names[: k + 1]
            break
    if owner is not None and not library and _is_data(walk, held):
        walk.saw(Item(vars(owner), names[-1], held), path)
        if held is not ABSENT:
            walk.more(held, (*path, names[-1]))


def _is_data(walk: Walk, x: Any) -> bool:
    """Whether what a module of a library holds, or has under no name, is no part of its code."""
    if isinstance(x, (types.FunctionType, type)):
        return x is os.getenv or not walk.library(package(x))
    return x is os.environ or not (callable(x) or isinstance(x, (types.ModuleType, io.IOBase)))
