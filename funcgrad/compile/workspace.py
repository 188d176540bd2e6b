"""The memory of one run of an executable: intermediate values, and the arguments of its kernels.

Several threads may run an executable at once, so each run takes a workspace of its own. Those that
are not in use are kept for the next call; of large ones only some, whoever they belong to.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

from funcgrad.compile.buffer_assignment import Places
from funcgrad.compile.kernel_calls import FLAG, Call, bytes_of
from funcgrad.compile.memory import address_of, aligned
from funcgrad.graph.ir import Var

__all__ = ["Layout", "Workspace", "Workspaces"]


class Layout:
    """Where everything lies in a workspace."""

    def __init__(self, places: Places, constants: dict[Var, np.ndarray[Any, Any]]) -> None:
        self.offsets, self.total = places.offsets, places.total
        self.constants = constants
        self.calls: list[Call] = []
        self.values: dict[Var, str] = {}
        self.tables: dict[str, list[int]] = {}  # of numbers of calls


class Workspace:
    """The memory of one run: intermediate values, and the words of every call.

    The host program reads words by the names k0, k1 …, their addresses by k0_at …, and values and
    tables of calls by the names that it gave them.
    """

    def __init__(self, layout: Layout, code: Any) -> None:
        address = address_of()
        self.block = aligned(layout.total)
        self.flag = np.zeros(1, np.int64)
        self.words = [self._words(layout, call) for call in layout.calls]
        for k, words in enumerate(self.words):
            setattr(self, f"k{k}", words)
            setattr(self, f"k{k}_at", address(words))
        for v, name in layout.values.items():
            start = layout.offsets[v]
            memory = self.block[start : start + bytes_of(v)]
            setattr(self, name, memory.view(v.type.dtype).reshape(v.type.shape))
        self.tables = []
        for name, numbers in layout.tables.items():
            table = []
            for k in numbers:
                kernel = code.address(layout.calls[k].kernel.name)
                table += [kernel, address(self.words[k]), layout.calls[k].chunks]
            self.tables.append(np.array([*table, 0], np.int64))
            setattr(self, name, address(self.tables[-1]))

    def _words(self, layout: Layout, call: Call) -> np.ndarray[Any, Any]:
        """The words of a call; 0 for what the host program fills in."""
        found = []
        for w in call.words:
            if isinstance(w, int):
                found.append(w)
            elif w is FLAG:
                found.append(address_of()(self.flag))
            elif w in layout.offsets:
                found.append(address_of()(self.block) + layout.offsets[w])
            else:
                held = layout.constants.get(w) if isinstance(w, Var) else None
                found.append(0 if held is None else address_of()(held))
        return np.array(found, np.int64)


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
