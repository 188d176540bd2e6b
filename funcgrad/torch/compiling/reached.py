"""The result of a walk over what a step can reach: what it found, and how it is undone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from operator import call, is_not
from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor
from funcgrad.transforms.captures import Captures, content

__all__ = ["Reached"]


class Reached:
    """The result of a walk.

    Attributes
    ----------
    tensors : list of Tensor
        In the order of the walk, each once; `names` say where each was found, and `origins` how a
        later call finds it: it is the same, or the gradient of another, or an argument.
    rates : list of dict
        Groups of parameters whose learning rate is a number.
    schedules : list of pairs
        Schedulers that step in Python, and what is in each.
    key : list
        What else the program depends on.
    reasons : list of str
        Why nothing can be compiled; empty if it can.
    """

    def __init__(self, function: Any) -> None:
        inner = function
        while isinstance(inner, functools.partial):
            inner = inner.func
        home = str(getattr(inner, "__module__", None)).split(".")[0]
        self.home = Captures(home, set())
        self.tensors: list[Tensor] = []
        self.names: list[str] = []
        self.origins: list[Any] = []
        self.rates: list[dict[str, Any]] = []
        self.schedules: list[tuple[Any, Reached]] = []
        self.key: list[Hashable] = []
        self.reasons: list[str] = []
        self.places: dict[int, int] = {}  # of what was seen, by identity
        self.held: list[Any] = []  # so that identities stay theirs
        self.containers: list[tuple[Any, tuple[Any, ...]]] = []
        self.mutable: list[tuple[Any, str]] = []
        self.looks: list[tuple[Callable[..., Any], Any, Any]] = []
        self.puts: list[tuple[Callable[..., Any], Any, Any, Any]] = []
        self.arrays: list[tuple[np.ndarray[Any, Any], bytes]] = []
        self.columns: Any = None
        self.todo: list[tuple[Any, str, Any]] = []

    def look(self, getter: Callable[..., Any], argument: Any, value: Any, put: Any = None) -> None:
        """Remember what ``getter(argument)`` gives, and how ``put(argument, value)`` undoes."""
        self.looks.append((getter, argument, value))
        if put is not None:
            self.puts.append((getter, argument, value, put))

    def more(self, x: Any, name: str, origin: Any = None) -> None:
        """Visit `x` later."""
        self.todo.append((x, name, origin))

    def unchanged(self) -> bool:
        """Whether all places still hold what they held."""
        if self.columns is None:
            columns = tuple(zip(*self.looks, strict=True)) if self.looks else ((), (), ())
            empty = [x for x, items in self.containers if not items]
            full = [(x, items) for x, items in self.containers if items]
            self.columns = (*columns, empty, full)
        getters, arguments, values, empty, full = self.columns
        if any(map(is_not, map(call, getters, arguments), values)):
            return False
        if any(empty):
            return False
        for container, items in full:
            if len(container) != len(items):
                return False
            now = container.values() if isinstance(container, dict) else container
            if any(map(is_not, now, items)):
                return False
        return all(content(x) == known for x, known in self.arrays)

    def copies(self) -> list[tuple[Any, Any, str]]:
        """Shallow copies of the containers that can change, for `restore`."""
        return [(x, dict(x) if isinstance(x, dict) else list(x), name) for x, name in self.mutable]


def restore(reached: Reached, copies: list[tuple[Any, Any, str]]) -> list[str]:
    """Undo what a trace did to containers, globals and cells; the names of what it changed."""
    changed = []
    for getter, argument, value, put in reached.puts:
        if getter(argument) is not value:
            put(argument, value)
            changed.append(f"the variable {argument}")
    for container, kept, name in copies:
        if isinstance(container, list):
            same = len(container) == len(kept) and not any(map(is_not, container, kept))
        elif isinstance(container, dict):
            same = len(container) == len(kept) and all(
                container.get(k, container) is v for k, v in kept.items()
            )
        else:
            same = len(container) == len(kept) and all(k in container for k in kept)
        if same:
            continue
        changed.append(name)
        container.clear()
        if isinstance(container, list):
            container.extend(kept)
        else:
            container.update(kept)
    return changed
