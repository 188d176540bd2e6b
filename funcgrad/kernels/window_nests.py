"""Loop nests over windows that move over planes: zeros around planes, the largest elements.

A plane is what an image has of a channel; its lines run along the last axis. Where lines begin and
what a window meets are distances in tables (see `sources`, `pooling`). It imports the compiler.
"""

from __future__ import annotations

import math
from typing import Any

from funcgrad.compile.llvm.target import host
from funcgrad.compile.loops import (
    Accumulate,
    Address,
    Buffer,
    Carry,
    Combine,
    Const,
    For,
    Kernel,
    Let,
    Load,
    Store,
)
from funcgrad.kernels.convolution import (
    DIRECT,
    FILL,
    FILL_INTEGERS,
    GATHER,
    PAIR,
)
from funcgrad.kernels.nests import Nest, printed
from funcgrad.kernels.pooling import LARGEST, LARGEST_INTEGERS, LOWEST, PLANE_INTEGERS, PUT, TAKE

__all__ = ["Lines", "text_of"]

FILLED = ("starts", "fronts", "lengths")
TABLES = ("starts", "bases", "taps", "away", "firsts")
Step = int | str


def text_of(name: str, dtype: str) -> str:
    """The module of a nest."""
    n = Lines(dtype)
    if name in (LARGEST, TAKE, PUT):
        return printed({LARGEST: largest, TAKE: take, PUT: put}[name](n))
    if not name.startswith((FILL, LOWEST)):
        from funcgrad.kernels import convolution_nests as nests

        if name in (DIRECT, PAIR):
            return printed((nests.direct if name == DIRECT else nests.pair)(n))
        panels = nests.Panels(name, dtype)
        return printed((nests.gather if name == GATHER else nests.correlate)(panels))
    value = 0.0 if name.startswith(FILL) else -math.inf
    return printed(fill(n, 1 if name in (FILL, LOWEST) else "step", value))


class Lines(Nest):
    """Writes loops over neighbours, and integers."""

    def __init__(self, dtype: str) -> None:
        super().__init__(dtype)
        bits = host().vector_bits
        self.lanes = bits // (64 if dtype == "float64" else 32)
        self.many = bits == 512  # registers

    def copy(self, body: list[Any], source: Address, target: Address) -> None:
        self.count += 1
        name = f"v{self.count}"
        body += [Load(name, self.dtype, source), Store(target, name, self.dtype)]

    def element(
        self, body: list[Any], buffer: str, offset: int, *terms: Any, dtype: str | None = None
    ) -> str:
        self.count += 1
        name = f"v{self.count}"
        body.append(Load(name, dtype or self.dtype, Address(buffer, terms, offset)))
        return name

    def fetch(self, body: list[Any], buffer: str, *terms: Any) -> str:
        """An integer of a table."""
        self.count += 1
        body.append(Load(f"v{self.count}", "int64", Address(buffer, terms)))
        return f"v{self.count}"

    def planes(self) -> tuple[For, list[Any], str, str]:
        """The planes of the chunks: where one begins in the source, and where in the target."""
        chunk = For("chunk", "planes", "chunks")
        chunk.body = [
            Let("first", "int64", "mul", ("chunk", "grain")),
            Let("left", "int64", "sub", ("planes", "first")),
            Let("some", "int64", "min", ("left", "grain")),
        ]
        index, plane = self.loop(chunk.body, "some", "sequential")
        number = self.whole(plane, "add", "first", index)
        source = self.whole(plane, "mul", number, "source_step")
        return chunk, plane, source, self.whole(plane, "mul", number, "target_step")

    def zeros(self, body: list[Any], count: Step, *place: Any, value: float = 0.0) -> None:
        """Zeros (or another number) in so many elements of `y` from a place on."""
        j, lane = self.many_loops(body, count, self.lanes)
        lane.append(Store(Address("y", (*place, (j, 1))), Const(value, self.dtype), self.dtype))

    def sum_names(self) -> str:
        """What the names of the sums of a tile begin with."""
        self.count += 1
        return f"c{self.count}."


def fill(n: Lines, step: Step, value: float) -> Kernel:
    """``y[plane, line, fronts[line] + j] = x[plane, starts[line] + j·step]``, `value` elsewhere."""
    chunk, plane, source, target = n.planes()
    k, line = n.loop(plane, "lines", "sequential")
    start, front, length = (n.fetch(line, name, (k, 1)) for name in FILLED)
    away = n.whole(line, "add", target, n.whole(line, "mul", k, "width"))
    end = n.whole(line, "add", front, length)
    n.zeros(line, front, (away, 1), value=value)
    # one by one for a stride: processors gather no faster
    j, lane = (
        n.many_loops(line, length, n.lanes) if step == 1 else n.loop(line, length, "sequential")
    )
    n.copy(
        lane,
        Address("x", ((source, 1), (start, 1), (j, step))),
        Address("y", ((away, 1), (front, 1), (j, 1))),
    )
    n.zeros(line, n.whole(line, "sub", "width", end), (away, 1), (end, 1), value=value)
    tables = [Buffer(name, "int64", "input") for name in FILLED]
    arrays = [Buffer("x", n.dtype, "input"), Buffer("y", n.dtype, "output")]
    return Kernel("call", [*tables, *arrays], list(FILL_INTEGERS), [], [chunk])


# ------------------------------------------------------------------------------------ largest


def largest(n: Lines) -> Kernel:
    """Where in its plane the largest element of each window is: the first of equals, the last NaN.

    ``at[line, j]`` is ``bases[line] + away[k] + j·step`` for the ``k`` whose element
    ``x[starts[line] + taps[k] + j·step]`` is largest, ``firsts[line, j]`` where none is above -inf.
    """
    chunk, plane, source, target = n.planes()
    i, line = n.loop(plane, "lines", "sequential")
    start, base = (n.fetch(line, name, (i, 1)) for name in TABLES[:2])
    row = n.whole(line, "mul", i, "width")
    j, lane = n.many_loops(line, "width", n.lanes)
    lane.append(Load("first.inside", "int64", Address("firsts", ((row, 1), (j, 1)))))
    along = n.whole(lane, "mul", j, "step")
    k, deep = n.loop(lane, "terms", "sequential")
    lane[-1].carries += [
        Carry("best", n.dtype, "next", Const(-math.inf, n.dtype)),
        Carry("where", "int64", "next", "first.inside"),
    ]
    tap, away = (n.fetch(deep, name, (k, 1)) for name in ("taps", "away"))
    x = n.load(deep, "x", (source, 1), (start, 1), (tap, 1), (j, "step"))
    here = n.whole(deep, "add", n.whole(deep, "add", base, away), along)
    deep += [
        Let("larger", "bool", "gt", (x, "best")),
        Let("nan", "bool", "ne", (x, x)),
        Let("better", "bool", "or", ("larger", "nan")),
        Let("best.now", n.dtype, "select", ("better", x, "best")),
        Let("where.now", "int64", "select", ("better", here, "where")),
        Combine("best", "best.now"),
        Combine("where", "where.now"),
    ]
    lane.append(Store(Address("at", ((target, 1), (row, 1), (j, 1))), "where", "int64"))
    tables = [Buffer(name, "int64", "input") for name in TABLES]
    arrays = [Buffer("x", n.dtype, "input"), Buffer("at", "int64", "output")]
    return Kernel("call", [*tables, *arrays], list(LARGEST_INTEGERS), [], [chunk])


def take(n: Lines) -> Kernel:
    """``y[plane, p] = x[plane, at[plane, p]]``."""
    chunk, plane, source, target = n.planes()
    j, lane = n.many_loops(plane, "target_step", n.lanes)
    lane.append(Load("where", "int64", Address("at", ((target, 1), (j, 1)))))
    n.store(lane, n.load(lane, "x", (source, 1), ("where", 1)), "y", (target, 1), (j, 1))
    arrays = [Buffer("at", "int64", "input"), Buffer("x", n.dtype, "input")]
    arrays.append(Buffer("y", n.dtype, "output"))
    return Kernel("call", arrays, list(PLANE_INTEGERS), [], [chunk])


def put(n: Lines) -> Kernel:
    """``y[plane, at[plane, p]] += x[plane, p]`` in the order of p, from zeros on."""
    chunk, plane, source, target = n.planes()
    n.zeros(plane, "target_step", (target, 1))
    j, each = n.loop(plane, "source_step", "sequential")
    where = n.fetch(each, "at", (source, 1), (j, 1))
    g = n.load(each, "x", (source, 1), (j, 1))
    each.append(Accumulate(Address("y", ((target, 1), (where, 1))), "add", g, n.dtype))
    arrays = [Buffer("at", "int64", "input"), Buffer("x", n.dtype, "input")]
    arrays.append(Buffer("y", n.dtype, "output"))
    return Kernel("call", arrays, list(PLANE_INTEGERS), [], [chunk])
