"""autograd's helpers for those who walk over nodes: `toposort`, `subval`, `subvals`, `func`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

__all__ = ["func", "subval", "subvals", "toposort"]


def subvals(x: Iterable[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A sequence as a tuple, with other values at some positions."""
    changed = list(x)
    for i, v in ivs:
        changed[i] = v
    return tuple(changed)


def subval(x: Iterable[Any], i: int, v: Any) -> tuple[Any, ...]:
    """A sequence as a tuple, with another value at one position."""
    return subvals(x, [(i, v)])


def func(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a method, which it is in Python 3."""
    return f


def toposort(
    end_node: Any,
    parents: Callable[[Any], Sequence[Any]] = operator.attrgetter("parents"),
) -> Iterator[Any]:
    """All nodes behind one, each after everything that was made of it.

    Examples
    --------
    >>> from funcgrad.compat.autograd.util import toposort
    >>> made_of = {"sum": ["square", "x"], "square": ["x", "x"], "x": []}
    >>> list(toposort("sum", made_of.get))
    ['sum', 'square', 'x']
    """
    uses: dict[Any, int] = {end_node: 0}
    found = [end_node]
    while found:
        for parent in parents(found.pop()):
            if parent not in uses:
                uses[parent] = 0
                found.append(parent)
            uses[parent] += 1
    ready = [end_node]
    while ready:
        yield (node := ready.pop())
        for parent in parents(node):
            uses[parent] -= 1
            if not uses[parent]:
                ready.append(parent)
