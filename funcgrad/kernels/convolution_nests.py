"""The native code of convolutions, as loop nests: products of matrices that are never written out.

One operand of each product is what the window meets. A panel of it, some places wide, is copied
into scratch memory that stays in the cache: for each term (a channel and an element of the window)
the numbers of neighbouring places lie in a row of the source, from a given distance on. `gather`
multiplies a panel by the filters, in tiles of sums that stay in registers; `correlate` multiplies
it by results, and adds up over places. A line is a row of places along the last axis; the lines of
all images follow each other, so that small images fill vectors as well as large ones. It
imports the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
    Store,
)
from funcgrad.kernels.convolution import INTEGERS, PLACES, TERMS
from funcgrad.kernels.window_nests import Lines

__all__ = ["Panels", "correlate", "direct", "gather", "pair"]

CORRELATED = 4  # terms of a tile of `correlate`


def _chunks(*source: Let) -> For:
    """What each thread takes at a time: `some` panels or lines from `first` on, of a group.

    `source` says where those of the group begin that are read.
    """
    chunk = For("chunk", "panels", "chunks")
    chunk.body = [
        Let("group", "int64", "div", ("chunk", "pieces")),
        Let("piece", "int64", "rem", ("chunk", "pieces")),
        Let("first", "int64", "mul", ("piece", "grain")),
        Let("left", "int64", "sub", ("panels", "first")),
        Let("some", "int64", "min", ("left", "grain")),
        *source,
        Let("target", "int64", "mul", ("group", "target_step")),
    ]
    return chunk


class Panels(Lines):
    """Panels of places, and the lines and images in them."""

    def __init__(self, name: str, dtype: str) -> None:
        super().__init__(dtype)
        self.name = name
        self.width = PLACES[name] // (2 if dtype == "float64" else 1)
        self.row = self.width + 64 // (8 if dtype == "float64" else 4)
        self.terms = TERMS[name]

    def each_panel(self) -> tuple[For, list[Any]]:
        """The panels of the chunks: places from `here` to `end`, `size` of them, of a group."""
        chunk = _chunks(
            Let("real", "int64", "div", ("group", "parts")),
            Let("source", "int64", "mul", ("real", "source_step")),
        )
        index, body = self.loop(chunk.body, "some", "sequential")
        body += [
            Let("panel", "int64", "add", ("first", index)),
            Let("here", "int64", "mul", ("panel", Const(self.width, "int64"))),
            Let("behind", "int64", "sub", ("total", "here")),
            Let("size", "int64", "min", ("behind", Const(self.width, "int64"))),
            Let("end", "int64", "add", ("here", "size")),
            Let("last", "int64", "sub", ("end", Const(1, "int64"))),
        ]
        return chunk, body

    def parts(
        self, body: list[Any], extent: str, inner: Callable[[list[Any], str, str, str, str], None]
    ) -> None:
        """Cut a panel where lines (or images) of `extent` places end.

        `inner` writes what is done with one: its number, how far into it the part begins, where
        the part lies in the panel, and its length.
        """
        low = self.whole(body, "div", "here", extent)
        high = self.whole(body, "div", "last", extent)
        count = self.whole(body, "add", self.whole(body, "sub", high, low), 1)
        index, each = self.loop(body, count, "sequential")
        number = self.whole(each, "add", low, index)
        edge = self.whole(each, "mul", number, extent)
        lower = self.whole(each, "min", "here", edge)
        stop = self.whole(each, "min", "end", self.whole(each, "add", edge, extent))
        skipped = self.whole(each, "sub", "here", lower)
        place = self.whole(each, "sub", edge, lower)
        begin = self.whole(each, "add", "here", place)
        inner(each, number, skipped, place, self.whole(each, "sub", stop, begin))

    def window(self, body: list[Any], begin: str, count: str) -> None:
        """Copy what `count` terms from `begin` on meet into the panel."""

        def line(each: list[Any], number: str, skipped: str, place: str, length: str) -> None:
            start = self.whole(each, "add", self.fetch(each, "lines", (number, 1)), skipped)
            j, lane = self.many_loops(each, length, self.lanes)
            k, inner = self.loop(lane, count, "sequential")
            at = self.fetch(inner, "taps", (begin, 1), (k, 1))
            self.copy(
                inner,
                Address("x", ((start, 1), ("source", 1), (at, 1), (j, 1))),
                Address("met", ((k, self.row), (place, 1), (j, 1))),
            )

        self.parts(body, "line", line)

    def terms_of_panel(self, body: list[Any]) -> tuple[list[Any], str, str]:
        """The loop over as many terms as are in scratch memory at a time."""
        index, inner = self.loop(body, "blocks", "sequential")
        begin = self.whole(inner, "mul", index, self.terms)
        count = self.whole(inner, "min", self.whole(inner, "sub", "terms", begin), self.terms)
        return inner, begin, count

    def heights(
        self, body: list[Any], most: int, tile: Callable[[list[Any], str, int], None]
    ) -> None:
        """Tiles of all filters, of about the same heights; `tile` writes one from a row on."""
        top: str | None = None
        for height in range(most, 0, -1):
            count = f"of_{height}"
            index, inner = self.loop(body, count, "sequential")
            row = self.whole(inner, "mul", index, height)
            tile(inner, row if top is None else self.whole(inner, "add", row, top), height)
            rows = self.whole(body, "mul", count, height)
            top = rows if top is None else self.whole(body, "add", rows, top)

    def written(self, inputs: Sequence[str], output: str, own: str, chunk: For) -> Kernel:
        """The kernel: `own` is what it has in scratch memory besides what the window meets."""
        tables = [Buffer(name, "int64", "input") for name in ("lines", "taps")]
        arrays = [Buffer(name, self.dtype, "input") for name in inputs]
        arrays.append(Buffer(output, self.dtype, "output"))
        arrays.append(Buffer("met", self.dtype, "local", self.terms * self.row))
        arrays.append(Buffer(own, self.dtype, "local", "room"))
        return Kernel("call", [*tables, *arrays], list(INTEGERS), [], [chunk])


def gather(n: Panels) -> Kernel:
    """``y[f, p] = bias[f] + Σ_k w[f, k] x[lines[p] + taps[k]]``."""
    chunk, body = n.each_panel()
    weights = n.whole(body, "mul", "group", "weights_step")
    biases = n.whole(body, "mul", "group", "filters")
    f, each = n.loop(body, "filters", "sequential")
    value = n.load(each, "bias", (biases, 1), (f, 1))
    j, lane = n.many_loops(each, n.width, n.lanes)
    n.store(lane, value, "sums", (f, n.width), (j, 1))
    inner, begin, count = n.terms_of_panel(body)
    n.window(inner, begin, count)
    vectors, most = (4, 6) if n.many else (2, 6)

    def tile(each: list[Any], row: str, height: int) -> None:
        away = n.whole(each, "mul", row, "terms")
        starts = [
            n.whole(each, "add", away, n.whole(each, "mul", "terms", r)) for r in range(height)
        ]
        j, lane = n.many_loops(each, n.width, vectors * n.lanes)
        k, deep = n.loop(lane, count, "sequential")
        found = n.load(deep, "met", (k, n.row), (j, 1))
        stem, nest = n.sum_names(), lane[-1]
        for r, start in enumerate(starts):
            name = f"{stem}{r}"
            nest.carries.append(Carry(name, n.dtype, "add"))
            w = n.load(deep, "w", (weights, 1), (start, 1), (begin, 1), (k, 1))
            deep.append(Combine(name, w, found))
            place = Address("sums", ((row, n.width), (j, 1)), r * n.width)
            lane.append(Accumulate(place, "add", name, n.dtype))

    n.heights(inner, most, tile)

    def image(each: list[Any], number: str, skipped: str, place: str, length: str) -> None:
        away = n.whole(each, "add", n.whole(each, "mul", number, "image_step"), skipped)
        j, lane = n.many_loops(each, length, n.lanes)
        f, deep = n.loop(lane, "filters", "sequential")
        n.copy(
            deep,
            Address("sums", ((f, n.width), (place, 1), (j, 1))),
            Address("y", (("target", 1), (away, 1), (f, "places"), (j, 1))),
        )

    n.parts(body, "places", image)
    return n.written(["x", "w", "bias"], "y", "sums", chunk)


def _lines() -> For:
    """The lines of the chunks: `some` from `first` on, of a group."""
    return _chunks(Let("source", "int64", "mul", ("group", "source_step")))


def _line(n: Lines, body: list[Any]) -> tuple[list[Any], str, str]:
    """The loop over these lines: where one begins in the images, and where in the results."""
    index, each = n.loop(body, "some", "sequential")
    number = n.whole(each, "add", "first", index)
    start = n.whole(each, "add", n.fetch(each, "lines", (number, 1)), "source")
    return each, start, n.whole(each, "add", n.fetch(each, "rows", (number, 1)), "target")


def _without_panels(n: Lines, inputs: Sequence[str], output: str, chunk: For) -> Kernel:
    tables = [Buffer(name, "int64", "input") for name in ("lines", "taps", "rows")]
    arrays = [Buffer(name, n.dtype, "input") for name in inputs]
    arrays.append(Buffer(output, n.dtype, "output"))
    return Kernel("call", [*tables, *arrays], list(INTEGERS), [], [chunk])


def direct(n: Lines) -> Kernel:
    """The same as `gather`, line by line, for so few filters that a panel would not pay."""
    chunk = _lines()
    weights = n.whole(chunk.body, "mul", "group", "weights_step")
    biases = n.whole(chunk.body, "mul", "group", "filters")
    body, start, place = _line(n, chunk.body)
    f, each = n.loop(body, "filters", "sequential")
    bias = n.load(each, "bias", (biases, 1), (f, 1))
    j, lane = n.many_loops(each, "line", 2 * n.lanes)
    k, deep = n.loop(lane, "terms", "sequential")
    name = n.sum_names()
    lane[-1].carries.append(Carry(name, n.dtype, "add"))
    at = n.fetch(deep, "taps", (k, 1))
    w = n.load(deep, "w", (weights, 1), (f, "terms"), (k, 1))
    deep.append(Combine(name, w, n.load(deep, "x", (start, 1), (at, 1), (j, 1))))
    total = n.let(lane, "add", name, bias)
    n.store(lane, total, "y", (place, 1), (f, "places"), (j, 1))
    return _without_panels(n, ("x", "w", "bias"), "y", chunk)


def pair(n: Lines) -> Kernel:
    """The same as `correlate`, without panels; neighbours add up what all lines give first."""
    chunk = _lines()
    weights = n.whole(chunk.body, "mul", "chunk", "weights_step")
    f, each = n.loop(chunk.body, "filters", "sequential")
    row = n.whole(each, "add", weights, n.whole(each, "mul", f, "row_step"))
    index, block = n.loop(each, "blocks", "sequential")
    term = n.whole(block, "mul", index, CORRELATED)
    taps = [n.element(block, "taps", c, (term, 1), dtype="int64") for c in range(CORRELATED)]
    j, lane = n.many_loops(block, "line", n.lanes)
    whole = block[-1]
    deep, start, place = _line(n, lane)
    lines, stem = lane[-1], n.sum_names()
    y = n.load(deep, "y", (place, 1), (f, "places"), (j, 1))
    for c, at in enumerate(taps):
        x = n.load(deep, "x", (start, 1), (at, 1), (j, 1))
        lines.carries.append(Carry(f"{stem}{c}", n.dtype, "add"))
        whole.carries.append(Carry(f"{stem}all.{c}", n.dtype, "add"))
        deep.append(Combine(f"{stem}{c}", y, x))
        lane.append(Combine(f"{stem}all.{c}", f"{stem}{c}"))
    for c in range(CORRELATED):
        at_sum = Address("c", ((row, 1), (term, 1)), c)
        block.append(Accumulate(at_sum, "add", f"{stem}all.{c}", n.dtype))
    return _without_panels(n, ("x", "y"), "c", chunk)


def correlate(n: Panels) -> Kernel:
    """``c[piece, f, k] += Σ_p y[f, p] x[lines[p] + taps[k]]``."""
    chunk, body = n.each_panel()
    weights = n.whole(body, "mul", "chunk", "weights_step")
    empty = n.whole(body, "sub", n.width, "size")

    def clear(inner: list[Any], buffer: str, rows: str) -> None:
        """Beyond the last place nothing counts."""
        j, lane = n.many_loops(inner, empty, n.lanes)
        f, deep = n.loop(lane, rows, "sequential")
        place = Address(buffer, ((f, n.row), ("size", 1), (j, 1)))
        deep.append(Store(place, Const(0.0, n.dtype), n.dtype))

    def image(each: list[Any], number: str, skipped: str, place: str, length: str) -> None:
        away = n.whole(each, "add", n.whole(each, "mul", number, "image_step"), skipped)
        j, lane = n.many_loops(each, length, n.lanes)
        f, deep = n.loop(lane, "filters", "sequential")
        n.copy(
            deep,
            Address("y", (("target", 1), (away, 1), (f, "places"), (j, 1))),
            Address("given", ((f, n.row), (place, 1), (j, 1))),
        )

    clear(body, "given", "filters")
    n.parts(body, "places", image)
    inner, begin, count = n.terms_of_panel(body)
    clear(inner, "met", count)
    n.window(inner, begin, count)
    blocks = n.whole(inner, "div", n.whole(inner, "add", count, CORRELATED - 1), CORRELATED)

    def tile(each: list[Any], row: str, height: int) -> None:
        away = n.whole(each, "add", n.whole(each, "mul", row, "row_step"), weights)
        index, block = n.loop(each, blocks, "sequential")
        term = n.whole(block, "mul", index, CORRELATED)
        j, lane = n.many_loops(block, n.width)
        loop = block[-1]
        ys = [n.element(lane, "given", r * n.row, (row, n.row), (j, 1)) for r in range(height)]
        stem = n.sum_names()
        for c in range(CORRELATED):
            x = n.element(lane, "met", c * n.row, (term, n.row), (j, 1))
            for r, y in enumerate(ys):
                loop.carries.append(Carry(f"{stem}{r}.{c}", n.dtype, "add"))
                lane.append(Combine(f"{stem}{r}.{c}", y, x))
        for r in range(height):
            line = n.whole(block, "add", away, n.whole(block, "mul", "row_step", r))
            for c in range(CORRELATED):
                place = Address("c", ((line, 1), (begin, 1), (term, 1)), c)
                block.append(Accumulate(place, "add", f"{stem}{r}.{c}", n.dtype))

    n.heights(inner, 4 if n.many else 3, tile)
    return n.written(["x", "y"], "c", "given", chunk)
