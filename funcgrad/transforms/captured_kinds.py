"""How the walk over captures goes on from each kind of thing: one function for each.

A function takes the walk, the thing and its path; `HANDLERS` has them by class, the first that fits
is taken. Of a subclass of a container, a number or an array the attributes count, too.
"""

from __future__ import annotations

import enum
import functools
import io
import operator
import os
import threading
import types
import weakref
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.guards import Attribute, Dict, List, Look
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import Operand, Tracer, type_of
from funcgrad.graph.ir import Graph
from funcgrad.transforms.captured_functions import visit_function
from funcgrad.transforms.captured_objects import (
    visit_class,
    visit_instance,
    visit_itself,
    visit_module,
    visit_other,
    visit_wrapper,
)
from funcgrad.transforms.random_draws import GENERATORS
from funcgrad.transforms.walk import Itself, Path, Walk, package, read_or_absent

__all__ = ["handler", "of_parts", "visit_dict"]

PLAIN = (int, float, complex, str, bytes)
Visit = Callable[[Any, Any, Path], None]
_CONTAINERS = (list, tuple, set, frozenset, deque)
_HARMLESS = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, np.ufunc, np.dtype, types.CodeType,
    type(threading.Lock()), type(threading.RLock()), type(np.sum), types.EllipsisType,
    types.NotImplementedType, type(NamedTuple("_", [("field", int)]).field),  # type: ignore[attr-defined]
)  # fmt: skip


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


def of_told(tell: Callable[[Any], Any]) -> Visit:
    """What visits things of which only what a function tells of them counts."""

    def visit(walk: Walk, x: Any, path: Path) -> None:
        walk.add(type(x), path)
        walk.told(x, tell, path)

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
    if isinstance(x, defaultdict):
        walk.saw(Attribute(x, "default_factory", x.default_factory), path)
        walk.more(x.default_factory, path)
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


def _parts_of_partial(x: Any) -> tuple[Any, ...]:
    ours = package(type(x)) == "funcgrad"  # which keep a transform's name in it
    return (x.func, x.args, x.keywords, *([] if ours or not x.__dict__ else [x.__dict__]))


def _is_of_none(x: Any) -> bool:
    """Whether a function in C is no method of a container."""
    return isinstance(x.__self__, (types.ModuleType, type, type(None)))


def _with_attributes(visit: Visit, plain: tuple[type, ...]) -> Visit:
    """The same, with the attributes of instances of all classes but the `plain` ones."""

    def both(walk: Walk, x: Any, path: Path) -> None:
        visit(walk, x, path)
        if type(x) not in plain:
            visit_instance(walk, x, path)

    return both


# The classes, what visits their instances, and of which of them attributes do not count.
HANDLERS: tuple[tuple[Any, Visit] | tuple[Any, Visit, tuple[type, ...]], ...] = (
    (enum.Enum, of_parts(mark=lambda x: x.name), ()),
    (np.ndarray, visit_array, (np.ndarray,)),
    (np.generic, of_parts(mark=lambda x: (x.dtype, x.tobytes()))),
    (PLAIN, visit_number, ()),
    (Operand, visit_operand),
    # what its author stated: what a record keeps besides was made of that
    (Primitive, of_parts(lambda x: () if x.is_ours else x.stated(), lambda x: x)),
    (Graph, of_parts(mark=Itself)),  # as in what `linearize` returns: it never changes
    (Pointwise, of_parts(lambda x: [x.function])),
    (type(functools.lru_cache(lambda: None)), visit_wrapper),
    (functools.partial, of_parts(_parts_of_partial)),
    (types.MethodType, of_parts(lambda x: [x.__func__, x.__self__])),
    (types.FunctionType, visit_function),
    (
        (types.BuiltinFunctionType, types.MethodWrapperType),
        of_parts(
            lambda x: [] if _is_of_none(x) else [x.__self__],
            lambda x: x if _is_of_none(x) else x.__name__,
        ),
    ),
    ((dict, types.MappingProxyType), visit_dict, (dict, types.MappingProxyType)),
    (_CONTAINERS, visit_items, _CONTAINERS),
    ((bytearray, memoryview, array), visit_bytes),
    (slice, of_parts(lambda x: [x.start, x.stop, x.step])),
    (type(os.environ), of_parts(lambda x: [x._data])),
    # a reference leads to its object or, later, to nothing
    (weakref.ref, of_parts(lambda x: [x()], look=lambda x: x() is not None)),
    (ContextVar, of_parts(lambda x: [read_or_absent(x.get)], look=lambda x: read_or_absent(x.get))),
    ((operator.attrgetter, operator.methodcaller), of_parts(lambda x: x.__reduce__())),
    ((io.StringIO, io.BytesIO), of_told(lambda x: x.closed or (x.tell(), x.getvalue()))),
    (threading.Event, of_told(threading.Event.is_set)),
    (GENERATORS, visit_generator),
    (types.ModuleType, visit_module),
    (_HARMLESS, visit_itself),
    (type, visit_class),
    (object, visit_other),
)


@functools.lru_cache(maxsize=1024)
def handler(cls: type) -> Visit:
    """What visits the instances of a class."""
    _, visit, *plain = next(row for row in HANDLERS if issubclass(cls, row[0]))
    return _with_attributes(visit, *plain) if plain else visit
