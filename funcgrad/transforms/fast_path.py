"""The short way through `jit`: known arguments, unchanged captures, straight to the executable.

The first call for a kind of arguments goes the long way and leaves an entry here; where no NumPy
is needed between kernels, a program for the function's native entry point, which looks at the
captures and settings itself. Whatever is unusual (a traced argument, a class of the user's) is
left to the long way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.compile.execute import Kept, guard_check, keep_whole, native_entry, native_program
from funcgrad.compile.guards import Guard, Item, Same
from funcgrad.config import config
from funcgrad.core.layout import key_of
from funcgrad.core.tracer import layout
from funcgrad.transforms.captures import Captures
from funcgrad.transforms.results import unshared
from funcgrad.transforms.static import Static, objects, typed

__all__ = ["Quick", "kind_of", "layouts_of"]

_SCALARS = (float, int, complex, bool, np.float64, np.float32, np.int64, np.bool_)
SCALARS = frozenset(_SCALARS)
LIMIT = 256
PATIENCE = 3
ndarray = np.ndarray


class Entry(NamedTuple):
    run: Callable[..., tuple[Any, ...]]
    unchanged: Callable[[], bool]
    captured: tuple[Any, ...]
    build: Callable[[tuple[Any, ...]], Any]


def kind_of(args: Sequence[Any], leaves: list[Any]) -> Hashable:
    """A key of the kinds of arguments, and their leaves; None if something is unusual."""
    key: list[Any] = []
    for x in args:
        t = type(x)
        if t is ndarray:
            dtype = x.dtype
            if not dtype.isnative or dtype.char == "O":
                return None
            key.append(dtype.char)
            key.append(x.shape)
            leaves.append(x)
        elif t in SCALARS:
            key.append(t)
            leaves.append(x)
        elif t is tuple or t is list:
            inner = kind_of(x, leaves)
            if inner is None:
                return None
            key.append(t)
            key.append(inner)
        elif t is dict:
            order = tuple(x)
            if {*map(type, order)} - {str} and {*map(type, order)} - {int}:
                return None
            inner = kind_of([x[n] for n in sorted(order)], leaves)
            if inner is None:
                return None
            key += [dict, order, inner]
        elif x is None:
            key.append(None)
        else:
            return None
    return tuple(key)


def layouts_of(leaves: Sequence[Any], asked: Sequence[int]) -> tuple[Any, ...]:
    """How those of the arguments lie in memory for which it makes a difference."""
    return tuple(key_of(layout(leaves[k])) for k in asked)


def numbered(args: Sequence[Any], numbers: Iterator[int]) -> list[Any]:
    """The arguments with a number for every leaf, in the order of `kind_of`."""
    found: list[Any] = []
    for x in args:
        if type(x) in (tuple, list):
            found.append(type(x)(numbered(x, numbers)))
        elif type(x) is dict:
            names = sorted(x)
            each = dict(zip(names, numbered([x[n] for n in names], numbers), strict=True))
            found.append({n: each[n] for n in x})
        else:
            found.append(None if x is None else next(numbers))
    return found


def _nothing(*args: Any, **kwargs: Any) -> Any:
    """The entry point before there is one."""
    return NotImplemented


class Quick:
    """What one jitted function has learned.

    Attributes
    ----------
    call : callable
        ``call(*args, **kwargs)``: the result, or NotImplemented. Read it anew for each call.
    """

    def __init__(self, static: Static) -> None:
        self.static = static
        self.entries: dict[Hashable, Entry] = {}
        self.asked: dict[Hashable, tuple[int, ...]] = {}  # whose layout makes a difference
        # what was brought along when an entry was stale, and how many times one was
        self.changed: dict[Hashable, tuple[Any, int]] = {}
        self.call: Callable[..., Any] = _nothing
        self.native: Any = None
        self.native_unchanged: Callable[[], bool] | None = None

    def find(self, args: Any, kwargs: Any) -> tuple[Entry, list[Any]] | None:
        leaves: list[Any] = []
        key = self.key(args, kwargs, leaves)
        if key in self.asked:
            key = (key, layouts_of(leaves, self.asked[key]))
        entry = self.entries.get(key)
        return (entry, leaves) if entry is not None and entry.unchanged() else None

    def key(self, args: Any, kwargs: Any, leaves: list[Any]) -> Hashable:
        """The kinds of the arguments; None if something is unusual. It gathers their leaves."""
        fixed: Any = None
        kwargs = self.static.named(kwargs)
        order = tuple(kwargs)
        if self.static.any:
            fixed, args, kwargs = self.static.divide(args, kwargs)
        try:
            kind = kind_of((*args, kwargs) if kwargs else args, leaves)
        except RecursionError:  # a container in itself: the long way says so
            return None
        return kind if fixed is None or kind is None else (kind, typed(fixed), order)

    def add(
        self,
        args: Any,
        kwargs: Any,
        run: Any,
        captures: Captures,
        captured: Sequence[Any],
        out: tree.TreeDef,
        asked: tuple[int, ...] = (),
    ) -> None:
        """Remember what to run for arguments like these."""
        leaves: list[Any] = []
        key = self.key(args, kwargs, leaves)
        if key is None or not captures.guarded or captures.traced:
            return
        if key in self.entries and self.changes_often(key, run, captures):
            if captured:
                keep_whole(run)
            return
        if len(self.entries) >= LIMIT:
            self.entries.clear()
            self.asked.clear()
            self.changed.clear()
        native = True
        if asked:
            self.asked[key] = asked = tuple(sorted({*asked, *self.asked.get(key, ())}))
            lies = layouts_of(leaves, asked)
            key = (key, lies)
            # native entry points take arrays in C order, and scalars for arrays without axes
            native = all(x == "C" and leaves[k].ndim for k, x in zip(asked, lies, strict=True))
        guards = [*captures.guards(), *_settings()]
        unchanged = guard_check(guards)
        self.entries[key] = Entry(run, unchanged, tuple(captured), _builder(out, run.shared))
        if self.static.any and objects(self.static.divide(args, kwargs)[0]):
            return  # which are watched for this entry alone
        if not native:
            return
        program = native_program(run, self.arguments(args, kwargs), tuple(kwargs), captured, out)
        if program is None:
            return
        if self.native_unchanged is None or not self.native_unchanged():
            self.native, self.native_unchanged = native_entry(guards), unchanged
        self.native.add(program)
        self.call = self.native.call

    def changes_often(self, key: Hashable, run: Any, captures: Captures) -> bool:
        """Whether what is brought along is other than when an entry was found stale before.

        It may change at each call, and an entry takes as long as a trace. A program from disk that
        cannot be given what is captured is compiled where this goes on.
        """
        before, times = self.changed.get(key, (None, 0))
        if before == captures.key:
            return False
        self.changed[key] = captures.key, times + 1
        return type(run) is not Kept or run.whole is not None or times > PATIENCE

    def arguments(self, args: Any, kwargs: Any) -> list[Any]:
        """The arguments with numbers for leaves, those by keyword at the end as they were given."""
        positions, by_name = self.static.places(len(args), kwargs)
        numbers = itertools.count()
        dynamic = iter(numbered([x for k, x in enumerate(args) if k not in positions], numbers))
        found = [Same(x) if k in positions else next(dynamic) for k, x in enumerate(args)]
        names = sorted(n for n in kwargs if n not in by_name)
        named = dict(zip(names, numbered([kwargs[n] for n in names], numbers), strict=True))
        return [*found, *(Same(x) if n in by_name else named[n] for n, x in kwargs.items())]


def _settings() -> list[Guard]:
    own = vars(config)
    return [Item(own, name, own[name]) for name in ("backend", "avx512")]


def _builder(out: tree.TreeDef, shared: tuple[int, ...]) -> Callable[[tuple[Any, ...]], Any]:
    """What makes the result of the outputs."""
    if shared:
        whole = _builder(out, ())
        return lambda outputs: whole(tuple(unshared(outputs, shared)))
    if out.kind is None:
        return lambda outputs: outputs[0]
    if out.kind is tuple and all(c.kind is None for c in out.parts):
        return lambda outputs: outputs
    if out.kind is tuple and len(out.parts) == 2 and out.parts[0].kind is None:
        inner = _builder(out.parts[1], ())
        return lambda outputs: (outputs[0], inner(outputs[1:]))
    return lambda outputs: tree.unflatten(out, outputs)
