"""Straight-line code in lanes, with one look at the end for what is rare.

A product with a cotangent is 0 where the cotangent is, also past infinity and NaN; to look for that
takes longer than the product. Without a look such a product is NaN, and arithmetic keeps that. So
the last results of arithmetic are looked at, all lanes at once; where one is NaN, everything is
computed again, with care, in a block of its own that is seldom entered. What is stored or summed up
waits for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.compile.llvm.access import Access
from funcgrad.compile.llvm.emit import Value
from funcgrad.compile.llvm.frame import ELEMENTS, Frame
from funcgrad.compile.llvm.mathematics import FUNCTIONS
from funcgrad.compile.llvm.names import indices, operands
from funcgrad.compile.llvm.operations import Operations
from funcgrad.compile.loops import Accumulate, Combine, Let, Load, Store, identity, statements

__all__ = ["Straight"]

KEEPS_NAN = frozenset({"add", "sub", "mul", "div", "neg", "scale"})
LOOK, SPARED = 2, 3  # operations that a look takes, and that each product spares


class Straight:
    """Statements one after the other, and what can wait until it is known to be needed."""

    def __init__(self, frame: Frame, operations: Operations, access: Access) -> None:
        self.frame, self.operations, self.access = frame, operations, access

    def write(self, run: list[Any], later: Sequence[Any]) -> None:
        """A run of statements without loops; `later` is what stands behind it in the same loop."""
        products = {s.name for s in run if isinstance(s, Let) and s.op == "scale"}
        if self.frame.lanes > 1 and products:
            last = last_of(run, products)
            if SPARED * len(products) > LOOK + len(last):
                return self.optimistic(run, later, products, last)
        for s in run:
            self.statement(s)
        return None

    def optimistic(
        self, run: list[Any], later: Sequence[Any], products: set[str], last: list[str]
    ) -> None:
        """The values, the look, the values again, and what is done with them."""
        pure = [s for s in run if isinstance(s, (Let, Load))]
        effects = [s for s in run if not isinstance(s, (Let, Load))]
        before = dict(self.frame.known)
        self.frame.bare = True
        for s in pure:
            self.statement(s)
        self.frame.bare = False
        changed = made_of(pure, products)
        behind = [*effects, *statements(later)]
        read = {x for t in behind for x in (*operands(t), *indices(t))}
        needed = [s.name for s in pure if s.name in changed & read]
        usual = [self.frame.known[n] for n in needed]
        wrong = self.some_nan([self.frame.known[n] for n in last])
        rare = self.frame.emitter().rarely(
            wrong, usual, lambda: self.careful(pure, before, changed, needed)
        )
        self.frame.known.update(zip(needed, rare, strict=True))
        for s in effects:
            self.statement(s)

    def careful(
        self, pure: list[Any], before: dict[str, Value], changed: set[str], needed: list[str]
    ) -> list[Value]:
        """The values again; only what takes long, and comes out the same, is taken as it is."""
        fast, self.frame.known = self.frame.known, before
        wanted = set(needed)
        for s in reversed(pure):
            if s.name in wanted and (s.name in changed or not takes_long(s)):
                wanted.update((*operands(s), *indices(s)))
        for s in pure:
            if s.name in wanted and s.name not in changed and takes_long(s):
                self.frame.known[s.name] = fast[s.name]
            elif s.name in wanted:
                self.statement(s)
        found = [self.frame.known[n] for n in needed]
        self.frame.known = fast
        return found

    def some_nan(self, values: Sequence[Value]) -> Value:
        """Whether one of several values is NaN, for each lane in use."""
        found: Value | None = None
        for x, y in pairs(values):
            here = x.emitter.compare("uno", x, y)
            found = here if found is None else found | here
        assert found is not None
        return found if self.frame.mask is None else found & self.frame.mask

    def statement(self, s: Any) -> None:
        """One that is no loop."""
        if isinstance(s, Let):
            self.frame.known[s.name] = (
                self.operations.size(s)
                if self.operations.is_size(s)
                else self.operations.operation(s)
            )
        elif isinstance(s, Load):
            self.frame.known[s.name] = self.access.load(s, s.address, ELEMENTS[s.dtype], s.guard)
        elif isinstance(s, Store):
            self.access.store(s, s.address, self.frame.read(s.value))
        elif isinstance(s, Accumulate):
            self.accumulate(s)
        elif isinstance(s, Combine):
            self.combine(s)
        else:
            self.operations.require(self.frame.read(s.condition))

    def combine(self, s: Combine) -> None:
        around = self.frame.mask
        if s.carry in self.frame.apart:
            self.frame.mask = None
        self.combine_lanes(s)
        self.frame.mask = around

    def combine_lanes(self, s: Combine) -> None:
        c = self.frame.ops[s.carry]
        old, x = self.frame.known[s.carry], self.frame.read(s.value)
        if c.op == "compensated":
            total = old + x
            part = total - old
            lost = self.frame.lost[s.carry] + ((old - (total - part)) + (x - part))
            self.frame.lost[s.carry] = self.operations.masked(lost, self.frame.lost[s.carry])
            self.frame.known[s.carry] = self.operations.masked(total, old)
        elif s.times is not None:
            total = self.frame.emitter(old.element).multiply_add(x, self.frame.read(s.times), old)
            self.frame.known[s.carry] = self.operations.masked(total, old)
        else:
            self.frame.known[s.carry] = self.operations.masked(
                self.operations.combined(c.op, old, x), old
            )

    def accumulate(self, s: Accumulate) -> None:
        """Add to an element for each lane, or all lanes to the one that they share."""
        x, still = (
            self.frame.read(s.value),
            self.frame.lanes > 1 and self.access.is_still(s.address),
        )
        if s.shared and self.frame.lanes > 1:
            return self.access.one_after_another(s)
        around, mask = self.frame.lanes, self.frame.mask
        if still:
            neutral = x.emitter.constant(identity(s.op, s.dtype), x.element)
            x = self.operations.in_one(self.operations.masked(x, neutral), s.op)
            self.frame.lanes, self.frame.mask = 1, None
        old = self.access.load(s, s.address, ELEMENTS[s.dtype])
        self.access.store(s, s.address, self.operations.combined(s.op, old, x))
        self.frame.lanes, self.frame.mask = around, mask
        return None


def takes_long(s: Any) -> bool:
    return isinstance(s, Let) and s.op in FUNCTIONS


def pairs(values: Sequence[Value]) -> list[tuple[Value, Value]]:
    """Two of a type at a time: one comparison finds a NaN in either."""
    found: list[tuple[Value, Value]] = []
    waiting: dict[str, Value] = {}
    for v in values:
        other = waiting.pop(v.element, None)
        if other is None:
            waiting[v.element] = v
        else:
            found.append((other, v))
    return found + [(v, v) for v in waiting.values()]


def made_of(pure: list[Any], sources: set[str]) -> set[str]:
    """The sources and all that depends on them."""
    found: set[str] = set()
    for s in pure:
        if s.name in sources or any(x in found for x in (*operands(s), *indices(s))):
            found.add(s.name)
    return found


def last_of(run: Sequence[Any], sources: set[str]) -> list[str]:
    """The last of the results of arithmetic on the sources: in one of them is every NaN."""
    lets = [s for s in run if isinstance(s, Let)]
    tainted: set[str] = set()
    for s in lets:
        keeps = s.op in KEEPS_NAN and s.dtype.startswith("float")
        if s.name in sources or (keeps and tainted & set(operands(s))):
            tainted.add(s.name)
    found: list[str] = []
    covered: set[str] = set()
    for s in reversed(lets):
        if s.name in tainted:
            if s.name not in covered:
                found.append(s.name)
            covered |= set(operands(s))
    return found
