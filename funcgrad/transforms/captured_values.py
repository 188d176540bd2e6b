"""How the walk over captures goes through numbers, arrays and containers.

What a container holds is looked at again at every call, and put back where tracing has changed it.
"""

from __future__ import annotations

import operator
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from funcgrad.compile.guards import ABSENT, Dict, List, Look
from funcgrad.core.tracer import Operand, Tracer, type_of
from funcgrad.transforms.walk import Path, Walk

__all__ = [
    "PLAIN",
    "Visit",
    "read_or_absent",
    "of_parts",
    "visit_array",
    "visit_bytes",
    "visit_dict",
    "visit_generator",
    "visit_items",
    "visit_number",
    "visit_operand",
]

PLAIN = (int, float, complex, str, bytes)
Visit = Callable[[Any, Any, Path], None]


def read_or_absent(read: Callable[..., Any], *of: Any) -> Any:
    """What a cell, a slot or a variable of a context holds; it may not be filled yet."""
    try:
        return read(*of)
    except (AttributeError, LookupError, ValueError):
        return ABSENT


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


def visit_number(walk: Walk, x: Any, path: Path) -> None:
    """A number or a text of a class of the program."""
    walk.plain(next(c for c in PLAIN if isinstance(x, c))(x), path)


def visit_array(walk: Walk, x: np.ndarray[Any, Any], path: Path) -> None:
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


def visit_operand(walk: Walk, x: Operand, path: Path) -> None:
    walk.guarded = False
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


def visit_items(walk: Walk, x: Any, path: Path) -> None:
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


def visit_bytes(walk: Walk, x: Any, path: Path) -> None:
    content = bytes(x)
    walk.add((type(x), getattr(x, "typecode", None), content), path)
    _look_at_items(walk, x, bytes, path)


def visit_generator(walk: Walk, x: Any, path: Path) -> None:
    walk.add(type(x), path)
    walk.generators.append(x)
