"""Straight-line code in lanes: statements without loops, one after the other."""

from __future__ import annotations

from typing import Any

from funcgrad.compile.llvm.access import Access
from funcgrad.compile.llvm.frame import ELEMENTS, Frame
from funcgrad.compile.llvm.operations import Operations
from funcgrad.compile.loops import Accumulate, Combine, Let, Load, Store, identity

__all__ = ["Straight"]


class Straight:
    """One statement, and what becomes of its result."""

    def __init__(self, frame: Frame, operations: Operations, access: Access) -> None:
        self.frame, self.operations, self.access = frame, operations, access

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
            self.operations.require(self.frame.read(s.condition), s.kind)

    def combine(self, s: Combine) -> None:
        around = self.frame.mask
        if s.carry in self.frame.apart:
            self.frame.mask = None
        self.combine_lanes(s)
        self.frame.mask = around

    def combine_lanes(self, s: Combine) -> None:
        c = self.frame.ops[s.carry]
        old, x = self.frame.known[s.carry], self.frame.read(s.value)
        if c.op == "next":
            self.frame.known[s.carry] = x
        elif c.op == "compensated":
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
