"""The memory of one run of an executable: intermediate values, and the arguments of its kernels.

Several threads may run an executable at once, so each run takes a workspace of its own. Those that
are not in use are kept for the next call; of large ones only some, whoever they belong to.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile.code import Argument
from funcgrad.compile.loops import Kernel
from funcgrad.compile.memory import address_of, aligned
from funcgrad.compile.places import Places, bytes_of
from funcgrad.graph.ir import Var

__all__ = ["Layout", "Workspace", "Workspaces"]


class Layout:
    """Where everything lies in a workspace."""

    def __init__(self, places: Places, constants: dict[Var, np.ndarray[Any, Any]]) -> None:
        self.places, self.total = places.offsets, places.total
        self.constants = constants
        self.calls: list[Any] = []
        self.names: dict[str, int] = {}
        self.values: dict[Var, str] = {}
        self.tables: dict[str, list[tuple[int, str, int]]] = {}


class Workspace:
    """The memory of one run: intermediate values, and the arguments of every kernel."""

    def __init__(self, layout: Layout, code: Any) -> None:
        self.block = aligned(layout.total)
        self.flag = np.zeros(1, np.int64)
        self.arrays = {
            v: self.block[start : start + bytes_of(v)].view(v.type.dtype).reshape(v.type.shape)
            for v, start in layout.places.items()
        }
        self.arguments = [self._fill(layout, *each) for each in layout.calls]
        for name, number in layout.names.items():
            setattr(self, name, self.arguments[number])
        for v, name in layout.values.items():
            setattr(self, name, self.arrays[v])
        self.tables = []
        for name, calls in layout.tables.items():
            table = []
            for number, kernel, chunks in calls:
                arguments = address_of()(self.arguments[number])
                table += [code.address(kernel), arguments, chunks]
            self.tables.append(np.array([*table, 0], np.int64))
            setattr(self, name, address_of()(self.tables[-1]))
        for name, number in layout.names.items():
            setattr(self, f"{name}_at", address_of()(self.arguments[number]))

    def _fill(
        self,
        layout: Layout,
        kernel: Kernel,
        arguments: Sequence[Argument],
        integers: Sequence[int],
        numbers: Sequence[Any],
        partials: dict[str, int],
        direct: dict[str, Var],
    ) -> np.ndarray[Any, Any]:
        address = address_of()
        words = [0] * len(arguments) + list(integers)
        for k, a in enumerate(arguments):
            if a.role == "partial" and a.name not in direct:
                words[k] = address(self.block) + partials[str(a.var)]
            elif a.var in self.arrays:
                words[k] = address(self.arrays[a.var])
            elif a.var in layout.constants:
                words[k] = address(layout.constants[a.var])
        for x in numbers:
            word = np.zeros(1, np.int64)
            word.view(x.dtype)[0] = x
            words.append(int(word[0]))
        if "scratch" in partials:
            words.append(address(self.block) + partials["scratch"])
        if kernel.requires:
            words.append(address(self.flag))
        return np.array(words, np.int64)


SMALL = 1 << 20  # bytes, up to which an unused workspace is kept in any case
HELD = 256 << 20  # bytes of larger ones, of all executables
# No lock: a signal's handler or a finalizer may come here in the middle of a line, so every step is
# one operation of a dictionary or a list.
_large: OrderedDict[int, weakref.ref[Workspaces]] = OrderedDict()


class Workspaces:
    """Those of one executable that are not in use."""

    def __init__(self, layout: Layout, code: Any) -> None:
        self.layout, self.code = layout, code
        self.idle: list[Workspace] = []

    def take(self) -> Workspace:
        try:
            return self.idle.pop()
        except IndexError:
            return Workspace(self.layout, self.code)

    def give(self, w: Workspace) -> None:
        self.idle.append(w)
        if self.layout.total > SMALL:
            _large.pop(id(self), None)
            _large[id(self)] = weakref.ref(self)  # the last one
            _release()


def _release() -> None:
    """Let go of those that were not used for the longest time."""
    known = [(key, owner) for key in list(_large) if (owner := _owner(key)) is not None]
    total = sum(owner.layout.total * len(owner.idle) for _, owner in known)
    for key, owner in known[:-1]:
        if total <= HELD:
            return
        total -= owner.layout.total * len(owner.idle)
        owner.idle = []
        _large.pop(key, None)


def _owner(key: int) -> Workspaces | None:
    found = _large.get(key)
    owner = None if found is None else found()
    if owner is None:
        _large.pop(key, None)
    return owner
