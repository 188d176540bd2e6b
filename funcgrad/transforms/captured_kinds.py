"""How the walk over captures goes on from each kind of thing: one function for each.

A function takes the walk, the thing and its path; `HANDLERS` has them by class, the first that fits
is taken. Of a subclass of a container, a number or an array the attributes count, too.
"""

from __future__ import annotations

import enum
import functools
import operator
import os
import threading
import types
import weakref
from array import array
from collections import deque
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import Operand
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
from funcgrad.transforms.captured_values import (
    PLAIN,
    Visit,
    of_parts,
    read_or_absent,
    visit_array,
    visit_bytes,
    visit_dict,
    visit_generator,
    visit_items,
    visit_number,
    visit_operand,
)
from funcgrad.transforms.random_draws import GENERATORS
from funcgrad.transforms.walk import Itself, Path, Walk, package

__all__ = ["handler"]

_CONTAINERS = (list, tuple, set, frozenset, deque)
_HARMLESS = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, np.ufunc, np.dtype, types.CodeType,
    type(threading.Lock()), type(threading.RLock()), type(np.sum), types.EllipsisType,
    types.NotImplementedType, type(NamedTuple("_", [("field", int)]).field),  # type: ignore[attr-defined]
)  # fmt: skip


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
