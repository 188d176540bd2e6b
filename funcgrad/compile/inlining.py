"""Kernels as parts of a larger one: their names made distinct, their sizes written into the code.

A part reads and writes the buffers of the whole; its loop over chunks becomes a plain one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from funcgrad.compile.code import Written
from funcgrad.compile.loops import (
    Accumulate,
    Address,
    Carry,
    Combine,
    Const,
    For,
    Let,
    Load,
    Operand,
    Require,
    Store,
    Term,
)

__all__ = ["Place", "inlined"]


class Place(NamedTuple):
    """Where an argument of a part lies: a buffer of the whole, and what is added to addresses."""

    buffer: str
    offset: int = 0
    terms: tuple[tuple[str, Term], ...] = ()


def inlined(written: Written, prefix: str, places: Mapping[str, Place]) -> list[Any]:
    """The statements of a kernel whose arguments lie at `places`; local buffers are there, too."""
    return _Part(written, prefix, places).block(written.kernel.body)


class _Part:
    def __init__(self, written: Written, prefix: str, places: Mapping[str, Place]) -> None:
        kernel = written.kernel
        self.prefix, self.places = prefix, places
        self.integers = dict(zip(kernel.integers, map(int, written.integers), strict=True))
        self.numbers = {
            name: Const(x, dtype)
            for (name, dtype), x in zip(kernel.numbers, written.numbers, strict=True)
        }

    def term(self, t: Term) -> Term:
        if isinstance(t, int):
            return t
        return self.integers[t] if t in self.integers else self.prefix + t

    def operand(self, x: Operand) -> Operand:
        if isinstance(x, Const):
            return x
        if x in self.integers:
            return Const(self.integers[x], "int64")
        return self.numbers[x] if x in self.numbers else self.prefix + x

    def address(self, a: Address) -> Address:
        place = self.places[a.buffer]
        offset, more = self.term(a.offset), list(place.terms)
        if isinstance(offset, str):
            more.append((offset, 1))
            offset = 0
        for index, stride in a.terms:
            assert index not in self.integers
            more.append((self.prefix + index, self.term(stride)))
        return Address(place.buffer, tuple(more), place.offset + offset)

    def block(self, body: Sequence[Any]) -> list[Any]:
        return [self.statement(s) for s in body]

    def statement(self, s: Any) -> Any:
        name = self.prefix
        if isinstance(s, Let):
            return Let(name + s.name, s.dtype, s.op, tuple(map(self.operand, s.args)))
        if isinstance(s, Load):
            guard = None if s.guard is None else name + s.guard
            return Load(name + s.name, s.dtype, self.address(s.address), guard)
        if isinstance(s, Store):
            return Store(self.address(s.address), self.operand(s.value), s.dtype)
        if isinstance(s, Accumulate):
            value = self.operand(s.value)
            return Accumulate(self.address(s.address), s.op, value, s.dtype, s.shared)
        if isinstance(s, Combine):
            times = None if s.times is None else self.operand(s.times)
            return Combine(name + s.carry, self.operand(s.value), times)
        if isinstance(s, Require):
            return Require(name + s.condition, s.kind)
        return self.loop(s)

    def loop(self, s: For) -> For:
        carries = [
            Carry(self.prefix + c.name, c.dtype, c.op, c.start and self.operand(c.start))
            for c in s.carries
        ]
        return For(
            self.prefix + s.index,
            self.term(s.count),
            "sequential" if s.kind == "chunks" else s.kind,
            self.block(s.body),
            carries,
            s.lanes,
            self.block(s.test),
            None if s.condition is None else self.operand(s.condition),
            s.every,
        )
