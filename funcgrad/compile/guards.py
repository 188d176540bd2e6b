"""Places in the memory of Python that are looked at before each call of compiled code.

What a compiled function brings along (closure cells, globals, attributes, arrays) was found at such
places; as long as each of them holds the very same thing, what was compiled is still right. Entry
points look at them in native code (`llvm/entry/guard_checks.py`); `holds` says what that means. It
imports NumPy only. `put_back` makes a place hold it again, and says whether it could.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from operator import is_not
from typing import Any, NamedTuple, TypeAlias

import numpy as np

__all__ = [
    "ABSENT",
    "Array",
    "Attribute",
    "Cell",
    "Dict",
    "Function",
    "Item",
    "List",
    "Look",
    "Same",
    "Type",
    "Guard",
]

ABSENT: Any = object()
"""What a dictionary holds under a name that it does not have, and what an empty cell holds."""


class Item(NamedTuple):
    """A dictionary holds this under a name. That of a class is not to be written into."""

    holder: dict[Any, Any]
    name: str
    value: Any
    of_class: bool = False

    def holds(self) -> bool:
        found: bool = self.holder.get(self.name, ABSENT) is self.value
        return found

    def put_back(self) -> bool:
        if self.of_class:
            return False
        if self.value is ABSENT:
            self.holder.pop(self.name)
        else:
            self.holder[self.name] = self.value
        return True


class Cell(NamedTuple):
    """A closure cell holds this."""

    cell: types.CellType
    value: Any

    def holds(self) -> bool:
        try:
            found: bool = self.cell.cell_contents is self.value
        except ValueError:
            return self.value is ABSENT
        return found

    def put_back(self) -> bool:
        if self.value is ABSENT:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = self.value
        return True


class Function(NamedTuple):
    """A function has this code and these defaults."""

    function: types.FunctionType
    code: types.CodeType
    defaults: tuple[Any, ...] | None
    named_defaults: dict[str, Any] | None

    def holds(self) -> bool:
        f: Any = self.function
        known = (self.code, self.defaults, self.named_defaults)
        return not any(map(is_not, (f.__code__, f.__defaults__, f.__kwdefaults__), known))


class Type(NamedTuple):
    """An object is an instance of exactly this class."""

    object: Any
    type: type

    def holds(self) -> bool:
        return type(self.object) is self.type


class Attribute(NamedTuple):
    """An object gives this very thing for an attribute, or has none of that name."""

    object: Any
    name: str
    value: Any

    def holds(self) -> bool:
        try:
            found: bool = getattr(self.object, self.name) is self.value
        except Exception:
            return self.value is ABSENT
        return found

    def put_back(self) -> bool:
        try:
            if self.value is ABSENT:
                delattr(self.object, self.name)
            else:
                setattr(self.object, self.name, self.value)
        except (AttributeError, TypeError):
            return False
        return True


class List(NamedTuple):
    """A list has these items."""

    list: list[Any]
    items: tuple[Any, ...]

    def holds(self) -> bool:
        now = self.list
        return len(now) == len(self.items) and not any(map(is_not, now, self.items))

    def put_back(self) -> bool:
        self.list[:] = self.items
        return True


class Dict(NamedTuple):
    """A dictionary has these keys and values, in this order; without `values`, these keys."""

    dict: dict[Any, Any]
    keys: tuple[Any, ...]
    values: tuple[Any, ...] | None

    def holds(self) -> bool:
        now = self.dict
        return (
            len(now) == len(self.keys)
            and not any(map(is_not, now, self.keys))
            and (self.values is None or not any(map(is_not, now.values(), self.values)))
        )

    def put_back(self) -> bool:
        if self.values is None:
            return False
        self.dict.clear()
        self.dict.update(zip(self.keys, self.values, strict=True))
        return True


class Array(NamedTuple):
    """An array has this dtype, shape and memory; one in C order these bytes in it (`content`), or
    one that nobody can write into (None).
    """

    array: np.ndarray[Any, Any]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    address: int
    content: bytes | None

    @classmethod
    def of(cls, x: np.ndarray[Any, Any]) -> Array:
        return cls(x, x.dtype, x.shape, x.ctypes.data, x.tobytes())

    @classmethod
    def frozen(cls, x: np.ndarray[Any, Any]) -> Array:
        return cls(x, x.dtype, x.shape, x.ctypes.data, None)

    def holds(self) -> bool:
        x = self.array
        if x.dtype is not self.dtype or x.shape != self.shape or x.ctypes.data != self.address:
            return False
        if self.content is None:
            return not x.flags.writeable
        return x.flags.c_contiguous and x.tobytes() == self.content


class Look(NamedTuple):
    """``look(argument)`` gives this very thing. An exception counts as a change.

    ``put(argument, value)``, where it can be, makes it so again.
    """

    look: Callable[[Any], Any]
    argument: Any
    value: Any
    put: Callable[[Any, Any], None] | None = None

    def holds(self) -> bool:
        try:
            found: bool = self.look(self.argument) is self.value
        except Exception:
            return False
        return found

    def put_back(self) -> bool:
        if self.put is not None:
            self.put(self.argument, self.value)
        return self.put is not None


class Same(NamedTuple):
    """In the place of an argument: this very object."""

    value: Any


Guard: TypeAlias = Item | Cell | Function | Type | Attribute | List | Dict | Array | Look
