"""Mutable arrays in traced programs: cells, views of them, and writing.

A traced value is itself immutable, but the NumPy program that is traced may write into its
arrays. A `Cell` holds the content of an array that a creation function made; a `View` derives its
content from its base by a function, so that a write on either side is seen on the other. Writing
splices the new values in functionally, or through NumPy's own view while nothing traced is
involved. Traced arrays take part too: `x[i] = v` and `x += v` replace the content of the tracer,
which every alias shares. A function that is traced once and runs any number of times writes into
nothing that was there before (`check_age`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.layout import new_memory
from funcgrad.core.tracer import (
    ArrayOperand,
    Operand,
    Tracer,
    concrete,
    layout,
    running,
    serial,
    staged,
    type_of,
)
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import LaterTransformError, located
from funcgrad.ops.index import check_storable, getitem, index_set, set_positions
from funcgrad.ops.pending import Pending, row_of
from funcgrad.ops.shape import copied, renewed

__all__ = [
    "Box",
    "Cell",
    "OlderWrites",
    "View",
    "boxed",
    "check_age",
    "new_array",
    "read_only_view",
    "reshaped",
    "set_item",
    "view",
    "write",
]


class _Writes:
    """Marks the last write that replaced a content, so that a view knows when to look again.

    Each mark is new: two threads that count at once cannot bring back one that a view has seen.
    """

    count = 0

    def mark(self) -> None:
        self.count = next(serial)


writes = _Writes()


class Box(ArrayOperand):
    """A mutable array: read it by `content`, change it by `write`."""

    __slots__ = ("__weakref__",)

    def write(self, new: Array) -> None:
        raise NotImplementedError

    def part(self, index: tuple[Any, ...]) -> Array:
        """What a basic index chooses of the content."""
        return getitem(self.content(), index)


class Cell(Box):
    """An array that a creation function made inside a transform, or a copy of a traced one.

    What is written row by row is `pending` until the array is read as a whole.
    """

    __slots__ = ("laid", "level", "pending", "whole")

    def __init__(self, whole: Array) -> None:
        self.whole: Array = whole
        self.pending: Pending | None = None
        self.laid: Any = None  # its memory, where that is no longer the content's
        self.level = next(serial)  # transforms that start later have a higher level

    def content(self) -> Array:
        if self.pending is not None:
            pending, self.pending = self.pending, None
            self.whole = pending.settled(self.whole, index_set)
        return self.whole

    @property
    def payload(self) -> Array:
        return self.content()

    @property
    def type(self) -> ArrayType:
        return type_of(self.whole)

    def part(self, index: tuple[Any, ...]) -> Array:
        if self.pending is not None:
            found = self.pending.read(self.whole, index)
            if found is not None:
                return found
        return getitem(self.content(), index)

    def write(self, new: Array) -> None:
        self._begin(new)
        self.pending, self.whole = None, new

    def write_row(self, index: tuple[Any, ...], v: Array) -> bool:
        """Note a row; False where `index` chooses no row, or one of another kind."""
        if not isinstance(v, Tracer) and self.pending is None:
            return False
        row = row_of(index, self.type.shape)
        if row is None:
            return False
        noted = self.pending
        if noted is None:
            noted = Pending(len(row), self.type)
        elif noted.depth != len(row):
            return False
        check_storable(noted.aval.dtype, v, not noted.aval.shape)
        fitted = noted.fitted(v)
        self._begin(v)
        noted.rows[row] = fitted
        self.pending = noted
        return True

    def _begin(self, new: Array) -> None:
        """Before the content changes: nothing of a later transform may come in."""
        if isinstance(new, Tracer) and new.owner.level > self.level:
            raise _later(new)
        check_age(self)
        if self.laid is None:
            x = self.whole
            self.laid = new_memory(x.owner.place(x) if isinstance(x, Tracer) else x)
        writes.mark()

    def standin(self) -> Any:
        return layout(self.whole if self.laid is None else self.laid)


class View(Box):
    """What `function` shows of `base`; a basic index is kept, because it writes back directly."""

    __slots__ = ("base", "cached", "function", "index", "seen")

    def __init__(
        self,
        base: Operand,
        function: Callable[[Array], Array],
        index: Any = None,
        content: Array | None = None,
    ) -> None:
        self.base, self.function, self.index = base, function, index
        self.cached = content
        self.seen = -1 if content is None else writes.count

    def content(self) -> Array:
        if self.seen != writes.count:
            self.seen = writes.count
            base = self.base
            if self.index is not None and isinstance(base, Box):
                self.cached = base.part(self.index)
            else:
                self.cached = self.function(base.content())
        return self.cached

    def standin(self) -> Any:
        return self.function(layout(self.base))

    def write(self, new: Array) -> None:
        base = self.base
        if self.index is not None:
            if not isinstance(base, Cell) or not base.write_row(self.index, new):
                write(base, index_set(base.content(), self.index, new))
            return
        whole = base.content()
        aval = type_of(whole)
        positions = self.function(np.arange(aval.size).reshape(aval.shape))
        write(base, set_positions(whole, positions, new))


class Reshaped(View):
    """A view where NumPy gives one, and else a copy, which the layout in memory decides.

    The layout of a value of a graph is asked for when it matters first: when one of the two is
    written into. Programs that write nothing do not depend on it.
    """

    __slots__ = ("begun", "order", "shares")

    def __init__(
        self,
        base: Operand,
        function: Callable[[Array], Array],
        shares: Callable[[Any], bool],
        order: Any,
    ) -> None:
        whole = base.content()
        made = function(whole)
        super().__init__(base, function, None, renewed(made) if made is whole else made)
        self.begun, self.order = _bottom(whole), order
        self.cached: Any
        self.shares: Any = shares  # None once it is decided

    def content(self) -> Array:
        if self.shares is not None and self.seen != writes.count:
            if _bottom(self.base.content()) is self.begun:
                self.seen = writes.count
            else:
                self.decide()
        return super().content()

    def decide(self) -> bool:
        """Whether it is a view."""
        if self.shares is not None:
            shares, self.shares = self.shares, None
            if not shares(layout(self.base)):
                self.base, self.function = self.cached, _itself
        return self.function is not _itself

    def standin(self) -> Any:
        if self.decide():
            return super().standin()
        return np.empty(self.type.shape, self.type.dtype, self.order)

    def write(self, new: Array) -> None:
        if self.decide():
            super().write(new)
        else:
            write(self.base, new)


def _itself(x: Array) -> Array:
    return x


def _bottom(x: Any) -> Any:
    """What a write into the tracer `x` replaces in the innermost trace."""
    while isinstance(x, Tracer):
        x = x.payload
    return x


class ReadOnlyView(View):
    """A view that NumPy does not let a program write through: a diagonal, a broadcast array."""

    __slots__ = ()

    def write(self, new: Array) -> None:
        raise ValueError(located("assignment destination is read-only"))


def _later(new: Tracer) -> LaterTransformError:
    return LaterTransformError(
        located(
            f"a value traced by {new.owner.what} (started at {new.owner.origin}) is written into "
            "an array that is older than that transform, which would let it leak; create the "
            "array inside the transformed function, or pass it as an argument and return it"
        )
    )


def check_age(x: Operand) -> None:
    """Before something is written: within the body of a loop, say, it must not be older than that.

    Where somebody asks, it is noted how old it is (`OlderWrites`).

    Raises
    ------
    LaterTransformError
        The body is traced once, and so would the write happen once.
    """
    body, oldest = running.body, running.oldest
    if body is None and oldest is None:
        return
    while isinstance(x, View):
        x = x.base
    age = x.owner.age(x) if isinstance(x, Tracer) else x.level if isinstance(x, Cell) else None
    if age is None:
        return
    if oldest is not None and age < oldest:
        running.oldest = age
    if body is not None and age < body.level:
        raise LaterTransformError(
            located(
                f"{body.body} writes into an array that is older than the call, where the write "
                "would happen once, while it is traced; hand that array in (as a part of the "
                "carry) and return it, or write into one that is made within"
            )
        )


class OlderWrites:
    """A block, and whether it has written into arrays that were there before it.

    What has cannot run a second time: it would write twice.
    """

    __slots__ = ("begun", "outer")

    def __enter__(self) -> OlderWrites:
        self.outer = running.oldest
        running.oldest = self.begun = next(serial)
        return self

    def happened(self) -> bool:
        return running.oldest is not None and running.oldest < self.begun

    def __exit__(self, *_: object) -> None:
        if self.outer is None or running.oldest is None:
            running.oldest = self.outer
        else:
            running.oldest = min(self.outer, running.oldest)


def new_array(raw: np.ndarray[Any, Any]) -> Any:
    """A fresh array: a cell while a transform runs in this thread, else the array itself.

    The caller hands over `raw`, which nobody else may hold. Of Python's objects it stays NumPy's,
    which computes with traced values among them one by one.
    """
    if not running.count or type(raw) is not np.ndarray or raw.dtype.hasobject:
        return raw
    return Cell(raw)


def boxed(made: Any) -> Any:
    """What was computed of boxes, as arrays that the program may write traced values into.

    The caller hands over `made`. Integers and bools hold no traced values and stay NumPy's.
    """
    if type(made) is np.ndarray:
        return Cell(made) if made.dtype.kind in "fc" else made
    if isinstance(made, tuple):
        parts = map(boxed, made)
        return made._make(parts) if hasattr(made, "_make") else tuple(parts)
    return list(map(boxed, made)) if type(made) is list else made


def view(x: Any, function: Callable[[Array], Array], index: Any = None) -> Any:
    """`function(x)` as a view: of a traced or boxed `x`, writes go through in both directions."""
    if isinstance(x, Operand):
        return View(x, function, index)
    return function(x)


def reshaped(
    x: Operand, function: Callable[[Array], Array], shares: Callable[[Any], bool], order: str = "C"
) -> Any:
    """`function(x)`, a view of `x` where ``shares(layout(x))``, else a new array in that order."""
    if staged(x):
        return Reshaped(x, function, shares, order)
    if shares(layout(x)):
        return View(x, function)
    whole = x.content()
    made = function(whole)
    if isinstance(made, Tracer):
        return copied(made, order) if not _lies_in(made, order) or made is whole else made
    return boxed(made.copy(order) if np.may_share_memory(made, whole) else made)


def _lies_in(x: Tracer, order: str) -> bool:
    flags = layout(x).flags
    return bool(flags.f_contiguous if order == "F" else flags.c_contiguous)


def read_only_view(x: Any, function: Callable[[Array], Array]) -> Any:
    """`function(x)` as a view that shows what is written into `x`, and cannot be written into."""
    if isinstance(x, Operand):
        return ReadOnlyView(x, function)
    return function(x)


def write(x: Operand, new: Array) -> None:
    """Replace the content of a mutable or traced array; its shape and dtype stay."""
    if isinstance(x, Box):
        x.write(new)
        return
    assert isinstance(x, Tracer)
    if not isinstance(new, Tracer) or new.owner.level < x.owner.level:
        new = index_set(x, ..., new)  # a constant of its trace, as `x //= y` writes
    if new.owner is not x.owner:
        raise _later(new)
    check_age(x)
    x.stay()
    writes.mark()
    x.assign(new)


def _is_decided_later(index: Any) -> bool:
    """Whether an index has places that are not known while the program is traced."""
    items = index if isinstance(index, tuple) else (index,)
    return any(isinstance(i, Tracer) and not concrete(i) for i in items)


def set_item(x: Operand, index: Any, v: Array) -> None:
    """``x[index] = v``."""
    if isinstance(x, Cell) and x.write_row(index if isinstance(index, tuple) else (index,), v):
        return
    whole = x.content()
    plain = isinstance(x, Box) and isinstance(whole, np.ndarray) and whole.flags.writeable
    if isinstance(x, ReadOnlyView):
        x.write(v)
    if plain and not isinstance(v, Tracer) and not _is_decided_later(index):
        check_age(x)
        whole[index] = v  # nothing traced: NumPy's own memory is shared by all views
        return
    write(x, index_set(whole, index, v))
