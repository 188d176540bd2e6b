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
from funcgrad.compile.llvm.frame import ELEMENTS
from funcgrad.compile.llvm.mathematics import FUNCTIONS
from funcgrad.compile.llvm.names import indices, operands
from funcgrad.compile.loops import (
    Accumulate,
    Combine,
    Let,
    Load,
    Store,
    identity,
    statements,
)

__all__ = ["Straight"]

KEEPS_NAN = frozenset({"add", "sub", "mul", "div", "neg", "scale"})
LOOK, SPARED = 2, 3  # operations that a look takes, and that each product spares


class Straight(Access):
    """Statements one after the other, and what can wait until it is known to be needed."""

    def straight(self, run: list[Any], later: Sequence[Any]) -> None:
        """A run of statements without loops; `later` is what stands behind it in the same loop."""
        products = {s.name for s in run if isinstance(s, Let) and s.op == "scale"}
        if self.lanes > 1 and products:
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
        before = dict(self.known)
        self.bare = True
        for s in pure:
            self.statement(s)
        self.bare = False
        changed = made_of(pure, products)
        behind = [*effects, *statements(later)]
        read = {x for t in behind for x in (*operands(t), *indices(t))}
        needed = [s.name for s in pure if s.name in changed & read]
        usual = [self.known[n] for n in needed]
        wrong = self.some_nan([self.known[n] for n in last])
        rare = self.emitter().rarely(
            wrong, usual, lambda: self.careful(pure, before, changed, needed)
        )
        self.known.update(zip(needed, rare, strict=True))
        for s in effects:
            self.statement(s)

    def careful(
        self, pure: list[Any], before: dict[str, Value], changed: set[str], needed: list[str]
    ) -> list[Value]:
        """The values again; only what takes long, and comes out the same, is taken as it is."""
        fast, self.known = self.known, before
        wanted = set(needed)
        for s in reversed(pure):
            if s.name in wanted and (s.name in changed or not takes_long(s)):
                wanted.update((*operands(s), *indices(s)))
        for s in pure:
            if s.name in wanted and s.name not in changed and takes_long(s):
                self.known[s.name] = fast[s.name]
            elif s.name in wanted:
                self.statement(s)
        found = [self.known[n] for n in needed]
        self.known = fast
        return found

    def some_nan(self, values: Sequence[Value]) -> Value:
        """Whether one of several values is NaN, for each lane in use."""
        found: Value | None = None
        for x, y in pairs(values):
            here = x.emitter.compare("uno", x, y)
            found = here if found is None else found | here
        assert found is not None
        return found if self.mask is None else found & self.mask

    def statement(self, s: Any) -> None:
        """One that is no loop."""
        if isinstance(s, Let):
            self.known[s.name] = self.size(s) if self.is_size(s) else self.operation(s)
        elif isinstance(s, Load):
            self.known[s.name] = self.load(s, s.address, ELEMENTS[s.dtype], s.guard)
        elif isinstance(s, Store):
            self.store(s, s.address, self.read(s.value))
        elif isinstance(s, Accumulate):
            self.accumulate(s)
        elif isinstance(s, Combine):
            self.combine(s)
        else:
            self.require(self.read(s.condition))

    def combine(self, s: Combine) -> None:
        around = self.mask
        if s.carry in self.apart:
            self.mask = None
        self.combine_lanes(s)
        self.mask = around

    def combine_lanes(self, s: Combine) -> None:
        c = self.ops[s.carry]
        old, x = self.known[s.carry], self.read(s.value)
        if c.op == "precise":
            total = old + x
            part = total - old
            lost = self.lost[s.carry] + ((old - (total - part)) + (x - part))
            self.lost[s.carry] = self.masked(lost, self.lost[s.carry])
            self.known[s.carry] = self.masked(total, old)
        elif s.times is not None:
            total = self.emitter(old.element).multiply_add(x, self.read(s.times), old)
            self.known[s.carry] = self.masked(total, old)
        else:
            self.known[s.carry] = self.masked(self.combined(c.op, old, x), old)

    def accumulate(self, s: Accumulate) -> None:
        """Add to an element for each lane, or all lanes to the one that they share."""
        x, still = self.read(s.value), self.lanes > 1 and self.is_still(s.address)
        if s.shared and self.lanes > 1:
            return self.one_after_another(s)
        around, mask = self.lanes, self.mask
        if still:
            neutral = x.emitter.constant(identity(s.op, s.dtype), x.element)
            x = self.in_one(self.masked(x, neutral), s.op)
            self.lanes, self.mask = 1, None
        old = self.load(s, s.address, ELEMENTS[s.dtype])
        self.store(s, s.address, self.combined(s.op, old, x))
        self.lanes, self.mask = around, mask
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
