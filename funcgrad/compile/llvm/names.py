"""Which names the statements of a loop nest read: as operands, and in addresses and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from funcgrad.compile.loops import Accumulate, Combine, For, Let, Load, Require, Store, statements

__all__ = ["free", "indices", "indices_of", "operands"]


def operands(t: Any) -> Iterator[str]:
    """The values that a statement reads."""
    found: tuple[Any, ...] = ()
    if isinstance(t, Let):
        found = t.args
    elif isinstance(t, Combine):
        found = (t.value, t.times)
    elif isinstance(t, (Store, Accumulate)):
        found = (t.value,)
    elif isinstance(t, Require):
        found = (t.condition,)
    elif isinstance(t, Load):
        found = (t.guard,)
    return (x for x in found if isinstance(x, str))


def indices(t: Any) -> Iterator[str]:
    """The numbers of which a statement's address is made."""
    if isinstance(t, (Load, Store, Accumulate)):
        for term in t.address.terms:
            yield from (x for x in term if isinstance(x, str))
        if isinstance(t.address.offset, str):
            yield t.address.offset
    elif isinstance(t, For) and isinstance(t.count, str):
        yield t.count


def free(s: For) -> dict[str, None]:
    """The names that the operations of a loop read."""
    return {x: None for t in statements(s.body) for x in operands(t)}


def indices_of(s: For) -> set[str]:
    """Names that take part in addresses and sizes, which stay single numbers."""
    inner = list(statements(s.body))
    found = {x for t in inner for x in indices(t)}
    for t in reversed(inner):  # and what they are computed of
        if isinstance(t, Let) and t.name in found:
            found |= {x for x in t.args if isinstance(x, str)}
    return found
