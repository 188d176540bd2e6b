"""How loop nests are written: statements in one dtype, loops, pieces of rows or columns.

It imports the compiler, and what prints code only where some is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.compile.loops import Address, Buffer, Carry, Const, For, Kernel, Let, Load, Store

__all__ = ["Nest", "chunks", "each_row", "integer", "printed"]


class Nest:
    """Writes statements in one dtype."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.count = 0
        self.buffers: list[Buffer] = []

    def array(self, name: str, role: str = "input") -> None:
        self.buffers.append(Buffer(name, self.dtype, role))

    def let(self, body: list[Any], op: str, *args: Any) -> str:
        self.count += 1
        given = tuple(a if isinstance(a, str) else Const(a, self.dtype) for a in args)
        body.append(Let(f"t{self.count}", self.dtype, op, given))
        return f"t{self.count}"

    def load(self, body: list[Any], buffer: str, *terms: Any) -> str:
        self.count += 1
        body.append(Load(f"v{self.count}", self.dtype, Address(buffer, terms)))
        return f"v{self.count}"

    def store(self, body: list[Any], x: str, buffer: str, *terms: Any) -> None:
        body.append(Store(Address(buffer, terms), x, self.dtype))

    def loop(
        self, body: list[Any], count: str, kind: str, carries: Sequence[tuple[str, str]] = ()
    ) -> tuple[str, list[Any]]:
        """A loop in a body: its index and its own body."""
        self.count += 1
        index = f"i{self.count}"
        made = For(index, count, kind, [], [Carry(n, self.dtype, op) for n, op in carries])
        body.append(made)
        return index, made.body

    def whole(self, body: list[Any], op: str, *args: Any) -> str:
        """An integer."""
        self.count += 1
        given = tuple(Const(a, "int64") if isinstance(a, int) else a for a in args)
        body.append(Let(f"t{self.count}", "int64", op, given))
        return f"t{self.count}"

    def many_loops(
        self, body: list[Any], count: int | str, lanes: int = 0
    ) -> tuple[str, list[Any]]:
        """A loop over neighbours, so many at a time."""
        self.count += 1
        made = For(f"i{self.count}", count, "vector", lanes=lanes)
        body.append(made)
        return made.index, made.body

    def kernel(self, numbers: Sequence[str], chunk: For) -> Kernel:
        integers = ["grain", "rows", "columns", "blocks"]
        return Kernel("call", self.buffers, integers, [(n, "float64") for n in numbers], [chunk])


def integer(name: str, op: str, x: str, y: str) -> Let:
    return Let(name, "int64", op, (x, y))


def chunks(extent: str) -> For:
    """The pieces of rows or columns: each begins at `start` and has `some` of them."""
    chunk = For("chunk", extent, "chunks")
    chunk.body = [
        integer("start", "mul", "chunk", "grain"),
        integer("left", "sub", extent, "start"),
        integer("some", "min", "left", "grain"),
    ]
    return chunk


def each_row(n: Nest) -> tuple[For, list[Any]]:
    chunk = chunks("rows")
    row, body = n.loop(chunk.body, "some", "sequential")
    body += [
        integer("place", "add", "start", row),
        integer("away", "mul", "place", "columns"),
    ]
    return chunk, body


def printed(kernel: Kernel) -> str:
    """The module of a kernel, with the functions that it calls."""
    from funcgrad.compile.llvm.printer import print_kernel
    from funcgrad.compile.llvm.target import host

    text, body = print_kernel(kernel, host())
    body.enclose()
    return "\n".join([*body.definitions.values(), text, *body.declarations, ""])
