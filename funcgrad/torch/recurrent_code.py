"""The native code of an LSTM over many steps, in both directions: a loop nest for blocks of rows.

No row of a batch depends on another, so a chunk takes some rows through all steps, and threads meet
once. A step is a product with the weights, tiles of whose sums stay in registers, and the formulas
of the gates. The weights come in panels, each as wide as some vectors, whose terms lie one behind
the other. A row of the gates holds those of all states: input, forget, cell, output. Each sum adds
its terms in one order, so neither blocks nor threads change a bit. It imports the compiler.
"""

from __future__ import annotations

from typing import Any

from funcgrad.compile import cache
from funcgrad.compile.loops import (
    Accumulate,
    Address,
    Buffer,
    For,
    Kernel,
    Store,
)
from funcgrad.kernels.native import Code
from funcgrad.kernels.nests import chunks, printed
from funcgrad.kernels.tiled_nests import TiledNest
from funcgrad.torch.sources import sources_of_facade

__all__ = ["code_of"]

GATES = range(4)
# of the product: its columns and terms; of a step: where its gates and what is given for it lie
INTEGERS = (
    "rows", "grain", "hidden", "wide", "steps", "columns", "terms", "parts",
    "gates.first", "gates.by", "given.first", "given.by",
)  # fmt: skip


def code_of(name: str, vectors: int, dtype: str) -> Code:
    """The code of one direction, for panels of so many vectors: from disk, or built now.

    Raises
    ------
    CompilerError
        The code cannot be built.
    """

    def text() -> str:
        nest = _Steps(vectors, dtype)
        return printed(nest.forward() if name == "lstm" else nest.backward())

    about = sources_of_facade(), "recurrent", name, vectors, dtype
    return Code.of(cache.written(text, *about, symbols={}))


class _Steps(TiledNest):
    def __init__(self, vectors: int, dtype: str) -> None:
        super().__init__(dtype)
        self.vectors, self.width = vectors, vectors * self.lanes

    # ---------------------------------------------------------------------------- directions

    def forward(self) -> Kernel:
        """States from the input's part of the gates; the gates stay where this was."""
        chunk, t, body = self.all_steps()
        gates = self.away(body, t, "gates")
        before = self.whole(body, "mul", t, self.size)
        now = self.whole(body, "add", before, self.size)
        self.product(body, ("states", before), ("gates", gates), add=True)
        inner, at, places = self.each_state(body, gates)
        i, f, new, o = (self.load(inner, "gates", *place) for place in places)
        new = self.let(inner, "tanh", new)
        i, f, o = (self.sigmoid(inner, x) for x in (i, f, o))
        kept = self.let(inner, "mul", f, self.load(inner, "cells", (before, 1), *at))
        c = self.let(inner, "add", kept, self.let(inner, "mul", i, new))
        for x, place in zip((i, f, new, o), places, strict=True):
            self.store(inner, x, "gates", *place)
        self.store(inner, c, "cells", (now, 1), *at)
        state = self.let(inner, "mul", o, self.let(inner, "tanh", c))
        self.store(inner, state, "states", (now, 1), *at)
        return self.made(["panels"], ["cells", "gates", "states"], chunk)

    def backward(self) -> Kernel:
        """Cotangents of what the gates are made of, from the last step on.

        Those of the state and the cell before all of them are left in `later` and `cell`.
        """
        chunk, t, body = self.all_steps()
        gates, given = (self.away(body, t, x) for x in ("gates", "given"))
        left = self.whole(body, "sub", "steps", t)
        now = self.whole(body, "mul", left, self.size)
        before = self.whole(body, "sub", now, self.size)
        inner, at, places = self.each_state(body, gates)
        parts = self.load(inner, "given", (given, 1), *at), self.load(inner, "later", *at)
        g = self.let(inner, "add", *parts)
        i, f, new, o = (self.load(inner, "gates", *place) for place in places)
        tanh = self.let(inner, "tanh", self.load(inner, "cells", (now, 1), *at))
        through = self.let(inner, "mul", self.let(inner, "mul", g, o), self.bend(inner, tanh))
        c = self.let(inner, "add", self.load(inner, "cell", *at), through)
        old = self.load(inner, "cells", (before, 1), *at)
        self.store(inner, self.let(inner, "mul", c, f), "cell", *at)
        found = [
            self.let(inner, "mul", self.let(inner, "mul", c, new), self.slope(inner, i)),
            self.let(inner, "mul", self.let(inner, "mul", c, old), self.slope(inner, f)),
            self.let(inner, "mul", self.let(inner, "mul", c, i), self.bend(inner, new)),
            self.let(inner, "mul", self.let(inner, "mul", g, tanh), self.slope(inner, o)),
        ]
        for x, place in zip(found, places, strict=True):
            self.store(inner, x, "cotangents", *place)
        zero = self.whole(body, "sub", t, t)
        self.product(body, ("cotangents", gates), ("later", zero), add=False)
        return self.made(["panels", "given", "gates", "cells"], ["cotangents", "later", "cell"],
                         chunk)  # fmt: skip

    def made(self, inputs: list[str], outputs: list[str], chunk: For) -> Kernel:
        buffers = [Buffer(x, self.dtype, "input") for x in inputs]
        buffers += [Buffer(x, self.dtype, "output") for x in outputs]
        return Kernel("call", buffers, list(INTEGERS), [], [chunk])

    # --------------------------------------------------------------------------------- steps

    def all_steps(self) -> tuple[For, str, list[Any]]:
        """The chunks, and the loop over all steps of one."""
        chunk = chunks("rows")
        self.size = self.whole(chunk.body, "mul", "rows", "hidden")
        self.gate = [self.whole(chunk.body, "mul", "hidden", k) for k in GATES]
        t, body = self.loop(chunk.body, "steps", "sequential")
        return chunk, t, body

    def away(self, body: list[Any], t: str, what: str) -> str:
        """Where what a step has of an array begins."""
        return self.whole(body, "add", f"{what}.first", self.whole(body, "mul", t, f"{what}.by"))

    def each_state(
        self, body: list[Any], gates: str
    ) -> tuple[list[Any], tuple[Any, ...], list[tuple[Any, ...]]]:
        """The loop over the states of all rows: its body, a state's place, and its gates'."""
        row, line = self.loop(body, "some", "sequential")
        place = self.whole(line, "add", "start", row)
        j, inner = self.loop(line, "hidden", "vector")
        at = (place, "hidden"), (j, 1)
        places = [((gates, 1), (place, "wide"), (gate, 1), (j, 1)) for gate in self.gate]
        return inner, at, places

    def sigmoid(self, body: list[Any], x: str) -> str:
        small = self.let(body, "exp", self.let(body, "sub", 0.0, x))
        return self.let(body, "div", 1.0, self.let(body, "add", 1.0, small))

    def slope(self, body: list[Any], s: str) -> str:
        """The derivative of a sigmoid, of its value."""
        return self.let(body, "mul", s, self.let(body, "sub", 1.0, s))

    def bend(self, body: list[Any], y: str) -> str:
        """The derivative of tanh, of its value."""
        return self.let(body, "sub", 1.0, self.let(body, "mul", y, y))

    # ------------------------------------------------------------------------------- product

    def product(self, body: list[Any], x: tuple[str, str], y: tuple[str, str], add: bool) -> None:
        """Rows of `x` times the weights, written to `y` or added to it."""
        _, column, panel = self.panels(body, "parts", self.width)
        begin = self.whole(panel, "mul", column, "terms")
        left = self.some_columns(panel, "columns", column, self.width)
        j, lane = self.many_loops(panel, left, self.width)

        def put(body: list[Any], row: str, sum_: str) -> None:
            to = Address(y[0], ((y[1], 1), (row, "columns"), (column, 1), (j, 1)))
            write = Accumulate(to, "add", sum_, self.dtype) if add else Store(to, sum_, self.dtype)
            body.append(write)

        self.tiles(
            lane, "some", "start", self.vectors, "terms",
            lambda body, k: self.load(body, "panels", (begin, 1), (k, self.width), (j, 1)),
            lambda body, row, k: self.load(body, x[0], (x[1], 1), (row, "terms"), (k, 1)),
            put,
        )  # fmt: skip
