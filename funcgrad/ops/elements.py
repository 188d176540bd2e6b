"""What NumPy's own `asarray` makes of a traced value: an object array of its elements.

NumPy cannot be told to keep a traced value as it is, so it gets an array of `Element`, each of
which names its place; operations put the elements together again. The array is a snapshot, where
`asarray` would share memory: it is read-only, and once the traced array has been written into, an
array that NumPy did not copy refuses to be read. What NumPy itself computes of such an array it
computes in Python, element by element: slower, sums in another order, and complex numbers and
powers rounded as scalars are. Operations of funcgrad take it as the array that it stands for.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from funcgrad.core.tracer import ArrayOperand, Operand, Tracer, layout
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.ops.index import gather, getitem
from funcgrad.ops.shape import renewed, reshape
from funcgrad.ops.storage import View

__all__ = ["Element", "elements_of"]


class Elements:
    """The source of the elements of one array, as it was when they were taken."""

    __slots__ = ("held", "root", "seen", "source")

    def __init__(self, source: Tracer, root: Any, held: np.ndarray[Any, Any]) -> None:
        self.source, self.root, self.seen = source, root, root.payload
        self.held = weakref.ref(held)

    def read(self) -> Tracer:
        """The source; raises where NumPy would show a change that the elements do not."""
        if self.root.payload is not self.seen and self.held() is not None:
            raise UnsupportedCallError(
                located(
                    "numpy.asarray made an object array of a traced array, which has been written "
                    "into since; use funcgrad.numpy.asarray, which shares memory as NumPy does, or "
                    "a copy"
                )
            )
        return self.source

    def gathered(self, x: np.ndarray[Any, Any]) -> Array:
        """The object array `x` of these elements as one traced value."""
        source = self.read()
        places = np.fromiter((item.place for item in x.flat), np.intp, x.size)
        if x.shape == source.type.shape and np.array_equal(places, np.arange(x.size)):
            return source
        return gather(reshape(source, (source.type.size,)), places.reshape(x.shape))


class Element(ArrayOperand):
    """One element of a traced array; it behaves as the scalar that it is."""

    __slots__ = ("elements", "found", "place")

    def __init__(self, elements: Elements, place: int) -> None:
        self.elements, self.place, self.found = elements, place, None

    def content(self) -> Array:
        source = self.elements.read()
        if self.found is None:
            place = np.unravel_index(self.place, source.type.shape)
            self.found = getitem(source, tuple(map(int, place)))
        return self.found


def elements_of(x: Operand, source: Tracer, copy: bool) -> np.ndarray[Any, Any]:
    """An object array of the shape of `source`, the content of `x`, with its elements."""
    shape = source.type.shape
    # as the source lies in memory, so that NumPy copies these where it would copy that
    held = np.empty_like(layout(source), object, subok=False)
    if not shape:
        held[()] = x
        return held
    if x is source:  # which may be written into: its content now is what counts
        source = renewed(source)
    root: Any = x
    while isinstance(root, View):
        root = root.base
    flat = np.empty(source.type.size, object)
    elements = Elements(source, root, flat if copy else held)
    flat[:] = [Element(elements, place) for place in range(flat.size)]
    held[...] = flat.reshape(shape)
    held.flags.writeable = copy
    return held
