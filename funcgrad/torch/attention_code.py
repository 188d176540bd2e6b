"""The native code of attention, in both directions: a loop nest for each head.

What lies between the products of a head stays near the thread that has it: queries (on the way
back, cotangents) turned round in scratch memory, products in tiles of registers. Weights have a row
for each key, so that the softmax of a query goes down a column, lanes side by side; they are
written for the way back. No head depends on another, so threads change no bit. It imports the
compiler.
"""

from __future__ import annotations

import math
from typing import Any

from funcgrad.compile import cache
from funcgrad.compile.loops import Buffer, Combine, Const, For, Kernel, Let
from funcgrad.kernels.native import Code
from funcgrad.kernels.nests import printed
from funcgrad.kernels.tiled_nests import TiledNest
from funcgrad.torch.attention_heads import QUERIES
from funcgrad.torch.sources import sources_of_facade

__all__ = ["code_of"]

Body = list[Any]
INTEGERS = (
    "chunks", "heads", "queries", "keys", "size", "parts", "sizeparts", "whole", "room",
)  # fmt: skip
FORWARD = ("q", "k", "v", "bias"), ("weights", "means")
BACKWARD = ("g", "q", "k", "v", "weights"), ("cq", "ck", "cv")
PLACES = ("far", "near", "row")  # steps from one example, head and row to the next


def code_of(name: str, vectors: int, dtype: str) -> Code:
    """The code of "forward", "masked" or "backward", for so many vectors of a head's elements.

    Raises
    ------
    CompilerError
        The code cannot be built.
    """

    def text() -> str:
        nest = _Heads(vectors, dtype)
        return printed(nest.backward() if name == "backward" else nest.forward(name == "masked"))

    about = sources_of_facade(), "attention", name, vectors, dtype
    return Code.of(cache.written(text, *about, symbols={}))


class _Heads(TiledNest):
    def __init__(self, vectors: int, dtype: str) -> None:
        super().__init__(dtype)
        self.vectors = vectors

    # ---------------------------------------------------------------------------- directions

    def forward(self, masked: bool) -> Kernel:
        """Weights, and means of the values; 0 for a query whose scores are all masked."""
        chunk = self.each_head([*FORWARD[0], "means"])
        body = chunk.body
        self.turn(body, "q")
        self.by_queries(body, "k", "weights", masked)
        self.softmax(body, masked)
        self.by_size(body, ("weights", 1, "queries"), "v", "means", "queries", "keys")
        return self.made(*FORWARD, [], chunk)

    def backward(self) -> Kernel:
        """Cotangents of queries, keys and values, as far as they are wanted."""
        chunk = self.each_head([*BACKWARD[0][:4], *BACKWARD[1]])
        body = chunk.body
        _, inner = self.loop(body, "want.v", "sequential")
        self.by_size(inner, ("weights", "queries", 1), "g", "cv", "keys", "queries")
        _, both = self.loop(body, "want.slopes", "sequential")
        self.turn(both, "g")
        self.by_queries(both, "v", "slopes", False)
        self.slopes(both)
        _, inner = self.loop(both, "want.q", "sequential")
        self.by_size(inner, ("slopes", 1, "queries"), "k", "cq", "queries", "keys")
        _, inner = self.loop(both, "want.k", "sequential")
        self.by_size(inner, ("slopes", "queries", 1), "q", "ck", "keys", "queries")
        wants = ["want.v", "want.slopes", "want.q", "want.k"]
        return self.made(*BACKWARD, wants, chunk)

    def made(self, inputs: Any, outputs: Any, wants: list[str], chunk: For) -> Kernel:
        buffers = [Buffer(x, self.dtype, "input") for x in inputs]
        buffers += [Buffer(x, self.dtype, "output") for x in outputs]
        buffers.append(Buffer("turned", self.dtype, "local", "room"))
        if wants:
            buffers.append(Buffer("slopes", self.dtype, "local", "whole"))
        placed = [f"{x}.{p}" for x in (*inputs, *outputs) if x != "weights" for p in PLACES]
        integers = [*INTEGERS, *placed, *wants]
        return Kernel("call", buffers, integers, [("scale", "float64")], [chunk])

    def each_head(self, arrays: list[str]) -> For:
        """The chunks, with where each array of a head begins."""
        chunk = For("chunk", "chunks", "chunks")
        body = chunk.body
        head, example = (self.whole(body, op, "chunk", "heads") for op in ("rem", "div"))
        self.start = {"slopes": self.whole(body, "sub", head, head)}
        for x in arrays:
            away = [self.whole(body, "mul", *pair) for pair in
                    ((example, f"{x}.far"), (head, f"{x}.near"))]  # fmt: skip
            self.start[x] = self.whole(body, "add", *away)
        self.start["weights"] = self.whole(body, "mul", "chunk", "whole")
        convert = "copy" if self.dtype == "float64" else "cast"
        body.append(Let("factor", self.dtype, convert, ("scale",)))
        return chunk

    # ------------------------------------------------------------------------------ products

    def turn(self, body: Body, x: str) -> None:
        """Copy the rows of a head as panels of columns, one for each query."""
        width = QUERIES * self.lanes
        part, first, panel = self.panels(body, "parts", width)
        begin = self.whole(panel, "mul", self.whole(panel, "mul", part, "size"), width)
        some = self.some_columns(panel, "queries", first, width)
        j, lane = self.many_loops(panel, some, self.lanes)
        k, each = self.loop(lane, "size", "sequential")
        row = f"{x}.row"
        found = self.load(each, x, (self.start[x], 1), (first, row), (j, row), (k, 1))
        self.store(each, found, "turned", (begin, 1), (k, width), (j, 1))

    def by_queries(self, body: Body, x: str, y: str, masked: bool) -> None:
        """Rows of `x` times what was turned round, into a row of `y` for each key."""
        width = QUERIES * self.lanes
        part, first, panel = self.panels(body, "parts", width)
        begin = self.whole(panel, "mul", self.whole(panel, "mul", part, "size"), width)
        some = self.some_columns(panel, "queries", first, width)
        j, lane = self.many_loops(panel, some, width)

        def put(body: Body, row: str, sum_: str) -> None:
            if y == "weights":
                sum_ = self.let(body, "mul", sum_, "factor")
            if masked:
                at = (self.start["bias"], 1), (row, "bias.row"), (first, 1), (j, 1)
                sum_ = self.let(body, "add", sum_, self.load(body, "bias", *at))
            self.store(body, sum_, y, (self.start[y], 1), (row, "queries"), (first, 1), (j, 1))

        self.tiles(
            lane, "keys", self.start["slopes"], QUERIES, "size",
            lambda body, k: self.load(body, "turned", (begin, 1), (k, width), (j, 1)),
            lambda body, row, k: self.load(
                body, x, (self.start[x], 1), (row, f"{x}.row"), (k, 1)
            ),
            put,
        )  # fmt: skip

    def by_size(
        self, body: Body, x: tuple[str, Any, Any], z: str, y: str, rows: str, terms: str
    ) -> None:
        """Rows of `x`, whose steps from row to row and term to term are given, times `z`."""
        width = self.vectors * self.lanes
        _, first, panel = self.panels(body, "sizeparts", width)
        j, lane = self.many_loops(panel, self.some_columns(panel, "size", first, width), width)
        name, by_row, by_term = x

        def near(body: Body, k: str) -> str:
            return self.load(body, z, (self.start[z], 1), (k, f"{z}.row"), (first, 1), (j, 1))

        def put(body: Body, row: str, sum_: str) -> None:
            at = (self.start[y], 1), (row, f"{y}.row"), (first, 1), (j, 1)
            self.store(body, sum_, y, *at)

        self.tiles(
            lane, rows, self.start["slopes"], self.vectors, terms, near,
            lambda body, row, k: self.load(
                body, name, (self.start[name], 1), (row, by_row), (k, by_term)
            ),
            put,
        )  # fmt: skip

    # ------------------------------------------------------------------------------- queries

    def softmax(self, body: Body, masked: bool) -> None:
        """exp(x - max) over its sum along the keys, in the place of the scores."""
        j, line = self.loop(body, "queries", "vector")
        start = (self.start["weights"], 1), (j, 1)
        i, inner = self.loop(line, "keys", "sequential", [("top", "max")])
        inner.append(Combine("top", self.load(inner, "weights", *start, (i, "queries"))))
        top, none = "top", Const(-math.inf, self.dtype)
        if masked:  # of minus infinity alone, 0 is as far as anything
            line.append(Let("none", "bool", "eq", ("top", none)))
            top = self.let(line, "select", "none", 0.0, "top")
        i, inner = self.loop(line, "keys", "sequential", [("total", "add")])
        x = self.load(inner, "weights", *start, (i, "queries"))
        e = self.let(inner, "exp", self.let(inner, "sub", x, top))
        inner.append(Combine("total", e))
        self.store(inner, e, "weights", *start, (i, "queries"))
        total = self.let(line, "select", "none", 1.0, "total") if masked else "total"
        share = self.let(line, "div", 1.0, total)
        i, inner = self.loop(line, "keys", "sequential")
        x = self.load(inner, "weights", *start, (i, "queries"))
        self.store(inner, self.let(inner, "mul", x, share), "weights", *start, (i, "queries"))

    def slopes(self, body: Body) -> None:
        """w (g - Σ g w) along the keys, times the scale, in the place of the cotangents g."""
        j, line = self.loop(body, "queries", "vector")
        place, other = ((self.start[x], 1) for x in ("slopes", "weights"))
        i, inner = self.loop(line, "keys", "sequential", [("total", "add")])
        along = (i, "queries"), (j, 1)
        g, w = self.load(inner, "slopes", place, *along), self.load(inner, "weights", other, *along)
        inner.append(Combine("total", g, w))
        i, inner = self.loop(line, "keys", "sequential")
        along = (i, "queries"), (j, 1)
        g, w = self.load(inner, "slopes", place, *along), self.load(inner, "weights", other, *along)
        slope = self.let(inner, "mul", w, self.let(inner, "sub", g, "total"))
        self.store(inner, self.let(inner, "mul", slope, "factor"), "slopes", place, *along)
