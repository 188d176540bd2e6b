"""Guards written into memory: tables that native code reads (`guard_checks`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile import guards as kinds
from funcgrad.compile.guards import ABSENT, Guard
from funcgrad.compile.llvm.entry.records import GUARD, RECORDS
from funcgrad.compile.llvm.entry.words import Memory, Table

__all__ = ["encode_guards"]


def encode_guards(guards: Sequence[Guard]) -> tuple[np.ndarray[Any, Any], list[Any]]:
    """The records of the guards, and what they point to besides what the guards hold."""
    encoder = _Encoder(len(guards))
    size = len(RECORDS["guard"])
    for k, each in enumerate(guards):
        words = encoder.guard(each)
        encoder.memory[k * size : (k + 1) * size] = words + [0] * (size - len(words))
    return encoder.written(), encoder.kept


class _Encoder(Memory):
    def __init__(self, count: int) -> None:
        super().__init__(count * len(RECORDS["guard"]))
        self.kept: list[Any] = []

    def ids(self, objects: Sequence[Any]) -> Table:
        return self.table(map(id, objects))

    def guard(self, x: Guard) -> list[Any]:
        kind = GUARD[type(x).__name__.lower()]
        if isinstance(x, kinds.Item):
            return [kind, id(x.holder), id(x.name), _there(x.value)]
        if isinstance(x, kinds.Cell):
            return [kind, id(x.cell), _there(x.value)]
        if isinstance(x, kinds.Function):
            named = _there(ABSENT if x.named_defaults is None else x.named_defaults)
            defaults = _there(ABSENT if x.defaults is None else x.defaults)
            return [kind, id(x.function), id(x.code), defaults, named]
        if isinstance(x, kinds.Type):
            return [kind, id(x.object), id(x.type)]
        if isinstance(x, kinds.Attribute):
            return [kind, id(x.object), id(x.name), _there(x.value)]
        if isinstance(x, kinds.List):
            return [kind, id(x.list), len(x.items), self.ids(x.items)]
        if isinstance(x, kinds.Dict):
            values = 0 if x.values is None else self.ids(x.values)
            return [kind, id(x.dict), len(x.keys), self.ids(x.keys), values]
        if isinstance(x, kinds.Array):
            return [kind, id(x.array), id(x.dtype), *self.array(x)]
        self.kept.append((x.argument,))
        return [kind, id(x.look), id(self.kept[-1]), id(x.value)]

    def array(self, x: kinds.Array) -> list[Any]:
        shape = self.table([len(x.shape), *x.shape])
        if x.content is None:
            return [shape, x.address, 0]
        content = np.frombuffer(x.content + bytes(-len(x.content) % 8), np.int64).tolist()
        return [shape, x.address, self.table([len(x.content), *content])]


def _there(value: Any) -> int:
    """The address of what a place holds: null for nothing."""
    return 0 if value is ABSENT else id(value)
