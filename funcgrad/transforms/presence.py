"""Which elements of a cotangent or tangent are there at all: the trace of absent elements.

An element that a `where`, an index, a mask or a maximum did not take is *absent*, which is another
thing than the number 0: absent times anything is absent, also past infinity and NaN, and 0 times
infinity is NaN. A derivative is linear, so a constant zero that a rule puts beside a cotangent, as
in ``where(chosen, g, 0.0)``, stands where nothing arrives: it is absent. No rule need say more.

A tracer has a value and a mask of the elements that are there. The products of elementwise
operations are not masked one by one: what stands in the place of an absent element counts for
nothing until `dense` makes it the number 0, which is once, where an operation adds elements up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Trace, Tracer, bind, plain, type_of
from funcgrad.core.types import Array, ArrayType, broadcast_shapes, is_inexact, zeros
from funcgrad.ops.arithmetic import logical_not, logical_or, not_equal, where
from funcgrad.ops.shape import broadcast_to

__all__ = ["PartTracer", "Presence"]

RAW = (np.ndarray, np.generic, float, int, complex)


class Scattered:
    """The mask of what elements were scattered to: made when it is asked for, which is seldom.

    Of gathered elements that are added up along an axis, it is known without being made.
    """

    __slots__ = ("indices", "made", "prim", "shape")

    def __init__(self, prim: Primitive, indices: Sequence[Array], shape: Sequence[int]) -> None:
        self.prim, self.indices, self.shape = prim, tuple(indices), tuple(shape)
        self.made: Any = None

    def mask(self) -> Any:
        if self.made is None:
            at = broadcast_shapes(*(type_of(i).shape for i in self.indices))
            ones = np.ones(at + self.shape[len(self.indices) :], bool)
            self.made = bind(self.prim, (ones, *self.indices), {"shape": self.shape})
        return self.made

    def reduced(self, axes: Sequence[int]) -> Any:
        """The mask of sums over `axes`; None where all is there, False where it is not known."""
        count = len(self.indices)
        rest = tuple(n for a, n in enumerate(self.shape) if a not in axes)
        left = [i for a, i in enumerate(self.indices) if a not in axes]
        if not left and all(type_of(i).size for i in self.indices):
            return None
        if not left or any(a >= count for a in axes) or not all(isinstance(i, RAW) for i in left):
            return False
        mask = np.zeros(rest, bool)
        mask[tuple(left)] = True
        return _unless_all(mask)


class PartTracer(Tracer):
    """Values of which those of `mask` are there: all of them where it is None.

    The mask is broadcast to the shape of the value. Unless it is `clean`, the value has anything
    in the places of absent elements, else zeros.
    """

    __slots__ = ("clean", "mask")
    mask: Any  # or a `Scattered`
    clean: bool

    def __init__(self, value: Array, owner: Presence, mask: Any, clean: bool) -> None:
        if (
            type(mask) is bool
        ):  # of a condition of Python's: what is there is asked as True or False
            mask = None if mask else np.False_
        self.value, self.owner, self.mask, self.clean = value, owner, mask, clean or mask is None

    def assign(self, new: Tracer) -> None:
        assert isinstance(new, PartTracer)
        self.value, self.mask, self.clean = new.value, new.mask, new.clean

    def below(self) -> Array:
        return self.dense()

    def dense(self) -> Array:
        """The value with the number 0 where an element is absent."""
        if self.clean:
            return self.value
        dtype = type_of(self.value).dtype
        nothing: Any = 0.0 if is_inexact(dtype) else dtype.type(0)  # truths stay truths
        return where(_known(self.mask), self.value, nothing)


class Presence(Trace):
    """The trace of what is there: one for each backward pass, and one for each forward mode."""

    __slots__ = ()
    what: ClassVar[str] = "a derivative"
    located: ClassVar[bool] = False

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        return prim.mark(self, args, params)

    # ------------------------------------------------------------------- in and out

    def mine(self, x: Any) -> bool:
        return isinstance(x, PartTracer) and x.owner is self

    def whole(self, x: Array) -> Array:
        """`x`, of which every element is there."""
        return x if self.mine(x) else PartTracer(x, self, None, True)

    def part(self, x: Array, mask: Array | None) -> Array:
        """`x`, which is 0 where it is absent: everywhere but at `mask`."""
        return PartTracer(x, self, mask, True)

    def nothing(self, aval: ArrayType) -> Array:
        return self.part(zeros(aval), np.zeros(aval.shape, bool))

    def lower(self, x: Any) -> Any:
        """What need not be followed further: the value where every element is there."""
        return x.value if self.mine(x) and x.mask is None else x

    def dense(self, x: Any) -> Any:
        """What leaves the trace: the number 0 stands where an element is absent."""
        x = plain(x)
        return x.dense() if self.mine(x) else x

    def mask_of(self, x: Array) -> Array:
        """The mask of an operand in its own shape."""
        shape = type_of(x).shape
        there = self.there(x)
        if isinstance(there, bool):
            return np.full(shape, there)
        return broadcast_to(_known(there), shape)

    def there(self, x: Array) -> Any:
        """The mask of an operand, or whether all of it is there: not so of constant zeros."""
        if not self.mine(x):
            return not isinstance(x, RAW) or bool(np.any(x))
        return True if x.mask is None else x.mask

    # ------------------------------------------------------------ actions of the forms

    def plainly(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """Absent elements are zeros from here on: of operations whose derivative is finite."""
        y = bind(prim, [self.dense(a) for a in args], params)
        if not prim.differentiable:
            return y
        return tuple(map(self.whole, y)) if prim.multiple else self.whole(y)

    def sum(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """Of a sum of operands, in which an element is there if one of its terms is."""
        masks = [m for a in args if (m := self.there(a)) is not False]
        if all(m is masks[0] for m in masks) and all(map(self.mine, args)):
            y = bind(prim, self.values(args), params)
            return PartTracer(y, self, _mask(masks), all(a.clean for a in args))
        y = bind(prim, list(map(self.dense, args)), params)
        return PartTracer(y, self, _mask(masks), True)

    def product(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """Of a product with one operand: absent times anything is absent."""
        (part,) = [a for a in args if self.mine(a)]
        y = bind(prim, self.values(args), params)
        clean = part.clean and all(a is part or _finite(a) for a in args)
        return PartTracer(y, self, part.mask, clean)

    def same(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """Of a linear operation that works on each element of its one operand."""
        (part,) = args
        return PartTracer(bind(prim, (part.value,), params), self, part.mask, part.clean)

    def choose(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """Of a choice by a condition between two operands."""
        condition, *branches = args
        if type_of(condition).dtype.kind != "b":
            condition = not_equal(condition, 0)
        one, two = (self.there(a) for a in branches)
        if not isinstance(one, bool) or not isinstance(two, bool):
            one, two = (np.bool_(m) if isinstance(m, bool) else _known(m) for m in (one, two))
            mask = where(condition, one, two)
        else:
            mask = None if one and two else condition if one else logical_not(condition)
        for branch, other in ((branches[0], two), (branches[1], one)):
            if other is False:  # zeros where nothing is there need not be chosen
                whole = prim.type_rule([type_of(a) for a in args], params)
                if whole.dtype == type_of(branch).dtype and not type_of(branch).weak:
                    return PartTracer(broadcast_to(branch.value, whole.shape), self, mask, False)
        y = bind(prim, self.values(args), params)
        clean = all(not self.mine(a) or a.clean for a in branches)
        return PartTracer(y, self, mask, clean)

    def move(
        self, prim: Primitive, args: Sequence[Array], params: Params, fixed: Sequence[bool]
    ) -> Any:
        """Of a sum of moved elements, in which one is there that any element was moved to.

        `fixed` are the operands that say how they move.
        """
        values = [x if f else self.dense(x) for x, f in zip(args, fixed, strict=True)]
        y = bind(prim, values, params)
        moved = [x for x, f in zip(args, fixed, strict=True) if not f]
        if not prim.gaps and all(self.mine(x) and x.mask is None for x in moved):
            return PartTracer(y, self, None, True)
        given = [x if f else self.mask_of(x) for x, f in zip(args, fixed, strict=True)]
        with np.errstate(all="ignore"):
            mask = bind(prim, given, params)
        if type_of(mask).dtype.kind != "b":
            mask = not_equal(mask, 0)
        return PartTracer(y, self, _unless_all(mask), True)

    def scatter(
        self, prim: Primitive, args: Sequence[Array], params: Params, fixed: Sequence[bool]
    ) -> Any:
        """Of a sum of elements moved by integer arrays of the leading axes."""
        x, *indices = args
        if x.mask is not None:
            return self.move(prim, args, params, fixed)
        y = bind(prim, (x.value, *indices), params)
        return PartTracer(y, self, Scattered(prim, indices, params["shape"]), True)

    def reduce(
        self, prim: Primitive, args: Sequence[Array], params: Params, fixed: Sequence[bool]
    ) -> Any:
        """Of a sum over axes."""
        x = args[0]
        if len(args) > 1 or not isinstance(x.mask, Scattered) or params["keepdims"]:
            return self.move(prim, args, params, fixed)
        mask = x.mask.reduced(params["axes"])
        if mask is False:
            return self.move(prim, args, params, fixed)
        return PartTracer(bind(prim, (x.dense(),), params), self, mask, True)

    def values(self, args: Sequence[Array]) -> list[Array]:
        return [a.value if self.mine(a) else a for a in args]


def _known(mask: Any) -> Any:
    return mask.mask() if isinstance(mask, Scattered) else mask


def _finite(x: Any) -> bool:
    return isinstance(x, RAW) and bool(np.isfinite(x).all())


def _unless_all(mask: Any) -> Any:
    """A mask, or None for one that is seen to hold everywhere."""
    return None if isinstance(mask, RAW) and bool(np.all(mask)) else mask


def _mask(masks: Sequence[Any]) -> Any:
    """The mask of what is there in one of several."""
    if any(m is True for m in masks):
        return None
    found = masks[0]
    for m in masks[1:]:
        found = found if m is found else logical_or(_known(found), _known(m))
    return _unless_all(found)
